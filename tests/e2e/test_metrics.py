# SPDX-License-Identifier: Apache-2.0
"""The agent from outside: figures, health, logs."""
import contextlib
import email.utils
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import sys
import time

import gateway
from gateway import Gateway, answer
import lib
from lib import check, equal, until
import sink
import tls

SAMPLE = re.compile(r'^([a-z_]+)(?:\{([a-z]+)="([^"\\]*)"\})? (\S+)$')


class Watched:
    """An agent that listens."""

    def __init__(self, place, url, *args, **more):
        self.process = lib.agent(place, url, "--listen=127.0.0.1:0", *args, **more)
        line = until(lambda: [x for x in self.log().splitlines() if "agent.listening" in x], "it listens")
        self.port = int(re.search(r'port"?[=:](\d+)', line[0])[1])
        self.address = f"127.0.0.1:{self.port}"
        until(lambda: self.ask("/metrics")[0] == 200, "its first look is over")

    def log(self):
        return self.process.log.read_text(errors="replace")

    def ask(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10 * lib.SLOW)
        connection.request(method, path)
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        return reply.status, body

    def figures(self):
        """{name or name{value}: number}, and a look at the format."""
        status, text = self.ask("/metrics")
        equal(status, 200, "metrics")
        figures, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                check(name not in types, f"{name} is declared twice")
                types[name] = kind
            elif not line.startswith("# HELP "):
                name, _, value, number = SAMPLE.match(line).groups()
                check(name in types, f"{name} has no type")
                equal(types[name] == "counter", name.endswith("_total"), name)
                check(float(number) >= 0 or "skew" in name, line)
                figures[name if value is None else f"{name}{{{value}}}"] = float(number)
        for unit in ("lines", "bytes"):
            of = {kind: sum(v for k, v in figures.items() if k.split("{")[0] == f"gpufl_agent_{kind}_{unit}")
                  for kind in ("read", "acknowledged", "waiting", "held", "refused", "lost", "unaccounted")}
            equal(of["read"], of["acknowledged"] + of["waiting"] + of["held"] + of["refused"] + of["lost"], f"{unit}: {of}")
            equal(of["unaccounted"], 0, unit)
        return figures

    def figure(self, name):
        return self.figures().get(f"gpufl_agent_{name}", 0)

    def stop(self):
        self.process.terminate()
        equal(self.process.wait(20 * lib.SLOW), 0, "exit code")


def figures_are_those_of_what_happened(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url)
    equal(agent.figure("lines_sent_total{device}"), 0, "nothing yet")
    session = lib.job(place, 0.5)
    until(lambda: agent.figure("sessions{complete}") == 1, "it is complete")
    figures = agent.figures()
    for channel in ("device", "scope", "system"):
        equal(figures[f"gpufl_agent_lines_sent_total{{{channel}}}"],
              len(lib.on_disk(session, channel).splitlines()), f"lines of {channel}")
    lines = sum(len(lib.on_disk(session, channel).splitlines()) for channel in ("device", "scope", "system"))
    size = sum(len(lib.on_disk(session, channel)) for channel in ("device", "scope", "system"))
    for kind in ("read", "acknowledged"):
        equal((figures[f"gpufl_agent_{kind}_lines"], figures[f"gpufl_agent_{kind}_bytes"]), (lines, size), kind)
    stored = json.loads(backend.get(f"/api/v1/sessions/{session.name}"))
    check(figures["gpufl_agent_sent_bytes_total"] >= stored["stored_bytes"], "bytes, with the places of parts")
    delivery = json.loads(backend.get(f"/api/v1/sessions/{session.name}/delivery"))
    for c in delivery["channels"]:
        equal(figures[f"gpufl_agent_batches_sent_total{{{c['channel']}}}"], c["bodies"], "batches")
    for name in ("backlog_bytes", "backlog_windows", "oldest_unsent_seconds", "sessions{live}"):
        equal(figures[f"gpufl_agent_{name}"], 0, name)
    check(abs(figures["gpufl_agent_last_success_timestamp_seconds"] - time.time()) < 60, "last success")
    check(abs(figures["gpufl_agent_clock_skew_seconds"]) <= 2, "skew")
    check(1 << 20 < figures["process_resident_memory_bytes"] < 1 << 30, "memory")
    agent.stop()


