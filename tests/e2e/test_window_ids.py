# SPDX-License-Identifier: Apache-2.0
"""A service with one registry of window ids for all sessions and users: others can read the ids of the existing
client's windows, and have sent some of them first, with lines of their own."""
import collections
import json
import os
import random
import sys
import time
import uuid

import lib
from lib import check, equal, until
import sink
from writers import Windows

SAID = "upload.renamed"


def _windows(place, count=3):
    """A session that has ended, of `count` windows in each of three channels and one in the fourth."""
    writer = Windows(place.logs)
    for _ in range(count - 1):
        for channel in writer.channels[:3]:
            writer.line(channel, times=2)
            writer.rotate(channel)
    writer.end()
    return writer


def _ids(writer):
    return [json.loads(path.read_text())["window_id"] for path in sorted(writer.dir.glob(".gpufl-window.*.json"))]


def _take(s, ids):
    """As another user does, with a session of their own."""
    for n, window_id in enumerate(ids):
        other = str(uuid.uuid4())
        line = b'{"type":"job_start","session_id":"%s","n":%d}\n' % (other.encode(), n)
        s.store(sink.Request("POST", "/events/stream", {
            "X-GpuFlight-Session-Id": other, "X-GpuFlight-Window-Id": window_id}, line))


def _lines(s, writer):
    return [line for line in s.lines if writer.id.encode() in line]


def _once(s, writer):
    want = collections.Counter(line for data in writer.written.values() for line in bytes(data).splitlines())
    got = collections.Counter(_lines(s, writer))
    equal((sum((want - got).values()), sum((got - want).values())), (0, 0), "lines missing and twice")
    for channel, data in writer.written.items():
        equal([x for x in _lines(s, writer) if json.loads(x)["channel"] == channel], bytes(data).splitlines(), channel)


def a_window_whose_id_another_session_has_is_sent_under_one_of_its_own(place):
    writer = _windows(place)
    ids = _ids(writer)
    with sink.Sink(one_registry=True) as s:
        _take(s, ids[::2])
        agent = lib.agent(place, s.url, "--exit-when-drained")
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        _once(s, writer)
        log = agent.log.read_text()
        equal((log.count(SAID), "upload.quarantined" in log), (len(ids[::2]), False), log)
        renamed = [r.window_id for r in s.batches() if r.status == 200 and r.window_id not in ids]
        equal(len(renamed), len(ids[::2]), "each has another id")
        equal(len(s.batches()), len(ids) + len(renamed), "of each one, one more request")
        check(any(r.path.endswith("session-complete") for r in s.requests), "complete")


def what_was_stored_under_an_id_of_its_own_is_known_without_the_journal(place):
    """And to an upload with a state of its own: the id follows from key, session and content."""
    writer = _windows(place)
    with sink.Sink(one_registry=True) as s:
        _take(s, _ids(writer))
        for n in range(3):
            done = lib.upload(place, s.url, "--state-dir", place.path / f"state{n}", "--force")
            equal(done.returncode, 0, done.stderr)
            _once(s, writer)
        first = [r.window_id for r in s.batches() if r.status == 200][:len(_ids(writer))]
        others = Windows(place.logs, session=str(uuid.uuid4()))
        others.end()
        _take(s, _ids(others))
        equal(lib.upload(place, s.url).returncode, 0, "another session")
        _once(s, others)
        equal(len(set(first) & {r.window_id for r in s.batches() if r.session == others.id}), 0, "has other ids")


def a_kill_while_an_id_of_its_own_is_sent_doubles_nothing(place):
    """In both moments: the conflict was answered; the window was stored, and the answer was not heard."""
    seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
    print(f"SEED={seed}", flush=True)
    rng = random.Random(seed)
    writer = _windows(place, 8)
    ids = set(_ids(writer))
    alive = []

    def answer(_, request):
        if request.is_batch and alive and rng.random() < 0.4:
            alive.pop().kill()
            return rng.choice((None, sink.STORE_DROP, sink.DROP))
        return rng.choice((None, None, None, 503, sink.STORE_DROP)) if request.is_batch else None

    with sink.Sink(answer, one_registry=True) as s:
        _take(s, rng.sample(sorted(ids), len(ids) * 3 // 4))
        kills = 0
        for _ in range(200):
            agent = lib.agent(place, s.url, "--exit-when-drained")
            if kills < 12:
                alive.append(agent)
            code = agent.wait(60 * lib.SLOW)
            kills += code < 0
            alive.clear()
            if code == 0:
                break
        equal(code, 0, agent.log.read_text())
        check(kills > 3, f"{kills} kills")
        _once(s, writer)


def a_window_that_is_refused_under_both_ids_is_quarantined_and_the_way_out_is_said(place):
    writer = _windows(place, 2)

    def refuse(_, request):
        return (409, {"error": "window_identity_conflict"}) if request.channel == "scope" else None

    with sink.Sink(refuse, one_registry=True) as s:
        done = lib.upload(place, s.url)
        equal(done.returncode, 1, done.stderr)
        equal([r.status for r in s.batches() if r.channel == "scope"], [409] * 4, "each under two ids, once")
        names = json.loads(place.run("gpufl", "quarantine", "list", place.logs, "--json").stdout)
        equal(len(names), 2, names)
        for name in names:
            check("another session" in name["reason"] and "gpufl quarantine retry" in name["reason"], name["reason"])
        args = ("gpufl", "quarantine", "retry", place.logs, "--all", "--backend-url", s.url, "--api-key", lib.KEY)
        done = place.run(*args)
        equal((done.returncode, done.stderr.count("still rejected: HTTP 409")), (1, 2), done.stderr)
        s.answer = None
        _take(s, _ids(writer))
        equal(place.run(*args).returncode, 0, "once the operator has mended it")
        _once(s, writer)
        equal(lib.upload(place, s.url).returncode, 0, "and the session is complete")


def what_an_earlier_version_put_into_quarantine_is_taken_under_another_id(place):
    """Its range has the id of the sidecar. A retry that is killed before the journal has it may be repeated."""
    writer = _windows(place, 2)
    ids = _ids(writer)

    def close(_, request):
        return (422, "not now") if request.is_batch and request.channel == "scope" else None

    with sink.Sink(close, one_registry=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "refused under the sidecar's id")
        equal({r.window_id for r in s.batches()}, set(ids), "as it is")
        s.answer = None
        _take(s, ids)
        args = ("gpufl", "quarantine", "retry", place.logs, "--all", "--backend-url", s.url, "--api-key", lib.KEY)
        running = []
        s.answer = lambda _, r: (running.pop().kill() or sink.STORE_DROP) if (
            running and r.is_batch and r.window_id not in ids) else None
        running.append(place.start(*args))
        process = running[0]
        until(lambda: process.poll() is not None, "it is killed")
        done = place.run(*args)
        equal((done.returncode, done.stdout.count("stored")), (0, 2), done.stderr)
        _once(s, writer)
        equal(lib.upload(place, s.url).returncode, 0, "all is there")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
