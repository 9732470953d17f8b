# SPDX-License-Identifier: Apache-2.0
"""The journal is about one backend: another one gets everything, or is said to be the same."""
import json
import re
import shutil
import signal
import sys

import held
import lib
from lib import check, equal, until
import sink
import writers


def _drain(place, url, *args, env=None, code=0):
    process = lib.agent(place, url, "--exit-when-drained", *args, env=env)
    equal(process.wait(60 * lib.SLOW), code, process.log.read_text()[-800:])
    return process.log.read_text()


def _whole(s, session):
    """Each line of the session is there, once."""
    want = sorted(line for c in lib.CHANNELS for line in lib.on_disk(session, c).splitlines())
    check(sorted(s.lines) == want, f"{session.name}: {len(s.lines)} of {len(want)} lines")


def the_agent_sends_everything_to_another_host(place):
    session = lib.job(place, 0.2)
    with sink.Sink() as a, sink.Sink() as b:
        _drain(place, a.url)
        _whole(a, session)
        said = _drain(place, b.url)
        _whole(b, session)
        check("origin.changed" in said and a.url in said and "--same-origin" in said, said)
        equal(len([r for r in b.requests if r.path.endswith("session-complete")]), 1, "and its end")
        before = len(b.batches())
        _drain(place, b.url)
        equal(len(b.batches()), before, "once")
        _whole(a, session)


def an_upload_sends_everything_to_another_backend(place):
    session = lib.job(place, 0.2)
    first = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, first.url).returncode, 0, "to the first one")
    lib.same(first, session)
    with sink.Sink(key=lib.KEY) as s:
        done = lib.upload(place, s.url)
        equal(done.returncode, 0, done.stderr)
        equal(done.result["message"], "all sent", done.stdout)
        check("origin.changed" in done.stderr, done.stderr)
        _whole(s, session)
    first.kill()
    (place.path / "backend.db").rename(place.path / "first.db")
    for rest in ("-wal", "-shm"):
        (place.path / f"backend.db{rest}").unlink(missing_ok=True)
    second = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, second.url)
    equal(done.returncode, 0, done.stderr)
    lib.same(second, session)
    check(second.complete(session.name), "complete")


def the_same_backend_by_another_name_gets_the_rest(place):
    session = lib.job(place, 0.2)
    with sink.Sink() as s:
        _drain(place, s.url)
        moved = s.url.replace("127.0.0.1", "localhost")
        said = _drain(place, moved, "--same-origin")
        check("origin.same" in said, said)
        _drain(place, moved)
        _whole(s, session)
        done = lib.upload(place, s.url, "--same-origin")
        equal((done.returncode, done.result["message"]), (0, "nothing to send"), done.stderr)
        _whole(s, session)


def a_backend_that_was_left_is_not_the_same_again(place):
    """Another one got what it lacks: it would be told that a session is complete of which it has half."""
    first = lib.job(place, 0.1)
    with sink.Sink() as a, sink.Sink() as b:
        _drain(place, a.url)
        second = lib.job(place, 0.1)
        _drain(place, b.url)
        before = (len(a.lines), len([r for r in a.requests if "complete" in r.path]))
        said = _drain(place, a.url, "--same-origin", code=1)
        check("--same-origin: " in said and a.url in said and b.url in said and "leave it out" in said, said)
        checked = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={a.url}",
                            env={"GPUFL_HTTP_TOKEN": lib.KEY, "GPUFL_AGENT_SAME_ORIGIN": "1"})
        equal(checked.returncode, 2, checked.stdout)
        check("GPUFL_AGENT_SAME_ORIGIN: " in checked.stderr and "leave it out" in checked.stderr, checked.stderr)
        done = lib.upload(place, a.url, "--all-sessions", "--same-origin")
        equal(done.returncode, 2, done.stdout)
        check("--same-origin: " in done.result["message"] and "leave it out" in done.result["message"], done.stdout)
        equal((len(a.lines), len([r for r in a.requests if "complete" in r.path])), before, "it is told nothing")
        check("origin.changed" not in _drain(place, b.url), "the journal is where it was")
        done = lib.upload(place, a.url, "--all-sessions")
        equal((done.returncode, done.result["message"]), (0, "all sent"), done.stdout)
        check("origin.changed" in done.stderr, done.stderr)
        lines = sorted(line for session in (first, second) for c in lib.CHANNELS
                       for line in lib.on_disk(session, c).splitlines())
        equal(sorted(set(a.lines)), sorted(set(lines)), "it has both")


