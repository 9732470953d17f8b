# SPDX-License-Identifier: Apache-2.0
"""The journal is lost or damaged, and the progress file beside the logs is left: what was not delivered stays so, and is
said, until a person gives it up or has it sent again."""
import os
import shutil
import sys

import lib
from lib import check, equal, until
import positions
import sink
from writers import Live, Windows

NO_OBJECT = b"no object\n"
STATE = ".gpufl-agent"


def _poison(_, request):
    return (400, "no 'poison'") if request.is_batch and b"poison" in request.raw() else None


def _closed(_, request):
    return (409, "session_final") if request.is_batch and b'"scope"' in request.raw() else None


def _written(logs, kind, more=b""):
    """A session of which one line, that of the middle, is poison."""
    writer = kind(logs)
    for n in range(30):
        writer.line("device", "poison" if n == 15 else "x")
        writer.line("scope")
        if n == 20:
            writer.rotate("device")
    writer.raw("device", more)
    writer.end()
    return writer


def _upload(place, url, logs, *args):
    return lib.upload(place, url, *args, directory=logs)


def _stays_undelivered(place, url, writer, logs, completed, ranges=True, final=False):
    """A run with the journal, and two without it, end alike; the way out that is printed leads out. Another one is printed
    where it is one: final: the backend takes these lines no more."""
    equal((_upload(place, url, logs).returncode, completed()), (1, 0), "with the journal")
    for attempt in ("without it", "with the one after it"):
        if attempt == "without it":
            (logs / STATE / "journal").unlink()
        done = _upload(place, url, logs)
        equal((done.returncode, completed()), (1, 0), f"{attempt}: {done.result} {done.stderr}")
        said = ranges and attempt == "without it"
        equal(("quarantine.lost" in done.stderr, "upload --force" in done.stderr), (said, said and not final),
              f"{attempt}: {done.stderr}")
        told = place.run("gpufl", "status", logs)
        equal(told.returncode, 1, told.stdout)
        check(" refused" in told.stdout and f"gpufl resolve {logs} {writer.id}" in told.stdout, told.stdout)
    if final:
        done = _upload(place, url, logs, "--force", "--session-id", writer.id)
        equal((done.returncode, done.result["events_uploaded"], done.result["ranges_quarantined"]), (1, 0, 0), done.result)
    done = place.run("gpufl", "resolve", logs, writer.id)
    equal(done.returncode, 0, done.stdout + done.stderr)
    done = _upload(place, url, logs)
    equal(done.returncode, 0, f"it is given up: {done.result} {done.stderr}")
    check(completed(), "and the end is told")


def what_was_refused_stays_so_though_the_journal_is_lost(place):
    rows = [(kind, declare, answer) for kind in (Live, Windows) for declare in (True, False)
            for answer in (_poison, _closed) if answer is _poison or kind is Live]
    for number, (kind, declare, answer) in enumerate(rows):
        logs = place.path / f"logs-{number}"
        logs.mkdir(mode=0o700)
        writer = _written(logs, kind)
        with sink.Sink(answer, declare=declare) as s:
            _stays_undelivered(place, s.url, writer, logs,
                               lambda s=s: sum(r.path.endswith("session-complete") for r in s.requests),
                               ranges=answer is _poison)


def what_the_backend_skipped_stays_so_though_the_journal_is_lost(place):
    """With positions, that backend knows the rest, and nothing is sent twice."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _written(place.logs, Live, NO_OBJECT)
    _stays_undelivered(place, backend.url, writer, place.logs,
                       lambda: positions.streams(backend, writer.id)[0]["state"] == "ended", final=True)
    writer.written["device"] = bytes(writer.written["device"]).replace(NO_OBJECT, b"")
    lib.holds(backend, writer)


def what_the_backend_skipped_stays_so_though_the_tail_of_the_journal_is_lost(place):
    """The journal is that of before the skip, and whole: the backend tells, with the progress file or without."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for beside in ("progress", None):
        logs = place.path / f"tail-{beside}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        writer.line("device")
        state = logs / STATE
        agent = lib.agent(place, backend.url, "--flush-interval=20ms", folder=logs)
        until(lambda w=writer, s=state: f" device 1 {len(w.written['device'])} " in (s / "progress").read_text(), "it is published")
        agent.kill()
        agent.wait()
        before = (state / "journal").read_bytes()
        writer.raw("device", NO_OBJECT)
        writer.end()
        equal(_upload(place, backend.url, logs).returncode, 1, "it is skipped")
        (state / "journal").write_bytes(before)
        if not beside:
            (state / "progress").unlink()
        for attempt in ("without the tail", "with what came of it"):
            done = _upload(place, backend.url, logs)
            equal(done.returncode, 1, f"{attempt}: {done.result} {done.stderr}")
            told = place.run("gpufl", "status", logs)
            equal((told.returncode, f"gpufl resolve {logs} {writer.id}" in told.stdout), (1, True), told.stdout)
        equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "it is given up")
        for _ in range(2):
            done = _upload(place, backend.url, logs)
            equal((done.returncode, positions.streams(backend, writer.id)[0]["state"]), (0, "ended"), done.result)


