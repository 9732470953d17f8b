# SPDX-License-Identifier: Apache-2.0
"""The engines above Monitor, on the GPU behind a fake libcupti: what they record, and that no
fault of theirs is the job's."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import types

import lib
from lib import check, equal, until
import test_collector as collector

FAKE = lib.BUILD / "tests/fake"
MODULE = lib.BUILD / "libgpufl-cupti.so"
KINDS = {"kernel": 10, "memcpy": 1, "memset": 2, "memory": 49, "graph": 51}
OUT_OF_MEMORY, PRIVILEGES, MULTIPLE, UNKNOWN = 8, 35, 39, 999


def _run(place, part, engine="Trace", expected=7, library=FAKE, job="gpu_job", **env):
    """(session's directory or None, what was said on stderr, calls that switched something)"""
    env.setdefault("GPUFL_SHUTDOWN_TIMEOUT_MS", "60000")  # a flush of half a million launches on a machine of any speed
    calls = place.path / f"calls-{len(list(place.path.iterdir()))}"
    done = place.run(f"tests/e2e/{job}", place.logs, part, stdin=subprocess.DEVNULL,
                     env={"LD_LIBRARY_PATH": f"{library}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": engine,
                          "FAKE_CUPTI_CALLS": str(calls), **env})
    equal(done.returncode, expected, f"{part}: {done.stderr}")
    sessions = [place.logs / line for line in done.stdout.split()]
    return sessions, done.stderr, calls.read_text().splitlines() if calls.exists() else []


def _options(place, **fields):
    path = place.path / "gpufl.json"
    path.write_text(json.dumps(fields))
    return {"GPUFL_CONFIG_FILE": str(path)}


def _kernels(session):
    """Rows of kernels as dicts, with their name."""
    names = {}
    for record in collector.records(session, "device"):
        names.update(record.get("kernel_dict", {}))
        if record["type"] == "kernel_event_batch":
            for row in record["rows"]:
                found = dict(zip(record["columns"], row))
                found["start_ns"] = record["base_time_ns"] + found["dt_ns"]
                yield {**found, "name": names[str(found["kernel_id"])]}


def _closing_record(session):
    record, = (r for r in collector.records(session, "device") if r["type"] == "capture_capabilities")
    return record


def _capabilities(session):
    record = _closing_record(session)
    return record["selected_engine"], {c["feature"]: c for c in record["capabilities"]}


def _whole(session):
    """A session that opens and closes, in each channel."""
    for channel in session.glob("*.log"):
        records = collector.records(session, channel.stem)
        equal((records[0]["type"], records[-1]["type"]), ("job_start", "shutdown"), channel.name)
    return collector.records(session, "device")[0]


BATCHES = {"kernel_event_batch": "kernel", "memcpy_event_batch": "memcpy", "memset_event_batch": "memset",
           "memory_alloc_event_batch": "memory", "synchronization_event_batch": "wait"}
FEATURES = {"kernel": "kernel_events", "memcpy": "memcpy_activity", "memset": "memcpy_activity", "memory": "memory_activity",
            "graph": "graph_activity", "wait": "sync_activity"}


def _rows(session):
    """How many there are of each kind."""
    found = collections.Counter()
    for record in collector.records(session, "device") + collector.records(session, "scope"):
        if record["type"] in BATCHES:
            found[BATCHES[record["type"]]] += len(record["rows"])
        found["graph"] += record["type"] == "graph_launch_event"
    return found


def _kinds(calls):
    """Of the records that were asked for."""
    names = {str(number): name for name, number in KINDS.items()}
    return {names.get(c.split()[1], c) for c in calls if c.startswith("enable ")}


def every_launch_is_recorded_once_and_in_its_scope(place):
    """S2-23, S2-50, S2-61, S3-01, S3-02, S3-08, S3-12."""
    (session,), said, calls = _run(place, "counted")
    equal(said, "", "nothing to say")
    start = _whole(session)
    equal((start["session_kind"], start["profiling_engine"]), ("trace", "nvidia.trace"), "the session")
    kernels = list(_kernels(session))
    equal(len({k["corr_id"] for k in kernels}), 28, "each once")
    equal(collections.Counter(k["name"] for k in kernels),
          {"first(float*)": 5, "second(float*)": 12, "plain_c": 11}, "names")
    scopes = {}
    for record in collector.records(session, "scope"):
        scopes.update({v: k for k, v in record.get("scope_name_dict", {}).items()})
    instance = {}
    for row in collector.rows(session, "scope", "scope_event_batch"):
        if row["event_type"] == 0:
            instance[row["scope_instance_id"]] = next(n for n, i in scopes.items() if int(i) == row["name_id"])
    equal(collections.Counter(instance.get(k["scope_instance_id"]) for k in kernels),
          {"a": 3, "b": 5, "c": 7, None: 13}, "by scope")
    details = [r for r in collector.records(session, "device") if r["type"] == "kernel_detail"]
    by_id = {d["corr_id"]: d for d in details}
    equal(len(details), 5, "one a name, configuration and scope")
    for k in kernels:
        check(k["has_details"] == (k["corr_id"] in by_id), "has_details")
        check(k["detail_corr_id"] in by_id, "each row has a detail")
        check(k["start_ns"] >= start["ts_ns"], "after the session's start")
    equal({by_id[k["detail_corr_id"]]["user_scope"] for k in kernels}, {"a", "b", "b|c", "global"}, "paths")
    equal((details[0]["grid"], details[0]["occupancy"], details[0]["max_active_blocks"]), ("(4,1,1)", 1.0, 16),
          "a detail")
    equal(collections.Counter((k["external_kind"], k["external_id"]) for k in kernels), {(0, 0): 26, (3, 99): 2},
          "ids that were pushed")
    equal({k["num_regs"] for k in kernels}, {32}, "registers")
    check(calls.index("register 0") < calls.index(f"enable {KINDS['kernel']}"), f"{calls}")
    equal(_kinds(calls), {"kernel", "memcpy", "memset"}, "neither what serialises kernels nor what slows every call of CUDA")
    equal([c for c in calls if c.startswith("flush")][-1], "flush 1", "the last one takes what has not ended, too")


def a_detail_has_what_the_record_of_its_kernel_has(place):
    """S3-08: kernels that differ in anything of it have details of their own."""
    (session,), _, _ = _run(place, "various")
    fields = ("num_regs", "static_shared", "dyn_shared", "shared_mem_executed_bytes", "local_mem_per_thread_bytes",
              "local_mem_total_bytes", "cache_config_requested", "cache_config_executed")
    details = {r["corr_id"]: r for r in collector.records(session, "device") if r["type"] == "kernel_detail"}
    usual = [40, 1024, 2048, 32768, 16, 65536, 1, 2]
    want = [usual] + [[n + (i == k) for i, n in enumerate(usual)] for k in range(len(usual))]
    seen = []
    for kernel in _kernels(session):
        both = {**details[kernel["detail_corr_id"]], **kernel}
        equal(both["has_details"], 1, "each its own")
        equal(both["local_bytes"], both["local_mem_per_thread_bytes"], "by either name")
        seen.append([both[name] for name in fields])
    equal(seen, want, "values")


def a_job_with_a_decimal_comma_has_the_same_records(place):
    """The locale of a job is that of its user, once it calls setlocale()."""
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", place.path / "de_DE.UTF-8"], check=True, capture_output=True)
    (session,), said, _ = _run(place, "various", LOCPATH=str(place.path), LC_ALL="de_DE.UTF-8",
                              ASAN_OPTIONS="detect_leaks=0")  # setlocale() keeps what $LOCPATH says
    details = [r for r in collector.records(session, "device") if r["type"] == "kernel_detail"]
    check(details and all(0 <= r["occupancy"] <= 1 for r in details), f"{details[:1]} {said}")


def each_launch_has_its_detail_where_that_is_asked_for(place):
    """As tools of the existing client join them: by corr_id alone."""
    (session,), _, _ = _run(place, "counted", GPUFL_KERNEL_DETAILS="per_launch")
    details = [r for r in collector.records(session, "device") if r["type"] == "kernel_detail"]
    kernels = list(_kernels(session))
    equal([d["corr_id"] for d in details], [k["corr_id"] for k in kernels], "a detail for each launch")
    check(len(kernels) > 5 and len({d["corr_id"] for d in details}) == len(kernels), "each its own")
    check(not any("per_launch" in d for d in details), "as older writers have them")
    check(all(k["has_details"] == 1 and k["detail_corr_id"] == k["corr_id"] for k in kernels), "each row names it")
    (session,), said, _ = _run(place, "counted", GPUFL_KERNEL_DETAILS="all")
    equal(said, "[GPUFL] GPUFL_KERNEL_DETAILS=all ignored: expected per_launch\n", "no word of it")
    equal(sum(r["type"] == "kernel_detail" for r in collector.records(session, "device")), 5, "one for launches alike")


def what_else_happens_is_recorded_when_it_is_asked_for(place):
    """S2-25, S2-26, S2-62, S3-02."""
    every = {"memcpy_event_batch": "device", "memset_event_batch": "device", "synchronization_event_batch": "scope",
             "memory_alloc_event_batch": "scope", "graph_launch_event": "scope"}
    for env, missing in (
            ({}, {"memory_alloc_event_batch", "graph_launch_event"}),
            (_options(place, enable_memory_tracking=True, enable_cuda_graphs_tracking=True,
                      enable_synchronization=False), {"synchronization_event_batch"})):
        (session,), _, calls = _run(place, "counted", **env)
        equal(_kinds(calls), set(KINDS) if env else {"kernel", "memcpy", "memset"}, "kinds")
        there = {t for t, c in every.items() if any(r["type"] == t for r in collector.records(session, c))}
        equal(there, set(every) - missing, f"{env}")
    copy, = collector.rows(session, "device", "memcpy_event_batch")
    equal((copy["bytes"], copy["copy_kind"], copy["duration_ns"]), (4096, 1, 500), "a copy")
    memset, = collector.rows(session, "device", "memset_event_batch")
    equal(memset["bytes"], 4096, "a set")


def waits_say_what_was_waited_for_and_how_long(place):
    """S2-24."""
    (session,), _, _ = _run(place, "waits")
    none = 2**32 - 1
    rows = list(collector.rows(session, "scope", "synchronization_event_batch"))
    equal([(w["sync_type"], w["stream_id"], w["event_id"]) for w in rows],
          [(1, none, 0x31), (2, 20, 0x31), (3, 7, none), (3, 14, none), (3, 14, none), (4, none, none)], "each once")
    equal({w["context_id"] for w in rows}, {1}, "contexts")
    equal(len({w["corr_id"] for w in rows}), 6, "ids")
    check(all(2e6 <= w["duration_ns"] < 1e9 for w in rows if w["sync_type"] != 2), f"as long as the calls: {rows}")
    begins = [w["base"] + w["dt_ns"] for w in rows]
    check(all(a + w["duration_ns"] <= b for a, b, w in zip(begins, begins[1:], rows)), f"one after the other: {rows}")
    (session,), said, _ = _run(place, "waits", FAKE_CUPTI_FAIL=f"GetStreamIdEx={UNKNOWN}")
    equal({w["stream_id"] for w in collector.rows(session, "scope", "synchronization_event_batch")}, {none}, said)


def a_call_that_began_before_the_session_has_no_time(place):
    (session,), _, _ = _run(place, "ends", **_options(place, enable_memory_tracking=True))
    equal(list(collector.rows(session, "scope", "synchronization_event_batch")), [], "no wait")
    allocation, = collector.rows(session, "scope", "memory_alloc_event_batch")
    equal(allocation["duration_ns"], 0, "not known")


def ids_are_taken_and_left_as_they_were(place):
    """S2-23."""
    (session,), _, _ = _run(place, "pushed")
    ids = collections.Counter((k["external_kind"], k["external_id"]) for k in _kernels(session))
    late = ids.pop((3, 8))
    check(100 - 15 <= late <= 100, f"after a long time without, at most 15 launches miss theirs: {late}")
    equal(ids, {(1, 5): 4, (4, 6): 2, (0, 0): 3100 - late}, "ids")
    (session,), _, _ = _run(place, "pushed", **_options(place, enable_external_correlation=False))
    equal({(k["external_kind"], k["external_id"]) for k in _kernels(session)}, {(0, 0)}, "not asked for")


def _functions(session):
    names, symbols = {}, {}
    for record in collector.records(session, "scope"):
        names.update(record.get("function_dict", {}))
        symbols.update(record.get("func_symbol_dict", {}))
    return names, symbols


def stacks_name_who_launched_and_who_waited(place):
    """S2-21."""
    (session,), said, _ = _run(place, "called", **_options(place, enable_stack_trace=True))
    equal(said, "", "nothing to say")
    details = {r["corr_id"]: r for r in collector.records(session, "device") if r["type"] == "kernel_detail"}
    launched = collections.Counter()
    for kernel in _kernels(session):
        frames = details[kernel["detail_corr_id"]]["stack_trace"].split("|")
        check(frames[0] in ("launch", "train_step", "eval_step"), f"from the caller of CUDA outwards: {frames}")
        check(frames.index("main") > frames.index("called"), f"{frames}")
        launched[next(f for f in frames if f.endswith("_step"))] += 1
    equal(launched, {"train_step": 3, "eval_step": 2}, "kernels by the function that launched them")
    equal(len(details), 2, "one a stack")
    wait, = collector.rows(session, "scope", "synchronization_event_batch")
    names, symbols = _functions(session)
    check(names[str(wait["function_id"])].startswith("train_step|called|main|"), f"{names}")
    equal(symbols, {}, "a stack has no symbol")
    equal(_capabilities(session)[1]["stack_traces"]["status"], "collected", "and it is said")


def a_stack_costs_a_launch_some_microseconds(place):
    """No more than gpufl.h says, or half as much again as a bare backtrace of that depth, where that is slower. Of its
    thread's own time; names are found by the writer. tests/bench/bench_stack.py tells how many."""
    if lib.MEASURES_ITSELF:
        lib.skip("the time is not the program's own")
    header = (lib.ROOT / "include/gpufl/gpufl.h").read_text()
    said = re.search(r"costs about (\d+) us per launch[\s*]+at the top of a program, (\d+) us below 20 frames,[\s*]+"
                     r"(\d+) us below 48", header).groups()
    took = [_run(place, "stacks cost", **_options(place, enable_stack_trace=stacks))[1] for stacks in (False, True)]
    floors, costs = ([int(ns) for ns in text.split("launch_ns ")[1].split()] for text in took)
    bare = [int(ns) for ns in took[1].split("bare_ns ")[1].split()[:3]]
    for depth, us, floor_ns, ns, bare_ns in zip(("at the top", "below 20 frames", "below 60"), said, floors, costs, bare):
        most_ns = max(int(us) * 1000, 1.5 * bare_ns)
        check(0 < ns - floor_ns <= most_ns, f"{depth}: {ns - floor_ns} ns, {bare_ns} ns bare, {us} us in the header")


def _library(place, name, function, build_id):
    """One whose `call` calls back through that function, as linked, and stripped."""
    source, linked, stripped = (place.path / f"{name}{suffix}" for suffix in (".c", ".so.debug", ".so"))
    source.write_text("typedef void back(void);\n"
                      f"static __attribute__((noinline)) void {function}(back *b) {{ b(); __asm__ volatile(\"\"); }}\n"
                      f"void call(back *b) {{ {function}(b); __asm__ volatile(\"\"); }}\n")
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fPIC", "-shared", f"-Wl,--build-id=0x{build_id}", "-o", linked, source],
                   check=True)
    subprocess.run(["strip", "-o", stripped, linked], check=True)
    return linked, stripped