def another_name_or_key_is_said_before_everything_is_sent_again(place):
    """By the agent, by an upload and by a check, with what to do if it is the same backend."""
    lib.job(place, 0.1)
    with sink.Sink() as s:
        _drain(place, s.url)
        before = len(s.lines)
        named = s.url.replace("127.0.0.1", "localhost")
        for url, key, what in ((named, lib.KEY, "another backend"), (s.url, "the next key", "another")):
            env = {"GPUFL_HTTP_TOKEN": key}
            checked = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={url}", env=env)
            equal(checked.returncode, 0, checked.stderr)
            check(what in checked.stdout and "everything but what it says it has is sent to it" in checked.stdout
                  and "--same-origin" in checked.stdout and s.url in checked.stdout, checked.stdout)
            checked = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={url}", "--same-origin",
                                env=env)
            check(checked.returncode == 0 and "only what is new" in checked.stdout, checked.stdout)
            equal(len(s.lines), before, "a check sends nothing")
        checked = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={s.url}",
                            env={"GPUFL_HTTP_TOKEN": lib.KEY})
        check("journal" not in checked.stdout, checked.stdout)
        done = lib.upload(place, named)
        check("origin.changed" in done.stderr and "--same-origin" in done.stderr, done.stderr)
        check(any("origin.changed" in w for w in done.result["warnings"]), done.stdout)
        equal(len(s.lines), 2 * before, "everything is sent again")
        said = _drain(place, named, env={"GPUFL_HTTP_TOKEN": "the next key"})
        check("origin.changed" in said and "another API key" in said and "--same-origin" in said, said)


def another_name_of_a_backend_that_knows_positions_is_not_said_to_get_everything(place):
    """It is asked, and has it."""
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "all sent")
    done = lib.upload(place, backend.url.replace("127.0.0.1", "localhost"))
    equal((done.returncode, done.result["events_uploaded"]), (0, 0), done.stdout)
    note = re.search('note="([^"]*)"', done.stderr).group(1)
    equal(note, "another backend than the journal was kept for: once it has taken the key, everything but what it says it has is "
                "sent to it; if it is the same one, give --same-origin once", done.stderr)


def a_wrong_key_or_url_changes_nothing(place):
    session = lib.job(place, 0.2)
    with sink.Sink(key=lib.KEY) as s, sink.Sink(lambda *_: 404, get=404) as other:
        _drain(place, s.url)
        wrong = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", "wrong", "--json")
        equal((wrong.returncode, json.loads(wrong.stdout)["success"]), (2, False), wrong.stdout)
        check("--same-origin" not in wrong.stderr, f"it is not taken for the key of another backend: {wrong.stderr}")
        checked = place.run("gpufl-agent", "--check", f"--folder={place.logs}", f"--host={s.url}", env={"GPUFL_HTTP_TOKEN": "wrong"})
        check(checked.returncode == 2 and "--same-origin" not in checked.stdout + checked.stderr, checked.stdout + checked.stderr)
        check(lib.upload(place, other.url).returncode != 0, "not a backend")
        equal([r.body for r in other.requests if r.to_stream], [b""], "it got no line")
        equal(lib.upload(place, s.url).result["message"], "nothing to send", "back again")
        _whole(s, session)


def a_key_that_is_replaced_under_a_running_agent_is_of_the_same_backend(place):
    token = place.path / "token"
    token.write_text("first")
    lib.job(place, 0.2)
    with sink.Sink() as s:
        agent = lib.agent(place, s.url, f"--token-file={token}", env={"GPUFL_HTTP_TOKEN": ""})
        until(lambda: any(r.path.endswith("session-complete") for r in s.requests), "all is sent")
        token.write_text("second")
        until(lambda: "token.reloaded" in agent.log.read_text(), "the file is read again")
        lib.job(place, 0.2)
        until(lambda: len([r for r in s.requests if r.path.endswith("session-complete")]) == 2, "the next session")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "stopped")
        before = len(s.batches())
        said = _drain(place, s.url, f"--token-file={token}", env={"GPUFL_HTTP_TOKEN": ""})
        equal(len(s.batches()), before, said)


