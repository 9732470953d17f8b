# SPDX-License-Identifier: Apache-2.0
"""gpufl verify, and status: what lies on disk against what the backend has."""
import contextlib
import gzip
import json
import os
import shutil
import sqlite3
import sys

import lib
import sink
from gateway import Gateway, answer, header
from lib import check, equal
from positions import streams
from writers import Live, Shifting, Windows


def _session(place, lines=200, ends=True):
    """Three files of each channel."""
    writer = Live(place.logs)
    for n in range(3):
        for channel in Live.channels:
            writer.line(channel, times=lines)
            if n < 2:
                writer.rotate(channel)
    if ends:
        writer.end()
    return writer


def _sent(place, *args, sessions=1, **more):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    made = [_session(place, **more) for _ in range(sessions)]
    equal(lib.upload(place, backend.url, *args).returncode, 0, "sent")
    return backend, made


def _verify(place, backend, *args, rc):
    done = place.run("gpufl", "verify", place.logs, "--backend-url", backend.url, *args,
                     env={"GPUFL_API_KEY": lib.KEY})
    equal(done.returncode, rc, done.stdout + done.stderr)
    return done


def _verified(place, backend):
    """What is said of the only session, which is not equal."""
    session, = json.loads(_verify(place, backend, "--json", rc=1).stdout)["sessions"]
    return session


class _Asked(Gateway):
    """Does something before a question for a place in a file is answered."""

    def __init__(self, backend_url, asked):
        self.asked = asked
        super().__init__(backend_url, lambda *_: "pass")

    def _forward(self, head, body):
        if b"/streams?" in head.split(b"\r\n", 1)[0]:
            self.asked(head)
        return super()._forward(head, body)


class _Refuses(Gateway):
    """Answers 403 to a question for the ends of streams."""

    def _forward(self, head, body):
        return answer(403, b"") if b"/streams" in head.split(b"\r\n", 1)[0] else super()._forward(head, body)


class _Keeps(Gateway):
    """Answers a question as it was answered before, whatever the backend says of that, unless it is told not to."""

    def __init__(self, backend_url):
        self.answers = {}
        super().__init__(backend_url, lambda *_: "pass")

    def _forward(self, head, body):
        what = head.split(b"\r\n", 1)[0]
        if not what.startswith(b"GET ") or "no-cache" in header(head, "cache-control"):
            return super()._forward(head, body)
        if what not in self.answers:
            self.answers[what] = super()._forward(head, body)
        return self.answers[what]


def _results(place, backend, writer, rc=1):
    said = json.loads(_verify(place, backend, "--json", "--session-id", writer.id, rc=rc).stdout)
    return {c["channel"]: c["result"] for c in said["sessions"][0]["channels"]}


def _channel(place, backend, writer, name):
    """The result of one channel, which is not equal."""
    done = _verify(place, backend, "--json", rc=1)
    said = json.loads(done.stdout)
    equal(said["equal"], False, said)
    session = [s for s in said["sessions"] if s["session_id"] == writer.id][0]
    equal({c["result"] for c in session["channels"] if c["channel"] != name} - {"equal"}, set(), said)
    return [c for c in session["channels"] if c["channel"] == name][0]


def _channel_of_open(place, backend, writer, name):
    """Likewise, of a session whose other channels are not all sent."""
    said = json.loads(_verify(place, backend, "--json", rc=1).stdout)
    session = [s for s in said["sessions"] if s["session_id"] == writer.id][0]
    return [c for c in session["channels"] if c["channel"] == name][0]


