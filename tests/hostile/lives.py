#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lives of jobs on hostile hosts, each lived twice: alone, and with libgpufl. Output, errors, exit status and
files must be the same, and the time within stated bounds. Usage: lives.py BUILD COUNT | FIRST..LAST | SEED

COUNT lives have fresh seeds; a single seed shows its life, and the commands that repeat it."""
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

AT_ONCE = 4 * (os.cpu_count() or 2)  # under load
HANGS_S = 60
# What gpufl.h promises of the calls that end a session, and what a busy machine adds.
SHUTDOWN_S, FLUSH_S, EXIT_S, BUSY_S = 3, 2, 3, 10
# Of all operations of all lives: a scope, memory, a launch, a line of a file.
P99_TIMES, P99_NS = 2, 50_000
POOL_MIN = 1000  # lives below which their p99 is chance

DISK = {"write", "pwrite", "rename", "unlink", "truncate", "sync"}
ERRORS = {28: "ENOSPC", 122: "EDQUOT", 5: "EIO", 24: "EMFILE", 9: "EBADF", 13: "EACCES", 11: "EAGAIN", 38: "ENOSYS"}
NVML_CALLS = ("Count Name Cores Memory Utilization Temperature Power Clock Fan Energy Ecc Field Pcie Processes "
              "EventSet Register").split()
CUPTI_CALLS = ("Subscribe EnableCallback ActivityEnable ActivityRegisterCallbacks ActivityFlushAll PCSamplingEnable "
               "PCSamplingStart PCSamplingGetData PCSamplingStop PCSamplingDisable GetTimestamp "
               "ActivityGetNextRecord").split()


class Life:
    """What happens, from a seed alone."""

    def __init__(self, seed):
        self.seed = seed
        self.chance = random.Random(f"life {seed}")
        self.env = {}
        self.engine = self.chance.choices((0, 1, 2), (6, 3, 1))[0]
        if self.engine or self.one_in(5):
            self.env["LIFE_GPU"] = "1"
        self.choose_driver()
        self.no_memory = self.one_in(10)
        self.hangs = self.one_in(25)  # its disk, once a session has begun
        self.choose_host()
        self.words = self.choose_words()

    def one_in(self, n):
        return self.chance.randrange(n) == 0

    def choose_driver(self):
        kind = self.chance.choices(("well", "hangs", "slow", "lies", "fails"), (8, 2, 3, 3, 3))[0]
        if kind == "hangs":
            self.env["FAKE_NVML_HANG"] = self.chance.choice(("Init", "Sample", "Late", "Pcie"))
        elif kind == "slow":
            self.env["FAKE_NVML_SAMPLE_MS"] = str(self.chance.choice((1, 20, 80, 400)))
        elif kind == "lies":
            self.env["FAKE_NVML_LIE"] = self.chance.choice(("count", "text", "numbers", "nothing"))
        elif kind == "fails":
            self.env["FAKE_NVML_FAIL"] = ",".join(self.chance.sample(NVML_CALLS, 3))
            self.env["FAKE_NVML_INIT"] = str(self.chance.choice((0, 0, 0, 9, 18)))
        if "LIFE_GPU" in self.env and self.one_in(3):
            self.env["FAKE_CUPTI_FAIL"] = ",".join(
                f"{name}={self.chance.choice((1, 2, 7, 35, 999))}" for name in self.chance.sample(CUPTI_CALLS, 2))
        if "LIFE_GPU" in self.env and self.one_in(6):
            self.env["FAKE_CUPTI_BAD"] = str(self.chance.randrange(1, 40))

    def choose_host(self):
        plans = []
        for _ in range(self.chance.choice((0, 0, 1, 2, 4))):
            call = self.chance.choice(("open", "write", "write", "pwrite", "rename", "unlink", "truncate", "sync", "lock",
                                       "stat", "thread"))
            how = str(self.chance.choice((28, 122, 5) if call in DISK else list(ERRORS)))
            if call in DISK and self.one_in(4):
                how = f"s{self.chance.choice((1, 20, 150))}"
            if call == "write" and self.one_in(4):
                how = "p"
            first = self.chance.choice((0, 1, 3, self.chance.randrange(40), self.chance.randrange(200)))
            count = 3 if how.startswith("s1") else self.chance.choice((1, 2, 10, 10 ** 6))
            plans.append(f"{call}:{how}:{first}:{count}")
        if self.no_memory:
            plans.append(f"malloc:12:{self.chance.randrange(120)}:{self.chance.choice((1, 3, 10 ** 6))}")
        if self.hangs:
            plans = [f"write:h:{self.chance.randrange(1, 40)}:1000000"]
        if plans:
            self.env["HOSTILE_HOST"] = ",".join(plans)

    def word(self):
        rest = self.chance
        kinds = {
            f"ops:{rest.randrange(1, 200)}": 8, f"threads:{rest.randrange(1, 9)}:{rest.randrange(1, 100)}": 3,
            f"nap:{rest.choice((100, 3000, 30000, 120000))}": 5, "fork:exit": 1, "fork:_exit": 1, "fork:exec": 1,
            "fork:kill": 1, "fork:init": 1, "spawn": 1, "vfork": 1, "closefrom": 1, "spread": 1, "timer": 1,
            f"open:{rest.randrange(1, 5000)}": 1, "stats": 1, "vandal:rm": .5, "vandal:cut": .5, "vandal:mv": .5,
            "vandal:mode": .5, "fsize:20000": .5, "silent": .5, "deaf": .5, "full": .5, "exec": .5, f"init:{self.engine}": 1,
            "cancel": 2, "flush": 1, "shutdown": 1, **({} if self.hangs else {f"spin:{rest.randrange(1, 4)}": 2}),
        }
        return rest.choices(list(kinds), list(kinds.values()))[0]

    def choose_words(self):
        words = [f"init:{self.engine}"] * (not self.one_in(8))
        words += [self.word() for _ in range(self.chance.randrange(2, 12))]
        if self.hangs:
            words = words[:1] + [w for w in words[1:] if not w.startswith(("init", "fork:init"))]
        ends = [f"return:{self.chance.randrange(256)}", f"exit:{self.chance.randrange(256)}"] * 3
        ends += [f"exit_thread:{self.chance.randrange(256)}"]
        if not self.hangs:
            ends += [f"_exit:{self.chance.randrange(256)}", "quick_exit:5", "exit_handler:4", "abort", "kill:9", "kill:15",
                     "kill:11"]
        # A GPU's runtime has threads, with which the process lives on; and so has a driver that hangs, which keeps the process
        # where nothing of /proc can be opened: the library cannot tell whether the job's threads have ended.
        blind = "FAKE_NVML_HANG" in self.env and re.search(r"\bopen:\d+:\d+:1000000\b", self.env.get("HOSTILE_HOST", ""))
        if not self.hangs and "LIFE_GPU" not in self.env and not blind:
            ends += ["pthread_exit"]
        return [*words, self.chance.choice(ends)]

    def bound_s(self):
        """What the library may add."""
        ends = sum(w.startswith(("init", "shutdown")) for w in self.words)
        forks = self.words.count("fork:init")
        flushes = sum(w.startswith(("flush", "cancel")) for w in self.words)
        slow = 1 if "s1" in self.env.get("HOSTILE_HOST", "") else 0
        return SHUTDOWN_S * ends + FLUSH_S * flushes + (1 + forks) * EXIT_S + slow + BUSY_S


class Lived:
    def __init__(self, code, out, said, times, seconds):
        self.code, self.out, self.times, self.seconds = code, out, times, seconds
        self.said = said
        self.own = b"".join(line for line in said.splitlines(keepends=True) if not line.startswith(b"[GPUFL] "))


def environment(build, life, recorded, folder):
    preload = [str(build / "libgpufl.so"),
               str(build / "tests/fake" / ("no_memory.so" if life.no_memory else "hostile_host.so"))] if recorded else []
    return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(build / "tests/fake"), "LD_PRELOAD": " ".join(preload),
            "LIFE_TIMES": str(folder / "times"), **life.env}


def live(build, life, folder, recorded):
    folder.mkdir()
    command = [str(build / "tests/hostile/life"), str(folder), str(folder / "logs"), *life.words]
    env = environment(build, life, recorded, folder)
    if recorded is None:
        return " ".join(f"{k}={shlex.quote(v)}" for k, v in env.items()) + " " + shlex.join(command)
    begin = time.monotonic()
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, start_new_session=True)
        try:
            code = process.wait(HANGS_S)
        except subprocess.TimeoutExpired:
            code = "does not end"
            os.killpg(process.pid, 9)
            process.wait()
    seconds = time.monotonic() - begin
    times = (folder / "times").read_bytes() if (folder / "times").exists() else b""
    times = times[:len(times) // 4 * 4]  # no file may have grown beyond some limit
    return Lived(code, (folder / "out").read_bytes(), (folder / "err").read_bytes(), memoryview(times).cast("I"), seconds)


def is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def faults_of_files(folder, life):
    """The session's files hold whole lines of JSON, but for the last one of a job that was killed."""
    cut = any(w.startswith(("vandal:cut", "fsize")) for w in life.words) or "truncate" in life.env.get("HOSTILE_HOST", "")
    for path in folder.glob("logs*/*/*.log"):
        if path.stat().st_mode & 0o777 == 0:
            continue
        data = path.read_bytes()
        lines = data.split(b"\n")[:-1]
        if b"job: " in data:
            yield f"{path.name} has lines of the job"
        if not cut and not all(map(is_json, lines)):
            yield f"{path.name} has a line that is no JSON: {next(x for x in lines if not is_json(x))[:200]}"


