# SPDX-License-Identifier: Apache-2.0
"""Where the key goes, whom the agent trusts, and what it may touch."""
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys

import lib
from lib import check, equal, until
import tls
from test_metrics import Watched

MARKER = lib.KEY


def _with_key(place, *args):
    return lib.Backend(place, "--api-key", lib.KEY, *args)


# ---- http ----

def a_key_never_goes_unencrypted_to_a_public_address(place):
    lib.job(place, 0.1)
    for url in ("http://203.0.113.1", "http://example.com", "example.com:80", "http://[2001:db8::1]"):
        done = place.run("gpufl-agent", f"--folder={place.logs}", f"--host={url}", env={"GPUFL_HTTP_TOKEN": lib.KEY})
        equal(done.returncode, 1, url)
        check("https://" in done.stderr and "--allow-insecure-http" in done.stderr, done.stderr)
        done = lib.upload(place, url)
        equal(done.returncode, 2, url)
        check("--allow-insecure-http" in done.result["message"], done.result["message"])
    done = place.run("gpufl", "upload", place.logs, "--backend-url", "http://203.0.113.1", "--api-key", lib.KEY,
                     "--allow-insecure-http", "--timeout", "1", "--json")
    check("--allow-insecure-http" not in done.stdout, done.stdout)
    for url, said in (("http://127.0.0.1:1", False), ("http://localhost:1", False), ("http://backend.svc:1", True)):
        agent = Watched(place, url, "--drain-timeout=10ms")
        until(lambda a=agent: "agent.started" in a.log(), "it runs")
        equal("host.unencrypted" in agent.log(), said, url)
        agent.stop()


# ---- TLS ----

def certificates_decide_and_say_why(place):
    """Expired, for another host, of an unknown authority, too old a TLS: a clear sentence, nothing lost."""
    backend = _with_key(place)
    ours, other = tls.Authority(place), tls.Authority(place, "other")
    session = lib.job(place, 0.1)
    good = ours.issue("good")
    for issued, newest, word in (
            (ours.issue("expired", expired=True), None, "expired"),
            (ours.issue("elsewhere", host="elsewhere.example"), None, "localhost"),
            (other.issue("unknown"), None, "unable to get local issuer"),
            (good, ssl.TLSVersion.TLSv1_1, "protocol version")):
        with tls.Front(backend, issued, newest=newest) as front:
            done = lib.upload(place, front.url, "--ca-file", ours.cert, "--retries", "1")
            equal(done.returncode, 2, word)
            text = done.result["message"]
            check(word in text and f"localhost:{front.port}" in text and str(ours.cert) in text, text)
            equal(_sessions(backend), [], f"{word}: what was stored")
    with tls.Front(backend, good) as front:
        done = lib.upload(place, front.url, "--retries", "1")
        check(done.returncode == 2 and "the system's certificates" in done.result["message"], done.result["message"])
        done = lib.upload(place, front.url, env={"SSL_CERT_FILE": str(ours.cert)})
        equal(done.returncode, 0, done.stderr)
    lib.same(backend, session)
    done = lib.upload(place, "https://localhost:1", "--ca-file", "/no/such.pem")
    check(done.returncode == 2 and "/no/such.pem" in done.result["message"], done.stdout)


def _with_certificates_of_the_system(place, name, by_name, in_the_file):
    """What a command is run through, to have a certificate in the directory and one in the file of all."""
    own = place.path / name
    own.mkdir()
    digest = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", by_name], capture_output=True, text=True,
                            check=True).stdout.strip()
    shutil.copy(by_name, own / f"{digest}.0")
    shutil.copy(in_the_file, own / "ca-certificates.crt")
    through = ("unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
               'mount --bind "$0" /etc/ssl/certs && exec "$@"', own)
    if subprocess.run([*through, "true"], capture_output=True, check=False).returncode != 0:
        lib.skip("this user may make no mount namespace, or the system's certificates are elsewhere")
    return through


