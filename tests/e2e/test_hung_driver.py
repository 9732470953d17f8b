# SPDX-License-Identifier: Apache-2.0
"""libgpufl in a real process whose GPU driver is slow or never answers."""
import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import time

import lib
from lib import check, equal, until
import test_collector as collector


def _script(place, *words, **env):
    return (("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", *words),
            {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), **env})


def _started(place, *words, **env):
    command, env = _script(place, *words, **env)
    return place.start(*command, env=env, stdin=subprocess.PIPE)


def _play(place, *words, **env):
    command, env = _script(place, *words, **env)
    began = time.monotonic()
    done = place.run(*command, env=env)
    took = time.monotonic() - began
    equal(done.returncode, 0, done.stderr)
    return done, place.logs / done.stdout.split()[1], took


def _record(place, *words, **env):
    done, session, took = _play(place, *words, **env)
    said = [r for r in collector.records(session, "system") if r["type"] == "capture_capabilities"]
    return done, session, took, said[0]["losses"]["device_samples"]


def a_driver_that_never_answers_stalls_nothing(place):
    for where in ("Init", "Sample", "Late", "Pcie"):
        done, session, took, missing = _record(place, "init", "scope:step:1500", "shutdown", FAKE_NVML_HANG=where)
        check(took < 1.5 + 1 + 2 + 1.5 * lib.SLOW, f"{where}: {took:.1f} s; 1.5 of work, 1 to begin, 2 to end")
        check(f"session {session.name} has ended without the GPU driver" in done.stderr, f"{where}: {done.stderr}")
        equal(collector.paired(session), {"step": 1}, f"{where}: scopes")
        equal(collector.records(session, "system")[-1]["type"], "shutdown", f"{where}: it ends whole")
        gaps = _gaps_ms(session)
        check(len(gaps) * lib.SLOW >= 50, f"{where}: {len(gaps)} host samples of 75 at 20 ms")
        check(max(gaps) < 400 * lib.SLOW, f"{where}: none of the host for {max(gaps)} ms")
        equal(len(collector.last_start(session, "scope")["devices"]), 0 if where == "Init" else 2, f"{where}: the devices that it told")
        figures = len(list(collector.rows(session, "system", "device_metric_batch")))
        if where == "Pcie":  # has a thread of its own, below the one of the samples
            check(figures > 0 and missing == 0, f"{where}: {figures} rows, {missing} missing")
        else:
            check(missing > 0, f"{where}: missing samples are counted")
            equal(figures > 0, where == "Late", f"{where}: {figures} rows of devices")


