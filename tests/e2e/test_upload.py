# SPDX-License-Identifier: Apache-2.0
"""gpufl upload: what arrives, what is said, which exit code, under every kind of answer."""
import collections
import datetime
import gzip
import json
import os
import pty
import signal
import subprocess
import shutil
import sys
import time

import lib
from lib import check, equal, until
import sink
from writers import Live, Shifting


SAMPLE_IDS = [d.name for d in lib.SAMPLES.iterdir()]


def lines_of(*directories):
    return collections.Counter(line for d in directories for c in lib.CHANNELS
                               for line in lib.on_disk(d, c).splitlines())


def samples_are_stored_once_and_a_second_run_sends_nothing(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    sessions = lib.copy_samples(place)
    first = lib.upload(place, backend.url)
    equal(first.returncode, 0, f"exit code ({first.stderr})")
    equal(first.result["sessions_complete"], 2, "sessions complete")
    for s in sessions:
        lib.same(backend, s)
    again = lib.upload(place, backend.url)
    equal((again.returncode, again.result["events_uploaded"]), (0, 0), "the second run")
    equal(again.result["message"], "nothing to send", "what it says")


def a_live_recording_is_stored_whole(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.rotated_job(place, "system.*.log", 2, 4096)
    equal(lib.upload(place, backend.url).returncode, 0, "exit code")
    lib.same(backend, session)
    check(backend.complete(session.name), "complete")


def the_newest_or_a_named_session_alone_is_sent(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    old, new = lib.job(place, 0.1), lib.job(place, 0.1)
    equal(lib.upload(place, backend.url, "--latest").returncode, 0, "exit code")
    check(backend.session(new.name) and not backend.session(old.name), "only the newest")
    equal(lib.upload(place, backend.url, "--session-id", old.name).returncode, 0, "exit code")
    lib.same(backend, old)
    missing = lib.upload(place, backend.url, "--session-id", "no-such-session")
    equal(missing.returncode, 2, "an unknown session")
    check("no-such-session" in missing.result["message"], "it is named")


def without_a_backend_it_exits_2_and_a_later_run_sends_all(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.2)
    backend.kill()
    down = lib.upload(place, backend.url, "--retries", "2")
    equal(down.returncode, 2, "no contact")
    check("cannot reach" in down.result["message"], down.result["message"])
    backend.start()
    equal(lib.upload(place, backend.url).returncode, 0, "the later run")
    lib.same(backend, session)


def a_slow_backend_is_waited_for_within_the_budget(place):
    session = lib.job(place, 0.2)
    with sink.Sink(delay_s=0.3) as slow:
        equal(lib.upload(place, slow.url).returncode, 0, "slow, but in time")
        equal(collections.Counter(slow.lines), lines_of(session), "lines")
    other = lib.job(place, 0.2)
    with sink.Sink(delay_s=30) as hung:
        begin = time.monotonic()
        late = lib.upload(place, hung.url, "--timeout", "1")
        check(time.monotonic() - begin < 10 * lib.SLOW, "it kept its budget")
        check(late.returncode != 0, "not all was sent")
    with sink.Sink() as good:
        equal(lib.upload(place, good.url, "--same-origin").returncode, 0, "the later run")
        equal(collections.Counter(good.lines), lines_of(other), "nothing lost, nothing twice")


def a_wrong_key_exits_2_and_loses_nothing(place):
    session = lib.job(place, 0.2)
    with sink.Sink(key="another") as s:
        wrong = lib.upload(place, s.url)
        equal(wrong.returncode, 2, "exit code")
        equal(wrong.result["http_status"], 401, "status")
        check("key" in wrong.result["message"], wrong.result["message"])
        check(lib.KEY not in wrong.stdout + wrong.stderr, "the key is not told")
        s.key = lib.KEY
        equal(lib.upload(place, s.url).returncode, 0, "with the right key")
        equal(collections.Counter(s.lines), lines_of(session), "lines")


def batches_over_a_limit_are_split(place):
    session = lib.job(place, 0.5)

    def small_only(_, request):
        return 413 if request.is_batch and request.raw().count(b"\n") > 4 else None

    with sink.Sink(small_only, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 0, "exit code")
        equal(collections.Counter(s.lines), lines_of(session), "lines")
    windows = [d for d in lib.copy_samples(place) if d.name in SAMPLE_IDS]
    with sink.Sink(small_only, declare=True) as s:
        refused = lib.upload(place, s.url)
        equal(refused.returncode, 1, "sealed windows cannot be split")
        check(refused.result["ranges_quarantined"] > 0, "they are quarantined")
        equal([len(list(d.glob("*.gz"))) for d in windows], [4, 4], "and stay on disk")


def without_zstd_it_falls_back_to_gzip(place):
    """D-06."""
    session = lib.job(place, 0.3)

    def no_zstd(_, request):
        return 415 if request.encoding == "zstd" else None

    with sink.Sink(no_zstd, declare=True) as s:
        equal(lib.upload(place, s.url).returncode, 0, "exit code")
        equal(collections.Counter(s.lines), lines_of(session), "lines")
        check(any(r.encoding == "zstd" for r in s.batches()), "zstd was tried, as declared")


def errors_of_the_server_are_retried(place):
    """D-08."""
    session = lib.job(place, 0.3)
    plan = [500, sink.DROP, 503, sink.STORE_DROP, sink.CUT, (429, {}, ("Retry-After", "1"))]

    def fail(_, request):
        return plan.pop(0) if request.is_batch and plan else None

    with sink.Sink(fail) as s:
        done = lib.upload(place, s.url, "--retries", "20")
        equal(done.returncode, 0, f"exit code ({done.stderr})")
        equal(collections.Counter(s.lines), lines_of(session), "lines")
        ids = [r.window_id for r in s.batches()]
        check(len(set(ids)) < len(ids), "repeats carry their first id")


def a_server_that_always_fails_exits_1_and_loses_nothing(place):
    session = lib.job(place, 0.2)
    with sink.Sink(lambda _, r: 500 if r.is_batch else None) as s:
        failed = lib.upload(place, s.url, "--retries", "2")
        equal(failed.returncode, 1, "exit code")
        check("500" in failed.result["message"], failed.result["message"])
        s.answer = None
        equal(lib.upload(place, s.url).returncode, 0, "later")
        equal(collections.Counter(s.lines), lines_of(session), "lines")


def an_origin_that_decodes_later_never_gets_zstd_it_did_not_declare(place):
    session = lib.job(place, 0.3)

    def later(s, request):
        if request.is_batch and request.encoding == "zstd":
            return 202  # accepted now, thrown away when it is decoded
        return None

    with sink.Sink(later) as s:
        equal(lib.upload(place, s.url).returncode, 0, "exit code")
        equal(collections.Counter(s.lines), lines_of(session), "lines")
        check(all(r.encoding == "gzip" for r in s.batches()), "gzip only")


def _sealed_windows_under(place, answer, exit_code, word, delay_s=0.0, args=()):
    """A copy of the real sessions meets one kind of server, then a good one."""
    sessions = lib.copy_samples(place)
    with sink.Sink(answer, declare=True, delay_s=delay_s) as bad:
        done = lib.upload(place, bad.url, *args)
        equal(done.returncode, exit_code, f"exit code ({done.stderr})")
        check(word in done.result["message"], done.result["message"])
        stored = list(bad.lines)
    with sink.Sink(declare=True) as good:
        equal(lib.upload(place, good.url).returncode, 0, "later")
        equal(collections.Counter(stored + good.lines), lines_of(*sessions), "once each")


def sealed_windows_wait_out_a_500(place):
    _sealed_windows_under(place, lambda _, r: 500 if r.is_batch else None, 1, "500",
                          args=("--retries", "2"))


def sealed_windows_wait_out_a_415(place):
    _sealed_windows_under(place, lambda _, r: 415 if r.is_batch else None, 1, "415")


def sealed_windows_wait_out_a_refused_key(place):
    _sealed_windows_under(place, lambda _, r: 401 if r.to_stream else None, 2, "key")


def sealed_windows_wait_out_a_hung_server(place):
    _sealed_windows_under(place, lambda _, r: sink.DROP, 2, "cannot reach", delay_s=20,
                          args=("--timeout", "1"))


def sealed_windows_that_are_too_large_stay_and_are_listed(place):
    lib.copy_samples(place)

    def no_more_than_300_kb(_, request):
        return 413 if len(request.body) > 300_000 else None

    with sink.Sink(no_more_than_300_kb, declare=True) as s:
        done = lib.upload(place, s.url)
        equal((done.returncode, done.result["ranges_quarantined"]), (1, 2), "result")
        status = place.run("gpufl", "status", place.logs)
        equal((status.returncode, status.stdout.count("quarantined:")), (1, 2), "status")
        check("HTTP 413" in status.stdout, status.stdout)
        s.answer = None
        forced = lib.upload(place, s.url, "--force")
        equal((forced.returncode, len(s.stored)), (0, 8), "force: each window once")
        equal(place.run("gpufl", "status", place.logs).returncode, 0, "nothing is left")


def plain_directories_are_read_too(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = place.logs / "22222222-2222-4222-8222-222222222222"
    session.mkdir()
    line = '{"type":"%s","session_id":"' + session.name + '","n":%d}\n'
    text = line % ("job_start", 0) + "".join(line % ("x", i) for i in range(20000)) + line % ("shutdown", 0)
    (session / "device.log").write_text(text)
    with gzip.open(session / "system.log.gz", "wt") as f:
        f.write(text)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, f"exit code ({done.stderr})")
    for channel in ("device", "system"):
        equal(backend.export(session.name, channel), text.encode(), channel)
    check(backend.complete(session.name), "every channel ends in shutdown: complete")
    again = lib.upload(place, backend.url)
    equal((again.returncode, again.result["events_uploaded"]), (0, 0), "the second run")


def a_progress_bar_is_drawn_on_a_terminal(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.copy_samples(place)
    master, terminal = pty.openpty()
    process = place.start("gpufl", "upload", place.logs, "--backend-url", backend.url, "--api-key",
                          lib.KEY)
    process.wait()
    process = subprocess.Popen([*lib.EMULATOR, lib.BUILD / "gpufl", "upload", place.logs, "--force",
                                "--backend-url", backend.url, "--api-key", lib.KEY],
                               stderr=terminal, stdout=subprocess.DEVNULL,
                               env=lib.environment({}))
    equal(process.wait(30 * lib.SLOW), 0, "exit code")
    os.close(terminal)
    shown = os.read(master, 65536).decode()
    os.close(master)
    check("[####" in shown and "2 of 2 sessions" in shown, repr(shown))


def redirects_are_not_followed(place):
    lib.job(place, 0.1)
    with sink.Sink() as other:
        def redirect(_, request):
            return (307, {}, ("Location", other.url + request.path)) if request.to_stream else None
        with sink.Sink(redirect) as s:
            done = lib.upload(place, s.url)
            equal(done.returncode, 1, "a person must act")
            equal(done.result["http_status"], 307, "status")
        equal(other.requests, [], "the other host saw nothing")


def switched_off_it_opens_no_socket(place):
    lib.job(place, 0.1)
    with sink.Sink() as s:
        done = lib.upload(place, s.url, env={"GPUFL_DISABLED": "YES"})
        equal(done.returncode, 0, "exit code")
        equal((done.result["events_uploaded"], len(done.result["warnings"])), (0, 1), "result")
        equal(s.requests, [], "requests")


def wrong_use_exits_2_with_a_sentence(place):
    for args, word in ((("upload",), "directory"),
                       (("upload", place.logs), "--backend-url: missing"),
                       (("upload", place.logs, "--backend-url", "ftp://x", "--api-key", "k"),
                        ""),
                       (("upload", place.logs / "none", "--backend-url", "http://127.0.0.1:9",
                         "--api-key", "k"), "none': No such file or directory"),
                       (("upload", place.logs, "--timeout", "soon"), "timeout"),
                       (("sing",), "sing"), ((), "VERB")):
        if word == "":
            lib.job(place, 0.1)
        done = place.run("gpufl", *args)
        equal(done.returncode, 2, f"exit code of {args}")
        check(word in done.stderr, f"{args} says: {done.stderr}")
    for args in (("--help",), ("upload", "--help"), ("status", "--help"), ("version",)):
        equal(place.run("gpufl", *args).returncode, 0, f"exit code of {args}")


def an_empty_directory_is_no_error(place):
    done = place.run("gpufl", "upload", place.logs, "--backend-url", "http://127.0.0.1:9",
                     "--api-key", "k")
    equal(done.returncode, 0, f"exit code ({done.stderr})")


def the_url_with_a_path_is_refused_and_the_path_option_serves_proxies(place):
    """S2-12, S2-14."""
    session = lib.job(place, 0.1)
    with sink.Sink() as s:
        refused = lib.upload(place, s.url + "/api/v1")
        equal(refused.returncode, 2, "exit code")
        check("path" in refused.result["message"], refused.result["message"])
        equal(lib.upload(place, s.url, "--api-path", "obs/gpu/api/v1/").returncode, 0, "proxy")
        check(all(r.path.startswith("/obs/gpu/api/v1/") and "//" not in r.path
                  for r in s.requests), "one well-formed path")
        equal(collections.Counter(s.lines), lines_of(session), "lines")


def a_killed_upload_goes_on_where_it_stopped(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    sessions = [lib.job(place, 0.2) for _ in range(3)]
    process = place.start("gpufl", "upload", place.logs, "--backend-url", backend.url,
                          "--api-key", lib.KEY)
    lib.until(lambda: any(backend.session(s.name) for s in sessions), "something is stored")
    process.send_signal(signal.SIGKILL)
    process.wait()
    equal(lib.upload(place, backend.url).returncode, 0, "exit code")
    for s in sessions:
        lib.same(backend, s)


def a_sealed_file_that_changes_after_its_session_was_complete_is_said(place):
    writer = Live(place.logs)
    for _ in range(2):
        writer.line("device")
        writer.rotate("device")
    writer.end()
    with sink.Sink(declare=True) as backend:
        equal(lib.upload(place, backend.url).returncode, 0, "complete")
        stored = len(backend.lines)
        check("changed after" not in place.run("gpufl", "status", place.logs).stdout, "it has not changed")
        for change in (lambda data: data + b'{"type":"x"}\n', lambda data: data[:-9] + b"x" + data[-8:],
                       lambda data: data[:-1]):
            whole = (writer.dir / "device.2.log").read_bytes()
            (writer.dir / "device.2.log").write_bytes(change(whole))
            done = place.run("gpufl", "status", place.logs)
            equal(done.returncode, 0, done.stdout)
            check(", file 2 was changed after it was sent" in done.stdout, done.stdout)
            status = json.loads(place.run("gpufl", "status", "--json", place.logs).stdout)
            changed = {c["channel"]: c.get("changed_file") for c in status["sessions"][0]["channels"]}
            equal({name: file for name, file in changed.items() if file}, {"device": 2}, "json")
            done = lib.upload(place, backend.url)
            equal(done.returncode, 0, done.stderr)
            equal(done.stderr.count("session.rewritten"), len(change(whole)) != len(whole), done.stderr)
            (writer.dir / "device.2.log").write_bytes(whole)
        completes = sum(r.path.endswith("session-complete") for r in backend.requests)
        equal((len(backend.lines), completes), (stored, 1), "nothing is sent")
        check("changed after" not in place.run("gpufl", "status", place.logs).stdout, "it is the right one again")


def status_tells_what_waits(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    before = place.run("gpufl", "status", place.logs)
    equal(before.returncode, 1, "something waits")
    check(session.name in before.stdout and "wait" in before.stdout, before.stdout)
    lib.upload(place, backend.url)
    after = place.run("gpufl", "status", place.logs)
    equal(after.returncode, 0, f"nothing waits ({after.stdout})")
    check("complete, verified" in after.stdout, after.stdout)


def status_decompresses_a_limited_amount(place):
    """Anybody can make a small file that holds any number of bytes."""
    writer = Live(place.path / "logs")
    writer.line("device")
    (writer.dir / "device.log").unlink()
    (writer.dir / "device.log.gz").write_bytes(gzip.compress(bytes(200 << 20), 1))
    told = json.loads(place.run("gpufl", "status", place.path / "logs", "--json").stdout)
    waits = [c["waiting_bytes"] for s in told["sessions"] for c in s["channels"] if c["channel"] == "device"]
    equal(len(waits), 1, str(told))
    check(waits[0] <= 65 << 20, f"{waits[0]} bytes were decompressed")


def status_names_what_is_away(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.line("device")
    agent = lib.agent(place, backend.url)
    until(lambda: backend.export(writer.id, "device"), "its line is stored")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    writer.dir.rename(place.path / "elsewhere")
    done = place.run("gpufl", "status", place.logs)
    equal(done.returncode, 1, done.stdout)
    check(f"{writer.id}  its directory is not there" in done.stdout, done.stdout)
    told = lib.json.loads(place.run("gpufl", "status", place.logs, "--json").stdout)
    equal([(s["session_id"], s["away"], s["complete"]) for s in told["sessions"]], [(writer.id, True, False)], "JSON")


def an_upload_says_which_unfinished_session_is_away(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer, other = Live(place.logs), Live(place.logs)
    for each in (writer, other):
        each.line("device")
    other.end()
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"]), (0, 0), done.stdout)
    elsewhere = place.path / "elsewhere"
    writer.dir.rename(elsewhere)
    for beside in ("others that are complete", "nothing"):
        done = lib.upload(place, backend.url)
        equal((done.returncode, done.result["success"], done.result["sessions_away"]), (1, False, 1),
              f"beside {beside}: {done.stdout}")
        check(f"1 session is not complete and no longer in the directory: {writer.id} (" in done.result["message"],
              done.result["message"])
        done = place.run("gpufl", "upload", place.logs, "--backend-url", backend.url, "--api-key", lib.KEY)
        equal((done.returncode, done.stdout), (1, ""), f"beside {beside}, as text")
        check(f"directory: {writer.id} (" in done.stderr, done.stderr)
        done = lib.upload(place, backend.url, "--latest")
        equal(done.returncode, 0, f"of one that is chosen: {done.stdout}")
        shutil.rmtree(other.dir, ignore_errors=True)
    elsewhere.rename(writer.dir)
    writer.end()
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"]), (0, 0), f"it is back: {done.stdout}")
    lib.holds(backend, writer)


def an_upload_beside_an_agent_counts_what_is_away_and_what_was_lost(place):
    """Whether or not the agent has noticed it."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    ended, away, lossy = Live(place.logs), Live(place.logs), Live(place.logs)
    for writer in (ended, away, lossy):
        writer.line("device")
    ended.end()
    (lossy.dir / ".gpufl-transport-loss.spool.1.json").write_text("{}")
    lossy.end()
    agent = lib.agent(place, backend.url)
    until(lambda: backend.complete(ended.id) and all(
        backend.export(w.id, "device") == bytes(w.written["device"]) for w in (away, lossy)), "all is stored")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"], done.result["sessions_lossy"]), (0, 0, 1), done.stdout)
    check(f"recording 1 session: {lossy.id}" in done.result["message"], done.stdout)
    agent.send_signal(signal.SIGSTOP)  # it notices nothing
    shutil.rmtree(ended.dir)
    away.dir.rename(place.path / "elsewhere")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"], done.result["sessions_lossy"]), (1, 1, 1), done.stdout)
    check(f"no longer in the directory: {away.id} (" in done.result["message"], done.stdout)
    equal(lib.upload(place, backend.url, "--session-id", lossy.id).returncode, 0, "one that is chosen")
    lossy.dir.rename(place.path / "lossy")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"]), (1, 2), f"all are away: {done.stdout}")
    agent.send_signal(signal.SIGCONT)
    agent.kill()


def the_channel_is_named_whose_end_is_waited_for(place):
    """While it has none, the ends of the others are not sent: an upload says so once its time is over, and status does."""
    def ends(kind):
        place.logs = place.path / kind.__name__
        place.logs.mkdir(mode=0o700)
        writer = kind(place.logs)
        for channel in ("device", "system"):
            writer.line(channel, "shutdown")
        with sink.Sink(declare=True) as s:
            done = lib.upload(place, s.url, "--timeout=1s")
            equal(done.returncode, 1, done.stdout)
            check(f"session {writer.id}: its channel device has ended, and the end of scope is waited for; the time limit"
                  in done.result["message"], done.stdout)
            text = place.run("gpufl", "status", place.logs).stdout
            equal([line.split()[0] for line in text.splitlines() if "its end waits for that of scope" in line],
                  ["device", "system"], text)
            status = json.loads(place.run("gpufl", "status", place.logs, "--json").stdout)
            equal({c["channel"]: c.get("awaits_end_of") for c in status["sessions"][0]["channels"]},
                  {"device": "scope", "scope": None, "system": "scope"}, status)
            writer.line("scope", "shutdown")
            done = lib.upload(place, s.url)
            equal((done.returncode, s.missing(writer)), (0, set()), done.stdout)
        check("its end" not in place.run("gpufl", "status", place.logs).stdout, "nothing is waited for")

    ends(Live)
    ends(Shifting)


def status_tells_for_what_and_since_when(place):
    session = lib.job(place, 0.1)
    nobody = place.run("gpufl", "status", place.logs)
    check("no uploader is running" in nobody.stdout and "gpufl upload" in nobody.stdout, nobody.stdout)
    first = lib.json.loads((session / "scope.log").read_bytes().splitlines()[0])
    with sink.Sink(key="another") as s:
        agent = lib.agent(place, s.url, "--drain-timeout=100ms")
        told = until(lambda: (lambda t: t if t["waits"] else None)(lib.json.loads(
            place.run("gpufl", "status", place.logs, "--json").stdout)), "it says for what")
        check(f"pid {agent.pid}" in told["served_by"], told["served_by"])
        check("401" in told["waits"][0]["reason"] and "key" in told["waits"][0]["reason"], f"{told['waits']}")
        for channel in told["sessions"][0]["channels"]:
            since = datetime.datetime.fromisoformat(channel["waiting_since"].replace("Z", "+00:00")).timestamp()
            check(abs(since - first["ts_ns"] / 1e9) < 2, f"{channel}")
        text = place.run("gpufl", "status", place.logs).stdout
        check("everything waits: the backend refused the API key (HTTP 401)" in text and ", since 20" in text, text)
        agent.terminate()
        agent.wait(20 * lib.SLOW)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    (session / "scope.1.log").write_bytes(b'{"type":"x","session_id":"%s"}\n' % session.name.encode())
    os.rename(session / "scope.1.log", session / "scope.7.log")
    agent = lib.agent(place, backend.url)
    until(lambda: f"waits: {session.name} scope: " in place.run("gpufl", "status", place.logs).stdout,
          "a session that is held")
    agent.terminate()
    agent.wait(20 * lib.SLOW)


def other_tools_see_what_is_complete(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    lib.upload(place, backend.url)
    cursor = lib.json.loads((place.logs / ".gpufl-upload-cursor.json").read_text())
    equal(cursor["schema_version"], 2, "schema_version")
    check(session.name in cursor["completed_sessions"], "the session")
    lines = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
    equal(cursor["completed_sessions"][session.name]["events"], lines, "events")


def status_and_upload_agree_between_two_files(place):
    """A live writer has sealed a file and not begun the next one, or has written nothing to it."""
    writer = Live(place.logs)
    with sink.Sink(declare=True) as s:
        for begun in (False, True):
            writer.line("device")
            writer.active("device").rename(writer.dir / f"device.{1 + begun}.log")
            if begun:
                writer.active("device").touch()
            equal(place.run("gpufl", "status", place.logs).returncode, 1, "before it is sent")
            done = lib.upload(place, s.url)
            equal((done.returncode, done.result["message"]), (0, "all sent"), done.stdout)
            told = place.run("gpufl", "status", place.logs)
            equal((told.returncode, "waits" in told.stdout), (0, False), told.stdout)
        writer.line("device")
        equal(place.run("gpufl", "status", place.logs).returncode, 1, "it goes on")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
