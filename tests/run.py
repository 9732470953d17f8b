#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs, some at a time, and counts. Usage: run.py --build DIR PROGRAM…

C tests are cmocka programs, Python tests print `ok NAME`, `FAIL NAME` and `skip NAME: WHY`. The output
of a program is shown only when something in it failed; what was skipped is always shown. Closes with
`N passed, N failed`, and `N skipped` if some were.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing

AT_ONCE = 5          # they mostly wait: half of two cores with three of them at once
AT_ONCE_RELEASE = 8  # and a build without a sanitizer needs less
TIMEOUT_S = 1200  # a hang, not a busy machine
EMULATOR = os.environ.get("EMULATOR", "").split()  # of the architecture that was built for
# Unit and property tests make, sync and remove files by the hundred thousand: on a disk that others
# use, one that needs half a second of a processor waited two minutes. End-to-end tests stay on disk.
MEMORY_DISK = "/dev/shm"
MEMORY_DISK_BYTES = 1 << 30
# They start first: begun last, they would run alone at the end.
LONGEST = ("test_house", "test_two_users", "test_crash", "test_schema", "test_trace", "test_agent", "test_limits",
           "test_server", "test_metrics", "test_resolve", "test_api", "test_backend_guard", "test_origin",
           "test_upload", "test_unread", "test_trust", "test_planted", "test_options", "test_moved_roots", "test_way_out",
           "test_moved_root")
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]


class Result(typing.NamedTuple):
    program: str
    passed: int
    failed: int
    text: str
    seconds: float
    cpu_seconds: float


def counts(program, text):
    if program.endswith(".py"):
        return (len(re.findall(r"^ok ", text, re.M)), len(re.findall(r"^FAIL ", text, re.M)))
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    failed = re.search(r"\[  FAILED  \] (\d+) test", text)
    return int(passed.group(1)) if passed else 0, int(failed.group(1)) if failed else 0


def skips(text):
    """The tests that this machine or build cannot run; those in Python with the reason. cmocka lists its own twice."""
    return re.findall(r"^skip .*", text, re.M) + \
        [f"skip {name}" for name in dict.fromkeys(re.findall(r"^\[  SKIPPED \] (\w+)$", text, re.M))]


def memory_disk_bytes():
    """What is free there; 0 where it cannot be written to."""
    if not os.access(MEMORY_DISK, os.W_OK):
        return 0
    disk = os.statvfs(MEMORY_DISK)
    return disk.f_bavail * disk.f_frsize


def finished(command, environment):
    """What a command printed, its exit status, and the processor time of it and of all that it waited for."""
    with tempfile.TemporaryFile() as out:  # a pipe would stay open as long as a process that outlives the command
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        late = threading.Event()
        timer = threading.Timer(TIMEOUT_S, lambda: (late.set(), os.kill(process.pid, signal.SIGKILL)))
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = 124 if late.is_set() else os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace") + ("\ntimed out\n" if late.is_set() else "")
    return text, process.returncode, used.ru_utime + used.ru_stime


def run(program, build):
    command = ["python3", program, build] if program.endswith(".py") else [*EMULATOR, program]
    if "VALGRIND" in os.environ and not program.endswith(".py"):
        command = VALGRIND + command  # scripts do so for what they start
    environment = dict(os.environ, GPUFL_BUILD=build, PYTHONDONTWRITEBYTECODE="1")
    for name in list(environment):
        if name.startswith("GPUFL_") and name != "GPUFL_BUILD":
            del environment[name]
    if not program.endswith(".py") and memory_disk_bytes() >= MEMORY_DISK_BYTES:
        environment["TMPDIR"] = MEMORY_DISK
    start = time.monotonic()
    text, code, cpu = finished(command, environment)
    passed, failed = counts(program, text)
    if code and not failed:
        failed = 1  # it crashed, or a sanitizer stopped it
    if not code and not passed and not failed and not skips(text):
        failed, text = 1, text + "\nran no test\n"
    return Result(program, passed, failed, text, time.monotonic() - start, cpu)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    # What needs a core all the time, then what takes longest, then the other scripts by their size.
    rank = {name: n for n, name in enumerate(LONGEST)}
    programs = sorted(arguments.programs, key=lambda p: (
        "/prop/" not in p, rank.get(os.path.basename(p).removesuffix(".py"), len(rank)), not p.endswith(".py"),
        -os.path.getsize(p)))
    total_passed = total_failed = total_skipped = 0
    with concurrent.futures.ThreadPoolExecutor(
            AT_ONCE_RELEASE if arguments.build.endswith("release") else AT_ONCE) as pool:
        jobs = [pool.submit(run, p, arguments.build) for p in programs]
        for job in concurrent.futures.as_completed(jobs):
            done = job.result()
            total_passed += done.passed
            total_failed += done.failed
            total_skipped += len(skips(done.text))
            state = "FAIL" if done.failed else "ok"
            print(f"  {state:<4}  {os.path.relpath(done.program):<48} {done.passed:>3} passed "
                  f"{done.seconds:5.1f} s, {done.cpu_seconds:5.1f} s of a processor", flush=True)
            if done.failed:
                print(done.text, flush=True)
            else:
                for line in skips(done.text):
                    print(f"        {line}", flush=True)
    print(f"{total_passed} passed, {total_failed} failed" +
          (f", {total_skipped} skipped" if total_skipped else ""), flush=True)
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())
