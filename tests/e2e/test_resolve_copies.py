# SPDX-License-Identifier: Apache-2.0
"""Copies of what was sent, in the place of a session or beside its files: nothing of them is sent again, whatever a
person says, and what they do not hold is not given up for them."""
import gzip
import json
import os
import re
import shlex
import shutil
import sys
import uuid

import lib
from held import HELD
from held_cases import Origin, lines_of
from lib import check, equal, until
from writers import Live, Windows, end_job_of


def _each_origin(place, run):
    for positions in (False, True):
        place.logs = place.path / f"logs-{positions}"
        place.logs.mkdir(mode=0o700)
        origin = Origin(place, positions)
        run(origin)
        origin.close()
        for file in place.path.glob("backend.db*"):
            file.unlink()


def _upload(place, origin):
    done = lib.upload(place, origin.url, "--timeout=30")
    check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    return done


def _commands(place):
    """Those that status prints, each once."""
    status = place.run("gpufl", "status", place.logs).stdout
    return list(dict.fromkeys(re.findall(r"^  to .*?: gpufl (.*)$", status, re.M)))


def _give_up_all(place, origin):
    """Each command as it is printed, until nothing is held. \\return what was given."""
    given = []
    for _ in range(3):
        for command in _commands(place):
            given.append(command)
            done = place.run("gpufl", *shlex.split(command))
            equal(done.returncode, 0, f"{command}: {done.stdout} {done.stderr}")
        done = _upload(place, origin)
        if done.returncode == 0:
            break
    equal((done.returncode, _commands(place)), (0, []), f"{given} {done.stdout}")
    return given


def _noted(directory, how):
    """What the copy's lock file tells, if it has one."""
    lock = directory / ".gpufl-session.lock"
    if how == "gone":
        lock.unlink()
    elif how == "of another boot":
        told = json.loads(lock.read_text())
        lock.write_text(f"{json.dumps({**told, 'boot_id': str(uuid.uuid4())}):<511}\n")


def _complete_and_earlier(place, origin, lines=(5, 20, 1), gone=True):
    """All of it is sent. \\return it, and a copy from the time of its second file."""
    writer = Live(place.logs)
    earlier = place.path / f"earlier-{writer.id}"
    for n, count in enumerate(lines):
        if n:
            writer.rotate("device")
        for _ in range(count):
            writer.line("device")
        if n == 1:
            shutil.copytree(writer.dir, earlier)
            if gone:
                end_job_of(earlier)
    writer.end()
    equal(_upload(place, origin).returncode, 0, "all is sent")
    equal((origin.missing(writer), origin.state(writer)), (set(), "complete"), "and complete")
    return writer, earlier


def an_earlier_copy_in_the_place_of_a_session_is_not_sent_again(place):
    """Whatever tells that it is one: its lock file, of this boot or of another one, or the newest sealed file."""
    for noted in ("now", "of another boot", "gone"):
        for gone in (True, False):  # its writer, as its manifest tells
            def run(origin, noted=noted, gone=gone):
                writer, earlier = _complete_and_earlier(place, origin, gone=gone)
                _noted(earlier, noted)
                shutil.rmtree(writer.dir)
                shutil.copytree(earlier, writer.dir)
                done = _upload(place, origin)
                equal(done.returncode, 1, done.stdout)
                given = _give_up_all(place, origin)
                check(given, "it was held")
                equal((origin.missing(writer), origin.state(writer)), (set(), "complete"), f"{noted} {gone} {given}")

            _each_origin(place, run)
            for path in place.path.glob("logs-*"):
                shutil.rmtree(path)


def an_earlier_copy_of_the_same_file_is_not_sent_again(place):
    """Its lock file tells fewer bytes of the active file than were sent."""
    def run(origin):
        writer = Live(place.logs)
        for _ in range(5):
            writer.line("device")
        earlier = place.path / f"earlier-{writer.id}"
        shutil.copytree(writer.dir, earlier)
        end_job_of(earlier)
        for _ in range(20):
            writer.line("device")
        writer.end()
        equal(_upload(place, origin).returncode, 0, "all is sent")
        shutil.rmtree(writer.dir)
        shutil.copytree(earlier, writer.dir)
        _upload(place, origin)
        said = place.run("gpufl", "resolve", place.logs, f"{writer.id}/device")
        if not origin.backend:  # which would know by itself
            check("its files are an earlier copy, of which all was sent" in said.stdout, f"no loss: {said}")
        _give_up_all(place, origin)
        equal((origin.missing(writer), origin.state(writer)), (set(), "complete"), "nothing is sent again")

    _each_origin(place, run)


