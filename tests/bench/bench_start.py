#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From exec to the first byte of the first batch, beside what loading the libraries takes.
Usage: bench_start.py BUILD_DIR."""
import time

import bench
from bench import median


def load_ms():
    """From exec to the end of a run that only says its version."""
    process = bench.start([bench.BUILD / "gpufl-agent", "--version"])
    process.wait()
    return (time.monotonic_ns() - process.start_ns) / 1e6


def main():
    with bench.Place() as place, bench.Sink() as sink:
        for sessions in (1, 1000):
            tree = place.tree(f"start-{sessions}", "mixed", 4, sessions)
            bench.warm(tree)
            runs = [bench.drain(place, tree, sink) for _ in range(bench.ROUNDS)]
            floors = [bench.floor(sink, bench.logs(tree)) for _ in range(bench.ROUNDS)]
            loads = [load_ms() for _ in range(bench.ROUNDS)]
            bench.say("start", f"{sessions} session directories",
                      first_byte_ms=round(median(r.first_byte_ms for r in runs), 1),
                      load_ms=round(median(loads), 1),
                      floor_first_byte_ms=round(median(f.first_byte_ms for f in floors), 1))


main()
