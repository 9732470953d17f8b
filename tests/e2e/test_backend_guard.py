# SPDX-License-Identifier: Apache-2.0
"""gpufl-backend beside a second one, and among peers that mean harm or are slow: nothing is split
in two, and nobody is kept out."""
import contextlib
import itertools
import os
import resource
import shutil
import socket
import sqlite3
import sys
import time

import lib
from lib import check, equal
from test_backend import SESSION, _random_body, line, post

CROWD = 700  # the server takes 512
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
    for address, key in (("127.0.0.1", ()), ("0.0.0.0", ("--insecure",))):
        other = place.path / "other.db"
        _refused(place, "--listen", f"{address}:{backend.port}", "--db", other, *key,
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


@contextlib.contextmanager
def _moved(path):
    """Out of the way, and back."""
    other = path.with_name("moved")
    path.rename(other)
    yield
    if path.is_file():
        path.unlink()
    other.rename(path)


@contextlib.contextmanager
def _replaced(path):
    """A copy is put over it, as from a backup."""
    with _moved(path):
        shutil.copyfile(path.with_name("moved"), path)
        yield


def _answers(backend):
    """What a sender goes by, and what a monitor does."""
    posts = [post(backend, line(2))[0],
             *(post(backend, body, path=f"/api/v1/{path}")[0] for path, body in
               (("events/parts", b'{"parts":[]}\n'), ("events/session-complete", b""),
                ("events/alive", b'{"sessions":[{"session":"x","silent_ms":1}]}')))]
    gets = [post(backend, b"", path=path, method="GET")[0]
            for path in ("/api/v1/info/version", f"/api/v1/sessions/{SESSION}/streams", "/healthz")]
    return posts + gets


def nothing_is_acknowledged_without_the_file(place):
    """Whoever opens the path next, this server after its next start included, has none of it."""
    folder = place.path / "data"
    folder.mkdir()
    backend = lib.Backend(place, "--api-key", lib.KEY, "--db", folder / "backend.db")
    window = ("w1", "device", 1)
    equal(post(backend, line(1), window=window)[0], 200, "it works")
    log = backend.process.log
    cases = [(_moved, folder / "backend.db"), (_replaced, folder / "backend.db"), (_moved, folder),
             (_moved, folder / "backend.db-wal"), (_replaced, folder / "backend.db-wal")]
    for n, (change, path) in enumerate(cases, 1):
        with change(path):
            equal(_answers(backend), [503] * 7, f"{change.__name__} {path}")
            status, answer = post(backend, line(1), window=window)
            equal((status, answer["error"]), (503, "store"), "not even what was stored before")
            named = folder / "backend.db" if path == folder else path
            check(f"{named}: removed or replaced" in answer["message"], f"{answer}")
            check("restart" in answer["message"], f"{answer}")
            equal((log.read_text().count("store.failing"), log.read_text().count("store.works")), (n, n - 1), "said once")
            equal(backend.export(SESSION, "device"), line(1), "what it holds open can be rescued")
        equal(post(backend, b"", path="/healthz", method="GET", key="")[0], 200, "it is back")
        equal(log.read_text().count("store.works"), n, "that is said")
    equal(post(backend, line(1), window=window)[0], 200, "as before")
    equal(backend.export(SESSION, "all"), b"", "nothing was taken meanwhile")


def a_second_server_on_a_removed_database_ends_the_first(place):
    first = lib.Backend(place, "--api-key", lib.KEY)
    equal(post(first, line(1))[0], 200, "it works")
    for path in place.path.glob("backend.db*"):
        path.unlink()
    second = lib.Backend(place, "--api-key", lib.KEY)
    equal((post(first, line(2))[0], post(second, line(3))[0]), (503, 200), "one of them stores")
    equal(second.export(SESSION, "device"), line(3), "what is stored")


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


def _asked(backend, method, path, body=b"", **headers):
    with _connect(backend) as client:
        lines = [f"{method} {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}",
                 f"X-GpuFlight-Session-Id: {SESSION}", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
        client.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        answer = b""
        while part := client.recv(65536):
            answer += part
        return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2].decode()


def a_page_of_another_site_stores_nothing(place):
    """A browser sends its request, with the password that it knows, though the page may not read the answer."""
    for args, key in (((), {}), (("--api-key", lib.KEY), {"Authorization": f"Bearer {lib.KEY}"})):
        backend = lib.Backend(place, *args)
        here = f"127.0.0.1:{backend.port}"
        for how in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"},
                    {"Sec_Fetch_Site": "same-site"}, {"Origin": f"http://localhost:{backend.port}"}):
            status, text = _asked(backend, "POST", STREAM, line(1), Host=here, **key, **how)
            check(status == 403 and "Origin: a page of another site" in text, f"{how}: {status} {text}")
        equal(backend.export(SESSION, "device"), b"", "nothing is stored")
        equal(_asked(backend, "POST", STREAM, line(1), Host=here, Origin=f"http://{here}",
                     Sec_Fetch_Site="same-origin", **key)[0], 200, "one of its own")
        equal(_asked(backend, "GET", "/", Host=here, Sec_Fetch_Site="cross-site", **key)[0], 200, "a link to the page")
        backend.kill()
        (place.path / "backend.db").unlink()