def left_staging(folder, life):
    """Of a session that could not begin, nothing is left; a job that is killed, or lacks rights, cannot remove it."""
    if any(w.split(":")[0] in {"vandal", "spin", "fork", "exec", "spread", "closefrom"} for w in life.words) or \
            "unlink" in life.env.get("HOSTILE_HOST", "") or "stat" in life.env.get("HOSTILE_HOST", ""):
        return
    for path in folder.glob("logs*/.new-*"):
        yield f"{path.name} is left: {sorted(f.name for f in path.iterdir())}"


def faults(life, alone, with_us, folder):
    for what in ("code", "out", "own"):
        want, got = getattr(alone, what), getattr(with_us, what)
        if want != got:
            yield f"{what}: {got!r} with libgpufl, {want!r} without"
    if with_us.seconds > alone.seconds + life.bound_s():
        yield f"{with_us.seconds:.1f} s with libgpufl, {alone.seconds:.1f} s without, {life.bound_s()} s more at most"
    yield from faults_of_files(folder, life)
    yield from left_staging(folder, life)


class Pool:
    """The times of all operations."""

    def __init__(self):
        self.ns, self.lock = {False: [], True: []}, threading.Lock()
        self.seconds = {False: 0.0, True: 0.0}

    def add(self, recorded, lived):
        with self.lock:
            self.ns[recorded].extend(lived.times)
            self.seconds[recorded] += lived.seconds

    def at(self, recorded, part):
        ns = sorted(self.ns[recorded]) or [0]
        return ns[min(len(ns) - 1, int(len(ns) * part))]