def the_key_at_the_start_counts_not_what_replaces_it(place):
    """One that is wrong is another one; the key of the journal, put in its place, is the same backend again, and a
    third one is another backend. A wrong key that came while the agent ran is no change."""
    token = place.path / "token"
    lib.job(place, 0.2)

    def answer(_, request):
        return 401 if "wrong" in request.headers["Authorization"] and "info" not in request.path else None

    def run(s, *keys, said):
        token.write_text(keys[0])
        agent = lib.agent(place, s.url, f"--token-file={token}", env={"GPUFL_HTTP_TOKEN": ""})
        for key in keys[1:]:
            until(lambda: "origin.hold" in agent.log.read_text(), "the wrong key is refused")
            token.write_text(key)
        until(lambda: said in agent.log.read_text(), said)
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "stopped")
        return agent.log.read_text()

    with sink.Sink(answer) as s:
        run(s, "first", said="session.complete")
        before = len([r for r in s.batches() if r.status == 200 and r.raw()])
        check("origin.changed" not in run(s, "wrong", "first", said="origin.unchanged"), "a wrong one is only refused")
        equal(len([r for r in s.batches() if r.status == 200 and r.raw()]), before, "nothing is sent again")
        check("origin.changed" in run(s, "wrong", "third", said="session.complete"), "another one that is right")
        check(len([r for r in s.batches() if r.status == 200 and r.raw()]) > before, "everything is")
        before = len(s.lines)
        agent = lib.agent(place, s.url, f"--token-file={token}", env={"GPUFL_HTTP_TOKEN": ""})
        until(lambda: "agent.started" in agent.log.read_text(), "it runs with the right key")
        for key, said in (("wrong again", "origin.hold"), ("fourth", "origin.ok")):
            token.write_text(key)
            agent.send_signal(signal.SIGHUP)
            until(lambda: said in agent.log.read_text(), said)
        token.write_text("fifth")  # and it is stopped at once
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "stopped")
        check("origin.changed" not in run(s, "fifth", said="agent.started"), "the same backend")
        equal(len(s.lines), before, "nothing is sent again")


def a_changed_host_waits_for_a_restart(place):
    lib.job(place, 0.2)
    config = place.path / "agent.json"
    with sink.Sink() as a, sink.Sink() as b:
        config.write_text(json.dumps({"source": {"folder": str(place.logs)}, "publisher": {"hostUrl": a.url}}))
        agent = place.start("gpufl-agent", f"--config={config}", env={"GPUFL_HTTP_TOKEN": lib.KEY})
        until(lambda: a.batches(), "it sends")
        config.write_text(config.read_text().replace(a.url, b.url))
        agent.send_signal(signal.SIGHUP)
        until(lambda: 'needs_restart="host"' in agent.log.read_text(), "it says so")
        equal(b.requests, [], "nothing goes there yet")


def windows_that_were_deleted_for_an_earlier_backend_are_said_to_be_missing(place):
    sessions = lib.copy_samples(place)
    with sink.Sink() as a, sink.Sink() as b:
        _drain(place, a.url)  # deletes what it has stored
        check(not list(sessions[0].glob("*.log.gz")), "deleted")
        kept = place.path / "kept"
        shutil.copytree(lib.SAMPLES / sessions[1].name, kept)
        for payload in kept.glob("*.log.gz"):
            shutil.copy(payload, sessions[1])  # of one they came back
        said = _drain(place, b.url, code=1)
        equal([r.session for r in b.requests if r.path.endswith("session-complete")], [sessions[1].name],
              "only of what is whole")
        check("session.incomplete" in said and sessions[0].name in said, said)
        done = lib.upload(place, b.url)
        equal(done.returncode, 1, done.stdout)


