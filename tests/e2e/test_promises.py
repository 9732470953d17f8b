# SPDX-License-Identifier: Apache-2.0
"""What the reference of the existing client promises, row by row where no other test has it. Row
ids are those of docs/api-coverage.md."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import lib
from lib import check, equal, until
import sink
import test_collector as collector

FAKE = {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}
EXTRA_THREADS = 1 if lib.BUILD.name == "thread" else 0  # ThreadSanitizer has one of its own
LIFECYCLE = {"job_start", "capture_capabilities", "shutdown"}


def script(place, *words, env=None, **more):
    """A job by script (script.c): (its output in lines, its session or None, the process)."""
    done = place.run("tests/e2e/script", f"log_path={place.logs}", *words, env=env, **more)
    lines = done.stdout.splitlines()
    ident = lines[0].split()[1] if lines and len(lines[0].split()) > 1 else None
    return lines, place.logs / ident if ident else None, done


def types(session, channel="system"):
    return {r["type"] for r in collector.records(session, channel)}


def sample_times(session):
    return [row["base"] + row["dt_ns"]
            for row in collector.rows(session, "system", "host_metric_batch")]


def _scope_times(session, name):
    """(begin, end) of the one scope of that name."""
    names = {v: int(k) for r in collector.records(session, "scope")
             for k, v in r.get("scope_name_dict", {}).items()}
    found = [row["original_start_ns"]
             for row in collector.rows(session, "scope", "scope_event_batch")
             if row["name_id"] == names[name]]
    equal(len(found), 2, f"begin and end of {name}")
    return found


def it_is_c_and_threads_only(place):
    """D-01, D-02: no C++ unit is shipped; the collector starts no process."""
    sources = [p for folder in ("agent", "cli", "collector-lib", "upload", "backend", "schema")
               for p in (lib.ROOT / folder).rglob("*.c*") if p.suffix in (".cc", ".cpp", ".cxx")]
    equal(sources, [], "C++ units")
    job = place.start("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", "init",
                      "hold", stdin=subprocess.PIPE)
    until(lambda: job.log.read_text().count("\n") == 1, "it records")
    children = lib.proc(job.pid, "task/*/children")
    equal(set(children), {""}, "processes of its own")
    until(lambda: len(lib.proc(job.pid, "task/*/comm")) - EXTRA_THREADS == 3,
          "threads: the job's, the writer's and that of its files; the GPU driver's has ended, as there is no GPU")
    job.communicate(b"")
    equal(job.returncode, 0, "exit code")


def sessions_never_mix(place):
    """D-03, S2-09: four processes at once and init twice in one: six directories, three files
    each, and no line of another session in them."""
    jobs = [place.start("tests/e2e/script", f"log_path={place.logs}", "init", "scope:a:50",
                        "thread:b:10", "hold", stdin=subprocess.PIPE) for _ in range(4)]
    until(lambda: all(j.log.read_text() for j in jobs), "they record")
    for directory in (place.logs / j.log.read_text().split()[1] for j in jobs):
        for channel in ("device", "scope", "system"):
            until((directory / f"{channel}.log").read_bytes, f"{channel}.log while it lives")
    for j in jobs:
        j.communicate(b"")
        equal(j.returncode, 0, "exit code")
    before = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in place.logs.rglob("*.log")}
    script(place, "init", "scope:a:5", "shutdown", "init", "scope:b:5", "shutdown")
    for path, digest in before.items():
        equal(hashlib.sha256(path.read_bytes()).hexdigest(), digest, f"{path} is left alone")
    sessions = list(place.logs.iterdir())
    equal(len(sessions), 6, "directories")
    for session in sessions:
        for channel in ("device", "scope", "system"):
            lines = lib.on_disk(session, channel).splitlines()
            equal({json.loads(line)["session_id"] for line in lines}, {session.name}, channel)


def _switches(pid):
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])
               for status in lib.proc(pid, "task/*/status"))


def an_idle_agent_sleeps(place):
    """D-04: it watches by inotify and does not poll; as long as another job takes 1 s."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    job = place.start("tests/e2e/script", f"log_path={place.logs}", "init", "scope:a:5", "hold",
                      stdin=subprocess.PIPE)
    session = place.logs / until(job.log.read_text, "it records").split()[1]
    agent = lib.agent(place, backend.url)
    until(lambda: backend.export(session.name, "scope") == lib.on_disk(session, "scope") != b"",
          "it has caught up")
    until(lambda: lib.watches(agent.pid) > 1, "inotify watches")
    before = _switches(agent.pid)
    elsewhere = place.path / "elsewhere"
    place.run("tests/e2e/script", f"log_path={elsewhere}", "sleep:1000")
    woken = _switches(agent.pid) - before
    check(woken <= 25 * lib.SLOW, f"woken {woken} times in an idle second")
    with open(session / "scope.log", "ab") as file:
        file.write(b'{"type":"torn","session_id":"%s"' % session.name.encode())
        file.flush()
        place.run("tests/e2e/script", f"log_path={elsewhere}", "sleep:300")
        check(b"torn" not in backend.export(session.name, "scope"), "half a line is not sent")
        file.write(b"}\n")
        file.flush()
        until(lambda: b"torn" in backend.export(session.name, "scope"), "the whole line is")
    job.communicate(b"")


