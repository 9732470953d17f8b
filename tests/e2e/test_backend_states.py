# SPDX-License-Identifier: Apache-2.0
"""The state of a session, by what is stored of it."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import uuid

import lib
from gateway import PASS, Gateway
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


def _pass_ms(place, ms):
    """To the backend, all that it has is as much older."""
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - ?", (ms,))
        db.execute("UPDATE alive SET told_ms = told_ms - ?1, last_byte_ms = last_byte_ms - ?1", (ms,))


class _Impatient(Gateway):
    """The backend wants to be told of silent sessions after a second, not after a minute."""

    def _forward(self, head, body):
        return super()._forward(head, body).replace(b'"alive_after_ms":60000', b'"alive_after_ms": 1000')


def _silent_job(place):
    """A process that has written a line to each channel, and does nothing more; its session's id."""
    script = "import sys, signal, pathlib, writers; w = writers.Live(pathlib.Path(sys.argv[1])); " \
             "print(w.id, flush=True); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", script, place.logs], cwd=pathlib.Path(__file__).parent,
                               stdout=subprocess.PIPE, text=True)
    place.processes.append(process)
    return process, process.stdout.readline().strip()


def _is_live_by_word(backend, session):
    """Its last lines are too old, and still it is live."""
    found = backend.session(session)
    return found["state"] == "live" and found["silent_since_ms"] > found["last_seen_ms"]


def a_silent_job_is_live_while_its_lock_is_held(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with _Impatient(backend.url, lambda *_: PASS) as gateway:
        agent = lib.agent(place, gateway.url)
        silent, other = _silent_job(place), _silent_job(place)
        for _, session in (silent, other):
            until(lambda s=session: (backend.session(s) or {}).get("lines") == 3, "its lines have come")
        for _ in range(3):
            _pass_ms(place, 600000)
            for _, session in (silent, other):
                until(lambda s=session: _is_live_by_word(backend, s), "the agent sees its lock")
        backend.kill()
        backend.start()
        equal(_state(backend, silent[1]), "live", "the backend remembers")
        silent[0].kill()  # by SIGKILL
        until(lambda: _state(backend, silent[1]) == "ended_without_shutdown", "its lock is free")
        equal(_state(backend, other[1]), "live", "the other one goes on")
        agent.kill()
        agent.wait()
    _pass_ms(place, 600000)
    equal((_state(backend, other[1]), other[0].poll()), ("silent", None), "nobody tells that it lives")
    equal(_state(backend, silent[1]), "ended_without_shutdown", "that is known for good")


def an_unknown_session_is_not_made_by_being_alive(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(post(backend, line(1))[0], 200, "stored")
    body = {"sessions": [{"session": s, "silent_ms": 1} for s in (SESSION, "stranger", "another")]}
    status, answer = post(backend, json.dumps(body).encode(), path="/api/v1/events/alive")
    equal((status, answer), (200, {"known": 1, "unknown": 2}), "answer")
    equal(post(backend, json.dumps(body).encode(), path="/api/v1/events/alive", key="other")[0], 401, "another key")
    equal(list(_listed_states(backend)), [SESSION], "sessions")
    equal(backend.session(SESSION)["lines"], 1, "lines")
    equal(post(backend, b"", path="/api/v1/events/session-complete")[0], 200, "complete")
    equal(post(backend, json.dumps(body).encode(), path="/api/v1/events/alive")[0], 200, "told too late")
    equal(_state(backend, SESSION), "ended_without_shutdown", "its end stands")


def live_expires(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    gap, ended = (str(uuid.UUID(int=n)) for n in (1, 2))
    equal(post(backend, line(1))[0], 200, "stored")
    equal(post(backend, line(1, gap), session=gap, window=("w2", "device", 2))[0], 200, "stored")
    equal(post(backend, b'{"type":"shutdown","session_id":"%s","ts_ns":5}\n' % ended.encode(), session=ended)[0],
          200, "stored")
    equal(set(_listed_states(backend).values()), {"live"}, "at first")
    _pass_ms(place, 179000 - lib.SLOW * 10000)
    equal(set(_listed_states(backend).values()), {"live"}, "almost three minutes later")
    _pass_ms(place, 1000 + lib.SLOW * 10000)
    equal(_listed_states(backend), {SESSION: "silent", gap: "gap", ended: "not_complete"}, "three minutes later")
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
