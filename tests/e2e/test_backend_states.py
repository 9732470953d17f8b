# SPDX-License-Identifier: Apache-2.0
"""The state of a session, by what is stored of it."""
import contextlib
import os
import sqlite3
import sys
import uuid

import lib
from lib import equal, until
from test_backend import SESSION, line, post
from writers import Live


def _state(backend, session):
    found = backend.session(session)
    return found and found["state"]


def _listed_states(backend):
    return {s["session_id"]: s["state"] for s in lib.json.loads(backend.get("/api/v1/sessions"))["sessions"]}


def a_killed_job_has_ended_without_shutdown(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url, "--rescan-interval=200ms")
    good, killed = Live(place.logs), Live(place.logs)
    for writer in (good, killed):
        writer.line("scope")
    for writer in (good, killed):
        until(lambda w=writer: _state(backend, w.id) == "live", "it is live")
    good.end()
    killed.die()
    until(lambda: _state(backend, good.id) == "complete", "the one that ended")
    until(lambda: _state(backend, killed.id) == "ended_without_shutdown", "the one that was killed")
    equal(_listed_states(backend), {good.id: "complete", killed.id: "ended_without_shutdown"}, "the list")


def live_expires(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    gap, ended = (str(uuid.UUID(int=n)) for n in (1, 2))
    equal(post(backend, line(1))[0], 200, "stored")
    equal(post(backend, line(1, gap), session=gap, window=("w2", "device", 2))[0], 200, "stored")
    equal(post(backend, b'{"type":"shutdown","session_id":"%s","ts_ns":5}\n' % ended.encode(), session=ended)[0],
          200, "stored")
    equal(set(_listed_states(backend).values()), {"live"}, "at first")
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 15000")
    equal(_listed_states(backend), {SESSION: "silent", gap: "gap", ended: "not_complete"}, "15 s later")
    equal(post(backend, line(2))[0], 200, "more comes")
    equal(_state(backend, SESSION), "live", "again")


def lines_after_the_end_take_it_back(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url, "--rescan-interval=200ms")
    writer = Live(place.logs)
    writer.line("scope")
    os.close(writer.lock)
    until(lambda: _state(backend, writer.id) == "ended_without_shutdown", "its end is reported")
    writer.line("scope")
    until(lambda: backend.session(writer.id)["lines"] == 5, "the new line is stored")
    until(lambda: _state(backend, writer.id) == "ended_without_shutdown", "its end is reported again")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
