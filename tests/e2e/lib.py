# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: real processes, real sockets, real directories."""
import collections
import contextlib
import fcntl
import gzip
import inspect
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release").resolve()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "tests/samples/v13-windows"
TRACED = ROOT / "tests/samples/live-traced"  # ours, of an H200: see tests/gpu/record.py
KEY = "gpfl_marker_key"
CHANNELS = ("device", "scope", "system", "sass")
SANITIZER = [] if BUILD.name in ("release", "coverage") else [
    "-fsanitize=" + BUILD.name.replace("-", ",")]
VALGRIND = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
            "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"] \
    if "VALGRIND" in os.environ else []
EMULATOR = os.environ.get("EMULATOR", "").split()  # of the architecture that was built for
FULL = os.environ.get("E2E") == "full"  # make check-e2e
MEASURES_ITSELF = bool(SANITIZER or VALGRIND or EMULATOR)  # what it takes of memory is not the program's
SLOW = 20 if VALGRIND or EMULATOR else 4 if SANITIZER else 1


class Failed(Exception):
    pass


class Skipped(Exception):
    """What this machine or build cannot show; said with the result."""


def skip(why):
    raise Skipped(why)


def need_the_module():
    """Which records calls of CUDA."""
    if not (BUILD / "libgpufl-cupti.so").exists():
        skip("the module that records calls is built only where CUDA's headers are")


def check(condition, text):
    if not condition:
        raise Failed(text)


def equal(got, want, text):
    check(got == want, f"{text}: got {got!r}, want {want!r}")


def until(condition, text, seconds=60):
    """Waits for a condition, never for a time. A file that goes while it is looked at (a rotation,
    a descriptor closed) means: look again."""
    deadline = time.monotonic() + seconds * SLOW
    while True:
        value = None
        with contextlib.suppress(FileNotFoundError):
            value = condition()
        if value:
            return value
        check(time.monotonic() < deadline, f"never happened: {text}")
        time.sleep(0.01)


class Place:
    """A temporary directory, and the processes started in it."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-e2e-"))
        self.logs = self.path / "logs"
        self.logs.mkdir(mode=0o700)
        self.processes = []
        self.count = itertools.count(1)

    def _command(self, name, args):
        # Its words apart from the program's: it knows neither openat2 nor Landlock, and says so.
        valgrind = []
        if VALGRIND:
            words = self.path / "valgrind"
            words.mkdir(exist_ok=True)
            words.chmod(0o777)  # a program may run as another user
            valgrind = [*VALGRIND, f"--log-file={words}/%p.log"]
        return [*valgrind, *EMULATOR, BUILD / name, *map(str, args)]

    def start(self, name, *args, env=None, through=(), **more):
        """`through`: the words of a command that executes the one behind them."""
        log = self.path / f"{next(self.count)}-{pathlib.Path(name).name}.log"
        with open(log, "wb") as out:
            process = subprocess.Popen([*through, *self._command(name, args)], stdout=out, stderr=out,
                                       env=environment(env), **more)
        process.log = log
        self.processes.append(process)
        return process

    def run(self, name, *args, env=None, timeout=120, **more):
        return subprocess.run(self._command(name, args), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=timeout * SLOW,
                              env=environment(env), check=False, **more)

    def close(self, keep):
        for p in reversed(self.processes):  # an agent drains into its backend
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
            try:
                p.wait(10 * SLOW)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        if keep:
            for log in sorted([*self.path.glob("*.log"), *self.path.glob("valgrind/*.log")]):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")
        shutil.rmtree(self.path, ignore_errors=True)


def environment(more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("GPUFL_") and not k.lower().endswith("_proxy") and k != "SSL_CERT_FILE"}
    if BUILD.name == "thread":
        # Its runtime misreads the thread-local memory of libraries that are opened later.
        env["TSAN_OPTIONS"] = f"intercept_tls_get_addr=0:suppressions={ROOT / 'tests/e2e/tsan.supp'}"
    env["XDG_STATE_HOME"] = "/dev/null/none"  # not even root can make it
    env.update(more or {})
    return env


_held_ports = []  # of UDP, to this program's end: tests that run beside it choose others


def free_port():
    """A port that nobody is given while its server is down: below the range of those that the kernel chooses."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        address = "127.0.0.1", random.randrange(first // 2, first)
        held = socket.socket(type=socket.SOCK_DGRAM)
        with contextlib.suppress(OSError), socket.socket() as probe:
            held.bind(address)
            probe.bind(address)
            _held_ports.append(held)
            return address[1]
        held.close()