def sessions_that_the_backend_has_are_equal(place):
    backend, made = _sent(place, sessions=3)
    journal = {p: p.stat().st_mtime_ns for p in (place.logs / ".gpufl-agent").rglob("*")}
    said = _verify(place, backend, rc=0)
    check("3 of 3 sessions equal" in said.stdout and made[0].id in said.stdout, said.stdout)
    equal(said.stderr, "", "no word on stderr")
    found = json.loads(_verify(place, backend, "--json", "--session-id", made[1].id, rc=0).stdout)
    equal([s["session_id"] for s in found["sessions"]], [made[1].id], found)
    equal((found["equal"], found["sessions"][0]["complete"]), (True, True), found)
    for channel in found["sessions"][0]["channels"]:
        end = streams(backend, made[1].id)[1][channel["channel"]]
        for side in ("here", "backend"):
            equal(channel[side], {k: end[k] for k in ("file", "offset", "lines", "crc")}, side)
    equal({p: p.stat().st_mtime_ns for p in journal}, journal, "nothing is written")


def without_a_journal_it_says_the_same(place):
    backend, _ = _sent(place)
    shutil.rmtree(place.logs / ".gpufl-agent")
    _verify(place, backend, rc=0)
    check(not (place.logs / ".gpufl-agent").exists(), "no journal is made")


def lines_that_were_not_sent_yet_are_counted(place):
    backend, (writer,) = _sent(place, ends=False)
    writer.line("device", times=7)
    found = _channel(place, backend, writer, "device")
    equal((found["result"], found["behind_lines"]), ("behind", 7), found)
    equal(found["behind_bytes"], found["here"]["offset"] - found["backend"]["offset"], found)
    check("lacks the last 7 lines" in _verify(place, backend, rc=1).stdout, "in words")
    lib.upload(place, backend.url)
    _verify(place, backend, rc=0)
    writer.rotate("device")
    writer.line("device", times=2)
    found = _channel(place, backend, writer, "device")
    equal((found["result"], found["behind_lines"], found["here"]["file"]), ("behind", 2, 4), found)


def a_session_that_was_never_sent_is_behind(place):
    backend, _ = _sent(place)
    writer = _session(place)
    found = json.loads(_verify(place, backend, "--json", rc=1).stdout)
    mine = [s for s in found["sessions"] if s["session_id"] == writer.id][0]
    equal({c["result"] for c in mine["channels"]}, {"behind"}, mine)
    equal([c["behind_lines"] for c in mine["channels"]], [c["here"]["lines"] for c in mine["channels"]], mine)


def a_byte_that_differs_is_found_in_its_file(place):
    for number in (1, 2, 3):
        backend, (writer,) = _sent(place)
        path = writer.dir / ("scope.log" if number == 3 else f"scope.{number}.log")
        data = bytearray(path.read_bytes())
        at = data.rindex(b"\n", 0, len(data) - 1) - 3
        data[at] ^= 1
        path.write_bytes(data)
        found = _channel(place, backend, writer, "scope")
        equal(found["result"], "other", found)
        check(f"file {number} is not what the backend has" in _verify(place, backend, rc=1).stdout, number)
        backend.kill()
        shutil.rmtree(place.logs)
        place.logs.mkdir(mode=0o700)


def a_sealed_file_that_is_rewritten_before_its_session_ends_is_found(place):
    """The claim of the end is about the last file of each channel."""
    backend, (writer,) = _sent(place, ends=False)
    path = writer.dir / "scope.1.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"scope")] ^= 1
    path.write_bytes(data)
    writer.end()
    lib.upload(place, backend.url)
    equal(_channel(place, backend, writer, "scope")["result"], "other", "of the channel")
    check("file 1 is not what the backend has" in _verify(place, backend, rc=1).stdout, "of its file")


def sealed_files_that_were_deleted_are_not_missed(place):
    backend, (writer,) = _sent(place)
    (writer.dir / "device.1.log").unlink()
    said = json.loads(_verify(place, backend, "--json", rc=0).stdout)
    device = [c for c in said["sessions"][0]["channels"] if c["channel"] == "device"][0]
    equal((device["result"], device["first_file"]), ("equal", 2), device)
    path = writer.dir / "device.2.log"
    path.write_bytes(path.read_bytes().replace(b"session_id", b"session_di", 1))
    equal(_channel(place, backend, writer, "device")["result"], "other", "the second differs")


