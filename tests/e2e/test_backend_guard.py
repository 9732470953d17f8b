# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend beside a second one, and among peers that mean harm or are slow: nothing is split
in two, and nobody is kept out."""
import contextlib
import os
import socket
import sys

import lib
from lib import check, equal
from test_backend import SESSION, line, post

STREAM = "/api/v1/events/stream"


def _refused(place, *args, words):
    """A second server says each of the words, and ends."""
    done = place.run("gpufl-backend", *args)
    equal(done.returncode, 1, f"{args}: {done.stdout}{done.stderr}")
    for word in words:
        check(word in done.stderr, f"{word!r} is missing: {done.stderr}")
    equal(done.stderr.count("\n"), 1, "lines")


def a_second_server_on_the_port_is_refused(place):
    backend = lib.Backend(place)
    for address in ("127.0.0.1", "0.0.0.0"):
        other = place.path / "other.db"
        _refused(place, "--listen", f"{address}:{backend.port}", "--db", other, "--insecure",
                 words=("--listen", f"{address}:{backend.port}", "Address already in use", "name another port"))
        check(not other.exists(), "it makes no database")
    equal(post(backend, line(1))[0], 200, "the first one serves on")
    backend.kill()
    backend.start()  # at once, on the same port
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def a_second_server_on_the_database_is_refused(place):
    backend = lib.Backend(place)
    db = place.path / "backend.db"
    link, hard = place.path / "link.db", place.path / "hard.db"
    link.symlink_to(db)
    os.link(db, hard)
    for name in (db, link, hard):
        _refused(place, "--listen", "127.0.0.1:0", "--db", name,
                 words=("--db", str(name), "in use by another gpufl-backend", "name another file"))
    hard.unlink()
    equal(post(backend, line(1))[0], 200, "the first one serves on")
    backend.kill()
    backend.start()
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def _headers(path, length, key=None, method="POST", **more):
    lines = [f"{method} {path} HTTP/1.1", "Host: h", f"Content-Length: {length}",
             f"X-GpuFlight-Session-Id: {SESSION}", *(f"{k}: {v}" for k, v in more.items())]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    return "\r\n".join([*lines, "", ""]).encode()


def _connect(backend):
    return socket.create_connection(("127.0.0.1", backend.port), timeout=20 * lib.SLOW)


def a_body_that_nobody_wants_takes_no_memory(place):
    """80 at a time, of clients without a key or for a path that takes none, each 4 MiB."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(post(backend, line(1))[0], 200, "it works")
    before = lib.peak_kib(backend.process.pid)
    whole, part = 4 << 20, b"x" * (1 << 20)
    kinds = [({}, 401), ({"key": "wrong"}, 401), ({"key": lib.KEY, "path": "/api/v1/none"}, 404),
             ({"path": "/healthz", "method": "GET"}, 200)]
    with contextlib.ExitStack() as stack:
        clients = []
        for n in range(80):
            client = stack.enter_context(_connect(backend))
            how, status = kinds[n % len(kinds)]
            client.sendall(_headers(**{"path": STREAM, **how}, length=whole) + part * 3)
            clients.append((client, status))
        for client, status in clients:
            client.sendall(part)
            equal(int(client.recv(100).split()[1]), status, "its answer")
        grown = lib.peak_kib(backend.process.pid) - before
        check(lib.MEASURES_ITSELF or grown < 24 << 10, f"{grown} KiB")
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def who_asks_before_sending_a_body_is_answered_before(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for key, want in ((None, b"HTTP/1.1 401"), (lib.KEY, b"HTTP/1.1 100")):
        with _connect(backend) as client:
            client.sendall(_headers(STREAM, 4 << 20, key, Expect="100-continue"))
            equal(client.recv(12), want, f"key {key}")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
