# SPDX-License-Identifier: Apache-2.0
"""What tests/hostile found, each by itself: the job's end and its errno are its own, whatever the host does."""
import sys
import time

import lib
from lib import check, equal
import test_collector as collector


def _live(place, *words, folder="life", host=None, **env):
    """What tests/hostile/life came to, and the seconds that it took."""
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first, and to make the calls that fail here")
    own = place.path / folder
    own.mkdir()
    preload = [lib.BUILD / "libgpufl.so", lib.BUILD / "tests/fake/hostile_host.so"]
    began = time.monotonic()
    done = place.run("tests/hostile/life", own, place.logs, *words, env={
        "LD_PRELOAD": " ".join(map(str, preload)), "LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"),
        **({"HOSTILE_HOST": host} if host else {}), **env})
    return done, time.monotonic() - began


def _said(done):
    return dict(line.split() for line in done.stdout.splitlines())


def _ended(place):
    return [collector.records(session, "system")[-1]["type"] == "shutdown" for session in place.logs.iterdir()]


def a_reader_of_stderr_that_is_gone_does_not_end_the_job(place):
    done, _ = _live(place, "deaf", "init:0", "exit:5", host="open:13:0:1000000")
    equal((done.returncode, _said(done)), (5, {"files": "1", "errno": "1"}), "it ends as it does alone")


def a_full_pipe_as_stderr_holds_up_nothing(place):
    done, took = _live(place, "full", "init:0", "ops:50", "nap:100000", "exit:5", host="write:28:4:1000000")
    equal(done.returncode, 5, "it ends as it does alone")
    check(took < 5 * lib.SLOW, f"{took:.1f} s")


def a_process_ends_with_its_last_own_thread(place):
    for env in ({}, {"FAKE_NVML_HANG": "Sample"}):
        for words in (("init:0", "ops:5"), ("init:0", "ops:5", "shutdown")):
            done, _ = _live(place, *words, "pthread_exit", folder=f"life-{len(list(place.path.iterdir()))}", **env)
            equal(done.returncode, 0, f"{env} {words}: status")
    equal(_ended(place), [True] * 4, "each session has an end")


def exit_in_a_handler_ends_the_session(place):
    took = []
    for n in range(10):
        done, seconds = _live(place, "init:0", "exit_handler:4", folder=f"life-{n}")
        equal(done.returncode, 4, "status")
        took.append(seconds)
    check(sorted(took)[5] < 3 * lib.SLOW, f"{took} s: it waits for nothing")  # most of them, whatever else runs
    equal(_ended(place), [True] * 10, "each session has an end")


def a_job_that_closes_and_reuses_descriptors_keeps_its_files_and_the_figures_of_amdgpu(place):
    done, _ = _live(place, "init:0", "nap:300000", "closefrom", "spread", "nap:300000", "shutdown", "exit:5",
                    GPUFL_SYSFS=str(lib.ROOT / "tests/samples/amdgpu"), FAKE_NVML_INIT="9")
    equal((done.returncode, _said(done)), (5, {"files": "1", "errno": "1"}), f"its files: {done.stderr}")
    session, = place.logs.iterdir()
    samples = list(collector.rows(session, "system", "device_metric_batch"))
    missed = [row for row in samples if -1 in (row["temp_c"], row["used_mib"])]  # while it was being closed
    check(len(missed) <= 2, f"not known in a sample of each device at most: {missed}")
    equal({(row["temp_c"], row["used_mib"]) for row in samples if row not in missed}, {(61, 12288), (71, 2048)},
          "figures before and behind it")
    times = [row["base"] + row["dt_ns"] for row in samples]
    check(max(times) - min(times) > 3e8, f"{len(samples)} rows over {(max(times) - min(times)) / 1e6} ms")


def a_scope_without_memory_changes_no_errno(place):
    if lib.SANITIZER:
        lib.skip("memory is the sanitizer's")
    own = place.path / "life"
    own.mkdir()
    for first in range(0, 40, 4):
        done = place.run("tests/hostile/life", own, place.logs, "init:0", "threads:2:20", "exit:0", env={
            "LD_PRELOAD": f"{lib.BUILD}/libgpufl.so {lib.BUILD}/tests/fake/no_memory.so",
            "HOSTILE_HOST": f"malloc:12:{first}:1000000"})
        for file in own.iterdir():
            file.unlink()
        equal((done.returncode, _said(done)["errno"]), (0, "1"), f"memory ends at the {first}th: {done.stderr}")


def a_disk_that_hangs_keeps_no_buffer_of_cupti(place):
    """S3-07: their callback only queues them."""
    done, _ = _live(place, "init:1", "threads:8:15000", "completed:3", "exit:5", host="write:h:6:1000000", LIFE_GPU="1")
    equal((done.returncode, _said(done).get("completed")), (5, "1"), f"handed over while nothing is written: {done.stderr}")
    check("has no end" in done.stderr, done.stderr)


def nothing_is_left_of_a_session_that_could_not_begin(place):
    refused = 0
    for call in ("open:28", "write:28", "rename:28", "lock:13"):
        for first in range(9):
            done, _ = _live(place, "init:0", "_exit:0", folder=f"{call[:4]}-{first}", host=f"{call}:{first}:1000000")
            refused += "not recording" in done.stderr
    check(refused >= 10, f"{refused} sessions were refused")
    equal(sorted(f.name for f in place.logs.glob(".new-*")), [], "directories that are left")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