def functions_of_a_library_are_those_of_the_file_that_was_loaded(place):
    """By its build id: not those of an upgrade that has its path now, and those of a package of debug symbols."""
    ids = [os.urandom(20).hex() for _ in range(2)]
    linked, stripped = _library(place, "libjob", "inner", ids[0])
    stack_of = lambda **env: next(r["stack_trace"] for r in collector.records(  # noqa: E731
        _run(place, "called by a library", **_options(place, enable_stack_trace=True), **env)[0][0], "device")
        if r["type"] == "kernel_detail")
    work = place.path / "libwork.so"
    shutil.copy(linked, work)
    stack = stack_of(JOB_LIBRARY=str(work))
    check("|inner|call|" in stack, f"by its own symbols: {stack}")
    upgrade, _ = _library(place, "libnew", "others", ids[1])
    stack = stack_of(JOB_LIBRARY=str(work), JOB_UPGRADE=str(upgrade))
    check("others" not in stack and stack.count("|libwork.so+0x") == 2, f"another file has its path: {stack}")
    shutil.copy(stripped, work)
    check(re.search(r"\|libwork\.so\+0x[0-9a-f]+\|call\|", stack_of(JOB_LIBRARY=str(work))), "its file has no symbols")
    if os.geteuid() != 0:
        lib.skip("needs root: a package of debug symbols")
    symbols = pathlib.Path(f"/usr/lib/debug/.build-id/{ids[0][:2]}/{ids[0][2:]}.debug")
    made = [path for path in reversed([symbols, *symbols.parents][:4]) if not path.exists()]
    symbols.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(linked, symbols)
        check("|inner|call|" in stack_of(JOB_LIBRARY=str(work)), "a package has them")
        shutil.copy(_library(place, "libnew", "others", ids[1])[0], symbols)
        check("others" not in stack_of(JOB_LIBRARY=str(work)), "those of another file")
    finally:
        symbols.unlink()
        for path in reversed(made[:-1]):
            path.rmdir()


def without_stacks_there_are_none(place):
    """S2-21."""
    (session,), _, _ = _run(place, "called")
    equal({r["stack_trace"] for r in collector.records(session, "device") if "stack_trace" in r}, {""}, "no stack")
    equal([w["function_id"] for w in collector.rows(session, "scope", "synchronization_event_batch")], [0], "of a wait")
    equal(_functions(session), ({}, {}), "no names")
    equal(_capabilities(session)[1]["stack_traces"]["status"], "not_requested", "and it is said")


def copies_and_sets_have_their_scope_and_allocations_their_time(place):
    """S2-25, S2-62."""
    (session,), _, _ = _run(place, "called", **_options(place, enable_memory_tracking=True))
    begin = next(r for r in collector.rows(session, "scope", "scope_event_batch") if r["event_type"] == 0)
    copy, = collector.rows(session, "device", "memcpy_event_batch")
    equal(copy["scope_instance_id"], begin["scope_instance_id"], "the copy's scope")
    memset, = collector.rows(session, "device", "memset_event_batch")
    equal(memset["scope_instance_id"], begin["scope_instance_id"], "the set's scope")
    allocation, = collector.rows(session, "scope", "memory_alloc_event_batch")
    check(1e6 <= allocation["duration_ns"] < 1e9, f"the call took 1 ms: {allocation}")


def cupti_is_left_alone_until_the_job_asks_for_something(place):
    """Where we are injected, cuInit may still be at work. Who hears nothing has to ask."""
    (session,), _, _ = _run(place, "idle")
    equal(len(list(_kernels(session))), 1, "the launch")
    _run(place, "idle", expected=8, FAKE_CUPTI_FAIL=f"EnableCallback={UNKNOWN}")


def figures_come_with_every_engine(place):
    """S2-63: of host and GPU, at the rate that is set."""
    for engine in ("Monitor", "Trace", "PcSampling"):
        (session,), _, _ = _run(place, "metered", engine, **_options(place, system_sample_rate_ms=10))
        for kind in ("host_metric_batch", "device_metric_batch"):
            check(len(list(collector.rows(session, "system", kind))) >= 3, f"{engine}: {kind}")


