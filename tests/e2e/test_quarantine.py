# SPDX-License-Identifier: Apache-2.0
"""What the backend refused for good: listed, shown, offered again, given up."""
import json
import sys

from gateway import Gateway, PASS, answer, header
import lib
from lib import check, equal, until
import sink
import tls
from writers import Live

LINES = [b'{"type":"x","session_id":"%s","n":%d}' % (b"44444444-4444-4444-8444-444444444444", n) for n in range(60)]
LINES[0] = LINES[0].replace(b'"x"', b'"job_start"')  # by which its begin is known
LINES[-1] = LINES[-1].replace(b'"x"', b'"shutdown"')
POISON = (17, 42)


def _poisoned(place):
    session = place.logs / "44444444-4444-4444-8444-444444444444"
    session.mkdir()
    lines = [x.replace(b'"x"', b'"poison"') if n in POISON else x for n, x in enumerate(LINES)]
    (session / "scope.log").write_bytes(b"\n".join(lines) + b"\n")
    return session, lines


def _refuse(_, request):
    return (400, "no 'poison'") if request.is_batch and b"poison" in request.raw() else None


def _quarantine(place, what, *args, **more):
    return place.run("gpufl", "quarantine", what, place.logs, *args, **more)


def _list(place):
    done = _quarantine(place, "list", "--json")
    equal(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)


def ranges_are_listed_and_shown_beside_a_running_agent(place):
    _, lines = _poisoned(place)
    equal(_quarantine(place, "list").returncode, 0, "before there is a journal")
    with sink.Sink(_refuse, declare=True) as s:
        agent = lib.agent(place, s.url)
        until(lambda: len(_list(place)) == 2, "two are listed")
        for item, n in zip(_list(place), POISON):
            equal((item["channel"], item["lines"], item["status"]), ("scope", 1, 400), "what is told")
            check("no 'poison'" in item["reason"], item["reason"])
            shown = _quarantine(place, "show", item["name"])
            equal((shown.returncode, shown.stdout), (0, lines[n].decode() + "\n"), "its line")
            check(item["name"] in _quarantine(place, "list").stdout, "as text")
            check(item["name"] in place.run("gpufl", "status", place.logs).stdout, "in the status")
        for what in (("drop",), ("retry", "--backend-url", s.url)):
            done = _quarantine(place, *what, "--all")
            equal(done.returncode, 2, what)
            check("gpufl-agent" in done.stderr, done.stderr)
        equal(len(_list(place)), 2, "nothing happened")
        agent.terminate()
        agent.wait(20 * lib.SLOW)


def a_run_that_keeps_something_back_exits_1(place):
    def refuse_scope(_, request):
        return 422 if request.is_batch and request.channel == "scope" else None

    def close_early(_, request):
        return (409, "session_final") if request.is_batch and request.channel == "scope" else None

    def rejects(_, request):
        return (200, '{"accepted":0,"rejected":1}') if request.is_batch and request.channel == "scope" else None

    def run(name, answer, spoil=None):
        logs = place.path / name
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        for n in range(4):
            writer.line("device")
            writer.line("scope")
            if n < 2:
                writer.rotate("scope")
        writer.end()
        if spoil:
            (writer.dir / spoil).unlink()
        with sink.Sink(answer, declare=True) as s:
            agent = lib.agent(place, s.url, "--exit-when-drained", folder=logs)
            return agent.wait(30 * lib.SLOW), agent.log.read_text()

    equal(run("clean", None)[0], 0, "all sent")
    for name, answer, spoil in (("quarantined", refuse_scope, None), ("refused", close_early, None),
                                ("rejected", rejects, None), ("held", None, "scope.1.log")):
        code, log = run(name, answer, spoil)
        equal(code, 1, f"{name}: {log}")
        check("WARN" in [x for x in log.splitlines() if "agent.stopped" in x][0].upper(), f"{name}: {log}")


