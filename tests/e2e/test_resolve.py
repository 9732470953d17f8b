# SPDX-License-Identifier: Apache-2.0
"""gpufl resolve gives up what is gone, and nothing else: what can be read is sent, once, and the session completes."""
import concurrent.futures
import gzip
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import sys
import threading

import lib
from held_cases import STATE, lines_of, write
from lib import check, equal, until
from sink import Sink
from writers import Live, Shifting, Windows, end_job_of


def _stored(sink):
    with sink.lock:
        lines = [line.rstrip(b"\n") for line in sink.lines]
    equal(len(lines), len(set(lines)), "nothing is stored twice")
    return set(lines)


def _logs(place, name):
    """A log directory of its own."""
    logs = place.path / f"logs-{name}"
    logs.mkdir(mode=0o700)
    return logs


def _command(place, logs=None):
    """The command that gpufl status prints."""
    done = place.run("gpufl", "status", logs or place.logs)
    found = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if "to give up what is gone: " in line]
    if not found:
        return None
    equal(done.returncode, 1, done.stdout)
    words = shlex.split(found[0])
    equal(words[:2], ["gpufl", "resolve"], found[0])
    return words[1:]


def _held_then_resolved(place, sink, writer, lost, logs=None, why=""):
    """What is not in `lost` is sent, and the session completes once a person gave that up."""
    done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
    equal((done.returncode, sink.completes()), (1, 0), f"held: {done.stdout}")
    check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    check(why in done.stdout, f"{why}: {done.stdout}")
    words = _command(place, logs)
    done = place.run("gpufl", *words)
    equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
    check(f"{words[2]}: given up: " in done.stdout, f"it says what: {done.stdout}")
    done = place.run("gpufl", *words)
    equal((done.returncode, done.stdout), (1, ""), f"what is left is not given up: {done.stdout} {done.stderr}")
    done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
    equal((done.returncode, sink.completes()), (0, 1), f"given up: {done.stdout}")
    equal(lines_of(writer) - _stored(sink), lost, "what is missing is what was given up")
    done = place.run("gpufl", "status", logs or place.logs)
    equal(done.returncode, 0, done.stdout)
    done = place.run("gpufl", *words)
    equal(done.returncode, 1, f"there is nothing more to give up: {done.stdout} {done.stderr}")


def _file_lines(path):
    return set(path.read_bytes().splitlines())


def a_sealed_file_missing_in_the_middle_is_passed(place):
    writer = Live(place.logs)
    for _ in range(3):
        write(writer)
        writer.rotate("device")
    writer.end()
    gone = writer.dir / "device.2.log"
    lost = _file_lines(gone)
    gone.unlink()
    with Sink(declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost, why="is missing")
        text = place.run("gpufl", "status", place.logs).stdout
        check("part of it was given up" in text, text)


def the_newest_sealed_file_is_missed_though_nobody_has_seen_it(place):
    writer = Live(place.logs)
    for _ in range(3):
        write(writer)
        writer.rotate("device")
    writer.end()
    gone = writer.dir / "device.3.log"
    lost = _file_lines(gone)
    gone.unlink()
    with Sink(declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost, why="is missing")


def a_running_agent_is_asked(place):
    writer = Live(place.logs)
    for _ in range(3):
        write(writer)
        writer.rotate("device")
    gone = writer.dir / "device.2.log"
    lost = _file_lines(gone)
    gone.unlink()
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(lambda: "session.held" in agent.log.read_text(), "held")
        done = place.run("gpufl", *until(lambda: _command(place), "status has the command"))
        equal(done.returncode, 0, done.stderr)
        until(lambda: "session.given_up" in agent.log.read_text(), "it is said")
        until(lambda: lines_of(writer) - _stored(sink) == lost, "the rest is sent")
        writer.end()
        until(lambda: sink.completes() == 1, "complete")
        left = place.logs / ".gpufl-agent/journal.answer.0123456789abcdef"  # by a command that was interrupted
        left.write_text("too late")
        os.utime(left, (1, 1))
        done = place.run("gpufl", "resolve", place.logs, writer.id)
        equal((done.returncode, done.stderr),
              (1, f"gpufl resolve: '{writer.id}': nothing to resolve: it is complete\n"), "the agent refuses")
        check("resolve.failed" in agent.log.read_text(), "and logs it")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    equal([f.name for f in (place.logs / ".gpufl-agent").iterdir() if re.search("resolve|answer", f.name)], [], "no request is left")


