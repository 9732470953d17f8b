#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost per session and per byte from small to large: flat is good.
Usage: bench_scale.py BUILD_DIR; BENCH_SCALE_MIB=2048 (10240 for the whole curve)."""
import os
import shutil

import bench

LARGEST_MIB = int(os.environ.get("BENCH_SCALE_MIB", "2048"))


def main():
    with bench.Place() as place, bench.Sink() as sink:
        for sessions in (1, 10, 100, 1000, 10000):
            tree = place.tree("sessions", "mixed", sessions // 64, sessions)
            run = bench.drain(place, tree, sink)
            bench.say("scale", f"{sessions} sessions", cpu_ms_per_session=round(
                run.cpu_s * 1e3 / sessions, 3), requests=run.sink["requests"], peak_kib=run.peak_kib)
            shutil.rmtree(tree)
        size_mib = 10
        while size_mib <= LARGEST_MIB:
            tree = place.tree("bytes", "mixed", size_mib, 10)
            run = bench.drain(place, tree, sink)
            floor = bench.floor(sink, bench.logs(tree))
            bench.say("scale", f"{size_mib} MiB", cpu_s_per_gib=round(run.cpu_s * 1024 / size_mib, 2),
                      floor_cpu_s_per_gib=round(floor.cpu_s * 1024 / size_mib, 2),
                      peak_kib=run.peak_kib)
            shutil.rmtree(tree)
            size_mib = size_mib * 10 if size_mib < 1000 else size_mib * 2


main()