def offered_again_they_keep_their_identity_and_the_session_is_complete(place):
    session, lines = _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "two are refused")
        names = [item["name"] for item in _list(place)]
        status = place.run("gpufl", "status", place.logs).stdout
        check("retry or drop the quarantined lines: see gpufl quarantine --help\n" in status, status)
        check("run gpufl upload" not in status, f"which would send nothing: {status}")
        done = _quarantine(place, "retry", "--all", "--backend-url", s.url, "--api-key", lib.KEY)
        equal((done.returncode, done.stderr.count("still rejected: HTTP 400")), (1, 2), done.stderr)
        equal([item["name"] for item in _list(place)], names, "they stay, under their names")
        refused = {r.window_id: r.headers["X-GpuFlight-Window-Sequence"] for r in s.batches()
                   if r.status == 400 and len(r.raw().splitlines()) == 1}
        equal(len(refused), 2, "each is always the same")
        s.answer = None
        done = _quarantine(place, "retry", names[1], "--backend-url", s.url, "--api-key", lib.KEY)
        equal((done.returncode, done.stdout.count("stored")), (0, 1), done.stderr)
        equal([item["name"] for item in _list(place)], names[:1], "the other one stays")
        equal(lib.upload(place, s.url).returncode, 1, "not complete yet")
        done = _quarantine(place, "retry", "--all", env={"GPUFL_BACKEND_URL": s.url, "GPUFL_API_KEY": lib.KEY})
        equal(done.returncode, 0, done.stderr)
        again = {r.window_id: r.headers["X-GpuFlight-Window-Sequence"] for r in s.batches()
                 if r.status == 200 and b"poison" in r.raw()}
        equal(again, refused, "the same ids and numbers")
        equal(lib.upload(place, s.url).returncode, 0, "all is there")
        equal(sorted(s.lines), sorted(lines), "each line once")
        check(any(r.path.endswith("session-complete") and r.session == session.name for r in s.requests), "complete")
    equal(place.run("gpufl", "status", place.logs).returncode, 0, "status")


def a_backend_that_is_down_rejects_nothing(place):
    _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "two are rejected")
    before = _list(place)
    done = _quarantine(place, "retry", "--all", "--backend-url", s.url, "--api-key", lib.KEY)
    equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
    check(f"--backend-url: cannot reach '{s.url}': " in done.stderr and "connect" in done.stderr, done.stderr)
    check("rejected" not in done.stderr, done.stderr)
    equal(_list(place), before, "they stay")


