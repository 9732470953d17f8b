#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From exec to the first byte of the first batch, beside a bare program with libcurl (first.c) that reads, compresses
and posts the same MiB, in turns. Usage: bench_start.py BUILD_DIR; BENCH_START_ROUNDS=30."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import bench
from bench import median

ROUNDS = int(os.environ.get("BENCH_START_ROUNDS", "30"))
TRUST = pathlib.Path("/etc/ssl/certs")


def with_mounts_of_its_own():
    """Runs this again where it may mount, if it may: then the system can trust the sink."""
    if "BENCH_MOUNTS" not in os.environ:
        may = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
        os.environ["BENCH_MOUNTS"] = "1" if may else ""
        if may:
            os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    return bool(os.environ["BENCH_MOUNTS"])


def trust(place, certificate):
    """Adds one to those of the system, by name and in the file of all, as far as this program sees."""
    own = place.path / "certs"
    shutil.copytree(TRUST, own, symlinks=True)
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", certificate], capture_output=True, text=True,
                            check=True).stdout.strip()
    shutil.copy(certificate, own / f"{digest}.0")
    everything = own / "ca-certificates.crt"
    text = everything.read_bytes() + certificate.read_bytes()
    everything.unlink()
    everything.write_bytes(text)
    subprocess.run(["mount", "--bind", own, TRUST], check=True)


def first_byte_ms(sink, command):
    """What comes behind it is of no interest: a thousand sessions take a minute."""
    sink.counts()
    process = bench.start(command)
    first_ns = 0
    while not first_ns:
        time.sleep(0.02)
        first_ns = sink.counts()["first_batch_ns"]
    process.kill()
    process.wait()
    return (first_ns - process.start_ns) / 1e6


def report(what, sink, tree, command, *certificates):
    runs, floors = [], []
    largest = max(bench.logs(tree), key=lambda f: f.stat().st_size)
    for _ in range(ROUNDS):
        floors.append(first_byte_ms(sink, [bench.TOOLS / "first", sink.url, largest, *certificates]))
        bench.forget(tree)
        runs.append(first_byte_ms(sink, command()))
    bench.say("start", what, first_byte_ms=round(median(runs), 1), floor_first_byte_ms=round(median(floors), 1),
              ratio=round(median(a / b for a, b in zip(runs, floors)), 2))


def agent(place, tree, sink, *options):
    """Each one begins without state."""
    return lambda: bench.agent_command(tree, tempfile.mkdtemp(dir=place.path), sink.url, *options)


def upload(tree, sink):
    return lambda: [bench.BUILD / "gpufl", "upload", tree, "--backend-url", sink.url, "--api-key", "bench"]


def main():
    may_mount = with_mounts_of_its_own()
    os.environ.pop("SSL_CERT_FILE", None)
    with bench.Place() as place:
        trees = {n: place.tree(f"start-{n}", "mixed", 4, n) for n in (1, 1000)}
        one = trees[1]
        with bench.Sink() as sink:
            for n, what in ((1, "1 session directory"), (1000, "1,000 session directories")):
                bench.warm(trees[n])
                report(what, sink, trees[n], agent(place, trees[n], sink))
            report("gpufl upload, 1 session directory", sink, one, upload(one, sink))
        own = place.certificate()[0]
        with bench.Sink(tls=place.certificate()) as sink:
            report("1 session directory, TLS, a file of one certificate", sink, one,
                   agent(place, one, sink, f"--ca-file={own}"), own)
            if may_mount and TRUST.is_dir():
                trust(place, own)
                report("1 session directory, TLS, the system's certificates", sink, one,
                       agent(place, one, sink))


main()
