# SPDX-License-Identifier: Apache-2.0
"""The state directory is deleted again and again while uploaders are killed: agents and uploads on demand by turns,
sessions in all layouts. `make check-e2e` does so for two minutes over 200 MiB in 20 sessions; SEED=n repeats the random
choices."""
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


def _round(place, url, number, rng, loses):
    """One uploader, which may lose its state, and is killed."""
    process = _start(place, url, number)
    moments = sorted(rng.random() * ROUND_S * lib.SLOW for _ in range(2))
    time.sleep(moments[0])
    if loses:
        shutil.rmtree(place.logs / ".gpufl-agent", ignore_errors=True)
    time.sleep(moments[1] - moments[0])
    process.kill()
    process.wait()
    process.log.unlink()
    place.processes.remove(process)


def _written(place, url, lost_each):
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
        _round(place, url, n, rng, lost_each and n % lost_each == lost_each - 1)
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


def without_positions_a_lost_state_loses_no_line(place):
    """At a backend that keeps no ids either. How much is repeated depends on what was published before the loss."""
    with sink.Sink(key=lib.KEY) as s:
        writers = _written(place, s.url, LOST_EACH)
        _all_complete(place, s.url, lambda i: any(r.session == i and "complete" in r.path for r in list(s.requests)),
                      writers)
        batches = s.batches()
    stored = {}
    for r in batches:
        raw = r.raw()
        first = json.loads(raw.split(b"\n", 1)[0])
        stored.setdefault((first["session_id"], first["channel"]), []).append(raw)
    twice = compare(writers, lambda i, c: b"".join(stored.get((i, c), [])))
    _say("state lost, no identities", writers, twice)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