def the_registry_of_the_backend_takes_them(place):
    """Refused by what stands before it, then by nobody: the order of sequence is kept."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    with Gateway(backend.url, lambda g, h, n: answer(400) if header(h, "X-GpuFlight-Window-Channel") == "device"
                 else PASS, positions=False) as g:
        equal(lib.upload(place, g.url).returncode, 1, "the device's lines are refused")
    check(0 < len(_list(place)) <= 8, f"{_list(place)}")
    done = _quarantine(place, "retry", "--all", "--backend-url", backend.url, "--api-key", lib.KEY,
                       "--same-origin")
    equal(done.returncode, 0, done.stderr)
    equal(lib.upload(place, backend.url, "--same-origin").returncode, 0, "and the rest")
    for channel in lib.CHANNELS:
        equal(sorted(backend.export(session.name, channel).splitlines()),
              sorted(lib.on_disk(session, channel).splitlines()), channel)
    check(backend.complete(session.name), "complete")


def retry_reaches_a_backend_as_upload_does(place):
    """By a client certificate, through a proxy."""
    ours = tls.Authority(place)
    cert, key = ours.issue("agent", "agent")
    _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s, tls.Front(s, ours.issue("good"), client_ca=ours) as front, \
            tls.Proxy() as proxy:
        reach = ("--ca-file", ours.cert, "--client-cert", cert, "--client-key", key, "--proxy", proxy.url)
        equal(lib.upload(place, front.url, *reach).returncode, 1, "two are refused")
        s.answer, before = None, len(proxy.heads)
        done = _quarantine(place, "retry", "--all", "--backend-url", front.url, "--api-key", lib.KEY, *reach)
        equal((done.returncode, done.stdout.count("stored")), (0, 2), done.stderr)
        check(len(proxy.heads) > before, "through the proxy")


def a_backend_that_takes_nothing_now_rejects_nothing(place):
    """Another answer than one about the lines: one line that says what to do, and the ranges stay."""
    _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "two are rejected")
        before = _list(place)
        for status, told in ((401, "--api-key: the backend refused the API key: HTTP 401 no (the ranges stay quarantined; give "
                              "another key)"), (403, f"--backend-url: '{s.url}': {sink.SAYS_403}: HTTP 403 no ("), (503, f"--backend-url: '{s.url}': HTTP 503 no (the "
                              "ranges stay quarantined; check the URL, or retry them later)"), (404, "--backend-url: "),
                             (429, "--backend-url: "), (402, "--backend-url: ")):
            s.answer = lambda _, r, status=status: (status, "no") if r.is_batch else None
            done = _quarantine(place, "retry", "--all", "--backend-url", s.url, "--api-key", lib.KEY)
            equal((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            check(told in done.stderr and "rejected" not in done.stderr, done.stderr)
            equal(_list(place), before, "they stay")
        s.answer, s.declare, asked = None, 503, len(s.batches())
        done = _quarantine(place, "retry", "--all", "--backend-url", s.url, "--api-key", lib.KEY)
        equal((done.returncode, done.stdout, len(s.batches())), (2, "", asked), "it cannot say what it supports now")
        check(f"--backend-url: '{s.url}': the backend answered 503" in done.stderr, done.stderr)


def an_empty_quarantine_is_said(place):
    """Without a word about backends, which are not asked."""
    lib.job(place, 0.1)
    with sink.Sink(declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 0, "all is taken")
    for what in (("list",), ("show", "--all"), ("drop", "--all"),
                 ("retry", "--all", "--backend-url", "http://127.0.0.1:9", "--api-key", "another")):
        done = _quarantine(place, *what)
        equal((done.returncode, done.stdout), (0, ""), f"{what}: {done.stderr}")
        equal(done.stderr, f"gpufl quarantine: nothing is quarantined in {place.logs}\n", f"{what}")
    equal(_list(place), [], "as JSON")


def of_several_names_what_is_dropped_and_what_is_not_is_said(place):
    _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "two are rejected")
    names = [item["name"] for item in _list(place)]
    done = _quarantine(place, "drop", names[0], "typo")
    equal((done.returncode, done.stdout.count(f"{names[0]}  "), done.stdout.count("given up")), (1, 1, 1), done.stdout)
    check("gpufl quarantine: NAME: 'typo': no such range (" in done.stderr, done.stderr)
    equal([item["name"] for item in _list(place)], names[1:], "the other one stays")


def what_was_dropped_leaves_the_end_of_its_session_to_be_sent(place):
    """Status and upload agree on that."""
    lib.job(place, 0.1)
    with sink.Sink(lambda _, r: 422 if r.is_batch and r.channel == "device" else None, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "rejected")
        equal(_quarantine(place, "drop", "--all").returncode, 0, "dropped")
        status = place.run("gpufl", "status", place.logs)
        equal(status.returncode, 1, status.stdout)
        for told in ("everything is settled, but the session is not reported complete yet\n", "or run gpufl upload\n"):
            check(told in status.stdout, status.stdout)
        equal(lib.upload(place, s.url).returncode, 0, "its end")
        status = place.run("gpufl", "status", place.logs)
        equal(status.returncode, 0, status.stdout)
        check("complete at the backend" in status.stdout and "not reported" not in status.stdout, status.stdout)


def what_the_backend_knows_as_skipped_is_not_offered_again(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    last = sorted(session.glob("device*.log"))[0]
    with open(last, "ab") as file:
        file.write(b"no object\n")
    equal(lib.upload(place, backend.url).returncode, 1, "a line is refused")
    names = [item["name"] for item in _list(place)]
    equal(len(names), 1, f"{names}")
    done = _quarantine(place, "retry", names[0], "--backend-url", backend.url, "--api-key", lib.KEY)
    check(done.returncode != 0 and "out of order" in done.stdout + done.stderr, done.stdout + done.stderr)
    equal(_quarantine(place, "drop", names[0]).returncode, 0, "it is given up")
    equal(lib.upload(place, backend.url).returncode, 0, "and the session ends")


def given_up_they_are_in_nobodys_way(place):
    session, lines = _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 1, "two are refused")
        before = len(s.batches())
        names = [item["name"] for item in _list(place)]
        done = _quarantine(place, "drop", names[1])
        equal((done.returncode, done.stdout.count("given up")), (0, 1), done.stderr)
        equal([item["name"] for item in _list(place)], names[:1], "the other one stays")
        done = _quarantine(place, "drop", "--all")
        equal((done.returncode, done.stdout.count("given up")), (0, 1), done.stderr)
        equal(_list(place), [], "none is left")
        equal(lib.upload(place, s.url).returncode, 0, "the session is complete")
        equal(len(s.batches()), before, "nothing was sent for it")
        check(any(r.path.endswith("session-complete") and r.session == session.name for r in s.requests), "complete")
        equal(len(s.lines), len(lines) - 2, "without them")


def a_sealed_window_goes_again_byte_for_byte(place):
    session = lib.copy_samples(place)[0]
    payload = (session / "scope.1.log.gz").read_bytes()
    with sink.Sink(lambda _, r: 422 if r.channel == "scope" and r.session == session.name else None) as s:
        equal(lib.upload(place, s.url).returncode, 1, "refused")
        item, = _list(place)
        check("zcat" in _quarantine(place, "show", item["name"]).stderr, "a hint for its bytes")
        s.answer = None
        done = _quarantine(place, "retry", item["name"], "--backend-url", s.url, "--api-key", lib.KEY)
        equal(done.returncode, 0, done.stderr)
        equal(s.batches()[-1].body, payload, "its bytes")
        equal(s.batches()[-1].headers["X-GpuFlight-Window-Id"],
              json.loads((session / ".gpufl-window.scope.1.json").read_text())["window_id"], "its id")
        equal(lib.upload(place, s.url).returncode, 0, "all is there")


def what_is_gone_or_unknown_is_said(place):
    session, lines = _poisoned(place)
    with sink.Sink(_refuse, declare=True) as s:
        lib.upload(place, s.url)
        names = [item["name"] for item in _list(place)]
        for what in (("show",), ("retry", "--backend-url", s.url, "--api-key", lib.KEY), ("drop",)):
            done = _quarantine(place, *what, "00000000")
            equal(done.returncode, 1, what)
            check("NAME: '00000000': no such range" in done.stderr and "quarantine list" in done.stderr, done.stderr)
        done = _quarantine(place, "show", names[0], "nope", "")
        equal((done.returncode, done.stdout), (1, lines[POISON[0]].decode() + "\n"), "one of three is there")
        equal(done.stderr.count("no such range"), 2, done.stderr)
        check("'nope'" in done.stderr and "''" in done.stderr, done.stderr)
        (session / "scope.log").write_bytes(b"")
        done = _quarantine(place, "show", names[0])
        check(done.returncode == 1 and "cannot be read" in done.stderr, done.stderr)
        done = _quarantine(place, "retry", names[0], "--backend-url", s.url, "--api-key", lib.KEY)
        check(done.returncode == 1 and "cannot be read" in done.stderr, done.stderr)
    for args in (("list",), ("show", place.logs), ("other", place.logs), ("retry", place.logs, "--all")):
        equal(place.run("gpufl", "quarantine", *args).returncode, 2, f"{args}")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