def a_backlog_is_measured_in_bytes_files_and_age(place):
    def refuse(_, request):
        return 503 if request.is_batch else None

    with sink.Sink(refuse, declare=True) as s:
        session = lib.rotated_job(place, "device.*.log", 1, 3000)
        agent = Watched(place, s.url)
        files = list(session.glob("*.log"))
        check(len(files) > 3, "sealed ones, too")
        until(lambda: agent.figure("backlog_bytes") == sum(f.stat().st_size for f in files), "all of it waits")
        figures = agent.figures()
        equal(figures["gpufl_agent_backlog_windows"], len(files), "files")
        equal(figures["gpufl_agent_sessions{ended}"], 1, "the session")
        old = time.time() - 3600
        os.utime(min(session.glob("device.*.log"), key=lambda f: int(f.name.split(".")[1])), (old, old))
        check(3500 < agent.figure("oldest_unsent_seconds") < 3700, "the age of the oldest file")
        s.answer = None
        until(lambda: agent.figure("sessions{complete}") == 1, "it is sent", 60)
        equal([agent.figure(n) for n in ("backlog_bytes", "oldest_unsent_seconds")], [0, 0], "nothing waits")
        agent.stop()


# ---- one cause, one counter ----

FAULTS = re.compile(r"retries|quarantined_total|rejected|refused|lost|state_write|overflows")


def _faults(agent):
    return {k.removeprefix("gpufl_agent_"): v for k, v in agent.figures().items()
            if FAULTS.search(k) and "_total" in k and v}


def _moves(place, name, url, *args, prepare=None, after=None, **more):
    """Only that counter moves, and a line of the log says why."""
    logs = place.path / name.replace("{", "-").strip("}")
    logs.mkdir(mode=0o700)
    session = lib.job(place, 0.1, logs=logs)
    if prepare:
        prepare(session)
    agent = Watched(place, url, "--read-timeout=300ms", "--drain-timeout=100ms", *args, folder=logs, **more)
    if after:
        after(agent, session)
    until(lambda: _faults(agent), f"{name} moves")
    equal(set(_faults(agent)), {name}, name)
    check(re.search(r"^(<\d>)?(warn|error) ", agent.log(), re.M), f"{name}: {agent.log()}")
    agent.stop()


