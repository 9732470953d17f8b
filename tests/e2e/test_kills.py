# SPDX-License-Identifier: Apache-2.0
"""An agent that is killed at any moment while sessions in all layouts are written and sent.

With a registry every line is stored once, in order. Without, none is missing, and lines come twice
only in requests that were under way when a kill came, under the same id. `make check-e2e` kills it
1,000 times over 200 MiB in 20 sessions; SEED=n repeats the random choices.
"""
import collections
import json
import os
import random
import sys
import threading
import time
import uuid

import lib
from lib import check, equal, until
import sink
from writers import Live, Shifting, Windows

KILLS, MIB, SESSIONS = (1000, 200, 20) if lib.FULL else (40, 8, 6)
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
PAD = "x" * 700
FAST = ("--flush-interval=0", "--max-requests-per-second=0", "--retain-acked-payloads")
LAST = (*FAST, "--rescan-interval=1s")


def some_lines(writer, rng):
    """A burst of lines in one channel, a rotation now and then. The result: the bytes."""
    channel = rng.choice(writer.channels)
    before = len(writer.written[channel])
    for _ in range(rng.randrange(1, 80)):
        writer.line(channel, pad=PAD[:rng.randrange(len(PAD))])
    full = isinstance(writer, Shifting) and writer.rotations > 90  # its writer would drop files
    if rng.random() < 0.1 and not full:
        writer.rotate(channel)
    return len(writer.written[channel]) - before


class Feeder(threading.Thread):
    """Writes as long as the kills last, and then ends the sessions."""

    def __init__(self, writers, rng, total_bytes):
        super().__init__(daemon=True)
        self.writers, self.rng, self.total = writers, rng, total_bytes
        self.share = 0.0  # of the kills that have happened
        self.turn = threading.Condition()
        self.failed = None

    def go_on(self, share):
        with self.turn:
            self.share = share
            self.turn.notify()

    def run(self):
        try:
            done = 0
            while done < self.total:
                with self.turn:
                    self.turn.wait_for(lambda: done <= self.share * self.total)
                done += some_lines(self.rng.choice(self.writers), self.rng)
            for writer in self.writers:
                writer.end()
        except Exception as e:  # told by the main thread
            self.failed = e


def written_and_killed(place, url):
    """All written, and its agents killed. The result: the writers."""
    rng = random.Random(SEED)
    print(f"SEED={SEED}", flush=True)
    writers = [(Live, Shifting, Windows)[i % 3](
        place.logs, str(uuid.UUID(int=rng.getrandbits(128), version=4))) for i in range(SESSIONS)]
    backlog, live = (MIB << 20) // 4, (MIB << 20) * 3 // 4
    while backlog > 0:
        backlog -= some_lines(rng.choice(writers), rng)
    feeder = Feeder(writers, random.Random(SEED + 1), live)
    feeder.start()
    for n in range(KILLS):
        agent = lib.agent(place, url, *FAST)
        time.sleep(rng.random() ** 2 * 0.4 * lib.SLOW)  # the moment of its death
        agent.kill()
        agent.wait()
        agent.log.unlink()
        place.processes.remove(agent)
        feeder.go_on((n + 1) / KILLS)
        check(feeder.failed is None, f"the writers: {feeder.failed!r}")
    feeder.join()
    check(feeder.failed is None, f"the writers: {feeder.failed!r}")
    return writers


def compare(writers, stored):
    """Nothing missing, nothing out of order. The result: how many lines are there twice."""
    twice = 0
    for writer in writers:
        for channel, want in writer.written.items():
            got = stored(writer.id, channel)
            if got != want:
                a = collections.Counter(bytes(want).splitlines())
                b = collections.Counter(got.splitlines())
                equal(sum((a - b).values()), 0, f"missing of {writer.dir.name} {channel}")
                first = list(dict.fromkeys(got.splitlines()))
                check(first == bytes(want).splitlines(), f"{writer.dir.name} {channel}: order")
                twice += sum((b - a).values())
    return twice


def with_a_registry_every_line_is_stored_once(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writers = written_and_killed(place, backend.url)
    lib.agent(place, backend.url, *LAST)
    until(lambda: all(backend.complete(w.id) for w in writers), "all complete", 300)
    equal(compare(writers, backend.export), 0, "lines twice")
    total = sum(len(d) for w in writers for d in w.written.values())
    print(f"   {KILLS} kills, {total} bytes, {SESSIONS} sessions: 0 missing, 0 twice")


def without_one_only_requests_under_way_come_twice(place):
    with sink.Sink(key=lib.KEY) as s:
        writers = written_and_killed(place, s.url)
        lib.agent(place, s.url, *LAST)
        ids = {w.id for w in writers}
        until(lambda: {r.session for r in list(s.requests) if "complete" in r.path} >= ids,
              "all complete", 300)
        batches = s.batches()
    stored, times, lines_of, body = {}, collections.Counter(), {}, {}
    for r in batches:
        raw = r.raw()
        first = json.loads(raw.split(b"\n", 1)[0])
        stored.setdefault((first["session_id"], first["channel"]), []).append(raw)
        times[r.window_id] += 1
        lines_of[r.window_id] = raw.count(b"\n")
        equal(body.setdefault(r.window_id, raw), raw, "the lines of an id")
    repeated = sum(lines_of[i] * (n - 1) for i, n in times.items())
    twice = compare(writers, lambda i, c: b"".join(stored.get((i, c), [])))
    equal(twice, repeated, "lines twice, and lines of requests sent again under their id")
    again = sum(n - 1 for n in times.values())
    check(again <= KILLS * 8, f"{again} requests sent again")
    print(f"   {KILLS} kills: 0 missing, {again} of {len(batches)} requests came again")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
