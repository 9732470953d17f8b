# SPDX-License-Identifier: Apache-2.0
"""What the engines cost and whether they tell the truth, on a real GPU. Prints each figure and check,
writes all of it as JSON. Needs an NVIDIA GPU, nvcc, CUPTI; for torch, ends and gpus PyTorch, for jax JAX.
Usage: prove.py BUILD_DIR RESULTS.json [PART…]; the parts are truth, devices, room, buffers, pipeline, steps, torch, jax,
gpus, many, sanitizer, details, and only where it is named ends (8 min). The programs of the pipeline are in PROGRAMS,
else in BUILD_DIR."""
import collections
import datetime
import gzip
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

BUILD = pathlib.Path(sys.argv[1]).resolve()
OUT = pathlib.Path(sys.argv[2])
PARTS = sys.argv[3:] or ["truth", "devices", "room", "buffers", "pipeline", "steps", "torch", "jax", "gpus", "many", "sanitizer", "details"]
HERE = pathlib.Path(__file__).resolve().parent
WORK = BUILD / "tests/gpu/work"
ROUNDS = int(os.environ.get("ROUNDS", "10"))
MANY = int(os.environ.get("MANY", "10000000"))
results = {"checks": []}


def check(ok, what):
    results["checks"].append({"what": what, "ok": bool(ok)})
    print(("  ok    " if ok else "  FAIL  ") + what, flush=True)


def near(a, b, share, what):
    check(abs(a - b) <= share * max(abs(a), abs(b)), f"{what}: {a} and {b}, within {share:.0%}")


