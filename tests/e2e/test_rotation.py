# SPDX-License-Identifier: Apache-2.0
"""A job that is killed at any moment of a rotation leaves a session that is sent whole, once, and ends."""
import contextlib
import json
import sys

import lib
from lib import check, equal, until

# Each rotation is two renames; the first one of all makes the session's directory.
CALLS = range(2, 8)


def _stops_at(place, call, **env):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    return place.start("examples/demo-job", place.logs, 600, env={
        "FAKE_STOP_AT": str(call), "LD_PRELOAD": str(lib.BUILD / "tests/fake/stop_at_name.so"), **env})


def _stopped(place, call):
    """A job that has stopped before its renaming number `call`, and its session's directory."""
    before = set(place.logs.iterdir())
    job = _stops_at(place, call, GPUFL_LOG_ROTATE_BYTES="1000")
    until(lambda: "T (stopped)" in "".join(lib.proc(job.pid, "status")), f"it stops before call {call}")
    session, = (d for d in set(place.logs.iterdir()) - before if not d.name.startswith("."))
    return job, session


def _killed(job, session):
    """The channel that was between the two renames of a rotation; None where none was."""
    job.kill()
    job.wait()
    listed = json.loads((session / ".gpufl-session.json").read_text())["channels"]
    channels = [c for c in listed if not (session / f"{c}.log").exists()]
    check(len(channels) <= 1, f"{channels}")
    for channel in channels:
        check(list(session.glob(f"{channel}.*.log")), f"{channel} has a sealed file")
        check(list(session.glob(f".gpufl-next.{channel}.*")), f"the next one of {channel} is there")
    return channels[0] if channels else None


def _equal(backend, session):
    with contextlib.suppress(lib.Failed):
        lib.same(backend, session)
        return True
    return False


def an_agent_that_follows_it_completes_the_session(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url)
    between = 0
    for call in CALLS:
        job, session = _stopped(place, call)
        until(lambda s=session: _equal(backend, s), "what is there is sent while it lives")
        check(not backend.complete(session.name), "it is live")
        between += bool(_killed(job, session))
        until(lambda s=session: backend.complete(s.name), f"killed before call {call}, it is complete")
        lib.same(backend, session)
    equal(between, len(CALLS) // 2, "killed between two files")
    check("session.held" not in agent.log.read_text(), agent.log.read_text())


def an_upload_afterwards_completes_the_session(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    between = 0
    for call in CALLS:
        job, session = _stopped(place, call)
        between += bool(_killed(job, session))
        done = lib.upload(place, backend.url)
        equal(done.returncode, 0, f"killed before call {call}: {done.stdout}{done.stderr}")
        check(backend.complete(session.name), "complete")
        done = place.run("gpufl", "status", place.logs)
        equal(done.returncode, 0, f"nothing waits: {done.stdout}")
        lib.same(backend, session)
    equal(between, len(CALLS) // 2, "killed between two files")


def an_active_file_that_was_restored_has_no_second_name(place):
    """Its copy has its name by the third call; a fourth one is not needed."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    job = _stops_at(place, 4)
    active = until(lambda: next(place.logs.glob("[!.]*/device.log"), None), "the session")
    active.unlink()
    until(active.exists, "it is restored")
    job.kill()
    job.wait()
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, f"killed then: {done.stdout}{done.stderr}")
    lib.same(backend, active.parent)


def a_file_that_did_not_get_its_name_back_is_said(place):
    """Killed between copy and name. What a person can do: the copy is whole."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    job = _stops_at(place, 3)
    active = until(lambda: next(place.logs.glob("[!.]*/device.log"), None), "the session")
    active.unlink()
    until(lambda: "T (stopped)" in "".join(lib.proc(job.pid, "status")), "it has made a copy")
    job.kill()
    job.wait()
    staged = active.with_name(".new-device.log")
    done = lib.upload(place, backend.url)
    equal(done.returncode, 1, done.stdout)
    text = place.run("gpufl", "status", place.logs).stdout
    check(staged.name in text and "no file of it is there" in text, text)
    check(not backend.complete(active.parent.name), "not complete")
    staged.rename(active)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, done.stdout)
    check(backend.complete(active.parent.name), "complete")
    lib.same(backend, active.parent)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