def a_sealed_file_that_is_missing_hides_nothing_behind_it(place):
    """Whether the backend ends before it, in it or behind it."""
    for ends_in in (2, 3, 4):
        backend = lib.Backend(place, "--api-key", lib.KEY)
        writer = Live(place.logs)
        for n in range(1, 6):
            writer.line("device", times=50)
            if n == ends_in:
                equal(lib.upload(place, backend.url).returncode, 0, "sent")
            if n < 5:
                writer.rotate("device")
        writer.end()
        (writer.dir / "device.3.log").unlink()
        found = _channel_of_open(place, backend, writer, "device")
        equal((found["result"], found["here"]["file"]), ("behind", 5), f"{ends_in}: {found}")
        here = sum(len((writer.dir / f"device.{n}.log").read_bytes()) for n in range(ends_in + 1, 5) if n != 3)
        equal(found["behind_bytes"], here + len((writer.dir / "device.log").read_bytes()), f"{ends_in}: {found}")
        backend.kill()
        shutil.rmtree(place.logs)
        place.logs.mkdir(mode=0o700)


def a_sealed_file_that_was_deleted_in_the_middle_is_not_missed(place):
    """The backend has it, and all that follows."""
    backend, (writer,) = _sent(place)
    (writer.dir / "device.2.log").unlink()
    _verify(place, backend, rc=0)
    path = writer.dir / "device.log"
    path.write_bytes(path.read_bytes().replace(b"session_id", b"session_di", 1))
    equal(_channel(place, backend, writer, "device")["result"], "other", "the last differs")


def a_file_of_a_number_that_is_not_due_is_not_equal(place):
    backend, (writer,) = _sent(place)
    shutil.copy(writer.dir / "device.1.log", writer.dir / "device.9.log")
    check(_channel(place, backend, writer, "device")["result"] != "equal", "nobody has sent it")


def files_that_are_not_read_are_no_success(place):
    backend, (writer,) = _sent(place)
    (writer.dir / "device.4.log").symlink_to("device.1.log")
    done = _verify(place, backend, "--json", rc=1)
    equal(json.loads(done.stdout)["sessions"][0]["unread_files"], 1, done.stdout)
    check("1 file that may hold records is not read" in _verify(place, backend, rc=1).stdout, "in words")