def work(*args, engine="Monitor", expected=0, config=None, before=()):
    env = {**os.environ, "GPUFL_PROFILING_ENGINE": engine, "GPUFL_SOURCE_ROOTS": str(HERE)}
    if config:
        env["GPUFL_CONFIG_FILE"] = str(config)
    done = subprocess.run([*before, WORK, *map(str, args)], env=env, capture_output=True, text=True, check=False,
                          timeout=300)
    if done.returncode != expected:
        check(False, f"work {args}: exit {done.returncode}, {done.stderr[-500:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}, done.stderr


def lines(logs, channel):
    for session in pathlib.Path(logs).glob("[!.]*"):
        numbered = sorted(session.glob(f"{channel}.*.log"), key=lambda p: int(p.name.split(".")[1]))
        for path in [*numbered, session / f"{channel}.log"]:
            with open(path) as file:
                for line in file:
                    yield json.loads(line)


def rows(logs, channel, kind):
    for r in lines(logs, channel):
        if r["type"] == kind:
            for row in r["rows"]:
                yield dict(zip(r["columns"], row), base=r["base_time_ns"])


def names(logs, channel, dictionary):
    found = {}
    for r in lines(logs, channel):
        found.update(r.get(dictionary, {}))
    return found


class Logs:
    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-gpu-"))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path)


# ---- is it true ----

def truth():
    """S2-23, S2-24, S2-50, S2-61, S2-62, S2-71, S3-03, S3-12."""
    for engine in ("Trace", "PcSampling"):
        with Logs() as logs:
            did, said = work("counted", logs, engine=engine)
            kernels = list(rows(logs, "device", "kernel_event_batch"))
            scopes = names(logs, "scope", "scope_name_dict")
            instance = {r["scope_instance_id"]: scopes[str(r["name_id"])]
                        for r in rows(logs, "scope", "scope_event_batch") if r["event_type"] == 0}
            by_scope = collections.Counter(instance.get(k["scope_instance_id"], "none") for k in kernels)
            check(by_scope == {k: did[k] for k in ("a", "b", "c", "none")}, f"{engine}: kernels by scope {dict(by_scope)}")
            check(len({k["corr_id"] for k in kernels}) == len(kernels), f"{engine}: every kernel once")
            begin = {r["scope_instance_id"]: r["base"] + r["dt_ns"] for r in rows(logs, "scope", "scope_event_batch")
                     if r["event_type"] == 0}
            early = [k for k in kernels if k["base"] + k["dt_ns"] < begin.get(k["scope_instance_id"], 0)]
            check(not early, f"{engine}: kernels that start before their scope {early[:3]}")
            copies = sorted((c["copy_kind"], c["bytes"]) for c in rows(logs, "device", "memcpy_event_batch"))
            check(copies == [(1, 1 << 10), (1, 1 << 20), (2, 1 << 11), (8, 1 << 12)], f"{engine}: memory copies {copies}")
            sets = [r["bytes"] for r in rows(logs, "device", "memset_event_batch")]
            check(sets == [4096], f"{engine}: memory sets {sets}")
            kernel_names = names(logs, "device", "kernel_dict")
            long_one, = (k for k in kernels if "wait_cycles" in kernel_names[str(k["kernel_id"])])
            near(long_one["duration_ns"] / 1e6, did["wait_ms"], 0.02, f"{engine}: duration of a kernel in ms, compared to CUDA events")
            wait = max(r["duration_ns"] for r in rows(logs, "scope", "synchronization_event_batch"))
            near(wait / 1e6, did["wait_ms"], 0.05, f"{engine}: duration of the host's synchronisation with it")
            start = next(lines(logs, "device"))["ts_ns"]
            check(all(k["base"] + k["dt_ns"] >= start for k in kernels), f"{engine}: no kernel before the session")
            detail = {r["corr_id"]: r for r in lines(logs, "device") if r["type"] == "kernel_detail"}
            nine = next(k for k in kernels if "variant<9>" in kernel_names[str(k["kernel_id"])])
            d = detail[nine["detail_corr_id"]]
            check((d["grid"], d["block"], nine["dyn_shared"]) == ("(2,3,4)", "(32,2,2)", 4096), f"{engine}: its grid and block")
            check(d["max_active_blocks"] == did["max_blocks"],
                  f"{engine}: blocks per multiprocessor {d['max_active_blocks']}, according to CUDA {did['max_blocks']}")
            pushed = [(k["external_kind"], k["external_id"]) for k in kernels if k["external_kind"]]
            check(pushed == [(3, 77)] * 2, f"{engine}: kernels with a pushed correlation id {pushed}")
            check(not said, f"{engine}: no messages {said}")
    with Logs() as logs:
        did, _ = work("late", logs, engine="Trace")
        n = len(list(rows(logs, "device", "kernel_event_batch")))
        check(n == did["launches"], f"started late: {n} of {did['launches']} launches after gpufl_init")
    for how, code, launches in (("shutdown", 7, 1000), ("exit", 7, 1000), ("early", 7, 1000), ("afterwards", 7, 1000),
                                ("_exit", 7, 1000), ("kill", -9, 1000), ("reset", 7, 2000), ("throw", 7, 2000),
                                ("context", 7, 1000), ("fault", 7, 1000)):
        for engine in ("Trace", "PcSampling"):
            with Logs() as logs:
                work("sudden", logs, how, engine=engine, expected=code)
                n = len(list(rows(logs, "device", "kernel_event_batch")))
                check(n in (launches, launches + (how == "fault")),
                      f"{engine}, {how}: {n} of {launches} launches on disk, exit code {code}")
    called()
    hot()
    side_by_side()


def called():
    """S2-21, S2-25, S2-26, S3-02: Call stacks, scopes of memory copies and sets, allocations, graphs, concurrent streams."""
    with Logs() as logs:
        config = logs.parent / f"{logs.name}.json"
        config.write_text('{"enable_stack_trace":true,"enable_memory_tracking":true}')
        did, said = work("called", logs, engine="Trace", config=config)
        detail = {r["corr_id"]: r for r in lines(logs, "device") if r["type"] == "kernel_detail"}
        kernel_names = names(logs, "device", "kernel_dict")
        kernels = list(rows(logs, "device", "kernel_event_batch"))
        by_function = collections.Counter()
        for k in kernels:
            if "variant<11>" in kernel_names[str(k["kernel_id"])]:
                frames = detail[k["detail_corr_id"]]["stack_trace"].split("|")
                by_function[next((f for f in frames if "_step" in f), "?").split("(")[0]] += 1
        check(by_function == {"train_step": 3, "eval_step": 2}, f"launches by function of the call stack {dict(by_function)}")
        print("   a stack: " + detail[kernels[0]["detail_corr_id"]]["stack_trace"])
        functions = names(logs, "scope", "function_dict")
        waits = collections.Counter(f.split("(")[0] for w in rows(logs, "scope", "synchronization_event_batch")
                                    for f in functions.get(str(w["function_id"]), "?").split("|") if "_step" in f)
        check(waits == {"train_step": 1, "eval_step": 1}, f"synchronisation by function {dict(waits)}")
        io, = (r["scope_instance_id"] for r in rows(logs, "scope", "scope_event_batch") if r["event_type"] == 0)
        copies = [(c["bytes"], c["scope_instance_id"] == io) for c in rows(logs, "device", "memcpy_event_batch")]
        check(copies == [(1 << 20, True), (1 << 10, False)], f"memory copies by scope {copies}")
        sets = [r["scope_instance_id"] == io for r in rows(logs, "device", "memset_event_batch")]
        check(sets == [True], f"scope of a memory set {sets}")
        memory = list(rows(logs, "scope", "memory_alloc_event_batch"))
        ours = [m for m in memory if m["bytes"] in (1 << 20, 1 << 16)]
        check(len(ours) == 4 * did["pairs"], f"{len(ours)} of {4 * did['pairs']} allocations and releases")
        timed = [m["duration_ns"] for m in ours if m["duration_ns"]]
        check(len(timed) == len(ours), f"{len(timed)} of them have a duration, {min(timed, default=0)} to {max(timed, default=0)} ns")
        waited = sorted((k["base"] + k["dt_ns"], k["duration_ns"], k["stream_id"]) for k in kernels
                        if "wait_cycles" in kernel_names[str(k["kernel_id"])])
        (a, a_ns, a_stream), (b, _, b_stream) = waited[:2]
        check(b < a + a_ns and a_stream != b_stream, "kernels of two streams overlap")
        nodes = sum("variant<12>" in kernel_names[str(k["kernel_id"])] for k in kernels)
        check(nodes == did["graphs"] * did["nodes"], f"{nodes} kernels in graphs")
        check(not said, f"no messages {said}")
        config.write_text('{"enable_cuda_graphs_tracking":true}')
    with Logs() as logs:
        work("called", logs, engine="Trace", config=config)
        n = sum(r["type"] == "graph_launch_event" for r in lines(logs, "scope"))
        check(n == did["graphs"], f"{n} of {did['graphs']} graph launches")
        config.unlink()


def hot():
    """S2-22, S2-64."""
    with Logs() as logs:
        did, _ = work("hot", logs, 3, engine="PcSampling")
        functions = names(logs, "scope", "function_dict")
        by_function, by_line = collections.Counter(), collections.Counter()
        for s in rows(logs, "scope", "profile_sample_batch"):
            by_function[functions[str(s["function_id"])].split("(")[0]] += s["metric_value"]
            by_line[s["source_line"]] += s["metric_value"]
        source = (HERE / "work.cu").read_text().splitlines()
        hottest = next(i for i, line in enumerate(source, 1) if "HOT" in line)
        check(by_function.most_common(1)[0][0] == "hottest", f"hottest function {by_function.most_common(2)}")
        check(by_line.most_common(1)[0][0] in (hottest, hottest - 1),
              f"hottest line {by_line.most_common(2)}, the loop is in lines {hottest - 1} and {hottest}")
        texts = [r["lines"] for r in lines(logs, "sass") if r["type"] == "source_file_content"]
        check(texts == [source], f"text of the source file, {len(texts)} times; built from {did['file']}")
        results["hot_samples"] = sum(by_function.values())


def room():
    """PcSampling in a program that has taken nearly all memory: it is done without where too little is left."""
    for left, samples in ((400, False), (700, True), (4000, True)):
        with Logs() as logs:
            done = subprocess.run([sys.executable, HERE / "room.py", str(left)], capture_output=True, text=True, check=False,
                                  timeout=120, env={**os.environ, "LIBGPUFL": str(BUILD / "libgpufl.so"),
                                                    "GPUFL_LOG_DIR": str(logs), "GPUFL_PROFILING_ENGINE": "PcSampling"})
            told = json.loads(done.stdout) if done.returncode == 0 else {}
            check(told.get("sum") == 512 ** 3, f"{left} MiB left: the program's result, exit {done.returncode} {done.stderr[-300:]}")
            check(told and told["before"] - told["behind"] <= 64, f"{left} MiB left: memory of the GPU that is taken {told}")
            taken = sum(s["metric_value"] for s in rows(logs, "scope", "profile_sample_batch"))
            check(bool(taken) == samples, f"{left} MiB left: {taken} samples")
            kernels = len(list(rows(logs, "device", "kernel_event_batch")))
            check(kernels >= 2000, f"{left} MiB left: {kernels} kernels")


def buffers():
    """Another tool registers while buffers are out, later than the library or earlier: CUPTI returns each to whoever
    registered last, nothing crashes, and what the library misses by that is counted."""
    for when in ("later", "earlier"):
        with Logs() as logs:
            did, said = work("buffers", logs, when, engine="Trace")
            if not did:
                continue
            print(f"   {when}: {did} {said.strip()}")
            check(did["failed"] == [0, 0], f"another tool, {when}: CUPTI's answers to its start and its flush {did['failed']}")
            start = next(lines(logs, "device"))["ts_ns"]
            seen = sum(k["base"] + k["dt_ns"] >= start for k in rows(logs, "device", "kernel_event_batch"))
            *_, closing = (r for r in lines(logs, "device") if r["type"] == "capture_capabilities")
            lost = closing["losses"]["launches"] + closing["losses"]["records"]
            why, = (c["reason_code"] for c in closing["capabilities"] if c["feature"] == "kernel_events")
            check(seen + lost == did["launches"],
                  f"another tool, {when}: {seen} rows, {lost} counted as lost, of {did['launches']} launches")
            if when == "later":
                check(seen >= 400, f"another tool, later: {seen} rows, 400 launches were fetched before")
                check(did["others"] > 0, f"another tool, later: it got {did['others']} buffers of the library, "
                                         f"with {did['others_kernels']} kernels, and {did['own']} of its own, with {did['own_kernels']}")
                check(seen + did["own_kernels"] + did["others_kernels"] == did["launches"],
                      f"another tool, later: {did['own_kernels'] + did['others_kernels']} kernels are with it, {seen} with the library")
            else:
                check("foreign_buffers:" in why, f"another tool, earlier: the library got buffers of it, {why}")
                check(did["others"] == 0, f"another tool, earlier: it got {did['others']} buffers of the library")


def side_by_side():
    """Two processes try to sample one GPU: the hardware serves one, the other prints a message."""
    with Logs() as place:
        jobs = [subprocess.Popen([WORK, "steps", place / str(i), str(4 << 20), "300"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, env={**os.environ, "GPUFL_PROFILING_ENGINE": "PcSampling"})
                for i in range(2)]
        said = [job.communicate()[1].decode() for job in jobs]
        kernels = [len(list(rows(place / str(i), "device", "kernel_event_batch"))) for i in range(2)]
        samples = [len(list(rows(place / str(i), "scope", "profile_sample_batch"))) for i in range(2)]
        check([job.returncode for job in jobs] == [0, 0], "two processes: both exit with status 0")
        check(kernels == [108000] * 2, f"two processes: kernels {kernels}")
        check(sorted(map(bool, samples)) == [False, True], f"two processes: only one has samples {samples}")
        check(sum("another process samples" in s for s in said) == 1, "two processes: the other prints a message")


def pipeline():
    """A program that knows nothing of us, traced, shipped while it runs, stored, exported: the same bytes."""
    programs = pathlib.Path(os.environ.get("PROGRAMS", BUILD)).resolve()
    if not (programs / "gpufl-backend").exists():
        print("   skipped: make all builds the programs that it takes")
        return
    env = {**os.environ, "GPUFL_HTTP_TOKEN": "key",
           "LD_LIBRARY_PATH": f"{programs}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    with Logs() as place:
        logs, said = place / "logs", open(place / "said", "wb")
        logs.mkdir(mode=0o700)
        backend = subprocess.Popen([programs / "gpufl-backend", "--listen", "127.0.0.1:0", "--db", place / "db",
                                    "--api-key", "key"], stdout=said, stderr=said, env=env)
        url = until(lambda: re.search(r"http://[0-9.:]+", (place / "said").read_text()))[0]
        agent = subprocess.Popen([programs / "gpufl-agent", f"--folder={logs}", f"--host={url}"], stdout=said,
                                 stderr=said, env=env)
        done = subprocess.run([programs / "gpufl", "trace", "-q", "-o", logs, "--engine=PcSampling", "--", WORK, "bare",
                               "none", "1024", "25"], env=env, capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stderr, f"gpufl trace: exit {done.returncode} {done.stderr[-300:]}")
        session, = logs.glob("[!.]*")

        def get(path):
            request = urllib.request.Request(f"{url}/api/v1/sessions/{session.name}{path}",
                                             headers={"Authorization": "Bearer key"})
            with urllib.request.urlopen(request, timeout=10) as reply:
                return reply.read()
        complete = until(lambda: json.loads(get(""))["complete"])
        same = {c: get(f"/export?channel={c}") == (session / f"{c}.log").read_bytes()
                for c in ("device", "scope", "system", "sass")}
        kernels = sum(len(r["rows"]) for r in lines(logs, "device") if r["type"] == "kernel_event_batch")
        check(complete and all(same.values()), f"traced, uploaded, stored: the export equals the files {same}")
        check(kernels == 9000, f"{kernels} of 9000 launches of an unmodified program")
        for process in (agent, backend):
            process.terminate()
            process.wait()


def until(condition):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if value := condition():
                return value
        except urllib.error.HTTPError:
            pass
        time.sleep(0.02)
    raise TimeoutError


# ---- what does it cost ----

def steps():
    """S2-58, S2-65, S3-13."""
    config = pathlib.Path(tempfile.mkdtemp()) / "gpufl.json"
    config.write_text('{"system_sample_rate_ms":100,"continuous_system_sampling":true}')
    variants = {"none": ("bare", "none"), "Monitor": ("steps", "Monitor"), "bare trace": ("bare", "trace"),
                "Trace": ("steps", "Trace"), "bare samples": ("bare", "samples"), "bare both": ("bare", "both"),
                "PcSampling": ("steps", "PcSampling")}
    for size, n in (("short", 1024), ("long", 4 << 20)):
        ms = {name: [] for name in variants}
        for _ in range(ROUNDS):
            for name, (what, kind) in variants.items():
                with Logs() as logs:
                    if what == "bare":
                        ms[name].append(work("bare", kind, n, 100)[0]["median_ms"])
                    else:
                        ms[name].append(work("steps", logs, n, 100, engine=kind, config=config)[0]["median_ms"])
        of = {floor: {name: statistics.median(a / b for a, b in zip(v, ms[floor])) for name, v in ms.items()}
              for floor in variants}  # round by round
        table = {name: {"median_ms": round(statistics.median(v), 2), "min_ms": min(v), "max_ms": max(v),
                        "of": {floor: round(ratio[name], 4) for floor, ratio in of.items()}}
                 for name, v in ms.items()}
        results[f"steps_{size}"] = table
        for name, v in table.items():
            print(f"   {size} {name:12} {v['median_ms']:.2f} ms ({v['min_ms']:.2f} to {v['max_ms']:.2f}), "
                  f"{v['of']['none']:.2f} × none", flush=True)
        for ours, floor, most in (("Trace", "bare trace", 1.15), ("PcSampling", "bare samples", 1.15),
                                  ("PcSampling", "bare both", 1.15), ("Monitor", "none", 1.03)):
            ratio = table[ours]["of"][floor]
            check(ratio <= most, f"{size}: {ours} {ratio:.3f} × {floor}, {most} allowed")


def script(name, *args, **env):
    done = subprocess.run([sys.executable, HERE / name, *map(str, args)], env={**os.environ, **env},
                          capture_output=True, text=True, check=False, timeout=550)
    if done.returncode or "[GPUFL]" in done.stderr:
        check(False, f"{name} {args}: exit {done.returncode}, {done.stderr[:2000]}")
        return None  # an engine that did not run has no figures
    return json.loads(done.stdout.splitlines()[-1])


def step(*args, **env):
    return script("step.py", *args, **env)


def by_injection(logs, engine):
    return {"CUDA_INJECTION64_PATH": str(BUILD / "libgpufl-inject.so"), "GPUFL_LOG_DIR": str(logs),
            "GPUFL_PROFILING_ENGINE": engine}


def torch():
    """S2-65."""
    theirs = step("busy", 20, "--profile")
    for _ in range(3):  # in some runs it had none, and in others always
        injected(theirs)
    clocks()
    sampled_for_long()
    turns_of_engines()


def clocks():
    """S3-03: PyTorch's profiler after a session of ours."""
    with Logs() as logs:
        told = step("busy", 5, "--after", LIBGPUFL=str(BUILD / "libgpufl.so"), GPUFL_LOG_DIR=str(logs),
                    GPUFL_PROFILING_ENGINE="Trace")
        check(told and told["kernels"] and 0 <= told["first_us"] < 1e6 and abs(told["last_us"]) < 1e6,
              f"PyTorch's profiler has kernels and operations on one clock: {told}")
        for session in sorted(logs.glob("[!.]*")):
            start, *records, end = (json.loads(line) for line in (session / "device.log").read_text().splitlines())
            kernels = [r["base_time_ns"] + row[r["columns"].index("dt_ns")] for r in records
                       if r["type"] == "kernel_event_batch" for row in r["rows"]]
            print(f"   {len(kernels)} kernels in this session of ours")
            check(all(start["ts_ns"] <= k <= end["ts_ns"] for k in kernels), "a session's kernels are within it")


def turns_of_engines():
    with Logs() as place:
        (place / "none").write_text("")
        samples = '{"system_sample_rate_ms":100,"continuous_system_sampling":true,"log_path":"%s"' % (place / "logs")
        (place / "ours").write_text(samples + "}")
        (place / "without").write_text(samples + ',"enable_external_correlation":false}')
        variants = {"none": "=none", "Monitor": f"{place}/ours=Monitor", "Trace": f"{place}/ours=Trace",
                    "Trace without ids": f"{place}/without=Trace", "PcSampling": f"{place}/ours=PcSampling"}
        for size, steps_each, turns in (("busy", 20, ROUNDS), ("bound", 40, 2 * ROUNDS)):
            table = {}
            for none, engines in (("none", ("Monitor", "Trace", "Trace without ids")),
                                  ("none beside PcSampling", ("PcSampling",))):  # by itself: it may fail, see ends()
                keys = {none: variants["none"], **{e: variants[e] for e in engines}}
                ms = step(size, steps_each, "--turns", turns, *keys.values(), LIBGPUFL=str(BUILD / "libgpufl.so"),
                          LIBBARE=str(BUILD / "tests/gpu/libbare.so"))
                table.update({e: ms[key] for e, key in keys.items()} if ms else {})
                if ms and none == "none":
                    table.update({e: ms[e] for e in ("untouched", "bare trace")})
            results[f"torch_{size}"] = table
            for engine, most in (("Monitor", 1.01), ("Trace", 1.05), ("PcSampling", 1.08)):
                if engine in table:
                    ratio = table[engine]["of_none"]
                    check(ratio <= most, f"PyTorch step, {size}: {engine} {ratio:.3f} × none, {most} allowed")


def injected(theirs):
    with Logs() as logs:
        env = by_injection(logs, "Trace")
        step("busy", 20, **env)
        ours = [k["duration_ns"] for k in rows(logs, "device", "kernel_event_batch")]
        sessions = len(list(logs.glob("[!.]*")))
        if not sessions:
            print("   what the loader says:\n" + loaded(env))
        elif not ours:
            print("   what is there instead: " + json.dumps([r for r in lines(logs, "device")][:3])[:4000])
    check(sessions == 1, f"PyTorch by injection: {sessions} sessions")
    near(len(ours), theirs["kernels"], 0.01, "PyTorch: number of kernels, ours and its profiler's")
    near(sum(ours) / 1e3, theirs["kernel_us"], 0.01, "PyTorch: total kernel time in µs")


def cupti_alone(how):
    with Logs() as place:
        config, said = place / "config", place / "said"
        config.write_text(f"+ 100wef global\n$ {said}\nForceFlush\nFormat $sevc$time ${{name:0}} $text\n")
        told = step("bound", 25, "--ends", how, 60, LIBBARE=str(BUILD / "tests/gpu/libbare.so"),
                    NVLOG_CONFIG_FILE=str(config))  # what fails is told in CUPTI's own words
        if said.exists():
            print(said.read_text(errors="replace")[-4000:])
        return told


def ends():
    """Sampling ends without an error, and with all that it had. On some machines CUPTI fails at one end in 25, so
    before ours comes CUPTI alone, each time in a process of its own."""
    for name, how in (("plain", 0), ("with kernel records", 1), ("on another thread", 33), ("behind a beat", 3),
                      ("stopped before", 5), ("without a fetch before", 9), ("without a beat", 17)):
        told = cupti_alone(how)
        print(f"   CUPTI alone, {name}: {told}", flush=True)
        results.setdefault("ends", {})[name] = told
    with Logs() as place:
        (place / "config").write_text('{"log_path":"%s"}' % (place / "logs"))
        step("bound", 25, "--sessions", 60, LIBGPUFL=str(BUILD / "libgpufl.so"),
             GPUFL_CONFIG_FILE=str(place / "config"), GPUFL_PROFILING_ENGINE="PcSampling")
        said = [c for r in lines(place / "logs", "device") if r["type"] == "capture_capabilities"
                for c in r["capabilities"] if c["feature"] == "pc_sampling"]
        whole = [c for c in said if c["status"] == "collected" and not c["message"]]
        check(len(whole) == 60, f"PyTorch sampled 60 times in one process: {len(whole)} of {len(said)} sessions complete, "
                                f"{[c['message'] for c in said if c['message']][:2]}")


def sampled_for_long():
    """Samples are fetched each second, here while launches come without pause."""
    for _ in range(2):
        with Logs() as logs:
            step("bound", 500, **by_injection(logs, "PcSampling"))
            kernels = len(list(rows(logs, "device", "kernel_event_batch")))
            samples = len(list(rows(logs, "scope", "profile_sample_batch")))
            check(kernels > 100000 and samples > 0, f"PyTorch sampled for several seconds: {kernels} kernels, {samples} samples")


def jax():
    if not importlib.util.find_spec("jax"):
        print("   skipped: takes JAX")
        return
    theirs = script("jax_step.py", 500, "--profile")
    for engine in ("Trace", "PcSampling"):
        with Logs() as logs:
            script("jax_step.py", 500, **by_injection(logs, engine))
            kernels = len(list(rows(logs, "device", "kernel_event_batch")))
            samples = len(list(rows(logs, "scope", "profile_sample_batch")))
            check(kernels > theirs["kernels"] and bool(samples) == (engine == "PcSampling"),
                  f"JAX by injection, {engine}: {kernels} kernels including those of compilation, {samples} samples")
        with Logs() as place:
            (place / "config").write_text('{"log_path":"%s"}' % (place / "logs"))
            same = script("jax_step.py", 500, "--session", LIBGPUFL=str(BUILD / "libgpufl.so"), GPUFL_PROFILING_ENGINE=engine,
                          GPUFL_CONFIG_FILE=str(place / "config")) or theirs
            ours = [k["duration_ns"] for k in rows(place / "logs", "device", "kernel_event_batch")]
            near(len(ours), same["kernels"], 0.001, f"JAX, {engine}: number of kernels, ours and then its profiler's")
            near(sum(ours) / 1e3, same["kernel_us"], 0.1, f"JAX, {engine}: total kernel time in µs, one after the other")


def gpus():
    """Several GPUs, each sampled: of one process, and of a process each that NCCL joins."""
    for how in ("together", "apart"):
        with Logs() as logs:
            told = script("gpus.py", how, 200, **by_injection(logs, "PcSampling"))
            if not told or told["gpus"] < 2:
                print("   skipped: takes two GPUs")
                return
            count = told["gpus"]
            kernels = collections.Counter(k["device_id"] for k in rows(logs, "device", "kernel_event_batch"))
            samples = collections.Counter(s["device_id"] for s in rows(logs, "scope", "profile_sample_batch"))
            check(len(kernels) == count and min(kernels.values()) > 0.99 * max(kernels.values()),
                  f"{count} GPUs {how}: kernels per GPU {dict(kernels)}")
            check(len(samples) == count, f"{count} GPUs {how}: samples per GPU {dict(samples)}")
            sessions = [s.name for s in logs.glob("[!.]*") if "kernel_event_batch" in (s / "device.log").read_text()]
            check(len(sessions) == (1 if how == "together" else count), f"{count} GPUs {how}: {len(sessions)} sessions")


def devices():
    """S3-10, S3-11: Rows name the GPU by the number of job_start, whatever CUDA calls it."""
    smi = subprocess.run(["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"], capture_output=True,
                         text=True, check=True).stdout
    uuids = dict(line.split(", ") for line in smi.strip().splitlines())
    backwards = ",".join(reversed(list(uuids)))
    wanted = {"": uuids["0"], backwards: uuids[backwards.split(",")[0]], **uuids, **{u: u for u in uuids.values()}}
    for visible, uuid in wanted.items():
        with Logs() as logs:
            order = "env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", *([f"CUDA_VISIBLE_DEVICES={visible}"] if visible else [])
            config = logs.parent / f"{logs.name}.json"
            config.write_text('{"system_sample_rate_ms":50,"continuous_system_sampling":true}')
            work("hot", logs, 2, engine="Trace", config=config, before=order)
            config.unlink()
            told = {d["id"]: d for r in lines(logs, "device") if r["type"] == "job_start" for d in r["gpu_static_devices"]}
            used = {k["device_id"] for k in rows(logs, "device", "kernel_event_batch")}
            check([told[n]["uuid"] for n in used if n in told] == [uuid],
                  f"CUDA_VISIBLE_DEVICES={visible or 'not set'}: kernels on {used}, {uuid}")
            busy = collections.defaultdict(int)
            for r in rows(logs, "system", "device_metric_batch"):
                busy[r["device_id"]] = max(busy[r["device_id"]], r["gpu_util"])
            check(all(busy[n] > 50 for n in used), f"the same device is busy: {dict(busy)} %")
            for p in (r for r in lines(logs, "device") if r["type"] == "device_properties"):
                d = told[p["id"]]
                check((d["multi_processor_count"], d["warp_size"]) == (p["multi_processor_count"], p["warp_size"]),
                      f"NVML and CUDA agree on {d['multi_processor_count']} SMs; {p['l2_cache_size_bytes']} bytes of L2")
                check(p["name"] == d["name"] and p["uuid"] == d["uuid"], "and on its name")


def loaded(env):
    """What the loader does with our library, and what it needs."""
    done = subprocess.run([sys.executable, HERE / "step.py", "busy", "1"], capture_output=True, text=True,
                          env={**os.environ, **env, "LD_DEBUG": "files,libs"}, errors="replace", check=False,
                          timeout=550)
    needs = subprocess.run(["readelf", "-d", BUILD / "libgpufl-inject.so"], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if "gpufl" in line]
    return "\n".join(told[:40]) + "\n" + needs.stdout


def many():
    """S3-13."""
    with Logs() as logs:
        did, said = work("many", logs, MANY, engine="Trace")
        session, = logs.glob("[!.]*")
        size = sum(f.stat().st_size for f in session.glob("device*.log"))
        seen = 0
        for r in lines(logs, "device"):
            if r["type"] == "kernel_event_batch":
                seen += len(r["rows"])
            elif r["type"] == "capture_capabilities":
                lost = r["losses"]["records"] + r["losses"]["launches"]
        with open(next(iter(sorted(session.glob("device.*.log"))), session / "device.log"), "rb") as f:
            part = f.read(8 << 20)
        wire = len(gzip.compress(part, 6)) / len(part) * size / MANY
        results["many"] = {**did, "rows": seen, "lost": lost, "bytes_on_disk": size / MANY, "bytes_on_wire": wire,
                           "writer_ns": did["writer_cpu_ms"] * 1e6 / MANY}
        check(seen + lost == MANY, f"{MANY} launches: {seen} rows, {lost} counted as lost; {said}")
        check(size / MANY <= 80, f"{size / MANY:.1f} bytes per launch on disk, about {wire:.1f} in gzip, "
                                 f"{did['writer_cpu_ms'] * 1e6 / MANY:.0f} ns of the threads that write")
        check(did["rss_most_kib"] - did["rss_at_tenth_kib"] < 32 << 10,
              f"memory {did['rss_at_tenth_kib']} KiB after one tenth, {did['rss_most_kib']} at most")


def sanitizer():
    with Logs() as logs:
        for engine in ("Trace", "PcSampling"):
            _, said = work("counted", logs, engine=engine, before=("compute-sanitizer", "--error-exitcode", "9"))
            print("   " + said.strip())


def details():
    """Columns that are asked for, against nvidia-smi; Monitor alone."""
    with Logs() as logs:
        config = logs.parent / f"{logs.name}.json"
        config.write_text('{"system_sample_rate_ms":100,"continuous_system_sampling":true,"device_details":true}')
        work("hot", logs, 3, engine="Monitor", config=config)
        config.unlink()
        last = {r["device_id"]: r for r in rows(logs, "system", "device_metric_batch")}
        print("   details: " + json.dumps({k: last[0][k] for k in list(last[0])[-9:-1]}))
        check(last[0]["throttle_reasons"] >= 0, "throttle reasons are available")
        check(last[0]["xid_count"] == 0, "no Xid error, and Xid errors are monitored")


def machine():
    smi = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True,
                         text=True, check=True).stdout.strip().splitlines()[0]
    return {"gpu": smi.split(", ")[0], "driver": smi.split(", ")[1], "kernel": platform.release(),
            "cores": os.cpu_count(), "date": datetime.date.today().isoformat()}


results["machine"] = machine()
for part in PARTS:
    print(f"== {part}", flush=True)
    globals()[part]()
    OUT.write_text(json.dumps(results, indent=1) + "\n")
bad = sum(not c["ok"] for c in results["checks"])
print(f"{len(results['checks']) - bad} ok, {bad} failed")
sys.exit(bad > 0)
