#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the page's questions take: a session of 10 million kernel rows, one of four hours of
metrics at 100 ms on 8 GPUs, one of a million scopes; and ingest with pages open. Usage:
bench_page.py BUILD_DIR; BENCH_PAGE_ROWS=10000000."""
import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

import bench
from bench import MIB, SIZE_MIB
from bench_ingest import start_backend

ROWS = int(os.environ.get("BENCH_PAGE_ROWS", "10000000"))
BASE = 1786200000000000000
SESSION = "{:08d}-1111-4111-8111-111111111111"


def batch(session, kind, base, columns, rows):
    head = json.dumps({"version": 1, "type": kind, "session_id": session, "batch_id": 1,
                       "base_time_ns": base, "columns": columns}, separators=(",", ":"))
    return f'{head[:-1]},"rows":[{",".join(rows)}]}}\n'


def post(connection, session, body):
    connection.request("POST", "/api/v1/events/stream", body.encode(),
                       {"X-GpuFlight-Session-Id": session})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    reply.read()


def kernels(connection, session):
    for first in range(0, ROWS, 20480):
        body = "".join(
            batch(session, "kernel_event_batch", BASE + at * 10000,
                  ["dt_ns", "kernel_id", "stream_id", "duration_ns", "corr_id"],
                  [f"[{i * 10000},{(at + i) % 500 + 1},7,{1000 + (at + i) % 977},{at + i}]"
                   for i in range(2048)])
            for at in range(first, min(first + 20480, ROWS), 2048))
        post(connection, session, body)


def metrics(connection, session):
    columns = ["dt_ns", "device_id", "gpu_util", "mem_util", "temp_c", "power_mw", "used_mib", "total_mib",
               "clock_sm"]
    for minute in range(240):
        body = "".join(
            batch(session, "device_metric_batch", BASE + at * 100_000_000, columns,
                  [f"[{i * 100_000_000},{d},{(at * 7 + i + d) % 101},40,60,{300000 + at % 9999},70000,141000,1980]"
                   for i in range(10) for d in range(8)])
            for at in range(minute * 600, minute * 600 + 600, 10))
        post(connection, session, body)


def scopes(connection, session):
    columns = ["dt_ns", "scope_instance_id", "name_id", "event_type", "depth"]
    for first in range(0, ROWS // 10, 10240):
        body = "".join(
            batch(session, "scope_event_batch", BASE + at * 100000, columns,
                  [f"[{i * 100000 + e * 40000},{at + i + 1},{i % 9 + 1},{e},1]" for i in range(1024) for e in (0, 1)])
            for at in range(first, first + 10240, 1024))
        post(connection, session, body)


def ask(connection, path):
    times = []
    for _ in range(3):
        begin = time.monotonic()
        connection.request("GET", "/api/v1/" + path)
        data = connection.getresponse().read()
        times.append(time.monotonic() - begin)
    return round(sorted(times)[1] * 1e3, 1), len(data)


def listen(url, count):
    """Pages that read each event, and ask for the session's figures once a second."""
    def page():
        events = http.client.HTTPConnection(url)
        events.request("GET", "/api/v1/changes")
        reply = events.getresponse()
        asks = http.client.HTTPConnection(url)
        last = 0
        try:
            while line := reply.readline():
                if line.startswith(b"data: ") and time.monotonic() - last > 1:
                    last = time.monotonic()
                    session = line[6:].decode().strip()
                    for part in ("", "/kernels", "/memory", "/hotspots", "/delivery", "/scopes", "/metrics"):
                        asks.request("GET", f"/api/v1/sessions/{session}{part}")
                        asks.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass
    for _ in range(count):
        threading.Thread(target=page, daemon=True).start()


def with_pages_open(place, tree, pages):
    raw_mb = bench.size_of(tree) / 1e6
    with bench.Place() as own:
        backend, url = start_backend(own)
        listen(url.removeprefix("http://"), pages)
        state = tempfile.mkdtemp(dir=own.path)
        run = bench.Measured(bench.agent_command(tree, state, url, "--exit-when-drained"))
        seconds = (time.monotonic_ns() - run.start_ns) / 1e9
        bench.say("page", f"ingest with {pages} pages open", raw_mb=round(raw_mb),
                  mb_per_s=round(raw_mb / seconds), peak_kib=bench.status_kib(backend.pid, "VmHWM"))
        backend.terminate()
        backend.wait()
        subprocess.run(["rm", "-rf", pathlib.Path(tree) / ".gpufl-agent"], check=True)


def main():
    with bench.Place() as place:
        backend, url = start_backend(place)
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        for number, (what, fill, parts) in enumerate((
                (f"{ROWS} kernel rows", kernels, ("", "/kernels", "/delivery")),
                ("4 h of metrics, 8 GPUs", metrics, (
                    "", "/metrics?points=1200", f"/metrics?points=1200&from_ns={BASE + 3600 * 10**9}"
                    f"&to_ns={BASE + 4200 * 10**9}")),
                (f"{ROWS // 10} scopes", scopes, ("", "/scopes?points=1200")))):
            session = SESSION.format(number)
            fill(connection, session)
            for part in parts:
                ms, size = ask(connection, f"sessions/{session}{part}")
                bench.say("page", f"{what}: {part or 'session'}", ms=ms, answer_bytes=size)
        ms, size = ask(connection, "sessions")
        bench.say("page", "sessions", ms=ms, answer_bytes=size,
                  peak_kib=bench.status_kib(backend.pid, "VmHWM"),
                  db_mib=round((place.path / "backend.db").stat().st_size / MIB))
        backend.terminate()
        backend.wait()
        tree = place.tree("mixed", "mixed", SIZE_MIB // 4, 10)
        bench.warm(tree)
        for pages in (0, 1, 8):
            with_pages_open(place, tree, pages)


main()