def a_directory_that_comes_later_is_followed(place):
    """D-05: the agent first, on a directory that is not there; then a job that rotates."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    later = place.path / "later" / "logs"
    lib.agent(place, backend.url, folder=later)
    session = lib.rotated_job(place, "scope.2.log", 1, 3000, logs=later)
    until(lambda: backend.complete(session.name), "complete")
    lib.same(backend, session)


def agent_and_call_send_the_same(place):
    """D-10, S2-13, S2-14: path, headers, coding and lines of one session by both."""
    _, session, _ = script(place, "rate=20", "continuous=1", "init", "scope:a:60", "shutdown")
    copy = place.path / "copy"
    shutil.copytree(place.logs, copy)
    sent = []
    for how in ("agent", "call"):
        with sink.Sink(declare=True, key=lib.KEY) as s:
            if how == "agent":
                process = lib.agent(place, s.url, "--exit-when-drained")
                equal(process.wait(30 * lib.SLOW), 0, "exit code")
            else:
                done = place.run("tests/e2e/script", f"log_path={copy}", f"backend_url={s.url}",
                                 f"api_key={lib.KEY}", "upload")
                check(done.stdout.startswith("0 1 "), done.stdout + done.stderr)
            batches = s.batches()
            ours = {k for r in batches for k in r.headers}
            sent.append((sorted({r.path for r in batches}), sorted(ours),
                         sorted({(r.encoding, r.headers["Authorization"]) for r in batches}),
                         sorted(line for r in batches for line in r.raw().splitlines())))
    equal(sent[0], sent[1], "agent and gpufl_upload_logs")
    kept = b"".join(p.read_bytes() for p in place.path.rglob("*") if p.is_file() and
                    p.name != "backend.db")
    check(lib.KEY.encode() not in kept, "the key is in no log, state or output")


def the_environment_stands_for_unset_fields(place):
    """S2-12, S2-14, S2-44, S2-45: url, key and path by environment; code beats it."""
    for path in ("/obs/gpu/api/v1", "/obs/gpu/api/v1/", "obs/gpu/api/v1"):
        with sink.Sink(declare=True, key=lib.KEY) as s, sink.Sink() as other:
            env = {"GPUFL_BACKEND_URL": s.url, "GPUFL_API_KEY": lib.KEY, "GPUFL_API_PATH": path}
            lines, _, done = script(place, "init", "shutdown", "upload", env=env)
            check(lines[1].startswith("0 1 "), f"{lines} {done.stderr}")
            equal({r.path for r in s.batches()}, {"/obs/gpu/api/v1/events/stream"}, path)
            words = ("init", "shutdown", f"backend_url={s.url}", f"api_key={lib.KEY}",
                     "api_path=/code", "upload")
            script(place, *words, env={"GPUFL_BACKEND_URL": other.url, "GPUFL_API_KEY": "env",
                                       "GPUFL_API_PATH": "/env"})
            equal({r.path for r in s.batches()[3:]} | {"/obs/gpu/api/v1/events/stream"},
                  {"/code/events/stream", "/obs/gpu/api/v1/events/stream"}, "code beats environment")
            equal(other.requests, [], "nothing goes to the other one")


def the_name_is_in_every_channel_and_on_the_dashboard(place):
    """S2-07, S2-10, D-13: also with quotes, newlines and bytes that are no UTF-8."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    job = place.start("tests/e2e/script", f"log_path={place.logs}", "app_name=my_app", "rate=20", "continuous=1",
                      "init", "scope:a \"b\"\n\x01é:5", "hold", "shutdown",
                      env={"GPUFL_SIMULATED_GPUS": "1"}, stdin=subprocess.PIPE)
    session = place.logs / until(job.log.read_text, "it records").split()[1]
    until(lambda: b"device_metric_batch" in lib.on_disk(session, "system") and
          len(list(collector.rows(session, "system", "device_metric_batch"))) > 1, "two samples on disk")
    job.communicate(b"")
    equal(job.returncode, 0, job.log.read_text())
    for channel in ("device", "scope", "system"):
        data = lib.on_disk(session, channel)
        check(data.endswith(b"}\n"), f"{channel} ends in a whole line: {data[-200:]}")
        for line in data.decode().splitlines():
            equal(json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False)[0], "{", line)
        equal(json.loads(data.splitlines()[0])["app"], "my_app", channel)
    lib.upload(place, backend.url)
    listed = json.loads(backend.get("/api/v1/sessions"))["sessions"]
    equal([(s["session_id"], s["app"]) for s in listed], [(session.name, "my_app")], "sessions")
    shown = {part: json.loads(backend.get(f"/api/v1/sessions/{session.name}{part}"))
             for part in ("", "/metrics", "/scopes")}
    equal(shown[""]["job_start"]["devices"][0]["name"], "Simulated GPU 0", "its device")
    check(len(shown["/metrics"]["series"][0]["points"]) > 1, "its metrics")
    check(any("b" in name for name in shown["/scopes"]["names"].values()), "its scopes")


