# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend: the registry's rules, its limits, the bodies of the existing clients."""
import contextlib
import gzip
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
import uuid
import zlib

import lib
from lib import check, equal

SESSION = "11111111-1111-4111-8111-111111111111"


def line(n, session=SESSION, kind="kernel_detail"):
    return json.dumps({"type": kind, "session_id": session, "n": n},
                      separators=(",", ":")).encode() + b"\n"


def post(backend, body, path="/api/v1/events/stream", encoding=None, window=None, key=lib.KEY,
         session=SESSION, crc=None, method="POST"):
    connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if session is not None:
        headers["X-GpuFlight-Session-Id"] = session
    if encoding:
        headers["Content-Encoding"] = encoding
    if window:
        window_id, channel, sequence = window
        headers.update({"X-GpuFlight-Window-Id": window_id, "X-GpuFlight-Window-Channel": channel,
                        "X-GpuFlight-Window-Sequence": str(sequence),
                        "X-GpuFlight-Window-CRC32": str(zlib.crc32(body) if crc is None else crc)})
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    try:
        return reply.status, json.loads(data)
    except ValueError:
        return reply.status, data


def _start(place):
    return lib.Backend(place, "--api-key", lib.KEY)


def a_window_is_stored_once_whatever_comes_again(place):
    backend = _start(place)
    window = (str(uuid.uuid4()), "device", 1)
    body = line(1) + line(2)
    equal(post(backend, body, window=window), (200, {
        "accepted": 2, "rejected": 0, "errors": [], "window_acknowledged": True}), "first")
    status, again = post(backend, body, window=window)
    equal((status, again["window_acknowledged"]), (200, True), "again")
    backend.kill()
    backend.start()
    equal(post(backend, body, window=window)[0], 200, "again after a restart")
    equal(backend.export(SESSION, "device"), body, "stored once")


def conflicts_are_named(place):
    backend = _start(place)
    window = (str(uuid.uuid4()), "device", 1)
    post(backend, line(1), window=window)
    status, answer = post(backend, line(2), window=window)
    equal((status, answer["error"]), (409, "window_identity_conflict"), "same id, other body")
    status, answer = post(backend, line(2), window=(str(uuid.uuid4()), "device", 1))
    equal((status, answer["error"]), (409, "window_sequence_conflict"), "same number, other id")
    equal(backend.export(SESSION, "device"), line(1), "what is stored stays")


def the_id_of_a_window_counts_in_its_session_alone(place):
    """It can be read before its window is sent, by whoever can read its session: another session that has it, too, keeps
    nothing away."""
    backend = _start(place)
    other, window = str(uuid.uuid4()), (str(uuid.uuid4()), "device", 1)
    taken = b'{"type":"x","session_id":"%s"}\n' % other.encode()
    for _ in range(2):
        equal(post(backend, taken, window=window, session=other)[0], 200, "another session has it")
        equal(post(backend, line(1), window=window)[0], 200, "its own, too")
        equal((backend.export(other, "device"), backend.export(SESSION, "device")), (taken, line(1)), "each once")
        for session in (other, SESSION):
            status, answer = post(backend, taken + line(1), window=window, session=session)
            equal((status, answer["error"]), (409, "window_identity_conflict"), "other bytes")
        backend.kill()
        backend.start()


def ids_are_looked_up_before_content_is_judged(place):
    backend = _start(place)
    window = (str(uuid.uuid4()), "device", 1)
    body = gzip.compress(line(1))
    post(backend, body, encoding="gzip", window=window)
    equal(post(backend, body, encoding="nonsense", window=window)[0], 200, "known, bad coding")


def bodies_are_decoded_and_bad_ones_refused(place):
    backend = _start(place)
    equal(post(backend, gzip.compress(line(1)), encoding="gzip")[0], 200, "gzip")
    equal(post(backend, line(2))[0], 200, "plain")
    equal(post(backend, gzip.compress(line(3)) + gzip.compress(line(4)), encoding="gzip")[0],
          200, "two members")
    equal(post(backend, gzip.compress(line(5))[:-9], encoding="gzip")[0], 400, "cut short")
    equal(post(backend, b"no zstd", encoding="zstd")[0], 400, "no zstd")
    equal(post(backend, line(1), encoding="br")[0], 415, "unknown coding")
    equal(post(backend, line(1), window=("i" * 8, "device", 1), crc=1)[0], 400, "wrong CRC")
    equal(backend.export(SESSION, "device"), line(1) + line(2) + line(3) + line(4), "stored")


