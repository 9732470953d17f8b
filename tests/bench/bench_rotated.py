#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotated, compressed files of the 1.1 layout: one session of many files, and more files at once
than are kept open. Beside them stand zlib alone, and the bare loop that inflates, cuts, compresses
and sends the same files. Usage: bench_rotated.py BUILD_DIR; BENCH_MIB / 4 of records."""
import gzip
import shutil
import time
import zlib

import bench
from bench import MIB, SIZE_MIB, UNLIMITED, median

FILE_MIB = 64


def blocks(path):
    """Whole lines, a file's worth of them."""
    left = b""
    with open(path, "rb") as records:
        for block in iter(lambda: records.read(FILE_MIB * MIB), b""):
            cut = block.rfind(b"\n") + 1
            yield left + block[:cut]
            left = block[cut:]


def rotate(tree):
    """The channels of an ended job: 1 is the newest. Without a manifest, they are of the 1.1 layout."""
    for log in bench.logs(tree):
        parts = list(blocks(log))
        for number, part in enumerate(reversed(parts)):
            name = f"{log.stem}.{number}.log.gz" if number else f"{log.stem}.log.gz"
            (log.parent / name).write_bytes(gzip.compress(part, mtime=0))
        log.unlink()
    for other in tree.glob("*/.gpufl-*"):
        other.unlink()


def inflate_s(files):
    """zlib alone, on the core of the shipper's measurements."""
    start = time.process_time()
    for path in files:
        inflater = zlib.decompressobj(31)
        with open(path, "rb") as packed:
            for block in iter(lambda: packed.read(256 << 10), b""):
                inflater.decompress(block)
    return time.process_time() - start


def measure(what, place, tree, sink):
    raw_mib = bench.size_of(tree) / MIB
    rotate(tree)
    files = sorted(tree.glob("*/*.gz"))
    bench.warm(tree)
    agents, floors, inflates = [], [], []
    for _ in range(bench.ROUNDS):
        inflates.append(inflate_s(files))
        floors.append(bench.floor(sink, files))
        agents.append(bench.drain(place, tree, sink, UNLIMITED))
        for mark in tree.glob("*/.uploaded"):
            mark.unlink()
    bench.say("rotated", what, raw_mib=round(raw_mib),
              mib_per_s=round(raw_mib / median(a.ship_s for a in agents)),
              mib_per_cpu_s=round(raw_mib / median(a.cpu_s for a in agents)),
              zlib_mib_per_s=round(raw_mib / median(inflates)),
              floor_mib_per_s=round(raw_mib / median(f.ship_s for f in floors)),
              cpu_ratio=round(median(a.cpu_s / f.cpu_s for a, f in zip(agents, floors)), 2),
              peak_kib=max(a.peak_kib for a in agents), requests=agents[0].sink["requests"])
    shutil.rmtree(tree)


def main():
    with bench.Place() as place, bench.Sink() as sink:
        for sessions in (1, 20):
            tree = place.tree(f"rotated-{sessions}", "mixed", SIZE_MIB // 4, sessions)
            measure(f"compressed files of {FILE_MIB} MiB raw at most, {sessions} sessions", place, tree, sink)


main()