def launches_do_not_end_what_a_scope_asked_for(place):
    (session,), _, _ = _run(place, "metered", **_options(place, system_sample_rate_ms=10))
    times = [row["base"] + row["dt_ns"] for row in collector.rows(session, "system", "host_metric_batch")]
    check(max(times, default=0) - min(times, default=0) >= 1e8, f"samples as long as the scope is open: {len(times)}")


def waits_do_not_end_what_a_scope_asked_for(place):
    """Nor does the end of a phase that never began."""
    (session,), _, _ = _run(place, "waits", job="gpu_scopes", GPU_SCOPES_REPORT="/dev/null", **_options(place, system_sample_rate_ms=10))
    times = [row["base"] + row["dt_ns"] for row in collector.rows(session, "system", "host_metric_batch")]
    check(max(times, default=0) - min(times, default=0) >= 1e8, f"samples as long as the scope is open: {len(times)}")


def threads_launch_side_by_side(place):
    """S2-50, S3-06: the fake returns buffers from a thread of its own."""
    (session,), _, _ = _run(place, "threads")
    kernels = list(_kernels(session))
    equal(len({k["corr_id"] for k in kernels}), 16000, "each once")
    equal(len({k["scope_instance_id"] for k in kernels} - {0}), 16000, "each in a scope of its own")


def a_flood_is_recorded_or_counted(place):
    """S3-05, S3-13: also where the disk hangs meanwhile, so that there are not nearly as many buffers as it takes."""
    options = _options(place, enable_external_correlation=False)
    hangs = {"LD_PRELOAD": f"{lib.BUILD}/libgpufl.so {FAKE}/hostile_host.so", "HOSTILE_HOST": "write:h:0:1000000",
             "HOSTILE_HANG": str(place.path / "hang"), "GPUFL_TRACE_BUFFER_KIB": "64"}
    for env in ({}, hangs) if not lib.SANITIZER else ({},):  # its runtime wants to be loaded first
        (session,), said, _ = _run(place, "flood", **options, **env)
        seen = len({k["corr_id"] for k in _kernels(session)})
        told = _capabilities(session)[1]
        kernels, copies = told["kernel_events"], told["memcpy_activity"]
        lost = int(kernels["reason_code"].partition("records_lost:")[2] or 0)
        equal(seen + lost, 500000, "rows and what is counted as lost")
        check(lost > 0 or not env, "the disk hung, and 4 MiB of buffers were enough")
        equal((kernels["status"], f"  {lost} kernels, copies, sets, allocations and graphs: CUPTI had" in said),
              ("partial" if lost else "collected", bool(lost)), f"it is said: {said}")
        equal(copies["reason_code"], f"records_lost:{lost}" if lost else "", "it may have been copies")
        print(f"   500,000 launches without pause: {lost} found no buffer; "
              f"{(session / 'device.log').stat().st_size / max(seen, 1):.0f} bytes each")
        _whole(session)


def what_has_not_ended_is_counted(place):
    """S3-12."""
    (session,), said, _ = _run(place, "endless")
    check(f"session {session.name} does not contain:" in said and "  1 kernels, copies, sets, allocations and graphs: CUPTI had" in said, said)
    equal(len(list(_kernels(session))), 2, "rows")
    kernels = _capabilities(session)[1]["kernel_events"]
    equal((kernels["status"], kernels["reason_code"]), ("partial", "records_lost:1"), "the third")


def launches_that_are_captured_into_a_graph_are_no_loss(place):
    """S3-12: they have no kernel, neither then nor later; what the graph launches has."""
    (session,), said, _ = _run(place, "captured")
    equal(len(list(_kernels(session))), 4, "rows")
    equal((said, _capabilities(session)[1]["kernel_events"]["status"]), ("", "collected"), "nothing is missing")


def another_profiler_that_takes_the_buffers_is_noticed(place):
    for part, kernels in (("taken", 0), ("taken late", 5)):
        (session,), said, _ = _run(place, part)
        equal(len(list(_kernels(session))), kernels, part)
        told = _capabilities(session)[1]["kernel_events"]
        equal((told["status"], told["reason_code"]), ("partial", "launches_without_record:20"), part)
        equal(said.count("  20 launches without a record of their kernel"), 1, said)
        check("another profiler" in told["message"], told["message"])
        equal(said.count("no record of 20 launches; if another profiler"), int(kernels == 0), said)
        _whole(session)


def buffers_are_lent_to_many_threads_and_come_back(place):
    """S3-04, S3-09: aligned, for as many records as fit (the fake looks), never more than 64, each used again."""
    (session,), said, _ = _run(place, "asked")
    lent, distinct = map(int, re.search(r"asked (\d+) (\d+)", said).groups())
    check(2 <= distinct <= 64 and lent >= 2000, f"{lent} lent, of {distinct}")
    equal(len(list(_kernels(session))), 5, "the records before and behind it")
    _whole(session)


def the_size_of_buffers_can_be_set(place):
    """S3-14: 64 times as large, CUPTI hands over less often: by how much depends on how many were not full yet when they
    were asked for."""
    often, seldom = (int(re.search(r"completed (\d+)", _run(place, "flood", GPUFL_TRACE_BUFFER_KIB=kib)[1])[1])
                     for kib in ("64", "4096"))
    check(often > 4 * seldom, f"{often} of 64 KiB, {seldom} of 4 MiB")


def all_kernels_are_recorded_whatever_their_rate(place):
    """S2-30."""
    (session,), _, _ = _run(place, "counted", **_options(place, kernel_sample_rate_ms=1000))
    equal(len(list(_kernels(session))), 28, "rows")


