# SPDX-License-Identifier: Apache-2.0
"""Writers of the existing clients' layouts, as far as an uploader can tell: 1.1 and 1.3."""
import contextlib
import fcntl
import gzip
import json
import os
import pathlib
import subprocess
import time
import uuid
import zlib

from checksum import crc32c

SHIFTING_ID = "33333333-3333-4333-8333-333333333333"
KEPT = 100


def start_ticks(pid):
    """When a process began, see proc_pid_stat(5)."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


class Writer:
    """Lines, and what the backend must hold of them in the end."""

    separators = (",", ":")

    def line(self, channel, kind="x", times=1, **more):
        """Written at once, so that an uploader sees all of them or none."""
        written = self.written.setdefault(channel, bytearray())
        record = {"type": kind, "session_id": self.id, "channel": channel, "n": len(written), **more}
        self.raw(channel, (json.dumps(record, separators=self.separators).encode() + b"\n") * times)

    def raw(self, channel, data):
        with open(self.active(channel), "ab") as file:
            file.write(data)
        self.written.setdefault(channel, bytearray()).extend(data)


class Shifting(Writer):
    """1.1: numbers shift up, 1 is the newest, 101 is deleted."""

    channels = ("device", "scope", "system")

    def __init__(self, logs, session=SHIFTING_ID, compress=True):
        self.id = session
        self.dir = logs / session
        self.dir.mkdir()
        self.compress = compress
        self.rotations = 0
        self.written = {}
        for channel in self.channels:
            self.line(channel, "job_start")

    def active(self, channel):
        return self.dir / f"{channel}.log"

    def _squeeze(self, plain):
        with open(plain, "rb") as raw, gzip.open(f"{plain}.gz", "wb") as packed:
            packed.write(raw.read())
        plain.unlink()

    def rotate(self, channel):
        self.rotations += 1
        for suffix in ("", ".gz"):
            (self.dir / f"{channel}.{KEPT}.log{suffix}").unlink(missing_ok=True)
        for n in range(KEPT - 1, 0, -1):
            for suffix in (".gz", ""):
                old = self.dir / f"{channel}.{n}.log{suffix}"
                if old.exists():
                    old.rename(self.dir / f"{channel}.{n + 1}.log{suffix}")
                    break
        first = self.dir / f"{channel}.1.log"
        (self.dir / f"{channel}.log").rename(first)
        if self.compress:
            self._squeeze(first)

    def end(self):
        for channel in self.channels:
            self.line(channel, "shutdown")
            if self.compress:
                self._squeeze(self.dir / f"{channel}.log")


class Windows(Writer):
    """1.3: written in `.tmp`, published whole with a sidecar, 1 is the oldest."""

    channels = ("device", "scope", "system", "sass")

    def __init__(self, logs, session=None):
        self.id = session or str(uuid.uuid4())
        self.dir = logs / self.id
        self.tmp = self.dir / ".tmp"
        self.tmp.mkdir(parents=True)
        self.lock = os.open(self.dir / ".gpufl-session.lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        self.written = {}
        self.next = dict.fromkeys(self.channels, 1)
        for channel in self.channels:
            self.line(channel, "job_start")

    def active(self, channel):
        return self.tmp / f"{channel}.log"

    def retire(self, channel):
        """… to a raw window in `.tmp`; its number."""
        n = self.next[channel]
        self.next[channel] += 1
        (self.tmp / f"{channel}.log").rename(self.tmp / f"{channel}.{n}.log")
        return n

    def squeeze(self, channel, n, keep_raw=False):
        raw = self.tmp / f"{channel}.{n}.log"
        (self.tmp / f"{channel}.{n}.log.gz").write_bytes(gzip.compress(raw.read_bytes(), mtime=0))
        if not keep_raw:
            raw.unlink()

    def sidecar(self, channel, n):
        name = f"{channel}.{n}.log.gz"
        data = (self.tmp / name).read_bytes()
        text = json.dumps({
            "schema_version": 1, "type": "transport_window", "window_id": str(uuid.uuid4()),
            "session_id": self.id, "channel": channel, "window_sequence": n,
            "opened_mono_ms": 1, "closed_mono_ms": 2, "created_wall_ms": 3,
            "payload_file": name, "payload_bytes": len(data),
            "payload_crc32": zlib.crc32(data)}, separators=(",", ":")) + "\n"
        staged = self.dir / f".gpufl-window.{channel}.{n}.json.part.0"
        staged.write_text(text)
        staged.rename(self.dir / f".gpufl-window.{channel}.{n}.json")

    def publish(self, channel, n):
        name = f"{channel}.{n}.log.gz"
        (self.tmp / name).rename(self.dir / name)

    def rotate(self, channel):
        n = self.retire(channel)
        self.squeeze(channel, n)
        self.sidecar(channel, n)
        self.publish(channel, n)

    def die(self):
        os.close(self.lock)

    def end(self):
        for channel in self.channels:
            self.line(channel, "shutdown")
            self.rotate(channel)
        self.tmp.rmdir()
        self.die()


def crashed_windows(logs, lines=50):
    """A session with every stage of publishing in it, and its writer dead."""
    writer = Windows(logs)
    for _ in range(lines):
        for channel in writer.channels[:3]:
            writer.line(channel)
    writer.rotate("device")
    writer.line("device")
    n = writer.retire("device")  # raw, and its compression was half done
    (writer.tmp / f"device.{n}.log.gz.part").write_bytes(b"\x1f\x8b half")
    writer.line("device")
    writer.retire("device")      # raw
    writer.line("device")        # active
    n = writer.retire("scope")
    writer.squeeze("scope", n, keep_raw=True)  # raw and compressed
    writer.line("scope")
    n = writer.retire("scope")
    writer.squeeze("scope", n)
    writer.sidecar("scope", n)   # died between sidecar and payload
    n = writer.retire("system")
    writer.squeeze("system", n, keep_raw=True)
    gz = writer.tmp / f"system.{n}.log.gz"
    gz.write_bytes(gz.read_bytes()[:-9])  # damaged, but its raw is there
    writer.line("system")
    (writer.tmp / "sass.log").write_bytes(b"")
    writer.written["sass"] = bytearray()
    writer.die()
    return writer


def end_job_of(directory):
    """The job of a copy of a live session is gone, of which this process is the writer."""
    path = directory / ".gpufl-session.json"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        gone = {"pid": process.pid, "pid_start_ticks": start_ticks(process.pid)}
    path.write_text(json.dumps({**json.loads(path.read_text()), **gone}) + "\n")


class Live(Writer):
    """libgpufl's own: an active file a channel, sealed under rising numbers, a lock."""

    channels = ("device", "scope", "system")

    def __init__(self, logs, session=None):
        self.id = session or str(uuid.uuid4())
        self.dir = logs / self.id
        staged = logs / f".new-{self.id}"
        staged.mkdir()
        self.lock = os.open(staged / ".gpufl-session.lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        self.boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        for channel in self.channels:
            (staged / f"{channel}.log").touch()
        (staged / ".gpufl-session.json").write_text(json.dumps(self.manifest(), separators=(",", ":")) + "\n")
        staged.rename(self.dir)
        self.written = {}
        self.next = dict.fromkeys(self.channels, 1)
        self.bytes = dict.fromkeys(self.channels, 0)
        for channel in self.channels:
            self.line(channel, "job_start")

    def manifest(self):
        """As collector-lib/core/session_identity.c writes it, for this process; the id has no nonce."""
        lock = os.fstat(self.lock)
        return {"schema_version": 1, "type": "gpufl_session", "layout": "live", "session_id": self.id,
                "pid": os.getpid(), "boot_id": self.boot_id, "pid_namespace": os.stat("/proc/self/ns/pid").st_ino,
                "pid_start_ticks": start_ticks("self"), "lock_file": f"{lock.st_dev}:{lock.st_ino}",
                "start_ns": time.time_ns(), "channels": list(self.channels)}

    def active(self, channel):
        return self.dir / f"{channel}.log"

    def raw(self, channel, data):
        before = {channel: self.bytes[channel]}
        self.bytes[channel] += len(data)
        self._tell(before)
        super().raw(channel, data)

    def _tell(self, before=()):
        """As collector-lib/core/active_told.c writes it."""
        inodes = {c: self.active(c).stat().st_ino for c in self.channels if self.active(c).exists()}
        with contextlib.suppress(OSError):  # it has died
            lock = os.fstat(self.lock)
            told = json.dumps({"boot_id": self.boot_id, "lock_file": f"{lock.st_dev}:{lock.st_ino}", "active": self.next,
                               "bytes": self.bytes, "before": dict(before), "inodes": inodes}, separators=(",", ":"))[:-1]
            told += f',"crc32c":{crc32c(told.encode())}}}'
            os.pwrite(self.lock, f"{told:<511}\n".encode(), 0)

    def rotate(self, channel):
        n = self.next[channel]
        self.next[channel] += 1
        (self.dir / f"{channel}.log").rename(self.dir / f"{channel}.{n}.log")
        (self.dir / f"{channel}.log").touch()
        self.bytes[channel] = 0
        self._tell()

    def die(self):
        os.close(self.lock)

    def end(self):
        for channel in self.channels:
            self.line(channel, "shutdown")
        self.die()
