# SPDX-License-Identifier: Apache-2.0
"""What stands between an uploader and its backend, and fails in every way that sockets can.

`Gateway(backend.url, plan)`: plan(gateway, head, n) names what happens to the n-th batch (from 1):
one of the words below, or bytes, which are the whole answer, or a function that returns one of these
once the request was read, and may wait. Other requests pass. Without `positions`, the uploader does not
learn that the backend knows them. While plan runs, `gateway.kept` tells whether the batch came over a
connection that had carried a request before.
"""
import contextlib
import socket
import struct
import threading
import time

from lib import until

PASS = "pass"
DRIBBLE = "dribble"                # the backend's answer, byte by byte
RESET_BEFORE = "reset before"      # the body is read
RESET_AFTER = "reset after"        # the body was read; nothing is stored
CLOSED = "closed"                  # likewise, without an error
STORED_RESET = "stored, reset"     # stored, and its answer lost
STORED_CUT = "stored, cut"         # stored, and half of its answer given
SILENCE = "silence"                # nothing comes back, nothing is stored
STORED_SILENCE = "stored, silence"
GARBAGE = b"\x16\x03\x01\x00\xff no HTTP\r\n\r\n"


def answer(status, body=b"{}", *headers, kind="application/json"):
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}",
             *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class Gateway:
    def __init__(self, backend_url, plan, positions=True):
        host, port = backend_url.split("//")[1].split(":")
        self.backend, self.plan, self.positions = (host, int(port)), plan, positions
        self.lock = threading.Lock()
        self.batches = 0
        self.open = 0  # connections
        self.kept = False
        self.heads = []
        self.stored = set()  # ids that were stored although the client does not know
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with self.lock:
                    self.open += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with contextlib.suppress(OSError, EOFError), client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kept = False
            while self._request(client, kept):
                kept = True
        with self.lock:
            self.open -= 1

    def until_served(self):
        """Until what clients have sent that are gone was answered. They are accepted in the order in which they came."""
        with socket.create_connection(self.listener.getsockname()) as last:
            last.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            _some(last)
        until(lambda: not self.open, "all clients are gone")

    def _request(self, client, kept):
        data = b""
        while b"\r\n\r\n" not in data:
            data += _some(client)
        head, body = data.split(b"\r\n\r\n", 1)
        action = PASS
        if any(path in head.split(b"\r\n", 1)[0] for path in (b"/events/stream", b"/events/parts")):
            with self.lock:
                self.batches += head.startswith(b"POST ") and _length(head) > 0  # not a question about the key
                self.heads.append(head)
                self.kept = kept
                action = self.plan(self, head, self.batches)
        if action == RESET_BEFORE:
            return _reset(client)
        while len(body) < _length(head):
            body += _some(client)
        if callable(action):
            action = action()
        if action == RESET_AFTER:
            return _reset(client)
        if action == CLOSED:
            return False
        if action == SILENCE:
            return _until_it_goes(client)
        if isinstance(action, bytes):
            client.sendall(action)
            return action is not GARBAGE
        reply = self._forward(head, body)
        if not self.positions:
            reply = reply.replace(b'"positions":true', b'"positions":null')
        if action == STORED_RESET:
            return _reset(client)
        if action == STORED_SILENCE:
            return _until_it_goes(client)
        if action == STORED_CUT:
            client.sendall(reply[:-len(reply) // 4])
            return False
        if action == DRIBBLE:
            for i in range(len(reply)):
                client.sendall(reply[i:i + 1])
                time.sleep(0.0005)  # what a slow peer does
            return True
        client.sendall(reply)
        return True

    def _forward(self, head, body):
        with socket.create_connection(self.backend) as backend:
            backend.sendall(head + b"\r\n\r\n" + body)
            reply = b""
            while b"\r\n\r\n" not in reply:
                reply += _some(backend)
            top, rest = reply.split(b"\r\n\r\n", 1)
            while len(rest) < _length(top):
                rest += _some(backend)
            return top + b"\r\n\r\n" + rest


def header(head, name):
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name.lower().encode():
            return value.strip().decode()
    return ""


def _length(head):
    return int(header(head, "content-length") or 0)


def _some(peer):
    data = peer.recv(65536)
    if not data:
        raise EOFError
    return data


def _until_it_goes(client):
    _some(client)
    return False


def _reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False