def a_log_path_left_empty_is_the_name(place):
    """S2-08: foo/<session>/, never foo.log."""
    done = subprocess.run([lib.BUILD / "tests/e2e/script", "app_name=foo", "init", "shutdown"],
                          cwd=place.path, capture_output=True, text=True, check=True,
                          env=lib.environment({}))
    session = done.stdout.split()[1]
    check((place.path / "foo" / session / "system.log").exists(), "the directory")
    check(not (place.path / "foo.log").exists(), "no foo.log")


def shutdown_leaves_one_thread_and_can_come_twice(place):
    """S2-05; and all calls without init."""
    lines, session, done = script(place, "shutdown", "scope:a:1", "start:a", "stop:a", "init",
                                  "scope:b:5", "shutdown", "look", "shutdown", "scope:c:1")
    equal((done.returncode, done.stderr), (0, ""), "harmless")
    session = place.logs / lines[0].split()[1]
    equal(int(lines[1].split()[0]) - EXTRA_THREADS, 1, "threads")
    equal(set(collector.paired(session)), {"b"}, "scopes")


def capture_flags_are_recorded_and_do_nothing_in_monitor(place):
    """S2-27: all six on: no warning, no CUPTI, no row but ours. S2-29: kernel_rate likewise."""
    lines, session, done = script(place, "flags=1", "kernel_rate=1000", "rate=20", "continuous=1",
                                  "init", "look", "scope:a:50", "shutdown", env=FAKE)
    equal((lines[0].split()[0], done.stderr), ("0", ""), "init")
    kinds = types(session) | types(session, "scope") | types(session, "device")
    equal(kinds, LIFECYCLE | {"dictionary_update", "scope_event_batch", "device_metric_batch",
                              "host_metric_batch", "system_start", "system_stop"}, "records")
    found, = (r for r in collector.records(session, "device") if r["type"] == "capture_capabilities")
    asked = {c["feature"] for c in found["capabilities"] if c["status"] == "skipped"}
    equal(asked, {"sync_activity", "memory_activity", "graph_activity", "external_correlation",
                  "source_correlation", "stack_traces"}, "recorded as asked for")


def _samples_of_a_rate(place):
    """\return their number to that of periods; how long the first is after init and the last before shutdown, ms."""
    _, session, _ = script(place, "rate=50", "continuous=1", "init", "sleep:2000", "shutdown")
    times = sample_times(session)
    start, *_, stop = [r["ts_ns"] for r in collector.records(session, "system") if "ts_ns" in r
                       and r["type"] in ("job_start", "shutdown")]
    periods = (stop - start) / 50e6
    check(len(times) <= periods + 3, f"{len(times)} samples in {periods} periods")
    return len(times) / periods, (times[0] - start) / 1e6, (stop - times[-1]) / 1e6