def what_another_agent_had_marked_is_not_believed_of_another_backend(place):
    marked, seen = lib.copy_samples(place)
    (marked / ".uploaded").touch()
    with sink.Sink() as a, sink.Sink() as b:
        _drain(place, a.url, "--retain-acked-payloads")
        equal({r.session for r in a.batches() if r.raw()}, {seen.name}, "it is believed at first")
        _drain(place, b.url, "--retain-acked-payloads")
        equal({r.session for r in b.batches() if r.raw()}, {marked.name, seen.name}, "both")


def our_own_mark_hides_nothing_from_another_backend(place):
    """Another state directory, or a copy: of the first upload, only the marks are there."""
    first, second = lib.copy_samples(place)
    with sink.Sink() as a, sink.Sink() as b:
        equal(lib.upload(place, a.url, "--state-dir", place.path / "A").returncode, 0, "sent to the first one")
        check((first / ".uploaded").exists() and (second / ".uploaded").exists(), "marked")
        again = lib.upload(place, a.url, "--state-dir", place.path / "B")
        equal((again.returncode, again.result["sessions_complete"]), (0, 2), again.result)
        equal(len(a.batches()), len(set(r.headers["X-GpuFlight-Window-Id"] for r in a.batches() if r.raw())), "once")
        done = lib.upload(place, b.url, "--state-dir", place.path / "C")
        equal((done.returncode, done.result["message"]), (0, "all sent"), done.result)
        equal(sorted(r.raw() for r in b.batches() if r.raw()), sorted(r.raw() for r in a.batches() if r.raw()), "all of it")


def what_was_refused_is_retried_where_it_was_refused(place):
    session = lib.job(place, 0.2)

    def refuse(s, request):
        return 422 if request.is_batch and b'"shutdown"' in request.raw() and request.raw().count(b"\n") == 1 else None

    with sink.Sink(refuse) as a, sink.Sink() as b:
        equal(lib.upload(place, a.url).returncode, 1, "refused")
        at = ["--backend-url", b.url, "--api-key", lib.KEY]
        done = place.run("gpufl", "quarantine", "retry", place.logs, "--all", *at)
        equal(done.returncode, 2, done.stdout + done.stderr)
        check("--backend-url" in done.stderr and a.url in done.stderr, done.stderr)
        equal(b.batches(), [], "nothing is sent")
        a.answer = None
        at[1] = a.url
        equal(place.run("gpufl", "quarantine", "retry", place.logs, "--all", *at).returncode, 0, "there it is")
        _whole(a, session)


def an_upload_does_not_wait_for_an_agent_that_sends_elsewhere(place):
    lib.job(place, 0.2)
    with sink.Sink() as a, sink.Sink() as b:
        lib.agent(place, a.url)
        until(lambda: any(r.path.endswith("session-complete") for r in a.requests), "all is sent")
        until(lambda: lib.upload(place, a.url).returncode == 0, "to the same one: all is there")
        done = lib.upload(place, b.url)
        equal(done.returncode, 1, done.stdout)
        check("; it sends to another backend than --backend-url" in done.result["message"] and b.url in done.result["message"],
              done.stdout)
        for get, said in ((404, "HTTP 404 (nothing is lost; correct --backend-url or --api-path and run it again)"),
                          (503, "HTTP 503: {'error': 'POST'}; the time limit of 1s was reached (nothing is lost; run it again, or give a longer")):
            a.get, a.answer = get, lambda _, request: None if request.body else (404, "")
            done = lib.upload(place, a.url, "--timeout=1s")
            equal((done.returncode, done.result["http_status"]), (1, get), done.stdout)
            check(f"{a.url} answered {said}" in done.result["message"], done.stdout)
        done = lib.upload(place, a.url, "--timeout=60s", "--retries=1")
        equal((done.returncode, done.result["http_status"]), (1, 503), done.stdout)
        check(f"{a.url} answered HTTP 503: {{'error': 'POST'}} (nothing is lost; run it again)" in done.result["message"], done.stdout)


