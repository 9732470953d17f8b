# SPDX-License-Identifier: Apache-2.0
"""Servers, and what stands before them, that fail: whatever they do, each line is stored once."""
import concurrent.futures
import email.utils
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import time

import gateway
from gateway import Gateway, answer
import lib
from lib import check, equal, until
from positions import request
import sink
from writers import Live

SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
ROUNDS = 60 if lib.FULL else 6


def _in_a_second():
    return email.utils.formatdate(time.time() + 1, usegmt=True)


def _passing():
    """Answers after which all is well, as (name, a batch's fate)."""
    for status in (408, 425, 429, 500, 502, 503, 504, 599):
        yield f"{status}", lambda s=status: answer(s)
    yield "429, wait a second", lambda: answer(429, b"{}", "Retry-After: 1")
    yield "503, wait until", lambda: answer(503, b"{}", f"Retry-After: {_in_a_second()}")
    yield "503, nonsense", lambda: answer(503, b"{}", "Retry-After: tomorrow")
    for word in (gateway.DRIBBLE, gateway.RESET_BEFORE, gateway.RESET_AFTER, gateway.STORED_RESET,
                 gateway.STORED_CUT, gateway.SILENCE, gateway.STORED_SILENCE, gateway.GARBAGE):
        yield str(word), lambda w=word: w


def _drained(place, url, *args, folder=None):
    agent = lib.agent(place, url, "--exit-when-drained", "--read-timeout=300ms",
                      "--flush-interval=0", "--max-requests-per-second=0", *args, folder=folder)
    equal(agent.wait(180 * lib.SLOW), 0, f"exit code ({agent.log.read_text()[-500:]})")


def _sent_through(place, backend, number, plan, *args):
    """Two sessions in a directory of their own, sent through a gateway with that plan."""
    logs = place.path / f"logs-{number}"
    logs.mkdir(mode=0o700)
    sessions = [lib.job(place, 0.1, logs=logs, env={"GPUFL_LOG_ROTATE_BYTES": "3000"})
                for _ in range(2)]
    with Gateway(backend.url, plan, positions=False) as g:
        _drained(place, g.url, *args, folder=logs)
        batches = g.batches
    for session in sessions:
        lib.same(backend, session)
        check(backend.complete(session.name), f"{number}: complete")
    return batches


def _side_by_side(jobs):
    """They mostly wait."""
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        for job in [pool.submit(*job) for job in jobs]:
            job.result()


def each_failure_that_passes_is_waited_out(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)

    def one(number, name, fate):
        batches = _sent_through(place, backend, number,
                                lambda g, h, n: fate() if n <= 2 else gateway.PASS)
        check(batches > 3, f"{name}: {batches} batches")

    _side_by_side((one, i, *fate) for i, fate in enumerate(_passing()))


