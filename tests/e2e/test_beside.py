# SPDX-License-Identifier: Apache-2.0
"""Beside the existing tools: started by the existing launcher, and on one directory with the existing uploader."""
import collections
import gzip
import json
import os
import shutil
import signal
import sys
import threading
import uuid

import existing_uploader
import lib
from lib import check, equal, until
import sink
import writers


def _launcher(place, url, **more):
    """All that the existing launcher sets, and nothing else: no flag, no file."""
    return place.start("gpufl-agent", env={
        "GPUFL_SOURCE_FOLDER": str(place.logs), "GPUFL_SOURCE_FOLDERS": str(place.logs),
        "GPUFL_LOG_TYPES": "device,scope,system,sass", "GPUFL_CURSOR_FILE": str(place.logs / "cursor.json"),
        "GPUFL_PUBLISHER_TYPE": "http", "GPUFL_HTTP_HOST": url, "GPUFL_HTTP_TOKEN": lib.KEY,
        "GPUFL_HTTP_API_VERSION": "v1", "GPUFL_AGENT_UPLOAD_MODE": "stream", "GPUFL_AGENT_EXIT_WHEN_DRAINED": "1",
        **more})


def _upload_verb(place, url):
    return _launcher(place, url, GPUFL_AGENT_EXIT_IF_EMPTY="1")


def _ended(process, code=0):
    equal(process.wait(60 * lib.SLOW), code, process.log.read_text()[-800:])
    return process.log.read_text()


def _lines(session):
    return collections.Counter(line for c in lib.CHANNELS for line in lib.on_disk(session, c).splitlines())


def _missing(s, lines):
    equal(sum((lines - collections.Counter(s.lines)).values()), 0, "missing")


def the_launcher_starts_the_agent_by_its_environment(place):
    samples = lib.copy_samples(place)
    ours = lib.job(place, 0.2)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    said = _ended(_upload_verb(place, backend.url))
    check("folder.same" in said and "error" not in said, said)
    lib.same(backend, ours)
    for session in [*samples, ours]:
        check(backend.complete(session.name), session.name)
    _ended(_upload_verb(place, backend.url))
    lib.same(backend, ours)


def the_launcher_ends_the_agent_where_nothing_is(place):
    with sink.Sink() as s:
        _ended(_upload_verb(place, s.url))
        equal(s.batches(), [], "nothing")


def the_launcher_traces_one_run(place):
    """`trace --upload` starts it before the job, and leaves earlier runs alone."""
    earlier = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = _launcher(place, backend.url, GPUFL_AGENT_IGNORE_PREEXISTING="1")
    until(lambda: "agent.started" in agent.log.read_text(), "it runs")
    session = lib.job(place, 0.3)
    _ended(agent)
    lib.same(backend, session)
    check(backend.complete(session.name), "complete")
    equal(backend.session(earlier.name), None, "the earlier run")


def the_existing_uploader_comes_first(place):
    """What it sent, a backend that keeps no account of it gets again: by its contract nothing says otherwise."""
    session = lib.copy_samples(place)[0]
    lines = _lines(session)
    with sink.Sink() as s:
        posted, skipped = existing_uploader.upload(place.logs, s.url)
        check(posted > 0 and skipped == 0, f"{posted} {skipped}")
        once = collections.Counter(s.lines)
        _ended(_upload_verb(place, s.url))
        _missing(s, lines)
        equal(collections.Counter(s.lines), once + once, "each line twice, and no more")


def a_backend_that_closed_what_the_uploader_sent_gets_nothing_twice(place):
    lib.copy_samples(place)
    ours = lib.job(place, 0.2)

    def closed(s, request):
        ended = getattr(s, "ended", set())
        return (409, "session already finalized") if request.session in ended else None

    with sink.Sink(closed) as s:
        existing_uploader.upload(place.logs, s.url)
        once = collections.Counter(s.lines)
        s.ended = {d.name for d in place.logs.iterdir() if not d.name.startswith(".")}
        said = _ended(_upload_verb(place, s.url))
        equal(collections.Counter(s.lines), once, "nothing twice")
        check("upload.was_stored" in said and "refused_final" not in said, said)
        before = len([r for r in s.batches() if r.raw()])
        _ended(_upload_verb(place, s.url))
        equal(len([r for r in s.batches() if r.raw()]), before, "it is complete")
        check(ours.name in s.ended, "ours, too")