def monitor_opens_no_cupti(place):
    """S2-58, by what the dynamic loader says that it looks for."""
    for engine, opened in (("Monitor", set()), ("Trace", {"libcupti.so", "libgpufl-cupti.so"})):
        done = place.run("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", "init", "scope:a:100",
                         "shutdown", env={"LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": engine,
                                          "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(place.path / engine)})
        equal(done.returncode, 0, done.stderr)
        told = "".join(path.read_text() for path in place.path.glob(f"{engine}.*"))
        check("file=libc.so.6" in told, "it tells what is loaded")
        equal({name for name in ("libcupti.so", "libgpufl-cupti.so") if name in told}, opened, engine)


def a_buffer_that_another_client_lent_is_left_alone(place):
    (session,), _, _ = _run(place, "other lends")
    equal(len(list(_kernels(session))), 3, "those in buffers of ours")
    told = _capabilities(session)[1]["kernel_events"]
    equal((told["status"], told["reason_code"]), ("partial", "foreign_buffers:1,launches_without_record:2"), "it is counted")
    check("of another profiler" in told["message"] and "; this many launches" in told["message"], told["message"])
    _whole(session)


def a_buffer_of_ours_that_another_client_frees_harms_nobody(place):
    (session,), _, _ = _run(place, "other frees")
    _whole(session)


def a_record_that_cannot_be_read_costs_its_buffer_alone(place):
    """S3-08: how many were behind it is not known, but of launches."""
    (session,), said, _ = _run(place, "counted", FAKE_CUPTI_BAD="9")
    equal(said.count("  1 buffers of CUPTI's records of which the rest could not be read: "), 1, said)
    told = _capabilities(session)[1]
    seen = len(list(_kernels(session)))
    check(0 < seen < 28, "what came before is there")
    equal({kind: n for kind, n in _closing_record(session)["losses"].items() if n}, {"launches": 28 - seen, "buffers_unread": 1},
          "nothing else is counted")
    equal([(told[f]["status"], told[f]["reason_code"]) for f in ("kernel_events", "memcpy_activity")],
          [("partial", f"buffers_unread:1,launches_without_record:{28 - seen}"), ("partial", "buffers_unread:1")], "it is counted")
    _whole(session)



def the_clock_of_records_is_ours_whatever_cupti_uses(place):
    """S3-03: kernels lie between the job's start and its end, in order. CUPTI uses the wall's clock, or one that another
    profiler lent it, which it keeps: profilers that follow find it as they left it."""
    for ticks in ({}, {"FAKE_CUPTI_TICKS": "3"}):
        (session,), _, calls = _run(place, "counted", **ticks)
        start, end = _whole(session)["ts_ns"], collector.records(session, "device")[-1]["ts_ns"]
        times = [t for k in _kernels(session) for t in (k["start_ns"], k["start_ns"] + k["duration_ns"])]
        check(len(times) == 56 and start <= min(times) and max(times) <= end, f"{start} {times} {end}")
        equal(times[::2], sorted(times[::2]), "in order")
        equal([call for call in calls if call.startswith("timestamp")], [], "no clock is lent to CUPTI")


def kernels_keep_their_times_when_the_clock_is_exchanged_or_fails(place):
    """By another profiler, in the midst of a session: none is of 1970, and none takes no time."""
    for before, after in (("FAKE_CUPTI_TICKS=3", "FAKE_CUPTI_TICKS=7"), ("FAKE_CUPTI_TICKS=7", "FAKE_CUPTI_TICKS=3"),
                          ("FAKE_CUPTI_FAIL=none=0", "FAKE_CUPTI_FAIL=GetTimestamp=999")):
        (session,), _, _ = _run(place, after, **dict([before.split("=", 1)]))
        start, end = _whole(session)["ts_ns"], collector.records(session, "device")[-1]["ts_ns"]
        kernels = list(_kernels(session))
        times = [k["start_ns"] for k in kernels]
        check(len(times) == 20 and start <= min(times) and max(times) <= end, f"{after}: {start} {times} {end}")
        equal(times, sorted(times), f"{after}: in order")
        check(all(0 < k["duration_ns"] <= 1100 for k in kernels), f"{after}: {[k['duration_ns'] for k in kernels]}")


def no_fault_of_cupti_is_the_jobs(place):
    """Each call fails once: the job ends as it would have, the session is whole, what is missing and why is said."""
    monitor = ("Subscribe", "ActivityRegisterCallbacks", f"ActivityEnable{KINDS['kernel']}", "GetVersion",
               "GetTimestamp")
    trace = ("ActivityFlushAll", "ActivityGetNumDroppedRecords", "EnableCallback", "GetCallbackName",
             *(f"ActivityEnable{k}" for n, k in KINDS.items() if n != "kernel"))
    every = _options(place, enable_memory_tracking=True, enable_cuda_graphs_tracking=True)
    (session,), said, _ = _run(place, "counted", **every)
    whole = _rows(session)
    equal((set(whole), said), (set(FEATURES), ""), "all are there, and nothing to say")
    for name in monitor + trace:
        (session,), said, _ = _run(place, "counted", FAKE_CUPTI_FAIL=f"{name}={UNKNOWN}", **every)
        engine, capabilities = _capabilities(session)
        _whole(session)
        equal(engine, "nvidia.none" if name in monitor else "nvidia.trace", name)
        rows = _rows(session)
        missing = {kind for kind in whole if rows[kind] != whole[kind]}
        equal(bool(missing), name != "ActivityGetNumDroppedRecords", f"{name}: {rows}")
        for kind in missing:
            told = capabilities[FEATURES[kind]]
            whole_feature = name in monitor or name.endswith((str(KINDS["memory"]), str(KINDS["graph"])))
            equal(told["status"], "skipped" if whole_feature else "partial", f"{name}: {told}")
            check(told["reason_code"] and f"FAKE_ERROR_{UNKNOWN}" in told["message"], f"{name}: {told}")
        for feature in ("scope_attribution", "sync_activity", "external_correlation"):
            equal(capabilities[feature]["reason_code"] == "no_callbacks", name in ("EnableCallback", "GetCallbackName"), f"{name}: {feature}")
        equal(said.count(f"FAKE_ERROR_{UNKNOWN}"), int(bool(missing)), f"{name}: {said}")
        mute = name == "ActivityFlushAll"
        equal(said.count("  28 launches without a record of their kernel"), int(mute), said)
        equal(len(re.findall(r"^\[GPUFL\]   \d+ fetches of CUPTI's records that failed: ", said, re.M)), int(mute), said)
        equal(said.count("\n"), 4 if mute else int(bool(missing)), f"{name}: {said}")
        equal(bool(re.search(r"^\[GPUFL\] profiling engine Trace is not available: .*; Monitor runs instead$", said, re.M)),
              name in monitor, said)
    fail = ",".join(f"ActivityEnable{KINDS[kind]}={code}" for kind, code in (("memcpy", 7), ("memset", 8), ("graph", PRIVILEGES)))
    (session,), said, _ = _run(place, "counted", FAKE_CUPTI_FAIL=fail, **every)
    equal(said, "[GPUFL] profiling engine Trace is incomplete: CUPTI refused memory copy records: FAKE_ERROR_7; CUPTI refused "
                "memory set records: FAKE_ERROR_8; CUPTI refused graph records: FAKE_ERROR_35 (let all users profile by "
                "NVreg_RestrictProfilingToAdminUsers=0, or run as root)\n", "all in one message")
    told = _capabilities(session)[1]
    equal([(told[f]["status"], told[f]["mode"], told[f]["reason_code"]) for f in ("memcpy_activity", "memory_activity", "graph_activity")],
          [("skipped", "", "copies_refused,sets_refused"), ("collected", "cupti_activity", ""), ("skipped", "", "graphs_refused")], "each")
    for name, code, word in (("Subscribe", MULTIPLE, "another profiler"),
                             (f"ActivityEnable{KINDS['kernel']}", PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers")):
        said = _run(place, "counted", FAKE_CUPTI_FAIL=f"{name}={code}")[1]
        check(word in said, said)
    said = _run(place, "counted", FAKE_CUPTI_VERSION="17")[1]
    check("too old" in said and "CUDA 12" in said, said)


def a_fetch_that_fails_is_said_of_each_kind(place):
    """In a job without kernels; from the second one on; only at first: then a later one returns all."""
    every = _options(place, enable_memory_tracking=True, enable_cuda_graphs_tracking=True)
    for part, fail, rows in (("others", "ActivityFlushAll=7", {"wait": 1}), ("FAKE_CUPTI_FAIL=ActivityFlushAll=7", "none=0", {"kernel": 5}),
                             ("FAKE_CUPTI_FAIL=none=0", "ActivityFlushAll=7", {"kernel": 20})):
        (session,), said, _ = _run(place, part, FAKE_CUPTI_FAIL=fail, **every)
        equal({kind: n for kind, n in _rows(session).items() if n}, rows, part)
        told = _closing_record(session)
        failed = told["losses"]["fetches"]
        check(failed > 0, part)
        for c in told["capabilities"]:
            if c["feature"] in ("kernel_events", "memcpy_activity", "memory_activity", "graph_activity"):
                equal((c["status"], c["reason_code"].split(",")[0]), ("partial", f"fetches_failed:{failed}"), f"{c}")
                check("CUPTI refused to return records: FAKE_ERROR_7" in c["message"], f"{c}")
        equal(said.count("[GPUFL] records may be missing: CUPTI refused to return records: FAKE_ERROR_7\n"), 1, said)
        equal(said.count(f"[GPUFL]   {failed} fetches of CUPTI's records that failed: "), 1, said)
        equal(said.count("\n"), 4 if rows.get("kernel") == 5 else 3, said)
        _whole(session)


def buffers_that_ran_out_are_said_if_cupti_does_not_say_what_it_dropped(place):
    (session,), said, _ = _run(place, "run out", FAKE_CUPTI_FAIL="ActivityGetNumDroppedRecords=7")
    check(_closing_record(session)["losses"]["fetches"] > 0, said)
    equal(said.count("records may be missing: CUPTI refused to say how many records it dropped: FAKE_ERROR_7"), 1, said)


def a_library_that_lacks_a_function_is_named(place):
    (session,), said, _ = _run(place, "counted", library=FAKE / "without-flush")
    equal(said.count("\n"), 1, said)
    check("lacks cuptiActivityFlushAll" in said and "Monitor runs" in said, said)
    equal(_capabilities(session)[0], "nvidia.none", "what runs")
    (session,), said, _ = _run(place, "sampled", "PcSampling", library=FAKE / "without-samples")
    check("has no PC sampling" in said and "Trace runs" in said and said.count("\n") == 1, said)
    equal((_capabilities(session)[0], len(list(_kernels(session)))), ("nvidia.trace", 5), "what runs")


def without_the_module_or_the_library_monitor_runs(place):
    for paths, word in ((f"{FAKE}", "libgpufl-cupti.so"), (f"{lib.BUILD}", "libcupti.so")):
        if word == "libcupti.so" and not MODULE.exists():
            continue
        done = place.run("examples/demo-job", place.logs, "0.1",
                         env={"LD_LIBRARY_PATH": paths, "GPUFL_PROFILING_ENGINE": "Trace",
                              "CUDA_HOME": "/nonexistent"})
        equal(done.returncode, 0, done.stderr)
        session = place.logs / done.stdout.strip()
        equal(_capabilities(session)[0], "nvidia.none", "what runs")
        check(done.stderr.count("\n") == 1 and "Monitor runs" in done.stderr, done.stderr)
        _whole(session)


def engines_that_are_not_built_run_a_lower_one(place):
    """S2-60, S2-70: the next lower one that works, PcSampling; Trace where it does not."""
    for engine in ("SassMetrics", "RangeProfiler", "Deep", "PmSampling", "RangeProfilerKernelReplay"):
        (session,), said, _ = _run(place, "counted", engine)
        equal(said, f"[GPUFL] profiling engine {engine} is not available: not implemented yet; "
                    "PcSampling runs instead\n", engine)
        equal(_capabilities(session)[0], "nvidia.pc_sampling", engine)
        equal(len(list(_kernels(session))), 28, "kernels")
    (session,), said, _ = _run(place, "counted", "SassMetrics", FAKE_CUPTI_ACTIVE="1",
                               FAKE_CUPTI_FAIL=f"PCSamplingEnable={PRIVILEGES}")
    equal((_capabilities(session)[0], said.count("\n")), ("nvidia.trace", 1), said)


def the_operator_limits_the_engine(place):
    """GPUFL_MAX_ENGINE goes before code, too."""
    runs = {"Monitor": "nvidia.none", "trace": "nvidia.trace", "PCSAMPLING": "nvidia.pc_sampling"}
    for limit, wire in runs.items():
        (session,), said, calls = _run(place, "counted", "PcSampling", GPUFL_MAX_ENGINE=limit)
        equal(_capabilities(session)[0], wire, limit)
        check(said.count("\n") == (limit != "PCSAMPLING") and ("GPUFL_MAX_ENGINE" in said or not said), said)
        check(limit != "Monitor" or not calls, f"CUPTI is left alone: {calls}")
        start = collector.records(session, "device")[0]
        equal(start["profiling_engine"], wire, "job_start")
    (session,), said, calls = _run(place, "counted", "PcSampling", GPUFL_MAX_ENGINE="Trcae")
    equal((_capabilities(session)[0], calls), ("nvidia.none", []), "a limit that is not understood")
    check("GPUFL_MAX_ENGINE=Trcae: expected Monitor, Trace," in said, said)
    (session,), said, _ = _run(place, "counted", "Trace", GPUFL_MAX_ENGINE="Deep")
    equal((_capabilities(session)[0], said), ("nvidia.trace", ""), "below the limit")


# ---- samples ----

def _samples(session):
    """function, reason, file, line, samples, GPU"""
    functions, reasons, files = {}, {}, {}
    for record in collector.records(session, "scope"):
        functions.update(record.get("function_dict", {}))
        reasons.update(record.get("metric_dict", {}))
        files.update(record.get("source_file_dict", {}))
        if record["type"] == "profile_sample_batch":
            for row in record["rows"]:
                s = dict(zip(record["columns"], row))
                yield (functions[str(s["function_id"])], reasons[str(s["metric_id"])],
                       files.get(str(s["source_file_id"])), s["source_line"], s["metric_value"], s["device_id"])


def samples_carry_function_reason_and_line(place):
    """S2-22, S2-64."""
    (place.logs / "hot.cu").write_text("// line 1\n__global__ void hot(float *);\n")
    (session,), said, calls = _run(place, "sampled", "PcSampling", GPUFL_SOURCE_ROOTS=str(place.logs))
    equal(said, "", "nothing to say")
    samples = list(_samples(session))
    equal({s[:3] for s in samples},
          {(f"hot(float*)@{place.logs}/hot.cu", r, f"{place.logs}/hot.cu") for r in ("long_scoreboard", "selected")},
          "whose")
    lines = collections.Counter()
    for s in samples:
        lines[s[3]] += s[4]
    equal(set(lines), {40, 41, 42}, "lines")
    check(lines[40] * 3 == lines[42] and lines[41] * 3 == lines[42] * 2, f"{lines}")
    fetches = sum(lines.values()) / 120
    check(fetches == int(fetches) and fetches >= 4, f"{fetches}: two fetches, one at the end, one in the buffer")
    text, = (r for r in collector.records(session, "sass") if r["type"] == "source_file_content")
    equal(text["lines"], ["// line 1", "__global__ void hot(float *);"], "the source's text")
    equal(len(list(_kernels(session))), 5, "kernels beside them")
    check(calls.index(f"enable {KINDS['kernel']}") < calls.index("sample 1"), "the only order that CUPTI takes")
    check("mode 1" in calls, f"continuous, not serialised: {calls}")
    equal(calls.count("sample 1"), calls.count("sample 0"), "on and off")
    equal(_capabilities(session)[1]["pc_sampling"]["status"], "collected", "it is said")
    _whole(session)


def a_module_that_is_told_late_has_lines_from_then_on(place):
    (session,), _, _ = _run(place, "known late", "PcSampling")
    check(f"{place.logs}/hot.cu" in {s[2] for s in _samples(session)}, "the later samples' file")


def modules_take_room_once_and_for_their_lines(place):
    for part, file, reason in (("modules", f"{place.logs}/kernel/hot.cu", ""), ("too many modules", None, "no_room:2")):
        (session,), _, _ = _run(place, part, "PcSampling")
        *_, last = _samples(session)  # before it, on a slow machine, there are those of other modules
        equal(last[2], file, f"the last module's lines: {part}")
        equal(_capabilities(session)[1]["source_correlation"]["reason_code"], reason, f"what is said: {part}")


def sources_stay_where_they_are_when_not_asked_for(place):
    """S2-22."""
    (place.logs / "hot.cu").write_text("secret\n")
    (session,), _, _ = _run(place, "sampled", "PcSampling", **_options(place, enable_source_collection=False))
    check(not (session / "sass.log").exists(), "no channel of sources")
    equal({s[2:4] for s in _samples(session)}, {(None, 0)}, "no file, no line")


def the_text_of_a_source_is_taken_from_below_a_root_alone(place):
    """A module names its files itself. Links count by where they lead."""
    inside, outside = place.logs / "hot.cu", place.path / "secret.cu"
    outside.write_text("secret\n")
    near = place.logs.with_name(place.logs.name[:-1])
    near.mkdir()
    for roots, link, taken in ((place.logs, None, True), (f"{near}:{place.path}", None, True), ("/", outside, True),
                               (None, None, False), ("", None, False), (":", None, False), (near, None, False),
                               (place.logs, outside, False), (place.logs, "../secret.cu", False)):
        inside.unlink(missing_ok=True)
        if link:
            inside.symlink_to(link)
        else:
            inside.write_text("text\n")
        env = {} if roots is None else {"GPUFL_SOURCE_ROOTS": str(roots)}
        (session,), said, _ = _run(place, "two GPUs", "PcSampling", **env)
        what = f"{roots}, {link}"
        equal(said, "", what)
        texts = [r["lines"] for r in collector.records(session, "sass") if r["type"] == "source_file_content"]
        equal(texts, [["secret" if link else "text"]] if taken else [], what)
        check({s[2:4] for s in _samples(session)} >= {(str(inside), 40)}, f"names and lines in any case: {what}")
        told = _capabilities(session)[1]["source_correlation"]
        equal((told["status"], told["reason_code"]), ("collected", "") if taken else ("partial", "outside_roots:1"), what)
        equal("GPUFL_SOURCE_ROOTS" in told["message"], not taken, told["message"])
    options = _options(place, source_roots=str(place.logs))
    inside.unlink()
    inside.write_text("text\n")
    (session,), _, _ = _run(place, "two GPUs", "PcSampling", **options)
    equal(_capabilities(session)[1]["source_correlation"]["status"], "collected", "by the file of options")
    for roots, word in (("src", "not an absolute path"), ("/no/such/place", "No such file or directory"),
                        (f"{place.path}:{outside}", "Not a directory")):
        by_file = _options(place, source_roots=roots)
        for named, env in ((f"{by_file['GPUFL_CONFIG_FILE']}: source_roots", by_file),
                           ("GPUFL_SOURCE_ROOTS", {"GPUFL_SOURCE_ROOTS": roots})):
            (session,), said, _ = _run(place, "two GPUs", "PcSampling", **env)
            check(said.startswith(f"[GPUFL] {named}: '{roots.split(':')[-1]}': {word} (expected") and
                  said.endswith("; no text of source files is taken\n"), said)
            check(not any(r["type"] == "source_file_content" for r in collector.records(session, "sass")), "none is")


def a_text_that_is_too_long_is_cut_and_said(place):
    """A NUL is no end of a line."""
    source = place.logs / "hot.cu"
    for text, lines, cut in ((b"a\0b\n\0\n", ["a\0b", "\0"], 0), (b"x" * (1 << 20), ["x" * (1 << 20)], 0),
                             (b"x\n" * (1 << 19) + b"y", ["x"] * (1 << 19), 1)):
        source.write_bytes(text)
        (session,), said, _ = _run(place, "two GPUs", "PcSampling", GPUFL_SOURCE_ROOTS=str(place.logs))
        texts = [r["lines"] for r in collector.records(session, "sass") if r["type"] == "source_file_content"]
        check(texts == [lines], f"{len(texts[0])} lines of {len(lines)}")
        told = _capabilities(session)[1]["source_correlation"]
        equal((told["status"], told["reason_code"]), ("partial", "cut:1") if cut else ("collected", ""), f"{said}")
        equal(said.count("  1 texts of source files that are cut"), cut, said)


def where_samples_cannot_be_taken_the_trace_goes_on(place):
    for name, code, word in (("PCSamplingEnable", PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers"),
                             ("PCSamplingSetConfigurationAttribute", UNKNOWN, "settings"),
                             ("PCSamplingGetStallReasons", UNKNOWN, "settings"),
                             ("PCSamplingGetData", UNKNOWN, "no samples")):
        (session,), said, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_FAIL=f"{name}={code}")
        check(said.count("\n") == 1 and word in said, f"{name}: {said}")
        equal(len(list(_kernels(session))), 5, f"{name}: kernels")
        check(word in _capabilities(session)[1]["pc_sampling"]["message"], name)
        _whole(session)
    (_, traced), said, _ = _run(place, "sampled, then traced", "PcSampling", FAKE_CUPTI_FAIL="PCSamplingEnable=999")
    equal(said.count("\n"), 1, f"a session after it that asks for no samples: {said}")
    equal(_capabilities(traced)[0], "nvidia.trace", "it is traced")


def a_full_buffer_of_the_hardware_ends_nothing_and_is_said(place):
    (session,), said, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_FAIL=f"PCSamplingGetData={OUT_OF_MEMORY}")
    equal(len(list(_kernels(session))), 5, "it goes on, and ends")
    check(said.count("\n") == 1 and "buffer was full, and samples were lost" in said and "GPUFL_PC_SAMPLING_BUFFER_MIB" in said, said)
    told = _capabilities(session)[1]["pc_sampling"]
    check(told["status"] == "partial" and re.fullmatch(r"samples_dropped:[1-9]\d*", told["reason_code"]), f"{told}")
    _whole(session)


def samples_take_a_share_of_the_memory_that_is_free(place):
    available = re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    if int(available[1]) < 4 << 20:
        lib.skip("needs 4 GiB of free memory, of which the share is larger than what is tested")
    for free, most, mib in (("", "", 64), ("2048", "", 64), ("2047", "", 63), ("512", "", 16), ("2048", "16", 16),
                            ("4000", "1024", 125)):
        env = {**({"FAKE_CUPTI_FREE_MIB": free} if free else {}), "GPUFL_PC_SAMPLING_BUFFER_MIB": most}
        (session,), said, calls = _run(place, "two GPUs", "PcSampling", FAKE_NVML_INIT="9", **env)
        equal((said, _capabilities(session)[1]["pc_sampling"]["status"]), ("", "collected"), f"{env}")
        taken = {int(c.split()[1]) for c in calls if c.startswith("MiB ")}
        equal(taken, {mib}, f"of each context: {env}")
    for active, part in (("", "two GPUs"), ("1", "counted")):
        env = {"FAKE_CUPTI_ACTIVE": active} if active else {}
        (session,), said, calls = _run(place, part, "PcSampling", FAKE_CUPTI_FREE_MIB="511", FAKE_NVML_INIT="9", **env)
        check("too little memory is free: 511 MiB of GPU 0, " in said and "512 MiB of each are needed" in said, said)
        equal((said.count("\n"), [c for c in calls if c.startswith(("sample", "MiB"))]), (1, []), "nothing is taken")
        check(list(_kernels(session)), "kernels all the same")
    (session,), said, calls = _run(place, "two GPUs", "PcSampling", FAKE_NVML_INIT="9", GPUFL_PC_SAMPLING_BUFFER_MIB="15")
    equal(({c for c in calls if c.startswith("MiB ")}, said.count("\n")), ({"MiB 64"}, 1), "a wrong size is no size")


def a_context_that_is_not_sampled_is_counted_beside_one_that_is(place):
    (session,), said, _ = _run(place, "two GPUs", "PcSampling", FAKE_NVML_INIT="9", FAKE_CUPTI_FREE_MIB="8192,511")
    equal({s[5] for s in _samples(session)}, {0}, "whose")
    told = _capabilities(session)[1]["pc_sampling"]
    equal((told["status"], told["reason_code"]), ("partial", "contexts_unsampled:1"), f"{told}")
    check("511 MiB of GPU 1" in told["message"] and "PC sampling: too little memory" in said, f"{told} {said}")
    (session,), _, _ = _run(place, "two GPUs", "PcSampling", FAKE_NVML_INIT="9", FAKE_CUPTI_FREE_MIB="511")
    told = _capabilities(session)[1]["pc_sampling"]
    equal((told["status"], told["reason_code"]), ("enabled_no_data", "contexts_unsampled:2"), f"{told}")


def samples_that_the_hardware_dropped_are_counted(place):
    report = place.path / "report"
    (session,), _, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_DROPPED="12345", GPU_JOB_REPORT=str(report))
    told = _capabilities(session)[1]["pc_sampling"]
    equal((told["status"], told["reason_code"]), ("partial", "samples_dropped:12345"), f"{told}")
    said = report.read_text()
    check("\n  12345 PC samples, at least: the hardware dropped them, or there was no room\n" in said, said)
    check("contexts" not in said and "buffers" not in said, said)


def what_is_decoded_as_the_sampling_ends_is_kept(place):
    """CUPTI decodes ten times a second, and gives what is left in one piece, if it ends well."""
    for late, env in ((20000, {}), (20000, {"FAKE_CUPTI_FAIL": "PCSamplingDisable=1"}), (70000, {})):
        (session,), said, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_LATE=str(late), **env)
        kept = sum(s[4] for s in _samples(session) if s[0].startswith("late"))
        pc_sampling = _capabilities(session)[1]["pc_sampling"]
        if late == 20000:
            equal(kept, 2 * late, f"{env}: two reasons each")
            equal(pc_sampling["status"], "collected", f"{env}: it is said")
        else:
            check(0 < kept < 2 * late and pc_sampling["reason_code"] == f"samples_dropped:{late - kept // 2}",
                  f"{kept} of {late} instructions: {pc_sampling}")
        equal("[GPUFL] PC sampling: CUPTI failed to stop it: FAKE_ERROR_1; samples so far are recorded" in said, bool(env), said)
        _whole(session)


def when_cupti_cannot_end_the_sampling_it_is_left_alone(place):
    """As when another profiler samples the GPU: what switches anything else may end the process."""
    for fail in ("PCSamplingGetData=999,PCSamplingDisable=999", "PCSamplingDisable=999",
                 "PCSamplingSetConfigurationAttribute=999,PCSamplingDisable=999"):
        (first, second), said, _ = _run(place, "sampled, then traced", "PcSampling", FAKE_CUPTI_FAIL=fail)
        lines = said.splitlines()
        equal(len(lines), 2, f"{fail}: {said}")
        check("FAKE_ERROR_999" in lines[0] and "restart the process" in lines[1], said)
        equal(len(list(_kernels(first))), 5, f"{fail}: the trace goes on")
        equal(_capabilities(first)[1]["kernel_events"]["reason_code"], "cupti_failed", f"{fail}: it is said")
        equal(_capabilities(second)[0], "nvidia.none", f"{fail}: what runs then")
        _whole(first), _whole(second)
    sessions, said, _ = _run(place, "sampled, then traced", "PcSampling", FAKE_CUPTI_FAIL=fail, FAKE_CUPTI_ACTIVE="1")
    check("settings" in said.splitlines()[0] and "; Trace runs" in said.splitlines()[0], f"at once: {said}")
    equal([_capabilities(s)[0] for s in sessions], ["nvidia.trace", "nvidia.none"], "at once: what runs")


def _sampling(**env):
    """For a job that samples the GPU of this run of the tests, side by side with others."""
    return {**ENVIRONMENT, "GPUFL_PROFILING_ENGINE": "PcSampling", "FAKE_CUPTI_GPU": str(os.getpid()), **env}


def a_process_that_cannot_end_its_sampling_keeps_the_gpu(place):
    first = place.start("tests/e2e/gpu_job", place.logs, "sampled, then traced", stdin=subprocess.PIPE,
                        env=_sampling(FAKE_CUPTI_FAIL="PCSamplingDisable=999"))
    until(lambda: "failed to stop it" in first.log.read_text(), "its first session has ended")
    _, said, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_GPU=str(os.getpid()))
    check("another process samples GPU 0" in said, said)
    first.communicate(b"\n")
    equal(first.returncode, 7, "it ends well")


