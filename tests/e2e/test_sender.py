# SPDX-License-Identifier: Apache-2.0
"""The agent and a backend that knows positions: whatever becomes of the journal, each line is stored once, and the
session is complete and verified."""
import json
import random
import shutil
import sys
import time

import lib
from lib import check, equal, until
from positions import streams
from writers import Live

SESSIONS = 10
STATE = ".gpufl-agent"


def _sessions(place, lines=300):
    """Ended sessions, in several files each."""
    made = []
    for _ in range(SESSIONS):
        writer = Live(place.logs)
        for n in range(3):
            for channel in Live.channels:
                writer.line(channel, times=lines)
                if n < 2:
                    writer.rotate(channel)
        writer.end()
        made.append(writer.dir)
    return made


def _drain(place, backend, *args):
    agent = lib.agent(place, backend.url, "--exit-when-drained", "--rescan-interval=100ms", *args)
    equal(agent.wait(60 * lib.SLOW), 0, "exit code: " + agent.log.read_text()[-2000:])
    return agent


def _stored_lines(backend, sessions):
    return sum(end["lines"] for s in sessions for end in streams(backend, s.name)[1].values())


def _verified(backend, sessions):
    for session in sessions:
        lib.same(backend, session)
        equal(streams(backend, session.name)[0]["state"], "verified", session.name)


def _killed_in_the_middle(place, backend, sessions, *args):
    """An agent that is killed once it has sent something."""
    before = _stored_lines(backend, sessions)
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms", "--stream-max-lines=40",
                      "--max-requests-per-second=100", *args)
    until(lambda: _stored_lines(backend, sessions) > before or backend.complete(sessions[-1].name), "something is sent")
    agent.kill()
    agent.wait()


