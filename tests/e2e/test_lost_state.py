# SPDX-License-Identifier: Apache-2.0
"""The state directory is deleted again and again while uploaders are killed: agents and uploads on demand by turns,
sessions in all layouts. `make check-e2e` does so for two minutes over 200 MiB in 20 sessions; SEED=n repeats the random
choices."""
import http.client
import io
import json
import os
import random
import shutil
import sys
import time
import uuid

import lib
from lib import check, equal, until
import sink
from gateway import PASS, Gateway
from test_kills import FAST, LAST, Feeder, compare, some_lines
from writers import Live, Shifting, Windows

ROUNDS, MIB, SESSIONS, ROUND_S = (240, 200, 20, 0.5) if lib.FULL else (24, 6, 6, 0.25)
LOST_EACH = 4  # rounds
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))


def _start(place, url, number):
    if number % 2:
        return lib.agent(place, url, *FAST)
    return place.start("gpufl", "upload", place.logs, "--backend-url", url, "--api-key", lib.KEY)


def _says(process):
    return "journal.new " in process.log.read_text()


def _round(place, url, number, rng, loses, says):
    """One uploader, which may lose its state, and is killed. The result: whether it said that it knows nothing."""
    new = not (place.logs / ".gpufl-agent/journal").exists()
    process = _start(place, url, number)
    if says and new:
        until(lambda: _says(process), "it says that nothing is known")
    moments = sorted(rng.random() * ROUND_S * lib.SLOW for _ in range(2))
    time.sleep(moments[0])
    if loses:
        shutil.rmtree(place.logs / ".gpufl-agent", ignore_errors=True)
    time.sleep(moments[1] - moments[0])
    process.kill()
    process.wait()
    said = _says(process)
    process.log.unlink()
    place.processes.remove(process)
    return said


def _written(place, url, lost_each, after=None):
    """after(said): what is looked at after each round. Then what is new is said, too."""
    rng = random.Random(SEED)
    print(f"SEED={SEED}", flush=True)
    writers = [(Live, Shifting, Windows)[i % 3](
        place.logs, str(uuid.UUID(int=rng.getrandbits(128), version=4))) for i in range(SESSIONS)]
    backlog, live = (MIB << 20) // 4, (MIB << 20) * 3 // 4
    while backlog > 0:
        backlog -= some_lines(rng.choice(writers), rng)
    feeder = Feeder(writers, random.Random(SEED + 1), live)
    feeder.start()
    for n in range(ROUNDS):
        said = _round(place, url, n, rng, lost_each and n % lost_each == lost_each - 1, after)
        if after:
            after(said)
        feeder.go_on((n + 1) / ROUNDS)
        check(feeder.failed is None, f"the writers: {feeder.failed!r}")
    feeder.join()
    check(feeder.failed is None, f"the writers: {feeder.failed!r}")
    return writers


def _all_complete(place, url, done, writers):
    agent = lib.agent(place, url, *LAST)
    until(lambda: all(done(w.id) for w in writers), "all complete", 300)
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "the agent")
    return _says(agent)


def _say(what, writers, twice):
    total = sum(len(d) for w in writers for d in w.written.values())
    print(f"   {what}: {ROUNDS} kills, {total} bytes, {len(writers)} sessions: 0 missing, {twice} lines twice")


def with_positions_a_lost_state_costs_nothing(place):
    """Windows of 1.3 have identities of their own: there is nothing that gpufl verify could compare."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writers = _written(place, backend.url, LOST_EACH)
    _all_complete(place, backend.url, backend.complete, writers)
    equal(compare(writers, backend.export), 0, "lines twice")
    for writer in writers:
        if not isinstance(writer, Windows):
            done = place.run("gpufl", "verify", place.logs, "--backend-url", backend.url, "--session-id", writer.id,
                             env={"GPUFL_API_KEY": lib.KEY})
            equal(done.returncode, 0, done.stdout + done.stderr)
    _say("state lost, positions", writers, 0)


def with_windows_alone_every_line_is_stored_once_while_the_state_is_kept(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with Gateway(backend.url, lambda *_: PASS, positions=False) as gateway:
        writers = _written(place, gateway.url, 0)
        _all_complete(place, gateway.url, backend.complete, writers)
    equal(compare(writers, backend.export), 0, "lines twice")
    _say("state kept, windows alone", writers, 0)


class Repeats(Gateway):
    """To a backend without positions. Notes what is stored again: only after a run that said so, or, without a registry
    of ids, under its id."""

    def __init__(self, url, registry):
        super().__init__(url, lambda *_: PASS, positions=False)
        self.registry = registry
        self.sent, self.ids = [], set()
        self.stored = {}  # line: the run that stored it last
        self.run = self.said = self.twice = self.unsaid = 0

    def _forward(self, head, body):
        reply = super()._forward(head, body)
        if head.startswith(b"POST /api/v1/events/stream ") and body and b" 200 " in reply.split(b"\r\n", 1)[0]:
            with self.lock:
                headers = http.client.parse_headers(io.BytesIO(head.partition(b"\r\n")[2]))
                self.sent.append(sink.Request("POST", "", headers, body))
        return reply

    def after(self, said):
        """A run."""
        self.until_served()
        self.run += 1
        self.said = self.run if said else self.said
        for request in self.sent:
            known = request.window_id in self.ids
            self.ids.add(request.window_id)
            if known and self.registry:
                continue
            for line in request.raw().splitlines():
                before = self.stored.get(line)
                self.twice += before is not None
                self.unsaid += before is not None and before >= self.said and not known
                self.stored[line] = self.run
        self.sent.clear()


def _repeats_are_said(place, registry, what):
    """What is stored again was stored before a run that said that it knows nothing."""
    with sink.Sink(key=lib.KEY, declare=registry) as s, Repeats(s.url, registry) as gateway:
        writers = _written(place, gateway.url, LOST_EACH, gateway.after)
        gateway.after(_all_complete(place, gateway.url, lambda i: any(
            r.session == i and "complete" in r.path for r in list(s.requests)), writers))
        kept = list(s.stored.values()) if registry else [r.raw() for r in s.batches() if r.status == 200]
    stored = {}
    for raw in kept:
        first = json.loads(raw.split(b"\n", 1)[0])
        stored.setdefault((first["session_id"], first["channel"]), []).append(raw)
    twice = compare(writers, lambda i, c: b"".join(stored.get((i, c), [])))
    equal((gateway.twice, gateway.unsaid), (twice, 0), "lines twice, and of these stored since nothing was said")
    check(twice > 0, "nothing was repeated: no state was lost that matters")
    _say(what, writers, twice)


def with_windows_alone_what_a_lost_state_repeats_is_said(place):
    _repeats_are_said(place, True, "state lost, windows alone")


def without_positions_a_lost_state_loses_no_line(place):
    """At a backend that keeps no ids either: requests under way when a kill comes are repeated, too."""
    _repeats_are_said(place, False, "state lost, no identities")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
