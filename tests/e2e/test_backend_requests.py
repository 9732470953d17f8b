# SPDX-License-Identifier: Apache-2.0
"""What may be wrong with a request to gpufl-backend, byte by byte: each has an answer that names it, and none changes
what is stored."""
import json
import socket
import sys

import lib
from lib import check, equal
from positions import request
from test_backend import SESSION, line, post

STREAM = "POST /api/v1/events/stream HTTP/1.1\r\nHost: localhost\r\nX-GpuFlight-Session-Id: " + SESSION + "\r\n"
SESSIONS = "GET /api/v1/sessions{} HTTP/1.1\r\nHost: localhost\r\n\r\n"


LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _talk(backend, data):
    """All that comes back until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", backend.port), timeout=20 * lib.SLOW) as client:
        client.sendall(data if isinstance(data, bytes) else data.encode())
        answer = b""
        while more := client.recv(65536):
            answer += more
    return answer


def _answers(backend, data):
    """(status, headers, body) of each answer on a connection, the last one to LAST unless it was ended before."""
    rest, answers = _talk(backend, data.encode() + LAST), []
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {k.lower(): v for k, v in (x.split(": ", 1) for x in lines)}
        length = int(headers["content-length"])
        answers.append((int(first.split()[1]), headers, rest[:length]))
        rest = rest[length:]
    return answers


def _refused(backend, what, data, status, *words):
    """By one answer, in the form of the schema, which ends the connection."""
    answers = _answers(backend, data)
    equal([a[0] for a in answers], [status], f"{what}: {answers}")
    _, headers, body = answers[0]
    equal(headers["connection"].lower(), "close", what)
    answer = json.loads(body)
    equal(set(answer), {"error", "message"}, what)
    check(all(w in answer["message"] for w in words), f"{what}: {answer}")


def _refused_by_the_library(backend, what, data, status):
    """In its own words, and at times with its headers twice; the next request has no answer."""
    answer = _talk(backend, data.encode() + LAST)
    check(answer.startswith(b"HTTP/1.1 %d " % status) and b"HTTP/1.1 200" not in answer, f"{what}: {answer}")


def a_request_whose_end_is_not_clear_is_refused(place):
    """A proxy before the server may read it in another way: the rest would be a request of somebody else."""
    backend = lib.Backend(place)
    body = line(1).decode()
    n, chunk = len(body), f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    for what, headers, rest, words in (
            ("two lengths", f"Content-Length: {n}\r\nContent-Length: 5", body, ["Content-Length", "twice"]),
            ("one length twice", f"Content-Length: {n}\r\nContent-Length: {n}", body, ["Content-Length", "twice"]),
            ("length and chunks", f"Content-Length: {n}\r\nTransfer-Encoding: chunked", chunk, ["Transfer-Encoding"]),
            ("another coding", "Transfer-Encoding: gzip", chunk, ["Transfer-Encoding", "not chunked"]),
            ("two codings", "Transfer-Encoding: gzip, chunked", chunk, ["Transfer-Encoding", "not chunked"]),
            ("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", chunk, ["Transfer-Encoding"]),
            ("a space", f"Content-Length : {n}", body, ["space"]),
            ("two hosts", f"Host: localhost\r\nContent-Length: {n}", body, ["Host", "twice"])):
        _refused(backend, what, f"{STREAM}{headers}\r\n\r\n{rest}", 400, *words)
    for what, headers, rest, status in (("no number", "Content-Length: 5x", body, 400), ("a list", "Content-Length: 5, 5", body, 400),
                                        ("a sign", f"Content-Length: +{n}", body, 400),
                                        ("negative", "Content-Length: -1", body, 400),
                                        ("beyond 64 bits", "Content-Length: 99999999999999999999", body, 413),
                                        ("no chunk", "Transfer-Encoding: chunked", "zz\r\n" + body, 400)):
        _refused_by_the_library(backend, what, f"{STREAM}{headers}\r\n\r\n{rest}", status)
    _refused(backend, "no host", SESSIONS.format("").replace("Host: localhost\r\n", ""), 400, "Host", "missing")
    equal(backend.export(SESSION, "device"), b"", "nothing is stored")
    for what, data in (("a length", f"{STREAM}Content-Length: {n}\r\n\r\n{body}"),
                       ("chunks", f"{STREAM}Transfer-Encoding: chunked\r\n\r\n{chunk}"),
                       ("lines without CR", (STREAM + f"Content-Length: {n}\r\n\r\n").replace("\r\n", "\n") + body)):
        equal([a[0] for a in _answers(backend, data)], [200, 200], what)
    equal(backend.export(SESSION, "device"), line(1) * 3, "what is right is stored")
    check(_talk(backend, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200"), "1.0 needs no Host")


def a_path_with_a_nul_is_no_other_path(place):
    backend = lib.Backend(place)
    equal(post(backend, line(1))[0], 200, "stored")
    for path, status in (("/%00", 404), ("/healthz%00", 404), ("/healthz%00x", 404), ("/page/app.js%00.css", 404),
                         (f"/api/v1/sessions/{SESSION}%00", 404), ("/api/v1/sessions?limit=1%00", 400),
                         (f"/api/v1/sessions/{SESSION}/export?channel=device%00x", 400), ("/%2500", 404)):
        equal(_answers(backend, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")[0][0], status, path)
    equal(_answers(backend, "GET /%68ealthz HTTP/1.1\r\nHost: localhost\r\n\r\n")[0][0], 200, "what is encoded otherwise")


def a_head_is_a_get_without_its_body(place):
    backend = lib.Backend(place)
    equal(post(backend, line(1))[0], 200, "stored")
    session = f"/api/v1/sessions/{SESSION}"
    for path in ("/", "/page/app.js", "/healthz", "/api/v1/info/version", "/api/v1/sessions", session, f"{session}/kernels",
                 f"{session}/streams", f"{session}/export?channel=device", "/api/v1/changes", "/none", f"{session}/none",
                 "/api/v1/events/stream"):
        asked = f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        head, _, rest = _talk(backend, asked + LAST).partition(b"\r\n\r\n")
        ended = b"connection: close" in head.lower()
        equal(rest[:9], b"" if ended else b"HTTP/1.1 ", f"{path}: a body, or the next answer")
        if path == "/api/v1/changes":
            equal(head.split()[1], b"200", path)
            continue
        got = _talk(backend, asked.replace(b"HEAD", b"GET").replace(b"Host", b"Connection: close\r\nHost")).partition(b"\r\n\r\n")[0]

        def told(text):
            return {x for x in text.split(b"\r\n")[1:] if x.split(b":")[0] in (b"Content-Type", b"Content-Length", b"Allow")}
        equal((head.split()[1], told(head)), (got.split()[1], told(got)), path)
    status, headers, _ = _answers(backend, "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")[0]
    equal((status, headers["allow"]), (405, "GET, HEAD, POST"), "another method")


def a_query_that_is_wrong_is_refused(place):
    backend = lib.Backend(place)
    equal(post(backend, line(1))[0], 200, "stored")
    session = f"/{SESSION}"
    for query, *words in (
            ("?limit=abc", "limit", "abc", "1 to 10000"), ("?limit=-1", "limit", "-1"), ("?limit=0", "limit"),
            ("?limit=10001", "limit", "10001"), ("?limit=", "limit"), ("?limit", "limit"), ("?limit=+1", "limit"),
            ("?limit=1.5", "1.5"), ("?limit=99999999999999999999", "limit"), ("?limit=1&limit=2", "limit", "given twice"),
            ("?limt=1", "limt", "expected limit, offset"), ("?=1", "expected limit, offset"), ("?LIMIT=1", "LIMIT"),
            ("?offset=-1", "offset"), (f"?{'x' * 3000}=1", "xxxx"), ("?%22%0a%ff=1", "\""),
            (session + "?x=1", "x", "expected none"), (session + "/kernels?limit=1001", "1 to 1000"),
            (session + "/kernels?points=1", "points"), (session + "/memory?limit=1", "limit", "none"),
            (session + "/metrics?points=0", "points"), (session + "/metrics?from_ns=now", "from_ns", "now"),
            (session + "/scopes?to_ns=-5", "to_ns"), (session + "/scopes?metric=gpu_util", "metric"),
            (session + "/export?channel=device&limit=1", "limit"), (session + "/export", "channel"),
            (session + "/export?channel=a/b", "channel"), (session + "/launches?by=x", "x"),
            (session + "/streams?channel=device&file=0&offset=0", "file"),
            (session + "/streams?channel=device&file=1&offset=-1", "offset"),
            (session + "/streams?file=1&offset=1", "channel")):
        status, _, body = _answers(backend, SESSIONS.format(query))[0]
        answer = json.loads(body)
        equal((status, set(answer)), (400, {"error", "message"}), f"{query[:60]}: {answer}")
        check(all(w in answer["message"] for w in words), f"{query[:60]}: {answer}")
    for query in ("", "?", "?limit=1", "?limit=10000&offset=0", "/", session, session + "/metrics?metric=gpu_util&points=10",
                  session + "/launches?by=scope&limit=1", session + "/streams?channel=device&file=1&offset=0"):
        status, _, body = _answers(backend, SESSIONS.format(query))[0]
        check(status == (404 if "streams" in query else 200), f"{query}: {status} {body}")


def a_request_that_is_too_long_has_an_answer(place):
    """Some numbers of arguments used to leave the connection without one."""
    backend = lib.Backend(place)
    for n in (33, 100, 400, 500, 600, 1000):
        _refused(backend, f"{n} arguments", SESSIONS.format("?" + "&".join(f"a{i}" for i in range(n))), 400, "32 arguments")
    body = line(1).decode()
    for n in (33, 500):
        _refused(backend, f"a body and {n} arguments", STREAM.replace("stream", "stream?" + "&" * (n - 1)) +
                 f"Content-Length: {len(body)}\r\n\r\n{body}", 400, "32 arguments")
    equal(backend.session(SESSION), None, "nothing of it is stored")
    for n in (8001, 20000):
        _refused(backend, f"a query of {n}", SESSIONS.format("?a=" + "x" * n), 414, "8000 bytes")
        _refused(backend, f"a path of {n}", SESSIONS.format("/" + "x" * n), 414, "8000 bytes")
    _refused_by_the_library(backend, "a longer one", SESSIONS.format("/" + "x" * 40000), 414)
    _refused_by_the_library(backend, "800 headers", "GET / HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"a{i}: 1\r\n" for i in range(800)) + "\r\n", 431)
    equal(_answers(backend, SESSIONS.format("/" + "x" * 7000))[0][0], 404, "one that is long enough")


def lines_of_any_bytes_come_back_as_they_are(place):
    """Some writers escape nothing. What is shown of them is JSON in UTF-8 all the same."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    start = b'{"type":"job_start","session_id":"%s","app":"%%s","hostname":"%%s","ts_ns":5}\n' % SESSION.encode()
    bodies = [start % (b"a\0b", b"\0"), start % (b"\xff\xfe\xed\xa0\x80", b"h\xc0\xafst"), start % (b'a"b\\', b"h\x01\x1f"),
              b'{"type":"x","session_id":"%s","deep":%s%s}\n' % (SESSION.encode(), b"[" * 100000, b"]" * 100000),
              b'{"type":"job_start","session_id":"%s","app":%s1%s}\n' % (SESSION.encode(), b'{"a":' * 50000, b"}" * 50000)]
    for body in bodies:
        equal(post(backend, body)[1]["accepted"], 1, f"{body[:99]}")
    equal(backend.export(SESSION, "all"), b"".join(bodies), "what is stored")
    for path in ("", "/delivery", "/metrics", "/scopes", "/kernels", "/streams", "?limit=1"):
        where = f"/sessions/{SESSION}{path}" if path[:1] != "?" else f"/sessions{path}"
        equal(request(backend, "GET", where)[0], 200, where)  # parsed as JSON in UTF-8
    once = json.dumps({"type": "x", "session_id": SESSION})
    for bad in (b"\0" * 500 + b"\n", b"[" * 100000 + b"\n", b"\xff\n", once.encode()[:-1] + b"\n", b"null\n",
                once.replace("}", f', "session_id": "{SESSION}"}}').encode() + b"\n",
                once.replace(SESSION, SESSION + "\\u0000").encode() + b"\n"):
        answer = post(backend, bad)[1]
        equal((answer["accepted"], answer["rejected"]), (0, 1), f"{bad[:99]}: {answer}")
        check(answer["errors"][0]["reason"], f"{answer}")
    equal(backend.export(SESSION, "all"), b"".join(bodies), "nothing of it is stored")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
