# SPDX-License-Identifier: Apache-2.0
"""Settings of the agent: what cannot work is an error with value, reason and way out, which --check says before."""
import os
import re
import signal
import socket
import sys

import lib
from lib import check, equal, until
import sink
from wrong import HOST, WAY_OUT, files, in_parallel


def _start(place, args, env, cwd=None):
    """Its exit status and what it said; one that works is ended once it has started."""
    agent = place.start("gpufl-agent", *args, env=env, cwd=cwd or place.path)
    until(lambda: agent.poll() is not None or " agent.started " in agent.log.read_text(errors="replace"), f"{args}: a start")
    if agent.poll() is None:
        agent.send_signal(signal.SIGTERM)
    return agent.wait(20 * lib.SLOW), agent.log.read_text(errors="replace")


def _tree(place):
    return sorted(str(p) for p in place.path.rglob("*") if p.suffix != ".log")


def _plant(place):
    """Files and directories with which it cannot work."""
    f = files(place)
    for name in ("group", "group/deep", ".hidden"):
        (place.logs / name).mkdir(mode=0o700)
    (f / "logs.link").symlink_to(place.logs)
    for name in ("newer", "no-journal", "no-lock"):
        (f / name).mkdir(mode=0o700)
        (f / name / ".gpufl-agent").mkdir(mode=0o755)
    (f / "newer/.gpufl-agent/journal").write_bytes(b"GPUFLJ\r\n" + (99).to_bytes(4, "little") * 2)
    (f / "no-journal/.gpufl-agent/journal").mkdir()
    (f / "no-lock/.gpufl-agent/journal.lock").mkdir()
    return f