class Backend:
    """gpufl-backend on a free port that it keeps over restarts."""

    def __init__(self, place, *args, port=0, env=None):
        self.place, self.args, self.port, self.env = place, args, port or free_port(), env
        self.start()

    def start(self):
        self.process = self.place.start("gpufl-backend", "--listen", f"127.0.0.1:{self.port}",
                                        "--db", self.place.path / "backend.db", *self.args, env=self.env)
        line = until(lambda: "http://" in self.process.log.read_text() and
                     self.process.log.read_text(), "the backend starts")
        self.url = line.split("http://")[1].split("/")[0]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.url = f"http://{self.url}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def get(self, path, headers=None):
        request = urllib.request.Request(
            self.url + path, headers=headers or {"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=10 * SLOW) as reply:
            return reply.read()

    def session(self, session):
        try:
            return json.loads(self.get(f"/api/v1/sessions/{session}"))
        except urllib.error.HTTPError as e:
            if e.code == 404:
                return None
            raise

    def export(self, session, channel):
        try:
            return self.get(f"/api/v1/sessions/{session}/export?channel={channel}")
        except urllib.error.HTTPError:
            return b""

    def complete(self, session):
        found = self.session(session)
        return bool(found and found["complete"])


def proc(pid, pattern):
    """The texts of a process's files; one whose descriptor or thread has just gone has none."""
    texts = []
    for path in pathlib.Path(f"/proc/{pid}").glob(pattern):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            texts.append(path.read_text())
    return texts


def watches(pid):
    return sum(info.count("inotify wd:") for info in proc(pid, "fdinfo/*"))


def flood(process, directory):
    """While the process stands still, more events in a directory that it watches than inotify's queue holds."""
    most = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    noise = directory / "noise.log"
    until(lambda: watches(process.pid) > 0, "it watches")
    process.send_signal(signal.SIGSTOP)
    until(lambda: all("State:\tT" in text for text in proc(process.pid, "task/*/status")), "each thread stands still")
    for n in range(most // 2 + 1000):  # each is two events, of kinds that do not fold
        noise.touch()
        noise.rename(directory / f"noise.{n % 7 + 1}.log")


def peak_kib(pid):
    """The most memory that a process ever had."""
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])


def written_bytes(session):
    return sum(f.stat().st_size for f in session.glob("*.log"))


def on_disk(directory, channel):
    """A channel's bytes in order: numbered files, then the active one."""
    files = sorted((int(f.name.split(".")[1]), f)
                   for f in directory.glob(f"{channel}.[0-9]*.log*"))
    data = b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes()
                    for _, f in files)
    active = directory / f"{channel}.log"
    return data + (active.read_bytes() if active.exists() else b"")


def same(backend, directory):
    """The export of every channel equals the files, byte for byte."""
    for channel in CHANNELS:
        want, got = on_disk(directory, channel), backend.export(directory.name, channel)
        if want != got:
            a = collections.Counter(want.splitlines())
            b = collections.Counter(got.splitlines())
            raise Failed(f"{directory.name} {channel}: {sum((a - b).values())} missing, "
                         f"{sum((b - a).values())} twice, of {sum(a.values())} lines")


def holds(backend, writer):
    """The export of every channel is what a writer of writers.py wrote, byte for byte."""
    for channel, want in writer.written.items():
        equal(backend.export(writer.id, channel), want, f"{writer.id} {channel}")


def agent(place, url, *args, env=None, folder=None, **more):
    return place.start("gpufl-agent", f"--folder={folder or place.logs}", f"--host={url}", *args,
                       env={"GPUFL_HTTP_TOKEN": KEY, **(env or {})}, **more)


def upload(place, url, *args, directory=None, env=None, timeout=120, **more):
    done = place.run("gpufl", "upload", directory or place.logs, "--backend-url", url,
                     "--api-key", KEY, "--json", *args, env=env, timeout=timeout, **more)
    done.result = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return done


def job(place, seconds=1.0, *args, env=None, logs=None):
    """Runs the demo job to its end; the session's directory."""
    done = place.run("examples/demo-job", logs or place.logs, seconds, *args, env=env)
    equal(done.returncode, 0, f"the job's exit code ({done.stderr})")
    return (logs or place.logs) / done.stdout.strip()


def rotated_job(place, pattern, count, rotate_bytes, seconds=0.5, logs=None):
    """Runs the demo job until it has sealed `count` files of a pattern: a busy machine samples less in a time, so
    each attempt takes twice as long as the one before. The session's directory; those of other attempts are gone."""
    for attempt in range(7):
        session = job(place, seconds * 2 ** attempt, env={"GPUFL_LOG_ROTATE_BYTES": str(rotate_bytes)}, logs=logs)
        if len(list(session.glob(pattern))) >= count:
            return session
        shutil.rmtree(session)
    raise Failed(f"{count} files {pattern} were never sealed")


def copy_samples(place):
    for d in SAMPLES.iterdir():
        shutil.copytree(d, place.logs / d.name)
    return sorted(place.logs.iterdir())


@contextlib.contextmanager
def alone_with_the_kernels_locks():
    """Their list is one for all, and only its beginning is read: who makes very many, or needs to be seen in it."""
    with open(pathlib.Path(tempfile.gettempdir()) / "gpufl-e2e-kernel-locks", "w", encoding="ascii") as one:
        fcntl.flock(one, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def a_place():
    place = Place()
    good = False
    try:
        yield place
        good = True
    finally:
        place.close(keep=not good)


def main(module):
    """Runs every function of the module whose parameter is `place`; after `-k WORD`, those with it in their names."""
    failed = 0
    word = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv[:-1] else ""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background: the programs would ignore it, too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, test in list(vars(module).items()):
        if name.startswith("_") or not inspect.isfunction(test) or test.__module__ != "__main__":
            continue
        if list(inspect.signature(test).parameters) != ["place"] or word not in name:
            continue
        begin = time.monotonic()
        try:
            with a_place() as place:
                test(place)
            print(f"ok {name} {time.monotonic() - begin:.1f} s", flush=True)
        except Skipped as e:
            print(f"skip {name}: {e}", flush=True)
        except Exception as e:  # any failure is this test's, and the next one runs
            failed += 1
            print(f"FAIL {name}: {e}", flush=True)
            if not isinstance(e, Failed):
                traceback.print_exc(file=sys.stdout)
    sys.exit(1 if failed else 0)