def the_existing_uploader_comes_second(place):
    """It posts nothing of a session that our upload cursor names."""
    lib.copy_samples(place)
    session = lib.job(place, 0.2)
    lines = _lines(session)
    with sink.Sink() as s:
        _ended(_launcher(place, s.url, GPUFL_AGENT_RETAIN_ACKED_PAYLOADS="1"))
        once = collections.Counter(s.lines)
        equal(existing_uploader.upload(place.logs, s.url), (0, 0), "it skips what is named")
        equal(collections.Counter(s.lines), once, "nothing twice")
        _missing(s, lines)


def _state(backend, session):
    return {k: backend.session(session)[k] for k in ("lines", "raw_bytes", "state", "complete", "verified", "losses", "skips")}


def the_existing_uploader_doubles_nothing_that_is_stored_by_positions(place):
    """While the job runs and after its end, with its cursor and without: the backend refuses what names no stream."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for ended in (True, False):
        logs = place.path / f"logs{ended}"
        logs.mkdir(mode=0o700)
        writer = writers.Live(logs)
        agent = lib.agent(place, backend.url, folder=logs)
        for _ in range(5):
            writer.line("device")  # names no channel that the backend could tell
            writer.line("scope", "scope_event_batch")
        if ended:
            writer.end()
            until(lambda w=writer: backend.complete(w.id), "complete")
        until(lambda w=writer: all(backend.export(w.id, c) == w.written[c] for c in w.channels), "it is sent live")
        before = _state(backend, writer.id)
        equal(before["verified"], ended, f"{before}")
        for _ in range(2):
            (logs / existing_uploader.CURSOR).unlink(missing_ok=True)
            posted, skipped = existing_uploader.upload(logs, backend.url)
            equal((posted, skipped), (0, 3), f"{ended}: it skips each file, and ends")
        equal(_state(backend, writer.id), before, f"{ended}: nothing is stored, nothing taken back")
        if not ended:
            until(lambda w=writer: len(list(w.dir.glob("*.log"))) == 0, "its files are compressed")
            agent.terminate()
            equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
            writer.die()
            agent = lib.agent(place, backend.url, folder=logs)
            until(lambda w=writer: backend.session(w.id)["state"] != "live", "its end is found")
        lib.holds(backend, writer)
        agent.terminate()
        equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())


def what_the_existing_uploader_sent_first_is_stored_besides(place):
    """It has no ids: a backend stores it as often as it comes, and ours once more; after that, no more of its."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = writers.Live(place.logs)
    for _ in range(5):
        writer.line("device")
        writer.line("scope", "scope_event_batch")
    writer.end()
    lines = collections.Counter(line for data in writer.written.values() for line in bytes(data).splitlines())

    def stored():
        return collections.Counter(line for c in (*lib.CHANNELS, "all") for line in backend.export(writer.id, c).splitlines())

    equal(existing_uploader.upload(place.logs, backend.url), (3, 0), "posted")
    equal(stored(), lines, "once")
    equal(lib.upload(place, backend.url).returncode, 0, "ours")
    equal(stored(), lines + lines, "twice")
    check(backend.complete(writer.id), "complete")
    (place.logs / existing_uploader.CURSOR).unlink()
    equal(existing_uploader.upload(place.logs, backend.url), (0, 3), "no more of its")
    equal((stored(), backend.complete(writer.id)), (lines + lines, True), "no more")


def a_live_session_that_the_uploader_compresses_is_whole_or_held(place):
    """It unlinks the files of the living writer: what that writes next may be gone, and then that is said."""
    writer = writers.Live(place.logs)
    for _ in range(50):
        writer.line("device")
        writer.line("scope")
    with sink.Sink() as s:
        agent = lib.agent(place, s.url)
        until(lambda: len(s.lines) >= 100, "it is sent live")
        existing_uploader.upload(place.logs, s.url)
        check(not list((place.logs / writer.id).glob("*.log")), "the files have lost their names")
        before = {c: bytes(data) for c, data in writer.written.items()}
        writer.line("device")
        writer.end()
        agent.terminate()
        agent.wait(40 * lib.SLOW)
        _missing(s, collections.Counter(line for data in before.values() for line in data.splitlines()))
        whole = not sum((collections.Counter(line for data in writer.written.values() for line in
                                             bytes(data).splitlines()) - collections.Counter(s.lines)).values())
        ended = any(r.path.endswith("session-complete") for r in s.requests)
        check(whole or (not ended and "session.held" in agent.log.read_text()), agent.log.read_text()[-800:])