def a_context_that_is_there_already_is_sampled(place):
    """S2-71."""
    (session,), said, _ = _run(place, "counted", "PcSampling", FAKE_CUPTI_ACTIVE="1")
    equal((said, {s[0] for s in _samples(session)}), ("", {"hot(float*)@"}), "samples")


def two_gpus_of_a_process_are_sampled(place):
    for fail, sentences in (("", 0), ("PCSamplingDisable=1", 1)):
        (session,), said, _ = _run(place, "two GPUs", "PcSampling", FAKE_CUPTI_FAIL=fail, FAKE_NVML_INIT="9")
        equal(({s[5] for s in _samples(session)}, said.count("\n")), ({0, 1}, sentences), f"whose, {fail}: {said}")


def a_context_that_is_made_during_a_long_fetch_is_sampled_or_missed(place):
    """Its creation does not wait for the fetch: it is sampled from the next one on; if it has gone by then, that is said."""
    (session,), said, _ = _run(place, "made during a fetch", "PcSampling", FAKE_NVML_INIT="9")
    equal(({s[5] for s in _samples(session)}, said), ({0, 1}, ""), "both are sampled")
    (session,), said, _ = _run(place, "made during a fetch, and gone", "PcSampling", FAKE_NVML_INIT="9")
    equal({s[5] for s in _samples(session)}, {0}, "one is")
    sampling = _capabilities(session)[1]["pc_sampling"]
    equal((sampling["status"], sampling["reason_code"]), ("partial", "samples_dropped:1"), f"{sampling}")
    check("never sampled" in said and "never sampled" in sampling["message"], said)


