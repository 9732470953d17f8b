#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From the write of a line to its arrival, with jobs that record now, at several settings.
Usage: bench_live.py BUILD_DIR; BENCH_LIVE_S=15."""
import json
import os
import subprocess
import tempfile
import time

import bench
from bench import UNLIMITED

SECONDS = int(os.environ.get("BENCH_LIVE_S", "15"))
TEN = ("10", "10", "10", "8")        # 10 sessions, each 10 lines of about 500 bytes every 10 ms
THOUSAND = ("1000", "1000", "1", "8")  # 1,000 sessions, each a line a second


def writer(directory, shape):
    process = subprocess.Popen(
        [bench.TOOLS / "writer", directory, *shape, str(SECONDS)], stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {bench.SINK_CORE}))
    process.stdout.readline()
    return process


def in_large_frames(directory):
    """The bare loop over the same lines, in frames of 1 MiB, for comparison."""
    with bench.Sink() as sink:
        return bench.floor(sink, bench.logs(directory))


def live(what, shape, *options):
    with bench.Place() as place, bench.Sink("--latency") as sink:
        directory = place.path / "live"
        directory.mkdir()
        state = tempfile.mkdtemp(dir=place.path)
        job = writer(directory, shape)
        agent = bench.start(bench.agent_command(directory, state, sink.url, *options))
        time.sleep(2)  # the start is another benchmark's
        sink.counts()
        cpu, begin = bench.cpu_s(agent.pid), time.monotonic()
        wrote = json.loads(job.stdout.readline())
        cpu, seconds = bench.cpu_s(agent.pid) - cpu, time.monotonic() - begin
        counts = sink.counts()
        peak = bench.status_kib(agent.pid, "VmHWM")
        anonymous = bench.status_kib(agent.pid, "RssAnon")
        agent.terminate()
        agent.wait()
        job.wait()
        floor = in_large_frames(directory)
        share = counts["raw_bytes"] / wrote["bytes"] / seconds  # of what the floor did, a second
        bench.say("live", what, p50_ms=counts["p50_ms"], p99_ms=counts["p99_ms"],
                  max_ms=counts["max_ms"], cpu_percent=round(100 * cpu / seconds, 2),
                  floor_cpu_percent=round(100 * floor.cpu_s * share, 2),
                  requests_per_s=round(counts["requests"] / seconds, 1),
                  raw_mb_per_s=round(counts["raw_bytes"] / seconds / 1e6, 2),
                  wire_kb_per_s=round(counts["wire_bytes"] / seconds / 1e3, 1),
                  wire_kb_per_s_in_1_mib_frames=round(floor.sink["wire_bytes"] * share / 1e3, 1),
                  peak_kib=peak, anonymous_kib=anonymous)


live("5 MB/s, 10 sessions, default settings", TEN)
live("5 MB/s, 10 sessions, --flush-interval=50ms, no limit", TEN, "--flush-interval=50ms", UNLIMITED)
live("5 MB/s, 10 sessions, --flush-interval=0, no limit", TEN, "--flush-interval=0", UNLIMITED)
live("1,000 sessions, a line a second each, default settings", THOUSAND)
