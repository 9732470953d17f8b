# SPDX-License-Identifier: Apache-2.0
"""In the place of the existing agent: its settings, its directories, its requests. Written down from
that agent's documented behaviour; docs/drop-in.md is the table for people."""
import concurrent.futures
import functools
import gzip
import http.client
import json
import re
import shutil
import sys
import zlib

import lib
from lib import check, equal, until
import sink

# flag, variable, JSON key, a value: (group, key) of the file; None = there is none.
USED = [
    ("folder", "GPUFL_SOURCE_FOLDER", ("source", "folder")),
    ("folders", "GPUFL_SOURCE_FOLDERS", None),
    ("log-types", "GPUFL_LOG_TYPES", ("source", "logTypes")),
    ("cursor-file", "GPUFL_CURSOR_FILE", None),
    ("type", "GPUFL_PUBLISHER_TYPE", ("publisher", "type")),
    ("host", "GPUFL_HTTP_HOST", ("publisher", "hostUrl")),
    ("api-version", "GPUFL_HTTP_API_VERSION", ("publisher", "apiVersion")),
    ("token", "GPUFL_HTTP_TOKEN", ("publisher", "authToken")),
    ("timeout", "GPUFL_HTTP_TIMEOUT_SEC", ("publisher", "timeoutSeconds")),
    ("upload-mode", "GPUFL_AGENT_UPLOAD_MODE", ("publisher", "uploadMode")),
    ("stream-max-lines", "GPUFL_AGENT_STREAM_MAX_LINES", ("publisher", "streamMaxLines")),
    ("stream-max-bytes", "GPUFL_AGENT_STREAM_MAX_BYTES", ("publisher", "streamMaxBytes")),
    ("exit-when-drained", "GPUFL_AGENT_EXIT_WHEN_DRAINED", None),
    ("exit-if-empty", "GPUFL_AGENT_EXIT_IF_EMPTY", None),
    ("ignore-preexisting", "GPUFL_AGENT_IGNORE_PREEXISTING", None),
    ("retain-acked-payloads", "GPUFL_AGENT_RETAIN_ACKED_PAYLOADS", None),
    ("prune-failed", "GPUFL_AGENT_PRUNE_FAILED", None),
]
KAFKA = [("brokers", "GPUFL_KAFKA_BROKERS", "bootstrapServers"),
         ("topic-prefix", "GPUFL_KAFKA_TOPIC_PREFIX", "topicPrefix"),
         (None, "GPUFL_KAFKA_COMPRESSION", "compression"),
         ("kafka-linger-ms", "GPUFL_KAFKA_LINGER_MS", "lingerMs")]
ARCHIVER = [("archiver-bucket", "GPUFL_ARCHIVER_BUCKET", "bucket"),
            ("archiver-region", "GPUFL_ARCHIVER_REGION", "region"),
            ("archiver-access-key", "GPUFL_ARCHIVER_ACCESS_KEY", "accessKey"),
            ("archiver-secret-key", "GPUFL_ARCHIVER_SECRET_KEY", "secretKey"),
            ("archiver-prefix", "GPUFL_ARCHIVER_PREFIX", "prefix"),
            ("archiver-delete", "GPUFL_ARCHIVER_DELETE", "deleteAfterUpload")]


def _run(place, *args, env=None, code=0):
    """To its end, with a fresh state."""
    state = place.path / f"state-{next(place.count)}"
    process = place.start("gpufl-agent", *args, env={"GPUFL_AGENT_STATE_DIR": str(state), **(env or {})})
    equal(process.wait(60 * lib.SLOW), code, f"{args} {env}: {process.log.read_text()[-500:]}")
    return process.log.read_text()


def _fresh(place, logs):
    """A copy that no uploader has seen."""
    copy = place.path / f"copy-{next(place.count)}"
    shutil.copytree(logs, copy, symlinks=True)
    copy.chmod(0o700)
    return copy


def _drain(place, url, *args, env=None, logs=None, **more):
    return _run(place, f"--folder={logs or _fresh(place, place.logs)}", f"--host={url}", "--exit-when-drained", *args,
                env={"GPUFL_HTTP_TOKEN": lib.KEY, **(env or {})}, **more)