def without_a_key_only_names_of_this_host_are_served(place):
    """A name of another site may resolve to this host."""
    backend = lib.Backend(place)
    equal(post(backend, line(1))[0], 200, "it works")
    for host in ("evil.example", f"evil.example:{backend.port}", "localhost.evil.example", "notlocalhost", "10.0.0.1",
                 "127.0.0.1.evil.example", "[2001:db8::1]:80", ""):
        for method, path in (("GET", "/api/v1/sessions"), ("GET", "/"), ("POST", STREAM)):
            status, text = _asked(backend, method, path, Host=host)
            check(status == 403 and "Host: not a name of this host" in text, f"{host}: {status} {text}")
    for host in ("localhost", f"LocalHost:{backend.port}", "job.localhost", "127.0.0.1", "127.8.9.10:1", "[::1]:8765",
                 socket.gethostname()):
        equal(_asked(backend, "GET", "/api/v1/sessions", Host=host)[0], 200, host)
    backend.kill()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(_asked(backend, "GET", "/api/v1/sessions", Host="gpufl.example", Authorization=f"Bearer {lib.KEY}")[0], 200,
          "with a key, behind a proxy")


def who_asks_before_sending_a_body_is_answered_before(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for key, want in ((None, b"HTTP/1.1 401"), (lib.KEY, b"HTTP/1.1 100")):
        with _connect(backend) as client:
            client.sendall(_headers(STREAM, 4 << 20, key, Expect="100-continue"))
            equal(client.recv(12), want, f"key {key}")


def a_page_of_another_site_is_answered_before_its_body(place):
    for args, headers in (((), {"Host": "evil.example"}), ((), {"Host": "127.0.0.1", "Origin": "http://evil.example"}),
                          (("--api-key", lib.KEY), {"Host": "gpufl.example", "Origin": "http://evil.example",
                                                    "Authorization": f"Bearer {lib.KEY}"})):
        backend = lib.Backend(place, *args)
        with _connect(backend) as client:
            lines = [f"POST {STREAM} HTTP/1.1", f"Content-Length: {4 << 20}", "Expect: 100-continue",
                     f"X-GpuFlight-Session-Id: {SESSION}", *(f"{k}: {v}" for k, v in headers.items())]
            client.sendall("\r\n".join([*lines, "", ""]).encode())
            equal(client.recv(12), b"HTTP/1.1 403", f"{headers}")
        backend.kill()


def any_name_is_served_where_every_host_may_ask(place):
    """--insecure on an address that others reach, by whatever name they have for it."""
    backend = lib.Backend(place, "--insecure", "--listen", "0.0.0.0:0")
    equal(_asked(backend, "GET", "/api/v1/sessions", Host="gpu-7.cluster.example")[0], 200, "by its name")
    equal(_asked(backend, "POST", STREAM, line(1), Host="gpu-7.cluster.example")[0], 200, "a sender")
    equal(_asked(backend, "POST", STREAM, line(1), Host="gpu-7.cluster.example", Origin="http://evil.example")[0], 403,
          "but no page of another site")


class _Crowd:
    """Connections beyond the most that the server takes, each after some bytes; new ones for those that end."""

    def __init__(self, backend, begin, drip, sources=("127.0.0.1",)):
        self.backend, self.begin, self.drip, self.sources = backend, begin, drip, itertools.cycle(sources)
        self.clients = [self._one() for _ in range(CROWD)]

    def _one(self):
        client = socket.create_connection(("127.0.0.1", self.backend.port), timeout=20 * lib.SLOW,
                                          source_address=(next(self.sources), 0))
        client.setblocking(False)
        with contextlib.suppress(OSError):  # closed meanwhile: go_on() sees it. shutdown() calls that ENOTCONN
            client.send(self.begin)
            if self.drip is None:
                client.shutdown(socket.SHUT_WR)
        return client

    def go_on(self):
        """Each sends a little more."""
        for i, client in enumerate(self.clients):
            try:
                if self.drip:
                    client.send(self.drip)
                if client.recv(1) == b"":
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except ConnectionError:
                client.close()
                self.clients[i] = self._one()

    def close(self):
        for client in self.clients:
            client.close()


def _slow_kinds():
    """What each of a crowd begins with, and goes on with; None: it ends its half of the connection."""
    headers = _headers(STREAM, 1 << 20)
    with_key = _headers(STREAM, 1 << 20, lib.KEY)
    yield from {"idle": (b"", b""), "slow headers": (headers[:20], b"x"), "slow body": (headers, b"x"),
                "half of the headers, and no more": (headers[:20], None),
                "half of a body, and no more": (headers + b"x" * 99, None),
                "a slow body with the key": (with_key, b"x")}.items()


def _post_until_answered(backend, body, limit_s):
    """As each of our clients does: where one with the key goes for each that comes, it may be this one."""
    end = time.monotonic() + limit_s
    while True:
        try:
            return post(backend, body)[0]
        except ConnectionError:
            if time.monotonic() > end:
                raise


def slow_clients_keep_nobody_out(place):
    """More of them than there is room for, of one address, of that of the others, of 700, which do nothing, or send
    headers or a body byte by byte."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    want, n = b"", 0
    crowds = {"another address": ["127.0.0.2"], "the same address": ["127.0.0.1"],
              "700 addresses": [f"127.1.{i // 200}.{1 + i % 200}" for i in range(CROWD)]}
    for whose, sources in crowds.items():
        for kind, (begin, drip) in _slow_kinds():
            crowd = _Crowd(backend, begin, drip, sources)
            for _ in range(3):
                began = time.monotonic()
                n, want = n + 1, want + line(n + 1)
                equal(_post_until_answered(backend, line(n), 3 * lib.SLOW), 200, kind)
                spent = time.monotonic() - began
                check(spent < 3 * lib.SLOW, f"{kind} of {whose}: {spent:.1f} s")
                crowd.go_on()
            crowd.close()
    equal(backend.export(SESSION, "device"), want, "what is stored")


class _Refused:
    """Clients without a key, as many as there may be before one goes for each that comes: each sends many requests at
    once and reads next to nothing of the answers."""

    REQUESTS = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 200

    def __init__(self, backend):
        self.backend = backend
        self.clients = [self._one() for _ in range(448)]

    def _one(self):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.settimeout(20 * lib.SLOW)
        client.connect(("127.0.0.1", self.backend.port))
        client.setblocking(False)
        return client

    def push(self):
        for i, client in enumerate(self.clients):
            try:
                while True:
                    client.send(self.REQUESTS)
            except BlockingIOError:
                pass
            except ConnectionError:
                client.close()
                self.clients[i] = self._one()

    def close(self):
        for client in self.clients:
            client.close()


def clients_that_are_refused_keep_nobody_out(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    crowd = _Refused(backend)
    want = b""
    for n in range(1, 11):
        crowd.push()
        with _connect(backend) as client:  # sends its body in parts, while the others go on
            client.sendall(_headers(STREAM, len(line(n)), lib.KEY, **{"Content-Type": "application/x-ndjson"}))
            crowd.push()
            client.sendall(line(n))
            equal(client.recv(12), b"HTTP/1.1 200", f"POST {n}")
        want += line(n)
    crowd.close()
    equal(backend.export(SESSION, "device"), want, "what is stored")


def a_refusal_ends_its_connection(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with _connect(backend) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = b""
        while more := client.recv(4096):
            answer += more
    check(answer.startswith(b"HTTP/1.1 401") and b"Connection: close" in answer, f"{answer}")


def headers_that_never_end_do(place):
    backend = lib.Backend(place)
    with _connect(backend) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        client.setblocking(False)

        def ended():
            try:
                client.send(b"x")
                return client.recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionError:
                return True
        lib.until(ended, "the connection ends", 40)
    equal(post(backend, line(1))[0], 200, "others are served")


def a_full_disk_is_507_until_there_is_room(place):
    """The limit of a file's size stands for the disk: it can be raised while the server runs."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    window = ("w1", "device", 1)
    equal(post(backend, line(1), window=window)[0], 200, "it works")
    resource.prlimit(backend.process.pid, resource.RLIMIT_FSIZE, (400 << 10, resource.RLIM_INFINITY))
    large = _random_body(SESSION, 2)
    status, answer = 200, {}
    stored = line(1)
    while status == 200:
        status, answer = post(backend, large)
        stored += large if status == 200 else b""
    equal((status, answer["error"], "File too large" in answer["message"]), (507, "full", True), f"{answer}")
    for _ in range(3):
        status, text = post(backend, b"", path="/healthz", method="GET", key="")
        equal((status, b"File too large" in text), (503, True), f"{text}")
    equal(backend.process.log.read_text().count("store.failing"), 1, "said once")
    equal(post(backend, line(1), window=window)[0], 200, "what it has is not refused")
    equal(sorted(backend.export(SESSION, "device") + backend.export(SESSION, "all")), sorted(stored), "nothing is lost")
    resource.prlimit(backend.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    lib.until(lambda: post(backend, b"", path="/healthz", method="GET", key="")[0] == 200, "it is well again")
    equal(post(backend, large)[0], 200, "and stores")
    check("store.works" in backend.process.log.read_text(), "that is said")


def a_server_that_starts_on_a_full_disk_says_so(place):
    if lib.BUILD.name == "thread":
        lib.skip("ThreadSanitizer writes a file of its own at the start of a program")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(post(backend, line(1))[0], 200, "stored")
    backend.kill()
    for db in ("backend.db", "new.db"):
        done = place.run("gpufl-backend", "--listen", "127.0.0.1:0", "--db", place.path / db,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
        equal((done.returncode, done.stderr.count("\n")), (1, 1), f"{db}: {done.stderr}")
        for word in ("--db", db, "File too large", "free some space"):
            check(word in done.stderr, f"{word!r} is missing: {done.stderr}")
    backend.start()
    equal(backend.export(SESSION, "device"), line(1), "what is stored")


def _database(path, script):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(script)


def a_database_of_another_application_is_left_alone(place):
    scripts = {"tables": "CREATE TABLE t(x); INSERT INTO t VALUES(1);",
               "a table of the same name": "CREATE TABLE session(id); PRAGMA user_version=2;",
               "an application": "PRAGMA application_id=7;",
               "ours in part": "CREATE TABLE text(x); CREATE TABLE theirs(x); PRAGMA user_version=2;",
               "a view": "CREATE VIEW v AS SELECT 1; PRAGMA user_version=2;"}
    for n, (what, script) in enumerate(scripts.items()):
        path = place.path / f"{n}.db"
        _database(path, script)
        before = path.read_bytes()
        _refused(place, "--listen", "127.0.0.1:0", "--db", path,
                 words=("--db", path.name, "of another application", "name another file"))
        equal((path.read_bytes() == before, list(place.path.glob(f"{n}.db-*"))), (True, []), what)


def a_database_of_another_version_is_left_alone(place):
    path = place.path / "newer.db"
    _database(path, "PRAGMA application_id=0x6770666c; PRAGMA user_version=8; CREATE TABLE text(x);")
    before = path.read_bytes()
    _refused(place, "--listen", "127.0.0.1:0", "--db", path, words=("--db", "another version"))
    equal(path.read_bytes(), before, "its bytes")


def a_database_of_the_version_before_is_taken_over(place):
    """Which lacked a table; one without an application_id; one that was killed while it made its tables."""
    backend = lib.Backend(place)
    path = place.path / "backend.db"
    equal(post(backend, line(1))[0], 200, "stored")
    for script in ("PRAGMA user_version=6; DROP TABLE claimant", "PRAGMA user_version=5; DROP TABLE clock", "PRAGMA user_version=3; DROP TABLE alive", "PRAGMA application_id=0",
                   "PRAGMA application_id=0; DROP TABLE series; DROP TABLE text"):
        backend.kill()  # its log is not written back
        _database(path, script)
        backend.start()
        equal(backend.export(SESSION, "device"), line(1), "what is stored")
        with contextlib.closing(sqlite3.connect(path)) as db:
            equal(db.execute("PRAGMA application_id").fetchone(), (0x6770666c,), "it is ours now")
    equal(post(backend, line(2))[0], 200, "stored")
    path = place.path / "begun.db"
    _database(path, "PRAGMA application_id=0x6770666c")
    process = place.start("gpufl-backend", "--listen", "127.0.0.1:0", "--db", path)
    lib.until(lambda: "http://" in process.log.read_text(), "one that was only begun is made")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