def _pack(file):
    """As logrotate, gzip and the existing uploader do it: the original goes when its copy is whole."""
    file.with_name(file.name + ".gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()


def sealed_files_that_were_compressed_are_read(place):
    """While the job runs and afterwards, those that were read in part and those that were not, over a restart."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for n, (live, restart) in enumerate(((True, False), (True, True), (False, True))):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = writers.Live(logs)
        agent = lib.agent(place, backend.url, folder=logs)
        for _ in range(20):
            writer.line("device")
        until(lambda w=writer: backend.export(w.id, "device") == w.written["device"], "it is sent live")
        if restart or not live:
            agent.terminate()
            equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
        else:
            backend.kill()  # what follows is there before it can be sent
        for _ in range(3):
            for _ in range(20):
                writer.line("device")
            writer.rotate("device")
        writer.line("device")
        if not live:
            writer.end()
        for file in sorted(writer.dir.glob("device.[0-9]*.log")):
            _pack(file)
        if restart or not live:
            agent = lib.agent(place, backend.url, folder=logs)
        else:
            backend.start()
        until(lambda w=writer: backend.export(w.id, "device") == w.written["device"], f"{n}: all of it is sent")
        if live:
            writer.line("device")
            writer.end()
        until(lambda w=writer: backend.complete(w.id), f"{n}: complete")
        lib.holds(backend, writer)
        agent.terminate()
        equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
        check("session.held" not in agent.log.read_text(), agent.log.read_text())
        equal(place.run("gpufl", "status", logs).returncode, 0, "status")


def _killed_job(place, logs):
    """The demo job, killed while it records; its session's directory."""
    process = place.start("examples/demo-job", logs, 600)
    session = until(lambda: next((d for d in logs.iterdir() if not d.name.startswith(".")), None), "a session")
    until(lambda: (session / "system.log").stat().st_size > 2000, "it records")

    def stopped():  # behind what it tells and before it writes that, nothing shows later whether it did
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        told = json.loads((session / ".gpufl-session.lock").read_text())["bytes"]
        if all((session / f"{c}.log").stat().st_size == told[c] for c in told if (session / f"{c}.log").exists()):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    until(stopped, "it has written what it tells")
    process.kill()
    process.wait()
    return session


def what_is_compressed_after_a_job_was_killed_is_complete(place):
    """By the existing uploader, before ours has seen the session, while it watches, or between two of its runs."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for watches in (True, False):
        logs = place.path / f"logs{watches}"
        logs.mkdir(mode=0o700)
        agent = lib.agent(place, backend.url, folder=logs) if watches else None
        session = _killed_job(place, logs)
        lines = {c: lib.on_disk(session, c) for c in lib.CHANNELS}
        for file in list(session.glob("*.log")):
            _pack(file)
        agent = agent or lib.agent(place, backend.url, folder=logs)
        until(lambda d=session: backend.complete(d.name), f"{watches}: complete")
        for channel, want in lines.items():
            equal(backend.export(session.name, channel), want, f"{watches}: {channel}")
        agent.terminate()
        equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
        check("session.held" not in agent.log.read_text(), agent.log.read_text())


def what_a_job_wrote_behind_the_compressed_file_is_missed(place):
    """It is killed before it has given the file its name back."""
    for restart in (False, True):
        logs = place.path / f"logs{restart}"
        logs.mkdir(mode=0o700)
        writer = writers.Live(logs)
        with sink.Sink(declare=True) as s:
            agent = lib.agent(place, s.url, folder=logs)
            for _ in range(9):
                writer.line("device")
            until(lambda s=s: len(s.lines) == 12, "it is sent live")
            plain = writer.dir / "device.log"
            _pack(plain)
            writer.line("device")
            plain.unlink()  # it never had a name
            writer.die()
            until(lambda a=agent: "session.held" in a.log.read_text(), "held")
            if restart:
                agent.terminate()
                equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
                agent = lib.agent(place, s.url, "--exit-when-drained", folder=logs)
                equal(agent.wait(40 * lib.SLOW), 1, agent.log.read_text())
            check(not any(r.path.endswith("session-complete") for r in s.requests), "not complete")
            until(lambda d=logs: "compressed while its writer lived" in place.run("gpufl", "status", d).stdout, "status")


def _beside_agent(agent, s, writer, looks):
    """Packs and unlinks a file, whose writer writes into one without a name and dies. The agent looks after
    step i if bit i of looks is set: a line in another channel shows that it has."""
    plain = writer.dir / "device.log"

    def pack():
        plain.with_name("device.log.gz").write_bytes(gzip.compress(plain.read_bytes()))

    for i, step in enumerate((pack, plain.unlink, lambda: writer.line("device"), plain.unlink)):
        agent.send_signal(signal.SIGSTOP)
        step()
        if looks >> i & 1:
            writer.line("scope")
            mark = bytes(writer.written["scope"]).splitlines()[-1]
            agent.send_signal(signal.SIGCONT)
            until(lambda mark=mark: mark in s.lines, f"it has looked after step {i}")
    writer.die()
    agent.send_signal(signal.SIGCONT)


def what_a_job_wrote_is_missed_whenever_the_agent_looks(place):
    for looks in range(16):
        logs = place.path / f"logs{looks}"
        logs.mkdir(mode=0o700)
        writer = writers.Live(logs)
        with sink.Sink(declare=True) as s:
            agent = lib.agent(place, s.url, "--flush-interval=20ms", folder=logs)
            writer.line("device", times=9)
            until(lambda s=s: len(s.lines) == 12, "it is sent live")
            _beside_agent(agent, s, writer, looks)
            until(lambda a=agent: "session.held" in a.log.read_text() or "session.complete" in a.log.read_text(), f"{looks}: it ends")
            check("session.complete" not in agent.log.read_text(), f"{looks}: held")
            agent.kill()
            agent.wait()


def what_was_compressed_of_a_deleted_file_is_not_the_next_one(place):
    """Its writer had restored the name, sealed it, and was killed while it sealed the next one."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    flags = ("--delete-acked=acknowledged",)
    agent = lib.agent(place, backend.url, *flags)
    writer = writers.Live(place.logs)
    active, first = writer.active("device"), writer.dir / "device.1.log"
    active.with_name("device.log.gz").write_bytes(gzip.compress(active.read_bytes()))
    writer.rotate("device")
    writer.line("device")
    until(lambda: backend.export(writer.id, "device") == writer.written["device"], "both files are sent")
    (writer.dir / ".gpufl-next.device.3").touch()
    active.rename(writer.dir / "device.2.log")
    writer.die()
    until(lambda: not first.exists(), "what was delivered is deleted")
    agent.terminate()
    agent.wait(40 * lib.SLOW)
    agent = lib.agent(place, backend.url, "--exit-when-drained", *flags)
    agent.wait(40 * lib.SLOW)
    equal(backend.export(writer.id, "device"), writer.written["device"], "each line once")
    said = place.run("gpufl", "status", place.logs)
    check("device.log.gz" in said.stdout and said.returncode == 1, said.stdout)


def _served(place, s):
    """A session that ends and an agent that has sent it, and stands still from then on; what it tells of that."""
    writer = writers.Live(place.logs)
    writer.line("device", times=5)
    agent = lib.agent(place, s.url, "--rescan-interval=200ms")
    told = place.logs / ".gpufl-agent/progress"
    until(lambda: len(s.lines) == 8, "it is sent live")
    writer.end()
    until(lambda: "session.complete" in agent.log.read_text(), "complete")
    until(lambda: lib.upload(place, s.url).returncode == 0, "that is told")
    return writer, agent, told


def what_an_agent_tells_is_written_again_when_it_cannot_be_read(place):
    """An upload does not take it for anything, and says so; without any news, the agent mends it."""
    def garbage(told):
        told.write_bytes(b"garbage\n" * 99)

    def nothing(told):
        told.write_bytes(b"")

    def gone(told):
        told.unlink()

    def fifo(told):
        told.unlink()
        os.mkfifo(told)

    with sink.Sink(declare=True) as s:
        _, agent, told = _served(place, s)
        agent.send_signal(signal.SIGSTOP)
        garbage(told)
        done = lib.upload(place, s.url)
        equal((done.returncode, done.result["status"]), (1, "busy"), done.stdout)
        check("it does not tell what it has sent: its file .gpufl-agent/progress" in done.result["message"], done.stdout)
        agent.send_signal(signal.SIGCONT)
        for spoil in (garbage, nothing, gone, fifo):
            spoil(told)
            until(lambda: told.is_file() and told.read_bytes().startswith(b"gpufl-progress 1 "), f"{spoil.__name__}: mended")
            equal(lib.upload(place, s.url).returncode, 0, f"{spoil.__name__}: after that")


def what_an_agent_could_not_tell_is_told_without_any_news(place):
    """As after a disk was full: the file of before is still there, and is one."""
    with sink.Sink(declare=True) as s:
        _, agent, told = _served(place, s)
        before = told.read_bytes()
        told.unlink()
        told.mkdir()
        late = writers.Live(place.logs)
        late.end()
        until(lambda: "progress.off" in agent.log.read_text() and late.id in agent.log.read_text(), "it cannot tell that it is complete")
        agent.send_signal(signal.SIGSTOP)
        told.rmdir()
        told.write_bytes(before)
        agent.send_signal(signal.SIGCONT)
        until(lambda: late.id in told.read_text() + (told.parent / "complete").read_text(), "told")
        equal(lib.upload(place, s.url).returncode, 0, "all is sent")


def an_upload_names_what_it_waits_for(place):
    with sink.Sink(declare=True) as s:
        writer, agent, _ = _served(place, s)
        agent.send_signal(signal.SIGSTOP)
        late = writers.Live(place.logs)
        late.line("scope")
        done = lib.upload(place, s.url, "--timeout=1s")
        equal(done.returncode, 1, done.stdout)
        for text in (f"gpufl-agent (pid {agent.pid}, stopped by a signal)", f"still waiting for session {late.id}, channel ",
                     "the time limit of 1s was reached"):
            check(text in done.result["message"], done.stdout)
        check(writer.id not in done.result["message"], "that one is complete")
        agent.send_signal(signal.SIGCONT)
        equal(lib.upload(place, s.url).returncode, 0, "it goes on")


def a_running_job_of_the_older_layout_is_not_waited_for(place):
    """Its files are never as they were at the call: what they held then is sent."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url)
    for compress in (True, False):
        writer = writers.Shifting(place.logs, str(uuid.uuid4()), compress=compress)
        writer.rotate("device")
        written, over = threading.Semaphore(0), threading.Event()

        def write(writer=writer, written=written, over=over):
            while not over.wait(0.05):
                writer.line("device", times=9)
                if len(writer.written["device"]) > 99999 * writer.rotations:
                    writer.rotate("device")
                written.release()

        job = threading.Thread(target=write)
        job.start()
        for _ in range(3):
            written.acquire()
            before = bytes(writer.written["device"])
            done = lib.upload(place, backend.url, "--session-id", writer.id, "--timeout=60s")
            equal(done.returncode, 0, done.stdout)
            check(backend.export(writer.id, "device").startswith(before), "what was there is sent")
        over.set()
        job.join()
        writer.end()
        until(lambda w=writer: lib.upload(place, backend.url, "--session-id", w.id).returncode == 0, "it has ended")
        lib.holds(backend, writer)


def what_is_removed_while_an_upload_waits_is_said(place):
    """Whatever the agent knows of it. One that is complete may go."""
    with sink.Sink(declare=True) as s:
        writer, agent, _ = _served(place, s)
        agent.send_signal(signal.SIGSTOP)
        late = writers.Live(place.logs)
        late.end()
        asked = len(s.requests)
        upload = place.start("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", lib.KEY)
        until(lambda: len(s.requests) > asked, "it has seen the session, and waits")
        shutil.rmtree(writer.dir)
        shutil.rmtree(late.dir)
        equal(upload.wait(60 * lib.SLOW), 1, upload.log.read_text())
        said = upload.log.read_text()
        check(f"1 session is not complete and no longer in the directory: {late.id} (" in said and "time limit" not in said, said)
        agent.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