def a_driver_that_never_answers_keeps_one_thread_however_many_sessions_there_are(place):
    """Besides main: the one that hangs, and the one that waits for the end of the job's."""
    words = ("init", "shutdown") * 5
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", *words, "look",
                     env={"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), "FAKE_NVML_HANG": "Init"})
    equal(done.returncode, 0, done.stderr)
    own = 1 if lib.SANITIZER and "thread" in lib.SANITIZER[0] else 0  # TSan's runtime has a thread, too
    equal(int(done.stdout.splitlines()[-1].split()[0]), 3 + own, f"threads: {done.stdout}")
    equal(done.stderr.count("has ended without the GPU driver"), 1, done.stderr)
    equal(done.stderr.count("no figures of devices: the GPU driver has not returned since an earlier session"), 4, done.stderr)


def a_driver_that_hangs_while_it_is_loaded_stalls_nothing(place):
    """The loader's lock is held meanwhile: by exit(), too, it is waited for."""
    if lib.SANITIZER or lib.VALGRIND:
        lib.skip("the thread that is left behind is taken for a leak")
    loaded = place.path / "loaded"
    again = ("init", "scope:step:100", "shutdown")
    for words, late in (((*again, *again), False), (("init", "fork", "scope:step:100", "shutdown"), False),
                        ((*again, f"touch:{loaded}"), True)):
        done, session, _, missing = _record(place, *words, GPUFL_SHUTDOWN_TIMEOUT_MS="50", FAKE_NVML_LOADED=str(loaded),
                                            GPUFL_PROFILING_ENGINE="Trace",
                                            LD_LIBRARY_PATH=f"{lib.BUILD / 'tests/fake'}:{lib.BUILD}")
        for each in place.logs.iterdir():
            equal((_ends(each), collector.paired(each)), (1, {"step": 1}), f"{each}: it is whole")
        check(missing > 0, "missing samples are counted")
        check(f"{session.name} has ended without the GPU driver" in done.stderr and "exit() waits some seconds" in done.stderr, done.stderr)
        equal(("has no end" in done.stderr, done.stderr.count("exit() has given up")), (False, not late), done.stderr)
        if words == (*again, *again):
            check("Trace is not available: the GPU driver, which an earlier session loads, has not returned" in done.stderr or
                  not (lib.BUILD / "libgpufl-cupti.so").exists(), done.stderr)


def a_slow_driver_gives_what_it_can(place):
    _, session, _, missing = _record(place, "init", "scope:step:2000", "shutdown", FAKE_NVML_SAMPLE_MS="100")
    host = len(list(collector.rows(session, "system", "host_metric_batch")))
    devices = list(collector.rows(session, "system", "device_metric_batch"))
    check(host * lib.SLOW >= 40, f"{host} host samples at 20 ms")
    check(len(devices) * lib.SLOW >= 8, f"{len(devices)} rows of 2 devices at 200 ms")
    times = [r["base"] + r["dt_ns"] for r in devices]
    equal(times, sorted(times), "in order")
    equal(missing, 0, "late figures are no loss")


LATE = {"FAKE_NVML_INIT_MS": str(1500 * lib.SLOW)}


def what_is_recorded_while_the_driver_starts_survives_the_kill(place):
    """S2-11. Nothing waits for it: _exit() ends the job as a signal does."""
    _, session, _ = _play(place, "init", "scope:early:10", f"sleep:{490 * lib.SLOW}", "_exit", **LATE)
    equal(collector.paired(session), {"early": 1}, "it was recorded 490 ms before")
    begun, = _starts(session, "system")
    equal(begun["devices"], [], "the driver has not answered")
    check(_gaps_ms(session)[0] < 400 * lib.SLOW, f"the first host sample comes after {_gaps_ms(session)[:1]} ms")


def a_flush_does_not_wait_for_a_driver_that_starts(place):
    _, session, _ = _play(place, "init", "scope:a:1", "flush", "_exit", FAKE_NVML_INIT_MS=str(900 * lib.SLOW))
    equal((collector.paired(session), [len(s["devices"]) for s in _starts(session, "scope")]), ({"a": 1}, [0]),
          "before the driver has answered")


def _starts(session, channel):
    return [r for r in collector.records(session, channel) if r["type"] == "job_start"]


def _gaps_ms(session):
    """Between the session's begin and its samples of the host."""
    times = [_starts(session, "system")[0]["ts_ns"],
             *(r["base"] + r["dt_ns"] for r in collector.rows(session, "system", "host_metric_batch"))]
    return [(later - earlier) / 1e6 for earlier, later in itertools.pairwise(times)]


def _session(place):
    session, = (d for d in place.logs.iterdir() if not d.name.startswith("."))
    return session


def _check_table(session):
    """The first job_start has no devices, the last one of each channel those that the rows name."""
    for channel in ("device", "scope", "system"):
        first, last = _starts(session, channel)
        equal(first["devices"], [], f"{channel}: the driver has not answered")
        equal({d["id"]: d["name"] for d in last["devices"]}, {0: "Fake H200 0", 1: "Fake H200 1"}, channel)
        equal({d["id"] for d in last["gpu_static_devices"]}, {0, 1}, channel)
        equal(last["ts_ns"], first["ts_ns"], "the session's begin")
    known = set()
    for record in collector.records(session, "system"):
        known |= {d["id"] for d in record["devices"]} if record["type"] == "job_start" else set()
        if record["type"] == "device_metric_batch":
            column = record["columns"].index("device_id")
            check({row[column] for row in record["rows"]} <= known, f"the table comes before its rows: {known}")


def devices_that_come_late_stand_in_each_channel_before_their_rows(place):
    """Also if the job is killed then; and one session is shown, with its GPUs."""
    job = _started(place, "init", "scope:step:10", "hold", **LATE)
    until(lambda: list(place.logs.glob("[!.]*/system.log")), "the session")
    session = _session(place)
    until(lambda: b"device_metric_batch" in lib.on_disk(session, "system"), "figures of devices")
    job.kill()
    job.wait()
    _check_table(session)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    shown, = json.loads(backend.get("/api/v1/sessions"))["sessions"]
    equal((shown["session_id"], shown["gpus"], shown["start_ns"]),
          (session.name, "Fake H200 0, Fake H200 1", _starts(session, "system")[0]["ts_ns"]), "sessions")
    equal(len(json.loads(backend.get(f"/api/v1/sessions/{session.name}"))["job_start"]["devices"]), 2, "its devices")


def devices_that_come_as_the_session_ends_or_are_not_sampled_are_in_the_table(place):
    for words in (("init", "scope:step:10", "shutdown"), ("rate=0", "continuous=0", "init", "hold", "_exit")):
        late = {"FAKE_NVML_INIT_MS": str(500 * lib.SLOW), "GPUFL_SHUTDOWN_TIMEOUT_MS": "60000"}
        job = _started(place, *words, **late)
        until(lambda: [lib.on_disk(d, "system").count(b'"job_start"') for d in place.logs.glob("[!.]*")] == [2], "devices")
        job.communicate(b"")
        equal(job.returncode, 0, job.log.read_text())
        session = _session(place)
        _check_table(session)
        shutil.rmtree(session)


def devices_that_come_while_the_disk_is_full_are_told_once_it_is_not(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    full = place.path / "full"
    job = _started(place, "init", "scope:before:1", "flush", f"touch:{full}", "scope:meanwhile:1500", f"unlink:{full}", "hold", "shutdown",
                   FAKE_NVML_INIT_MS="800", FAKE_ERRNO=str(errno.ENOSPC), FAKE_FULL_DISK=str(full), LD_PRELOAD=str(lib.BUILD / "tests/fake/full_disk.so"))
    until(lambda: "recording resumed" in job.log.read_text(), "writes succeed")
    job.communicate(b"")
    equal(job.returncode, 0, job.log.read_text())
    for channel in ("device", "scope", "system"):
        first, *_, last = _starts(_session(place), channel)
        equal((first["devices"], len(last["devices"])), ([], 2), f"{channel}: the table")


def a_table_of_devices_that_is_written_late_is_no_loss(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    full, started = place.path / "full", place.path / "started"
    job = _started(place, "rate=0", "continuous=0", "init", "scope:step:1", "flush", "hold", "shutdown",
                   FAKE_NVML_STARTED=str(started), FAKE_ERRNO=str(errno.ENOSPC), FAKE_FULL_DISK=str(full),
                   LD_PRELOAD=str(lib.BUILD / "tests/fake/full_disk.so"))
    until(lambda: [d for d in place.logs.glob("[!.]*") if b"scope_event_batch" in lib.on_disk(d, "scope")], "the scope")
    full.touch()
    started.touch()
    until(lambda: "recording paused: cannot write" in job.log.read_text(), "the table cannot be written")
    full.unlink()
    until(lambda: "recording resumed; 0 lines were lost" in job.log.read_text(), "it is")
    job.communicate(b"")
    equal(job.returncode, 0, job.log.read_text())
    session = _session(place)
    _check_table(session)
    equal([f.name for f in session.glob(".gpufl-transport-loss*")], [], "no loss marker")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal((done.returncode, backend.complete(session.name)), (0, True), done.stdout)


def devices_that_come_while_recording_is_paused_for_want_of_room_and_writes_fail_are_told_at_its_end(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    full, started, refused = place.path / "full", place.path / "started", place.path / "refused"
    job = _started(place, "init", "scope:step:10", "hold", "shutdown", GPUFL_LOG_MAX_SPOOL_BYTES="400000",
                   FAKE_NVML_STARTED=str(started), FAKE_ERRNO=str(errno.ENOSPC), FAKE_FULL_DISK=str(full),
                   FAKE_FULL_DISK_REFUSED=str(refused), LD_PRELOAD=str(lib.BUILD / "tests/fake/full_disk.so"))
    until(lambda: list(place.logs.glob("[!.]*/system.log")), "the session")
    planted = _session(place) / "planted.bin"
    planted.write_bytes(b"x" * 500000)
    until(lambda: "recording paused: spool_budget_exceeded" in job.log.read_text(), "no room")
    full.touch()
    started.touch()
    until(lambda: refused.stat().st_size == 3, "the table is tried in each channel")
    full.unlink()
    planted.unlink()
    until(lambda: b"device_metric_batch" in lib.on_disk(_session(place), "system"), "figures of devices")
    job.communicate(b"")
    equal(job.returncode, 0, job.log.read_text())
    _check_table(_session(place))


def the_first_job_start_is_the_first_whatever_was_tried_before(place):
    """It reached no file before."""
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    full = place.path / "full"
    full.touch()
    job = _started(place, "init", "hold", "shutdown", FAKE_ERRNO=str(errno.ENOSPC),
                   FAKE_FULL_DISK=str(full), LD_PRELOAD=str(lib.BUILD / "tests/fake/full_disk.so"))
    until(lambda: os.strerror(errno.ENOSPC) in job.log.read_text(), "writes fail")
    full.unlink()
    until(lambda: "recording resumed" in job.log.read_text(), "writes succeed")
    job.communicate(b"")
    for channel in ("device", "scope", "system"):
        equal([s.get("repeated") for s in _starts(_session(place), channel)], [None], channel)


def a_file_that_begins_with_late_devices_is_not_taken_for_the_first(place):
    """Of a copy without the lock file, whose first file was deleted, nobody says that it is complete."""
    job = _started(place, "rate=0", "continuous=0", "init", *["scope:step:1"] * 3, "hold", "shutdown",
                   FAKE_NVML_INIT_MS=str(1000 * lib.SLOW), GPUFL_LOG_ROTATE_AFTER_MS="100")
    until(lambda: [lib.on_disk(d, "scope").count(b'"job_start"') for d in place.logs.glob("[!.]*")] == [2], "devices")
    job.communicate(b"")
    session = _session(place)
    second = (session / "scope.2.log" if (session / "scope.2.log").exists() else session / "scope.log").read_bytes()
    check(b'"job_start"' in second.splitlines()[0], "the case that is meant")
    (session / "scope.1.log").unlink()
    copy = place.path / "copy"
    shutil.copytree(session, copy, ignore=shutil.ignore_patterns(".gpufl-session.lock"))
    shutil.rmtree(session)
    copy.rename(session)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    check(done.returncode != 0 and "channel scope" in done.stdout + done.stderr, f"three scopes are missing: {done.returncode} {done.stdout} {done.stderr}")
    check(json.loads(backend.get("/api/v1/sessions"))["sessions"][0]["state"] != "complete", "nor does the backend")


def _ends(session):
    return [r["type"] for r in collector.records(session, "system")].count("shutdown")


def exit_ends_the_session_within_the_bound(place):
    for env in ({}, {"FAKE_NVML_HANG": "Late"}):
        done, session, took, _ = _record(place, "init", "scope:step:300", **env)
        equal(_ends(session), 1, f"{env}: it ends whole")
        equal(collector.paired(session), {"step": 1}, f"{env}: scopes")
        check(took < 0.3 + 2 + 1.5 * lib.SLOW, f"{env}: {took:.1f} s {done.stderr}")


def neither_a_forked_childs_exit_nor_underscore_exit_ends_it(place):
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", "scope:step:200", "fork", "_exit")
    equal(done.returncode, 0, done.stderr)
    written = lib.on_disk(place.logs / done.stdout.split()[1], "system")
    equal((written.count(b'"job_start"'), written.count(b'"shutdown"')), (1, 0), "it has begun, and no end")


def a_forked_child_that_ends_by_exit_has_lost_no_memory(place):
    """Whatever the threads use that it does not have. What one holds that is just opening a device is lost."""
    if not lib.VALGRIND and "address" not in lib.BUILD.name:
        lib.skip("needs a build with LeakSanitizer, or valgrind")
    for env in ({}, {"GPUFL_SIMULATED_GPUS": "2"}, {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}):
        done = place.run("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", "init", "thread:a:1", "scope:b:1",
                         "flush", "fork", "shutdown", env=env)
        said = done.stderr.replace("False leaks are possible", "")
        equal((done.returncode, "leak" in said or "lost" in said), (0, False), f"{env}: {said}")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