def a_context_that_is_destroyed_during_a_long_fetch_is_forgotten(place):
    """Another one that gets its address is sampled; what the first one had last is said to be lost."""
    (session,), said, calls = _run(place, "made during a fetch, anew", "PcSampling", FAKE_NVML_INIT="9",
                                  ASAN_OPTIONS="detect_leaks=0")  # what CUPTI may still write to stays allocated
    equal(calls.count("sample 1"), 2, f"each begins: {calls}")
    sampling = _capabilities(session)[1]["pc_sampling"]
    equal((sampling["status"], sampling["reason_code"]), ("partial", "samples_dropped:1"), f"{sampling}")
    check("a context was destroyed while samples were fetched" in said, said)


def _elsewhere():
    """A command that executes another one in a network and a mount of its own, as in a container."""
    through = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*through, "true"], check=False, capture_output=True).returncode != 0:
        lib.skip("this user may make no namespaces")
    return through


def of_several_that_begin_at_once_one_samples_a_gpu(place):
    jobs = [place.start("tests/e2e/gpu_job", place.logs, "holds the GPU", stdin=subprocess.PIPE, through=through,
                        env=_sampling()) for _ in range(3) for through in ((), _elsewhere())]
    for job in jobs:
        until(lambda j=job: j.log.read_text().count("\n") >= 2, "it has asked for the GPU")
    for job in jobs:
        job.communicate(b"\n")
    refused = sum("another process samples GPU 0" in job.log.read_text() for job in jobs)
    equal(refused, len(jobs) - 1, "all but one")


def one_process_at_a_time_samples_a_gpu(place):
    def second():
        (session,), said, _ = _run(place, "sampled", "PcSampling", FAKE_CUPTI_GPU=str(os.getpid()))
        return session, said, _capabilities(session)[1]["pc_sampling"]

    for part, through in (("holds the GPU", ()), ("held the GPU", ()), ("holds the GPU", _elsewhere())):
        first = place.start("tests/e2e/gpu_job", place.logs, part, stdin=subprocess.PIPE, through=through,
                            env=_sampling())
        until(lambda p=first: p.log.read_text().count("\n") == 2, "it has the GPU")
        if part == "holds the GPU":
            session, said, samples = second()
            check("another process samples GPU 0" in said and said.count("\n") == 1, said)
            check(samples["status"] == "enabled_no_data" and "another process" in samples["message"], f"{samples}")
            equal(len(list(_kernels(session))), 5, "kernels all the same")
            first.kill()
            first.wait()
        session, said, samples = second()
        equal((said, samples["status"]), ("", "collected"), f"after one that {part} {through}")
        if part == "held the GPU":
            first.communicate(b"\n")
            equal(first.returncode, 7, "a child of it was there all the time")


# ---- the job's own ways ----

DICTIONARIES = {"name_id": "scope_name_dict", "kernel_id": "kernel_dict", "function_id": "function_dict",
                "metric_id": "metric_dict", "source_file_id": "source_file_dict"}