def sent_again_by_force_they_are_quarantined_by_name(place):
    writer = _written(place.logs, Live)
    with sink.Sink(_poison, declare=True) as s:
        equal(_upload(place, s.url, place.logs).returncode, 1, "one is refused")
        (place.logs / STATE / "journal").unlink()
        equal(_upload(place, s.url, place.logs).returncode, 1, "without a journal")
        equal(place.run("gpufl", "quarantine", "list", place.logs).stdout, "", "nobody knows which")
        done = _upload(place, s.url, place.logs, "--force", "--session-id", writer.id)
        equal((done.returncode, done.result["ranges_quarantined"]), (1, 1), str(done.result))
        s.answer = None
        done = place.run("gpufl", "quarantine", "retry", "--all", place.logs, "--backend-url", s.url, "--api-key", lib.KEY)
        equal(done.returncode, 0, done.stdout + done.stderr)
        equal(_upload(place, s.url, place.logs).returncode, 0, "nothing is refused any more")
        equal(set(s.lines), {line for data in writer.written.values() for line in bytes(data).splitlines()}, "all of it")


def what_an_earlier_backend_got_is_missed_though_the_journal_is_lost(place):
    writer = Live(place.logs)
    writer.line("device")
    writer.rotate("device")
    writer.end()
    with sink.Sink(declare=True) as first:
        equal(_upload(place, first.url, place.logs).returncode, 0, "sent to the first")
    (writer.dir / "device.log").unlink()
    with sink.Sink(declare=True) as s:
        for attempt in ("with the journal", "without it", "with the one after it"):
            if attempt == "without it":
                (place.logs / STATE / "journal").unlink()
            done = _upload(place, s.url, place.logs)
            equal(done.returncode, 1, f"{attempt}: {done.result}")
            told = place.run("gpufl", "status", place.logs).stdout
            check("files that an earlier backend got were deleted" in told, f"{attempt}: {told}")
        check(not any(r.path.endswith("session-complete") for r in s.requests), "its end is not told")


def windows_that_were_deleted_do_not_wait_though_the_state_is_lost(place):
    """The session is complete, and marked so."""
    writer = Windows(place.logs)
    writer.line("device")
    writer.end()
    with sink.Sink(declare=True) as s:
        agent = lib.agent(place, s.url, "--delete-acked=acknowledged", "--exit-when-drained")
        equal(agent.wait(), 0, agent.log.read_text())
        equal(list(writer.dir.glob("*.gz")), [], "all windows are deleted")
        shutil.rmtree(place.logs / STATE)
        equal(place.run("gpufl", "status", place.logs).returncode, 1, "nothing is known of them")
        for _ in range(2):
            equal(_upload(place, s.url, place.logs).returncode, 0, "nothing to send")
            told = place.run("gpufl", "status", place.logs)
            equal((told.returncode, "wait" in told.stdout), (0, False), told.stdout)


def behind_a_damaged_journal_the_backend_says_where_a_stream_ends(place):
    """The journal of earlier, of which a byte has flipped, and the progress of now, which names no end that the backend
    would take."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    agent = lib.agent(place, backend.url, "--flush-interval=20ms", "--rescan-interval=100ms")
    state = place.logs / STATE
    progress = state / "progress"

    def sent():
        for channel in Live.channels:
            writer.line(channel)
        until(lambda: all(f" {c} 1 {len(writer.written[c])} " in progress.read_text() for c in Live.channels), "it is published")

    sent()
    journal = (state / "journal").read_bytes()
    sent()
    agent.kill()
    agent.wait()
    published = progress.read_bytes()
    used = len(journal.rstrip(b"\0"))
    begin = 4096 + 64
    damaged = 0
    for at in range(begin, used, max(1, (used - begin) // 12)):
        (state / "journal").write_bytes(journal[:at] + bytes([journal[at] ^ 0x55]) + journal[at + 1:])
        progress.write_bytes(published)
        for channel in Live.channels:
            writer.line(channel)
        done = _upload(place, backend.url, place.logs)
        damaged += "journal.damaged" in done.stderr
        equal(done.returncode, 0, f"byte {at}: {done.result} {done.stderr}")
        lib.holds(backend, writer)
    check(damaged > 3, f"{damaged} times the middle was damaged, of a journal of {used} bytes")
    writer.end()
    equal((_upload(place, backend.url, place.logs).returncode, backend.complete(writer.id)), (0, True), "its end")


def what_was_never_sent_is_not_given_up_though_the_journal_is_lost(place):
    """A file that was sent is gone, and the next one, of which nothing was sent: the progress file names its beginning."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)

    def gone(number):
        (writer.dir / f"scope.{number}.log").rename(place.path / f"away-{number}")

    writer.line("scope")
    equal(_upload(place, backend.url, place.logs).returncode, 0, "the first is sent")
    for n in range(3):
        writer.rotate("scope")
        writer.line("scope", f"later-{n}")
    gone(2)
    for also in (None, 1):
        if also:
            gone(also)
            writer.end()
            (place.logs / STATE / "journal").unlink()
        for attempt in ("at first", "again"):
            done = _upload(place, backend.url, place.logs)
            equal((done.returncode, backend.complete(writer.id)), (1, False), f"{also} {attempt}: {done.result} {done.stderr}")
    (place.path / "away-2").rename(writer.dir / "scope.2.log")
    (place.path / "away-1").rename(writer.dir / "scope.1.log")
    equal((_upload(place, backend.url, place.logs).returncode, backend.complete(writer.id)), (0, True), "they are back")
    lib.holds(backend, writer)


