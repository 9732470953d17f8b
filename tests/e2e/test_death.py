# SPDX-License-Identifier: Apache-2.0
"""However the job ends, its result is its own and what it recorded is delivered."""
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import typing

import lib
from lib import check, equal
import test_collector as collector

WAYS = {
    "kill": -signal.SIGKILL,
    "term": -signal.SIGTERM,
    "abort": -signal.SIGABRT,
    "segfault": -signal.SIGSEGV,
    "_exit": 7,
    "return": 7,
    "exec": 7,
}
# The sanitizers' own handlers would change the exit code.
SANITIZERS = "handle_segv=0:handle_abort=0"
AT_MOST_LOST_NS = 100_000_000
CALM_NS = 20_000_000
SCOPE_END = 1


class _Evidence(typing.NamedTuple):
    """What the job saw of the writer by its end."""
    recorded_ns: int  # when it recorded the last scope
    kept: int  # scopes that must be in the files
    delay_ns: int  # for which the writer waited for a CPU; -1 = not known
    kernels_kept: int  # kernels that must be in the files; -1 = none is launched, or it is not known


def _die(place, way, *more, env=None, **options):
    done = place.run("tests/e2e/dying", place.logs, way, *more, **options,
                     env={"ASAN_OPTIONS": SANITIZERS, "TSAN_OPTIONS": SANITIZERS, **(env or {})})
    session, *_, last = done.stdout.splitlines()
    return done, place.logs / session, _Evidence(*map(int, last.split()))


@contextlib.contextmanager
def _small_group(place, limit_bytes):
    """A control group (1 or 2) of so much memory; None where none can be made."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root) / place.path.name
        try:
            group.mkdir()
            (group / limit).write_text(str(limit_bytes))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    yield None


def _whole_lines(session, channel):
    data = lib.on_disk(session, channel)
    return data[:data.rfind(b"\n") + 1]


def _recorded(session):
    """(scopes that are whole, the time of the last row)"""
    scopes, last_ns = 0, 0
    for line in _whole_lines(session, "scope").splitlines():
        record = json.loads(line)
        if record["type"] == "scope_event_batch":
            scopes += sum(row[3] == SCOPE_END for row in record["rows"])
            last_ns = max(last_ns, record["base_time_ns"] + max(row[0] for row in record["rows"]))
    return scopes, last_ns


def _check_loss(way, session, seen):
    """What the writer took a round ago is there, however busy the machine is; and at most 100 ms are missing
    where the kernel gave the writer a CPU when it wanted one."""
    scopes, last_ns = _recorded(session)
    check(scopes >= seen.kept > 0, f"{way}: {scopes} scopes of at least {seen.kept}")
    if 0 <= seen.delay_ns <= CALM_NS:
        missing_ns = seen.recorded_ns - last_ns
        check(missing_ns <= AT_MOST_LOST_NS * lib.SLOW, f"{way}: {missing_ns / 1e6} ms missing: {seen}")


def the_jobs_end_is_its_own_and_at_most_100_ms_are_missing(place):
    """S2-11: a line is in its file after 100 ms."""
    sessions = []
    for way, code in WAYS.items():
        done, session, seen = _die(place, way)
        equal(done.returncode, code, f"{way}: exit code")
        if 0 <= seen.delay_ns <= CALM_NS:  # else scopes may not have fitted, which is said
            equal(done.stderr, "", f"{way}: errors")
        _check_loss(way, session, seen)
        check(collector.unlocked(session), f"{way}: the lock frees itself")
        sessions.append(session)
    told = place.run("gpufl", "status", place.logs)
    equal(told.stdout.count("writer ended"), len(WAYS), "writers that ended")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    for session in sessions:
        for channel in lib.CHANNELS:
            equal(backend.export(session.name, channel), _whole_lines(session, channel),
                  f"{channel}: the whole lines, and no torn one")


def kernels_that_are_older_than_100_ms_survive_kill_9_and_underscore_exit(place):
    """Under Trace, alone and beside threads whose rings are always full. Waits for a CPU, of the writer and of the thread
    by which CUPTI gives records back, do not count."""
    lib.need_the_module()
    for way in ("kill", "_exit"):
        for hot in (0, 64):
            done, session, seen = _die(place, way, env={
                "DYING_KERNELS_MS": str(AT_MOST_LOST_NS // 1_000_000 * lib.SLOW), "DYING_HOT": str(hot),
                "FAKE_CUPTI_THREAD": "cuptis", "GPUFL_PROFILING_ENGINE": "Trace",
                "LD_LIBRARY_PATH": f"{lib.BUILD}/tests/fake:{lib.BUILD}"})
            equal(done.returncode, WAYS[way], f"{way}: exit code ({done.stderr})")
            kernels = sum(len(r["rows"]) for r in map(json.loads, _whole_lines(session, "device").splitlines())
                          if r["type"] == "kernel_event_batch")
            check(kernels >= seen.kernels_kept, f"{way}, {hot} hot threads: {kernels} kernels of at least {seen.kernels_kept}")
            check(seen.kernels_kept > 0 or hot, f"{way}: {seen}")  # beside them, there may be none but those that waited
            shutil.rmtree(session)


def the_kernels_oom_killer_takes_no_more(place):
    """In a control group of 64 MiB; only where this user may make one."""
    if lib.SANITIZER:
        lib.skip("their shadow memory does not fit")
    with _small_group(place, 64 << 20) as group:
        if not group:
            lib.skip("this user may make no control group with a limit")
        enter = group / "cgroup.procs"
        done, session, seen = _die(place, "oom", preexec_fn=lambda: enter.write_text("0"))
    equal((done.returncode, done.stderr), (-signal.SIGKILL, ""), "exit code, errors")
    _check_loss("oom", session, seen)
    check(collector.unlocked(session), "the lock frees itself")


def a_library_that_is_unloaded_while_it_records_harms_nobody(place):
    """Neither the shared one nor a plugin that contains the static one."""
    plugin = place.path / "plugin.so"
    subprocess.run(["gcc", "-shared", "-o", plugin, "-Wl,--whole-archive", lib.BUILD / "libgpufl.a", "-Wl,--no-whole-archive",
                    "-ldl", "-pthread", *lib.SANITIZER], check=True)
    for library in (lib.BUILD / "libgpufl.so", plugin):
        for way, status in (("unload", 7), ("leave", 0)):
            if way == "leave" and lib.SANITIZER and "thread" in lib.SANITIZER[0]:
                continue  # TSan's runtime has a thread, which goes on
            done, session, _ = _die(place, way, library)
            equal((done.returncode, done.stderr), (status, ""), f"{library.name}, {way}: exit code, errors")
            check(collector.records(session, "device"), "the session is there")
            shutil.rmtree(session)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