def each_failure_of_the_network_moves_its_own_counter(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for reason, said in (("server", answer(503)), ("busy", answer(429)), ("broken", gateway.RESET_AFTER),
                         ("timeout", gateway.SILENCE)):
        with Gateway(backend.url, lambda g, h, n, s=said: s) as g:
            _moves(place, f"retries_total{{{reason}}}", g.url)


def what_cannot_be_reached_moves_its_own_counter(place):
    """Before the first answer there is no batch: the requests are counted, and the backend said."""
    lib.job(place, 0.1)
    closed = f"http://127.0.0.1:{lib.free_port()}"
    for url in (closed, "https://no-such-host.invalid", "https://127.0.0.1:1"):
        agent = Watched(place, url, "--drain-timeout=100ms")
        until(lambda a=agent: a.figure("requests_total{none}") > 0, "a request without an answer")
        check("origin.failing" in agent.log(), agent.log())
        agent.stop()


def a_backend_that_goes_moves_its_own_counter(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url, "--drain-timeout=100ms")
    lib.job(place, 0.1)
    until(lambda: agent.figure("sessions{complete}") == 1, "it is known")
    equal(_faults(agent), {}, "nothing failed")
    backend.kill()
    session = lib.job(place, 0.1)
    until(lambda: agent.figure("retries_total{connect}"), "batches are to be sent again")
    equal(set(_faults(agent)), {"retries_total{connect}"}, "nothing else")
    check(agent.figure("oldest_unsent_seconds") > 0 and agent.figure("backlog_bytes") > 0, "they wait")
    backend.start()
    until(lambda: backend.complete(session.name), "it comes back", 60)
    agent.stop()


def a_certificate_that_expires_moves_its_own_counter(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    ours = tls.Authority(place)
    with tls.Front(backend, ours.issue("good")) as front:
        agent = Watched(place, front.url, f"--ca-file={ours.cert}", "--drain-timeout=100ms")
        lib.job(place, 0.1)
        until(lambda: agent.figure("sessions{complete}") == 1, "it is known")
        front.present(*ours.issue("expired", expired=True))
        backend.kill()  # and with it the connections that stand
        backend.start()
        lib.job(place, 0.1)
        until(lambda: agent.figure("retries_total{tls}"), "batches are to be sent again")
        equal(set(_faults(agent)) - {"retries_total{broken}"}, {"retries_total{tls}"}, "nothing else")
        agent.stop()


def each_refusal_moves_its_own_counter(place):
    def refusing(status, body="{}"):
        return lambda _, request: (status, body) if request.is_batch and request.channel == "device" else None

    for name, plan in (
            ("quarantined_total{http_400}", refusing(400)),
            ("quarantined_total{http_422}", refusing(422)),
            ("quarantined_total{http_413}", refusing(413)),
            ("refused_final_lines_total", refusing(409)),
            ("rejected_lines_total", refusing(200, '{"accepted":0,"rejected":1,"window_acknowledged":true}'))):
        with sink.Sink(plan, declare=True) as s:
            _moves(place, name, s.url)


def a_key_that_is_refused_is_no_readiness(place):
    with sink.Sink(key="another", declare=True) as s:
        lib.job(place, 0.1)
        agent = Watched(place, s.url)
        until(lambda: agent.figure("holding{auth}") == 1, "it holds")
        status, why = agent.ask("/readyz")
        equal((status, "key" in why), (503, True), why)
        equal(agent.ask("/healthz")[0], 200, "a restart would not help")
        check(agent.figure("requests_total{401}") >= 1, "requests")
        equal(_faults(agent), {}, "nothing else moves")
        s.key = lib.KEY
        agent.stop()


def what_is_lost_or_refused_on_disk_moves_its_own_counter(place):
    def refuse(_, request):
        return 503 if request.is_batch else None

    def link(session):
        (session / "device.99.log").symlink_to("/etc/passwd")

    backend = lib.Backend(place, "--api-key", lib.KEY)
    _moves(place, "refused_names_total", backend.url, prepare=link)
    with sink.Sink(refuse, declare=True) as s:
        logs = place.path / "vanishing"
        logs.mkdir(mode=0o700)
        session = lib.job(place, 0.1, logs=logs)
        agent = Watched(place, s.url, "--drain-timeout=100ms", "--rescan-interval=100ms", folder=logs)
        until(lambda: agent.figure("backlog_windows") >= 3, "it is known")
        shutil.rmtree(session)
        until(lambda: agent.figure("sessions{away}") == 1, "it is away")
        equal(agent.figure("lost_windows_total"), 0, "which is no loss yet")
        check("session.away" in agent.log(), agent.log())
        agent.stop()


def a_line_that_no_batch_holds_moves_its_own_counter(place):
    def lengthen(session):
        with open(session / "device.log", "ab") as file:
            file.write(b'{"type":"x","session_id":"%s","x":"' % session.name.encode() + b"x" * (9 << 20) + b'"}\n')

    with sink.Sink(declare=True) as s:
        _moves(place, "quarantined_total{local}", s.url, prepare=lengthen)


def a_journal_that_cannot_be_written_moves_its_own_counter(place):
    """No file may grow any more, as on a full disk."""
    def fill(agent, session):
        until(lambda: agent.figure("sessions{complete}") == 1, "it has a journal")
        resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        until(lambda: lib.job(place, 0.02, logs=session.parent) and _faults(agent), "it needs more room")

    backend = lib.Backend(place, "--api-key", lib.KEY)
    _moves(place, "state_write_errors_total", backend.url, after=fill,
           preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))


def events_that_the_kernel_drops_move_their_own_counter(place):
    def flood(agent, session):
        until(lambda: agent.figure("sessions{complete}") == 1, "the session's own watch is gone")
        lib.flood(agent.process, session.parent)
        agent.process.send_signal(signal.SIGCONT)

    backend = lib.Backend(place, "--api-key", lib.KEY)
    _moves(place, "inotify_overflows_total", backend.url, after=flood)


def a_backend_with_another_time_is_said_once(place):
    late = email.utils.formatdate(time.time() + 7200, usegmt=True)
    with sink.Sink(lambda _, r: (200, '{"window_acknowledged":true}', ("Date", late)), declare=True) as s:
        lib.job(place, 0.1)
        agent = Watched(place, s.url)
        until(lambda: agent.figure("sessions{complete}") == 1, "it is sent all the same")
        check(7100 < agent.figure("clock_skew_seconds") < 7300, "skew")
        equal(agent.log().count("origin.clock_skew"), 1, "it is said once")
        agent.stop()


# ---- health ----

def a_loop_that_hangs_is_no_health(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url)
    equal(agent.ask("/healthz"), (200, "ok\n"), "healthy")
    equal(agent.ask("/readyz"), (200, "ready\n"), "ready")
    done = place.run("gpufl-agent", "healthcheck", f"--listen={agent.address}")
    equal((done.returncode, done.stdout), (0, "gpufl-agent healthcheck: ok\n"), "healthcheck")
    done = place.run("gpufl-agent", "healthcheck", "--ready", env={"GPUFL_AGENT_LISTEN": agent.address})
    equal((done.returncode, done.stdout), (0, "gpufl-agent healthcheck: ready\n"), "by the environment")
    backend.kill()
    equal(agent.ask("/healthz")[0], 200, "without a backend")
    agent.process.send_signal(signal.SIGSTOP)
    done = place.run("gpufl-agent", "healthcheck", f"--listen={agent.address}")
    agent.process.send_signal(signal.SIGCONT)
    equal(done.returncode, 1, "a stopped process")
    agent.stop()
    done = place.run("gpufl-agent", "healthcheck", f"--listen={agent.address}")
    check(done.returncode == 1 and "no answer" in done.stderr, done.stderr)
    for wrong in ("--listen=here", "--what"):
        equal(place.run("gpufl-agent", "healthcheck", wrong).returncode, 2, wrong)


def strangers_cannot_hold_or_confuse_the_endpoint(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url)
    equal(agent.ask("/metrics", "POST")[0], 405, "POST")
    equal(agent.ask("/metrics", "HEAD")[0], 405, "HEAD")
    equal(agent.ask("/etc/passwd")[0], 404, "elsewhere")
    equal(agent.ask("/metrics?x=1")[0], 200, "a query")
    silent = [socket.create_connection(("127.0.0.1", agent.port)) for _ in range(40)]
    for s in silent[:20]:
        s.sendall(b"GET /met")
    equal(agent.ask("/healthz")[0], 200, "beside forty that say nothing")
    with socket.create_connection(("127.0.0.1", agent.port)) as s:
        s.sendall(b"x" * 10000)
        check(s.recv(100).startswith(b"HTTP/1.1 400"), "no end")
    for s in silent:
        s.close()
    until(lambda: agent.figures()["process_open_fds"] < 40, "descriptors are given back")
    agent.stop()
    done = place.run("gpufl-agent", f"--folder={place.logs}", "--host=http://127.0.0.1:1", "--listen=9464")
    check(done.returncode == 1 and "ADDRESS:PORT" in done.stderr, done.stderr)


def _descriptors(pid):
    """What they lead to; one may be closed meanwhile."""
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(path)


def an_address_that_is_taken_holds_up_no_line(place):
    """It is said, also by --check and gpufl status, and metrics are served once it is free."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    taken = socket.create_server(("127.0.0.1", lib.free_port()))
    at = f"127.0.0.1:{taken.getsockname()[1]}"
    said = f"--listen: '{at}': Address already in use"
    done = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={backend.url}", f"--listen={at}",
                     env={"GPUFL_HTTP_TOKEN": lib.KEY})
    equal(done.returncode, 2, done.stdout + done.stderr)
    check(done.stderr.startswith(f"gpufl-agent: {said} ("), done.stderr)
    systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    systemd.bind(f"{place.path}/notify")
    systemd.settimeout(20 * lib.SLOW)
    agent = lib.agent(place, backend.url, env={"GPUFL_AGENT_LISTEN": at, "NOTIFY_SOCKET": f"{place.path}/notify"})
    until(lambda: backend.complete(session.name), "it is sent")
    lib.same(backend, session)

    def status(*args):
        return place.run("gpufl", "status", place.logs, *args)

    said = said.replace("--listen", "GPUFL_AGENT_LISTEN")
    until(lambda: f"\nuploader: {said}" in status().stdout, "the status says it", 20)
    equal(status().returncode, 0, "all is sent all the same")
    check([w["aside"].startswith(said) for w in json.loads(status("--json").stdout)["waits"]] == [True], status("--json").stdout)
    equal(agent.log.read_text().count(f'agent.not_listening reason="{said}'), 1, agent.log.read_text())
    until(lambda: said.encode() in systemd.recv(4096), "systemd is told", 20)
    taken.close()
    until(lambda: "agent.listening" in agent.log.read_text(), "it is free", 20)
    connection = http.client.HTTPConnection(at, timeout=10 * lib.SLOW)
    connection.request("GET", "/metrics")
    check(b"gpufl_agent_build_info" in connection.getresponse().read(), "metrics")
    connection.close()
    until(lambda: "uploader:" not in status().stdout, "and nothing is said any more", 20)
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")


def without_the_option_nothing_listens(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = lib.agent(place, backend.url)
    until(lambda: "agent.started" in process.log.read_text(), "it runs")
    inodes = {target[8:-1] for target in _descriptors(process.pid) if target.startswith("socket:[")}
    listening = {line.split()[9] for t in ("tcp", "tcp6") for line in open(f"/proc/{process.pid}/net/{t}")
                 if line.split()[3] == "0A"}
    equal(inodes & listening, set(), "sockets that listen")


# ---- logs ----

def log_lines_are_json_when_asked(place):
    with sink.Sink(lambda _, r: (400, 'no "thanks"\n\x1b[31m') if r.channel == "device" else None, declare=True) as s:
        lib.job(place, 0.1)
        agent = Watched(place, s.url, "--log-format=json", "--log-level=debug")
        until(lambda: "upload.quarantined" in agent.log(), "a line")
        agent.stop()
        lines = [json.loads(line) for line in agent.log().splitlines()]
    check({"agent.started", "agent.stopped", "upload.acked"} <= {x["event"] for x in lines}, f"{lines}")
    for line in lines:
        check(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"]), line["ts"])
        check(line["level"] in ("error", "warn", "info", "debug"), line["level"])
    bad = next(x for x in lines if x["event"] == "upload.quarantined")
    equal((bad["channel"], bad["status"], bad["reason"]), ("device", 400, "HTTP 400 no 'thanks'??[31m"), "fields")


def a_flood_of_one_kind_is_counted_not_written(place):
    with sink.Sink(lambda _, r: 409 if r.is_batch else None, declare=True) as s:
        for n in range(100):
            session = place.logs / f"{n:08d}-1111-4111-8111-111111111111"
            session.mkdir()
            (session / "scope.log").write_bytes(
                b'{"type":"x","session_id":"%s"}\n' % session.name.encode())
        agent = Watched(place, s.url, "--max-requests-per-second=0", "--flush-interval=0")
        until(lambda: agent.figure("refused_final_lines_total") == 100, "all are refused")
        agent.stop()
        log = agent.log()
    written = log.count("upload.refused_final session=")
    dropped = sum(map(int, re.findall(r"log.dropped of=upload.refused_final lines=(\d+)", log)))
    check(written <= 60, f"{written} lines")
    equal(written + dropped, 100, "what is not written is counted")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
