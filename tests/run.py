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
import subprocess
import sys
import time

AT_ONCE = 3          # they mostly wait: a fifth of two cores with two of them at once
AT_ONCE_RELEASE = 5  # and a build without a sanitizer needs less
TIMEOUT_S = 900 if {"E2E", "VALGRIND", "EMULATOR"} & set(os.environ) else 600  # a hang, not a busy machine
EMULATOR = os.environ.get("EMULATOR", "").split()  # of the architecture that was built for
# Unit and property tests make, sync and remove files by the hundred thousand: on a disk that others
# use, one that needs half a second of a processor waited two minutes. End-to-end tests stay on disk.
MEMORY_DISK = "/dev/shm"
MEMORY_DISK_BYTES = 1 << 30
# They start first: begun last, they would run alone at the end.
LONGEST = ("test_crash", "test_house", "test_two_users", "test_schema", "test_agent", "test_server", "test_trace",
           "test_metrics", "test_trust", "test_unread")
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]


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
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, env=environment, check=False)
        text, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as e:
        text, code = (e.stdout or b"").decode(errors="replace") + "\ntimed out\n", 124
    passed, failed = counts(program, text)
    if code and not failed:
        failed = 1  # it crashed, or a sanitizer stopped it
    if not code and not passed and not failed and not skips(text):
        failed, text = 1, text + "\nran no test\n"
    return program, passed, failed, text, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    # What needs a core all the time, then what takes longest, then the other scripts by their size.
    programs = sorted(arguments.programs, key=lambda p: (
        "/prop/" not in p, os.path.basename(p).removesuffix(".py") not in LONGEST, not p.endswith(".py"),
        -os.path.getsize(p)))
    total_passed = total_failed = total_skipped = 0
    with concurrent.futures.ThreadPoolExecutor(
            AT_ONCE_RELEASE if arguments.build.endswith("release") else AT_ONCE) as pool:
        jobs = [pool.submit(run, p, arguments.build) for p in programs]
        for job in concurrent.futures.as_completed(jobs):
            program, passed, failed, text, seconds = job.result()
            total_passed += passed
            total_failed += failed
            total_skipped += len(skips(text))
            state = "FAIL" if failed else "ok"
            print(f"  {state:<4}  {os.path.relpath(program):<48} {passed:>3} passed "
                  f"{seconds:5.1f} s", flush=True)
            if failed:
                print(text, flush=True)
            else:
                for line in skips(text):
                    print(f"        {line}", flush=True)
    print(f"{total_passed} passed, {total_failed} failed" +
          (f", {total_skipped} skipped" if total_skipped else ""), flush=True)
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())