def a_copy_that_has_more_than_its_lock_file_tells_is_none_of_what_was_sent(place):
    """As cp and rsync make it of a job that runs, and is killed: the lock file is as old as the names, the lines came later."""
    def run(origin):
        elsewhere = place.path / f"elsewhere-{origin.backend is None}"
        elsewhere.mkdir()
        writer = Live(elsewhere)
        writer.line("device")
        copy = place.logs / writer.id
        copy.mkdir()
        for name in (".gpufl-session.json", ".gpufl-session.lock"):
            shutil.copy2(writer.dir / name, copy)
        for channel in writer.channels * 5:
            writer.line(channel)
        writer.die()
        for channel in writer.channels:
            shutil.copy2(writer.active(channel), copy)
        end_job_of(copy)
        done = _upload(place, origin)
        equal(done.returncode, 1, done.stdout)
        check("its directory is a copy made before" in done.stdout, done.stdout)
        _give_up_all(place, origin)
        equal((origin.missing(writer), origin.state(writer)), (set(), "ended_with_losses" if origin.backend else "complete"),
              "all of it was sent")

    _each_origin(place, run)


def a_part_of_an_earlier_file_that_nothing_tells_from_a_new_one_is_held(place):
    """Its lock file is gone, and it ends before the newest sealed file did: `--force` sends it, as is said."""
    origin = Origin(place, False)
    writer, earlier = _complete_and_earlier(place, origin, lines=(5, 20, 9))
    active = earlier / "device.log"
    active.write_bytes(b"".join(active.read_bytes().splitlines(keepends=True)[:12]))
    _noted(earlier, "gone")
    kept = writer.dir.rename(place.path / "kept")
    shutil.copytree(earlier, writer.dir)
    done = _upload(place, origin)
    equal(done.returncode, 1, done.stdout)
    status = place.run("gpufl", "status", place.logs).stdout
    check(HELD["earlier"][1] in done.stdout and HELD["earlier"][1] in status, done.stdout + status)
    commands = _commands(place)
    equal([c.split()[0] for c in commands if not re.search("/(scope|system)$", c)], ["upload"],
          "no command that would send lines again without saying so")
    done = place.run("gpufl", "resolve", place.logs, f"{writer.id}/device")
    equal((done.returncode, "may be an earlier copy" in done.stderr), (1, True), done.stdout + done.stderr)
    _upload(place, origin)
    equal(origin.missing(writer), set(), "nothing is sent again")
    shutil.rmtree(writer.dir)
    kept.rename(writer.dir)
    equal((_upload(place, origin).returncode, _commands(place)), (0, []), "it is whole again")
    shutil.rmtree(writer.dir)
    shutil.copytree(earlier, writer.dir)
    done = place.run("gpufl", *shlex.split(commands[0]), "--backend-url", origin.url, "--api-key", lib.KEY)
    equal(done.returncode, 0, f"{commands} {done.stdout} {done.stderr}")
    origin.close()


def a_changed_copy_that_nothing_tells_from_new_files_is_held(place):
    """Nothing tells which of its lines were sent: whether the backend knows positions or not, no `gpufl resolve` sends
    them as new ones."""
    def run(origin):
        writer = Live(place.logs)
        earlier = place.path / f"earlier-{writer.id}"
        for n in range(3):
            if n:
                writer.rotate("device")
            for _ in range((5, 20, 1)[n]):
                writer.line("device")
            if n == 1:
                shutil.copytree(writer.dir, earlier)
                end_job_of(earlier)
                for _ in range(4):
                    writer.line("device")
        equal(_upload(place, origin).returncode, 0, "all is sent")
        writer.die()
        before = origin.has(writer)
        active = earlier / "device.log"
        active.write_bytes(active.read_bytes().replace(b'"type":', b'"Type":', 1))
        _noted(earlier, "gone")
        kept = writer.dir.rename(place.path / f"kept-{writer.id}")
        shutil.copytree(earlier, writer.dir)
        equal(_upload(place, origin).returncode, 1, "held")
        commands = _commands(place)
        equal([c.split()[0] for c in commands], ["upload"], "it says that it sends all of it again")
        done = place.run("gpufl", "resolve", place.logs, f"{writer.id}/device")
        equal((done.returncode, "may be an earlier copy" in done.stderr), (1, True), done.stdout + done.stderr)
        _upload(place, origin)
        equal(origin.has(writer), before, "nothing is sent again")
        shutil.rmtree(writer.dir)
        shutil.copytree(kept, writer.dir)
        done = _upload(place, origin)
        equal((done.returncode, _commands(place)), (0, []), f"it is whole again: {done.stdout}")
        shutil.rmtree(writer.dir)
        shutil.copytree(earlier, writer.dir)
        done = place.run("gpufl", *shlex.split(commands[0]), "--backend-url", origin.url, "--api-key", lib.KEY)
        if origin.backend:  # which tells that it has others
            equal((done.returncode, [c.split()[0] for c in _commands(place)]), (1, ["resolve"]), done.stderr)
            _give_up_all(place, origin)
            equal(origin.has(writer), before, "nothing is sent again")
        else:
            equal(done.returncode, 0, f"{commands} {done.stdout} {done.stderr}")

    _each_origin(place, run)