def judge(build, seed, pool, shown=False):
    life = Life(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpufl-life-"))
    try:
        alone = live(build, life, folder / "alone", False)
        with_us = live(build, life, folder / "with", True)
        pool.add(False, alone)
        pool.add(True, with_us)
        found = list(faults(life, alone, with_us, folder / "with"))
        if shown or found:
            for recorded in (False, True):
                print(" ".join(f"{k}={shlex.quote(v)}" for k, v in environment(build, life, recorded, folder).items()),
                      f"{build}/tests/hostile/life FOLDER LOGS", shlex.join(life.words))
            print(f"alone {alone.code} {alone.seconds:.2f} s, with libgpufl {with_us.code} {with_us.seconds:.2f} s")
            print(with_us.out.decode() if shown else "", with_us.said.decode(errors="replace")[-2000:], sep="")
        return found
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def seeds(text):
    if ".." in text:
        first, last = map(int, text.split(".."))
        return range(first, last + 1)
    first = int(time.time()) * 100
    return range(first, first + int(text))


def main():
    build, asked = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    one = asked.startswith("=")
    chosen = [int(asked[1:])] if one else seeds(asked)
    print(f"hostile: lives {chosen[0]}..{chosen[-1]}", flush=True)
    pool, failed = Pool(), 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
        jobs = {threads.submit(judge, build, seed, pool, one): seed for seed in chosen}
        for job in concurrent.futures.as_completed(jobs):
            found = job.result()
            failed += bool(found)
            for fault in found:
                print(f"FAIL life {jobs[job]}: {fault}", flush=True)
    for part, name in ((.5, "p50"), (.99, "p99"), (.999, "p99.9")):
        print(f"hostile: {name} of an operation {pool.at(False, part) / 1000:.1f} us alone, "
              f"{pool.at(True, part) / 1000:.1f} us with libgpufl")
    if len(chosen) >= POOL_MIN and pool.at(True, .99) > P99_TIMES * pool.at(False, .99) + P99_NS:
        print(f"FAIL p99: {P99_TIMES} times that without libgpufl and {P99_NS // 1000} us at most")
        failed += 1
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