def _names_of_files(session, channel):
    """Of each file of a channel: {(dictionary, id)} that it has, and that its lines use."""
    sealed = sorted(session.glob(f"{channel}.*.log"), key=lambda f: int(f.name.split(".")[1]))
    for file in [*sealed, session / f"{channel}.log"]:
        has, used = set(), set()
        for record in map(json.loads, file.read_text().splitlines()):
            has |= {(kind, int(id)) for kind in DICTIONARIES.values() for id in record.get(kind, {})}
            for row in record.get("rows", []):
                row = dict(zip(record["columns"], row))
                used |= {(DICTIONARIES[key], row[key]) for key in DICTIONARIES if row.get(key)}
            if "source_file_id" in record:
                used.add(("source_file_dict", record["source_file_id"]))
            check(used <= has, f"{file.name}: names stand before the lines that use them: {used - has}")
        yield has, used


def each_file_has_the_names_that_its_lines_use_and_no_old_ones_besides(place):
    kinds = {"scope": {"scope_name_dict", "function_dict", "metric_dict", "source_file_dict"},
             "device": {"kernel_dict"}, "sass": {"source_file_dict"}, "system": set()}
    seen = {channel: set() for channel in kinds}
    stacks = _options(place, enable_stack_trace=True)
    (place.logs / "hot.cu").write_text("// line 1\n")
    for part, engine, job in (("recurring", "Trace", "gpu_scopes"), ("sampled", "PcSampling", "gpu_job")):
        (session,), said, _ = _run(place, part, engine, job=job, GPU_SCOPES_REPORT="/dev/null",
                                   GPUFL_LOG_ROTATE_BYTES="3000" if part == "recurring" else "1500",
                                   GPUFL_SOURCE_ROOTS=str(place.logs), **stacks)
        check("lost" not in said, said)
        for channel in kinds:
            before, again = set(), 0
            for has, used in _names_of_files(session, channel) if (session / f"{channel}.log").exists() else ():
                equal(has & before - used, set(), f"{part}: {channel}: names that are there again and not used")
                again += len(has & before)
                before |= has
                seen[channel] |= {kind for kind, _ in used} if len(before) else set()
            check(again or part == "sampled" or channel in ("sass", "system"), f"{part}: {channel}: some are there again")
    equal(seen, kinds, "dictionaries that lines used")


def a_session_after_a_session_is_traced_too(place):
    sessions, said, calls = _run(place, "twice")
    equal(said, "", "nothing to say")
    for session in sessions:
        equal(len(list(_kernels(session))), 28, "kernels")
    equal((calls.count("register 0"), calls.count("subscribe 0"), calls.count("unsubscribe 0")), (1, 2, 2), "calls")


def a_forked_child_records_without_cuda(place):
    if lib.SANITIZER:
        lib.skip("no thread after a fork with the one; the other's allocator may be locked for ever in a child")
    sessions, said, _ = _run(place, "forked")
    check("does not work in a forked child" in said and said.count("\n") == 1, said)
    engines = sorted(_capabilities(s)[0] for s in sessions)
    equal(engines, ["nvidia.none", "nvidia.trace"], "child and parent")
    for session in sessions:
        _whole(session)


def sessions_of_a_real_gpu_are_shipped(place):
    """Recorded on an H200; stored line by line, and their kernels are what was launched."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    shutil.copytree(lib.TRACED, place.logs, dirs_exist_ok=True)
    equal(lib.upload(place, backend.url).returncode, 0, "upload")
    for session in place.logs.glob("[!.]*"):
        check(backend.complete(session.name), session.name)
        lib.same(backend, session)
        names = collections.Counter(k["name"] for k in _kernels(session))
        counted = {"void variant<7>(float*, int)": 10, "void variant<8>(float*, int)": 5,
                   "void variant<9>(float*, int)": 9, "void variant<10>(float*, int)": 2, "wait_cycles(long long)": 1}
        called = {"void variant<11>(float*, int)": 5, "void variant<12>(float*, int)": 400, "wait_cycles(long long)": 2}
        check(names in (counted, called) or set(names) == {"hottest(float*, int)", "void variant<3>(float*, int)"},
              f"{names}")


# ---- gpufl trace ----

ENVIRONMENT = {"LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}"}


def _trace(place, *args, timeout=60, **env):
    return place.run("gpufl", "trace", *args, timeout=timeout, env={**ENVIRONMENT, **env})


def a_program_that_knows_nothing_is_recorded(place):
    """S3-12: Its output and exit code are its own; each process that uses CUDA is a session."""
    job = lib.BUILD / "tests/e2e/gpu_job"
    for how, code, sessions in (("exit", 7, 1), ("_exit", 7, 1), ("kill", 128 + 9, 1), ("children", 7, 3)):
        out = place.path / how
        done = _trace(place, "-o", out, "--name", "unknown", "--", job, "-", "injected", how)
        equal(done.returncode, code, f"{how}: {done.stderr}")
        equal(done.stdout, "launched\n" * sessions, "what it prints")
        equal(done.stderr, f"gpufl trace: {sessions} session{'s' * (sessions > 1)} in {out}\n", "what we say")
        found = [d for d in out.iterdir() if not d.name.startswith(".")]
        equal(len(found), sessions, "sessions")
        if how in ("exit", "children"):
            for session in found:
                start = _whole(session)
                equal((start["app"], start["profiling_engine"]), ("unknown", "nvidia.trace"), "its start")
                equal(len(list(_kernels(session))), 20, "kernels")
                check(list(collector.rows(session, "system", "host_metric_batch")), "figures of the host")


def the_directory_of_trace_is_where_trace_was_started(place):
    """Though the command changes its own."""
    done = place.run("gpufl", "trace", "-o", "out", "--", "sh", "-c", 'cd / && exec "$0" - injected exit',
                     lib.BUILD / "tests/e2e/gpu_job", env=ENVIRONMENT, cwd=place.path)
    equal((done.returncode, done.stderr), (7, "gpufl trace: 1 session in out\n"), "the program's exit code")
    equal(len([d for d in (place.path / "out").iterdir() if not d.name.startswith(".")]), 1, "sessions")


def a_traced_command_has_the_signals_of_its_caller(place):
    """Services run with SIGPIPE ignored."""
    show = ["grep", "SigIgn", "/proc/self/status"]
    for ignored in ("", "PIPE", "CHLD", "PIPE CHLD"):
        shell = ["bash", "-c", f'trap "" {ignored}; "$@"' if ignored else '"$@"', "-"]
        alone, traced = (subprocess.run([*shell, *through, *show], cwd=place.path, capture_output=True, text=True, check=False)
                         for through in ([], [lib.BUILD / "gpufl", "trace", "-o", place.logs, "--"]))
        equal((traced.returncode, traced.stdout), (0, alone.stdout), f"{ignored}: {traced.stderr}")


def monitor_is_an_engine_of_trace_too(place):
    out = place.path / "out"
    done = _trace(place, "-o", out, "--engine", "Monitor", "--interval=20", lib.BUILD / "tests/e2e/gpu_job", "-", "injected",
                  "exit")
    equal((done.returncode, done.stderr), (7, f"gpufl trace: 1 session in {out}\n"), "the program's exit code")
    session, = (d for d in out.iterdir() if not d.name.startswith("."))
    equal(_capabilities(session)[0], "nvidia.none", "no tracer runs")
    check(list(collector.rows(session, "system", "host_metric_batch")), "figures of the host")
    equal(list(_kernels(session)), [], "kernels")


def a_prefix_that_the_loader_does_not_know_is_enough(place):
    """The libraries as `make install` places them, found by their own paths."""
    prefix, out = place.path / "prefix", place.path / "out"
    (prefix / "lib/gpufl").mkdir(parents=True)
    shutil.copy(lib.BUILD / "libgpufl.so", prefix / "lib/libgpufl.so.0")
    for module in ("libgpufl-inject.so", "libgpufl-cupti.so"):
        shutil.copy(lib.BUILD / module, prefix / "lib/gpufl" / module)
    done = place.run("tests/e2e/gpu_job", "-", "injected", "exit", env={
        **ENVIRONMENT, "LD_LIBRARY_PATH": str(FAKE), "CUDA_INJECTION64_PATH": f"{prefix}/lib/gpufl/libgpufl-inject.so",
        "GPUFL_LOG_DIR": str(out), "GPUFL_PROFILING_ENGINE": "Trace"})
    equal((done.returncode, done.stderr), (7, ""), "exit code, errors")
    session, = (d for d in out.iterdir() if not d.name.startswith("."))
    equal(_whole(session)["profiling_engine"], "nvidia.trace", "its start")
    equal(len(list(_kernels(session))), 20, "kernels")


def a_library_that_starts_cuda_as_it_is_loaded_is_recorded(place):
    """Before main, and within dlopen, while threads of ours load libraries and wait for that: which comes first varies."""
    if lib.SANITIZER:
        lib.skip("the sanitizer's runtime comes first")
    source, early = place.path / "early.c", place.path / "libearly.so"
    source.write_text("void fake_init(void);\n__attribute__((constructor)) static void early(void) { fake_init(); }\n")
    subprocess.run(["cc", "-fPIC", "-shared", "-o", early, source, f"-L{FAKE}", "-l:libcupti.so.13"], check=True)
    for n, (how, env) in enumerate((("exit", {"LD_PRELOAD": str(early)}), *[("library", {"JOB_LIBRARY": str(early)})] * 20)):
        out = place.path / f"{how}-{n}"
        done = place.run("tests/e2e/gpu_job", "-", "injected", how, env={
            **ENVIRONMENT, "CUDA_INJECTION64_PATH": str(lib.BUILD / "libgpufl-inject.so"), "GPUFL_SYSTEM_SAMPLE_RATE_MS": "20",
            "GPUFL_LOG_DIR": str(out), "GPUFL_PROFILING_ENGINE": "Trace", **env})
        equal((done.returncode, done.stdout, done.stderr), (7, "launched\n", ""), f"{how}: the program's own")
        session, = (d for d in out.iterdir() if not d.name.startswith("."))
        _whole(session)
        check(collector.last_start(session, "device")["gpu_static_devices"], f"{how}: devices")
        equal(len(list(_kernels(session))), 20, f"{how}: kernels")


def a_library_that_begins_a_session_as_it_is_loaded_is_recorded(place):
    """Its thread has the loader's lock, which no other one gets until the session has begun."""
    if lib.SANITIZER:
        lib.skip("the sanitizer's runtime comes first")
    source, early = place.path / "early.c", place.path / "libearly.so"
    source.write_text("#include <gpufl/gpufl.h>\n__attribute__((constructor)) static void early(void) { gpufl_init(0); }\n")
    subprocess.run(["cc", "-fPIC", "-shared", f"-I{lib.ROOT}/include", "-o", early, source, f"-L{lib.BUILD}", "-lgpufl"], check=True)
    done = place.run("tests/e2e/gpu_job", "-", "injected", "library", env={
        **ENVIRONMENT, "JOB_LIBRARY": str(early), "GPUFL_LOG_DIR": str(place.logs), "GPUFL_PROFILING_ENGINE": "Trace"})
    equal((done.returncode, done.stdout, done.stderr), (7, "launched\n", ""), "the program's own")
    session, = place.logs.iterdir()
    equal(len(list(_kernels(session))), 20, "kernels")