def a_rate_of_50_ms_is_kept(place):
    """S2-28, S2-31: from init to shutdown, without a scope. A busy machine may delay samples, but not of each session."""
    seen = []
    until(lambda: seen.append(_samples_of_a_rate(place)) or (seen[-1][0] >= 7 / 8 and max(seen[-1][1:]) <= 100),
          "samples in 7 of 8 periods, the first and the last within 100 ms")
    _, session, _ = script(place, "rate=0", "continuous=1", "init", "scope:a:100", "shutdown")
    equal(sample_times(session), [], "rate 0: none")


def an_idle_sampler_does_not_wake_for_samples(place):
    """S2-32: not continuous, no scope: no row, and the writer keeps its beat of 40 ms; each second it waits for the thread of
    files a few times more."""
    lines, session, _ = script(place, "rate=5", "init", "sleep:300", "look", "sleep:1000", "look",
                               "shutdown")
    woken = int(lines[2].split()[2]) - int(lines[1].split()[2])
    check(woken <= 40 * lib.SLOW, f"{woken} times in 1 s; a sampler of 5 ms would be 200")
    equal(sample_times(session), [], "rows")


def sampling_runs_inside_scopes_and_phases(place):
    """S2-33, S2-34, S2-53: their union, give or take a period; S2-53: marks in order."""
    _, session, _ = script(place, "rate=20", "init", "sleep:200", "scope:a:200", "sleep:200",
                           "start:p", "thread:b:100", "sleep:100", "stop:p", "sleep:200", "stop:p",
                           "shutdown")
    marks = [(r["type"], r["name"], r["ts_ns"]) for r in collector.records(session, "system")
             if r["type"].startswith("system_")]
    equal([m[:2] for m in marks[:2]], [("system_start", "p"), ("system_stop", "p")], "marks")
    windows = [_scope_times(session, "a"), (marks[0][2], marks[1][2])]
    slack = 60e6 * lib.SLOW
    times = sample_times(session)
    for t in times:
        check(any(a - 1e6 <= t <= b + slack for a, b in windows), f"a sample outside: {t} {windows}")
    for a, b in windows:
        inside = sum(a <= t <= b + slack for t in times)
        check(inside * lib.SLOW >= 5, f"{inside} samples inside")
    kinds = [r["type"] for r in collector.records(session, "system")]
    first, last = kinds.index("system_start"), kinds.index("system_stop")
    check("host_metric_batch" in kinds[first:last], "the marks stand around the samples")


def switched_off_nothing_is_opened(place):
    """S2-40, S2-41, S2-42: by the field, and by the variable against field and file."""
    config = place.path / "config.json"
    config.write_text('{"enabled": true}')
    with sink.Sink() as s:
        env = {**FAKE, "GPUFL_BACKEND_URL": s.url, "GPUFL_API_KEY": lib.KEY}
        words = ("rate=20", "continuous=1", "init", "look", "scope:a:5", "start:a", "stop:a",
                 "upload", "shutdown")
        for more, first in (({}, "enabled=0"), ({"GPUFL_DISABLED": "1"}, "enabled=1"),
                            ({"GPUFL_DISABLED": "yes", "GPUFL_CONFIG_FILE": str(config)},
                             f"config_file={config}")):
            lines, _, done = script(place, first, *words, env={**env, **more})
            equal([w.split()[:2] for w in lines], [["7"], ["1", "0"], ["0", "1"]],
                  f"off, one thread and no GPU library, success {done.stderr}")
            equal(lines[2].split()[2], "0", "events")
            equal(done.returncode, 0, "exit code")
        equal(s.requests, [], "requests")
    equal(list(place.logs.iterdir()), [], "files")


def a_missing_argument_is_an_error_and_no_crash(place):
    lines, _, done = script(place, "nowhere", "init", "nowhere", "shutdown", "nowhere")
    equal((done.returncode, lines[:1] + lines[2:]), (0, ["1 1"] * 3), done.stderr)


