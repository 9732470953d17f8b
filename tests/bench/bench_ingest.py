#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend, its registry and export in place: on one core, while an agent on the other
sends it a backlog; then on one and on two, while a page is open and all requests are made
already. Usage: bench_ingest.py BUILD_DIR; BENCH_MIB / 4 of records."""
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import urllib.request

import bench
from bench import MIB, SIZE_MIB


CONNECTIONS = 4


def start_backend(place, cores=(bench.SINK_CORE,)):
    log = place.path / "backend.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            [bench.BUILD / "gpufl-backend", "--listen", "127.0.0.1:0", "--db",
             place.path / "backend.db"], stdout=out, stderr=out,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))
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
    stop_backend(place, backend)


def stop_backend(place, backend):
    backend.terminate()
    backend.wait()
    for file in place.path.glob("backend.*"):
        file.unlink()


def keep_page_open(url):
    """The list of sessions, as the page keeps it."""
    try:
        for event in urllib.request.urlopen(f"{url}/api/v1/changes"):
            if event.startswith(b"data:"):
                begin = time.monotonic()
                urllib.request.urlopen(f"{url}/api/v1/sessions?limit=100").read()
                time.sleep(max(0.25, 4 * (time.monotonic() - begin)))
    except OSError:
        pass  # the backend has ended


def thread_seconds(pid):
    return {t.name: int((t / "schedstat").read_text().split()[0]) / 1e9
            for t in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def exported_cpu(backend, url, sessions):
    before = sum(thread_seconds(backend.pid).values())
    size = 0
    for session in sessions:
        with urllib.request.urlopen(f"{url}/api/v1/sessions/{session.name}/export?channel=device") as lines:
            while piece := lines.read(bench.MIB):
                size += len(piece)
    return size, sum(thread_seconds(backend.pid).values()) - before


def measure_posted(what, place, tree, cores):
    """Its busiest thread is what limits it on as many cores as there are threads."""
    sessions = sorted(d for d in tree.iterdir() if (d / "device.log").exists())
    backend, url = start_backend(place, cores)
    threading.Thread(target=keep_page_open, args=[url], daemon=True).start()
    before = thread_seconds(backend.pid)
    done = subprocess.run([bench.TOOLS / "poster", url.rsplit(":", 1)[1], str(CONNECTIONS), *sessions],
                          stdout=subprocess.PIPE, check=True)
    cpu = [s - before.get(t, 0) for t, s in thread_seconds(backend.pid).items()]
    posted = json.loads(done.stdout)
    raw_mb = posted["raw_bytes"] / 1e6
    size, export_cpu = exported_cpu(backend, url, sessions)
    bench.say("ingest", what, cores=len(cores), raw_mb=round(raw_mb), mb_per_s=round(raw_mb / posted["seconds"]),
              mb_per_cpu_s=round(raw_mb / sum(cpu)), mb_per_s_of_busiest_thread=round(raw_mb / max(cpu)),
              export_mb_per_cpu_s=round(size / 1e6 / export_cpu))
    stop_backend(place, backend)


def main():
    with bench.Place() as place:
        trees = {"mixed records": place.tree("mixed", "mixed", SIZE_MIB // 4, 10),
                 "real device records": place.device_tree(SIZE_MIB // 4, 10)}
        bench.rest(*trees.values())
        for what, tree in trees.items():
            measure(f"{what}, 10 sessions", place, tree)
        for what, tree in trees.items():
            for cores in ((bench.SINK_CORE,), (bench.SHIPPER_CORE, bench.SINK_CORE)):
                measure_posted(f"{what}, posted with a page open", place, tree, cores)


if __name__ == "__main__":
    main()