def a_new_file_behind_a_sealed_one_that_is_gone_is_sent(place):
    """Its writer tells no numbers, but what it holds is not what the sealed one held."""
    def run(origin):
        writer = Live(place.logs)
        writer.line("device", times=1)
        equal(_upload(place, origin).returncode, 0, "what there is")
        writer.rotate("device")
        for _ in range(3):
            writer.line("device")
        equal(_upload(place, origin).returncode, 0, "the first file is sealed")
        before = lines_of(writer)
        for _ in range(3):
            writer.line("device")
        lost = lines_of(writer) - before
        writer.rotate("device")
        for _ in range(20):
            writer.line("device")
        writer.end()
        (writer.dir / "device.2.log").unlink()
        (writer.dir / ".gpufl-session.lock").unlink()
        end_job_of(writer.dir)
        equal(_upload(place, origin).returncode, 1, "held")
        _give_up_all(place, origin)
        equal(origin.missing(writer), lost, "what is gone")

    _each_origin(place, run)


def _squeeze(path, into, part=1.0):
    data = path.read_bytes()
    into.write_bytes(gzip.compress(data[:int(len(data) * part)]))


def what_another_tool_left_of_an_earlier_file_is_not_the_active_one(place):
    """It compressed an active file, which was restored, sealed and sent; the last one it only removed."""
    for more in (0, 3):  # lines in the last file, all of them sent
        for late in (False, True):  # it is there before the first look
            def run(origin, more=more, late=late):
                writer = Live(place.logs)
                for _ in range(4):
                    writer.line("device")
                left = writer.dir / "device.log.gz"
                _squeeze(writer.active("device"), left)
                for _ in range(2):
                    writer.line("device")
                kept = place.path / "left"
                if not late:
                    left.rename(kept)
                    equal(_upload(place, origin).returncode, 0, "all so far")
                writer.rotate("device")
                for _ in range(more):
                    writer.line("device")
                if not late:
                    equal(_upload(place, origin).returncode, 0, "all so far")
                    kept.rename(left)
                lost = set() if not late else lines_of(writer) - set((writer.dir / "device.1.log").read_bytes().splitlines())
                lost = {line for line in lost if b'"device"' in line}
                writer.active("device").unlink()
                writer.die()
                end_job_of(writer.dir)
                _upload(place, origin)
                _give_up_all(place, origin)
                equal(origin.missing(writer), lost, f"what is gone: {more} {late}")

            _each_origin(place, run)
            for path in place.path.glob("logs-*"):
                shutil.rmtree(path)


def what_another_tool_left_beside_a_restored_file_is_passed_over(place):
    """While it holds nothing else: whole, cut off, or of a file that was sealed since."""
    for how in ("whole", "cut", "sealed"):
        def run(origin, how=how):
            writer = Live(place.logs)
            for _ in range(200):
                writer.line("device", pad=os.urandom(40).hex())
            left = writer.dir / "device.log.gz"
            _squeeze(writer.active("device"), left)
            if how == "cut":
                left.write_bytes(left.read_bytes()[:-2000])
            agent = lib.agent(place, origin.url, "--rescan-interval=100ms")
            until(lambda: not origin.missing(writer), "it is read")
            if how == "sealed":
                writer.rotate("device")
            writer.line("device")
            writer.end()
            until(lambda: origin.state(writer) == "complete", f"{how}: complete")
            equal(origin.missing(writer), set(), "missing")
            check("session.refused" not in agent.log.read_text(), agent.log.read_text())
            equal(place.run("gpufl", "status", place.logs).returncode, 0, "nothing is held")
            agent.terminate()
            agent.wait(20 * lib.SLOW)

        _each_origin(place, run)
        for path in place.path.glob("logs-*"):
            shutil.rmtree(path)


def what_lies_beside_a_file_and_holds_more_is_said(place):
    """In the live layout, and a plain window beside the compressed one."""
    origin = Origin(place, False)
    writer = Live(place.logs)
    writer.line("device")
    _squeeze(writer.active("device"), writer.dir / "device.log.gz")
    active = writer.active("device").read_bytes()
    writer.active("device").write_bytes(active.replace(b'"n":', b'"N":'))
    writer.written["device"] = bytearray(writer.active("device").read_bytes())
    writer.end()
    windows = Windows(place.logs)
    windows.line("device")
    windows.rotate("device")
    windows.end()
    (windows.dir / "device.1.log").write_bytes(b'{"type":"x","n":"more"}\n')
    done = _upload(place, origin)
    equal(done.returncode, 1, done.stdout)
    status = place.run("gpufl", "status", place.logs).stdout
    for name in ("device.log.gz", "device.1.log"):
        check(name in status, f"{name}: {status}")
    _give_up_all(place, origin)
    equal(origin.missing(windows), set(), "the rest is sent")
    origin.close()


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
