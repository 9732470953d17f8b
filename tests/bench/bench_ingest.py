#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend on one core, its registry and export in place, while an agent on the other
sends it a backlog. Usage: bench_ingest.py BUILD_DIR; BENCH_MIB / 4 of records."""
import os
import pathlib
import subprocess
import tempfile
import time

import bench
from bench import MIB, SIZE_MIB


def start_backend(place):
    log = place.path / "backend.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [bench.BUILD / "gpufl-backend", "--listen", "127.0.0.1:0", "--db",
             place.path / "backend.db"], stdout=out, stderr=out,
            preexec_fn=lambda: os.sched_setaffinity(0, {bench.SINK_CORE}))
    while "http://" not in log.read_text():
        time.sleep(0.05)
    return process, "http://" + log.read_text().split("http://")[1].split("/")[0]


def measure(what, place, tree):
    bench.warm(tree)
    raw_mb = bench.size_of(tree) / 1e6
    backend, url = start_backend(place)
    before = bench.cpu_s(backend.pid)
    state = tempfile.mkdtemp(dir=place.path)
    run = bench.Measured(bench.agent_command(tree, state, url, "--exit-when-drained"))
    seconds = (time.monotonic_ns() - run.start_ns) / 1e9
    cpu = bench.cpu_s(backend.pid) - before
    bench.say("ingest", what, raw_mb=round(raw_mb), mb_per_s=round(raw_mb / seconds),
              mb_per_cpu_s=round(raw_mb / cpu), peak_kib=bench.status_kib(backend.pid, "VmHWM"),
              db_mib=round(pathlib.Path(place.path / "backend.db").stat().st_size / MIB))
    backend.terminate()
    backend.wait()
    for file in place.path.glob("backend.*"):
        file.unlink()


def main():
    with bench.Place() as place:
        trees = {"mixed records": place.tree("mixed", "mixed", SIZE_MIB // 4, 10),
                 "real device records": place.device_tree(SIZE_MIB // 4, 10)}
        bench.rest(*trees.values())
        for what, tree in trees.items():
            measure(f"{what}, 10 sessions", place, tree)


if __name__ == "__main__":
    main()