def an_active_file_that_was_sealed_later_is_not_sent_twice(place):
    """Its first files were gone and nothing told its number: it was sent as the first one. Or it is another file, which is
    sent as a whole."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for number, (other, more) in enumerate([(False, 2), (False, 0), (True, 2)]):
        logs = place.path / f"sealed-{number}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        writer._tell = lambda *_: None
        os.pwrite(writer.lock, b"\0" * 512, 0)
        for _ in range(0 if other else 3):
            writer.line("scope")
            writer.rotate("scope")
        gone = 0 if other else len(writer.written["scope"])
        for sealed in writer.dir.glob("scope.[123].log"):
            sealed.unlink()
        writer.line("scope", times=2)
        _upload(place, backend.url, logs)
        sent = len(backend.export(writer.id, "scope"))
        equal(sent, len(writer.written["scope"]) - gone, "sent as the first")
        for n in range(3 if other else 0):
            writer.rotate("scope")
            gone = len(writer.written["scope"])
            writer.line("scope", f"later-{n}", times=2)
        for sealed in writer.dir.glob("scope.[123].log"):
            sealed.unlink()
        for _ in range(more):
            writer.line("scope")
        writer.rotate("scope")
        writer.end()
        shutil.rmtree(logs / STATE)
        equal(_upload(place, backend.url, logs).returncode, 1, "files are gone")
        equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "they are given up")
        for attempt in ("then", "again"):
            done = _upload(place, backend.url, logs)
            equal((done.returncode, positions.streams(backend, writer.id)[0]["state"]), (0, "ended"), f"{attempt}: {done.result}")
            before = bytes(writer.written["scope"])[:sent] if other else b""
            equal(backend.export(writer.id, "scope"), before + bytes(writer.written["scope"])[gone:], f"{number} {attempt}")


def what_may_come_twice_after_a_lost_state_is_said(place):
    """Where the backend keeps positions, nothing is repeated, and nothing is said."""
    def lose(url, logs, said):
        for why, says in (("at first", said), ("with the journal", False), ("without it", said)):
            if why == "without it":
                shutil.rmtree(logs / STATE)
            done = _upload(place, url, logs)
            equal((done.returncode, "journal.new" in done.stderr), (0, says), f"{why}: {done.stderr}")

    with sink.Sink() as s:
        _ended_in(place.path / "ids")
        lose(s.url, place.path / "ids", True)
        equal(len(s.lines), 2 * len(set(s.lines)), "each line comes twice")
    _ended_in(place.path / "positions")
    lose(lib.Backend(place, "--api-key", lib.KEY).url, place.path / "positions", False)


def a_new_journal_is_said_by_the_run_that_sends_if_not_by_the_one_that_made_it(place):
    """That one got no answer; a progress file tells of what was sent."""
    writer = Live(place.logs)
    writer.line("device", times=3)
    journal = place.logs / STATE / "journal"
    with sink.Sink() as s:
        lib.upload(place, s.url)
        journal.unlink()
        s.declare = 503
        done = lib.upload(place, s.url, "--timeout", "1s")
        check("journal.new" not in done.stderr and journal.exists(), done.stderr)
        s.declare = False
        done = lib.upload(place, s.url)
        equal(done.stderr.count("journal.new"), 1, done.stderr)


def _ended_in(logs):
    logs.mkdir()
    writer = Live(logs)
    writer.line("device")
    writer.end()


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
