# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend reads large bodies on another thread than small ones: nothing else differs."""
import concurrent.futures
import gzip
import http.client
import json
import random
import signal
import sys
import uuid

import lib
from lib import check, equal
from positions import Part, ZERO, body_of, request
from test_backend import post

SMALL_BYTES = 16000  # the server reads those of 16 KiB ahead
NAMES = ["dt_ns", "kernel_id", "duration_ns", "corr_id"]


def _batch(session, rng):
    rows = [[i * 1000, rng.randint(1, 9), rng.randint(1, 10**9), -i] for i in range(rng.randint(1, 300))]
    return json.dumps({"type": "kernel_event_batch", "session_id": session, "base_time_ns": rng.randint(1, 2**62),
                       "columns": NAMES, "rows": rows}, separators=(",", ":")).encode() + b"\n"


def _batches(session, seed):
    rng = random.Random(seed)
    return [_batch(session, rng) for _ in range(60)]


def _kernels(backend, session):
    return json.loads(backend.get(f"/api/v1/sessions/{session}/kernels"))


def large_bodies_from_many_are_stored_once_and_counted_like_small_ones(place):
    backend = lib.Backend(place)
    sessions = [str(uuid.uuid4()) for _ in range(6)]
    bodies = {}
    for n, session in enumerate(sessions):
        lines = _batches(session, n)
        bodies[session] = [b"".join(lines[i:i + 20]) for i in range(0, 60, 20)]
        check(all(len(b) > 2 * SMALL_BYTES for b in bodies[session]), "they are large")
    windows = [(session, body, (str(uuid.uuid4()), "device", i + 1))
               for session in sessions for i, body in enumerate(bodies[session])] * 3
    random.Random(1).shuffle(windows)
    with concurrent.futures.ThreadPoolExecutor(12) as senders:
        answers = list(senders.map(lambda w: post(backend, w[1], session=w[0], window=w[2]), windows))
    equal({status for status, _ in answers}, {200}, "statuses")
    equal(sum("duplicate" not in a for _, a in answers), len(windows) // 3, "each is stored once")
    for n, session in enumerate(sessions):
        equal(backend.export(session, "device"), b"".join(bodies[session]), "what is stored")
        alike = str(uuid.uuid4())
        for line in _batches(alike, n):
            check(len(line) < SMALL_BYTES, "it is small")
            equal(post(backend, line, session=alike)[0], 200, "alone")
        equal(_kernels(backend, session), _kernels(backend, alike), "what is shown")


def a_large_body_is_refused_as_a_small_one(place):
    backend = lib.Backend(place)
    session = str(uuid.uuid4())
    small = b'{"type":"x","session_id":"%s"}\nno line\n' % session.encode()
    large = b"".join(_batches(session, 1)) + small
    answers = [[post(backend, body, session=None), post(backend, body, session="a/b"),
                post(backend, body, session=session, encoding="br"),
                post(backend, body, session=session, encoding="gzip"),
                post(backend, body, session=session, encoding="zstd"),
                post(backend, body, session=session, window=("a", "device", 1), crc=1),
                post(backend, body, session=session, path="/api/v1/events/parts"),
                post(backend, body, session=session, path="/api/v1/events/elsewhere"),
                post(backend, body, session=session, method="PUT")] for body in (small, large)]
    equal(answers[0], answers[1], "of a small one, and of a large one")
    equal({status for status, _ in answers[1]}, {400, 404, 405, 415}, "statuses")
    status, answer = post(backend, large, session=session)
    equal((status, answer["accepted"], answer["rejected"], answer["errors"][0]["line"]), (200, 61, 1, 62), "by line")


def who_goes_while_a_body_is_read_takes_nothing_along(place):
    backend = lib.Backend(place)
    sent = {}
    for n in range(40):
        session = str(uuid.uuid4())
        sent[session] = b"".join(_batches(session, n))
        connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
        connection.request("POST", "/api/v1/events/stream", sent[session], {"X-GpuFlight-Session-Id": session})
        connection.close()
    last = str(uuid.uuid4())
    equal(post(backend, b"".join(_batches(last, 1)), session=last)[1]["accepted"], 60, "it serves on")
    for session, body in sent.items():
        check(backend.export(session, "device") in (b"", body), "all of it, or nothing")


def who_stops_the_server_waits_for_no_body(place):
    backend = lib.Backend(place)
    sent = {}
    for n in range(24):
        session = str(uuid.uuid4())
        body = b"".join(_batches(session, n)) * 20
        connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=20 * lib.SLOW)
        connection.request("POST", "/api/v1/events/stream", gzip.compress(body, 1),
                           {"X-GpuFlight-Session-Id": session, "Content-Encoding": "gzip"})
        sent[session] = connection, body
    backend.process.send_signal(signal.SIGTERM)
    equal(backend.process.wait(timeout=20 * lib.SLOW), 0, "its status")
    answered = set()
    for session, (connection, _) in sent.items():
        try:
            if connection.getresponse().status == 200:
                answered.add(session)
        except (OSError, http.client.HTTPException):
            pass
        connection.close()
    backend.start()
    for session, (_, body) in sent.items():
        stored = backend.export(session, "device")
        check(stored == body or (not stored and session not in answered), "all of what was acknowledged, or nothing")


def _rows(session, kind, columns, rows):
    return json.dumps({"type": kind, "session_id": session, "columns": columns, "rows": rows},
                      separators=(",", ":")).encode() + b"\n"


def small_parts_that_say_much_are_not_held_all_at_once(place):
    """Each of their digests takes 50 times the bytes of its rows."""
    backend = lib.Backend(place)
    rows = [[i, i] for i in range(4100)]
    parts = [Part(session, "device", ZERO, _rows(session, "kernel_event_batch", ["kernel_id", "detail_corr_id"], rows))
             for session in (str(uuid.uuid4()) for _ in range(40))]
    refused = str(uuid.uuid4())
    parts.append(Part(refused, "device", ZERO, b"{}\n"))
    status, answer = request(backend, "POST", "/events/parts", body_of(*parts))
    equal((status, [part["verdict"] for part in answer["parts"]]), (200, ["stored"] * 40 + ["refused"]), "verdicts")
    for part in parts[:-1]:
        equal(_kernels(backend, part.said["session"])["calls"], 4100, "what is shown of each")
    check(lib.SANITIZER or lib.peak_kib(backend.process.pid) < 64 << 10, "memory")


def rows_of_many_devices_take_little_memory(place):
    backend = lib.Backend(place)
    session = str(uuid.uuid4())
    line = _rows(session, "device_metric_batch", ["device_id", "gpu_util"], [[n, n] for n in range(64)])
    equal(post(backend, line * 800, session=session)[0], 200, "status")
    check(lib.SANITIZER or lib.peak_kib(backend.process.pid) < 48 << 10, "memory")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