def the_systems_certificates_count_unless_a_file_is_given(place):
    """Debian's libcurl trusted its directory beside the file. That is read by name; what only its file has counts, too."""
    backend = _with_key(place)
    ours, other = tls.Authority(place), tls.Authority(place, "other")
    ways = {name: _with_certificates_of_the_system(place, name, *certs)
            for name, certs in (("by-name", (ours.cert, other.cert)), ("in-the-file", (other.cert, ours.cert)))}
    with tls.Front(backend, ours.issue("good")) as front:
        session = lib.job(place, 0.1)
        for through in ways.values():
            done = place.start("gpufl", "upload", place.logs, "--backend-url", front.url, "--api-key", lib.KEY,
                               "--ca-file", other.cert, "--retries", "1", through=through)
            equal(done.wait(60 * lib.SLOW), 2, "of another authority")
            check(str(other.cert) in done.log.read_text(), done.log.read_text())
        equal(_sessions(backend), [], "what was stored")
        for name, through in ways.items():
            agent = lib.agent(place, front.url, "--exit-when-drained", through=through)
            equal(agent.wait(60 * lib.SLOW), 0, f"{name}: {agent.log.read_text()}")
            check("origin.failing" not in agent.log.read_text(), f"{name}: {agent.log.read_text()}")
            lib.same(backend, session)
            session = lib.job(place, 0.1)


def an_https_url_of_a_plain_port_says_so(place):
    backend = _with_key(place)
    lib.job(place, 0.1)
    url, host = backend.url.replace("http://", "https://"), backend.url.split("//")[1]
    hint = f"({host} may speak plain HTTP: then give http:// instead of https://)"
    done = lib.upload(place, url, "--retries", "1")
    equal(done.returncode, 2, done.stdout)
    check(hint in done.result["message"], done.result["message"])
    done = place.run("gpufl-agent", f"--folder={place.logs}", f"--host={url}", "--check", env={"GPUFL_HTTP_TOKEN": lib.KEY})
    equal(done.returncode, 2, done.stderr)
    check(hint in done.stderr, done.stderr)


def _sessions(backend):
    return json.loads(backend.get("/api/v1/sessions"))["sessions"]


def a_certificate_that_is_mended_is_taken_without_a_restart(place):
    backend = _with_key(place)
    ours = tls.Authority(place)
    session = lib.job(place, 0.1)
    with tls.Front(backend, ours.issue("expired", expired=True)) as front:
        agent = Watched(place, front.url, f"--ca-file={ours.cert}")
        until(lambda: "certificate has expired" in agent.log(), "it is said")
        front.present(*ours.issue("fresh"))
        until(lambda: backend.complete(session.name), "it goes on", 60)
        agent.stop()
    lib.same(backend, session)


def a_client_certificate_is_shown(place):
    backend = _with_key(place)
    ours = tls.Authority(place)
    cert, key = ours.issue("client", host="node7")
    both = place.path / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    with tls.Front(backend, ours.issue("good"), client_ca=ours) as front:
        session = lib.job(place, 0.1)
        done = lib.upload(place, front.url, "--ca-file", ours.cert, "--retries", "1")
        equal(done.returncode, 2, "without")
        agent = lib.agent(place, front.url, f"--ca-file={ours.cert}", f"--client-cert={cert}", f"--client-key={key}",
                          "--exit-when-drained")
        equal(agent.wait(30 * lib.SLOW), 0, "the agent")
        lib.same(backend, session)
        session = lib.job(place, 0.1)
        done = lib.upload(place, front.url, "--ca-file", ours.cert, "--client-cert", both)
        equal(done.returncode, 0, done.stderr)
        lib.same(backend, session)
    done = lib.upload(place, "https://localhost:1", "--client-key", "/no/such.key")
    check(done.returncode == 2 and "/no/such.key" in done.result["message"], done.stdout)


# ---- proxies ----

