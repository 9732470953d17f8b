# SPDX-License-Identifier: Apache-2.0
"""What a session does not contain is counted by kind, in the closing record, on stderr and in the report."""
import sys

import lib
from lib import check, equal
import test_collector as collector

FAKE = lib.BUILD / "tests/fake"
SCOPES, DROPPED, CALLS, WAITS, PHASES, WITHOUT = range(6)


def _play(place, part, engine="Trace", **env):
    """(session's directory, stderr, report, counters of gpufl_get_stats)"""
    if lib.SANITIZER and "address" in lib.SANITIZER[0]:
        env.setdefault("ASAN_OPTIONS", "detect_leaks=0")  # the fake keeps what it was given
    report = place.path / "report"
    done = place.run("tests/e2e/gpu_scopes", place.logs, part,
                     env={"GPU_SCOPES_REPORT": str(report), "LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": engine, **env})
    equal(done.returncode, 7, f"{part}: {done.stderr}")
    said, _, stats = done.stderr.partition("stats ")
    return place.logs / done.stdout.strip(), said, report.read_text(), [int(n) for n in stats.split()]


def _closing(session):
    """(losses that are not 0, capabilities by feature)"""
    record, = (r for r in collector.records(session, "scope") if r["type"] == "capture_capabilities")
    return ({kind: count for kind, count in record["losses"].items() if count},
            {c["feature"]: c for c in record["capabilities"]})


def _all_say(said, report, text):
    equal((said.count(text), report.count(text)), (1, 1), f"{text!r} on stderr and in the report: {said} {report}")


def each_kind_that_finds_no_room_has_its_counter(place):
    flag = place.path / "slow"
    flag.touch()
    session, said, report, stats = _play(
        place, "stalled", GPUFL_FLUSH_LOGS_ALWAYS="1", FAKE_SLOW_SYNC=str(flag),
        LD_PRELOAD=str(FAKE / "slow_sync.so"))
    losses, capabilities = _closing(session)
    equal(collector.paired(session), {"only one": 1}, "the scope")
    equal(stats[:2], [1, 0], "scopes recorded and dropped")
    check(1000 < losses["calls"] < 10000, f"{losses}")
    equal((losses["waits"], losses["phases"]), (6, 1), "waits and phases")
    equal(stats[CALLS:], [losses["calls"], 6, 1, 0], "the same by gpufl_get_stats")
    equal(set(losses), {"calls", "waits", "phases"}, "nothing else")
    equal((capabilities["sync_activity"]["status"], capabilities["sync_activity"]["reason_code"]),
          ("partial", "ring_full:6"), "waits")
    equal(capabilities["scope_attribution"]["reason_code"], f"ring_full:{losses['calls']}", "calls")
    _all_say(said, report, "6 synchronisations that did not fit in their thread's ring")
    _all_say(said, report, f"{losses['calls']} launches, copies and sets without scope")
    equal(said.count(session.name), 1, said)


def a_thread_without_memory_is_counted(place):
    if lib.SANITIZER or lib.VALGRIND or lib.EMULATOR:
        lib.skip("the address space is not the program's own")
    session, said, report, stats = _play(place, "without memory", "Monitor")
    losses, capabilities = _closing(session)
    equal(losses, {"without_memory": 1000}, "each scope")
    equal((stats[SCOPES], stats[WITHOUT]), (0, 1000), "by gpufl_get_stats")
    equal((capabilities["scope_attribution"]["status"], capabilities["scope_attribution"]["reason_code"]),
          ("partial", "no_memory:1000"), "it is said")
    _all_say(said, report, "1000 scopes, calls, waits and phases of threads for which there was no memory")


if __name__ == "__main__":
    here = sys.modules[__name__]
    if not (lib.BUILD / "libgpufl-cupti.so").exists():
        print("   the module is built where CUDA's headers are: nothing is tested")
        sys.exit(0)
    sys.exit(lib.main(here))