def an_answer_to_a_part_that_was_given_up_is_not_read(place):
    """It comes when the part was sent again, and says that its line is refused."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    end = {"file": 1, "offset": 0, "lines": 0, "crc": 0, "file_crc": 0, "losses": 0}
    epoch = request(backend, "GET", "/info/version")[1]["epoch"]
    refused = json.dumps({"epoch": epoch, "parts": [{"verdict": "refused", "reason": "lines", "end": end}]})
    writer, last = Live(place.logs), []

    def stored():
        return all(backend.export(writer.id, channel) == want for channel, want in writer.written.items())

    def plan(standing, _, n):
        def late():
            until(lambda: standing.batches > n, "it is sent again")
            return answer(200, refused.encode())
        return late if [n - 1] == last else gateway.PASS
    with Gateway(backend.url, plan) as g:
        lib.agent(place, g.url, "--read-timeout=300ms", "--flush-interval=0")
        until(stored, "what it begins with")
        last.append(g.batches)
        writer.line("device")
        until(stored, "the line, which is sent alone")
        writer.end()
        until(lambda: backend.complete(writer.id), "complete")


def at_random_too(place):
    print(f"SEED={SEED}", flush=True)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    fates = [fate for _, fate in _passing()]

    def one(number):
        rng = random.Random(SEED + number)
        bad = rng.random() * 0.4
        _sent_through(place, backend, number,
                      lambda g, h, n: rng.choice(fates)() if rng.random() < bad else gateway.PASS,
                      "--stream-max-lines=7")

    _side_by_side((one, number) for number in range(ROUNDS))


def a_kept_connection_that_ends_under_a_batch_is_no_failure(place):
    """The server closes it just as the next request begins. Whether the batch arrived is not forgotten."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for first, then in ((gateway.RESET_BEFORE, gateway.PASS), (gateway.RESET_AFTER, gateway.PASS),
                        (gateway.CLOSED, gateway.PASS), (gateway.STORED_RESET, gateway.PASS),
                        (gateway.STORED_RESET, answer(409)), (gateway.STORED_RESET, answer(413))):
        writer, fates, met = Live(place.logs), [], []

        def plan(standing, head, n, fates=fates, met=met):
            if len(fates) == 2 and not standing.kept:
                return gateway.PASS  # a busy machine: the connections before it were not idle yet
            met.append(gateway.header(head, "X-GpuFlight-Window-Id"))
            return fates.pop(0) if fates else gateway.PASS

        def stored(writer=writer):
            return all(backend.export(writer.id, channel) == want for channel, want in writer.written.items())

        def sent_again(writer=writer, fates=fates, met=met):
            if len(fates) == 2 and stored():
                writer.line("device", times=2)  # one batch, which a 413 can halve
            return len(met) > 1

        with Gateway(backend.url, plan, positions=False) as g:
            agent = lib.agent(place, g.url, "--flush-interval=0", "--same-origin")
            until(stored, "connections are open and idle")
            del met[:]
            fates[:] = [first, then]
            until(sent_again, "the batch is sent again")
            equal(met[0], met[1], "its id")
            writer.line("device")
            writer.end()
            until(lambda writer=writer: backend.complete(writer.id), f"{first}, {then}: complete")
            agent.send_signal(signal.SIGTERM)
            equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        lib.holds(backend, writer)
        equal([line for line in agent.log.read_text().splitlines() if "upload.retry" in line or "origin.failing" in line],
              [], f"{first}, {then}")


def a_lost_answer_and_then_a_refusal_double_nothing(place):
    """A batch is stored, its answer lost, and what stands before the backend refuses the repeat."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for refusal in (413, 400, 422):
        session = lib.job(place, 0.3)
        seen = {}

        def plan(_, head, n, status=refusal, seen=seen):
            identity = gateway.header(head, "X-GpuFlight-Window-Id")
            seen[identity] = seen.get(identity, 0) + 1
            if n == 1:
                seen["first"] = identity
            if identity != seen.get("first"):
                return gateway.PASS
            return gateway.STORED_RESET if seen[identity] == 1 else answer(status)

        with Gateway(backend.url, plan, positions=False) as g:
            _drained(place, g.url, "--same-origin")
        lib.same(backend, session)
        check(backend.complete(session.name), f"{refusal}: complete")


def what_needs_a_person_is_held_and_hardly_asked(place):
    """A gateway that answers everything the same way: few requests, nothing quarantined."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    page = answer(200, b"<html>please log in</html>", kind="text/html; charset=utf-8")
    elsewhere = answer(302, b"", "Location: http://127.0.0.1:1/")
    for name, said in (("404", answer(404)), ("405", answer(405)), ("501", answer(501)),
                       ("302", elsewhere), ("web page", page)):
        session = lib.job(place, 0.1)
        with Gateway(backend.url, lambda g, h, n, s=said: s, positions=False) as g:
            done = lib.upload(place, g.url, "--same-origin")
            equal((done.returncode, done.result["ranges_quarantined"]), (1, 0), name)
            check(g.batches <= 3, f"{name}: {g.batches} batches")
            if name == "web page":
                check("login page" in done.result["message"], done.result["message"])
        equal(lib.upload(place, backend.url, "--same-origin").returncode, 0, f"after {name}")
        lib.same(backend, session)


def a_gateway_that_refuses_every_body_does_not_shred(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 1)
    lines = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
    check(lines > 30, f"{lines} lines")
    with Gateway(backend.url, lambda g, h, n: answer(400)) as g:
        done = lib.upload(place, g.url)
        equal(done.returncode, 1, "exit code")
        check(done.result["ranges_quarantined"] <= 8, f"{done.result}")
        check(g.batches <= 60, f"{g.batches} batches")
    equal(lib.upload(place, backend.url, "--force").returncode, 0, "later, all of it again")
    lib.same(backend, session)


