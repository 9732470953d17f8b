#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make demo: a job records while its uploader and its backend are killed and restarted.

Usage: demo.py BUILD_DIR. With KEEP=1 in the environment the web page stays up at the end.
All output goes to demo-out/, which is deleted first. Exit status: 0 if every line was stored
exactly once, otherwise 1.
"""
import collections
import gzip
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

JOB_S = 15
KILL_AT_S = 4
START_AT_S = 8
SETTLE_S = 20
CHANNELS = ("device", "scope", "system", "sass")
KEY = "gpfl_demo"
HERE = pathlib.Path(__file__).resolve().parent.parent
SAMPLE = "2a50f868-d207-481f-acea-b3c3fe398b6f"


def pick_port(wanted):
    """The wanted port, or any free one if it is taken."""
    for port in (wanted, 0):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return s.getsockname()[1]
            except OSError:
                continue
    raise SystemExit("demo: no free port on 127.0.0.1")


class Demo:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.out = pathlib.Path("demo-out")
        shutil.rmtree(self.out, ignore_errors=True)
        self.logs = self.out / "logs"
        self.h200 = self.out / "h200"
        self.logs.mkdir(parents=True)
        self.h200.mkdir()
        shutil.copytree(HERE / "tests/samples/v13-windows" / SAMPLE, self.h200 / SAMPLE)
        self.url = f"http://127.0.0.1:{pick_port(8765)}"
        self.running = []
        self.history = collections.deque(maxlen=4000)  # (time, lines written by then)
        self.backend = self.agent = None

    def start(self, name, *args):
        log = open(self.out / f"{name}.log", "ab")
        process = subprocess.Popen([self.build / name, *args], stdout=log, stderr=log)
        self.running.append(process)
        return process

    def start_backend(self):
        self.backend = self.start("gpufl-backend", "--listen", self.url[len("http://"):],
                                  "--db", str(self.out / "demo.db"))
        for _ in range(200):
            if self.get("/healthz") is not None:
                return
            if self.backend.poll() is not None:
                break
            time.sleep(0.02)
        raise SystemExit(f"demo: gpufl-backend did not start; see {self.out}/gpufl-backend.log")

    def start_agent(self):
        os.environ["GPUFL_HTTP_TOKEN"] = KEY
        self.agent = self.start("gpufl-agent", f"--folder={self.logs}", f"--host={self.url}")

    def stop_all(self):
        for process in self.running:
            if process.poll() is None:
                process.terminate()
        for process in self.running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=2) as reply:
                return reply.read()
        except (urllib.error.URLError, OSError):
            return None

    def stored(self, session):
        """Number of stored lines of a session; None while the backend is down."""
        body = self.get(f"/api/v1/sessions/{session}")
        if body is None:
            return 0 if self.get("/healthz") is not None else None
        return json.loads(body)["lines"]

    def written(self, session):
        return sum(f.read_bytes().count(b"\n") for f in (self.logs / session).glob("*.log"))

    def latency(self, now, stored):
        """Age of the oldest line that is not stored."""
        while len(self.history) > 1 and self.history[1][1] <= stored:
            self.history.popleft()
        behind = [t for t, written in self.history if written > stored]
        return now - behind[0] if behind else 0.0


def show(text, last=False):
    if sys.stdout.isatty():
        print("\r\033[K" + text, end="\n" if last else "", flush=True)
    else:
        print(text, flush=True)


def follow(demo, job, session):
    """Prints the progress of the job, and kills and restarts the programs on the way."""
    start = time.monotonic()
    events = [(KILL_AT_S, "kill"), (START_AT_S, "start")]
    stored = 0
    next_line = 0.0
    while job.poll() is None or time.monotonic() < start + START_AT_S + 1:
        now = time.monotonic() - start
        if events and now >= events[0][0]:
            kind = events.pop(0)[1]
            if kind == "kill":
                demo.backend.kill()
                demo.agent.send_signal(signal.SIGKILL)
                demo.backend.wait()
                demo.agent.wait()
                show(f"{now:5.1f} s  --- backend and agent killed (kill -9) ---", last=True)
            else:
                demo.start_backend()
                demo.start_agent()
                show(f"{now:5.1f} s  --- both restarted ---", last=True)
        written = demo.written(session)
        demo.history.append((now, written))
        answer = demo.stored(session)
        stored = stored if answer is None else answer
        if sys.stdout.isatty() or now >= next_line:
            next_line = now + 1
            state = "  (backend is down)" if answer is None else ""
            show(f"{now:5.1f} s  written {written:5d}  stored {stored:5d}  backlog "
                 f"{written - stored:4d}  latency {demo.latency(now, stored):4.1f} s{state}")
        time.sleep(0.1)
    show("", last=True)


def wait_complete(demo, session):
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        body = demo.get(f"/api/v1/sessions/{session}")
        if body and json.loads(body)["complete"]:
            return
        time.sleep(0.1)


def on_disk(directory, channel):
    """The bytes of a channel in order: sealed files by number, then the active file."""
    numbered = sorted((int(f.name.split(".")[1]), f)
                      for f in directory.glob(f"{channel}.[0-9]*.log*"))
    data = b""
    for _, f in numbered:
        data += gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes()
    active = directory / f"{channel}.log"
    return data + (active.read_bytes() if active.exists() else b"")


def compare(demo, directory, session, title, totals):
    for channel in CHANNELS:
        written = on_disk(directory, channel)
        if not written:
            continue
        stored = demo.get(f"/api/v1/sessions/{session}/export?channel={channel}") or b""
        want = collections.Counter(written.splitlines())
        have = collections.Counter(stored.splitlines())
        missing = sum((want - have).values())
        twice = sum((have - want).values())
        same = written == stored
        totals["written"] += sum(want.values())
        totals["stored"] += sum(have.values())
        totals["missing"] += missing
        totals["twice"] += twice
        totals["identical"] = totals["identical"] and same
        print(f"  {title:<12} {channel:<8} {sum(want.values()):>8} {sum(have.values()):>8} "
              f"{missing:>8} {twice:>6}  {'yes' if same else 'NO'}")
        title = ""


def main():
    demo = Demo(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    try:
        return run(demo)
    finally:
        demo.stop_all()


def run(demo):
    demo.start_backend()
    demo.start_agent()
    keep = os.environ.get("KEEP") == "1"
    print(f"page: {demo.url}/{'' if keep else ' (while the demo runs)'}    files: {demo.out}/")
    job = subprocess.Popen([demo.build / "examples/demo-job", demo.logs, str(JOB_S)],
                           stdout=subprocess.PIPE, text=True)
    demo.running.append(job)
    session = job.stdout.readline().strip()
    upload = subprocess.run([demo.build / "gpufl", "upload", demo.h200, "--backend-url",
                             demo.url, "--api-key", KEY], check=False)
    follow(demo, job, session)
    wait_complete(demo, session)
    totals = {"written": 0, "stored": 0, "missing": 0, "twice": 0, "identical": True}
    print(f"  {'session':<12} {'channel':<8} {'written':>8} {'stored':>8} {'missing':>8} "
          f"{'twice':>6}  byte-identical")
    compare(demo, demo.logs / session, session, "this job", totals)
    compare(demo, demo.h200 / SAMPLE, SAMPLE, "H200 sample", totals)
    good = (totals["identical"] and totals["missing"] == 0 and totals["twice"] == 0
            and totals["written"] > 0 and upload.returncode == 0 and job.returncode == 0)
    print(f"{totals['written']} written, {totals['stored']} stored, {totals['missing']} missing, "
          f"{totals['twice']} twice, "
          f"{'byte-identical' if totals['identical'] else 'NOT IDENTICAL'}")
    if keep:
        print(f"The page stays up at {demo.url}/ until Ctrl-C.", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass
    else:
        print(f"The files are in {demo.out}/. KEEP=1 make demo keeps the page up.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