def an_upload_with_another_key_does_not_believe_what_an_agent_has_sent(place):
    """One that is refused fails; one that is taken may be of another account. No hash of a key is published."""
    lib.job(place, 0.2)
    state = place.path / "state"
    for declare, args in ((True, ()), (False, ("--state-dir", str(state)))):
        with sink.Sink(declare=declare) as s:
            agent = lib.agent(place, s.url, *(f"{args[0]}={args[1]}" for _ in args[:1]))
            until(lambda s=s: any(r.path.endswith("session-complete") for r in s.requests), "all is sent")
            until(lambda s=s, args=args: lib.upload(place, s.url, *args).returncode == 0, "with its key: all is there")
            before = len(s.lines)

            def upload(key, s=s, args=args):
                done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", key, "--json", *args)
                return done.returncode, json.loads(done.stdout)["message"]
            code, said = upload("another")
            equal(code, 1, said)
            check("with another API key than --api-key" in said and "(stop it first)" in said, said)
            (place.logs / ".gpufl-agent/progress").write_text("gpufl-progress 1 pid=1 program=of-a-service\n")
            s.get = 401
            code, said = upload("another")
            equal(code, 2, said)
            check("401: the backend refused the API key; give another --api-key" in said, said)
            s.get = 403
            code, said = upload("another")
            equal(code, 2, said)
            check(f"403: {sink.SAYS_403}; run it again when that is corrected" in said, said)
            equal(len(s.lines), before, "nothing is sent")
            agent.terminate()
            equal(agent.wait(20 * lib.SLOW), 0, "stopped")


def an_upload_with_another_key_for_the_database_of_an_agent_waits_for_that(place):
    """As while a key is replaced: the backend takes both, and names its database."""
    lib.job(place, 0.2)
    with sink.Sink(declare=True, epoch="one.1") as s:
        agent = lib.agent(place, s.url)
        until(lambda: any(r.path.endswith("session-complete") for r in s.requests), "all is sent")

        def upload(*args):
            done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", "another", "--json", *args)
            return done.returncode, json.loads(done.stdout)["message"]
        sent = "sent by the uploader that serves this directory"
        until(lambda: upload() == (0, sent), "it is the same")
        agent.send_signal(signal.SIGSTOP)
        s.epoch = "two.1"
        code, said = upload("--timeout=1s")
        check(code == 1 and "another database than that at --backend-url" in said, said)
        agent.send_signal(signal.SIGCONT)


def an_upload_beside_an_agent_that_does_not_tell_its_backend_reads_its_journal(place):
    """As an agent of an earlier version, whose head has neither database nor state directory."""
    lib.job(place, 0.2)
    own = f"--state-dir={place.path / 'own'}"  # the journal of this user, of before the agent was there
    for epoch in (None, "one.1"):
        with sink.Sink(declare=bool(epoch), epoch=epoch) as s:
            lib.upload(place, s.url, own)
            state = place.path / f"state-{epoch}"
            agent = lib.agent(place, s.url, f"--state-dir={state}")
            until(lambda agent=agent: "session.complete" in agent.log.read_text(), "all is sent")
            until(lambda s=s: lib.upload(place, s.url, f"--state-dir={state}").returncode == 0, "it is published")
            agent.send_signal(signal.SIGSTOP)
            for path in (place.logs / ".gpufl-agent").iterdir():
                path.write_text(re.sub(" database=.*", "", path.read_text(), count=1))

            def upload(key, *args, s=s):
                done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", key, "--json", *args)
                return done.returncode, json.loads(done.stdout)["message"]

            def is_refused(said, key, *args, upload=upload):
                code, message = upload(key, *args)
                check(code == 1 and said in message, message)
            sent = (0, "sent by the uploader that serves this directory")
            named = f"--state-dir={state}"
            equal(upload(lib.KEY, named), sent, "by the journal")
            if epoch:
                equal(upload("another", named), sent, "another key for the same database")
                s.epoch = "two.1"
                is_refused("another database than that at --backend-url", lib.KEY, named, "--timeout=1s")
            else:
                is_refused("with another API key than --api-key", "another", named)
                is_refused("an earlier version, which does not tell", lib.KEY)
                equal(upload("another", "--same-origin"), sent, "somebody says so")
                is_refused("(restart it first)", lib.KEY, "--timeout=1s", own)
            agent.kill()
            agent.wait(20 * lib.SLOW)