def a_sealed_file_that_holds_less_or_more_is_found(place):
    """Be what is left of it what the backend has, or the line that was added not whole."""
    backend, (writer,) = _sent(place)
    for number in (1, 2):
        path = writer.dir / f"device.{number}.log"
        data = path.read_bytes()
        for other in (data[:data.index(b"\n", len(data) // 2) + 1], b"", data + b'{"type":"x"', data + b'{"type":"x"}'):
            path.write_bytes(other)
            equal(_channel(place, backend, writer, "device")["result"], "other", (number, len(other) - len(data)))
            check(f"file {number} is not what the backend has" in _verify(place, backend, rc=1).stdout, number)
        path.write_bytes(data)
    _verify(place, backend, rc=0)


def a_file_that_is_gone_hides_what_the_backend_lacks_of_it(place):
    """The backend's end lies in it, or before it, and the active file is empty."""
    for rotations in (1, 2):
        backend = lib.Backend(place, "--api-key", lib.KEY)
        writer = Live(place.logs)
        for _ in range(rotations):
            equal(lib.upload(place, backend.url).returncode, 0, "all of the one before")
            writer.line("device")
            writer.rotate("device")
        (writer.dir / f"device.{rotations}.log").unlink()
        equal(_results(place, backend, writer), {"device": "missing", "scope": "equal", "system": "equal"}, rotations)
        check(f"file {rotations} is not here as it was written" in _verify(place, backend, rc=1).stdout, rotations)
        backend.kill()
        shutil.rmtree(place.logs)
        place.logs.mkdir(mode=0o700)


def a_sealed_file_that_was_sent_and_deleted_hides_nothing_once_its_session_is_complete(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.line("device")
    writer.rotate("device")
    writer.die()
    equal(lib.upload(place, backend.url).returncode, 0, "sent")
    (writer.dir / "device.1.log").unlink()
    _verify(place, backend, rc=0)


def a_session_of_which_no_file_is_here_is_not_equal(place):
    """Nothing was sent of it: what its writer tells of it shows that it was."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    gone, emptied, sealed = (Live(place.logs) for _ in range(3))
    windows, published = (Windows(place.logs) for _ in range(2))
    for channel in Live.channels * 2:
        emptied.line(channel)
    for channel in Live.channels:
        gone.active(channel).unlink()
        os.truncate(emptied.active(channel), 0)
        sealed.rotate(channel)
        sealed.line(channel)
    published.end()
    for path in published.dir.glob("*.log.gz"):
        path.unlink()
    equal(_results(place, backend, gone), dict.fromkeys(Live.channels, "missing"), "no file")
    equal(_results(place, backend, emptied), dict.fromkeys(Live.channels, "missing"), "empty files")
    equal(_results(place, backend, windows), {}, "nothing is published")
    equal(_results(place, backend, published), dict.fromkeys(Windows.channels, "missing"), "deleted windows")
    said = _verify(place, backend, rc=1).stdout
    for words in ("  device: no file is here, and the backend has nothing of it\n", "0 of 5 sessions equal\n",
                  "  what its writer has not published is in .tmp, not compared\n"):
        check(words in said, said)
    lib.upload(place, backend.url, "--session-id", sealed.id)
    equal(_results(place, backend, sealed, rc=0), dict.fromkeys(Live.channels, "equal"), "sent")
    for channel in Live.channels:
        sealed.rotate(channel)
        lib.upload(place, backend.url, "--session-id", sealed.id)
        sealed.line(channel)
        sealed.active(channel).unlink()
    equal(_results(place, backend, sealed), dict.fromkeys(Live.channels, "missing"), "no active file")


def a_channel_of_which_no_file_is_here_is_not_equal(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _session(place)
    for path in writer.dir.glob("scope*.log"):
        path.unlink()
    lib.upload(place, backend.url, "--timeout=10")
    equal(_channel(place, backend, writer, "scope")["result"], "missing", "the others are sent")


def a_manifest_that_cannot_be_read_is_no_success(place):
    """It would tell which channels there were."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer, emptied, complete = (_session(place, ends=False) for _ in range(3))
    equal(lib.upload(place, backend.url).returncode, 0, "sent")
    complete.end()
    equal(lib.upload(place, backend.url).returncode, 0, "complete")
    for session in (writer, emptied, complete):
        (session.dir / ".gpufl-session.json").write_text("{")
    for path in emptied.dir.glob("*.log"):
        path.unlink()
    equal(_results(place, backend, writer), dict.fromkeys(Live.channels, "equal"), "what is here")
    equal(_results(place, backend, complete, rc=0), dict.fromkeys(Live.channels, "equal"), "nothing was missing at its end")
    said = _verify(place, backend, rc=1).stdout
    equal(said.count(".gpufl-session.json cannot be read"), 2, said)
    place.logs = place.path / "unsent"
    place.logs.mkdir(mode=0o700)
    unsent = Live(place.logs)
    (unsent.dir / ".gpufl-session.json").write_text("{")
    for path in unsent.dir.glob("*.log"):
        path.unlink()
    equal(_results(place, backend, unsent), {}, "nothing is there to compare")
    equal(lib.upload(place, backend.url).returncode, 1, "nor to send")


def files_that_are_deleted_meanwhile_are_looked_at_again(place):
    """An agent deletes what it has sent."""
    backend, (writer,) = _sent(place)
    for channel in Live.channels:
        (writer.dir / f"{channel}.1.log").unlink()

    def asked(_):
        for channel in Live.channels:
            (writer.dir / f"{channel}.2.log").unlink(missing_ok=True)

    with _Asked(backend.url, asked) as gateway:
        equal(_results(place, gateway, writer, rc=0), dict.fromkeys(Live.channels, "equal"), "in the end")


def what_changes_all_the_time_is_not_said_to_differ(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Shifting(place.logs, compress=False)
    for _ in range(2):
        writer.line("device", times=9)
        writer.rotate("device")
    equal(lib.upload(place, backend.url).returncode, 0, "sent")
    path = writer.dir / "device.1.log"
    path.write_bytes(path.read_bytes().replace(b"session_id", b"session_di", 1))
    equal(_channel(place, backend, writer, "device")["result"], "other", "at rest")

    def asked(_):
        (writer.dir / "other").touch()
        (writer.dir / "other").unlink()

    with _Asked(backend.url, asked) as gateway:
        equal(_channel(place, gateway, writer, "device")["result"], "changed", "one file differs")
        check("device: not compared: its files are renamed" in _verify(place, gateway, rc=1).stdout, "in words")


def files_that_end_before_the_backend_does_are_said(place):
    backend, (writer,) = _sent(place)
    path = writer.dir / "device.log"
    data = path.read_bytes()
    path.write_bytes(data[:data.index(b"\n", len(data) // 2) + 1])
    equal(_channel(place, backend, writer, "device")["result"], "ahead", "half of it is here")
    for file in writer.dir.glob("device*.log"):
        file.unlink()
    equal(_channel(place, backend, writer, "device")["result"], "no_files", "none is here")


def lines_that_the_backend_knows_to_be_lost_are_no_success(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _session(place, ends=False)
    (writer.dir / "device.1.log").unlink()
    writer.end()
    lib.upload(place, backend.url, "--timeout=30")
    equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "it is given up")
    lib.upload(place, backend.url, "--timeout=30")
    equal(_channel(place, backend, writer, "device")["result"], "lossy", "a range is lost")
    equal(_verified(place, backend)["complete"], False, "the session has ended")


def what_is_lost_at_the_end_of_the_files_is_no_success(place):
    """All that is here is equal to what the backend has. It knows that there was more."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _session(place, ends=False)
    lib.upload(place, backend.url)
    size = writer.active("device").stat().st_size
    writer.line("device", times=9)
    writer.end()
    os.truncate(writer.active("device"), size)
    lib.upload(place, backend.url, "--timeout=30")
    equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "it is given up")
    equal(lib.upload(place, backend.url, "--timeout=30").returncode, 0, "that is all")
    session = _verified(place, backend)
    channels = {c["channel"]: c for c in session["channels"]}
    equal((session["equal"], session["complete"]), (False, False), session)
    equal((channels["device"]["result"], channels["device"]["lost_after"]), ("lossy", True), session)
    equal(channels["system"]["result"], "equal", session)
    said = _verify(place, backend, rc=1).stdout
    check("not complete: lines of it are missing" in said, said)
    check("  device: the backend has all lines that are here, and was told that what followed is lost\n" in said, said)


def what_was_given_up_and_came_back_is_told_as_it_is(place):
    """An active file was away, and its lines are at the backend since it is back: of all, none is missing; of a part, what followed."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for part, rc, told in ((None, 0, "1 of 1 session equal"), (5, 1, "  device: the backend has all lines that are here, and was told that what followed is lost\n")):
        logs = place.path / f"logs-{part}"
        logs.mkdir()
        writer = Live(logs)
        writer.line("device", times=8)
        writer.end()
        active = writer.active("device")
        lines = active.read_bytes().splitlines(keepends=True)
        active.unlink()
        equal(lib.upload(place, backend.url, "--timeout=30", directory=logs).returncode, 1, "it is missed")
        equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "it is given up")
        equal(lib.upload(place, backend.url, "--timeout=30", directory=logs).returncode, 0, "the rest is sent")
        active.write_bytes(b"".join(lines[:part]))
        equal(lib.upload(place, backend.url, "--timeout=30", directory=logs).returncode, rc, "it is sent")
        if part:
            equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "what followed is given up")
            equal(lib.upload(place, backend.url, "--timeout=30", directory=logs).returncode, 0, "it has ended")
        equal(backend.export(writer.id, "device"), b"".join(lines[:part]), "all lines are there")
        said = place.run("gpufl", "verify", logs, f"--backend-url={backend.url}", f"--api-key={lib.KEY}")
        equal(said.returncode, rc, said.stdout)
        check(told in said.stdout and "0 lost" not in said.stdout, said.stdout)


def a_session_whose_recorder_dropped_lines_is_told_alike_by_all(place):
    """It is equal, and never becomes complete. The closing record is older than the last marker."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.line("device", "capture_capabilities", losses={"lines": 3})
    (writer.dir / ".gpufl-transport-loss.spool.0.json").write_text('{"lines":1}\n')
    (writer.dir / ".gpufl-transport-loss.spool.1.json").write_text('{"lines":3}\n')
    writer.end()
    done = lib.upload(place, backend.url)
    check(f"lines were dropped while recording 1 session: {writer.id}" in done.result["message"], done.stdout)
    said = _verify(place, backend, rc=0).stdout
    check("not complete: lines were dropped while recording\n" in said and "complete yet" not in said, said)
    session, = json.loads(_verify(place, backend, "--json", rc=0).stdout)["sessions"]
    equal((session["equal"], session["complete"], session["recording_loss"]), (True, False, True), session)
    told = place.run("gpufl", "status", place.logs).stdout
    check("lines were dropped while recording" in told and "  lost while recording: 4 lines: " in told, told)
    export = place.run("gpufl", "export", writer.dir)
    check(": lost: 4 lines: " in export.stderr, export.stderr)
    (writer.dir / ".gpufl-transport-loss.spool.1.json").unlink()
    check("  lost while recording: 3 lines: " in place.run("gpufl", "status", place.logs).stdout, "the record counts more")


def sessions_of_the_other_layouts_are_not_compared(place):
    lib.copy_samples(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    said = json.loads(_verify(place, backend, "--json", rc=1).stdout)
    found = {c["result"] for s in said["sessions"] for c in s["channels"]}
    equal(found, {"without_positions"}, said)


def what_a_proxy_has_kept_is_not_taken_for_now(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _session(place, ends=False)
    with _Keeps(backend.url) as proxy:
        for _ in range(2):
            equal(lib.upload(place, proxy.url, "--timeout=20").returncode, 0, "sent")
            _verify(place, proxy, rc=0)
            writer.line("device")
            _verify(place, proxy, rc=1)
        equal(proxy.answers, {}, "answers that may be of before")


def a_backend_that_was_restored_is_filled_by_resend(place):
    backend, (old,) = _sent(place)
    db = place.path / "backend.db"
    backend.kill()
    for path in place.path.glob("backend.db*"):
        shutil.copy(path, place.path / f"old-{path.name}")
    backend.start()
    new = _session(place)
    equal(lib.upload(place, backend.url).returncode, 0, "the second is sent")
    backend.kill()
    for path in place.path.glob("backend.db*"):
        path.unlink()
    for path in place.path.glob(f"old-{db.name}*"):
        shutil.copy(path, place.path / path.name[4:])
    backend.start()
    _verify(place, backend, rc=1)
    said = _verify(place, backend, "--resend", rc=0)
    check("2 of 2 sessions equal" in said.stdout, said.stdout)
    for writer in (old, new):
        lib.same(backend, writer.dir)
        equal(streams(backend, writer.id)[0]["state"], "verified", writer.id)


def a_resend_that_moves_the_journal_takes_the_equal_sessions_along(place):
    backend, (one,) = _sent(place)
    saved = lib.Backend(place, "--api-key", lib.KEY, "--db", place.path / "saved.db")
    equal(lib.upload(place, saved.url, "--state-dir", place.path / "other").returncode, 0, "it has the first")
    two = _session(place)
    equal(lib.upload(place, backend.url).returncode, 0, "the second is sent")
    said = _verify(place, saved, "--resend", rc=0)
    check("2 of 2 sessions equal" in said.stdout, said.stdout)
    status = place.run("gpufl", "status", place.logs)
    equal(status.returncode, 0, status.stdout)
    for writer in (one, two):
        lib.same(saved, writer.dir)


def resend_tells_the_end_of_a_session_that_is_all_there(place):
    """As of a backend that was restored from a backup of just before it was told."""
    backend, (writer,) = _sent(place)
    backend.kill()
    with contextlib.closing(sqlite3.connect(place.path / "backend.db")) as db, db:
        db.execute("UPDATE session SET complete = 0")
    backend.start()
    check("equal" in _verify(place, backend, rc=0).stdout, "all lines are there")
    equal(streams(backend, writer.id)[0]["state"], "open", "verify alone tells nothing")
    said = _verify(place, backend, "--resend", rc=0)
    check("not complete yet" not in said.stdout, said.stdout)
    equal(streams(backend, writer.id)[0]["state"], "verified", "it is told")


def lines_without_positions_are_not_stored_twice_by_resend(place):
    """What the backend lacks of the other channels is sent, be its session complete."""
    for ends in (False, True):
        backend = lib.Backend(place, "--api-key", lib.KEY)
        writer = Live(place.logs)
        writer.line("device", times=50)
        with Gateway(backend.url, lambda *_: "pass", positions=False) as before:
            equal(lib.upload(place, before.url).returncode, 0, "sent to a backend of before")
        writer.next["sass"], writer.bytes["sass"] = 1, 0
        writer.line("sass", "job_start")
        if ends:
            writer.line("sass", "shutdown")
            writer.end()
        equal(lib.upload(place, backend.url, "--same-origin").returncode, 0, "it knows positions now")
        writer.line("sass", times=2)
        done = _verify(place, backend, "--resend", rc=1)
        check("without positions would be stored twice (gpufl upload --force" in done.stderr, done.stderr)
        equal(_results(place, backend, writer), {"sass": "equal", **dict.fromkeys(Live.channels, "without_positions")}, ends)
        for channel in ("device", "sass"):
            equal(backend.export(writer.id, channel), writer.written[channel], channel)
        backend.kill()
        shutil.rmtree(place.logs)
        place.logs.mkdir(mode=0o700)


def lines_that_the_backend_deleted_are_said(place):
    """Which does not tell whether for their age or for room."""
    backend = lib.Backend(place, "--api-key", lib.KEY, "--max-db-bytes", "1MiB")
    writers = Live(place.logs), Live(place.logs)
    for writer in writers:
        for _ in range(10):
            writer.line("device", blob=os.urandom(70000).hex())
        writer.end()
        equal(lib.upload(place, backend.url, "--session-id", writer.id).returncode, 0, "sent")
    lib.until(lambda: backend.session(writers[0].id) is None, "the first one is deleted")
    done = _verify(place, backend, rc=1)
    check("  device: the backend has deleted its lines, for their age or for room\n" in done.stdout, done.stdout)


def what_cannot_be_asked_is_an_error(place):
    backend, _ = _sent(place)
    for args, env, words in (
            (["--backend-url", backend.url], {"GPUFL_API_KEY": "wrong"}, ("GPUFL_API_KEY: the backend refused the API key: HTTP 401",)),
            (["--backend-url", "http://127.0.0.1:1"], {"GPUFL_API_KEY": lib.KEY}, ("--backend-url: 'http://127.0.0.1:1': ",)),
            ([], {"GPUFL_API_KEY": lib.KEY}, ("--backend-url: missing",)),
            (["--backend-url", backend.url, "--session-id", "none"], {"GPUFL_API_KEY": lib.KEY},
             ("--session-id: 'none': no such session",)),
            (["--backend-url", backend.url, "--state-dir", "none"], {"GPUFL_API_KEY": lib.KEY},
             ("--state-dir: 'none'",))):
        done = place.run("gpufl", "verify", place.logs, *args, env=env)
        equal(done.returncode, 2, done.stdout + done.stderr)
        for word in words:
            check(word in done.stderr, done.stderr)
    with _Refuses(backend.url, lambda *_: "pass") as front:
        done = place.run("gpufl", "verify", place.logs, "--backend-url", front.url, env={"GPUFL_API_KEY": lib.KEY})
        equal((done.returncode, done.stderr), (2, f"gpufl verify: --backend-url: '{front.url}': {sink.SAYS_403}: HTTP 403 (check "
                                                  "the URL, or try again later)\n"), "nobody knows what it is about")


def what_cannot_be_asked_is_an_error_in_an_empty_directory_too(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for url, key, code, word in ((backend.url, lib.KEY, 1, "no session to compare"),
                                 (backend.url, "wrong", 2, "GPUFL_API_KEY: the backend refused"),
                                 ("http://127.0.0.1:1", lib.KEY, 2, "--backend-url: 'http://127.0.0.1:1': "),
                                 (backend.url + "/x", lib.KEY, 2, "--backend-url: ")):
        done = place.run("gpufl", "verify", place.logs, "--backend-url", url, env={"GPUFL_API_KEY": key})
        equal((done.returncode, word in done.stderr), (code, True), (url, key, done.stderr))


def a_hole_is_compared_without_being_read(place):
    """A terabyte of zeros that are nowhere on disk, in a line that is too long to be sent."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _session(place, ends=False)
    with open(writer.active("device"), "r+b") as file:
        file.truncate(1 << 40)
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    writer.line("device", after=True)
    writer.end()
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["ranges_quarantined"]), (1, 1), done.stdout)
    equal(backend.export(writer.id, "device"), writer.written["device"], "the lines around it")
    equal(_channel(place, backend, writer, "device")["result"], "lossy", "compared")


def a_compressed_file_that_holds_too_much_is_not_compared(place):
    """10 MiB that hold 10 GiB, before a session that is compared; of both, a file was compressed by another tool."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    bomb, sound = (_session(place, lines=20000) for _ in range(2))
    equal(lib.upload(place, backend.url, "--session-id", sound.id).returncode, 0, "sent")
    sealed = sound.dir / "device.1.log"
    (sound.dir / "device.1.log.gz").write_bytes(gzip.compress(sealed.read_bytes(), 9))
    sealed.unlink()
    (bomb.dir / "device.1.log").unlink()
    member = gzip.compress(b"\n" * (64 << 20), 9)
    (bomb.dir / "device.1.log.gz").write_bytes(member * 160)
    for ask in ((), ("--session-id", bomb.id)):
        done = _verify(place, backend, *ask, rc=1)
        check("  device: not compared: file 1 is compressed, and holds more than lines do for its size\n" in done.stdout,
              done.stdout)
        check(ask or "1 of 2 sessions equal\n" in done.stdout, done.stdout)
    said = {s["session_id"]: s for s in json.loads(_verify(place, backend, "--json", rc=1).stdout)["sessions"]}
    equal({c["channel"]: c["result"] for c in said[bomb.id]["channels"]},
          {"device": "excessive", "scope": "behind", "system": "behind"}, "the others go on")
    equal((said[sound.id]["equal"], said[bomb.id]["equal"]), (True, False), f"{said}")


def status_counts_lines_and_no_half_ones(place):
    """Of a killed writer; a whole line without its newline is sent, and counts."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    for channel, end in (("device", '{"type":"x"'), ("scope", '{"type":"x","session_id":"%s"}' % writer.id)):
        with open(writer.active(channel), "a") as file:
            file.write(end)
    writer.die()
    equal(lib.upload(place, backend.url).returncode, 0, "sent")
    told = json.loads(place.run("gpufl", "status", place.logs, "--json").stdout)["sessions"][0]
    equal({c["channel"]: c["settled_lines"] for c in told["channels"]}, {"device": 1, "scope": 2, "system": 1}, told)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
