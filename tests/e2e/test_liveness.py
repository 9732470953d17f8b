# SPDX-License-Identifier: Apache-2.0
"""What proves that a writer has ended, as schema/README.md says it: the lock of its manifest, its process, its boot."""
import json
import os
import subprocess
import sys
import uuid

import lib
from lib import check, equal, until
from sink import Sink
from writers import Live, start_ticks

ELSEWHERE = {"lock_file": "1:1"}  # as in a copy, whose lock nobody ever held


def _ended_pid():
    """(pid, start) of a process that is gone."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        return {"pid": process.pid, "pid_start_ticks": start_ticks(process.pid)}


def _other_boot():
    return {"boot_id": str(uuid.uuid4())}


def _killed(logs, changes, end=False):
    """The lock is free, and this process, which wrote the session, lives on. What is None is not in the manifest."""
    writer = Live(logs)
    manifest = {k: v for k, v in {**writer.manifest(), **changes}.items() if v is not None}
    (writer.dir / ".gpufl-session.json").write_text(json.dumps(manifest))
    if end:
        writer.end()
    else:
        writer.line("device")
        writer.die()
    return writer


def _completes(place, logs):
    with Sink() as sink:
        done = lib.upload(place, sink.url, directory=logs)
        completes = [r for r in sink.requests if r.path.endswith("session-complete")]
    if "a copy made before its writer had ended" in done.stdout:
        equal((done.returncode, completes, done.result["sessions_live"]), (1, [], 0), done.stdout)
        return "copy"
    check(done.returncode == 0, f"{done.stdout} {done.stderr}")
    equal(done.result["sessions_live"], 0 if completes else 1, done.stdout)
    return bool(completes)


RULES = (
    # what the manifest says, whether a free lock then proves the end; that of a writer, but not that its copy is whole
    ("its own lock, though the process lives on", dict, True),
    ("a copy while the process lives", lambda: ELSEWHERE, False),
    ("a copy once it has ended", lambda: {**ELSEWHERE, **_ended_pid()}, "copy"),
    ("a copy once another process has its pid", lambda: {**ELSEWHERE, "pid_start_ticks": 1}, "copy"),
    ("a copy of a process in another pid namespace", lambda: {**ELSEWHERE, "pid_namespace": 1}, False),
    ("its own lock, of a process in another pid namespace", lambda: {"pid_namespace": 1}, True),
    ("no lock named, the process lives", lambda: {"lock_file": None}, False),
    ("no lock named, the process has ended", lambda: {"lock_file": None, **_ended_pid()}, True),
    ("no lock named, a process that cannot be seen", lambda: {"lock_file": None, "pid_namespace": None}, True),
    ("its own lock, on another boot", _other_boot, False),
    ("its own lock and a pid that is gone, on another boot", lambda: {**_other_boot(), **_ended_pid()}, False),
)


def a_free_lock_proves_the_end_of_the_writer_that_held_it(place):
    for number, (what, changes, ends) in enumerate(RULES):
        logs = place.path / f"logs-{number}"
        logs.mkdir(mode=0o700)
        writer = _killed(logs, changes())
        equal(_completes(place, logs), ends, f"{what}: it has ended")
        check((writer.dir / ".gpufl-session.lock").exists(), what)


def what_was_last_written_before_this_boot_has_ended(place):
    """Its manifest is of another boot: of this host if nothing was written since, else maybe of a guest."""
    writer = _killed(place.logs, _other_boot())
    for path in writer.dir.iterdir():
        os.utime(path, (1, 1))
    check(_completes(place, place.logs), "it has not ended")


def a_session_whose_end_nothing_proves_ends_with_its_shutdowns(place):
    _killed(place.logs, ELSEWHERE, end=True)
    check(_completes(place, place.logs), "it has not ended")


def or_when_it_was_silent_for_the_orphan_timeout(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _killed(place.logs, _other_boot())
    agent = lib.agent(place, backend.url, "--rescan-interval=200ms", "--orphan-timeout=1s")
    until(lambda: backend.complete(writer.id), "it has ended")
    lib.holds(backend, writer)
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