def too_large_is_413(place):
    backend = _start(place)
    bomb = gzip.compress(b"\n" * (129 << 20), 9)
    equal(post(backend, bomb, encoding="gzip")[0], 413, "a bomb")
    equal(post(backend, b"x" * (31 << 20))[0], 413, "a large body")
    check(backend.process.poll() is None, "it lives")


def lines_of_others_are_rejected_one_by_one(place):
    backend = _start(place)
    body = line(1) + b"nonsense\n" + line(2, session="another") + line(3)
    status, answer = post(backend, body)
    equal((status, answer["accepted"], answer["rejected"]), (200, 2, 2), "answer")
    equal([e["line"] for e in answer["errors"]], [2, 3], "which lines")
    equal(backend.export(SESSION, "device"), line(1) + line(3), "stored")


def a_batch_without_a_line_stores_nothing(place):
    """A sender may ask by an empty one whether its key is taken. A window keeps its id."""
    backend = _start(place)
    for body in (b"", b"nonsense\n\n"):
        equal(post(backend, body)[0], 200, "answer")
        equal(backend.session(SESSION), None, "no session begins")
    equal(post(backend, line(1))[0], 200, "a line")
    equal(post(backend, b"", path="/api/v1/events/session-complete")[0], 200, "complete")
    for body, rejected in ((b"", 0), (b"nonsense\n\n", 2)):
        equal(post(backend, body)[1]["rejected"], rejected, "answer")
        session = backend.session(SESSION)
        equal((session["complete"], session["rejected"], session["channels"][0]["bodies"]), (True, rejected, 1), f"{body}")
    window = (str(uuid.uuid4()), "device", 1)
    for _ in range(2):
        equal(post(backend, b"", window=window)[1]["window_acknowledged"], True, "a window")
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def bodies_without_identity_go_to_the_channel_of_their_records(place):
    backend = _start(place)
    post(backend, line(1, kind="scope_event_batch"))
    post(backend, line(2, kind="device_metric_batch"))
    post(backend, line(3, kind="ptx_disassembly"))
    for channel, n, kind in (("scope", 1, "scope_event_batch"),
                             ("system", 2, "device_metric_batch"), ("sass", 3, "ptx_disassembly")):
        equal(backend.export(SESSION, channel), line(n, kind=kind), channel)


def records_written_with_spaces_are_stored_and_shown(place):
    backend = _start(place)
    records = [{"type": "job_start", "app": "spaced", "ts_ns": 5},
               {"type": "dictionary_update", "kernel_dict": {"1": "gemm"}},
               {"type": "kernel_event_batch", "base_time_ns": 7,
                "columns": ["dt_ns", "kernel_id", "duration_ns"], "rows": [[0, 1, 90], [3, 1, 80]]},
               {"version": 1, "type": "shutdown", "ts_ns": 9}]
    body = b"".join(json.dumps({**record, "session_id": SESSION}).encode() + b"\n" for record in records)
    status, answer = post(backend, body)
    equal((status, answer["accepted"], answer["rejected"]), (200, 4, 0), "answer")
    equal(backend.export(SESSION, "device"), body, "stored as it came")
    session = json.loads(backend.get(f"/api/v1/sessions/{SESSION}"))
    equal((session["app"], session["start_ns"], session["shutdown_ns"]), ("spaced", 5, 9), "session")
    row, = json.loads(backend.get(f"/api/v1/sessions/{SESSION}/kernels"))["rows"]
    equal((row["name"], row["calls"], row["total_ns"]), ("gemm", 2, 170), "kernels")


def the_devices_of_a_session_are_those_of_the_start_that_has_some(place):
    """A channel that has none yet may come behind one that has, whether the driver names them or not."""
    backend = _start(place)
    for name in ("", "H200"):
        session_id = f"{SESSION}-{name}"
        for devices in ([], [{"name": name, "id": 0}], []):
            record = {"type": "job_start", "session_id": session_id, "ts_ns": 5, "devices": devices}
            post(backend, json.dumps(record).encode() + b"\n", session=session_id)
        session = json.loads(backend.get(f"/api/v1/sessions/{session_id}"))
        equal((session["gpus"], session["start_ns"], [d["name"] for d in session["job_start"]["devices"]]), (name, 5, [name]), "devices")


def export_follows_the_sequence(place):
    backend = _start(place)
    for n in (3, 1, 2):
        post(backend, line(n), window=(str(uuid.uuid4()), "device", n))
    equal(backend.export(SESSION, "device"), line(1) + line(2) + line(3), "order")


