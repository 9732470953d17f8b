# SPDX-License-Identifier: Apache-2.0
"""Settings that cannot work: an error at the start with value, reason and way out."""
import contextlib
import os
import re
import socket
import sqlite3
import sys
from concurrent import futures

import lib
from lib import check, equal, until
import sink

# In parentheses; a reason of the system or a place in a file says enough.
WAY_OUT = r"\(.+\)$|: [A-Z][a-z ]+$|:\d+:\d+: "
HOST = "http://127.0.0.1:9"


def _files(place):
    """Files that are not what they are given for."""
    texts = {"empty": "", "blank": " \n\n", "lines": "one\ntwo\n", "text": "hello\n", "nul": "a\0b",
             "control": "a\x01b\n", "empty-key.json": '{"agent":{"stateDir":""}}', "long": "k" * 5000,
             "cut.pem": "-----BEGIN CERTIFICATE-----\nMAMC\n",
             "cert.pem": "-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----\n",
             "key.pem": "-----BEGIN PRIVATE KEY-----\nMAMCAQA=\n-----END PRIVATE KEY-----\n",
             "locked.pem": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAMCAQA=\n-----END ENCRYPTED PRIVATE KEY-----\n"}
    for name, text in texts.items():
        (place.path / name).write_text(text)
    os.mkfifo(place.path / "pipe")
    (place.path / "pipe.link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(place.path / "socket"))
    return place.path


def _in_parallel(rows, one):
    with futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(one, *row) for row in rows]:
            done.result()


def wrong_settings_of_the_agent_are_refused_at_the_start(place):
    f = _files(place)
    (place.logs / "group").mkdir(mode=0o700)

    def one(args, name, value, reason, env=None, without=()):
        given = {a.split("=")[0] for a in args} | set(without)
        usual = [f"{flag}={v}" for flag, v in (("--folder", place.logs), ("--host", HOST)) if flag not in given]
        done = place.run("gpufl-agent", *usual, *args, env=env)
        equal(done.returncode, 1, f"{args} {env}: {done.stderr}")
        said = done.stderr
        check(said.startswith(f"gpufl-agent: {name}: ") and said.count("\n") == 1, f"{args} {env}: {said}")
        check(value in said and reason in said, f"{args} {env}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{args} {env} has no way out: {said}")

    _in_parallel([
        (["--log-types=devices"], "--log-types", "devices", "device,scope,system,sass"),
        ([], "GPUFL_LOG_TYPES", "device,cpu", "no channel is called 'cpu'", {"GPUFL_LOG_TYPES": "device,cpu"}),
        (["--log-types=,"], "--log-types", "','", "names no channel"),
        (["--log-types=device,,scope"], "--log-types", "'device,,scope'", "one of its elements is empty"),
        (["--log-types=device, "], "--log-types", "'device, '", "one of its elements is empty"),
        ([f"--folder={place.logs}", f"--folder={place.logs}/group"], "--folder", f"'{place.logs}/group'", "leave one of the two out"),
        ([f"--state-dir={place.logs}"], "--state-dir", f"'{place.logs}'", "it lies in the log directory"),
        ([f"--state-dir={place.logs}/state/a"], "--state-dir", f"'{place.logs}/state/a'", "it lies in the log directory"),
        ([], "STATE_DIRECTORY", f"'{place.logs}/state'", "it lies in the log directory", {"STATE_DIRECTORY": f"{place.logs}/state"}),
        ([], "STATE_DIRECTORY", f"'{f}/a:{f}/b'", "it names several directories", {"STATE_DIRECTORY": f"{f}/a:{f}/b"}),
        ([f"--folder={f}/none", "--log-types=cpu"], "--log-types", "cpu", "no channel"),  # before it is there
        ([f"--token-file={f}/none"], "--token-file", f"{f}/none", "No such file"),
        ([f"--token-file={f}/empty"], "--token-file", f"{f}/empty", "empty"),
        ([], "GPUFL_HTTP_TOKEN_FILE", f"{f}/blank", "empty", {"GPUFL_HTTP_TOKEN_FILE": str(f / "blank")}),
        ([f"--token-file={f}/lines"], "--token-file", f"{f}/lines", "more than one line"),
        ([f"--token-file={f}/nul"], "--token-file", f"{f}/nul", "not a text file"),
        ([f"--token-file={f}/control"], "--token-file", "", "control character"),
        ([f"--token-file={f}/long"], "--token-file", f"{f}/long", "4095"),
        ([f"--token-file={f}"], "--token-file", f"'{f}'", "a directory, not a regular file"),
        ([f"--token-file={f}/pipe.link"], "--token-file", f"'{f}/pipe.link'", "a pipe, not a regular file"),
        ([f"--token-file={f}/socket"], "--token-file", f"'{f}/socket'", "a socket, not a regular file"),
        ([f"--config={f}/pipe"], "--config", f"{f}/pipe", "a pipe, not a regular file"),
        ([f"--cursor-file={f}/pipe"], "--cursor-file", f"'{f}/pipe'", "a pipe, not a regular file"),
        ([f"--client-cert={f}/pipe"], "--client-cert", f"'{f}/pipe'", "a pipe, not a regular file"),
        ([f"--client-cert={f}/cert.pem", f"--client-key={f}/socket"], "--client-key", f"'{f}/socket'",
         "a socket, not a regular file"),
        (["--host=https://h", "--ca-file=/dev/null"], "--ca-file", "'/dev/null'", "a device, not a regular file"),
        (["--token="], "--token", "", "empty"),
        (["--token=" + "k" * 5000], "--token", "", "too long"),
        ([f"--ca-file={f}/none"], "--ca-file", f"{f}/none", "No such file"),
        ([f"--ca-file={f}/empty"], "--ca-file", f"{f}/empty", "empty"),
        ([], "GPUFL_AGENT_CA_FILE", f"{f}/text", "no certificate", {"GPUFL_AGENT_CA_FILE": str(f / "text")}),
        ([f"--ca-file={f}/cut.pem"], "--ca-file", f"{f}/cut.pem", "cut off"),
        ([f"--ca-file={f}"], "--ca-file", f"{f}", "not a regular file"),
        ([f"--ca-file={f}/key.pem"], "--ca-file", f"{f}/key.pem", "no certificate"),
        (["--host=https://h"], "SSL_CERT_FILE", f"{f}/text", "no certificate", {"SSL_CERT_FILE": str(f / "text")}),
        ([f"--client-cert={f}/text"], "--client-cert", f"{f}/text", "no certificate"),
        ([f"--client-cert={f}/cert.pem"], "--client-cert", f"{f}/cert.pem", "no private key"),
        ([f"--client-cert={f}/cert.pem", f"--client-key={f}/cert.pem"], "--client-key", f"{f}/cert.pem",
         "no private key"),
        ([f"--client-cert={f}/cert.pem", f"--client-key={f}/locked.pem"], "--client-key", f"{f}/locked.pem",
         "passphrase"),
        ([f"--client-key={f}/key.pem"], "--client-key", f"{f}/key.pem", "without its certificate"),
        (["--host=http://127.0.0.1:99999"], "--host", "127.0.0.1:99999", "1 to 65535"),
        ([], "GPUFL_HTTP_HOST", "http://h:port", "1 to 65535", {"GPUFL_HTTP_HOST": "http://h:port"}, ["--host"]),
        (["--host=http://u:secret@h"], "--host", "", "contains a user name"),
        (["--host=http://:80"], "--host", "http://:80", "no host name"),
        (["--host=http://[::1"], "--host", "http://[::1", "brackets"),
        (["--host=http://1.2.3.400"], "--host", "1.2.3.400", "not an IP address"),
        (["--host=gopher://h"], "--host", "gopher://h", "http"),
        (["--host=http://h/a?b=c"], "--host", "'http://h/a?b=c'", "contains '?' or '#'"),
        (["--host=http://h/#b"], "--host", "'http://h/#b'", "contains '?' or '#'"),
        ([], "GPUFL_HTTP_HOST", "", "contains a blank", {"GPUFL_HTTP_HOST": "http://h/a b"}, ["--host"]),
        (["--host="], "--host", "", "empty"),
        (["--host=http://8.8.8.8", "--token=k"], "--host", "8.8.8.8", "unencrypted"),
        (["--proxy=ftp://h:1"], "--proxy", "ftp://h:1", "unknown scheme"),
        (["--proxy=http://h:0"], "--proxy", "http://h:0", "1 to 65535"),
        (["--api-path=/a?b"], "--api-path", "/a?b", "contains"),
        (["--api-version=../v1"], "--api-version", "../v1", "a version such as v1"),
        (["--require-owner-uid=root"], "--require-owner-uid", "root", "numeric"),
        (["--require-owner-uid=9999999999"], "--require-owner-uid", "9999999999", "numeric"),
        (["--read-timeout=0"], "--read-timeout", "'0'", "above 0"),
        (["--rescan-interval=0"], "--rescan-interval", "'0'", "above 0"),
        (["--zstd-level=20"], "--zstd-level", "'20'", "1 to 19"),
        ([], "GPUFL_SOURCE_FOLDERS", "',,'", "names no directory", {"GPUFL_SOURCE_FOLDERS": ",,"}),
        ([f"--config={f}/empty-key.json"], "agent.stateDir", "", "empty"),
        (["--salvage=maybe"], "--salvage", "'maybe'", "true, yes, on or 1"),
        (["--exit-when-drained="], "--exit-when-drained", "''", "true, yes, on or 1"),
        ([], "GPUFL_AGENT_SAME_ORIGIN", "'ture'", "no, off or 0", {"GPUFL_AGENT_SAME_ORIGIN": "ture"}),
        (["--host=http://8.8.8.8", "--token=k"], "--host", "8.8.8.8", "unencrypted",
         {"GPUFL_AGENT_ALLOW_INSECURE_HTTP": "no"}),
        (["--listen=127.0.0.1"], "--listen", "'127.0.0.1'", "ADDRESS:PORT"),
        (["--state-dir="], "--state-dir", "", "empty"),
        (["--state-dir= "], "--state-dir", "", "empty"),
        (["--state-dir=/proc"], "--state-dir", "'/proc'", "no file can be created in it"),
        (["--listen="], "--listen", "", "empty"),
        (["--proxy="], "--proxy", "", "empty"),
        (["--folders= "], "--folders", "", "empty"),
        (["--host=/logs"], "--host", "'/logs'", "not an http or https address"),
        (["--host=http://h", "--host=ftp://a\nb"], "--host", "'ftp://a\\nb'", "not an http or https address"),
        (["--log-types=a\x1b[1m\x9b"], "--log-types", "'a\\x1b[1m\\xc2\\x9b'", "no channel"),
        (["--timeout=5", "--timeout=x"], "--timeout", "'x'", "a whole number"),
        ([f"--folder={'x' * 5000}"], "--folder", "'xxx", "File name too long"),
        (["--config="], "--config", "", "empty"),
        (["--folder=/nowhere", "--exit-when-drained"], "--folder", "'/nowhere'", "No such file"),
        ([f"--cursor-file={f}/text"], "--cursor-file", f"{f}/text", "not a cursor file"),
        ([f"--config={f}/text"], f"{f}/text:1:1", "", "unexpected"),
    ], one)


def wrong_settings_of_an_upload_are_refused_at_the_start(place):
    """Whether or not there is anything to send."""
    f = _files(place)

    def one(args, name, value, reason, env=None):
        flags = {str(a) for a in args}
        usual = [a for flag, v in (("--backend-url", HOST), ("--api-key", "k")) if flag not in flags
                 for a in (flag, v)]
        where = [] if name == "DIR" else [place.logs]
        done = place.run("gpufl", "upload", *where, *usual, *args, env=env)
        equal(done.returncode, 2, f"{args} {env}: {done.stderr}")
        said = done.stderr
        check(said.startswith(f"gpufl upload: {name}: ") and said.count("\n") == 1, f"{args} {env}: {said}")
        check(value in said and reason in said, f"{args} {env}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{args} {env} has no way out: {said}")

    _in_parallel([
        ([], "DIR", "", "missing"),
        ([f / "none"], "DIR", f"{f}/none", "No such file"),
        ([f / "text"], "DIR", f"{f}/text", "Not a directory"),
        (["--backend-url", ""], "--backend-url", "", "empty"),
        (["--backend-url", "ftp://h"], "--backend-url", "ftp://h", "http"),
        (["--backend-url", "http://h/api"], "--backend-url", "http://h/api", "--api-path"),
        (["--backend-url", "http://u:p@h"], "--backend-url", "", "user name"),
        (["--backend-url", "http://h:0"], "--backend-url", "http://h:0", "1 to 65535"),
        (["--backend-url", "http://h:"], "--backend-url", "http://h:", "1 to 65535"),
        (["--backend-url", "http://h:1:2"], "--backend-url", "http://h:1:2", "':'"),
        (["--backend-url", "http://[1]:2"], "--backend-url", "http://[1]:2", "IPv6"),
        (["--backend-url", "http://a b"], "--backend-url", "'http://a b'", "blank"),
        (["--backend-url", "http://8.8.8.8"], "--backend-url", "8.8.8.8", "--allow-insecure-http"),
        (["--api-key", ""], "--api-key", "", "missing"),
        (["--api-key", " "], "--api-key", "", "missing"),
        (["--retries", " 3"], "--retries", "' 3'", "from 0"),
        (["--retries", "+3"], "--retries", "'+3'", "from 0"),
        (["--backend-url", "http://h?x=1"], "--backend-url", "http://h?x=1", "'?' or '#'"),
        (["--backend-url", "http://h/#x"], "--backend-url", "http://h/#x", "'?' or '#'"),
        (["--api-key", ""], "--api-key", "", "empty", {"GPUFL_API_KEY": "k"}),
        (["--api-key", "a\x01b"], "--api-key", "", "control character"),
        (["--api-key", "k "], "--api-key", "", "ends with a blank"),
        (["--api-key", "k", "--api-key", " k"], "--api-key", "", "begins or ends with a blank"),
        (["--session-id", "a", "--session-id", "b"], "--session-id", "'b'", "no such session"),  # the last one counts
        (["--state-dir", " "], "--state-dir", "", "empty"),
        (["--state-dir", "/proc"], "--state-dir", "'/proc'", "no file can be created in it"),
        (["--state-dir", "/proc/x"], "--state-dir", "'/proc/x'", "no file can be created in it"),
        (["--sess", "x"], "--sess", "", "unknown option (did you mean --session-id?)"),
        (["--proxy", "gopher://a\nb"], "--proxy", "'gopher://a\\nb'", "unknown scheme"),
        (["--api-path", "/a#b"], "--api-path", "/a#b", "contains"),
        (["--api-path", ""], "--api-path", "", "empty"),
        (["--session-id", ""], "--session-id", "", "empty"),
        (["--session-id", "x"], "--session-id", "'x'", "no such session"),
        (["--latest", "--session-id", "x"], "--latest", "'x'", "--session-id"),
        (["--timeout", "0"], "--timeout", "'0'", "such as 30s"),
        (["--timeout", "soon"], "--timeout", "'soon'", "such as 30s"),
        (["--retries", "-1"], "--retries", "'-1'", "from 0"),
        (["--compression", "lz4"], "--compression", "'lz4'", "zstd"),
        (["--state-dir", ""], "--state-dir", "", "empty"),
        (["--state-dir", f / "text"], "--state-dir", f"{f}/text", "Not a directory"),
        (["--state-dir", f / "text/state"], "--state-dir", f"{f}/text/state", "Not a directory"),
        (["--state-dir", "/tmp"], "--state-dir", "'/tmp'", "other users can write to it"),
        (["--ca-file", ""], "--ca-file", "", "empty"),
        (["--ca-file", f / "none"], "--ca-file", f"{f}/none", "No such file"),
        (["--ca-file", f / "text"], "--ca-file", f"{f}/text", "no certificate"),
        (["--ca-file", f / "pipe"], "--ca-file", f"'{f}/pipe'", "a pipe, not a regular file"),
        (["--client-cert", f / "cert.pem"], "--client-cert", f"{f}/cert.pem", "no private key"),
        (["--client-cert", f / "cert.pem", "--client-key", f / "locked.pem"], "--client-key", f"{f}/locked.pem",
         "passphrase"),
        (["--client-key", f / "key.pem"], "--client-key", f"{f}/key.pem", "without its certificate"),
        (["--proxy", "http://p:port"], "--proxy", "http://p:port", "1 to 65535"),
        (["--proxy", "gopher://p"], "--proxy", "gopher://p", "unknown scheme"),
        (["--retry", "3"], "--retry", "", "unknown option"),
    ], one)


def wrong_settings_of_the_backend_are_refused_at_the_start(place):
    f = _files(place)
    for name, sql in (("foreign.db", "CREATE TABLE t(x)"), ("newer.db", "CREATE TABLE bodies(x); PRAGMA user_version=9999")):
        with contextlib.closing(sqlite3.connect(f / name)) as db:
            db.executescript(sql)
    (f / "locked.db").touch(0o000)
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]

    def one(args, code, name, value, reason, env=None):
        given = {str(a).split("=")[0] for a in args}
        usual = [a for flag, v in (("--listen", "127.0.0.1:0"), ("--db", f / "new.db")) if flag not in given
                 for a in (flag, v)]
        done = place.run("gpufl-backend", *usual, *args, env=env)
        said = done.stderr
        equal(done.returncode, code, f"{args} {env}: {said}")
        check(said.startswith(f"gpufl-backend: {name}: ") and said.count("\n") == 1, f"{args} {env}: {said}")
        check(value in said and reason in said, f"{args} {env}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{args} {env} has no way out: {said}")

    rows = [
        (["--listen", ""], 2, "--listen", "''", "ADDRESS:PORT"),
        (["--listen", "8765"], 2, "--listen", "'8765'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1"], 2, "--listen", "'127.0.0.1'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:"], 2, "--listen", "'127.0.0.1:'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:65536"], 2, "--listen", "'127.0.0.1:65536'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:-1"], 2, "--listen", "'127.0.0.1:-1'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:http"], 2, "--listen", "'127.0.0.1:http'", "ADDRESS:PORT"),
        (["--listen", "localhost:8765"], 2, "--listen", "'localhost:8765'", "numeric"),
        (["--listen", "http://127.0.0.1:8765"], 2, "--listen", "'http://127.0.0.1:8765'", "ADDRESS:PORT"),
        (["--listen", "0.0.0.0:0"], 2, "--listen", "0.0.0.0", "--insecure"),
        (["--listen", "[::]:0"], 2, "--listen", "::", "--insecure"),
        (["--listen", "192.0.2.1:0", "--api-key", "k"], 1, "--listen", "192.0.2.1", "cannot listen"),
        (["--listen", f"127.0.0.1:{port}"], 1, "--listen", f"127.0.0.1:{port}", "in use"),
        (["--listen"], 2, "--listen", "", "missing value"),
        (["--db", ""], 2, "--db", "''", "name of a file"),
        (["--db", " "], 2, "--db", "' '", "name of a file"),
        (["--db", ":memory:"], 2, "--db", "':memory:'", "name of a file"),
        (["--db", f"file:{f}/x.db"], 2, "--db", f"'file:{f}/x.db'", "name of a file"),
        (["--db", f], 1, "--db", f"{f}", "Is a directory"),
        (["--db", f / "none/x.db"], 1, "--db", f"{f}/none/x.db", "No such file"),
        (["--db", f / "text/x.db"], 1, "--db", f"{f}/text/x.db", "Not a directory"),
        (["--db", f / "text"], 1, "--db", f"{f}/text", "not a database"),
        (["--db", f / "foreign.db"], 1, "--db", f"{f}/foreign.db", "another application"),
        (["--db", f / "newer.db"], 1, "--db", f"{f}/newer.db", "another"),
        (["--db", "/dev/null"], 1, "--db", "/dev/null", "not a regular file"),
        (["--api-key", ""], 2, "--api-key", "", "1 to 4095"),
        (["--api-key", "k" * 4096], 2, "--api-key", "", "1 to 4095"),
        ([], 2, "GPUFL_BACKEND_API_KEY", "", "empty", {"GPUFL_BACKEND_API_KEY": ""}),
        ([], 2, "GPUFL_BACKEND_API_KEY", "", "1 to 4095", {"GPUFL_BACKEND_API_KEY": "k" * 4096}),
        (["--api-key", " "], 2, "--api-key", "", "a blank"),
        (["--api-key", "k "], 2, "--api-key", "", "a blank"),
        (["--api-key", "a\nb"], 2, "--api-key", "", "control character"),
        ([], 2, "GPUFL_BACKEND_API_KEY", "", "control character", {"GPUFL_BACKEND_API_KEY": "a\x01b"}),
        (["--retain-days", " 7"], 2, "--retain-days", "' 7'", "0 to 36500"),
        (["--retain-days", "+7"], 2, "--retain-days", "'+7'", "0 to 36500"),
        (["--max-db-bytes", " 20GiB"], 2, "--max-db-bytes", "' 20GiB'", "20GiB"),
        (["--max-db-bytes", "+1GiB"], 2, "--max-db-bytes", "'+1GiB'", "20GiB"),
        (["--insecure=yes"], 2, "--insecure", "'yes'", "takes none"),
        (["--retain-days", "-1"], 2, "--retain-days", "'-1'", "0 to 36500"),
        (["--retain-days", "36501"], 2, "--retain-days", "'36501'", "0 to 36500"),
        (["--retain-days", "7d"], 2, "--retain-days", "'7d'", "0 to 36500"),
        (["--retain-days", ""], 2, "--retain-days", "''", "0 to 36500"),
        (["--max-db-bytes", "1000"], 2, "--max-db-bytes", "'1000'", "1MiB"),
        (["--max-db-bytes", "20GB"], 2, "--max-db-bytes", "'20GB'", "20GiB"),
        (["--max-db-bytes", "-1"], 2, "--max-db-bytes", "'-1'", "1MiB"),
        (["--max-db-bytes", "99999999TiB"], 2, "--max-db-bytes", "'99999999TiB'", "20GiB"),
        (["--max-db-bytes", ""], 2, "--max-db-bytes", "''", "1MiB"),
        (["--retian-days", "7"], 2, "--retian-days", "", "did you mean --retain-days?"),
        (["--d", "x"], 2, "--d", "", "unknown option (did you mean --db?)"),
        (["--re", "7"], 2, "--re", "", "unknown option (did you mean --retain-days?)"),
        (["--db", "a\nb"], 2, "--db", "'a\\nb'", "without control characters"),
        (["--listen", "127.0.0.1:0", "--listen", "x"], 2, "--listen", "'x'", "ADDRESS:PORT"),
        (["--tls-cert", "x"], 2, "--tls-cert", "", "unknown option (see gpufl-backend --help)"),
        (["-p", "1"], 2, "-p", "", "unknown option"),
        (["start"], 2, "'start'", "", "unexpected argument"),
        ([""], 2, "''", "", "unexpected argument"),
    ]
    if os.geteuid():  # root reads any file
        rows.append((["--db", f / "locked.db"], 1, "--db", f"{f}/locked.db", "Permission denied"))
    _in_parallel(rows, one)
    taken.close()