def a_journal_that_is_deleted_eight_times_costs_nothing(place):
    sessions = _sessions(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for _ in range(8):
        _killed_in_the_middle(place, backend, sessions)
        shutil.rmtree(place.logs / STATE, ignore_errors=True)
    _drain(place, backend)
    _verified(backend, sessions)
    shutil.rmtree(place.logs / STATE)
    _drain(place, backend)
    _verified(backend, sessions)


def a_journal_in_memory_survives_eight_restarts(place):
    sessions = _sessions(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for _ in range(8):
        _killed_in_the_middle(place, backend, sessions, "--state=memory")
    _drain(place, backend, "--state=memory")
    _verified(backend, sessions)


def a_journal_of_last_week_is_no_harm(place):
    sessions = _sessions(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    _killed_in_the_middle(place, backend, sessions)
    shutil.copytree(place.logs / STATE, place.path / "old")
    for _ in range(3):
        _killed_in_the_middle(place, backend, sessions)
        shutil.rmtree(place.logs / STATE)
        shutil.copytree(place.path / "old", place.logs / STATE)
    _drain(place, backend)
    _verified(backend, sessions)


def two_journals_for_one_directory_send_each_line_once(place):
    sessions = _sessions(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for name in ("a", "b", "a", "b", "a", "b"):
        _killed_in_the_middle(place, backend, sessions, f"--state-dir={place.path / name}")
    _drain(place, backend, f"--state-dir={place.path / 'b'}")
    _verified(backend, sessions)
    _drain(place, backend, f"--state-dir={place.path / 'a'}")
    _verified(backend, sessions)


def agents_and_backends_that_are_killed_lose_nothing(place):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    sessions = _sessions(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for _ in range(8):
        agent = lib.agent(place, backend.url, "--rescan-interval=100ms", "--stream-max-lines=40")
        time.sleep(chance.random() * 0.3)  # whatever it does then
        victim = chance.choice(["agent", "backend", "both"])
        if victim != "agent":
            backend.kill()
            backend.start()
        if victim == "backend":
            time.sleep(chance.random() * 0.3)
        agent.kill()
        agent.wait()
        if chance.random() < 0.3:
            shutil.rmtree(place.logs / STATE, ignore_errors=True)
    _drain(place, backend)
    _verified(backend, sessions)


def a_backend_that_went_back_gets_the_rest_again(place):
    writer = Live(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms")
    for channel in Live.channels:
        writer.line(channel, times=100)
    until(lambda: all(len(backend.export(writer.id, c)) == len(writer.written[c]) for c in Live.channels), "stored")
    backend.kill()
    backup = place.path / "backup"
    backup.mkdir()
    for file in place.path.glob("backend.db*"):
        shutil.copy(file, backup)
    backend.start()
    for channel in Live.channels:
        writer.line(channel, times=100)
    until(lambda: all(len(backend.export(writer.id, c)) == len(writer.written[c]) for c in Live.channels), "stored")
    backend.kill()
    for file in place.path.glob("backend.db*"):
        file.unlink()
    for file in backup.iterdir():
        shutil.copy(file, place.path)
    backend.start()
    for channel in Live.channels:
        writer.line(channel, times=100)
    writer.end()
    until(lambda: backend.complete(writer.id), "complete")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    _verified(backend, [writer.dir])


def _sent_then_stopped(place, backend):
    """A session of which the journal is lost once all of it is sent."""
    writer = Live(place.logs)
    for n in range(2):
        for channel in Live.channels:
            for _ in range(200):
                writer.line(channel, rank=n)
            if n == 0:
                writer.rotate(channel)
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms")
    until(lambda: all(len(backend.export(writer.id, c)) == len(writer.written[c]) for c in Live.channels), "stored")
    agent.kill()
    agent.wait()
    shutil.rmtree(place.logs / STATE)
    writer.die()
    return writer


def a_disk_that_lost_what_was_sent_does_not_hold_its_session(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _sent_then_stopped(place, backend)
    for channel in Live.channels:
        path = writer.active(channel)
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - 100)
    done = lib.upload(place, backend.url, "--timeout=60")
    equal(done.returncode, 0, done.stdout + done.stderr)
    lib.holds(backend, writer)
    equal(streams(backend, writer.id)[0]["state"], "verified", "state")


def _status(place, writer):
    """What `gpufl status` says of a session, for people and as JSON."""
    lines = place.run("gpufl", "status", place.logs).stdout
    listed = json.loads(place.run("gpufl", "status", place.logs, "--json").stdout)["sessions"]
    return lines, [s for s in listed if s["session_id"] == writer.id][0]


def status_and_page_tell_verified_sessions_from_those_with_losses(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.line("device", times=100)
    writer.rotate("device")
    writer.line("device", times=100)
    writer.end()
    _drain(place, backend)
    lines, said = _status(place, writer)
    check("ended, complete, verified\n" in lines, lines)
    equal((said["complete"], said["verified"], said["ended"]), (True, True, False), said)
    listed = backend.session(writer.id)
    equal((listed["state"], listed["verified"], listed["losses"]), ("complete", True, 0), listed)
    lossy = Live(place.logs)
    lossy.line("device", times=100)
    lossy.rotate("device")
    lossy.line("device", times=100)
    lossy.rotate("device")
    (lossy.dir / "device.1.log").unlink()
    lossy.end()
    lib.upload(place, backend.url, "--timeout=30")
    equal(place.run("gpufl", "resolve", place.logs, lossy.id).returncode, 0, "it is given up")
    lib.upload(place, backend.url, "--timeout=30")
    lines, said = _status(place, lossy)
    check("ended, not complete: lines of it are missing at the backend\n" in lines, lines)
    check("1 range is lost at the backend" in lines, lines)
    equal((said["complete"], said["verified"], said["ended"]), (False, False, True), said)
    equal([c["lost_ranges"] for c in said["channels"] if c["channel"] == "device"], [1], said)
    listed = backend.session(lossy.id)
    equal((listed["state"], listed["complete"], listed["losses"]), ("ended_with_losses", False, 1), listed)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