def the_key_is_asked_for(place):
    backend = _start(place)
    for key in ("", "gpfl_marker_kez", lib.KEY + "x", lib.KEY[:-1]):
        equal(post(backend, line(1), key=key)[0], 401, f"key {key!r}")
        equal(post(backend, b"", path="/api/v1/sessions", key=key, method="GET")[0], 401, "GET")
    equal(post(backend, b"", path="/healthz", key="", method="GET")[0], 200, "healthz")
    status, answer = post(backend, b"", path="/api/v1/info/version", key="", method="GET")
    equal((status, answer["supported"], answer["live_windows"]), (200, ["1"], True), "version")


def odd_requests_get_their_answer(place):
    backend = _start(place)
    for session in ("", "..", "a/b", "x" * 129, None):
        equal(post(backend, line(1), session=session)[0], 400, f"session {session!r}")
    equal(post(backend, line(1), window=("id", "../x", 1))[0], 400, "a bad channel")
    equal(post(backend, line(1), path="/api/v1/nothing")[0], 404, "no such path")
    equal(post(backend, b"", path="/api/v1/sessions/none", method="GET")[0], 404, "no session")
    equal(post(backend, b"", path=f"/api/v1/sessions/{SESSION}/export?channel=..",
               method="GET")[0], 400, "a bad channel to export")
    equal(post(backend, b"", method="DELETE")[0], 405, "DELETE")
    equal(post(backend, b"", path="/api/v1/events/session-complete")[0], 404, "unknown session")


def the_page_may_run_nothing_but_itself(place):
    backend = _start(place)
    for path, kind in (("/", "text/html"), ("/page/app.js", "text/javascript"),
                       ("/page/dygraph.js", "text/javascript"), ("/page/style.css", "text/css")):
        connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
        connection.request("GET", path, headers={"Authorization": f"Bearer {lib.KEY}"})
        reply = connection.getresponse()
        equal((reply.status, reply.headers.get_content_type()), (200, kind), path)
        policy = reply.headers["Content-Security-Policy"]
        check("default-src 'none'" in policy and "unsafe" not in policy, policy)
        check(len(reply.read()) > 200, f"{path} is empty")
        connection.close()
    for path in ("/page/", "/page/other.js", "/page/../main.c", "/page"):
        equal(post(backend, b"", path=path, method="GET")[0], 404, path)


