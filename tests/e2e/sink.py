# SPDX-License-Identifier: Apache-2.0
"""A backend with switches: answers as told, stores what it acknowledged.

`Sink(answer=f)`: f(sink, request) returns a status, None for "store and answer 200", or one of
the words below. Without `declare` it says nothing at info/version, like a hosted server;
with a number, it answers that.
"""
import ctypes
import ctypes.util
import http.server
import json
import threading
import time
import zlib

DROP = "drop"            # read the request, close without an answer
STORE_DROP = "storedrop"  # store it, close without an answer
CUT = "cut"              # answer, but cut the reply short

# What every program says of a 403.
SAYS_403 = "the backend, or something in front of it, refused the request or the API key"

_zstd = ctypes.CDLL("libzstd.so.1")
_zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
_zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_compressBound.restype = ctypes.c_size_t
_zstd.ZSTD_compress.restype = ctypes.c_size_t


def zstd(data):
    """One frame."""
    out = ctypes.create_string_buffer(_zstd.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    got = _zstd.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:got]


def unzstd(body):
    size = _zstd.ZSTD_getFrameContentSize(body, ctypes.c_size_t(len(body)))
    out = ctypes.create_string_buffer(max(size, 1))
    got = _zstd.ZSTD_decompress(out, ctypes.c_size_t(size), body, ctypes.c_size_t(len(body)))
    if got != size:
        raise ValueError("not zstd")
    return out.raw[:size]


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.encoding = headers.get("Content-Encoding", "")
        self.session = headers.get("X-GpuFlight-Session-Id", "")
        self.channel = headers.get("X-GpuFlight-Window-Channel", "")
        self.window_id = headers.get("X-GpuFlight-Window-Id") or headers.get("Idempotency-Key")
        self.status = None

    def raw(self):
        if self.encoding == "zstd":
            return unzstd(self.body)
        if self.encoding == "gzip":
            return zlib.decompress(self.body, 31)
        return self.body

    @property
    def to_stream(self):
        return self.method == "POST" and self.path.endswith("/events/stream")

    @property
    def is_batch(self):
        return self.to_stream and bool(self.body)  # one without a body asks whether the key is taken


class Sink:
    def __init__(self, answer=None, declare=False, key=None, delay_s=0.0, get=405,
                 alive_after_ms=None, epoch=None, one_registry=False):
        self.answer, self.declare, self.key, self.delay_s = answer, declare, key, delay_s
        self.one_registry = one_registry  # of window ids, for all sessions and users
        self.get = get  # the status of a GET where batches go
        self.alive_after_ms, self.epoch = alive_after_ms, epoch
        self.lock = threading.Lock()
        self.requests = []
        self.stored = {}  # session and window id → raw bytes, once, in order of arrival
        self.bodies = {}  # window id → body, with one registry
        self.lines = []
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # its answers are two writes: 40 ms without

            def log_message(self, *args):
                pass

            def do_GET(self):
                sink.handle(self, "GET")

            def do_POST(self):
                sink.handle(self, "POST")

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                pass  # a client that goes away is part of the tests

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        # It looks each 10 ms whether it was closed; by default each half a second, and close() waits for that.
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def batches(self):
        with self.lock:
            return [r for r in self.requests if r.is_batch]

    def completes(self):
        """How often it was told that a session is complete."""
        with self.lock:
            return sum(r.path.endswith("session-complete") for r in self.requests)

    def missing(self, writer):
        """The lines of a writer that are not stored; none is stored twice."""
        with self.lock:
            stored = [line.rstrip(b"\n") for line in self.lines]
        if len(stored) != len(set(stored)):
            raise AssertionError("something is stored twice")
        return {line for data in writer.written.values() for line in bytes(data).splitlines()} - set(stored)

    def store(self, request):
        raw = request.raw()
        identity = (request.session, request.window_id) if request.window_id else object()
        if self.one_registry and request.window_id:
            identity = request.window_id
            self.bodies.setdefault(identity, request.body)
        if identity not in self.stored:
            self.stored[identity] = raw
            self.lines += raw.splitlines()

    def handle(self, handler, method):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        if len(body) < int(handler.headers.get("Content-Length") or 0):
            return None  # its sender has died
        request = Request(method, handler.path, handler.headers, body)
        with self.lock:
            self.requests.append(request)
        time.sleep(self.delay_s)
        if handler.path.endswith("/info/version"):
            return self.version(handler)
        if self.key and handler.headers.get("Authorization") != f"Bearer {self.key}":
            return self.reply(handler, request, 401, {"error": "key"})
        if method == "GET":  # asked to see whether the key is taken
            return self.reply(handler, request, self.get, {"error": "POST"})
        with self.lock:
            said = self.answer(self, request) if self.answer else None
            if said in (None, STORE_DROP, CUT) and self.bodies.get(request.window_id, request.body) != request.body:
                said = said or (409, {"error": "window_identity_conflict"})
            elif said in (None, STORE_DROP, CUT) and request.is_batch:
                self.store(request)
        if said in (DROP, STORE_DROP):
            handler.close_connection = True
            handler.connection.close()
            return None
        if said == CUT:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"acc")
            handler.close_connection = True
            return None
        if isinstance(said, tuple):
            return self.reply(handler, request, said[0], said[1], said[2:])
        return self.reply(handler, request, said or 200, {"window_acknowledged": True})

    def version(self, handler):
        if self.declare is not True:
            return self.reply(handler, None, self.declare or 404, {})
        return self.reply(handler, None, 200, {
            "supported": ["1"], "encodings": ["zstd", "gzip"], "live_windows": True,
            "window_registry": True, **({"alive_after_ms": self.alive_after_ms} if self.alive_after_ms else {}),
            **({"epoch": self.epoch} if self.epoch else {})})

    def reply(self, handler, request, status, body, headers=()):
        if request:
            request.status = status
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        try:
            handler.send_response(status)
            for name, value in headers:
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            pass