def options_without_effect_are_named(place):
    f = _files(place)
    (f / "token").write_text("k")
    (f / "token").chmod(0o600)
    (f / "state").mkdir(mode=0o700)
    for args, env, name, why in (
            (["--token=k", f"--token-file={f}/token"], {}, "--token", "the file with the API key"),
            ([], {"GPUFL_HTTP_TOKEN": "k", "GPUFL_HTTP_TOKEN_FILE": str(f / "token")}, "GPUFL_HTTP_TOKEN", "the file"),
            (["--exit-if-empty"], {}, "--exit-if-empty", "needs --exit-when-drained"),
            (["--state=memory", f"--state-dir={f}/state"], {}, "--state-dir", "keeps no journal"),
            (["--delete-acked=acknowledged", "--retain-acked-payloads"], {}, "--delete-acked", "takes precedence"),
            ([f"--ca-file={f}/cert.pem"], {}, "--ca-file", "an http:// address"),
            (["--allow-insecure-http", "--host=https://127.0.0.1:9"], {}, "--allow-insecure-http", "no http://")):
        host = [] if any(a.startswith("--host") for a in args) else [f"--host={HOST}"]
        done = place.run("gpufl-agent", f"--folder={place.logs}", "--check", *host, *args,
                         env=env)
        said = [line for line in done.stderr.splitlines() if f": {name}: changes nothing: " in line]
        check(len(said) == 1 and why in said[0], f"{args} {env}: {done.stderr}")


