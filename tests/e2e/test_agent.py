# SPDX-License-Identifier: Apache-2.0
"""gpufl-agent: live tailing, outages, kills, signals, options."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import lib
from lib import check, equal, until
import sink
from writers import Live


def _recording(place, **env):
    """A job that samples until its standard input ends, and its session's directory."""
    process = place.start("tests/e2e/script", f"log_path={place.logs}", "rate=20", "continuous=1", "init", "hold",
                          "shutdown", stdin=subprocess.PIPE, env={k: str(v) for k, v in env.items()})
    session, = until(lambda: list(place.logs.glob("[!.]*")), "a session")
    return process, session


def lines(backend, session):
    found = backend.session(session.name)
    return found["lines"] if found else 0


def lines_are_stored_while_the_job_runs_and_the_end_is_reported(place):
    """S2-11."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url)
    process, session = _recording(place)
    first = until(lambda: lines(backend, session), "first lines")
    until(lambda: lines(backend, session) > first + 5, "more lines, live")
    check(not backend.complete(session.name), "not complete yet")
    process.communicate()
    until(lambda: backend.complete(session.name), "complete")
    lib.same(backend, session)


def an_outage_and_a_killed_agent_lose_and_double_nothing(place):
    """D-08."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    first = lib.agent(place, backend.url)
    process, session = _recording(place, GPUFL_LOG_ROTATE_BYTES=8192)
    until(lambda: lines(backend, session), "first lines")
    backend.kill()
    first.kill()
    first.wait()
    written = until(lambda: lib.written_bytes(session), "the files")
    until(lambda: lib.written_bytes(session) > written + 4000, "the job goes on")
    backend.start()
    second = lib.agent(place, backend.url)
    until(lambda: lines(backend, session) > 20, "it goes on")
    second.kill()
    second.wait()
    lib.agent(place, backend.url)
    process.communicate()
    until(lambda: backend.complete(session.name), "complete")
    lib.same(backend, session)