def the_command_of_the_empty_page_works_as_pasted(place):
    lib.copy_samples(place)
    backend = lib.Backend(place)
    script = backend.get("/page/sessions.js").decode()
    template, = re.findall(r"`(gpufl upload [^`]*)`", script)
    command = template.replace("${url}", backend.url + "/")
    programs = place.path / "bin"
    programs.mkdir()
    (programs / "gpufl").write_text(f'#!/bin/sh\nexec {" ".join(lib.EMULATOR)} {lib.BUILD}/gpufl "$@"\n')
    (programs / "gpufl").chmod(0o755)
    done = subprocess.run(command, shell=True, cwd=place.logs, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
    equal(done.returncode, 0, f"{command}: {done.stderr}")
    check(_listed(backend), "sessions are stored")


def _random_body(session, n):
    """About 200 KB that no codec makes smaller."""
    return json.dumps({"type": "x", "session_id": session, "n": n, "noise": os.urandom(100_000).hex()},
                      separators=(",", ":")).encode() + b"\n"


def _listed(backend):
    return [s["session_id"] for s in json.loads(backend.get("/api/v1/sessions"))["sessions"]]


def the_oldest_sessions_go_when_the_database_is_full(place):
    backend = lib.Backend(place, "--api-key", lib.KEY, "--max-db-bytes", "3MiB")
    sessions = [f"{n:08d}-1111-4111-8111-111111111111" for n in range(12)]
    for session in sessions:
        for n in range(4):
            equal(post(backend, _random_body(session, n), session=session)[0], 200, "stored")
    kept = sorted(_listed(backend))
    check(1 <= len(kept) <= 4, f"{len(kept)} sessions of 0.8 MB are kept")
    equal(kept, sessions[-len(kept):], "the newest")
    size = (place.path / "backend.db").stat().st_size
    check(size < 6 << 20, f"{size} bytes")
    backend.kill()
    backend.start()
    equal(sorted(_listed(backend)), kept, "after a restart")


def a_live_session_goes_last_when_the_database_is_full(place):
    """It is silent, as a job is that computes; others end meanwhile."""
    backend = lib.Backend(place, "--api-key", lib.KEY, "--max-db-bytes", "3MiB")
    live = "00000000-2222-4222-8222-222222222222"
    equal(post(backend, _random_body(live, 0), session=live)[0], 200, "stored")
    for n in range(12):
        session = f"{n:08d}-1111-4111-8111-111111111111"
        for k in range(4):
            equal(post(backend, _random_body(session, k), session=session)[0], 200, "stored")
        equal(post(backend, b"", "/api/v1/events/session-complete", session=session)[0], 200, "complete")
    kept = _listed(backend)
    check(live in kept and len(kept) <= 5, f"{kept}")


def a_session_that_fills_the_database_waits(place):
    backend = lib.Backend(place, "--api-key", lib.KEY, "--max-db-bytes", "1MiB")
    first = _random_body(SESSION, 0)
    status, answer = post(backend, first, window=("w1", "device", 1))
    for n in range(20):
        status, answer = post(backend, _random_body(SESSION, n))
        if status != 200:
            break
    equal((status, "--max-db-bytes" in answer["message"]), (507, True), "it is full")
    equal(_listed(backend), [SESSION], "nothing of it went")
    equal(post(backend, first, window=("w1", "device", 1))[0], 200, "what it has is not refused")
    equal(post(backend, first, window=("w2", "device", 1))[0], 409, "nor is a conflict hidden")
    other = "00000002-1111-4111-8111-111111111111"
    equal(post(backend, _random_body(other, 1), session=other)[0], 200, "another one makes room")
    for n in range(3):
        post(backend, line(n, other), session=other)
    equal(_listed(backend), [other], "by the oldest")


def tables_take_no_more_room_than_the_lines_they_are_made_of(place):
    """A cell of two bytes takes eight where another one in its column is wide; the lines compress well."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    golden = json.loads((lib.ROOT / "schema/golden/device_metric_batch.ndjson").read_text().splitlines()[0])
    narrow = [[0] * len(golden["columns"])] * 2000
    wide = [[0, 0] + [1 << 62] * (len(golden["columns"]) - 2)]
    record = {**golden, "session_id": SESSION, "rows": wide + narrow}
    text = json.dumps(record, separators=(",", ":")).encode() + b"\n"
    body = gzip.compress(text * 100)
    equal(post(backend, body, encoding="gzip")[0], 200, "stored")
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db:
        tables, = db.execute("SELECT sum(length(data)) FROM series").fetchone()
    check(tables < 4 * len(body), f"{tables} bytes of {len(body)}")
    metric = golden["columns"][2]
    shown = json.loads(backend.get(f"/api/v1/sessions/{SESSION}/metrics?metric={metric}&points=10"))
    check(any(1 << 61 < value for s in shown["series"] for point in s["points"] for value in point
              if isinstance(value, (int, float))), f"they are shown: {shown}"[:300])


def sessions_are_listed_page_by_page(place):
    backend = _start(place)
    sessions = [f"{n:08d}-1111-4111-8111-111111111111" for n in range(25)]
    for session in sessions:
        post(backend, line(1, session), session=session)
    pages = [json.loads(backend.get(f"/api/v1/sessions?limit=10&offset={offset}"))["sessions"]
             for offset in (0, 10, 20, 30)]
    equal([len(page) for page in pages], [10, 10, 5, 0], "pages")
    equal([s["session_id"] for page in pages for s in page], sessions[::-1], "the newest first")


def old_sessions_go_after_their_days(place):
    backend = lib.Backend(place, "--api-key", lib.KEY, "--retain-days", "7")
    other = "00000002-1111-4111-8111-111111111111"
    for n in range(100):
        equal(post(backend, line(n))[0], 200, "stored")
    equal(post(backend, line(1, other), session=other)[0], 200, "stored")
    backend.kill()
    with sqlite3.connect(place.path / "backend.db") as db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 8 * 86400000 WHERE sid = ?", (SESSION,))
    backend.start()
    equal(_listed(backend), [other], "sessions")
    with sqlite3.connect(place.path / "backend.db") as db:
        equal(db.execute("SELECT count(*) FROM body").fetchone(), (1,), "bodies")
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 8 * 86400000")
    lib.until(lambda: _listed(backend) == [], "who only looks sees none that is too old")


def _set_clock(place, seconds):
    """Whole in a moment, as the backend may read it now."""
    (place.path / "set.new").write_text(str(seconds))
    (place.path / "set.new").rename(place.path / "set")


def _backend_with_a_clock(place, *args):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    _set_clock(place, 0)
    return lib.Backend(place, "--api-key", lib.KEY, *args,
                       env={"LD_PRELOAD": str(lib.BUILD / "tests/fake/fast_clock.so"), "FAKE_CLOCK_SET": str(place.path / "set")})


YEAR = 365 * 86400


def a_clock_that_is_set_between_two_starts_deletes_nothing(place):
    """It begins in 1970, or is wrong by years; the host boots meanwhile, or does not."""
    backend = _backend_with_a_clock(place, "--retain-days", "7")
    early = 3600 - int(time.time())
    db_path = place.path / "backend.db"
    kept = []
    for n, (by, boots) in enumerate([(early, False), (early, True), (-YEAR, False), (10 * YEAR, False)]):
        session = f"{n:08d}-1111-4111-8111-111111111111"
        kept.append(session)
        backend.kill()
        _set_clock(place, by)
        backend.start()
        equal(post(backend, line(1, session), session=session)[0], 200, "stored")
        backend.kill()
        if boots:
            with contextlib.closing(sqlite3.connect(db_path)) as db, db:
                db.execute("UPDATE clock SET boot = 'another'")
        _set_clock(place, 0)
        backend.start()
        for _ in range(2):
            equal(sorted(_listed(backend)), kept, f"by {by} s, boots: {boots}")
        away = [abs(s["last_seen_ms"] / 1000 - time.time()) for s in json.loads(backend.get("/api/v1/sessions"))["sessions"]]
        check(max(away) < 3600, f"heard of {away} s from now")
    backend.kill()
    with contextlib.closing(sqlite3.connect(db_path)) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 8 * 86400000 WHERE sid <= ?", (kept[1],))
    backend.start()
    equal(sorted(_listed(backend)), kept[2:], "what is too old goes")
    check("info store.deleted sessions=2 note=" in backend.process.log.read_text(), "and is told")


def what_comes_while_the_clock_shows_no_time_is_the_newest(place):
    backend = _backend_with_a_clock(place, "--max-db-bytes", "3MiB")
    sessions = [f"{n:08d}-1111-4111-8111-111111111111" for n in range(9)]
    for n, session in enumerate(sessions):
        if n == 3:
            _set_clock(place, 3600 - int(time.time()))
        for k in range(4):
            equal(post(backend, _random_body(session, k), session=session)[0], 200, "stored")
        if n != 2:  # an old one is not live because its time is ahead
            equal(post(backend, b"", "/api/v1/events/session-complete", session=session)[0], 200, "complete")
        kept = sorted(_listed(backend))
        equal(kept, sessions[n + 1 - len(kept):n + 1], "the newest")
    check(1 <= len(kept) <= 4, f"{len(kept)} sessions of 0.8 MB are kept")


def wrong_use_is_told(place):
    for args, word in ((("--listen", "nowhere"), "ADDRESS:PORT"), (("--listen", "x:1"), "x"),
                       (("--db", "/nonexistent/x.db", "--listen", "127.0.0.1:0"), "/nonexistent"),
                       (("--nonsense",), "--help"), (("--retain-days", "-1"), "days"),
                       (("--max-db-bytes", "5"), "1MiB"), (("--max-db-bytes", "2X"), "2X"),
                       (("--retain-days", "x"), "x"), (("extra",), "extra")):
        done = place.run("gpufl-backend", *args)
        check(done.returncode in (1, 2) and word in done.stderr, f"{args}: {done.stderr}")
    other = place.path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA user_version=8")
    done = place.run("gpufl-backend", "--listen", "127.0.0.1:0", "--db", other)
    equal(done.returncode, 1, "another version's file")
    check("another version" in done.stderr, done.stderr)
    no_db = place.path / "text.db"
    no_db.write_text("this is no database, and long enough to be told from one" * 20)
    done = place.run("gpufl-backend", "--listen", "127.0.0.1:0", "--db", no_db)
    check(done.returncode == 1 and "not a database" in done.stderr, done.stderr)
    done = place.run("gpufl-backend", "--retian-days", "7")
    equal((done.returncode, "--retain-days?" in done.stderr), (2, True), "the nearest flag")
    done = place.run("gpufl-backend", "--db", "/nonexistent/x.db", "--listen", "127.0.0.1:0")
    check("No such file or directory" in done.stderr, done.stderr)
    for flag in ("--help", "-h", "--version", "-V"):
        done = place.run("gpufl-backend", flag)
        equal((done.returncode, done.stderr), (0, ""), flag)
        check("gpufl-backend" in done.stdout, flag)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