def one_poison_line_among_5000_is_the_only_one_kept_back(place):
    session = place.logs / "44444444-4444-4444-8444-444444444444"
    session.mkdir()
    want = [b'{"type":"x","session_id":"%s","n":%d}' % (session.name.encode(), i)
            for i in range(5000)]
    want[3210] = want[3210].replace(b'"x"', b'"poison"')
    (session / "scope.log").write_bytes(b"\n".join(want) + b"\n")

    def plan(_, request):
        return 400 if request.is_batch and b"poison" in request.raw() else None

    with sink.Sink(plan, declare=True) as s:
        done = lib.upload(place, s.url)
        equal((done.returncode, done.result["ranges_quarantined"]), (1, 1), "result")
        equal(s.lines, want[:3210] + want[3211:], "all the others, in order")
        check(len(s.batches()) <= 30, f"{len(s.batches())} batches")
    status = place.run("gpufl", "status", place.logs)
    check("quarantined: " in status.stdout and "HTTP 400" in status.stdout, status.stdout)


def one_batch_that_always_fails_stands_in_nobodys_way(place):
    bad, good = lib.job(place, 0.2), lib.job(place, 0.2)
    backend = lib.Backend(place, "--api-key", lib.KEY)

    def plan(_, head, n):
        mine = gateway.header(head, "X-GpuFlight-Session-Id") == bad.name
        mine = mine and gateway.header(head, "X-GpuFlight-Window-Channel") == "scope"
        return answer(500) if mine else gateway.PASS

    with Gateway(backend.url, plan, positions=False) as g:
        agent = lib.agent(place, g.url, "--flush-interval=0")
        until(lambda: backend.complete(good.name), "the other session is complete")
        lib.same(backend, good)
        until(lambda: backend.export(bad.name, "device"), "and the other channels go on")
        check(not backend.complete(bad.name), "the one that fails is not complete")
        g.plan = lambda *_: gateway.PASS
        until(lambda: backend.complete(bad.name), "once it is taken all is well", 60)
        agent.terminate()
    lib.same(backend, bad)


def a_name_that_does_not_resolve_is_tried_again(place):
    lib.job(place, 0.1)
    agent = lib.agent(place, "https://no-such-host.invalid", "--drain-timeout=100ms")
    until(lambda: "resolve" in agent.log.read_text(), "it is said")
    check(agent.poll() is None, "it goes on")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")


def why_a_part_waits_is_said_and_not_whose_end_is_waited_for(place):
    """Other channels have ended, and wait for the end of the one that is kept back."""
    backend, writer = lib.Backend(place, "--api-key", lib.KEY), Live(place.logs)
    for status in (404, 405, 409):
        with Gateway(backend.url, lambda *_: gateway.PASS) as g:
            writer.line("scope", times=5)
            equal(lib.upload(place, g.url).returncode, 0, "it is sent")
            writer.line("scope", times=5)
            writer.end()
            g.plan = lambda *_, s=status: answer(s)
            done = lib.upload(place, g.url, "--timeout=1s")
            equal(done.returncode, 1, done.stdout)
            check(f"session {writer.id}, channel scope waits: the backend does not support positions now; the time limit"
                  in done.result["message"], done.stdout)
            g.plan = lambda *_: gateway.PASS
            equal(lib.upload(place, g.url).returncode, 0, "all of it")
        writer = Live(place.logs)


def a_certificate_that_nobody_signed_is_refused_and_nothing_is_lost(place):
    session = lib.job(place, 0.1)
    pem = place.path / "own.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                    "-subj", "/CN=localhost", "-keyout", pem, "-out", pem.with_suffix(".crt")],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem.with_suffix(".crt"), pem)
    with sink.Sink(declare=True) as s:
        s.server.socket = context.wrap_socket(s.server.socket, server_side=True)
        done = lib.upload(place, s.url.replace("http:", "https:"), "--retries", "1")
        equal(done.returncode, 2, "exit code")
        check("certificate" in done.result["message"], done.result["message"])
        equal(s.requests, [], "requests, and so keys, that it saw")
        url = s.url.replace("http:", "https:").replace("127.0.0.1", "localhost")
        refused = lib.agent(place, url, "--ca-file=/no/such.pem")
        equal(refused.wait(10 * lib.SLOW), 1, "exit code without the file")
        check("/no/such.pem" in refused.log.read_text(), refused.log.read_text())
        trusting = lib.agent(place, url, f"--ca-file={pem.with_suffix('.crt')}", "--exit-when-drained",
                             f"--state-dir={place.path}")
        equal(trusting.wait(30 * lib.SLOW), 0, "exit code with its certificate")
        check(any(r.path.endswith("session-complete") for r in s.requests), "it is complete")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "elsewhere")
    lib.same(backend, session)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