def repeated_kills_in_mid_upload_keep_every_line_once(place):
    """D-09."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    sessions = [lib.job(place, 0.3, env={"GPUFL_LOG_ROTATE_BYTES": "3000"}) for _ in range(4)]
    lib.copy_samples(place)
    for _ in range(12):
        process = lib.agent(place, backend.url, "--flush-interval=0", "--retain-acked-payloads")
        before = sum(lines(backend, s) for s in sessions)
        until(lambda: process.poll() is not None or
              sum(lines(backend, s) for s in sessions) > before or
              all(backend.complete(s.name) for s in sessions), "something moves")
        process.kill()
        process.wait()
    lib.agent(place, backend.url, "--retain-acked-payloads")
    for s in place.logs.iterdir():
        if not s.name.startswith("."):
            until(lambda: backend.complete(s.name), f"{s.name} is complete")
            lib.same(backend, s)


def a_journal_of_version_1_is_taken_over(place):
    """Of an agent that was killed with a batch under way: tests/samples/journal-1. That batch goes again under its id,
    what follows it once, and of what was settled nothing."""
    shutil.copytree(lib.ROOT / "tests/samples/journal-1", place.logs, dirs_exist_ok=True)
    place.logs.chmod(0o700)
    (place.logs / ".gpufl-agent").mkdir(mode=0o700)
    (place.logs / "journal").rename(place.logs / ".gpufl-agent/journal")
    session = place.logs / "22222222-2222-4222-8222-222222222222"
    with sink.Sink(declare=True) as s:
        agent = lib.agent(place, s.url, "--exit-when-drained")
        equal(agent.wait(60 * lib.SLOW), 0, agent.log.read_text())
        equal({r.session for r in s.requests if r.session}, {session.name}, "the other one is complete")
        device = [r for r in s.batches() if r.channel == "device"]
        equal((device[0].window_id, device[0].headers["X-GpuFlight-Window-Sequence"]),
              ("753c26a7-d1b8-463d-a0b4-9c681692a883", "2"), "the batch that was under way")
        whole = lib.on_disk(session, "device").splitlines(True)
        equal(b"".join(r.raw() for r in device), b"".join(whole[4:]), "what was not settled")
        check(any(r.path.endswith("session-complete") for r in s.requests), "complete")


def an_agent_that_ends_when_drained_does_not_wait_for_a_session_that_is_held(place):
    """Its writer is gone, and another directory has its id."""
    with sink.Sink(declare=True) as s:
        for group in ("a", "b"):
            (place.logs / group).mkdir()
            writer = Live(place.logs / group, "44444444-4444-4444-8444-444444444444")
            writer.line("device")
            writer.end()
        process = lib.agent(place, s.url, "--exit-when-drained")
        equal(process.wait(30 * lib.SLOW), 1, "exit code")
        said = process.log.read_text()
        check("session.held" in said and "blocked=1" in said and "complete=1" in said, said)


def a_backend_without_registry_gets_everything_at_least_once(place):
    with sink.Sink() as s:
        process = lib.agent(place, s.url, "--exit-when-drained")
        session = lib.job(place, 0.5)
        equal(process.wait(30 * lib.SLOW), 0, "exit code")
        want = sorted(x for c in lib.CHANNELS for x in lib.on_disk(session, c).splitlines())
        equal(sorted(s.lines), want, "lines")
        check(all(not r.headers.get("X-GpuFlight-Window-Id") for r in s.batches()),
              "no identity headers that it did not declare")
        check("at least once" in process.log.read_text(), "it says so")


def a_run_that_the_recorder_alone_has_cut_short_exits_0(place):
    """As gpufl upload and gpufl status do: no run can send what was dropped while recording."""
    writer = Live(place.logs)
    writer.line("device")
    (writer.dir / ".gpufl-transport-loss.spool.0.json").write_text("{}")
    writer.end()
    with sink.Sink(declare=True) as s:
        for run in ("first", "second"):
            process = lib.agent(place, s.url, "--exit-when-drained")
            equal(process.wait(30 * lib.SLOW), 0, f"{run}: {process.log.read_text()[-1000:]}")
        check(writer.id in place.run("gpufl", "status", place.logs).stdout, "it is shown")
        equal(place.run("gpufl", "status", place.logs).returncode, 0, "gpufl status")
        equal(lib.upload(place, s.url).returncode, 0, "gpufl upload")
        equal([r.path for r in s.requests if "session-complete" in r.path], [], "it is not complete")


def what_the_request_carries(place):
    """D-06."""
    with sink.Sink(declare=True, key=lib.KEY) as s:
        session = lib.job(place, 0.1)
        process = lib.agent(place, s.url, "--exit-when-drained")
        equal(process.wait(30 * lib.SLOW), 0, "exit code")
        for r in s.batches():
            equal(r.path, "/api/v1/events/stream", "path")
            equal(r.headers["Authorization"], f"Bearer {lib.KEY}", "key")
            equal(r.headers["Content-Type"], "application/x-ndjson", "type")
            equal(r.headers["X-GpuFlight-Wire-Version"], "1", "wire version")
            equal(r.session, session.name, "session")
            equal(r.encoding, "zstd", "encoding")
            check(r.headers["X-GpuFlight-Window-CRC32"].isdigit(), "CRC")
            check("Expect" not in r.headers, "no Expect")
        for channel in ("device", "scope", "system"):
            numbers = [int(r.headers["X-GpuFlight-Window-Sequence"]) for r in s.batches()
                       if r.channel == channel]
            equal(numbers, list(range(1, len(numbers) + 1)), f"sequence of {channel}")
        completes = [r for r in s.requests if r.path.endswith("/events/session-complete")]
        equal([r.session for r in completes], [session.name], "session-complete")


def sessions_are_noticed_by_polling_too(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = lib.agent(place, backend.url, "--watch=poll")
    session = lib.job(place, 0.3)
    until(lambda: backend.complete(session.name), "complete")
    lib.same(backend, session)
    check("watch=poll" in process.log.read_text(), "it says how it watches")


def sigterm_drains_and_exits_0(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = lib.agent(place, backend.url, "--flush-interval=1h")
    job, session = _recording(place)
    until(lambda: (session / "system.log").stat().st_size > 4000, "something is written")
    until(lambda: b"origin.known" in process.log.read_bytes(), "the agent is up")
    process.send_signal(signal.SIGTERM)
    equal(process.wait(20 * lib.SLOW), 0, "exit code")
    check(lines(backend, session) > 5, "what was there is stored")
    check("agent.stopped" in process.log.read_text(), "it says what is left")
    job.kill()


def sigterm_ends_in_time_while_the_backend_hangs(place):
    lib.job(place, 0.1)
    with sink.Sink(delay_s=60) as hung:
        process = lib.agent(place, hung.url, "--drain-timeout=300ms")
        until(lambda: hung.requests, "a request hangs")
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        equal(process.wait(20 * lib.SLOW), 0, "exit code")
        check(time.monotonic() - begin < 5 * lib.SLOW, "in time")
        check("unsent_channels" in process.log.read_text(), "it says what is left")


def two_uploaders_never_work_on_one_directory(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    first = lib.agent(place, backend.url)
    session = lib.job(place, 0.2)
    until(lambda: backend.complete(session.name), "complete")
    until(lambda: (place.logs / ".gpufl-agent/progress").exists(), "progress is published")
    second = lib.agent(place, backend.url)
    equal(second.wait(10 * lib.SLOW), 1, "the second one's exit code")
    check(f"pid {first.pid}" in second.log.read_text(), second.log.read_text())
    # An explicit upload waits for the agent, sends nothing itself, and is done.
    third = lib.job(place, 0.2)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, f"upload beside the agent ({done.stderr})")
    lib.same(backend, third)
    forced = lib.upload(place, backend.url, "--force")
    equal(forced.returncode, 1, "force beside an agent")
    first.kill()
    first.wait()
    equal(lib.upload(place, backend.url).returncode, 0, "after the agent is gone")


def a_new_token_in_the_file_is_used_after_a_401(place):
    """D-07."""
    token = place.path / "token"
    token.write_text("old\n")
    session = lib.job(place, 0.2)
    with sink.Sink(declare=True, key=lib.KEY) as s:
        process = place.start("gpufl-agent", f"--folder={place.logs}", f"--host={s.url}",
                              f"--token-file={token}")
        until(lambda: "origin.hold" in process.log.read_text(), "it says that it waits")
        fresh = place.path / "fresh"
        fresh.write_text(lib.KEY + "\n")
        os.replace(fresh, token)
        want = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
        until(lambda: len(s.lines) == want, "all lines arrive")
        check(lib.KEY not in process.log.read_text(), "the key is not logged")


def a_token_on_the_command_line_is_wiped(place):
    if lib.VALGRIND:
        lib.skip("it has the arguments, too")
    with sink.Sink() as s:
        process = place.start("gpufl-agent", f"--folder={place.logs}", f"--host={s.url}",
                              f"--token={lib.KEY}")
        until(lambda: s.requests, "it is up")
        with open(f"/proc/{process.pid}/cmdline", "rb") as f:
            check(lib.KEY.encode() not in f.read(), "not in the process list")


def environment_and_file_set_it_up_like_the_existing_agent(place):
    session = lib.job(place, 0.2)
    with sink.Sink(key=lib.KEY) as s:
        process = place.start("gpufl-agent", env={
            "GPUFL_SOURCE_FOLDER": str(place.logs), "GPUFL_PUBLISHER_TYPE": "http",
            "GPUFL_SOURCE_FOLDERS": "", "GPUFL_HTTP_HOST": s.url, "GPUFL_HTTP_TOKEN": lib.KEY,
            "GPUFL_HTTP_API_VERSION": "v1", "GPUFL_AGENT_UPLOAD_MODE": "stream",
            "GPUFL_CURSOR_FILE": str(place.path / "cursor.json"),
            "GPUFL_LOG_TYPES": "device,scope,system,sass",
            "GPUFL_AGENT_EXIT_WHEN_DRAINED": "1", "GPUFL_AGENT_EXIT_IF_EMPTY": "1"})
        equal(process.wait(30 * lib.SLOW), 0, f"exit code ({process.log.read_text()})")
        want = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
        equal(len(s.lines), want, "lines by environment")
    other = place.path / "more"
    other.mkdir()
    session = lib.job(place, 0.2, logs=other)
    with sink.Sink(key=lib.KEY) as s:
        config = place.path / "agent.json"
        config.write_text(json.dumps({
            "sources": [{"folder": str(other), "logTypes": ["device", "system"]}],
            "publisher": {"type": "http", "hostUrl": s.url, "authToken": lib.KEY}}))
        process = place.start("gpufl-agent", f"--config={config}", "--exit-when-drained")
        equal(process.wait(30 * lib.SLOW), 0, f"exit code ({process.log.read_text()})")
        want = sum(len(lib.on_disk(session, c).splitlines()) for c in ("device", "system"))
        equal(len(s.lines), want, "lines by file, two channels")


def _delivered_windows(place, *args, declare=True):
    """What is left of the real sessions after an agent has delivered them."""
    sessions = lib.copy_samples(place)
    with sink.Sink(declare=declare) as s:
        process = lib.agent(place, s.url, "--exit-when-drained", *args)
        equal(process.wait(30 * lib.SLOW), 0, "exit code")
        equal(len(s.stored), 8, "windows stored")
        again = lib.agent(place, s.url, "--exit-when-drained", *args)
        equal(again.wait(30 * lib.SLOW), 0, "exit code of a second run")
        equal(len(s.batches()), 8, "nothing is sent twice")
    return [sorted(f.name for f in d.glob("*.gz")) for d in sessions], sessions


def acknowledged_windows_are_deleted_and_their_sidecars_stay(place):
    left, sessions = _delivered_windows(place)
    equal(left, [[], []], "payloads")
    for session in sessions:
        sidecars = sorted(session.glob(".gpufl-window.*.json"))
        equal(len(sidecars), 4, "sidecars")
        for f in sidecars:
            channel = f.name.split(".")[2]
            ack = (session / f".gpufl-window-ack.{channel}.1").read_text()
            equal(ack, json.loads(f.read_text())["window_id"] + "\n", "the ack marker")


def windows_can_be_kept(place):
    left, _ = _delivered_windows(place, "--retain-acked-payloads")
    equal([len(x) for x in left], [4, 4], "payloads")


def preexisting_sessions_can_be_left_alone(place):
    old = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = lib.agent(place, backend.url, "--ignore-preexisting")
    until(lambda: "agent.started" in process.log.read_text(), "it is up")
    new = lib.job(place, 0.1)
    until(lambda: backend.complete(new.name), "the new one is complete")
    check(backend.session(old.name) is None, "the old one is left alone")


def a_run_that_skips_preexisting_sessions_ends_when_the_first_other_one_is_sent(place):
    old = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    process = lib.agent(place, backend.url, "--ignore-preexisting", "--exit-when-drained")
    until(lambda: "origin.known" in process.log.read_text(), "it is up")
    new = lib.job(place, 0.1)
    equal(process.wait(60 * lib.SLOW), 0, "exit code")
    check(backend.complete(new.name), "the new one is complete")
    check(backend.session(old.name) is None, "the old one is left alone")


def what_is_not_built_is_refused_with_the_way_out(place):
    host = "--host=http://127.0.0.1:9"
    folder = f"--folder={place.logs}"
    for args, word in (((folder, host, "--type=kafka"), "http"),
                       ((folder, host, "--brokers=a:9092"), "Kafka"),
                       ((folder, host, "--archiver-endpoint=https://s3"), "archiver"),
                       ((folder, host, "--upload-mode=legacy"), "stream"),
                       ((folder, host, "--url=http://x"), "--host"),
                       ((folder, host, "--prune-failed"), "deleted"),
                       ((folder, host, "--flush-interval=soon"), "duration"),
                       ((folder, host, "--nonsense=1"), "nonsense"),
                       ((folder,), "--host"), ((host,), "--folder"),
                       ((folder, "--host=gopher://x"), "http"),
                       ((folder, host, "--compression=snappy"), "zstd"),
                       ((f"--folder={place.path}/none", host, "--exit-when-drained"), "none")):
        done = place.run("gpufl-agent", *args)
        equal(done.returncode, 1, f"exit code of {args}")
        check(word in done.stderr and done.stderr.count("\n") == 1, f"{args}: {done.stderr}")
    done = place.run("gpufl-agent", "--help")
    equal(done.returncode, 0, "help")
    for flag in ("--folder", "--flush-interval", "GPUFL_HTTP_HOST", "--exit-when-drained"):
        check(flag in done.stdout, f"help names {flag}")


def help_and_version_have_short_forms(place):
    for short, long in (("-h", "--help"), ("-V", "--version")):
        for verb in ((), ("healthcheck",)):
            done, same = (place.run("gpufl-agent", *verb, flag) for flag in (short, long))
            equal((done.returncode, done.stdout), (0, same.stdout), f"{verb} {short}")


def a_variable_that_nothing_reads_is_warned_of(place):
    with sink.Sink() as s:
        process = lib.agent(place, s.url, "--exit-when-drained", "--exit-if-empty",
                            env={"GPUFL_AGENT_LOGLEVEL": "debug", "GPUFL_AGENT_SERVICE_HOST": "10.0.0.1"})
        equal(process.wait(20 * lib.SLOW), 0, "exit code")
    said = [line for line in process.log.read_text().splitlines() if "environment.unknown" in line]
    check(len(said) == 1 and "GPUFL_AGENT_LOG_LEVEL" in said[0], f"{said}")


def an_empty_directory_ends_a_one_shot_run_at_once(place):
    with sink.Sink() as s:
        process = lib.agent(place, s.url, "--exit-when-drained", "--exit-if-empty")
        equal(process.wait(20 * lib.SLOW), 0, "exit code")


def state_elsewhere_serves_a_read_only_log_directory(place):
    session = lib.job(place, 0.2)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    state = place.path / "state"
    for _ in range(2):
        process = lib.agent(place, backend.url, f"--state-dir={state}", "--exit-when-drained")
        equal(process.wait(30 * lib.SLOW), 0, "exit code")
    lib.same(backend, session)
    check(list(state.glob("*.journal")), "the journal is there")


def a_late_folder_that_is_refused_keeps_no_other_one_away(place):
    """The first to appear is served by another uploader already."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    taken, free = place.path / "taken", place.path / "free"
    late = lib.agent(place, backend.url, folder=f"{taken},{free}")
    until(lambda: late.log.read_text().count("folder.missing") == 2, "both are waited for")
    elsewhere = place.path / "elsewhere"
    elsewhere.mkdir()
    other = lib.agent(place, backend.url, folder=elsewhere)
    until(lambda: "agent.started" in other.log.read_text(), "it has its lock")
    elsewhere.rename(taken)
    until(lambda: "folder.refused" in late.log.read_text(), "it is said")
    session = lib.job(place, 0.1, logs=free)
    until(lambda: backend.complete(session.name), "the other one is served")
    equal(late.log.read_text().count("folder.refused"), 1, "and said once")