def the_table_names_each_setting(place):
    """Flags, variables and keys, of the lists here and of the table."""
    text = (lib.ROOT / "docs/drop-in.md").read_text().split("## What it does")[0]
    rows = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| `"):
            rows[cells[0].strip("`")] = (cells[1].strip("`"), re.findall(r"`(\w+)(?:\[\])?\.(\w+)`", cells[2]))
    for flag, variable, key in USED:
        equal(rows[flag][0], variable, flag)
        check(key is None or key in rows[flag][1], f"{flag}: {rows[flag]}")
    for flag, variable, key in KAFKA:
        equal(rows[flag or "compression"], (variable, [("publisher", key)]), variable)
    for flag, variable, key in [*ARCHIVER, ("archiver-endpoint", "GPUFL_ARCHIVER_ENDPOINT", "endpoint")]:
        equal(rows[flag], (variable, [("archiver", key)]), flag)
    equal(set(rows), {r[0] for r in [*USED, *ARCHIVER]} | {r[0] or "compression" for r in KAFKA} |
          {"config", "archiver-endpoint", "url"}, "flags")


def _side_by_side(cases):
    """Each is a function of no argument; they mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for case in [pool.submit(case) for case in cases]:
            case.result()


def _config(place, content):
    path = place.path / f"agent-{next(place.count)}.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return f"--config={path}"


def _three_ways(flag, variable, key, value):
    """As flag, as variable, in the file: (arguments, environment, file)."""
    yield (f"--{flag}={value}",), {}, {}
    yield (), {variable: str(value)}, {}
    if key:
        yield (), {}, {key[0]: {key[1]: value}}


def each_setting_means_the_same_by_each_way(place):
    session = lib.job(place, 0.1)
    lines = {c: len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS}
    other = place.path / "other"
    other.mkdir(mode=0o700)
    second = lib.job(place, 0.1, logs=other)
    both = sum(lines.values()) + sum(len(lib.on_disk(second, c).splitlines()) for c in lib.CHANNELS)

    def requests(seen, **want):
        for r in seen.batches():
            for name, value in want.items():
                equal(r.headers.get(name.replace("_", "-")), value, name)

    cases = {
        "folder": (str(other), lambda s: equal(len(s.lines), both, "both folders")),
        "folders": (f"{other}", lambda s: equal(len(s.lines), both, "both folders")),
        "log-types": ("device,system", lambda s: equal(len(s.lines), lines["device"] + lines["system"], "two")),
        "type": ("http", lambda s: equal(len(s.lines), sum(lines.values()), "lines")),
        "api-version": ("v2", lambda s: equal({r.path for r in s.batches()}, {"/api/v2/events/stream"}, "path")),
        "token": ("gpfl_other", lambda s: requests(s, Authorization="Bearer gpfl_other")),
        "timeout": (3, lambda s: equal(len(s.lines), sum(lines.values()), "lines")),
        "upload-mode": ("stream", lambda s: equal(len(s.lines), sum(lines.values()), "lines")),
        "stream-max-lines": (2, lambda s: check(max(len(r.raw().splitlines()) for r in s.batches()) == 2, "2 at most")),
        "stream-max-bytes": (3000, lambda s: check(
            all(len(r.raw()) <= 3000 or r.raw().count(b"\n") == 1 for r in s.batches()), "3,000 at most")),
        "exit-if-empty": ("1", lambda s: equal(len(s.lines), sum(lines.values()), "lines")),
        "prune-failed": ("false", lambda s: equal(len(s.lines), sum(lines.values()), "lines")),
    }

    def one(flag, judge, args, env, config):
        with sink.Sink() as s:
            def elsewhere(text):
                return text.replace(str(other), str(_fresh(place, other)))

            base = {"GPUFL_HTTP_HOST": s.url, "GPUFL_AGENT_EXIT_WHEN_DRAINED": "1",
                    "GPUFL_SOURCE_FOLDERS" if flag == "folder" else "GPUFL_SOURCE_FOLDER":
                        str(_fresh(place, place.logs))}
            base |= {} if flag == "token" else {"GPUFL_HTTP_TOKEN": lib.KEY}
            args = [elsewhere(x) for x in args] + ([_config(place, elsewhere(json.dumps(config)))] if config else [])
            _run(place, *args, env=base | {k: elsewhere(v) for k, v in env.items()})
            check(s.batches(), f"{flag}: nothing came")
            judge(s)

    _side_by_side(functools.partial(one, flag, cases[flag][1], *way) for flag, variable, key in USED if flag in cases
                  for way in _three_ways(flag, variable, key, cases[flag][0]))


def blank_is_unset_and_a_flag_beats_the_environment_beats_the_file(place):
    lib.job(place, 0.1)

    def one(args, env, want):
        with sink.Sink() as s:
            config = _config(place, {"source": {"folder": str(_fresh(place, place.logs))},
                                     "publisher": {"hostUrl": s.url, "apiVersion": "v7"}})
            _run(place, config, "--exit-when-drained", *args, env=env)
            equal({r.path for r in s.batches()}, {f"/api/{want}/events/stream"}, f"{args} {env}")

    v8 = {"GPUFL_HTTP_API_VERSION": "v8"}
    _side_by_side(functools.partial(one, *case) for case in (
        ((), {}, "v7"), ((), v8, "v8"), (("--api-version=v9",), v8, "v9"), ((), {"GPUFL_HTTP_API_VERSION": "  "}, "v7")))


def a_path_in_the_host_stays_before_the_api(place):
    lib.job(place, 0.1)
    for path in ("/obs/gpu", "/obs/gpu/"):
        with sink.Sink() as s:
            _drain(place, s.url + path)
            equal({r.path for r in s.batches()}, {"/obs/gpu/api/v1/events/stream"}, path)


def settings_of_what_is_off_have_no_effect(place):
    lib.job(place, 0.1)

    def one(args, env):
        with sink.Sink() as s:
            _drain(place, s.url, "--type=http", *args, env=env)
            check(s.lines, f"{args} {env}")

    ways = [((f"--{flag}=x",), {}) for flag, _, _ in KAFKA + ARCHIVER if flag]
    ways += [((), {variable: "x"}) for _, variable, _ in KAFKA + ARCHIVER]
    ways += [((_config(place, {"publisher": {"type": "http", **{k: "x" for _, _, k in KAFKA}},
                               "archiver": {k: "x" for _, _, k in ARCHIVER}}),), {})]
    _side_by_side(functools.partial(one, *way) for way in ways)


def what_is_left_out_is_refused_by_each_way(place):
    for flag, variable, key, value, word in (
            ("type", "GPUFL_PUBLISHER_TYPE", ("publisher", "type"), "kafka", "--type=http"),
            ("brokers", "GPUFL_KAFKA_BROKERS", ("publisher", "bootstrapServers"), "a:9092", "Kafka"),
            ("upload-mode", "GPUFL_AGENT_UPLOAD_MODE", ("publisher", "uploadMode"), "legacy", "stream"),
            ("archiver-endpoint", "GPUFL_ARCHIVER_ENDPOINT", ("archiver", "endpoint"), "https://s3", "archiver"),
            ("prune-failed", "GPUFL_AGENT_PRUNE_FAILED", None, "true", "deleted"),
            ("url", "GPUFL_HTTP_URL", ("publisher", "endpointUrl"), "http://x", "--host")):
        for args, env, config in _three_ways(flag, variable, key, value):
            args = (_config(place, config),) if config else args
            said = _drain(place, "http://127.0.0.1:9", *args, env=env, code=1)
            check(word in said and said.count("\n") == 1, f"{flag}: {said}")
    check("--folder" in _run(place, code=1), "no settings at all")


def requests_for_windows_are_those_of_the_existing_agent(place):
    """Method, path, the headers that it sends, and the payload's bytes, window by window."""
    sessions = lib.copy_samples(place)
    want = set()
    for session in sessions:
        for sidecar in session.glob(".gpufl-window.*.json"):
            meta = json.loads(sidecar.read_text())
            payload = (session / meta["payload_file"]).read_bytes()
            equal(zlib.crc32(payload), meta["payload_crc32"], "the sample")
            want.add((session.name, meta["channel"], str(meta["window_sequence"]), meta["window_id"],
                      str(zlib.crc32(payload)), payload))
    with sink.Sink(key=lib.KEY) as s:
        _drain(place, s.url, "--retain-acked-payloads")
        got = set()
        for r in s.batches():
            equal((r.method, r.path, r.encoding, r.headers["Content-Type"], r.headers["Authorization"]),
                  ("POST", "/api/v1/events/stream", "gzip", "application/x-ndjson", f"Bearer {lib.KEY}"), "request")
            equal(int(r.headers["Content-Length"]), len(r.body), "length, not chunks")
            got.add((r.session, r.channel, r.headers["X-GpuFlight-Window-Sequence"],
                     r.headers["X-GpuFlight-Window-Id"], r.headers["X-GpuFlight-Window-CRC32"], r.body))
        equal(got, want, "windows")
        ends = [r for r in s.requests if r.path.endswith("session-complete")]
        equal(sorted((r.method, r.path, r.session, r.body) for r in ends),
              sorted(("POST", "/api/v1/events/session-complete", d.name, b"") for d in sessions), "ends")
        for d in sessions:
            last = max(i for i, r in enumerate(s.requests) if r.is_batch and r.session == d.name)
            end = next(i for i, r in enumerate(s.requests) if r in ends and r.session == d.name)
            check(end > last, "complete comes last")


def settle_markers_are_read_and_left(place):
    """What the existing agent had reported is not sent again; what we report it leaves alone."""
    settled, left = lib.copy_samples(place)
    (settled / ".uploaded").touch()
    (left / ".failed").touch()
    with sink.Sink() as s:
        _drain(place, s.url, logs=place.logs)
        equal({r.session for r in s.batches()}, {left.name}, "what it had given up is sent")
        check((left / ".uploaded").exists(), "and marked")
        check((left / ".uploaded").read_text().startswith("gpufl-uploaded 1 "), "with the backend's name")
        done = lib.upload(place, s.url)
        equal((done.returncode, done.result["sessions"], done.result["sessions_complete"]), (0, 2, 1), "not complete")
        check(".uploaded" in done.result["message"], done.result)
        shown = place.run("gpufl", "status", place.logs).stdout
        check("another program has left .uploaded" in shown, shown)
        before = len(s.batches())
        shutil.rmtree(place.logs / ".gpufl-agent")
        _drain(place, s.url, logs=place.logs)
        equal(len(s.batches()), before, "with another state nothing is sent again")
    ours = lib.job(place, 0.1)
    with sink.Sink() as s:
        _drain(place, s.url, logs=place.logs)
        check((ours / ".uploaded").exists(), "a live one, too")


def links_in_a_sessions_place_of_marks_are_not_followed(place):
    session = lib.copy_samples(place)[0]
    victim = place.path / "victim"
    (session / ".uploaded").symlink_to(victim)
    with sink.Sink() as s:
        _drain(place, s.url)
        check(session.name in {r.session for r in s.batches()}, "a link is no mark")
    check(not victim.exists(), "nothing is made behind a link")


def the_image_of_the_existing_agent_is_replaced_by_its_variables(place):
    """Its documented container: everything by environment, drained by SIGTERM, exit 0."""
    session = lib.job(place, 0.2)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = place.start("gpufl-agent", env={
        "GPUFL_SOURCE_FOLDER": str(place.logs), "GPUFL_SOURCE_PREFIX": "gpufl", "GPUFL_PUBLISHER_TYPE": "http",
        "GPUFL_HTTP_HOST": backend.url, "GPUFL_HTTP_TOKEN": lib.KEY, "GPUFL_HTTP_API_VERSION": "v1",
        "GPUFL_CURSOR_FILE": str(place.path / "cursor.json"), "GPUFL_LOG_TYPES": "device,scope,system,sass"})
    until(lambda: backend.complete(session.name), "it is sent")
    process.terminate()
    equal(process.wait(30 * lib.SLOW), 0, "exit code")
    lib.same(backend, session)


def the_backend_takes_what_existing_clients_send(place):
    """The upload library's requests: a whole file, gzip, no window headers; then the end."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.copy_samples(place)[0]
    lines = []
    for channel in ("device", "scope", "system"):
        for f in sorted(session.glob(f"{channel}.*.log.gz")):
            connection = http.client.HTTPConnection("127.0.0.1", backend.port, timeout=30 * lib.SLOW)
            connection.request("POST", "/api/v1/events/stream", f.read_bytes(), {
                "Authorization": f"Bearer {lib.KEY}", "Content-Type": "application/x-ndjson",
                "Content-Encoding": "gzip", "X-GpuFlight-Session-Id": session.name,
                "X-GpuFlight-Hostname": "node-7", "X-GpuFlight-Client-Version": "1.3.0",
                "X-GpuFlight-Wire-Version": "1", "User-Agent": "gpufl-client/1.3.0 (deferred-upload)"})
            reply = connection.getresponse()
            answer = json.loads(reply.read())
            want = len(gzip.decompress(f.read_bytes()).splitlines())
            equal((reply.status, answer["accepted"], answer["rejected"]), (200, want, 0), f.name)
            lines.append(want)
    connection.request("POST", "/api/v1/events/session-complete", b"", {
        "Authorization": f"Bearer {lib.KEY}", "X-GpuFlight-Session-Id": session.name,
        "Content-Type": "application/json", "User-Agent": "gpufl-client/1.3.0 (signal)"})
    equal(connection.getresponse().status, 200, "the end")
    about = backend.session(session.name)
    equal((about["lines"], about["complete"]), (sum(lines), True), "session")
    shutil.rmtree(session)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
