# SPDX-License-Identifier: Apache-2.0
"""What gpufl-backend shows of a session, against a computation over the files alone."""
import collections
import gzip
import http.client
import json
import shutil
import sys
import urllib.parse
import uuid

import lib
from lib import check, equal
from test_backend import SESSION, post

COPIES = ("unknown", "host to device", "device to host", "host to array", "array to host",
          "array to array", "array to device", "device to array", "device to device",
          "host to host", "peer to peer")


def _ask(backend, session, part="", **query):
    connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
    connection.request("GET", f"/api/v1/sessions/{session}{part}?{urllib.parse.urlencode(query)}",
                       headers={"Authorization": f"Bearer {lib.KEY}"})
    reply = connection.getresponse()
    data = json.loads(reply.read())
    connection.close()
    return reply.status, data


def _get(backend, session, part, **query):
    status, data = _ask(backend, session, "/" + part, **query)
    equal(status, 200, f"{part}: {data}")
    return data


def _records(session, channel):
    for path in sorted(session.glob(f"{channel}*.log*")):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _rows(session, channel, kind):
    for record in _records(session, channel):
        if record["type"] == kind:
            for row in record["rows"]:
                yield record["base_time_ns"], dict(zip(record["columns"], row))


def _names(session, channel, dictionary):
    found = {}
    for record in _records(session, channel):
        found.update(record.get(dictionary, {}) if record["type"] == "dictionary_update" else {})
    return {int(k): v for k, v in found.items()}