def a_proxy_gets_a_connect_and_never_the_key(place):
    backend = _with_key(place)
    ours = tls.Authority(place)
    with tls.Front(backend, ours.issue("good")) as front, tls.Proxy() as proxy:
        for args, env in ((("--proxy", proxy.url), {}), ((), {"HTTPS_PROXY": proxy.url}),
                          ((), {"https_proxy": proxy.url})):
            session = lib.job(place, 0.1)
            done = lib.upload(place, front.url, "--ca-file", ours.cert, *args, env=env)
            equal(done.returncode, 0, done.stderr)
            lib.same(backend, session)
            check(proxy.heads and all(h.startswith(f"CONNECT localhost:{front.port} ".encode()) for h in proxy.heads),
                  f"{proxy.heads}")
            check(not any(b"uthorization" in h or lib.KEY.encode() in h for h in proxy.heads), f"{proxy.heads}")
            proxy.heads.clear()
        session = lib.job(place, 0.1)
        agent = lib.agent(place, front.url, f"--ca-file={ours.cert}", f"--proxy={proxy.url}", "--exit-when-drained")
        equal(agent.wait(30 * lib.SLOW), 0, "the agent by its option, confined")
        check(proxy.heads, "through it")
        proxy.heads.clear()
        for args, env in ((("--proxy", "none"), {"HTTPS_PROXY": proxy.url}),
                          ((), {"HTTPS_PROXY": proxy.url, "NO_PROXY": "localhost"})):
            session = lib.job(place, 0.1)
            equal(lib.upload(place, front.url, "--ca-file", ours.cert, *args, env=env).returncode, 0, f"{args}")
            equal(proxy.heads, [], f"{args} {env}")
        session = lib.job(place, 0.1)
        equal(lib.upload(place, backend.url, "--same-origin",
                         env={"http_proxy": proxy.url, "ALL_PROXY": proxy.url}).returncode, 0,
              "plain http goes straight")
        equal(proxy.heads, [], "what the proxy saw of http")
        session = lib.job(place, 0.1)
        equal(lib.upload(place, backend.url, "--proxy", proxy.url).returncode, 0, "unless it is named")
        check(proxy.heads and all(h.startswith(b"CONNECT ") for h in proxy.heads), "then by CONNECT, too")
        check(not any(lib.KEY.encode() in h for h in proxy.heads), f"{proxy.heads}")
        lib.same(backend, session)


# ---- the key ----

def a_marker_key_is_found_nowhere(place):
    """Given by each way; looked for in logs, arguments, environment, figures, state, status."""
    credentials = place.path / "credentials"
    credentials.mkdir()
    (credentials / "token").write_text(MARKER + "\n")
    backend = _with_key(place)
    for name, args, env in (("flag", (f"--token={MARKER}",), {}), ("two", ("--token", MARKER), {}),
                            ("environment", (), {"GPUFL_HTTP_TOKEN": MARKER}),
                            ("file", (f"--token-file={credentials}/token",), {}),
                            ("credential", (), {"CREDENTIALS_DIRECTORY": str(credentials)})):
        logs, state = place.path / f"logs-{name}", place.path / f"state-{name}"
        logs.mkdir(mode=0o700)
        session = lib.job(place, 0.1, logs=logs)
        agent = Watched(place, backend.url, f"--state-dir={state}", "--log-level=debug", *args, folder=logs,
                        env={"GPUFL_HTTP_TOKEN": "", **env})
        until(lambda s=session: backend.complete(s.name), f"{name}: it is used")
        pid = agent.process.pid
        for what in ("cmdline", "environ") if not lib.VALGRIND else ():
            check(MARKER.encode() not in pathlib.Path(f"/proc/{pid}/{what}").read_bytes(), f"{name}: {what}")
        limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
        check(core.split()[4:6] == ["0", "0"] or lib.VALGRIND, core)
        texts = [agent.log(), agent.ask("/metrics")[1], agent.ask("/readyz")[1],
                 place.run("gpufl", "status", logs, "--json", "--state-dir", state).stdout]
        texts += [f.read_bytes().decode("latin-1") for d in (state, logs) for f in d.rglob("*") if f.is_file()]
        check(not any(MARKER in text for text in texts), name)
        equal("token.on_command_line" in agent.log(), "--token" in " ".join(args).replace("--token-file", ""), name)
        agent.stop()


def another_process_of_the_user_cannot_read_its_memory(place):
    """It is not dumpable: its files in /proc are root's, no core is written."""
    if os.geteuid() != 0 or lib.MEASURES_ITSELF:
        lib.skip("needs root, to be another user; valgrind and the like change who may read a process")
    nobody = 65534
    logs = place.path / "logs-nobody"
    logs.mkdir(mode=0o755)
    os.chmod(place.path, 0o755)
    state = place.path / "state"
    state.mkdir()
    os.chown(state, nobody, nobody)
    process = place.start("gpufl-agent", f"--folder={logs}", "--host=http://127.0.0.1:1", f"--state-dir={state}",
                          user=nobody, group=nobody, extra_groups=[])
    until(lambda: "agent.started" in process.log.read_text(), "it runs")
    equal(os.stat(f"/proc/{process.pid}/environ").st_uid, 0, "who may read its environment")
    reader = subprocess.run(["cat", f"/proc/{process.pid}/environ"], user=nobody, group=nobody, extra_groups=[],
                            capture_output=True, check=False)
    check(reader.returncode != 0, "another process of the same user")


