# SPDX-License-Identifier: Apache-2.0
"""Settings that cannot work: an error at the start with value, reason and way out."""
import contextlib
import os
import re
import socket
import sqlite3
import sys

import lib
from lib import check, equal
from wrong import HOST, WAY_OUT, files, in_parallel


def wrong_settings_of_an_upload_are_refused_at_the_start(place):
    """Whether or not there is anything to send."""
    f = files(place)

    def one(args, name, value, reason, env=None, without=()):
        flags = {str(a) for a in args} | set(without)
        usual = [a for flag, v in (("--backend-url", HOST), ("--api-key", "k")) if flag not in flags
                 for a in (flag, v)]
        where = [] if name == "DIR" else [place.logs]
        done = place.run("gpufl", "upload", *where, *usual, *args, env=env)
        equal(done.returncode, 2, f"{args} {env}: {done.stderr}")
        said = done.stderr
        check(said.startswith(f"gpufl upload: {name}: ") and said.count("\n") == 1, f"{args} {env}: {said}")
        check(value in said and reason in said, f"{args} {env}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{args} {env} has no way out: {said}")

    in_parallel([
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
        ([], "--backend-url", "", "missing", {"GPUFL_BACKEND_URL": " "}, ["--backend-url"]),
        ([], "GPUFL_API_KEY", "", "blank (give the key)", {"GPUFL_API_KEY": " "}, ["--api-key"]),
        (["--api-key", "'k'"], "--api-key", "", "is in quotes (leave them out)"),
        (["--api-key", "Bearer k"], "--api-key", "", "begins with 'Bearer' (give the key alone)"),
        (["--state-dir", "~/state"], "--state-dir", "'~/state'", "only a shell expands it"),
        (["--state-dir", f"{f}/state\n"], "--state-dir", f"'{f}/state\\n'", "ends with a blank"),
        (["--backend-url", "https://h"], "HTTPS_PROXY", "'foo bar'", "", {"HTTPS_PROXY": "foo bar"}),
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
        (["--api-path", "/a/../b"], "--api-path", "'/a/../b'", "has a part '.' or '..'"),
        (["--api-path", "a/%2e"], "--api-path", "'a/%2e'", "has a part '.' or '..'"),
        (["--api-path", "/a//b"], "--api-path", "'/a//b'", "has an empty part"),
        (["--api-path", "//a"], "--api-path", "'//a'", "has an empty part"),
        (["--api-path", "https://h/api"], "--api-path", "'https://h/api'", "has an empty part"),
        (["--api-path", "/a%b"], "--api-path", "'/a%b'", "without two hexadecimal digits"),
        ([], "GPUFL_API_PATH", "'/./a'", "has a part '.' or '..'", {"GPUFL_API_PATH": "/./a"}),
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
    done = lib.upload(place, HOST, env={"GPUFL_DISABLED": "maybe"})
    check("GPUFL_DISABLED: invalid value 'maybe': ignored (expected true, " in done.stderr and "switched off" not in done.stdout,
          f"{done.stdout}{done.stderr}")


def wrong_directories_and_sessions_are_refused_by_each_verb(place):
    """What is given in place of DIR and SESSION, with what to do."""
    f = files(place)
    session = lib.job(place, 0.1)
    for name, mode in (("other", 0o755), ("closed", 0o700)):
        (f / name).mkdir(mode=mode)
    place.path.chmod(0o755)
    to = ["--backend-url", HOST, "--api-key", "k"]
    verbs = (["upload", *to], ["status"], ["verify", *to], ["resolve", "x"], ["export"], ["quarantine", "list"],
             ["quarantine", "show", "--all"], ["quarantine", "drop", "--all"], ["quarantine", "retry", "--all", *to])

    def one(words, name, value, reason, **more):
        done = place.run("gpufl", *words, **more)
        said = done.stderr
        equal((done.returncode, done.stdout), (2, ""), f"{words}: {said}")
        check(said.startswith(f"gpufl {words[0]}: {name}") and said.count("\n") == 1, f"{words}: {said}")
        check(value in said and reason in said, f"{words}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{words} has no way out: {said}")

    def each_verb(path, reason, without=()):
        for verb in verbs:
            head = 2 if verb[0] == "quarantine" else 1
            if verb[0] not in without:
                yield ([*verb[:head], str(path), *verb[head:]], "" if verb[0] == "export" else "DIR: ", str(path)[:100], reason)

    in_parallel([
        *each_verb(f / "none", "No such file or directory ("),
        *each_verb("", " (expected "),
        *each_verb("x" * 300, "File name too long ("),
        *each_verb(f / "text", "Not a directory ("),
        *each_verb(f / "text/x", "Not a directory ("),
        *each_verb(f / "pipe", "Not a directory ("),
        *each_verb(f / "socket", "Not a directory ("),
        *each_verb(session, "it is a session (give the directory that holds it", without=("export", "resolve")),
        (["export", place.logs], "", str(place.logs), "no files of a session (expected <log_path>/<session id>)"),
        (["export", f / "other"], "", f"{f}/other", "no files of a session (expected <log_path>/<session id>)"),
        (["export", session, "x"], "", "'x'", "unexpected argument"),
        (["export"], "DIR: ", "", "missing"),
        (["status"], "DIR: ", "", "missing"),
        (["verify", *to], "DIR: ", "", "missing"),
        (["resolve"], "DIR", "", "missing"),
        (["resolve", place.logs], "SESSION: ", "", "missing"),
        *[(["resolve", place.logs, what], f"'{what[:100]}", "", "no such session (expected SESSION or SESSION/CHANNEL")
          for what in ("nosuch", "", "..", "/", f"{session.name}/nochan", f"../logs/{session.name}", "x" * 5000)],
        *[([verb, place.logs, "--session-id", what, *to], "--session-id: ", f"'{what}'", "no such session")
          for verb in ("upload", "verify") for what in ("nosuch", "../logs", ".")]], one)
    if os.geteuid() == 0:  # root reads any directory
        in_parallel([*each_verb(f / "closed", "Permission denied (run this as a user who can read it)")],
                    lambda *row: one(*row, user=12345, group=12345, extra_groups=[]))


def options_of_an_upload_without_effect_are_named(place):
    """Each verb that reaches a backend takes them."""
    f = files(place)
    lib.job(place, 0.1)
    files_for_tls = {"--ca-file": "cert.pem", "--client-cert": "both.pem", "--client-key": "key.pem"}
    (f / "both.pem").write_text((f / "cert.pem").read_text() + (f / "key.pem").read_text())
    tls = [a for flag, name in files_for_tls.items() for a in (flag, f / name)]
    for url, args, named in ((HOST, tls, list(files_for_tls)), (HOST[7:], tls, list(files_for_tls)),
                             ("https://127.0.0.1:9", ["--allow-insecure-http"], ["--allow-insecure-http"]), (HOST, [], [])):
        to = ["--backend-url", url, "--api-key", "k", *args]
        for words in (["upload", place.logs, "--timeout", "5s", "--retries", "1"], ["verify", place.logs], ["quarantine", "retry", "--all", place.logs]):
            said = place.run("gpufl", *words, *to).stderr
            found = [line for line in said.splitlines() if "changes nothing: " in line]
            equal([flag for flag in (*files_for_tls, "--allow-insecure-http") if any(flag in line for line in found)], named,
                  f"{words} {url}: {said}")


def wrong_settings_of_the_backend_are_refused_at_the_start(place):
    f = files(place)
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
        (["--listen", "::1:0"], 2, "--listen", "'::1:0'", "ADDRESS:PORT"),
        (["--listen", ":::0"], 2, "--listen", "':::0'", "ADDRESS:PORT"),
        (["--listen", "[::1:0"], 2, "--listen", "'[::1:0'", "ADDRESS:PORT"),
        (["--listen", "[127.0.0.1]:0"], 2, "--listen", "'[127.0.0.1]:0'", "ADDRESS:PORT"),
        (["--listen", "[::1]"], 2, "--listen", "'[::1]'", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:0 "], 2, "--listen", "'127.0.0.1:0 '", "ADDRESS:PORT"),
        (["--listen", "127.0.0.1:99999999999999999999"], 2, "--listen", "'127.0.0.1:99999999999999999999'", "ADDRESS:PORT"),
        (["--listen", "255.255.255.255:0"], 2, "--listen", "'255.255.255.255:0'", "neither broadcast nor multicast"),
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
        ([], 2, "GPUFL_BACKEND_API_KEY", "", "is in quotes (leave them out)", {"GPUFL_BACKEND_API_KEY": '"k"'}),
        ([], 2, "GPUFL_BACKEND_API_KEY", "", "begins with 'Bearer'", {"GPUFL_BACKEND_API_KEY": "Bearer k"}),
        (["--db", f"{f}/x.db "], 2, "--db", f"'{f}/x.db '", "ends with a blank (leave it out)"),
        (["--db=~/x.db"], 2, "--db", "'~/x.db'", "only a shell expands it"),
        (["--db", "sqlite:///x.db"], 2, "--db", "'sqlite:///x.db'", "a URL (give a path)"),
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
    in_parallel(rows, one)
    taken.close()


def an_option_of_the_backend_without_effect_is_named(place):
    for args, why in ((("--api-key", "k"), "a key is required"), ((), "the address of --listen is a loopback address")):
        backend = lib.Backend(place, "--insecure", *args)
        equal(backend.process.log.read_text().count(f"gpufl-backend: --insecure: changes nothing: {why}\n"), 1, f"{args}")
        backend.kill()


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
