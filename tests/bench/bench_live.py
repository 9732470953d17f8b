#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the write of a line to its storage: 10 live sessions, a line every 100 ms each, default
settings. The floor is the same line posted by itself. Usage: bench_live.py BUILD_DIR"""
import fcntl
import json
import os
import pathlib
import statistics
import sys
import time
import urllib.request
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import lib  # noqa: E402  (lib reads the build directory from argv)
import sink  # noqa: E402

SESSIONS = 10
SECONDS = 8


class Writer:
    def __init__(self, root):
        self.id = str(uuid.uuid4())
        self.dir = root / self.id
        self.dir.mkdir()
        (self.dir / ".gpufl-session.json").write_text(json.dumps(
            {"schema_version": 1, "layout": "live", "session_id": self.id, "pid": os.getpid(),
             "boot_id": "x"}))
        self.lock = open(self.dir / ".gpufl-session.lock", "w")
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        self.file = open(self.dir / "system.log", "ab", buffering=0)

    def write(self):
        self.file.write(b'{"type":"host_metric_batch","session_id":"%s","t":%d}\n'
                        % (self.id.encode(), time.monotonic_ns()))


def percentiles(values):
    values = sorted(values)
    return {"p50_ms": round(statistics.median(values), 1),
            "p99_ms": round(values[int(len(values) * 0.99)], 1), "max_ms": round(values[-1], 1)}


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    arrived = []

    def note(_, request):
        now = time.monotonic_ns()
        if request.is_batch:
            arrived.extend((now - json.loads(line)["t"]) / 1e6
                           for line in request.raw().splitlines())

    with lib.a_place() as place, sink.Sink(note, declare=True) as s:
        for _ in range(50):
            request = urllib.request.Request(s.url + "/api/v1/events/stream", data=(
                b'{"type":"x","session_id":"s","t":%d}\n' % time.monotonic_ns()))
            urllib.request.urlopen(request).read()
        print(json.dumps({"bench": "live", "what": "floor: one line a request, by itself",
                          **percentiles(arrived)}))
        arrived.clear()
        writers = [Writer(place.logs) for _ in range(SESSIONS)]
        process = lib.agent(place, s.url)
        lib.until(lambda: any(r.path.endswith("version") for r in s.requests), "it is up")
        before, requests, begin = cpu_s(process.pid), len(s.requests), time.monotonic()
        while time.monotonic() < begin + SECONDS:
            for w in writers:
                w.write()
            time.sleep(0.1)
        written = time.monotonic() - begin
        lib.until(lambda: len(arrived) >= SESSIONS * int(written * 9), "all lines")
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        print(json.dumps({
            "bench": "live", "what": "agent, default settings", **percentiles(arrived),
            "cpu_percent": round(100 * (cpu_s(process.pid) - before) / written, 2),
            "requests_per_s": round((len(s.requests) - requests) / written, 1),
            "vm_hwm_kib": int(status.split("VmHWM:")[1].split()[0])}))


main()
