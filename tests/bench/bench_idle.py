#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an agent costs that has nothing to do. Usage: bench_idle.py BUILD_DIR; BENCH_IDLE_S=20."""
import os
import pathlib
import subprocess
import tempfile
import time

import bench

SECONDS = int(os.environ.get("BENCH_IDLE_S", "20"))


def tasks(pid):
    return pathlib.Path(f"/proc/{pid}/task").glob("*")


def cpu_ns(pid):
    return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks(pid))


def wake_ups(pid):
    return sum(int((t / "status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
               for t in tasks(pid))


def measure(what, place, directory, sink, enough):
    agent = bench.start(bench.agent_command(directory, tempfile.mkdtemp(dir=place.path), sink.url))
    seen, quiet = 0, 0
    while seen < enough or quiet < 3:
        time.sleep(1)
        new = sink.counts()["requests"]
        seen, quiet = seen + new, 0 if new else quiet + 1
    cpu, wakes = cpu_ns(agent.pid), wake_ups(agent.pid)
    time.sleep(SECONDS)
    cpu, wakes = cpu_ns(agent.pid) - cpu, wake_ups(agent.pid) - wakes
    bench.say("idle", what, cpu_percent=round(cpu / SECONDS / 1e7, 3),
              wake_ups_per_s=round(wakes / SECONDS, 2),
              requests=sink.counts()["requests"], peak_kib=bench.status_kib(agent.pid, "VmHWM"),
              anonymous_kib=bench.status_kib(agent.pid, "RssAnon"))
    agent.terminate()
    agent.wait()


def main():
    with bench.Place() as place, bench.Sink() as sink:
        live = place.path / "live"
        live.mkdir()
        # The next line comes in an hour: until then each only holds its lock.
        job = subprocess.Popen([bench.TOOLS / "writer", live, "1000", "3600000000", "1", "1", "7200"],
                               stdout=subprocess.PIPE, text=True)
        job.stdout.readline()
        for session in live.iterdir():
            with open(session / "system.log", "a", encoding="ascii") as log:
                log.write('{"type":"x"}\n')
        measure("1,000 live sessions", place, live, sink, 1000)
        job.kill()
        job.wait()
        settled = place.tree("settled", "mixed", 0, 10000)
        measure("10,000 settled sessions", place, settled, sink, 10000)


main()
