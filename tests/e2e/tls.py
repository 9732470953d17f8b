# SPDX-License-Identifier: Apache-2.0
"""Certificates, a TLS front for a backend, and a proxy that takes CONNECT."""
import contextlib
import datetime
import socket
import ssl
import subprocess
import threading


def _openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    """A CA of its own in a directory."""

    def __init__(self, place, name="ca"):
        self.path = place.path
        self.key, self.cert = place.path / f"{name}.key", place.path / f"{name}.pem"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.cert)

    def issue(self, name, host="localhost", days=1, expired=False):
        """(certificate, key) for a host."""
        key, request, cert = (self.path / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = self.path / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", f"/CN={host}", "-keyout", key, "-out", request)
        if not expired:
            _openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key, "-CAcreateserial",
                     "-days", days, "-extfile", extensions, "-out", cert)
            return cert, key
        now = datetime.datetime.now(datetime.timezone.utc)
        day = datetime.timedelta(days=1)
        database = self.path / "index.txt"
        database.write_text("")
        config = self.path / "ca.cnf"
        config.write_text(f"[ca]\ndefault_ca=d\n[d]\ndatabase={database}\nserial={self.path}/serial\n"
                          f"new_certs_dir={self.path}\npolicy=p\ndefault_md=sha256\n[p]\ncommonName=supplied\n")
        _openssl("ca", "-batch", "-config", config, "-cert", self.cert, "-keyfile", self.key, "-in", request,
                 "-rand_serial", "-extfile", extensions, "-out", cert, "-notext",
                 "-startdate", (now - 3 * day).strftime("%Y%m%d%H%M%SZ"),
                 "-enddate", (now - day).strftime("%Y%m%d%H%M%SZ"))
        return cert, key


def _pipe(a, b):
    with contextlib.suppress(OSError):
        while data := a.recv(65536):
            b.sendall(data)
    for s in (a, b):
        with contextlib.suppress(OSError):
            s.shutdown(socket.SHUT_RDWR)


def _join(a, b):
    other = threading.Thread(target=_pipe, args=(a, b), daemon=True)
    other.start()
    _pipe(b, a)
    other.join()  # before they are closed: OpenSSL would go on with a number that is another file's by then


class _Listener:
    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self._guarded, args=(client,), daemon=True).start()

    def _guarded(self, client):
        with contextlib.suppress(OSError, ssl.SSLError), client:
            self.serve(client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Front(_Listener):
    """TLS before a backend. `present(cert, key)` changes the certificate for new connections."""

    def __init__(self, backend, issued, client_ca=None, newest=None):
        self.backend, self.client_ca, self.newest = backend, client_ca, newest
        self.present(*issued)
        super().__init__()
        self.url = f"https://localhost:{self.port}"

    def present(self, cert, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self.newest:
            context.minimum_version = self.newest
            context.maximum_version = self.newest
            context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(cert, key)
        if self.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client_ca.cert)
        self.context = context

    def serve(self, client):
        with self.context.wrap_socket(client, server_side=True) as inner, \
                socket.create_connection(("127.0.0.1", self.backend.port)) as outer:
            _join(inner, outer)


class Proxy(_Listener):
    """Takes CONNECT and nothing else; `heads` are the requests that it saw."""

    def __init__(self):
        self.heads = []
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536) or b"\r\n\r\n"
        self.heads.append(head)
        method, target = head.split(b" ", 2)[:2]
        if method != b"CONNECT":
            client.sendall(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
            return
        host, port = target.decode().rsplit(":", 1)
        with socket.create_connection(("127.0.0.1" if host == "localhost" else host, int(port))) as outer:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            _join(client, outer)