def wrong_settings_of_the_agent_are_refused_at_the_start(place):
    """And by --check, with the same words; neither makes anything."""
    f = _plant(place)
    server = sink.Sink(declare=True)

    def one(args, name, value, reason, env=None, without=()):
        given = {a.split("=")[0] for a in args} | set(without)
        usual = [f"{flag}={v}" for flag, v in (("--folder", place.logs), ("--host", server.url)) if flag not in given]
        tried = place.run("gpufl-agent", "--check", *usual, *args, env=env, cwd=place.path)
        code, said = _start(place, [*usual, *args], env)
        equal(code, 1, f"{args} {env}: {said}")
        events, said = said[:said.find("gpufl-agent: ")], said[said.find("gpufl-agent: "):]
        check(" agent.started " not in events, f"{args} {env}: {events}")
        check(said.startswith(f"gpufl-agent: {name}: ") and said.count("\n") == 1, f"{args} {env}: {said}")
        check(value in said and reason in said, f"{args} {env}: {said}")
        check(re.search(WAY_OUT, said.strip()), f"{args} {env} has no way out: {said}")
        equal(tried.returncode, 2, f"--check {args} {env}: {tried.stdout}{tried.stderr}")
        check(said in tried.stderr, f"{args} {env}: start: {said}check: {tried.stderr}")

    before = _tree(place)
    with server:
        in_parallel([
            (["--log-types=devices"], "--log-types", "devices", "device,scope,system,sass"),
            ([], "GPUFL_LOG_TYPES", "device,cpu", "no channel is called 'cpu'", {"GPUFL_LOG_TYPES": "device,cpu"}),
            (["--log-types=,"], "--log-types", "','", "names no channel"),
            (["--log-types=device,device"], "--log-types", "'device,device'", "'device' is given twice"),
            ([], "GPUFL_LOG_TYPES", "'sass, scope sass'", "'sass' is given twice", {"GPUFL_LOG_TYPES": "sass, scope sass"}),
            ([f"--config={f}/types-twice.json"], "source.logTypes", "'scope,scope'", "'scope' is given twice"),
            ([f"--config={f}/types-comma.json"], f"{f}/types-comma.json:1:12: source.logTypes", "", "elements contains a comma"),
            ([f"--config={f}/folder-comma.json"], f"{f}/folder-comma.json:1:12: source.folder", "", "elements contains a comma", {}, ["--folder"]),
            ([f"--config={f}/folder-empty.json"], f"{f}/folder-empty.json:1:12: source.folder", "", "elements is empty", {}, ["--folder"]),
            ([f"--config={f}/source-comma.json"], f"{f}/source-comma.json:1:14: sources.folder", "", "several directories", {}, ["--folder"]),
            ([f"--config={f}/folder-blank.json"], f"{f}/folder-blank.json:1:12: source.folder", "", "empty (give DIR, or leave it out)"),
            ([f"--folder={place.logs}", "--folder="], "--folder", f"'{place.logs},'", "one of its elements is empty"),
            (["--folder=", f"--folder={place.logs}"], "--folder", f"',{place.logs}'", "one of its elements is empty"),
            (["--folder=,"], "--folder", "','", "one of its elements is empty"),
            ([f"--folders={f}/a,,{f}/b,"], "--folders", f"'{f}/a,,{f}/b,'", "one of its elements is empty"),
            ([], "GPUFL_SOURCE_FOLDERS", f"'{f}/a, '", "one of its elements is empty", {"GPUFL_SOURCE_FOLDERS": f"{f}/a, "}),
            (["--folder=/"], "--folder", "'/'", "the root of the file system"),
            (["--folders=/proc/.."], "--folders", "'/proc/..'", "the root of the file system"),
            (["--log-types=device,,scope"], "--log-types", "'device,,scope'", "one of its elements is empty"),
            (["--log-types=device, "], "--log-types", "'device, '", "one of its elements is empty"),
            ([f"--folder={place.logs}", f"--folder={place.logs}/group"], "--folder", f"'{place.logs}/group'", "leave one of the two out"),
            ([f"--folder={place.logs}/group", f"--folder={place.logs}"], "--folder", f"'{place.logs}/group'", "leave one of the two out"),
            ([f"--folders={place.logs}/group"], "--folders", f"'{place.logs}/group'", f"'{place.logs}'"),
            ([f"--folder={place.logs}/group", f"--folders={place.logs}"], "--folder", f"'{place.logs}/group'", "leave one of the two out"),
            ([f"--folders={place.logs}/.hidden"], "--folders", f"'{place.logs}/.hidden'", "leave one of the two out"),
            ([f"--folders={f}/logs.link/group"], "--folders", f"'{f}/logs.link/group'", "leave one of the two out"),
            ([f"--folders={place.logs}/late"], "--folders", f"'{place.logs}/late'", "leave one of the two out"),
            ([f"--folder={f}/late/x/../group", f"--folders={f}/late"], "--folder", f"'{f}/late/x/../group'", "leave one of the two out"),
            (["--folders=" + ",".join(f"{f}/{n}" for n in range(64))], "--folders", f"'{f}/63'", "more than 64 directories"),
            ([f"--folder={f}/{'x/' * 2100}y"], "--folder", "'/", "File name too long"),
            ([f"--folder={f}/newer"], "journal", f"'{f}/newer/.gpufl-agent/journal'", "newer gpufl (upgrade"),
            ([f"--folder={f}/no-journal"], "journal", f"'{f}/no-journal/.gpufl-agent/journal'", "move it away"),
            ([f"--folder={f}/no-lock"], "state directory", f"'journal.lock' for {f}/no-lock", "Is a directory (move it away"),
            ([f"--state-dir={f}/none/../logs/state"], "--state-dir", f"'{f}/none/../logs/state'", "it lies in the log directory"),
            (["--listen=192.0.2.1:0"], "--listen", "'192.0.2.1:0'", "Cannot assign requested address"),
            (["--landlock=require", "--folder=/nowhere"], "--landlock", "'/nowhere'", "but /"),
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
            ([], "GPUFL_HTTP_TOKEN", "", "is in quotes (leave them out)", {"GPUFL_HTTP_TOKEN": '"k"'}),
            (["--token=bearer k"], "--token", "", "begins with 'Bearer' (give the key alone)"),
            ([f"--token-file={f}/bearer"], "--token-file", "", "begins with 'Bearer' (give the key alone)"),
            ([f"--token-file={f}/quoted"], "--token-file", "", "is in quotes"),
            ([f"--token-file={f}/bom"], "--token-file", "", "a byte order mark (save it without one)"),
            ([f"--config={f}/bom.json"], f"{f}/bom.json:1:1", "", "a byte order mark (save it without one)"),
            ([], "GPUFL_SOURCE_FOLDERS", f"' {f}/b'", "ends with a blank (leave it out)", {"GPUFL_SOURCE_FOLDERS": f"{f}/a, {f}/b"}),
            ([], "GPUFL_SOURCE_FOLDER", f"'{f}\\n'", "ends with a blank", {"GPUFL_SOURCE_FOLDER": f"{f}\n"}, ["--folder"]),
            ([], "GPUFL_SOURCE_FOLDER", f"'\"{f}\"'", "begins with a quote", {"GPUFL_SOURCE_FOLDER": f'"{f}"'}, ["--folder"]),
            ([], "GPUFL_SOURCE_FOLDER", "'$HOME/logs'", "only a shell expands it", {"GPUFL_SOURCE_FOLDER": "$HOME/logs"}, ["--folder"]),
            ([f"--folder=file://{f}"], "--folder", f"'file://{f}'", "a URL (give a path)"),
            (["--folder=~/logs"], "--folder", "'~/logs'", "./ before it if it is meant"),
            (["--state-dir=~/state"], "--state-dir", "'~/state'", "only a shell expands it"),
            (["--cursor-file=~/cursor"], "--cursor-file", "'~/cursor'", "only a shell expands it"),
            ([], "GPUFL_AGENT_CA_FILE", f"'{f}/cert.pem '", "ends with a blank", {"GPUFL_AGENT_CA_FILE": f"{f}/cert.pem "}),
            (["--host=https://h"], "https_proxy", "'foo bar'", "", {"https_proxy": "foo bar"}),
            (["--host=https://h"], "HTTPS_PROXY", "'ftp://p:1'", "unknown scheme", {"HTTPS_PROXY": "ftp://p:1"}),
            (["--host=https://h"], "ALL_PROXY", "'http://p:99999'", "1 to 65535", {"ALL_PROXY": "http://p:99999"}),
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
            (["--api-path=/a/../b"], "--api-path", "'/a/../b'", "has a part '.' or '..'"),
            (["--api-path=/a/%2E%2e"], "--api-path", "'/a/%2E%2e'", "has a part '.' or '..'"),
            (["--api-path=a//b"], "--api-path", "'a//b'", "has an empty part"),
            (["--api-path=//x"], "--api-path", "'//x'", "has an empty part"),
            (["--host=http://h//x"], "--host", "'http://h//x'", "its path has an empty part"),
            (["--api-path=/a%"], "--api-path", "'/a%'", "without two hexadecimal digits"),
            ([], "GPUFL_API_PATH", "'http://h/v1'", "has an empty part", {"GPUFL_API_PATH": "http://h/v1"}),
            ([f"--config={f}/path-dots.json"], "publisher.apiPath", "'/.'", "has a part '.' or '..'"),
            (["--host=http://h/a/../b"], "--host", "'http://h/a/../b'", "its path has a part '.' or '..'"),
            (["--listen=255.255.255.255:0"], "--listen", "'255.255.255.255:0'", "the address of an interface"),
            (["--listen=224.0.0.1:0"], "--listen", "'224.0.0.1:0'", "the address of an interface"),
            (["--listen=[ff02::1]:0"], "--listen", "'[ff02::1]:0'", "the address of an interface"),
            (["--listen=::1:0"], "--listen", "'::1:0'", "an IPv6 address in brackets"),
            (["--listen=[127.0.0.1]:0"], "--listen", "'[127.0.0.1]:0'", "an IPv6 address in brackets"),
            ([], "GPUFL_AGENT_LISTEN", "':::9464'", "an IPv6 address in brackets", {"GPUFL_AGENT_LISTEN": ":::9464"}),
            (["--orphan-timeout=-1"], "--orphan-timeout", "'-1'", "a duration"),
            (["--orphan-timeout=1h5m"], "--orphan-timeout", "'1h5m'", "a duration"),
            (["--orphan-timeout=4294967296"], "--orphan-timeout", "'4294967296'", "a number up to 4294967295"),
            (["--api-version=../v1"], "--api-version", "../v1", "a version such as v1"),
            (["--require-owner-uid=root"], "--require-owner-uid", "root", "numeric"),
            (["--require-owner-uid=9999999999"], "--require-owner-uid", "9999999999", "numeric"),
            (["--read-timeout=0"], "--read-timeout", "'0'", "above 0"),
            (["--rescan-interval=0"], "--rescan-interval", "'0'", "above 0"),
            (["--zstd-level=20"], "--zstd-level", "'20'", "1 to 19"),
            ([], "GPUFL_SOURCE_FOLDERS", "',,'", "names no directory", {"GPUFL_SOURCE_FOLDERS": ",,"}),
            ([f"--config={f}/empty-key.json"], f"{f}/empty-key.json:1:11: agent.stateDir", "", "empty"),
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
    equal(_tree(place), before, "nothing is made of settings that are refused")


def _world(place):
    """Directories for one agent."""
    world = place.path / f"world{next(place.count)}"
    for name, mode in (("", 0o755), ("logs", 0o700), ("logs/group", 0o700), ("logs/group/deep", 0o700), ("run", 0o755), ("open", 0o777)):
        (world / name).mkdir()
        (world / name).chmod(mode)
    (world / "link").symlink_to("logs")
    (world / "file").write_text("")
    (world / "two.json").write_text('{"sources":[{"folder":"other"}],"source":{"folder":"logs"}}')
    return world


def settings_that_work_are_taken_by_check_and_start_alike(place):
    """What the check says besides, on either stream, is not what keeps an agent from sending."""
    server = sink.Sink(declare=True)

    def one(args, said="", env=None):
        world = _world(place)
        args = [arg.format(w=world) for arg in (*args, "--host=" + server.url)]
        args += [] if args[0].startswith("--folder=") else [f"--folder={world}/logs"]
        env = {"GPUFL_AGENT_WATCH": "poll", **{name: value.format(w=world) for name, value in (env or {}).items()}}  # it ends at once
        before = sorted(world.rglob("*"))
        tried = place.run("gpufl-agent", "--check", *args, env=env, cwd=world)
        equal(sorted(world.rglob("*")), before, f"--check {args} {env} makes nothing")
        code, log = _start(place, args, env, world)
        equal((tried.returncode, code), (0, 0), f"{args} {env}: {tried.stderr}{log}")
        check(" agent.started " in log and "the settings work: " in tried.stdout, f"{args} {env}: {tried.stdout}{log}")
        equal(" option.doubtful " in log, ": less than a minute" in tried.stderr, f"{args} {env}: {log}{tried.stderr}")
        equal(" publish.off " in log, "gpufl-agent: RUNTIME_DIRECTORY: " in tried.stderr, f"{args} {env}: {log}{tried.stderr}")
        check(said.format(w=world) in tried.stdout + tried.stderr, f"{args} {env}: {tried.stdout}{tried.stderr}")

    def runtime(value, fault):
        return ([], f"gpufl-agent: RUNTIME_DIRECTORY: '{value}': other users' programs will not see that the folders are served: "
                + fault, {"RUNTIME_DIRECTORY": value})

    with server:
        in_parallel([
            ([], "1 folder"),
            (["--folders={w}/logs"],),
            (["--folders={w}/link,{w}/logs/group/.."], "3 folders"),
            (["--folders={w}/none"], "--folders: '{w}/none': does not exist yet (the agent waits)"),
            (["--folders={w}/logs/group/deep"], "2 folders"),  # no session of the other folder
            (["--folders={w}/none/group/deep"],),
            (["--folders={w}/none-of-it,{w}/none"],),
            (["--folder=logs"],),
            (["--state-dir={w}/state/new"],),
            (["--state-dir=state"],),
            (["--state-dir={w}/logs/.state"],),
            (["--state=memory"],),
            (["--watch=inotify", "--landlock=off"],),
            (["--listen=127.0.0.1:0"],),
            (["--cursor-file={w}/none"],),
            (["--timeout=0"],),
            (["--orphan-timeout=5"], "gpufl-agent: --orphan-timeout: less than a minute: jobs that run may be taken for ended"),
            ([], "gpufl-agent: GPUFL_AGENT_ORPHAN_TIMEOUT: less than a minute", {"GPUFL_AGENT_ORPHAN_TIMEOUT": "59s"}),
            (["--orphan-timeout=60"],),
            (["--orphan-timeout=0"],),
            (["--type=http"],),
            ([], "", {"RUNTIME_DIRECTORY": "{w}/run"}),
            ([], "", {"RUNTIME_DIRECTORY": ""}),
            ([], "", {"STATE_DIRECTORY": "{w}/state"}),
            ([], "", {"STATE_DIRECTORY": "state"}),
            ([], "", {"GPUFL_AGENT_LISTEN": " "}),
            ([], "GPUFL_AGENT_FROB: no option reads it", {"GPUFL_AGENT_FROB": "1"}),
            ([], "GPUFL_HTTP_TOKNE: no option reads it (did you mean GPUFL_HTTP_TOKEN?)", {"GPUFL_HTTP_TOKNE": "k"}),
            ([], "GPUFL_SOURCE_FODLERS: no option reads it (did you mean GPUFL_SOURCE_FOLDERS?)", {"GPUFL_SOURCE_FODLERS": "/x"}),
            (["--folders={w}/a;{w}/b"], "'{w}/a;{w}/b': does not exist yet (the agent waits; commas separate folders)"),
            (["--state-dir=./~"],),
            ([], "NOTIFY_SOCKET: 'notify': neither a path nor an abstract name: systemd is not told", {"NOTIFY_SOCKET": "notify"}),
            ([], "NOTIFY_SOCKET: '{w}/none': No such file or directory: ", {"NOTIFY_SOCKET": "{w}/none"}),
            ([], "WATCHDOG_USEC: '30s': not a number of microseconds", {"WATCHDOG_USEC": "30s"}),
            (["--config={w}/two.json"], "source.folder: changes nothing: sources takes precedence"),
            runtime("{w}/none", "No such file or directory (give a directory of this user, or unset it)"),
            runtime("{w}/file", "Not a directory (give a directory of this user, or unset it)"),
            runtime("run", "it is not absolute (give a path that begins with /, or unset it)"),
            runtime(" ", "it is not absolute"),
            runtime("{w}/run:{w}/open", "it names several directories (give one name in RuntimeDirectory= of the unit)"),
            runtime("{w}/open", "other users can write to it: its mode is 0777 (run chmod go-w)"),
            runtime("/proc", "no file can be created in it: " if os.geteuid() == 0 else "Permission denied"),
        ], one)


def options_without_effect_are_named(place):
    f = files(place)
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
            ([f"--ca-file={f}/cert.pem", f"--host={HOST[7:]}"], {}, "--ca-file", "an http:// address"),
            (["--compression=gzip", "--zstd-level=19"], {}, "--zstd-level", "nothing is compressed by zstd"),
            (["--compression=none"], {"GPUFL_AGENT_ZSTD_LEVEL": "3"}, "GPUFL_AGENT_ZSTD_LEVEL", "nothing is compressed by zstd"),
            (["--state=memory", "--same-origin"], {}, "--same-origin", "keeps no journal"),
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
    one(backend.url, 2, "no channel is called", "--log-types=x")
    for status, code, said in ((200, 0, "takes the key"), (202, 0, ""), (400, 0, ""), (422, 0, ""), (401, 2, "key"),
                               (403, 2, sink.SAYS_403), (404, 2, "--host"), (302, 2, "redirects"), (503, 2, "later")):
        with sink.Sink(answer(status), get=404) as s:  # without a declaration, as a hosted server
            one(s.url, code, said)
            equal([r.body for r in s.requests if r.to_stream], [b""], "no line is sent")
    with sink.Sink(answer(405), get=405) as s:  # a gateway that knows nothing of us
        one(s.url, 2, "--host")
    with sink.Sink(declare=True) as s:  # which answers 405 to GET where batches go
        one(s.url, 0, "takes the key")
        equal(s.batches(), [], "the question is one that stores nothing")
    for status, code, said in ((200, 0, ""), (401, 2, "key"), (403, 2, sink.SAYS_403),
                               (302, 2, "redirects"), (503, 2, "later")):
        with sink.Sink(get=status) as s:
            one(s.url, code, said)
            equal(s.batches(), [], f"{status}: the question is one that stores nothing")
    port = lib.free_port()
    agent = lib.agent(place, backend.url, f"--listen=127.0.0.1:{port}")
    session, = (d for d in place.logs.iterdir() if not d.name.startswith("."))
    last = (session / ".uploaded", place.logs / ".gpufl-agent/complete", place.logs / ".gpufl-upload-cursor.json")
    until(lambda: all(path.exists() for path in last), "an agent serves the folder, and has written all that it will")
    (place.logs / "group").mkdir(mode=0o700, exist_ok=True)
    before = sorted(str(p) for p in place.path.rglob("*"))
    one(backend.url, 0, "takes the key")
    now = f"is served by gpufl-agent (pid {agent.pid}) now (a start fails until that one has been stopped)"
    one(backend.url, 0, f"gpufl-agent: --folder: '{place.logs}': {now}")
    one(backend.url, 0, "gpufl-agent: the settings work once that uploader has been stopped: ")
    one(backend.url, 0, f"gpufl-agent: --folder: '{place.logs}/group': the directory above it {now}", folder=place.logs / "group")
    one(backend.url, 0, f"gpufl-agent: --listen: '127.0.0.1:{port}': Address already in use", f"--listen=127.0.0.1:{port}")
    equal(sorted(str(p) for p in place.path.rglob("*")), before, "nothing is written")
    code, said = _start(place, [f"--folder={place.logs}", f"--host={backend.url}"], {"GPUFL_HTTP_TOKEN": lib.KEY})
    check(code == 1 and f"is already served by gpufl-agent (pid {agent.pid})" in said, f"a start fails: {code} {said}")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "the agent goes on until it is stopped")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