def a_check_says_whether_the_settings_would_work(place):
    """It asks the backend with the key, and sends and writes nothing."""
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    key = {"GPUFL_HTTP_TOKEN": lib.KEY}

    def answer(status, body=""):
        return lambda s, request: (status, body) if request.to_stream else None

    def one(url, code, said, *args, env=None, folder=place.logs):
        done = place.run("gpufl-agent", "--check", f"--folder={folder}", f"--host={url}", *args, env=key if env is None else env)
        equal(done.returncode, code, f"{url} {args}: {done.stdout}{done.stderr}")
        check(said in (done.stderr if code else done.stdout), f"{url} {args}: {done.stdout}{done.stderr}")

    one(backend.url, 0, "takes the key, 1 folder")
    one(backend.url, 2, "refused the API key", env={"GPUFL_HTTP_TOKEN": "wrong"})
    one(backend.url, 2, "asks for an API key", env={})
    one(backend.url + "/elsewhere", 2, "--api-path")
    one("http://127.0.0.1:9", 2, "connect")
    one("http://127.0.0.1:99999", 2, "1 to 65535")
    one(backend.url, 2, "Not a directory", folder=backend.process.log)
    one(backend.url, 0, "does not exist yet", folder=place.path / "none")
    one(backend.url, 2, "gpufl-agent: --folder: '", folder=backend.process.log)
    for name, value in (("GPUFL_SOURCE_FOLDER", {}), ("source.folder", {"source": {"folder": str(backend.process.log)}})):
        (place.path / "c.json").write_text(lib.json.dumps(value))
        env = {**key, **({} if value else {name: str(backend.process.log)})}
        for args, code in ((("--check",), 2), (("--exit-when-drained",), 1)):
            done = place.run("gpufl-agent", f"--host={backend.url}", f"--config={place.path}/c.json", *args, env=env)
            equal(done.returncode, code, f"{name} {args}: {done.stderr}")
            check(f"gpufl-agent: {name}: '{backend.process.log}': Not a directory" in done.stderr, f"{args}: {done.stderr}")
    done = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={backend.url}",
                     env={**key, "GPUFL_AGENT_STATE_DRI": "x", "GPUFL_AGENT_FROBNICATE": "y"})
    equal(done.returncode, 0, f"variables that nothing reads are only named: {done.stderr}")
    for told in ("GPUFL_AGENT_STATE_DRI: no option reads it (did you mean GPUFL_AGENT_STATE_DIR?)\n",
                 "GPUFL_AGENT_FROBNICATE: no option reads it (see gpufl-agent --help)\n"):
        check(f"gpufl-agent: {told}" in done.stderr, done.stderr)
    one(backend.url, 2, "No such file", "--exit-when-drained", folder=place.path / "none")
    one(backend.url, 2, "Not a directory", f"--state-dir={backend.process.log}")
    one(backend.url, 2, "cursor file", f"--cursor-file={backend.process.log}")
    one(backend.url, 0, "takes the key", f"--state-dir={place.logs}/.gpufl-agent")
    open_dir = place.path / "open"
    open_dir.mkdir()
    open_dir.chmod(0o777)
    for value, fault in ((f"{place.path}/none", "No such file"), (str(backend.process.log), "Not a directory"),
                         ("run", "it is not absolute"), (f"{place.path}:/run", "it names several directories"),
                         (str(open_dir), "it belongs to another user, or others can write to it")):
        one(backend.url, 2, f"gpufl-agent: RUNTIME_DIRECTORY: '{value}': {fault}", env={**key, "RUNTIME_DIRECTORY": value})
    one(backend.url, 0, "takes the key", env={**key, "RUNTIME_DIRECTORY": str(place.logs)})
    one(backend.url, 2, "no channel is called", "--log-types=x")
    for status, code, said in ((200, 0, "takes the key"), (202, 0, ""), (400, 0, ""), (422, 0, ""), (401, 2, "key"),
                               (403, 2, "key"), (404, 2, "--host"), (302, 2, "redirects"), (503, 2, "later")):
        with sink.Sink(answer(status), get=404) as s:  # without a declaration, as a hosted server
            one(s.url, code, said)
            equal([r.body for r in s.requests if r.to_stream], [b""], "no line is sent")
    with sink.Sink(answer(405), get=405) as s:  # a gateway that knows nothing of us
        one(s.url, 2, "--host")
    with sink.Sink(declare=True) as s:  # which answers 405 to GET where batches go
        one(s.url, 0, "takes the key")
        equal(s.batches(), [], "the question is one that stores nothing")
    for status, code, said in ((200, 0, ""), (401, 2, "key"), (403, 2, "key"),
                               (302, 2, "redirects"), (503, 2, "later")):
        with sink.Sink(get=status) as s:
            one(s.url, code, said)
            equal(s.batches(), [], f"{status}: the question is one that stores nothing")
    agent = lib.agent(place, backend.url)
    session, = (d for d in place.logs.iterdir() if not d.name.startswith("."))
    until((session / ".uploaded").exists, "an agent serves the folder, and has written all that it will")
    before = sorted(str(p) for p in place.path.rglob("*"))
    one(backend.url, 0, "takes the key")
    equal(sorted(str(p) for p in place.path.rglob("*")), before, "nothing is written")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "the agent goes on until it is stopped")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