def an_answer_tells_what_was_given_up_before_a_batch_was_under_way(place):
    """What is wrong with the session as a whole is given up at once; the rest is looked into once the batch of another
    channel is answered, and there is nothing to give up in it."""
    writer, ended = Live(place.logs), Live(place.logs)
    write(writer)
    ended.end()
    for session in (writer, ended):
        (session.dir / "rank0.log").write_text("the user's own\n")
    sent, answers = threading.Event(), threading.Event()

    def answer(_, request):
        if request.is_batch and request.session == writer.id:
            sent.set()
            sink.lock.release()  # others are answered meanwhile
            answers.wait(60 * lib.SLOW)
            sink.lock.acquire()

    with Sink(answer, declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(sent.is_set, "a batch is under way")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(place.run, "gpufl", "resolve", place.logs, writer.id)
            until(lambda: "session.given_up" in agent.log.read_text(), "it is given up")
            other = place.run("gpufl", "resolve", place.logs, ended.id)
            equal((other.returncode, other.stderr), (0, ""), f"another session does not wait: {other.stdout}")
            check(asked.running(), "the first one does")
            answers.set()
            done = asked.result()
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        check("given up: 1 file (files that may hold records are not read)" in done.stdout, done.stdout)
        check(f"; the files that are there stay in {writer.dir}; " in done.stdout, done.stdout)
        check("resolve.failed" not in agent.log.read_text(), agent.log.read_text())
        writer.end()
        until(lambda: sink.completes() == 1, "complete")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    equal(lines_of(writer) | lines_of(ended), _stored(sink), "all of it is sent")


def requests_of_another_user_are_not_believed(place):
    if os.geteuid() != 0:
        lib.skip("needs root: a request of another user")
    writer = Live(place.logs)
    write(writer)
    (writer.dir / "odd.log").write_text("x")
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(lambda: "session.refused" in agent.log.read_text(), "held")
        for name, text, owner in (("journal.resolve.1", writer.id, 65534), ("journal.resolve.2", "../x", 0),
                                  ("journal.resolve.3", "x" * 5000, 0), ("journal.resolve.4", "no-such-session", 0)):
            file = place.path / name
            file.write_text(text + "\n")
            os.chown(file, owner, owner)
            file.rename(place.logs / ".gpufl-agent" / name)
        until(lambda: not list((place.logs / ".gpufl-agent").glob("journal.resolve.*")), "all are seen to")
        check("session.given_up" not in agent.log.read_text(), agent.log.read_text())
        equal(agent.log.read_text().count("resolve.failed"), 2, agent.log.read_text())


def all_files_of_a_channel_that_went_away_are_given_up(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        equal(lines_of(writer), _stored(sink), "sent")
        write(writer)
        writer.end()
        before = _stored(sink)
        lost = _file_lines(writer.dir / "device.log") - before
        (writer.dir / "device.log").unlink()
        _held_then_resolved(place, sink, writer, lost, why="its active file is gone")


def a_file_shorter_than_what_was_sent_is_taken_as_it_is(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        writer.end()
        lost = {line for line in lines_of(writer) - _stored(sink) if b'"device"' in line}
        os.truncate(writer.dir / "device.log", 100)
        _held_then_resolved(place, sink, writer, lost, why="shorter")


def a_11_channel_of_which_all_files_went_away_is_held_and_given_up(place):
    writer = Shifting(place.logs)
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(lambda: lines_of(writer) == _stored(sink), "sent")
        agent.terminate()
        agent.wait(20 * lib.SLOW)
        (writer.dir / "device.log").unlink()
        done = lib.upload(place, sink.url, "--timeout=30")
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        check("was deleted before" in done.stdout and "time limit" not in done.stdout, done.stdout)
        for channel in ("scope", "system"):
            writer.line(channel, "shutdown")
        done = place.run("gpufl", *_command(place))
        equal(done.returncode, 0, done.stderr)
        done = lib.upload(place, sink.url, "--timeout=30")
        equal((done.returncode, sink.completes()), (0, 1), f"the others say that it has ended: {done.stdout}")
        equal(lines_of(writer) - _stored(sink), set(), "all that was there is sent")


def a_sealed_file_that_is_never_readable_is_passed(place):
    writer = Live(place.logs)
    for _ in range(2):
        write(writer)
        writer.rotate("device")
    writer.end()
    gone = writer.dir / "device.1.log"
    lost = _file_lines(gone)
    gone.unlink()
    gone.mkdir()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        done = place.run("gpufl", "resolve", place.logs, writer.id)
        equal(done.returncode, 0, done.stderr)
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)
        equal(lines_of(writer) - _stored(sink), lost, "missing")


def windows_that_are_gone_are_passed(place):
    for n in (1, 2, 3):
        logs = _logs(place, n)
        writer = Windows(logs)
        lost = set()
        for number in (1, 2):
            before = lines_of(writer)
            write(writer)
            writer.rotate("device")
            lost = lost | (lines_of(writer) - before) if number == n else lost
        before = {line for line in lines_of(writer)}
        if n == 1:
            lost |= {line for line in before if b'"job_start"' in line and b'"device"' in line}
        writer.end()
        if n == 3:
            lost = {line for line in lines_of(writer) - before if b'"device"' in line}
        (writer.dir / f"device.{n}.log.gz").unlink()
        if n == 2:
            (writer.dir / f".gpufl-window.device.{n}.json").unlink()
        with Sink(declare=True) as sink:
            _held_then_resolved(place, sink, writer, lost, logs, "a window is missing")


def all_windows_of_a_channel_are_given_up_at_once(place):
    gone = {"payloads": ("device.*",), "sidecars": (".gpufl-window.device.*",),
            "both": ("device.*", ".gpufl-window.device.*")}
    for begun in (False, True):
        for what, patterns in gone.items():
            if what == "both" and not begun:
                continue  # then nothing says that there were any
            logs = _logs(place, f"{what}-{begun}")
            writer = Windows(logs)
            writer.rotate("device")
            with Sink(declare=True) as sink:
                if begun:
                    lib.upload(place, sink.url, directory=logs)
                for _ in range(20):
                    writer.line("device")
                    writer.rotate("device")
                writer.end()
                lost = set(bytes(writer.written["device"]).splitlines()) - _stored(sink)
                for path in [f for pattern in patterns for f in writer.dir.glob(pattern)]:
                    path.unlink()
                _held_then_resolved(place, sink, writer, lost, logs)


def windows_that_come_back_after_they_were_given_up_are_sent(place):
    writer = Windows(place.logs)
    writer.rotate("device")
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        for _ in range(3):
            writer.line("device")
            writer.rotate("device")
        writer.end()
        kept = place.path / "kept"
        kept.mkdir()
        names = [f for pattern in ("device.*", ".gpufl-window.device.*") for f in writer.dir.glob(pattern)]
        for path in names:
            path.rename(kept / path.name)
        equal(lib.upload(place, sink.url, "--timeout=30").returncode, 1, "held")
        equal(place.run("gpufl", *_command(place)).returncode, 0, "given up")
        for path in names:
            (kept / path.name).rename(path)
        done = lib.upload(place, sink.url, "--timeout=30")
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)
        equal(lines_of(writer) - _stored(sink), set(), "all is there")


def a_window_that_comes_back_after_a_later_one_was_sent_is_said_once(place):
    writer = Windows(place.logs)
    for _ in range(3):
        writer.line("device")
        writer.rotate("device")
    writer.end()
    names = [writer.dir / "device.2.log.gz", writer.dir / ".gpufl-window.device.2.json"]
    lost = set(gzip.decompress(names[0].read_bytes()).splitlines())
    kept = place.path / "kept"
    kept.mkdir()
    for path in names:
        path.rename(kept / path.name)
    with Sink(declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost, why="a window is missing")
        for path in reversed(names):
            check("session.returned" not in lib.upload(place, sink.url).stderr, f"without {path.name}")
            (kept / path.name).rename(path)
        for times in (1, 0):
            done = lib.upload(place, sink.url)
            equal((done.returncode, done.stderr.count("session.returned")), (0, times), done.stderr)
        equal((lines_of(writer) - _stored(sink), sink.completes()), (lost, 1), "it is not sent")


def a_session_whose_directory_is_empty_is_forgotten(place):
    writer = Windows(place.logs)
    writer.rotate("device")
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        writer.end()
        for path in writer.dir.iterdir():
            path.unlink()
        done = place.run("gpufl", *_command(place))
        equal(done.returncode, 0, done.stderr)
        check("forgotten" in done.stdout, done.stdout)
        equal(place.run("gpufl", "status", place.logs).returncode, 0, "nothing is held")


def a_rotated_file_that_is_damaged_is_passed(place):
    for n, spoil in enumerate((lambda data: data[40:], lambda data: b"")):
        for which in (1, 2):
            logs = _logs(place, f"{n}{which}")
            writer = Shifting(logs)
            by_rotation = {}
            for rotation in (2, 1):
                before = lines_of(writer) if rotation == 1 else set()
                write(writer, lines=50)
                writer.rotate("device")
                by_rotation[rotation] = {line for line in lines_of(writer) - before if b'"device"' in line}
            writer.end()
            packed = writer.dir / f"device.{which}.log.gz"
            packed.write_bytes(spoil(packed.read_bytes()))
            with Sink(declare=True) as sink:
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, sink.completes()), (1, 0), f"{n} {which} {done.stdout}")
                done = place.run("gpufl", *_command(place, logs))
                equal(done.returncode, 0, f"{n} {which} {done.stderr}")
                lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal(lines_of(writer) - _stored(sink), by_rotation[which], f"{n} {which}: what is missing")


