# SPDX-License-Identifier: Apache-2.0
"""libgpufl in a real process whose GPU driver is slow or never answers."""
import sys
import time

import lib
from lib import check, equal
import test_collector as collector


def _record(place, *words, **env):
    began = time.monotonic()
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", *words,
                     env={"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), **env})
    took = time.monotonic() - began
    equal(done.returncode, 0, done.stderr)
    session = place.logs / done.stdout.split()[1]
    said = [r for r in collector.records(session, "system") if r["type"] == "capture_capabilities"]
    return done, session, took, said[0]["losses"]["device_samples"]


def a_driver_that_never_answers_stalls_nothing(place):
    for where in ("Init", "Sample", "Late", "Pcie"):
        done, session, took, missing = _record(place, "init", "scope:step:1500", "shutdown", FAKE_NVML_HANG=where)
        check(took < 1.5 + 1 + 2 + 1.5 * lib.SLOW, f"{where}: {took:.1f} s; 1.5 of work, 1 to begin, 2 to end")
        check(f"session {session.name} has ended without the GPU driver" in done.stderr, f"{where}: {done.stderr}")
        equal(collector.paired(session), {"step": 1}, f"{where}: scopes")
        equal(collector.records(session, "system")[-1]["type"], "shutdown", f"{where}: it ends whole")
        host = len(list(collector.rows(session, "system", "host_metric_batch")))
        check(host * lib.SLOW >= 20, f"{where}: {host} host samples at 20 ms")
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
