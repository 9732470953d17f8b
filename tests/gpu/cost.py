# SPDX-License-Identifier: Apache-2.0
"""What device sampling costs on a real GPU, a thread: CPU in % of a core at several rates.
Usage: cost.py BUILD_DIR."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1])
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SECONDS = 4


def cpu_s(pid):
    """CPU seconds of each thread: {tid: (name, seconds)}."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "stat").read_text()
        after = text[text.rindex(")") + 2:].split()
        found[task.name] = (text[text.index("(") + 1:text.rindex(")")],
                            (int(after[11]) + int(after[12])) * TICK_S)
    return found


for rate_ms in (20, 100, 1000):
    with tempfile.TemporaryDirectory() as logs:
        job = subprocess.Popen([BUILD / "tests/gpu/sampled", logs, str(rate_ms), str(SECONDS + 2)],
                               stdout=subprocess.PIPE, text=True)
        job.stdout.readline()
        time.sleep(1)
        before, at = cpu_s(job.pid), time.monotonic()
        time.sleep(SECONDS)
        after, span = cpu_s(job.pid), time.monotonic() - at
        job.wait()
        print(f"{rate_ms} ms: " + ", ".join(
            f"{name} {100 * (cpu - before.get(tid, (name, 0))[1]) / span:.1f} %"
            for tid, (name, cpu) in after.items()), flush=True)
