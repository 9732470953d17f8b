# SPDX-License-Identifier: Apache-2.0
"""The collector's share of the disk, and an agent that frees it."""
import json
import signal
import subprocess
import sys

import lib
from lib import check, equal, until
import test_collector as collector


def _start(place, part, **env):
    process = subprocess.Popen([lib.BUILD / "tests/e2e/job", place.logs, part],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=lib.environment({k: str(v) for k, v in env.items()}))
    place.processes.append(process)
    return process, place.logs / process.stdout.readline().strip()


def quiet_channels_rotate_by_age(place):
    session = lib.job(place, 1.0, env={"GPUFL_LOG_ROTATE_AFTER_MS": "200"})
    ends = [collector.records(session, "system")[i]["ts_ns"] for i in (0, -1)]
    most = (ends[1] - ends[0]) // 200_000_000 + 1  # a busy machine needs more than the second
    sealed = len(list(session.glob("system.*.log")))
    check(2 <= sealed <= most, f"{sealed} sealed files, {most} at most")
    collector.paired(session)
    for channel in ("device", "scope", "system"):
        equal(collector.records(session, channel)[-1]["type"], "shutdown", f"end of {channel}")


def a_full_spool_pauses_says_so_and_goes_on(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--delete-acked=acknowledged")
    until(lambda: "agent.started" in agent.log.read_text(), "the agent is there")
    agent.send_signal(signal.SIGSTOP)  # and does nothing until the spool is full
    process, session = _start(place, "stream", GPUFL_LOG_ROTATE_BYTES=50000,
                              GPUFL_LOG_MAX_SPOOL_BYTES=400000)
    until(lambda: list(session.glob(".gpufl-transport-loss.spool.0.json")), "it pauses")
    agent.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=30 * lib.SLOW)
    check("recording paused" in errors and "recording resumed" in errors, errors)
    marker = json.loads((session / ".gpufl-transport-loss.spool.0.json").read_text())
    equal((marker["type"], marker["channel"]), ("transport_window_loss", "spool"), "marker")
    check(marker["reason"].startswith("spool_budget_exceeded:spool_bytes="), marker["reason"])
    check(marker["lines"] > 0 and marker["last_ns"] >= marker["first_ns"], "what was lost, and when")
    # A session with a loss is delivered and never reported complete.
    until(lambda: backend.export(session.name, "scope").endswith(
        (session / "scope.log").read_bytes()[-200:]), "everything else is delivered")
    names = backend.export(session.name, "scope").count(b"scope_name_dict")
    check(names > 1, f"the names are written again after the pause ({names} dictionaries)")
    agent.terminate()
    agent.wait()
    check(not backend.complete(session.name), "not complete")
    told = place.run("gpufl", "status", place.logs)
    check("lines were dropped while recording" in told.stdout, told.stdout)


def a_file_missing_in_the_middle_holds_its_channel(place):
    session = lib.rotated_job(place, "scope.*.log", 3, 3000)
    (session / "scope.2.log").unlink()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 1, "exit code")
    check("missing" in done.result["message"], done.result["message"])
    equal(backend.export(session.name, "scope"), (session / "scope.1.log").read_bytes(),
          "nothing in a wrong order")
    check(backend.export(session.name, "system"), "the other channels go on")


def a_missing_front_is_said_and_the_rest_is_sent(place):
    """As after a sidecar whose state went with it."""
    session = lib.rotated_job(place, "scope.*.log", 2, 3000)
    (session / "scope.1.log").unlink()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for _ in range(2):
        done = lib.upload(place, backend.url)
        equal(done.returncode, 1, "exit code")
        check("what is there was sent, but not every session can be complete" in done.result["message"], done.stdout)
        check(not backend.complete(session.name), "not reported complete")
        whole = b"".join(f.read_bytes() for f in sorted(
            session.glob("scope.*.log"), key=lambda f: int(f.name.split(".")[1])))
        equal(backend.export(session.name, "scope"), whole + (session / "scope.log").read_bytes(),
              "all that is there, once")
    told = place.run("gpufl", "status", place.logs)
    equal(told.returncode, 1, "status: not everything")
    check("files of it were gone before they were read" in told.stdout, told.stdout)


def a_recording_goes_through_a_small_spool_without_loss(place):
    """7 MB through 2.5 MB, an agent deleting what is acknowledged."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url, "--delete-acked=acknowledged", "--flush-interval=20ms",
              "--max-requests-per-second=0")
    process, session = _start(place, "stream", GPUFL_LOG_ROTATE_BYTES=100000,
                              GPUFL_LOG_MAX_SPOOL_BYTES=2500000 * lib.SLOW)
    _, errors = process.communicate(timeout=60 * lib.SLOW)
    check("recording paused" not in errors, f"no pause: {errors}")  # a ring may be full where the writer gets no processor
    until(lambda: backend.complete(session.name), "complete", 60)
    stored = backend.export(session.name, "scope")
    pairs, dropped = {}, 0
    for line in stored.splitlines():
        record = json.loads(line)
        for row in record.get("rows", []):
            pairs[row[1]] = pairs.get(row[1], 0) + 1
        for c in record.get("capabilities", []):
            if c["reason_code"].startswith("ring_full"):
                dropped = int(c["reason_code"].split(":")[1])
    equal((len(pairs) + dropped, set(pairs.values())), (60000, {2}), "every pair once")
    check(len(stored) > 60 * len(pairs), f"{len(stored)} bytes of {len(pairs)} pairs")
    until(lambda: len(list(session.glob("scope.*.log"))) == 1, "of the sealed files the newest stays")
    check((session / "scope.log").exists(), "the active file stays")


def nothing_is_deleted_unless_asked_for(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.5, env={"GPUFL_LOG_ROTATE_BYTES": "3000"})
    before = sorted(f.name for f in session.iterdir())
    process = lib.agent(place, backend.url, "--exit-when-drained")
    equal(process.wait(30 * lib.SLOW), 0, "exit code")
    after = {f.name for f in session.iterdir()}
    equal(sorted(after - {".uploaded"}), before, "files")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