def an_injected_program_can_run_monitor(place):
    """What `gpufl trace --engine Monitor` sets: figures of host and GPUs, no kernels."""
    out = place.path / "out"
    done = place.run("tests/e2e/gpu_job", "-", "injected", "exit", env={
        **ENVIRONMENT, "CUDA_INJECTION64_PATH": str(lib.BUILD / "libgpufl-inject.so"), "GPUFL_APP_NAME": "watched",
        "GPUFL_LOG_DIR": str(out), "GPUFL_SYSTEM_SAMPLE_RATE_MS": "20", "GPUFL_PROFILING_ENGINE": "Monitor"})
    equal((done.returncode, done.stderr), (7, ""), "exit code, errors")
    session, = (d for d in out.iterdir() if not d.name.startswith("."))
    start = _whole(session)
    equal((start["app"], start["profiling_engine"]), ("watched", "nvidia.none"), "its start")
    equal(list(_kernels(session)), [], "no kernels")
    for record in ("host_metric_batch", "device_metric_batch"):
        check(list(collector.rows(session, "system", record)), record)


def a_trace_is_uploaded_when_it_has_ended(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    out = place.path / "out"
    done = _trace(place, "-qo", out, "--engine=PcSampling", "--upload", f"--backend-url={backend.url}",
                  lib.BUILD / "tests/e2e/gpu_job", "-", "injected", GPUFL_API_KEY=lib.KEY)
    equal((done.returncode, done.stderr), (7, ""), "quiet")
    session, = (d for d in out.iterdir() if not d.name.startswith("."))
    check(backend.complete(session.name), "it is complete there")
    lib.same(backend, session)


def each_process_of_a_trace_is_uploaded(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    out = place.path / "out"
    done = _trace(place, "-qo", out, "--upload", f"--backend-url={backend.url}", lib.BUILD / "tests/e2e/gpu_job", "-",
                  "injected", "children", GPUFL_API_KEY=lib.KEY)
    equal((done.returncode, done.stderr), (7, ""), "quiet")
    sessions = [d for d in out.iterdir() if not d.name.startswith(".")]
    equal(len(sessions), 3, "sessions")
    for session in sessions:
        check(backend.complete(session.name), "it is complete there")
        lib.same(backend, session)


def an_option_goes_before_its_variable_and_that_before_the_default_of_trace(place):
    """Also where the option says what the recorder's own default is. The file comes last."""
    job = lib.BUILD / "tests/e2e/gpu_job"
    config = place.path / "gpufl.json"
    config.write_text(json.dumps({"app_name": "of the file", "log_path": str(place.path / "file"),
                                  "profiling_engine": "Monitor", "enable_memory_tracking": True}))
    of_environment = {"GPUFL_LOG_DIR": str(place.path / "environment.log"), "GPUFL_APP_NAME": "of the environment",
                      "GPUFL_PROFILING_ENGINE": "monitor", "GPUFL_SYSTEM_SAMPLE_RATE_MS": "0"}
    for args, env, directory, app, engine, sampled in (
            ((), of_environment, "environment", "of the environment", "nvidia.none", False),
            (("-o", place.path / "given", "-n", "given", "-e", "PcSampling", "--interval=20"), of_environment, "given", "given",
             "nvidia.pc_sampling", True),
            (("-o", place.path / "none.log", "-n", "gpufl", "-e", "Monitor", "--interval=0"),
             {"GPUFL_APP_NAME": "x", "GPUFL_PROFILING_ENGINE": "Trace", "GPUFL_SYSTEM_SAMPLE_RATE_MS": "20"}, "none", "gpufl",
             "nvidia.none", False),
            ((), {"HOME": str(place.path), "GPUFL_LOG_DIR": " ", "GPUFL_APP_NAME": "", "GPUFL_CONFIG_FILE": str(config)},
             ".gpufl/trace/*", "gpu_job", "nvidia.trace", True)):
        done = _trace(place, *args, "--", job, "-", "injected", "exit", **env)
        out, = place.path.glob(directory)
        equal((done.returncode, done.stderr), (7, f"gpufl trace: 1 session in {out}\n"), f"{args} {env}")
        session, = (d for d in out.iterdir() if not d.name.startswith("."))
        equal((_whole(session)["app"], _capabilities(session)[0]), (app, engine), f"{args} {env}")
        equal(bool(list(collector.rows(session, "system", "host_metric_batch"))), sampled, f"{args} {env}: samples")
        equal(_capabilities(session)[1]["memory_activity"]["requested"], "GPUFL_CONFIG_FILE" in env, "the file")
    done = _trace(place, "true", GPUFL_LOG_DIR="/proc/x")
    equal((done.returncode, done.stderr.startswith("gpufl trace: GPUFL_LOG_DIR: '/proc/x': ")), (2, True), done.stderr)


def a_wrong_variable_leaves_the_default_of_trace(place):
    """Kernels are recorded, and what is wrong is said once."""
    job = lib.BUILD / "tests/e2e/gpu_job"
    for name, value, expected in (("GPUFL_PROFILING_ENGINE", "Tracing", "Monitor, Trace, PcSampling, SassMetrics, "),
                                  ("GPUFL_SYSTEM_SAMPLE_RATE_MS", "1s", "a whole number from 0 to 86400000"),
                                  ("GPUFL_APP_NAME", "x" * 256, "a name of at most 255 bytes")):
        out = place.path / name
        done = _trace(place, "-o", out, "--", job, "-", "injected", "exit", **{name: value})
        said, recorded = done.stderr.splitlines()
        check(said.startswith(f"gpufl trace: {name}: invalid value '{value[:100]}") and f": ignored (expected {expected}" in said, said)
        equal((done.returncode, recorded), (7, f"gpufl trace: 1 session in {out}"), done.stderr)
        session, = (d for d in out.iterdir() if not d.name.startswith("."))
        equal((_whole(session)["app"], _capabilities(session)[0]), ("gpu_job", "nvidia.trace"), name)
        equal(len(list(_kernels(session))), 20, f"{name}: kernels")


def a_tool_that_cuda_does_not_load_for_it_is_named(place):
    other = "/opt/nsight/libToolsInjection64.so"
    for given, said in ((other, f"gpufl trace: CUDA_INJECTION64_PATH: '{other}': replaced: "),
                        (lib.BUILD / "libgpufl-inject.so", "gpufl trace: nothing was recorded")):
        done = _trace(place, "-o", place.path / "out", "true", CUDA_INJECTION64_PATH=str(given))
        check(done.stderr.startswith(said), f"{given}: {done.stderr}")


def an_engine_is_named_in_any_case(place):
    out = place.path / "out"
    done = _trace(place, "-o", out, "-e", "pcsampling", "--", lib.BUILD / "tests/e2e/gpu_job", "-", "injected", "exit")
    session, = (d for d in out.iterdir() if not d.name.startswith("."))
    equal((done.returncode, _capabilities(session)[0]), (7, "nvidia.pc_sampling"), done.stderr)


def a_signal_reaches_the_program(place):
    for number in (signal.SIGINT, signal.SIGTERM):
        out = place.path / str(int(number))
        process = place.start("gpufl", "trace", "-o", out, lib.BUILD / "tests/e2e/gpu_job", "-", "injected", "wait",
                              env=ENVIRONMENT)
        until(lambda p=process: "launched" in p.log.read_text(), "it runs")
        process.send_signal(number)
        equal(process.wait(20 * lib.SLOW), 128 + number, "exit code")
        check("1 session in" in process.log.read_text(), process.log.read_text())


def what_cannot_be_traced_is_said(place):
    for args, code, word in ((("true",), 0, "no process used CUDA"), (("/no/such/program",), 127, "No such file"),
                             (("/etc/passwd",), 126, "Permission denied"), ((), 2, "COMMAND: missing"), (("--", ""), 2, "COMMAND: empty (expected a command"),
                             (("--engine=Deep", "true"), 2, "Monitor, Trace or PcSampling"),
                             (("--interval=1s", "true"), 2, "milliseconds"), (("--what", "true"), 2, "--help")):
        done = _trace(place, "-o", place.path / "out", *args)
        equal(done.returncode, code, f"{args}: {done.stderr}")
        check(word in done.stderr, f"{args}: {done.stderr}")


if __name__ == "__main__":
    here = sys.modules[__name__]
    if not MODULE.exists():
        print("   the module is built where CUDA's headers are: only what happens without it is tested")
        here = types.SimpleNamespace(without=without_the_module_or_the_library_monitor_runs,
                                     recorded=sessions_of_a_real_gpu_are_shipped)
    sys.exit(lib.main(here))