def one_directory_under_several_names_is_served_once(place):
    """Launchers set both variables to the same directory."""
    link, late = place.path / "link", place.path / "late"
    link.symlink_to(place.logs)
    twice = {"GPUFL_SOURCE_FOLDER": str(place.logs), "GPUFL_SOURCE_FOLDERS": str(place.logs)}
    for args, env in (((), twice), ((f"--folder={place.logs}", f"--folder={link}"), {}),
                      ((f"--folders={place.logs},{link},{place.logs}/",), {})):
        session = lib.job(place, 0.1)
        with sink.Sink(declare=True) as s:
            process = place.start("gpufl-agent", f"--host={s.url}", "--exit-when-drained", "--same-origin", *args,
                                  env=env)
            equal(process.wait(30 * lib.SLOW), 0, f"exit code ({process.log.read_text()})")
            want = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
            equal(len(s.lines), want, "lines, each once")
    with sink.Sink(declare=True) as s:
        process = place.start("gpufl-agent", f"--host={s.url}", f"--folder={late}", f"--folder={late}")
        until(lambda: "folder.missing" in process.log.read_text(), "it is waited for")
        session = lib.job(place, 0.1, logs=late)
        want = sum(len(lib.on_disk(session, c).splitlines()) for c in lib.CHANNELS)
        until(lambda: len(s.lines) == want, "it is served")
        process.terminate()
        equal(process.wait(20 * lib.SLOW), 0, "exit code")
        log = process.log.read_text()
        equal((log.count("folder.missing"), log.count("folder.refused")), (1, 0), log)


def a_second_folder_flag_adds(place):
    sessions = [lib.job(place, 0.1, logs=place.path / name) for name in ("one", "two")]
    with sink.Sink(declare=True) as s:
        process = place.start("gpufl-agent", f"--host={s.url}", "--exit-when-drained",
                              *(f"--folder={x.parent}" for x in sessions))
        equal(process.wait(30 * lib.SLOW), 0, f"exit code ({process.log.read_text()})")
        equal({r.session for r in s.batches()}, {x.name for x in sessions}, "both are served")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
