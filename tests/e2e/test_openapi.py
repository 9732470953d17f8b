# SPDX-License-Identifier: Apache-2.0
"""schema/openapi.json against gpufl-backend's answers, and against what our senders send."""
import contextlib
import gzip
import http.client
import json
import re
import shutil
import sqlite3
import sys
import urllib.parse
import uuid
import zlib

import schemas  # first: it may start this anew by the Python that has jsonschema
import lib
from lib import check, equal
from positions import Part, ZERO, body_of
import sink
from test_backend import SESSION, line
import writers

DOC = json.loads((lib.ROOT / "schema/openapi.json").read_text())


def _at(reference):
    node = DOC
    for part in reference.removeprefix("#/").split("/"):
        node = node[part]
    return node


def _whole(node):
    """A copy without references."""
    if isinstance(node, list):
        return [_whole(n) for n in node]
    if not isinstance(node, dict):
        return node
    return _whole(_at(node["$ref"])) if "$ref" in node else {k: _whole(v) for k, v in node.items()}


WHOLE = _whole(DOC["paths"])


def _fits(schema, value, what):
    error = next(schemas.jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    check(not error, f"{what}: {error and error.message}")


class Client:
    """Asks a backend and holds every answer against the document."""

    def __init__(self, backend):
        self.backend, self.seen = backend, set()

    def ask(self, method, path, body=b"", key=lib.KEY, query="", **headers):
        """One request; \\p path as the document names it. Headers with _ for -."""
        operation = WHOLE[path][method]
        prefix = "" if "servers" in WHOLE[path] else "/api/v1"
        url = prefix + path.replace("{session_id}", headers.pop("session_id", SESSION)).replace(
            "{name}", headers.pop("name", "app.js")) + query
        names = {k.replace("_", "-"): v for k, v in headers.items()}
        if key:
            names["Authorization"] = f"Bearer {key}"
        connection = http.client.HTTPConnection("127.0.0.1", self.backend.port,
                                                timeout=20 * lib.SLOW)
        connection.request(method.upper(), url, body, names)
        reply = connection.getresponse()
        events = reply.headers.get_content_type() == "text/event-stream"  # it does not end
        data = reply.read1(64) if events else reply.read()
        connection.close()
        self.judge(operation, reply, data)
        return reply.status, data

    def judge(self, operation, reply, data):
        name = f"{operation['operationId']} {reply.status}"
        documented = operation["responses"].get(str(reply.status))
        check(documented, f"{name} is not documented: {data[:200]!r}")
        self.seen.add((operation["operationId"], str(reply.status)))
        for header, rule in documented.get("headers", {}).items():
            check(reply.headers[header] is not None, f"{name} lacks {header}")
            _fits(rule["schema"], reply.headers[header], f"{name}, {header}")
        kind = reply.headers.get_content_type()
        content = documented["content"].get(kind)
        check(content, f"{name}: {kind} is not documented")
        value = json.loads(data) if kind == "application/json" else data.decode()
        _fits(content["schema"], value, f"{name}: {data[:200]!r}")


def _window(body, channel="device", sequence="1", ident=None):
    return {"X_GpuFlight_Window_Id": ident or str(uuid.uuid4()),
            "X_GpuFlight_Window_Channel": channel, "X_GpuFlight_Window_Sequence": sequence,
            "X_GpuFlight_Window_CRC32": str(zlib.crc32(body)), "X_GpuFlight_Session_Id": SESSION}


def _streams(client):
    body = line(1) + line(2)
    window = _window(body)
    who = {"X_GpuFlight_Session_Id": SESSION}
    for more, answer in (({}, {"accepted": 2}), (window, {"window_acknowledged": True}),
                         (window, {"duplicate": True})):
        status, data = client.ask("post", "/events/stream", body, **{**who, **more})
        equal((status, {k: json.loads(data)[k] for k in answer}), (200, answer), "stored")
    status, data = client.ask("post", "/events/stream", b"nonsense\n" + body, **who)
    equal((status, json.loads(data)["errors"][0]["line"]), (200, 1), "a bad line")
    for body, headers, status in (
            (body, {}, 400), (body, {**window, "X_GpuFlight_Window_CRC32": "1x"}, 400),
            (line(9), _window(line(8), sequence="7"), 400), (b"x", {**who, "Content_Encoding": "gzip"}, 400),
            (line(3), {**window, "X_GpuFlight_Window_CRC32": str(zlib.crc32(line(3)))}, 409),
            (line(4), _window(line(4)), 409), (body, {**who, "Content_Encoding": "br"}, 415),
            (gzip.compress(b"\n" * (129 << 20), 1), {**who, "Content_Encoding": "gzip"}, 413)):
        equal(client.ask("post", "/events/stream", body, **headers)[0], status, f"{headers}")
    equal(client.ask("post", "/events/stream", body, key="other", **who)[0], 401, "another key")


def _batch(kind, columns, rows):
    return json.dumps({"type": kind, "session_id": SESSION, "base_time_ns": 1786200000000000000,
                       "columns": columns, "rows": rows}, separators=(",", ":")).encode() + b"\n"


def _shown(client):
    """What is made of a session's rows."""
    body = b"".join((
        _batch("kernel_event_batch", ["dt_ns", "kernel_id", "duration_ns", "detail_corr_id"], [[0, 1, 5, 9]]),
        _batch("memcpy_event_batch", ["dt_ns", "duration_ns", "bytes", "copy_kind"], [[0, 5, 9, 1]]),
        _batch("synchronization_event_batch", ["dt_ns", "duration_ns", "sync_type"], [[0, 5, 3]]),
        _batch("memory_alloc_event_batch", ["dt_ns", "memory_op", "memory_kind", "bytes"],
               [[0, 1, 3, 64]]),
        _batch("profile_sample_batch", ["dt_ns", "function_id", "metric_id", "metric_value",
                                        "sample_kind", "source_file_id", "source_line"],
               [[0, 1, 2, 7, 0, 1, 3]]),
        _batch("device_metric_batch", ["dt_ns", "device_id", "gpu_util"], [[0, 0, 50]]),
        _batch("scope_event_batch", ["dt_ns", "scope_instance_id", "name_id", "event_type", "depth"],
               [[0, 1, 1, 0, 0], [5, 2, 1, 0, 1], [9, 2, 1, 1, 1]])))
    memset = json.dumps({"type": "memset_event", "session_id": SESSION, "start_ns": 1, "end_ns": 3,
                         "bytes": 8}, separators=(",", ":")).encode() + b"\n"
    equal(client.ask("post", "/events/stream", body + memset, X_GpuFlight_Session_Id=SESSION)[0], 200,
          "rows")
    for part in ("kernels", "launches", "memory", "hotspots", "hotlines", "metrics", "scopes", "delivery"):
        path = "/sessions/{session_id}/" + part
        takes = {p["name"] for p in WHOLE[path]["get"]["parameters"]} & {"limit", "points"}
        status, data = client.ask("get", path, query="?" + "&".join(f"{name}=10" for name in takes))
        equal(status, 200, part)
        equal(client.ask("get", path, query="?none=1")[0], 400, part)
        check(part == "delivery" or b"[]" not in data, f"{part} is empty: {data}")
        equal(client.ask("get", path, session_id="other")[0], 404, part)
        equal(client.ask("get", path, key="other")[0], 401, part)
    equal(client.ask("get", "/sessions/{session_id}/metrics", query="?metric=x")[0], 400, "no metric")
    equal(client.ask("get", "/sessions/{session_id}/launches", query="?by=x")[0], 400, "neither")
    for record in ("job_start", "capture_capabilities"):
        line = json.dumps({"type": record, "session_id": SESSION, "app": "a"}, separators=(",", ":"))
        client.ask("post", "/events/stream", line.encode() + b"\n", X_GpuFlight_Session_Id=SESSION)
    equal(client.ask("get", "/sessions/{session_id}")[0], 200, "with all of it")
    for name, key, status in (("app.js", lib.KEY, 200), ("style.css", lib.KEY, 200),
                              ("other.js", lib.KEY, 404), ("app.js", "other", 401)):
        equal(client.ask("get", "/page/{name}", name=name, key=key)[0], status, name)
    equal(client.ask("get", "/changes")[0], 200, "changes")
    equal(client.ask("get", "/changes", key="other")[0], 401, "changes without the key")


def _positions(client):
    """A session that is stored by positions, to its deletion."""
    session = "33333333-3333-4333-8333-333333333333"
    whole = json.dumps({"type": "x", "session_id": session}).encode() + b"\n"
    part = Part(session, "device", ZERO, whole)
    damaged = Part(session, "device", ZERO, whole)
    damaged.data = b"y" + whole[1:]
    refused = Part(session, "device", ZERO, b"nonsense\n")
    for sent, verdict in ((damaged, "damaged"), (refused, "refused"), (part, "stored"), (part, "known"),
                          (Part(session, "device", part.end, whole, start={"file": 2, "offset": 0, "file_crc": 0}),
                           "stored")):
        _fits(_whole(DOC["components"]["schemas"]["Parts"]), {"parts": [sent.said]}, "the list")
        status, data = client.ask("post", "/events/parts", body_of(sent))
        equal((status, json.loads(data)["parts"][0]["verdict"]), (200, verdict), verdict)
    end = json.loads(data)["parts"][0]["end"]
    for body, headers, status in ((b"x", {}, 400), (b"x" * (31 << 20), {}, 413), (b"x", {"Content_Encoding": "br"}, 415),
                                  (b"x", {"key": "other"}, 401)):
        equal(client.ask("post", "/events/parts", body, **headers)[0], status, f"{headers}")
    for query, status in (("", 200), ("?channel=device&file=1&offset=9", 200), ("?channel=device", 400),
                          ("?channel=device&file=3&offset=9", 404)):
        equal(client.ask("get", "/sessions/{session_id}/streams", session_id=session, query=query)[0], status, query)
    equal(client.ask("get", "/sessions/{session_id}/streams", key="other")[0], 401, "streams")
    who = {"X_GpuFlight_Session_Id": session}
    claim = {"channels": [{"channel": "device", **{k: end[k] for k in ZERO}}]}
    _fits(_whole(DOC["components"]["schemas"]["Claim"]), claim, "the claim")
    for body, status in ((b"", 409), (json.dumps(claim), 200), (b"x" * (31 << 20), 413), (b'{"channels":1}', 400)):
        equal(client.ask("post", "/events/session-complete", body, **who)[0], status, f"{body[:90]}")
    backend = client.backend
    backend.kill()
    with contextlib.closing(sqlite3.connect(backend.place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 2 * 86400000 WHERE sid = ?", (session,))
    backend.start()
    equal(client.ask("post", "/events/session-complete", json.dumps(claim), **who)[0], 410, "its claim, deleted")
    equal(client.ask("get", "/sessions/{session_id}/streams", session_id=session,
                     query="?channel=device&file=1&offset=9")[0], 410, "its places")


def _alive(client):
    body = {"sessions": [{"session": SESSION, "silent_ms": 1}]}
    _fits(_whole(DOC["components"]["schemas"]["Alive"]), body, "the list")
    for sent, headers, status in ((json.dumps(body), {}, 200), (b"x", {}, 400), (json.dumps(body), {"key": "other"}, 401),
                                  (b"x" * (31 << 20), {}, 413), (json.dumps(body), {"Content_Encoding": "br"}, 415)):
        equal(client.ask("post", "/events/alive", sent, **headers)[0], status, f"{headers}")


def the_backend_answers_as_documented(place):
    client = Client(lib.Backend(place, "--api-key", lib.KEY, "--retain-days", "1"))
    who = {"X_GpuFlight_Session_Id": SESSION}
    client.ask("get", "/info/version", key="")
    _streams(client)
    _positions(client)
    _alive(client)
    for path in ("/events/session-complete", "/sessions", "/sessions/{session_id}",
                 "/sessions/{session_id}/export", "/"):
        method, = WHOLE[path].keys() - {"servers"}
        equal(client.ask(method, path, key="other", **(who if method == "post" else {}))[0], 401,
              path)
    equal(client.ask("post", "/events/session-complete", **who)[0], 200, "complete")
    equal(client.ask("post", "/events/session-complete")[0], 400, "no session named")
    equal(client.ask("post", "/events/session-complete", X_GpuFlight_Session_Id="other")[0], 404,
          "no such session")
    for query, status in (("", 200), ("?limit=1", 200), ("?limit=none", 400)):
        equal(client.ask("get", "/sessions", query=query)[0], status, "sessions")
    for query, status in (("", 200), ("?limit=1", 400)):
        equal(client.ask("get", "/sessions/{session_id}", query=query)[0], status, "a session")
    equal(client.ask("get", "/sessions/{session_id}", session_id="other")[0], 404, "none")
    export = "/sessions/{session_id}/export"
    status, data = client.ask("get", export, query="?channel=device")
    equal((status, data.count(line(1))), (200, 3), "the lines")
    equal(client.ask("get", export, query="?channel=sass"), (200, b""), "a channel without any")
    equal(client.ask("get", export)[0], 400, "no channel named")
    equal(client.ask("get", export, session_id="other", query="?channel=device")[0], 404, "none")
    _shown(client)
    equal(client.ask("get", "/healthz", key="")[0], 200, "it lives")
    equal(client.ask("get", "/")[0], 200, "the page")
    documented = {(o["operationId"], status) for path in WHOLE.values() for o in path.values()
                  if isinstance(o, dict) for status, r in o["responses"].items()
                  if r.get("x-gpufl-backend", True)}
    equal(documented - client.seen, set(), "documented, and not given once")


def what_is_required_is_required(place):
    """Leaving out a header that the document requires is refused."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for path, item in WHOLE.items():
        for method, operation in item.items():
            for p in operation.get("parameters", []) if isinstance(operation, dict) else []:
                if p["in"] == "header" and p["required"]:
                    equal(Client(backend).ask(method, path, line(1))[0], 400, f"{path} {p['name']}")


def our_senders_send_what_is_documented(place):
    lib.copy_samples(place)
    lib.job(place, 0.3)
    names = {d.name for d in place.logs.iterdir()}
    other = place.path / "other"
    shutil.copytree(place.logs, other)
    for sender in ("upload", "agent"):
        for declare in (True, False):
            logs = place.path / f"{sender}-{declare}"
            shutil.copytree(other, logs)
            with sink.Sink(declare=declare) as s:
                if sender == "upload":
                    lib.upload(place, s.url, directory=logs)
                else:
                    process = lib.agent(place, s.url, "--exit-when-drained", folder=logs)
                    equal(process.wait(30 * lib.SLOW), 0, process.log.read_text())
                seen = {_judge_request(request) for request in s.requests}
                equal(seen, {"version", "stream", "complete"}, "operations")
                equal({r.session for r in s.requests if r.is_batch}, names, "sessions")


def what_lives_is_told_as_documented(place):
    with sink.Sink(declare=True, alive_after_ms=1000) as s:
        lib.agent(place, s.url)
        writers.Live(place.logs)
        request = lib.until(lambda: next((r for r in s.requests if r.path.endswith("/alive")), None), "it is told")
        equal(_judge_request(request), "alive", "the operation")
        _fits(_whole(DOC["components"]["schemas"]["Alive"]), json.loads(request.raw()), "the list")
        lib.until(lambda: sum(r.path.endswith("/alive") for r in s.requests) > 1, "again")


def _judge_request(request):
    """Holds a request against the document; the operation's id."""
    path = urllib.parse.urlsplit(request.path).path.removeprefix("/api/v1")
    operation = WHOLE[path][request.method.lower()]
    rules = {p["name"].lower(): p for p in operation.get("parameters", []) if p["in"] == "header"}
    for name, rule in rules.items():
        value = request.headers.get(name)
        check(value is not None or not rule["required"], f"{operation['operationId']} lacks {name}")
        if value is not None:
            _fits(rule["schema"], value, f"{operation['operationId']}, {name}")
    for name in request.headers:
        check(name.lower() in rules or not name.lower().startswith("x-gpuflight-"),
              f"{name} is not documented")
    if operation["operationId"] == "stream":
        content, = operation["requestBody"]["content"]
        equal(request.headers.get("Content-Type"), content, "the body's type")
    return operation["operationId"]


def the_document_is_sound(place):
    text = json.dumps(DOC)
    equal(DOC["openapi"][:3], "3.1", "version")
    for reference in set(re.findall(r'"\$ref": "([^"]+)"', text)):
        _at(reference)
    for schema in DOC["components"]["schemas"].values():
        schemas.jsonschema.Draft202012Validator.check_schema(schema)
    ids = [o["operationId"] for path in WHOLE.values() for o in path.values() if isinstance(o, dict)]
    equal(len(ids), len(set(ids)), "operation ids")
    protocol = (lib.ROOT / "schema/protocol.h").read_text()
    for name in re.findall(r'PROTOCOL_H_\w+\s+"([^"]+)"', protocol):
        check(f'"name": "{name}"' in text, f"{name} is not documented")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