def _three(place):
    """Complete sessions of all layouts, and how to send them: their files stay."""
    written = [writers.Live(place.logs), writers.Shifting(place.logs), writers.Windows(place.logs)]
    for writer in written:
        for _ in range(20):
            writer.line("device")
        writer.rotate("device")
        writer.line("device")
        writer.end()
    return written


def _all_there(backend, written):
    return all(backend.complete(w.id) for w in written)


def _is_whole(backend, written):
    for writer in written:
        lib.holds(backend, writer)


def _database(place):
    """The files of a backend that is not running."""
    return {path: path.read_bytes() for path in place.path.glob("backend.db*")}


def _replace_database(place, backend, files=None):
    """By a new one, or by the copy `files`. The backend starts again."""
    backend.kill()
    for path in place.path.glob("backend.db*"):
        path.unlink()
    for path, data in (files or {}).items():
        path.write_bytes(data)
    backend.start()


def another_database_behind_the_same_url_gets_everything_from_an_upload(place):
    written = _three(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).result["message"], "all sent", "to the first one")
    _is_whole(backend, written)
    _replace_database(place, backend)
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["message"]), (0, "all sent"), done.stdout + done.stderr)
    equal(done.stderr.count("origin.changed"), 1, done.stderr)
    check("another database" in done.stderr, done.stderr)
    _is_whole(backend, written)
    check(_all_there(backend, written), "complete")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["message"]), (0, "nothing to send"), "once")
    check("origin" not in done.stderr, done.stderr)
    _is_whole(backend, written)


def another_database_behind_the_same_url_gets_everything_from_an_agent(place):
    """Whether it was started again, or sees by an answer that the backend is another one."""
    written = _three(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    args = ("--retain-acked-payloads", "--rescan-interval=200ms", "--flush-interval=50ms")
    _drain(place, backend.url, *args)
    _replace_database(place, backend)
    agent = lib.agent(place, backend.url, *args)
    until(lambda: _all_there(backend, written), "all is complete again")
    _is_whole(backend, written)
    _replace_database(place, backend)
    live = writers.Live(place.logs)
    written.append(live)
    live.line("device")
    until(lambda: backend.export(live.id, "device") == live.written["device"], "it sends to the new one")
    live.end()
    until(lambda: _all_there(backend, written), "and what it had sent before")
    _is_whole(backend, written)
    said = agent.log.read_text()
    equal((said.count("origin.changed"), said.count("origin.begins")), (2, 2), said)


def an_upload_sends_what_a_restored_copy_lacks(place):
    """The name of the database is the same, and its epoch another one. What goes by positions is asked for."""
    early, quiet = writers.Live(place.logs), writers.Live(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    backend.kill()
    copy = _database(place)
    backend.start()
    late = writers.Live(place.logs)
    for writer in (early, late, quiet):
        writer.line("device")
    early.end()
    late.end()
    equal(lib.upload(place, backend.url).result["message"], "all sent", "all")
    _replace_database(place, backend, copy)
    check(not backend.export(late.id, "device"), "it is older")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["message"]), (0, "all sent"), done.stdout + done.stderr)
    check("origin" not in done.stderr, done.stderr)
    _is_whole(backend, (early, late, quiet))
    check(_all_there(backend, (early, late)), "complete")
    equal(lib.upload(place, backend.url).result["message"], "nothing to send", "once")


