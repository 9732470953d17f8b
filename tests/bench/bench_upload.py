#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gpufl upload` at a job's end: plain files, and sealed gzip windows that go as they are. The
floor reads and sends the same files. Usage: bench_upload.py BUILD_DIR."""
import shutil
import sys
import tempfile

import bench
from bench import MIB, SIZE_MIB, median

sys.path.insert(0, str(bench.ROOT / "tests/e2e"))
from writers import Windows  # noqa: E402

WINDOW_MIB = 32


def seal(place, tree, logs):
    """The same records as windows of the existing client."""
    bench.forget(tree)
    for session in tree.iterdir():
        windows = Windows(logs, session.name)
        left = b""
        with open(session / "device.log", "rb") as records:
            for block in iter(lambda: records.read(WINDOW_MIB * MIB), b""):
                cut = block.rfind(b"\n") + 1
                windows.raw("device", left + block[:cut])
                left = block[cut:]
                windows.rotate("device")
        windows.end()
    return logs


def measure(what, place, directory, files, sink, raw_bytes, level):
    runs, floors = [], []
    for _ in range(bench.ROUNDS):
        floors.append(bench.floor(sink, files, level))
        bench.forget(directory)
        runs.append(bench.shipped(sink, [
            bench.BUILD / "gpufl", "upload", directory, "--backend-url", sink.url, "--api-key", "bench",
            "--quiet", "--state-dir", tempfile.mkdtemp(dir=place.path)]))
    gib = raw_bytes / (1 << 30)
    bench.say("upload", what, raw_mib=round(raw_bytes / MIB),
              mib_per_s=round(raw_bytes / MIB / median(r.ship_s for r in runs)),
              wall_ratio=round(median(r.ship_s / f.ship_s for r, f in zip(runs, floors)), 2),
              cpu_s_per_raw_gib=round(median(r.cpu_s for r in runs) / gib, 3),
              floor_cpu_s_per_raw_gib=round(median(f.cpu_s for f in floors) / gib, 3),
              peak_kib=max(r.peak_kib for r in runs), requests=runs[0].sink["requests"])


def main():
    with bench.Place() as place, bench.Sink() as sink:
        plain = place.tree("plain", "mixed", SIZE_MIB // 4, 2)
        bench.warm(plain)
        raw_bytes = bench.size_of(plain)
        measure("plain files", place, plain, bench.logs(plain), sink, raw_bytes, "1")
        logs = place.path / "windows"
        logs.mkdir()
        seal(place, plain, logs)
        raw_bytes = sum((s / "device.log").stat().st_size for s in plain.iterdir())
        shutil.rmtree(plain)
        measure(f"sealed gzip windows of {WINDOW_MIB} MiB raw", place, logs,
                sorted(logs.glob("*/*.gz")), sink, raw_bytes, "none")


main()
