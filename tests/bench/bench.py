# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: trees, the sink, one core for the shipper, figures.

Each figure stands beside the floor of the same run, as this machine and this hour have it:
ratios count. The shipper and the floor get core 0, the sink the other one.
"""
import gzip
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release").resolve()
TOOLS = BUILD / "tests/bench"
MIB = 1 << 20
SIZE_MIB = int(os.environ.get("BENCH_MIB", "1024"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
DEVICE_SAMPLE = ROOT / "tests/samples/v13-windows/2a50f868-d207-481f-acea-b3c3fe398b6f/device.1.log.gz"
FRAME_BYTES = MIB  # the agent's --max-batch-bytes
SHIPPER_CORE, SINK_CORE = 0, (os.cpu_count() or 2) - 1
os.sched_setaffinity(0, {SINK_CORE})  # its own looking about must not slow what it measures
UNLIMITED = "--max-requests-per-second=0"


def say(bench, what, **figures):
    print(json.dumps({"bench": bench, "what": what, **figures}), flush=True)


class Place:
    """A scratch directory, and whatever runs in it."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-bench-"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def tree(self, name, kind, size_mib, sessions, template=None):
        directory = self.path / name
        directory.mkdir()
        subprocess.run([TOOLS / "tree", directory, kind, str(size_mib * MIB), str(sessions), "7",
                        *([template] if template else [])], check=True)
        return directory

    def device_tree(self, size_mib, sessions):
        """Of the records of a real session."""
        template = self.path / "device.ndjson"
        template.write_bytes(b"".join(
            line for line in gzip.open(DEVICE_SAMPLE) if b'"shutdown"' not in line[:64]))
        return self.tree("grown", "grown", size_mib, sessions, template)

    def certificate(self):
        names = [self.path / "certificate.pem", self.path / "key.pem"]
        if not names[0].exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                            "-out", names[0], "-keyout", names[1]], check=True, capture_output=True)
        return names


def logs(tree):
    return sorted(tree.glob("*/*.log"))


def size_of(tree):
    return sum(f.stat().st_size for f in logs(tree))


def warm(tree):
    """Into the page cache: the disk is not what is measured."""
    for f in tree.glob("*/*"):
        f.read_bytes() if f.stat().st_size < MIB else subprocess.run(
            ["cat", f], stdout=subprocess.DEVNULL, check=True)


def rest(*trees):
    """A backlog has not changed for a minute: then it is read once, a younger one twice."""
    newest = max(f.stat().st_ctime for tree in trees for f in logs(tree))
    time.sleep(max(0, newest + 62 - time.time()))


class Sink:
    def __init__(self, *options, tls=None):
        command = [TOOLS / "sink", *options, *(["--tls", *tls] if tls else [])]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {SINK_CORE}))
        self.port = int(self.process.stdout.readline())
        self.url = f"https://localhost:{self.port}" if tls else f"http://127.0.0.1:{self.port}"

    def counts(self):
        """Since the last time."""
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Measured:
    """One run of a command to its end: CPU seconds, peak of its memory."""

    def __init__(self, command):
        self.peak_kib = 0
        process = start(command)
        self.start_ns = process.start_ns
        pid = 0
        while not pid:
            time.sleep(0.02)
            # Not wait4's ru_maxrss: that counts this script's own pages before the exec.
            self.peak_kib = max(self.peak_kib, status_kib(process.pid, "VmHWM"))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        process.returncode = status
        if status:
            sys.exit(f"{command[0]}: status {status}: {process.log.read_text()[-2000:]}")


def start(command):
    log = pathlib.Path(tempfile.gettempdir()) / f"gpufl-bench-{os.getpid()}.log"
    reader, writer = os.pipe()

    def last_before_exec():
        os.sched_setaffinity(0, {SHIPPER_CORE})
        os.write(writer, time.monotonic_ns().to_bytes(8, "little"))

    with open(log, "wb") as out:
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out,
                                   preexec_fn=last_before_exec)
    process.start_ns = int.from_bytes(os.read(reader, 8), "little")
    os.close(reader)
    os.close(writer)
    process.log = log
    return process


def agent_command(tree, state, url, *options):
    return [BUILD / "gpufl-agent", f"--folder={tree}", f"--host={url}", f"--state-dir={state}",
            "--token=bench", "--log-level=warn", *options]


def shipped(sink, command):
    """From the start of \p command to the end of its last batch at the sink."""
    sink.counts()
    run = Measured(command)
    run.sink = sink.counts()
    run.ship_s = (run.sink["last_batch_ns"] - run.start_ns) / 1e9
    run.first_byte_ms = (run.sink["first_batch_ns"] - run.start_ns) / 1e6
    return run


def forget(tree):
    """What an uploader left beside the logs, from which the next one would go on."""
    shutil.rmtree(tree / ".gpufl-agent", ignore_errors=True)
    (tree / ".gpufl-upload-cursor.json").unlink(missing_ok=True)


def drain(place, tree, sink, *options):
    """The agent on a tree, from nothing to the end."""
    forget(tree)
    state = pathlib.Path(tempfile.mkdtemp(dir=place.path))
    return shipped(sink, agent_command(tree, state, sink.url, "--exit-when-drained", *options))


def floor(sink, files, level="1"):
    return shipped(sink, [TOOLS / "floor", sink.port, level, FRAME_BYTES, *files])


def median(values):
    return statistics.median(values)


def status_kib(pid, field):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().split(f"{field}:")
    return int(lines[1].split()[0]) if len(lines) > 1 else 0  # it has just ended


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