def _sent_to_a_backend_that_goes_back(place, empty):
    """An agent that has sent all and stands still, and what it sent, of which the backend has nothing any more."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    early = writers.Live(place.logs)
    early.end()
    lib.upload(place, backend.url)
    backend.kill()
    copy = {path: path.read_bytes() for path in place.path.glob("backend.db*")}
    backend.start()
    written = [writers.Live(place.logs), writers.Shifting(place.logs)]
    live = writers.Live(place.logs)
    for writer in (*written, live):
        for _ in range(20):
            writer.line("device")
    for writer in written:
        writer.end()
    agent = lib.agent(place, backend.url, "--rescan-interval=200ms", "--retain-acked-payloads")
    until(lambda: _all_there(backend, written) and lib.upload(place, backend.url).returncode == 0, "all is sent and told")
    agent.send_signal(signal.SIGSTOP)
    backend.kill()
    backend.start()
    for writer in (*written, live):
        done = lib.upload(place, backend.url, "--session-id", writer.id, "--timeout=5s")
        equal(done.returncode, 0, f"it is another epoch, and nothing is lost: {done.stdout}")
    _replace_database(place, backend, {} if empty else copy)
    check(not backend.complete(written[0].id), "it is older")
    return backend, agent, [*written, live]


def _waits_until_the_agent_has_asked(place, empty, why):
    """The agent tells of all that it is complete or sent, and has not noticed yet."""
    backend, agent, written = _sent_to_a_backend_that_goes_back(place, empty)
    for writer in written:
        done = lib.upload(place, backend.url, "--session-id", writer.id, "--timeout=1s")
        equal(done.returncode, 1, done.stdout)
        check(why.format(writer.id) in done.result["message"], done.stdout)
    agent.send_signal(signal.SIGCONT)
    written[2].line("scope")  # else it asks within a minute
    equal(lib.upload(place, backend.url).returncode, 0, "it asks")
    check(_all_there(backend, written[:2]), "complete")
    _is_whole(backend, written)
    equal(lib.upload(place, backend.url).returncode, 0, "once")


def an_upload_beside_an_agent_waits_until_that_has_asked_a_restored_copy(place):
    _waits_until_the_agent_has_asked(
        place, False, "the backend, which was started again, to be asked what it has of session {}")


def an_upload_beside_an_agent_waits_until_that_has_asked_another_database(place):
    _waits_until_the_agent_has_asked(place, True, "it has sent to another database than that at --backend-url")


def an_upload_does_not_take_a_backend_without_its_database_for_one_that_has_all(place):
    """Beside an agent, and alone: all is sent and complete, and the file that holds it is not there any more."""
    written = writers.Live(place.logs)
    written.line("device")
    written.end()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    path = place.path / "backend.db"
    for beside in (True, False):
        agent = lib.agent(place, backend.url, "--rescan-interval=200ms") if beside else None
        until(lambda: lib.upload(place, backend.url).returncode == 0, "all is sent and told")
        path.rename(place.path / "moved")
        done = lib.upload(place, backend.url, "--timeout=2s")
        equal(done.returncode, 1, done.stdout)
        check(f"503: the database could not be written: {path}: removed or replaced" in done.result["message"], done.stdout)
        (place.path / "moved").rename(path)
        equal(lib.upload(place, backend.url).returncode, 0, "it is back")
        if agent:
            agent.terminate()
            agent.wait()


def windows_of_a_running_session_are_offered_to_a_restored_copy(place):
    """Those that are on disk. Windows go by no positions: the backend knows by its id which ones it has."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = writers.Windows(place.logs)
    writer.rotate("device")
    lib.upload(place, backend.url, "--timeout=2")
    backend.kill()
    copy = _database(place)
    backend.start()
    for _ in range(2):
        writer.line("device")
        writer.rotate("device")
    lib.upload(place, backend.url, "--timeout=2")
    equal(backend.export(writer.id, "device"), bytes(writer.written["device"]), "all of it")
    _replace_database(place, backend, copy)
    check(backend.export(writer.id, "device") != bytes(writer.written["device"]), "it is older")
    writer.end()
    for times in (1, 2):
        done = lib.upload(place, backend.url)
        equal((done.returncode, backend.complete(writer.id)), (0, True), done.stdout + done.stderr)
        _is_whole(backend, [writer])
        backend.kill()  # which begins another epoch, too
        backend.start()
    lines = len(writer.written["device"].splitlines())
    said = place.run("gpufl", "status", place.logs).stdout
    check(f"{lines} lines settled" in said, said)