# ---- confined ----

def _confined(place, *flags):
    secret = place.path / "secret"
    secret.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as backend, socket.create_server(("127.0.0.1", 0)) as other:
        host = f"--host=http://127.0.0.1:{backend.getsockname()[1]}"
        done = place.run("tests/e2e/confined", place.logs, host, secret, other.getsockname()[1], *flags)
    equal(done.returncode, 0, done.stderr)
    lines = done.stdout.splitlines()
    return lines[0], dict(line.split() for line in lines[1:])


def code_that_took_it_over_reaches_nothing_else(place):
    said, can = _confined(place)
    if said.startswith("off"):
        lib.skip("this kernel has no Landlock")
    old = "all" in said  # before 6.7 connections are not confined
    version = int(said.split("version ")[1].split(",")[0])
    refused = {"read-file", "read-home", "read-shadow", "write-tmp", "other-process", "execute"}
    refused |= set() if old else {"connect-elsewhere", "listen"}
    refused |= {"signal"} if version >= 6 else set()
    equal({what for what, yes in can.items() if yes == "no"}, refused, "what it cannot do")
    equal({can[what] for what in ("write-folder", "resolve", "trust", "connect-backend")}, {"yes"}, "what it must")
    if os.geteuid() == 0:  # a key that lies in / opens nothing else there
        key = pathlib.Path(f"/gpufl-e2e-{os.getpid()}")
        try:
            key.write_text(lib.KEY)
            equal(_confined(place, f"--token-file={key}")[1]["read-file"], "no", "with a key in /")
        finally:
            key.unlink()
    said, can = _confined(place, "--landlock=off")
    check(said == "off, as asked" and can["read-file"] == "yes", f"{said} {can}")


def confined_it_takes_what_kubernetes_swaps(place):
    """A secret is a link to a link to a directory that is replaced; a log folder may come later."""
    backend = _with_key(place)
    mount = place.path / "mount"
    for n, key in (("1", "old"), ("2", lib.KEY)):
        (mount / n).mkdir(parents=True)
        (mount / n / "token").write_text(key)
    (mount / "..data").symlink_to("1")
    (mount / "token").symlink_to("..data/token")
    late = place.path / "late"
    agent = Watched(place, backend.url, f"--token-file={mount}/token", f"--folders={late}", "--landlock=auto")
    session = lib.job(place, 0.1)
    until(lambda: "origin.hold" in agent.log(), "the old key is refused")
    (mount / "..new").symlink_to("2")
    os.rename(mount / "..new", mount / "..data")
    until(lambda: backend.complete(session.name), "the new one is used")
    late.mkdir(mode=0o700)
    session = lib.job(place, 0.1, logs=late)
    until(lambda: backend.complete(session.name), "a folder that came later")
    agent.stop()


def only_directories_of_one_user_are_read(place):
    if os.geteuid() != 0:
        lib.skip("needs root, to be several users")
    backend = _with_key(place)
    ours, theirs = lib.job(place, 0.1), lib.job(place, 0.1)
    for path in (theirs, *theirs.iterdir()):
        os.chown(path, 12345, 12345)
    agent = Watched(place, backend.url, "--require-owner-uid=0")
    until(lambda: backend.complete(ours.name), "ours is sent")
    equal(agent.figure("sessions{blocked}"), 1, "theirs is counted")
    check(f"session.held session={theirs.name}" in agent.log() and "another user" in agent.log(), agent.log())
    agent.stop()
    equal(backend.session(theirs.name), None, "theirs")
    done = place.run("gpufl-agent", f"--folder={place.logs}", "--host=http://127.0.0.1:1", "--require-owner-uid=root")
    check(done.returncode == 1 and "id -u" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