def gpufl_disabled_knows_its_words(place):
    """S2-43."""
    for value in ("1", "true", "TRUE", "yes", "Yes", "on", "oN"):
        equal(script(place, "init", env={"GPUFL_DISABLED": value})[0][0].split(), ["7"], value)
    for value in ("0", "false", "no", "off", "", "2"):
        told, _, done = script(place, "init", env={"GPUFL_DISABLED": value})
        equal(told[0].split()[0], "0", value)
        equal("GPUFL_DISABLED=2 ignored: expected true, yes, on or 1" in done.stderr, value == "2", done.stderr)
    config = place.path / "config.json"
    config.write_text('{"enabled": false}')
    for value, status in (("0", "0"), ("off", "0"), ("", "7")):
        told, _, done = script(place, "init", env={"GPUFL_DISABLED": value, "GPUFL_CONFIG_FILE": str(config)})
        equal((told[0].split()[0], done.stderr), (status, ""), f"{value!r} over the file")
    _, _, done = script(place, "init", env={"GPUFL_DEBUG": "maybe"})
    check("GPUFL_DEBUG=maybe ignored: expected true, yes, on or 1, or false" in done.stderr, done.stderr)


def a_configuration_file_in_code_leaves_the_other_unopened(place):
    """S2-46: GPUFL_CONFIG_FILE names a file that would be complained about."""
    config = place.path / "config.json"
    config.write_text('{"system_sample_rate_ms": 20, "continuous_system_sampling": true}')
    _, session, done = script(place, f"config_file={config}", "init", "sleep:100", "shutdown",
                              env={"GPUFL_CONFIG_FILE": "/nonexistent.json"})
    equal(done.stderr, "", "the other is not opened")
    check(sample_times(session), "the field's file is read")


def without_a_backend_no_gpu_library_is_opened(place):
    """S2-55: BackendKind::None; with Auto the same machine has one mapped."""
    for backend, mapped in ((3, "0"), (0, "1")):
        lines, session, _ = script(place, f"backend={backend}", "rate=20", "continuous=1", "init",
                                   *["sleep:50", "look"] * 40, "shutdown", env=FAKE)
        looks = [line.split()[1] for line in lines[1:41]]
        equal((len(looks), looks[-1]), (40, mapped), f"a GPU library is mapped with backend {backend}: {looks}")
        check(LIFECYCLE <= types(session), "a whole session")


def the_defaults_record_the_lifecycle_alone(place):
    """S2-59: Monitor; with a rate device and host rows come, and no kernel, copy or sync."""
    _, session, _ = script(place, "init", "sleep:200", "shutdown", env=FAKE)
    equal(types(session), LIFECYCLE, "records")
    _, session, _ = script(place, "rate=50", "continuous=1", "init", "sleep:200", "shutdown", env=FAKE)
    equal(types(session), LIFECYCLE | {"device_metric_batch", "host_metric_batch", "system_start",
                                       "system_stop"}, "records with a rate")
    equal(types(session, "device"), LIFECYCLE, "of the device channel")


def the_job_opens_no_connection(place):
    """S2-15: url, key and remote_upload set; from init to the end of shutdown."""
    if not shutil.which("strace") or lib.SANITIZER:
        lib.skip("needs strace; a sanitizer makes calls of its own")
    trace = place.path / "strace"
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=connect,sendto,execve,fork,vfork", "-o", trace,
                    lib.BUILD / "tests/e2e/script", f"log_path={place.logs}",
                    "backend_url=http://127.0.0.1:9", "api_key=k", "rate=20", "continuous=1", "init",
                    "scope:a:50", "shutdown"], check=True, capture_output=True,
                   env=lib.environment({"GPUFL_REMOTE_UPLOAD": "1"}))
    calls = [c for c in trace.read_text().splitlines() if "execve" not in c and "AF_NETLINK" not in c
             and "+++" not in c and "NLM_F_REQUEST" not in c]
    equal(calls, [], "connections and processes")


def another_user_ships_from_a_directory_that_it_only_reads(place):
    """D-11: a sidecar: other uid, read-only logs, state elsewhere; SIGTERM drains."""
    if os.getuid() != 0:
        lib.skip("needs root, to be several users")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    state = place.path / "state"
    state.mkdir()
    os.chown(state, 65534, 65534)
    place.path.chmod(0o755)
    place.logs.chmod(0o755)
    process = lib.agent(place, backend.url, f"--state-dir={state}", user=65534, group=65534)
    session = lib.job(place, 0.3)
    until(lambda: backend.export(session.name, "scope"), "it is read")
    process.terminate()
    equal(process.wait(20 * lib.SLOW), 0, process.log.read_text())
    lib.same(backend, session)
    equal({p.stat().st_uid for p in place.logs.rglob("*")}, {0}, "nothing of the agent's in the logs")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