def a_file_that_a_restored_copy_lacks_and_somebody_deleted_is_missed(place):
    """It may have been moved away. A person gives it up, and the backend is told of the loss."""
    early, late = writers.Live(place.logs), writers.Live(place.logs)
    early.line("device")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    backend.kill()
    copy = _database(place)
    backend.start()
    early.line("device")
    first = bytes(early.written["device"])
    for _ in range(2):
        early.rotate("device")
        early.line("device")
    for writer in (early, late):
        writer.end()
    equal(lib.upload(place, backend.url).result["message"], "all sent", "all")
    (early.dir / "device.1.log").unlink()
    _replace_database(place, backend, copy)
    for _ in range(2):
        done = lib.upload(place, backend.url)
        words = held.is_held(done, place.run("gpufl", "status", place.logs), "missing")
    check(backend.complete(late.id) and not backend.complete(early.id), "the other one goes on")
    done = place.run("gpufl", *words)
    equal(done.returncode, 0, done.stdout + done.stderr)
    equal(lib.upload(place, backend.url).returncode, 0, "it goes on")
    stored = backend.export(early.id, "device")
    check(stored.endswith(bytes(early.written["device"])[len(first):]), "the rest")
    check(len(stored) < len(early.written["device"]), "but not the file")
    check(not backend.complete(early.id), "the backend knows of the loss")


def a_file_that_was_moved_from_among_those_that_we_delete_is_missed(place):
    """The backend is restored to before it. Once it is back where it was, nothing is lost of it."""
    writer = writers.Live(place.logs)
    writer.line("device")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "the job runs")
    backend.kill()
    copy = _database(place)
    backend.start()
    for _ in range(4):
        writer.line("device")
        writer.rotate("device")
    equal(lib.upload(place, backend.url).returncode, 0, "all so far")
    moved = (writer.dir / "device.2.log").rename(place.path / "moved")
    agent = lib.agent(place, backend.url, "--delete-acked=acknowledged")
    writer.line("device")
    until(lambda: not (writer.dir / "device.3.log").exists(), "those around it are deleted")
    agent.terminate()
    agent.wait(20 * lib.SLOW)
    writer.end()
    _replace_database(place, backend, copy)
    held.is_held(lib.upload(place, backend.url), place.run("gpufl", "status", place.logs), "missing")
    moved.rename(writer.dir / "device.2.log")
    lib.upload(place, backend.url)
    file_2 = bytes(writer.written["device"]).splitlines()[3]
    check(file_2 in backend.export(writer.id, "device"), "it is sent")


def another_database_is_the_same_backend_if_a_person_says_so(place):
    written = _three(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "to the first one")
    _replace_database(place, backend)
    done = lib.upload(place, backend.url, "--same-origin")
    check("origin.same" in done.stderr and "another database" in done.stderr, done.stderr)
    check(not backend.export(written[2].id, "device"), "what was sent is not sent again")


def an_upload_says_nothing_to_send_only_if_the_backend_answers(place):
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "sent")
    equal(lib.upload(place, backend.url).result["message"], "nothing to send", "it answers")
    backend.kill()
    done = lib.upload(place, backend.url, "--retries", "1")
    equal(done.returncode, 2, done.stdout)
    check("cannot reach" in done.result["message"], done.stdout)


def lines_that_are_refused_silence_no_other_session(place):
    """As something in front of the backend may refuse what is in them."""
    answers = {"status": 500}

    def refuse(_, request):
        return answers["status"] if request.is_batch and b"evil" in request.raw() else None

    with sink.Sink(refuse, declare=True, alive_after_ms=1000) as s:
        silent, other = writers.Live(place.logs), writers.Live(place.logs)
        agent = lib.agent(place, s.url)
        until(lambda: all(any(r.session == w.id for r in s.batches()) for w in (silent, other)), "both have begun")
        other.line("device", "evil")
        for answers["status"] in (500, 403):
            until(lambda: any(r.status == answers["status"] for r in s.batches()), f"{answers} is answered")
            before = len(s.requests)
            until(lambda n=before: sum(r.path.endswith("/alive") and silent.id.encode() in r.body
                                       for r in s.requests[n:]) > 2, f"{answers}: the other one is told of")
        until(lambda: "origin.hold" in agent.log.read_text(), "403 is said")
        said, = (line for line in agent.log.read_text().splitlines() if "origin.hold" in line)
        check(f'status=403 reason="{sink.SAYS_403}' in said, said)
        agent.kill()
        agent.wait(20 * lib.SLOW)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