def _part_is_gone(logs, kind, sealed, squeeze, url, place):
    """A session of which all was sent but a last file, if the first one was sealed; that one is compressed then, and
    only part of it is left."""
    writer = kind(logs, **({"compress": False} if kind is Shifting else {}))
    for n in range(400):
        writer.line("device", pad="%x" % (n * 7919 * 104729))
    equal(lib.upload(place, url, directory=logs).returncode, 0, "sent")
    if sealed:
        writer.rotate("device")
        writer.line("device")
    writer.end()
    plain = writer.dir / ("device.1.log" if sealed else "device.log")
    data = plain.read_bytes()
    (writer.dir / f"{plain.name}.gz").write_bytes(squeeze(data))
    plain.unlink()
    return writer


def a_compressed_file_that_is_shorter_is_told_from_one_that_is_cut_off(place):
    """Either is given up by the command that status prints, and what follows is sent."""
    shorter, cut = "a file is shorter than what was sent from it", "compressed file is damaged or cut off"
    ways = ((shorter, lambda data: gzip.compress(data[:data.index(b"\n", len(data) // 8) + 1])),
            (cut, lambda data: gzip.compress(data)[:len(data) // 16]))
    rows = [(kind, sealed, *way) for kind, sealed in ((Live, True), (Live, False), (Shifting, True)) for way in ways]
    for n, (kind, sealed, why, squeeze) in enumerate(rows):
        logs = _logs(place, n)
        with Sink(declare=True) as sink:
            writer = _part_is_gone(logs, kind, sealed, squeeze, sink.url, place)
            done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
            equal((done.returncode, sink.completes()), (1, 0), f"{n}: {done.stdout}")
            check(why in done.stdout, f"{n}: {why}: {done.stdout}")
            done = place.run("gpufl", *_command(place, logs))
            check(done.returncode == 0 and why in done.stdout, f"{n}: {done.stdout} {done.stderr}")
            done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
            equal((done.returncode, sink.completes()), (0, 1), f"{n}: given up: {done.stdout}")
            gone = {line for line in lines_of(writer) - _stored(sink) if b'"shutdown"' not in line}
            equal(gone, set(), f"{n}: all but the end of a file that is gone was sent")


def a_sealed_file_that_was_compressed_and_is_damaged_is_passed(place):
    for which in (1, 2, 3):
        logs = _logs(place, which)
        writer = Live(logs)
        for _ in range(3):
            write(writer)
            writer.rotate("device")
        write(writer)
        writer.end()
        plain = writer.dir / f"device.{which}.log"
        lost = _file_lines(plain)
        plain.with_name(plain.name + ".gz").write_bytes(gzip.compress(plain.read_bytes())[40:])
        plain.unlink()
        with Sink(declare=True) as sink:
            _held_then_resolved(place, sink, writer, lost, logs, "damaged or cut off")


def files_that_are_not_read_are_given_up_until_there_are_others(place):
    writer = Live(place.logs)
    (writer.dir / "rank0.log").write_text("the user's own\n")
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        done = place.run("gpufl", *_command(place))
        equal(done.returncode, 0, done.stderr)
        (writer.dir / "rank1.log").write_text("another\n")
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (1, 0), f"another file: {done.stdout}")
        done = place.run("gpufl", *_command(place))
        equal(done.returncode, 0, done.stderr)
        for _ in range(2):  # the second time from a journal that was rewritten
            done = lib.upload(place, sink.url)
            equal((done.returncode, sink.completes()), (0, 1), done.stdout)
        text = place.run("gpufl", "status", place.logs).stdout
        check("given up: 2 files, for example rank0.log" in text, text)


def a_manifest_that_is_gone_or_damaged_is_given_up_and_a_newer_one_is_not(place):
    for n, text in enumerate(("", None, '{"schema_version":2,"layout":"live"}')):
        logs = _logs(place, n)
        writer = Live(logs)
        for _ in range(2):
            write(writer)
            writer.rotate("device")
        with Sink(declare=True) as sink:
            if text is None:
                lib.upload(place, sink.url, directory=logs)
            write(writer)
            writer.end()
            manifest = writer.dir / ".gpufl-session.json"
            manifest.unlink()
            if text is not None:
                manifest.write_text(text)
            if n == 2:
                done = lib.upload(place, sink.url, directory=logs)
                equal(done.returncode, 1, done.stdout)
                done = place.run("gpufl", "resolve", logs, writer.id)
                equal(done.returncode, 1, done.stdout)
                done = lib.upload(place, sink.url, directory=logs)
                equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            else:
                _held_then_resolved(place, sink, writer, set(), logs, ".gpufl-session.json")


def an_active_file_that_went_away_is_given_up_while_its_writer_lives(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(lambda: lines_of(writer) == _stored(sink), "sent")
        (writer.dir / "device.log").unlink()
        until(lambda: "its active file is gone" in agent.log.read_text(), "held")
        done = place.run("gpufl", *until(lambda: _command(place), "status has the command"))
        equal(done.returncode, 0, done.stderr)
        until(lambda: "session.given_up" in agent.log.read_text(), "it is said")
        write(writer)  # a new file of that name
        writer.end()
        until(lambda: sink.completes() == 1, "complete")
        equal(lines_of(writer) - _stored(sink), set(), "what was written to the new file is sent")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")


def an_active_file_that_was_never_read_is_given_up(place):
    writer = Live(place.logs)
    write(writer)
    writer.rotate("device")
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        write(writer)
        writer.end()
        lost = _file_lines(writer.dir / "device.log") - _stored(sink)
        (writer.dir / "device.log").unlink()
        _held_then_resolved(place, sink, writer, lost, why="its active file is gone")


def an_upload_sends_all_other_channels_of_a_session_that_is_held(place):
    writer = Live(place.logs)
    with Sink(declare=True) as sink:
        equal(lib.upload(place, sink.url).returncode, 0, "its first lines are sent")
        for _ in range(3):
            for _ in range(1500):
                writer.line("device", pad="y" * 1000)
            writer.rotate("device")
        sent = len(_stored(sink))
        writer.die()
        (writer.dir / "scope.log").unlink()
        done = lib.upload(place, sink.url, "--timeout=60")
        equal(done.returncode, 1, done.stdout)
        check(len(_stored(sink)) > sent, done.stdout)
        equal(lines_of(writer) - _stored(sink), set(), "nothing else is held back")
        check(done.result["message"].startswith(f"not everything was sent: session {writer.id}, channel scope waits: "
                                                "its active file is gone (gpufl status has the gpufl resolve command"),
              done.stdout)


def a_channel_that_was_deleted_before_anything_was_read_is_given_up(place):
    """The manifest of a killed job is all that tells of it."""
    job = place.start("examples/demo-job", place.logs, 60 * lib.SLOW)
    scope = until(lambda: next(place.logs.glob("[!.]*/scope.log"), None), "the session")
    until(lambda: scope.read_bytes().count(b"\n") > 1, "it is written")
    job.send_signal(signal.SIGSTOP)
    os.waitpid(job.pid, os.WUNTRACED)  # all its threads have stopped
    scope.unlink()
    job.kill()
    job.wait()
    left = sorted(line for file in scope.parent.glob("*.log") for line in file.read_bytes().splitlines())
    status = json.loads(place.run("gpufl", "status", place.logs, "--json").stdout)["sessions"][0]
    equal([c["channel"] for c in status["channels"] if c["files_missing"]], ["scope"], "before it is uploaded")
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url, "--timeout=30")
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        check("channel scope waits" in done.stdout and "no file of it is there" in done.stdout, done.stdout)
        words = _command(place)
        equal(words[-1], f"{scope.parent.name}/scope", "what it gives up")
        done = place.run("gpufl", *words)
        equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
        done = lib.upload(place, sink.url, "--timeout=30")
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)
        equal(sorted(line.rstrip(b"\n") for line in sink.lines), left, "all that is left, once")
        equal(_command(place), None, "nothing more is missing")
        equal(place.run("gpufl", "status", place.logs).returncode, 0, "status")


def a_channel_of_which_nothing_was_sent_is_lost_at_the_backend(place):
    """Whether an upload or an agent asks for it: the backend knows no stream of it."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for n, (harm, by_agent) in enumerate(itertools.product((os.unlink, lambda path: os.truncate(path, 0)), (False, True))):
        logs = _logs(place, str(n))
        writer = Live(logs)
        writer.line("scope", times=20)
        writer.end()
        harm(writer.dir / "scope.log")
        if by_agent:
            agent = lib.agent(place, backend.url, "--rescan-interval=100ms", folder=logs)
            words = until(lambda logs=logs: _command(place, logs), "it is held")
        else:
            equal(lib.upload(place, backend.url, directory=logs).returncode, 1, "it is held")
            words = _command(place, logs)
        done = place.run("gpufl", *words)
        equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
        if by_agent:
            until(lambda agent=agent: "session.ended" in agent.log.read_text(), "it ends")
            agent.terminate()
            equal(agent.wait(20 * lib.SLOW), 0, "exit code")
        else:
            equal(lib.upload(place, backend.url, directory=logs).returncode, 0, "it ends")
        found = backend.session(writer.id)
        equal((found["state"], found["complete"], found["verified"]), ("ended_with_losses", False, False), f"{n}: {found}")
        equal([backend.export(writer.id, c) == writer.written[c] for c in Live.channels],
              [c != "scope" for c in Live.channels], "all other channels")
        equal(lib.upload(place, backend.url, directory=logs).returncode, 0, "once more")
        equal(backend.session(writer.id)["state"], "ended_with_losses", "it stays so")
        done = place.run("gpufl", "verify", logs, f"--backend-url={backend.url}", f"--api-key={lib.KEY}")
        equal(done.returncode, 1, done.stdout)
        check("scope: the backend has nothing of it, and was told that all is lost\n" in done.stdout, done.stdout)


def a_channel_of_which_all_is_lost_stays_lost_when_another_one_goes_on(place):
    """For an uploader without a state, to which nothing tells of that channel, as of an earlier writer's session."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.end()
    writer.active("scope").unlink()
    equal(lib.upload(place, backend.url).returncode, 1, "it is held")
    equal(place.run("gpufl", *_command(place)).returncode, 0, "it is given up")
    equal(lib.upload(place, backend.url).returncode, 0, "it ends")
    shutil.rmtree(place.logs / STATE)
    manifest = writer.dir / ".gpufl-session.json"
    manifest.write_text(json.dumps({k: v for k, v in json.loads(manifest.read_text()).items() if k != "channels"}))
    os.truncate(writer.dir / ".gpufl-session.lock", 0)
    writer.line("device")
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_complete"]), (0, 0), done.stdout)
    found = backend.session(writer.id)
    equal((found["state"], found["complete"], found["verified"]), ("ended_with_losses", False, False), f"{found}")
    equal(backend.export(writer.id, "device"), writer.written["device"], "what came is stored")


def a_file_rewritten_to_the_same_size_is_read_once_the_first_is_given_up(place):
    """As `> device.log` and a job that writes as much again, while no uploader runs."""
    writer = Live(place.logs)
    write(writer)
    device = writer.active("device")
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        first = device.read_bytes()
        anew = first.replace(b'"n":', b'"N":')
        check(anew != first and len(anew) == len(first), "as long as it was")
        device.write_bytes(anew)
        writer.written["device"] = first + anew
        writer.die()
        _held_then_resolved(place, sink, writer, set(), why="another one has its name")


def a_sealed_file_that_comes_back_after_it_was_given_up_is_not_sent_again(place):
    """It was sealed and went away before anybody saw it: the active file is the next one."""
    with Sink() as sink:
        writer = Live(place.logs)
        write(writer, lines=3)
        lib.upload(place, sink.url)
        writer.rotate("device")
        sealed = writer.dir / "device.1.log"
        data = sealed.read_bytes()
        sealed.unlink()
        write(writer, lines=8)
        equal(lib.upload(place, sink.url).returncode, 1, "held")
        equal(place.run("gpufl", *_command(place)).returncode, 0, "given up")
        sealed.write_bytes(data)
        writer.end()
        equal(lib.upload(place, sink.url).returncode, 0, "the rest is sent")
        equal(lines_of(writer), _stored(sink), "each line once")


def another_file_of_the_name_is_read_once_the_first_is_given_up(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        write(writer)
        lost = _file_lines(writer.dir / "device.log") - _stored(sink)
        (writer.dir / "device.log").unlink()
        write(writer, lines=20)
        writer.end()
        _held_then_resolved(place, sink, writer, lost, why="another one has its name")


def a_file_that_came_after_a_later_one_was_sent_is_given_up(place):
    """A sealed file is away, so the active one is sent under its number; then it is back, or is seen and away again."""
    late = "came after a later one was sent"
    for n, (in_the_file, after_it, stays, why) in enumerate(((2, 9, True, late), (9, 2, True, late),
                                                             (2, 9, False, "is missing"))):
        logs = _logs(place, n)
        writer = Live(logs)
        for lines in (3, 3, in_the_file):
            write(writer, lines=lines)
            writer.rotate("device")
        write(writer, lines=after_it)
        file, kept = writer.dir / "device.3.log", logs.parent / f"kept{n}"
        lost = _file_lines(file)
        file.rename(kept)
        os.truncate(writer.dir / ".gpufl-session.lock", 0)  # of an earlier writer, which tells no numbers
        with Sink(declare=True) as sink:
            equal(lib.upload(place, sink.url, directory=logs).returncode, 0, "nobody knows of it")
            kept.rename(file)
            if not stays:
                done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
                check(late in done.stdout, done.stdout)
                file.rename(kept)
            writer.end()
            _held_then_resolved(place, sink, writer, lost, logs, why)


def a_loss_that_was_declared_is_final_also_when_the_file_comes_back(place):
    for kind, name in ((Live, "device.2.log"), (Windows, "device.2.log.gz")):
        logs = _logs(place, kind.__name__)
        writer = kind(logs)
        lost = set()
        for number in (1, 2, 3):
            before = lines_of(writer)
            write(writer)
            writer.rotate("device")
            lost = lines_of(writer) - before if number == 2 else lost
        writer.end()
        file, kept = writer.dir / name, place.path / name
        file.rename(kept)
        with Sink(declare=True) as sink:
            _held_then_resolved(place, sink, writer, lost, logs, "is missing")
            kept.rename(file)
            done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
            equal((done.returncode, sink.completes()), (0, 1), done.stdout)
            equal(lines_of(writer) - _stored(sink), lost, "it is not sent")
            text = place.run("gpufl", "status", logs).stdout
            check("part of it was given up" in text, text)


def _given_up_at(place, backend, logs):
    """File 2 of a session is away, and given up. The writer, and the file."""
    writer = Live(logs)
    for _ in range(3):
        write(writer)
        writer.rotate("device")
    writer.end()
    file = writer.dir / "device.2.log"
    kept = file.read_bytes()
    file.unlink()
    equal(lib.upload(place, backend.url, directory=logs).returncode, 1, "it is held")
    equal(place.run("gpufl", *_command(place, logs)).returncode, 0, "it is given up")
    return writer, file, kept


def _is_not_complete(place, backend, logs, writer, code, ended):
    """By upload and status, as often as one asks."""
    for _ in range(2):
        done = lib.upload(place, backend.url, directory=logs)
        equal((done.returncode, done.result["sessions_complete"], done.result["sessions_ended"]), (code, 0, ended), done.stdout)
        check(code == 0 or writer.id in done.result["message"], done.stdout)
    equal(place.run("gpufl", "status", logs).returncode, code, "status")


def what_was_given_up_elsewhere_is_not_complete_where_it_is(place):
    """The whole directory, with the file that another uploader gave up, and a state that knows nothing of that."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    first, whole = _logs(place, "first"), _logs(place, "whole")
    writer, file, kept = _given_up_at(place, backend, first)
    _is_not_complete(place, backend, first, writer, 0, 1)
    shutil.copytree(writer.dir, whole / writer.id)
    (whole / writer.id / file.name).write_bytes(kept)
    shutil.rmtree(first)
    _is_not_complete(place, backend, whole, writer, 1, 0)
    for code in (1, 0):
        agent = lib.agent(place, backend.url, "--exit-when-drained", "--delete-acked=acknowledged", folder=whole)
        equal(agent.wait(20 * lib.SLOW), code, agent.log.read_text())
        check("complete=0" in agent.log.read_text() and "session.complete" not in agent.log.read_text(), agent.log.read_text())
        equal((whole / writer.id / file.name).read_bytes(), kept, "it may be the only one")
        words = _command(place, whole)
        equal(words is None, code == 0, words)
        if words:
            done = place.run("gpufl", *words)
            equal(done.returncode, 0, done.stdout + done.stderr)
    _is_not_complete(place, backend, whole, writer, 0, 1)


def a_loss_that_was_declared_stays_one_whatever_is_forced(place):
    """Where the backend knows positions. What was given up behind its end is no such loss: that can be sent."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer, file, kept = _given_up_at(place, backend, place.logs)
    _is_not_complete(place, backend, place.logs, writer, 0, 1)
    had = backend.export(writer.id, "device")
    file.write_bytes(kept)
    done = lib.upload(place, backend.url)
    check("session.returned" in done.stderr and "--force" not in done.stderr, done.stderr)
    for _ in range(2):
        done = lib.upload(place, backend.url, "--force", "--session-id", writer.id)
        equal((done.returncode, done.result["sessions_complete"]), (1, 0), done.stdout)
        check("it is not sent again" in done.stdout and "gpufl resolve" not in done.stdout, done.stdout)
        check("part of it was given up" in place.run("gpufl", "status", place.logs).stdout, "it stays known")
    _is_not_complete(place, backend, place.logs, writer, 0, 1)
    equal((backend.export(writer.id, "device"), file.read_bytes()), (had, kept), "nothing has changed")


def an_active_file_that_was_compressed_early_is_given_up(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        write(writer)
        plain = writer.dir / "device.log"
        (writer.dir / "device.log.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        write(writer)  # into a file without a name: here, the writer makes another one
        lost = _file_lines(plain)
        plain.unlink()
        writer.die()
        _held_then_resolved(place, sink, writer, lost, why="compressed while its writer lived")


def lines_behind_a_copy_that_replaced_the_active_file_are_given_up(place):
    writer = Live(place.logs)
    write(writer)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url)
        active = writer.active("device")
        copy = place.path / "copy"
        copy.write_bytes(active.read_bytes())
        lost = write(writer)
        copy.rename(active)
        writer.die()
        _held_then_resolved(place, sink, writer, lost, why="another program replaced it")


def _given_up_and_told(place, backend, logs, writer, by_agent):
    """The agent that has told the loss, or None."""
    equal(lib.upload(place, backend.url, directory=logs).returncode, 1, "it is held")
    equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "given up")
    agent = lib.agent(place, backend.url, "--rescan-interval=200ms", folder=logs) if by_agent else None
    if not agent:
        equal(lib.upload(place, backend.url, directory=logs).returncode, 0, "told")
    until(lambda: backend.session(writer.id)["state"] == "ended_with_losses", "the loss is told")
    return agent


def the_rest_of_an_active_file_that_was_given_up_is_sent_when_it_is_back(place):
    """Cut, given up, and told to be lost; then the file is whole again: all of it is stored, and that is told."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for n, (killed, by_agent) in enumerate(((False, False), (False, True), (True, False))):
        logs = _logs(place, n)
        writer = Live(logs)
        write(writer)
        lib.upload(place, backend.url, directory=logs)
        write(writer)
        writer.die() if killed else writer.end()
        active = writer.active("device")
        whole = active.read_bytes()
        active.write_bytes(whole[:200])
        agent = _given_up_and_told(place, backend, logs, writer, by_agent)
        status = place.run("gpufl", "status", logs)
        equal((status.returncode, "part of it was given up" in status.stdout), (0, True), status.stdout)
        active.write_bytes(b"x" * (len(whole) - 1) + b"\n")  # nothing of it was ever sent
        done = None if agent else lib.upload(place, backend.url, directory=logs)
        status = place.run("gpufl", "status", logs)
        check(agent or (done.result["message"], "wait" in status.stdout) == ("nothing to send", False), status.stdout)
        active.write_bytes(whole)
        status = place.run("gpufl", "status", logs)
        check(agent or "bytes wait" in status.stdout, status.stdout)
        done = None if agent else lib.upload(place, backend.url, directory=logs)
        until(lambda w=writer: backend.complete(w.id), f"killed {killed} agent {by_agent}")
        lib.holds(backend, writer)
        until(lambda f=logs: place.run("gpufl", "status", f).returncode == 0, "status")
        check("complete, verified" in place.run("gpufl", "status", logs).stdout, "status")
        if agent:
            agent.terminate()
            agent.wait(40 * lib.SLOW)


def a_channel_that_was_given_up_as_a_whole_is_whole_when_it_is_back(place):
    """In one file or two, which may come back one by one; not if what has the name of the first file is a later one."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for n, (files, by_agent, back) in enumerate(
            ((1, False, "all"), (1, True, "all"), (2, False, "all"), (2, False, "one by one"), (2, False, "last"))):
        logs = _logs(place, n)
        writer = Live(logs)
        write(writer)
        if files == 2:
            writer.rotate("device")
            write(writer)
        writer.end()
        kept = {f: f.read_bytes() for f in sorted(writer.dir.glob("device*.log"))}
        for file in kept:
            file.unlink()
        agent = _given_up_and_told(place, backend, logs, writer, by_agent)
        for file, lines in kept.items():
            if back != "last" or file.name == "device.log":
                file.write_bytes(lines)
            if back == "one by one" and file.name != "device.log":
                equal(lib.upload(place, backend.url, directory=logs).returncode, 1, "the next one is missed")
        if not agent:
            lib.upload(place, backend.url, directory=logs)
        if back == "last":
            check(not backend.complete(writer.id), "the first file is missing")
            continue
        until(lambda w=writer: backend.complete(w.id), f"files {files} agent {by_agent} {back}")
        lib.holds(backend, writer)
        until(lambda f=logs: "complete, verified" in place.run("gpufl", "status", f).stdout, "status")
        if agent:
            agent.terminate()
            agent.wait(40 * lib.SLOW)


def a_session_that_is_away_for_good_is_forgotten(place):
    for n, by_agent in enumerate((False, True)):
        logs = _logs(place, n)
        other, writer = Live(logs), Live(logs)
        write(writer)
        with Sink(declare=True) as sink:
            lib.upload(place, sink.url, directory=logs)
            writer.end()
            other.end()
            writer.dir.rename(place.path / f"away{n}")
            lib.upload(place, sink.url, directory=logs)
            words = _command(place, logs)
            if by_agent:
                agent = lib.agent(place, sink.url, "--rescan-interval=100ms", folder=logs)
                until(lambda a=agent: "session.away" in a.log.read_text(), "away")
            done = place.run("gpufl", *words[:-1], f"{words[-1]}/device")
            if not by_agent:
                equal(done.returncode, 1, done.stdout)
                check("only the whole session" in done.stderr, done.stderr)
            done = place.run("gpufl", *words)
            equal(done.returncode, 0, f"{done.stdout} {done.stderr}")
            if by_agent:
                until(lambda a=agent: "session.given_up" in a.log.read_text(), "it is said")
                agent.terminate()
                equal(agent.wait(20 * lib.SLOW), 0, "exit code")
            else:
                check("if its directory comes back, all of it is sent again" in done.stdout, done.stdout)
            done = lib.upload(place, sink.url, directory=logs)
            equal(done.returncode, 0, done.stdout)
            equal(_command(place, logs), None, "nothing is held")
            equal(place.run("gpufl", *words).returncode, 2, "it is not known any more")


def files_deleted_before_another_backend_got_them_are_given_up(place):
    writer = Live(place.logs)
    write(writer)
    writer.rotate("device")
    write(writer)
    writer.end()
    with Sink(declare=True) as sink:
        equal(lib.upload(place, sink.url).returncode, 0, "sent to the first")
    lost = _file_lines(writer.dir / "device.log")
    (writer.dir / "device.log").unlink()
    with Sink(declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost, why="an earlier backend got")


def lines_that_were_rejected_for_good_are_given_up(place):
    def reject(_, request):
        return (409, "{}") if request.is_batch and request.channel == "device" else None

    writer = Live(place.logs)
    write(writer)
    writer.end()
    lost = _file_lines(writer.dir / "device.log")
    with Sink(reject, declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost)


def _rejects_poison(sink, request):
    """It takes each batch, but for the lines that it cannot read, and counts these."""
    if not request.is_batch or b'"poison"' not in request.raw():
        return None
    kept = [line for line in request.raw().splitlines() if b'"poison"' not in line]
    sink.lines += kept
    rejected = len(request.raw().splitlines()) - len(kept)
    return 200, {"accepted": len(kept), "rejected": rejected, "window_acknowledged": True}


def lines_that_were_rejected_from_batches_that_were_taken_are_given_up(place):
    """Each run says so until then, and an agent beside which there is an upload; no file of theirs is deleted."""
    for layout in (Live, Windows):
        logs = place.path / layout.__name__
        logs.mkdir()
        writer = layout(logs)
        for _ in range(2):
            write(writer)
            writer.line("device", "poison")
            writer.rotate("device")
        write(writer)
        writer.end()
        lost = {line for line in lines_of(writer) if b'"poison"' in line}
        with Sink(_rejects_poison, declare=True) as sink:
            for _ in range(2):
                done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
                equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            equal(lines_of(writer) - _stored(sink), lost, "nothing else is missing")
            said = place.run("gpufl", "status", logs)
            check(said.returncode == 1 and ", 2 lines refused" in said.stdout, said.stdout)
            agent = lib.agent(place, sink.url, "--delete-acked=acknowledged", "--exit-when-drained", folder=logs)
            equal((agent.wait(30 * lib.SLOW), "agent.stopped" in agent.log.read_text()), (1, True), agent.log.read_text())
            agent = lib.agent(place, sink.url, folder=logs)
            until(lambda d=logs: "served by" in place.run("gpufl", "status", d).stdout, "it serves them")
            done = lib.upload(place, sink.url, "--timeout=30", directory=logs)
            check(done.returncode == 1 and "2 lines were rejected" in done.stdout, done.stdout)
            agent.terminate()
            agent.wait(30 * lib.SLOW)
            _held_then_resolved(place, sink, writer, lost, logs)
            equal(len(list(writer.dir.glob("device*log*"))), 3, "they are kept")


def front_that_was_gone_is_given_up(place):
    writer = Live(place.logs)
    for _ in range(2):
        write(writer)
        writer.rotate("device")
    writer.end()
    lost = _file_lines(writer.dir / "device.1.log")
    (writer.dir / "device.1.log").unlink()
    with Sink(declare=True) as sink:
        _held_then_resolved(place, sink, writer, lost, why="earlier files are missing")


def an_earlier_copy_of_what_was_sent_is_not_sent_again(place):
    """The writer has noted in it that it had not begun the file that was sent last."""
    writer = Live(place.logs)
    write(writer)
    writer.rotate("device")
    write(writer, lines=20)
    earlier = place.path / "earlier"
    shutil.copytree(writer.dir, earlier)
    end_job_of(earlier)
    writer.rotate("device")
    write(writer, lines=1)
    writer.end()
    with Sink(declare=True) as sink:
        equal(lib.upload(place, sink.url).returncode, 0, "all is sent")
        kept = place.path / "kept"
        writer.dir.rename(kept)
        shutil.copytree(earlier, writer.dir)
        equal(lib.upload(place, sink.url).returncode, 1, "it is held")
        for _ in range(2):
            place.run("gpufl", "resolve", str(place.logs), writer.id)
        for _ in range(2):
            done = lib.upload(place, sink.url, "--timeout=30")
            equal(done.returncode, 0, done.stdout)
            equal(_stored(sink), lines_of(writer), "nothing is sent again")
            status = place.run("gpufl", "status", place.logs)
            equal(status.returncode, 0, status.stdout)
            place.run("gpufl", "resolve", str(place.logs), writer.id)
        shutil.rmtree(writer.dir)
        kept.rename(writer.dir)
        equal(lib.upload(place, sink.url).returncode, 0, "it is whole again")
        equal(_stored(sink), lines_of(writer), "nothing is sent again")


def nothing_that_can_be_read_is_given_up(place):
    writer = Live(place.logs)
    write(writer)
    writer.rotate("device")
    writer.end()
    done = place.run("gpufl", "resolve", place.logs, f"{writer.id}/device")
    equal(done.returncode, 1, done.stdout)
    check("nothing of it can be given up" in done.stderr, done.stderr)
    for what, word in (("none", "no such session"), ("../logs", "no such session"), ("", "no such session"),
                       (f"{writer.id}/sass", "no such channel"), ("x" * 500, "no such session")):
        done = place.run("gpufl", "resolve", place.logs, what)
        check(done.returncode in (1, 2) and word in done.stderr, f"{what}: {done.returncode} {done.stderr}")
    nowhere = place.path / "nowhere"
    for what in (writer.id, "none"):
        done = place.run("gpufl", "resolve", place.logs, what, "--state-dir", nowhere)
        equal((done.returncode, done.stderr.split(" (")[0], nowhere.exists()),
              (2, f"gpufl resolve: --state-dir: '{nowhere}': No such file or directory", False), what)
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes(), lines_of(writer) - _stored(sink)), (0, 1, set()), done.stdout)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