def _real_sessions(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    sessions = lib.copy_samples(place)
    done = lib.upload(place, backend.url, "--all-sessions")
    equal(done.returncode, 0, done.stderr)
    return backend, sessions


def kernels_are_those_of_the_files(place):
    backend, sessions = _real_sessions(place)
    for session in sessions:
        names = _names(session, "device", "kernel_dict")
        durations = collections.defaultdict(list)
        for _, row in _rows(session, "device", "kernel_event_batch"):
            durations[names[row["kernel_id"]]].append(row["duration_ns"])
        check(len(durations) >= 40, f"{len(durations)} kernels in {session.name}")
        shown = _get(backend, session.name, "kernels", limit=1000)
        equal(shown["kernels"], len(durations), "kernels")
        equal(shown["calls"], sum(map(len, durations.values())), "calls")
        total = sum(map(sum, durations.values()))
        equal(shown["total_ns"], total, "total")
        for row in shown["rows"]:
            of = durations.pop(row["name"])
            equal((row["calls"], row["total_ns"], row["min_ns"], row["max_ns"], row["mean_ns"]),
                  (len(of), sum(of), min(of), max(of), sum(of) // len(of)), row["name"])
            check(abs(row["share"] - sum(of) / total) < 1e-5, "share")
        equal(durations, {}, "kernels that are not shown")
        totals = [row["total_ns"] for row in shown["rows"]]
        equal(totals, sorted(totals, reverse=True), "the longest first")
        parts = [row for offset in range(0, 1000, 7)
                 for row in _get(backend, session.name, "kernels", limit=7, offset=offset)["rows"]]
        equal(parts, shown["rows"], "page by page")


def _launches(backend):
    """In bodies of their own, the detail after the rows that name it and the other way round."""
    def rows(*rows):
        return {"version": 1, "type": "kernel_event_batch", "session_id": SESSION, "batch_id": 1, "base_time_ns": 0,
                "columns": ["dt_ns", "kernel_id", "duration_ns", "detail_corr_id"], "rows": rows}

    def detail(number, scope, stack, **more):
        return {"version": 1, "type": "kernel_detail", "session_id": SESSION, "corr_id": number, "user_scope": scope,
                "stack_trace": stack, **more}
    for record in (rows([0, 1, 5, 1], [1, 1, 6, 2], [2, 1, 7, 1]), detail(1, "a", "f|main", per_launch=False),
                   detail(3, "a", "g|main", per_launch=False), rows([3, 2, 100, 3], [4, 2, 1, 4]),
                   detail(2, "a|b", "f|main", per_launch=False), detail(4, "one a launch", "h")):
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        equal(post(backend, line)[0], 200, "stored")


def launches_are_summed_by_scope_and_by_stack(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    _launches(backend)
    shown = _get(backend, SESSION, "launches")
    equal(shown, {"calls": 5, "total_ns": 119, "rows": [
        {"from": "a", "calls": 3, "total_ns": 112, "max_ns": 100, "share": 0.941176},
        {"from": "a|b", "calls": 1, "total_ns": 6, "max_ns": 6, "share": 0.05042},
        {"from": "", "calls": 1, "total_ns": 1, "max_ns": 1, "share": 0.008403}]}, "by scope")
    equal([(r["from"], r["calls"]) for r in _get(backend, SESSION, "launches", by="stack")["rows"]],
          [("g|main", 1), ("f|main", 3), ("", 1)], "by stack")
    equal(len(_get(backend, SESSION, "launches", limit=1, offset=1)["rows"]), 1, "page by page")


def launches_of_a_real_gpu_add_up(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    shutil.copytree(lib.TRACED, place.logs, dirs_exist_ok=True)
    equal(lib.upload(place, backend.url).returncode, 0, "upload")
    stacks = []
    for session in place.logs.glob("[!.]*"):
        durations = [row["duration_ns"] for _, row in _rows(session, "device", "kernel_event_batch")]
        shown = _get(backend, session.name, "launches")
        equal((shown["calls"], shown["total_ns"]), (len(durations), sum(durations)), "all of them")
        if "train_step" in (session / "device.log").read_text():
            stacks += [(r["from"], r["calls"]) for r in _get(backend, session.name, "launches", by="stack")["rows"]]
    equal([sum(calls for stack, calls in stacks if step in stack.split("|")) for step in ("train_step()", "eval_step()")],
          [3, 2], "by the functions that launched")


def memory_is_that_of_the_files(place):
    backend, sessions = _real_sessions(place)
    for session in sessions:
        shown = _get(backend, session.name, "memory")
        copies = collections.defaultdict(lambda: [0, 0, 0])
        for _, row in _rows(session, "device", "memcpy_event_batch"):
            of = copies[COPIES[row["copy_kind"]]]
            of[:] = of[0] + 1, of[1] + row["bytes"], of[2] + row["duration_ns"]
        equal({c["direction"]: [c["count"], c["bytes"], c["total_ns"]] for c in shown["copies"]},
              dict(copies), "copies")
        syncs = [row["duration_ns"] for _, row in _rows(session, "scope", "synchronization_event_batch")]
        equal((sum(s["count"] for s in shown["synchronisation"]),
               sum(s["total_ns"] for s in shown["synchronisation"])), (len(syncs), sum(syncs)), "syncs")
        allocations = [row["bytes"] for _, row in _rows(session, "scope", "memory_alloc_event_batch")]
        equal((sum(a["count"] for a in shown["allocations"]), sum(a["bytes"] for a in shown["allocations"])),
              (len(allocations), sum(allocations)), "allocations")


def hotspots_are_those_of_the_files(place):
    backend, sessions = _real_sessions(place)
    any_sampled = False
    for session in sessions:
        functions = _names(session, "scope", "function_dict")
        reasons = _names(session, "scope", "metric_dict")
        samples = collections.defaultdict(collections.Counter)
        for _, row in _rows(session, "scope", "profile_sample_batch"):
            if row["sample_kind"] == 0:
                samples[functions.get(row["function_id"], "")][
                    reasons.get(row["metric_id"], "")] += row["metric_value"]
        shown = _get(backend, session.name, "hotspots", limit=1000)
        equal({row["function"]: {r["reason"]: r["samples"] for r in row["reasons"]}
               for row in shown["rows"]}, {k: dict(v) for k, v in samples.items()}, "samples")
        equal(shown["samples"], sum(sum(c.values()) for c in samples.values()), "all of them")
        any_sampled = any_sampled or bool(samples)
    check(any_sampled, "no session has samples")


def scopes_are_those_of_the_files(place):
    backend, sessions = _real_sessions(place)
    for session in sessions:
        names = _names(session, "scope", "scope_name_dict")
        begun, expected = {}, []
        for base, row in _rows(session, "scope", "scope_event_batch"):
            at = base + row["dt_ns"]
            if row["event_type"] == 0:
                begun[row["scope_instance_id"]] = at
            else:
                expected.append((names[row["name_id"]], row["depth"],
                                 begun.pop(row["scope_instance_id"]), at))
        shown = _get(backend, session.name, "scopes", points=10000)
        bars = [(shown["names"][str(name)], depth, shown["from_ns"] + begin, shown["from_ns"] + end)
                for name, depth, begin, end in shown["scopes"]]
        equal(sorted(bars), sorted(expected), "scopes")


# ---- series of our own making ----

def _line(kind, base, columns, rows):
    return json.dumps({"version": 1, "type": kind, "session_id": SESSION, "batch_id": 1,
                       "base_time_ns": base, "columns": columns, "rows": rows},
                      separators=(",", ":")).encode() + b"\n"


BASE = 1786200000000000000


def _metrics(backend, samples, devices):
    """samples × devices rows in batches of 10 samples; \\return {device: [(ts, value)]}."""
    values = collections.defaultdict(list)
    body = b""
    for first in range(0, samples, 10):
        rows = []
        for i in range(first, first + 10):
            for device in range(devices):
                value = (i * i * 7 + device * 13) % 101
                rows.append([(i - first) * 100_000_000, device, value, 1000 * value])
                values[device].append((BASE + i * 100_000_000, value))
        body += _line("device_metric_batch", BASE + first * 100_000_000,
                      ["dt_ns", "device_id", "gpu_util", "power_mw"], rows)
    equal(post(backend, body)[0], 200, "stored")
    return values


def metrics_keep_their_peaks_at_any_width(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    values = _metrics(backend, 5000, 8)
    for points in (1, 7, 640, 10000):
        shown = _get(backend, SESSION, "metrics", metric="gpu_util", points=points)
        equal([s["device"] for s in shown["series"]], sorted(values), "devices")
        for series in shown["series"]:
            check(len(series["points"]) <= points, f"{len(series['points'])} of {points}")
            expected = collections.defaultdict(list)
            for ts, value in values[series["device"]]:
                expected[(ts - shown["from_ns"]) // shown["slice_ns"]].append((ts, value))
            equal(series["points"], [
                [of[0][0] - shown["from_ns"], min(v for _, v in of), max(v for _, v in of)]
                for of in expected.values()], f"{points} points")


def zooming_gives_the_samples_themselves(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    values = _metrics(backend, 1000, 2)
    begin, end = BASE + 50_050_000_000, BASE + 52_000_000_000
    shown = _get(backend, SESSION, "metrics", metric="power_mw", from_ns=begin, to_ns=end)
    equal((shown["unit"], shown["from_ns"], shown["to_ns"]), ("W", begin, end), "axis")
    for series in shown["series"]:
        equal([(begin + dt, low, high) for dt, low, high in series["points"]],
              [(ts, v, v) for ts, v in values[series["device"]] if begin <= ts <= end], "samples")
    equal(_get(backend, SESSION, "metrics", metric="cpu_pct_x100")["series"], [], "no host metrics")
    equal(_ask(backend, SESSION, "/metrics", metric="other")[0], 400, "no such metric")
    equal(_ask(backend, "other", "/metrics")[0], 404, "no such session")
    equal(_ask(backend, SESSION, "/other")[0], 404, "no such part")


def many_short_scopes_are_thinned_and_open_ones_shown(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    columns = ["dt_ns", "scope_instance_id", "name_id", "event_type", "depth"]
    rows = [[0, 1, 1, 0, 0]]  # an outer one that never ends
    for i in range(2000):
        rows += [[1000 * i + 1, i + 2, 2, 0, 1], [1000 * i + 2, i + 2, 2, 1, 1]]
    equal(post(backend, _line("scope_event_batch", BASE, columns, rows))[0], 200, "stored")
    shown = _get(backend, SESSION, "scopes", points=100)
    check(len(shown["scopes"]) <= 102, f"{len(shown['scopes'])} bars")
    check([1, 0, 0, None] in shown["scopes"], "the outer one is open")
    part = _get(backend, SESSION, "scopes", from_ns=BASE + 500_000, to_ns=BASE + 510_000)
    equal(len([s for s in part["scopes"] if s[0] == 2]), 10, "each of ten")
    check(any(s[0] == 1 and s[2] < 0 for s in part["scopes"]), "what began before")


def names_are_data(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    hostile = ["<script>alert(1)</script>", "a\"b'c&d", "x" * 10240, "\u202egnp.exe", "line\nbreak", "\u0000"]
    body = _line("kernel_event_batch", BASE, ["dt_ns", "kernel_id", "duration_ns"],
                 [[i, i + 1, 100 - i] for i in range(len(hostile))])
    body += json.dumps({"type": "dictionary_update", "session_id": SESSION, "kernel_dict": {
        str(i + 1): name for i, name in enumerate(hostile)}}, separators=(",", ":")).encode() + b"\n"
    equal(post(backend, body)[0], 200, "stored")
    shown = [row["name"] for row in _get(backend, SESSION, "kernels")["rows"]]
    equal(shown[:-1], hostile[:-1], "names come back as they were")


def bytes_that_are_no_text_leave_the_answers_json(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    bad = b"a\xffb\xc3(\xed\xa0\x80\xf0\x9f\x92\xa9\xe2\x82"
    body = b'{"type":"job_start","session_id":"' + SESSION.encode() + b'","app":"' + bad + b'"}\n'
    body += b'{"type":"dictionary_update","session_id":"' + SESSION.encode() + b'","kernel_dict":{"1":"' + bad + b'"}}\n'
    body += _line("kernel_event_batch", BASE, ["dt_ns", "kernel_id", "duration_ns"], [[0, 1, 5]])
    equal(post(backend, body)[0], 200, "stored")
    shown = "a\ufffdb\ufffd(\ufffd\ufffd\ufffd\U0001f4a9\ufffd\ufffd"
    about = _ask(backend, SESSION)[1]
    equal((about["app"], about["job_start"]["app"]), (shown, shown), "the session")
    equal(_get(backend, SESSION, "kernels")["rows"][0]["name"], shown, "a kernel")


def a_restart_changes_nothing(place):
    backend, sessions = _real_sessions(place)
    parts = ("kernels", "memory", "hotspots", "scopes")
    before = [_get(backend, s.name, part) for s in sessions for part in parts]
    backend.kill()
    backend.start()
    equal([_get(backend, s.name, part) for s in sessions for part in parts], before, "after a kill")
    lib.upload(place, backend.url, "--all-sessions", "--state-dir", place.path / "other")
    equal([_get(backend, s.name, part) for s in sessions for part in parts], before,
          "the same windows again")


SOURCE = ["__global__ void k(float* x)", "{\tx[0] = \"</td>\";", "}"]


def _sampled_lines(backend):
    """PC samples on four lines of two files, one of which the session carries."""
    columns = ["dt_ns", "function_id", "pc_offset", "metric_id", "metric_value", "sample_kind",
               "source_file_id", "source_line"]
    rows = [[0, 1, 16, 1, 5, 0, 1, 2], [0, 1, 32, 1, 7, 0, 1, 3], [0, 1, 48, 2, 4, 0, 1, 2],
            [0, 1, 64, 1, 1, 0, 2, 9], [0, 1, 80, 1, 100, 1, 1, 1], [0, 1, 80, 1, 100, 2, 1, 1],
            [0, 1, 96, 1, 3, 0, 0, 0], [0, 1, 16, 1, 1, 0, 1, 99]]
    body = _line("profile_sample_batch", BASE, columns, rows) + b"".join(
        json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in (
            {"type": "source_file_content", "session_id": SESSION, "source_file_id": 1, "lines": SOURCE},
            {"type": "dictionary_update", "session_id": SESSION,
             "source_file_dict": {"1": "/src/k.cu", "2": "/src/other.cu"}}))
    equal(post(backend, body)[0], 200, "stored")


def lines_of_code_are_hot_beside_their_source(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    _sampled_lines(backend)
    shown = _get(backend, SESSION, "hotlines")
    equal((shown["lines"], shown["samples"]), (4, 18), "all of them")
    equal([(r["file"], r["line"], r["samples"], r["text"]) for r in shown["rows"]],
          [("/src/k.cu", 2, 9, SOURCE[1]), ("/src/k.cu", 3, 7, SOURCE[2]), ("/src/k.cu", 99, 1, None),
           ("/src/other.cu", 9, 1, None)], "lines")
    equal(_get(backend, SESSION, "hotspots")["samples"], 21, "samples with a line and without")


# ---- what is told as it happens ----

def _listen(backend):
    connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
    connection.request("GET", "/api/v1/changes", headers={"Authorization": f"Bearer {lib.KEY}"})
    reply = connection.getresponse()
    reply.connection = connection  # it lives as long as the reply
    return reply


def _event(reply):
    """The next event's lines; not a comment's."""
    lines = []
    while line := reply.readline().decode().rstrip("\n"):
        lines.append(line)
    return _event(reply) if lines == [":"] else lines


def changes_are_told_to_all_who_listen(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    listeners = [_listen(backend) for _ in range(64)]
    equal({reply.status for reply in listeners}, {200}, "64 listen")
    equal(_listen(backend).status, 503, "one more")
    equal([_event(reply) for reply in listeners], [["retry: 2000"]] * 64, "the greeting")
    for n in range(3):
        equal(post(backend, _line("x", BASE + n, ["a"], [[1]]))[0], 200, "stored")
        equal([_event(reply) for reply in listeners], [[f"data: {SESSION}"]] * 64, "each hears of it")
    for reply in listeners[1:]:
        reply.connection.close()
    post(backend, _line("x", BASE + 9, ["a"], [[1]]))  # who is gone is noticed
    equal(_event(listeners[0]), [f"data: {SESSION}"], "the last one")
    again = lib.until(lambda: (lambda r: r if r.status == 200 else None)(_listen(backend)),
                      "places are free again")
    equal(_event(again), ["retry: 2000"], "the greeting")
    backend.process.terminate()
    equal(backend.process.wait(10 * lib.SLOW), 0, "it stops with listeners there")
    try:
        equal(again.read(), b"", "the stream ended")
    except http.client.IncompleteRead:
        pass  # or was cut


def who_does_not_read_stops_nobody(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    _listen(backend)
    deaf = _listen(backend)
    for n in range(2000):
        session = f"{n % 70:08d}-1111-4111-8111-111111111111"
        body = json.dumps({"type": "x", "session_id": session, "n": n}, separators=(",", ":"))
        equal(post(backend, body.encode() + b"\n", session=session)[0], 200, "stored")
    events = [_event(deaf) for _ in range(3)]
    check(events[1][0].startswith("data:"), f"{events}")


def what_is_missing_of_a_channel_is_shown(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    windows = {}
    for sequence in (1, 3, 4, 9):
        body = _line("kernel_event_batch", BASE + sequence, ["dt_ns"], [[0]])
        windows[sequence] = (str(uuid.uuid4()), "device", sequence), body
        equal(post(backend, body, window=windows[sequence][0])[0], 200, "stored")
    for _ in range(3):
        equal(post(backend, windows[3][1], window=windows[3][0])[0], 200, "again")
    shown = _get(backend, SESSION, "delivery")
    equal(shown["channels"], [{"channel": "device", "gaps": [[2, 2], [5, 8]], "bodies": 4, "lines": 4,
                               "first_sequence": 1, "last_sequence": 9, "missing": 5}], "channels")
    equal(sum(entry["bodies"] for entry in shown["latency"]), 4, "latencies")
    about = _ask(backend, SESSION)[1]
    equal((about["duplicates"], about["missing"]), (3, 5), "what came again, and what did not")
    equal([(c["bodies"], c["first_sequence"], c["last_sequence"]) for c in about["channels"]], [(4, 1, 9)],
          "channels")
    body = _line("kernel_event_batch", BASE, ["dt_ns"], [[0]])
    equal(post(backend, body, window=(str(uuid.uuid4()), "device", 2))[0], 200, "one of them")
    equal(post(backend, body)[0], 200, "one without a number")
    equal(_ask(backend, SESSION)[1]["missing"], 4, "four are left")


def a_session_tells_of_itself(place):
    backend, sessions = _real_sessions(place)
    for session in sessions:
        status, shown = _ask(backend, session.name)
        equal(status, 200, "the session")
        for kind in ("job_start", "capture_capabilities"):
            equal(shown[kind], next(r for r in _records(session, "device") if r["type"] == kind), kind)
        equal(shown["metrics"], [], "they have no metrics")
    _metrics(backend, 10, 1)
    shown = _ask(backend, SESSION)[1]
    equal({m["metric"] for m in shown["metrics"]}, {"gpu_util", "power_mw"}, "metrics")
    equal((shown["from_ns"], shown["to_ns"]), (BASE, BASE + 900_000_000), "its time")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
