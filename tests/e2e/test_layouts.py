# SPDX-License-Identifier: Apache-2.0
"""Directories of the existing clients: 1.1, whose files shift while they are read."""
import gzip
import json
import os
import re
import shutil
import signal
import sys
import zlib

import lib
from lib import check, equal, until
import sink
from writers import KEPT, Live, SHIFTING_ID as SESSION, Shifting, Windows


def a_finished_11_session_is_sent_in_order(place):
    """Any mix: rotated and compressed, rotated and plain, the last one compressed or not."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Shifting(place.logs)
    for n in range(400):
        writer.line("scope", pad="p" * (n % 700))
        writer.line("device")
        if n % 30 == 29:
            writer.compress = n % 60 == 29
            writer.rotate("scope")
    writer.compress = True
    (writer.dir / ".gpufl-session.lock").write_text("")  # as other tools plant one
    writer.end()
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, done.stderr)
    lib.holds(backend, writer)
    check(backend.complete(SESSION), "every channel ends in shutdown: complete")
    again = lib.upload(place, backend.url)
    equal((again.returncode, again.result["events_uploaded"]), (0, 0), "the second run")


def what_is_removed_last_ends_a_session_at_once(place):
    """Not at the next look, a minute later: `.tmp` by whoever published what a dead 1.3 job left, and in 1.1 the plain
    file behind its compressed form."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url)
    windows, shifting = Windows(place.logs), Shifting(place.logs, compress=False)
    for writer in (windows, shifting):
        writer.line("device")
        writer.line("scope")
        until(lambda w=writer: w is windows or backend.export(w.id, "scope"), "it is watched")
    for channel in windows.channels:
        windows.line(channel, "shutdown")
        windows.rotate(channel)
    windows.die()
    packed = shifting.dir / "device.log.gz"
    packed.write_bytes(gzip.compress(shifting.active("device").read_bytes())[:-9])
    os.utime(packed, (1, 1))  # nobody is compressing it any more
    until(lambda: {writer.id for writer in (windows, shifting) if re.search(
        rf"session.(held|refused) session={writer.id}", agent.log.read_text())} == {windows.id, shifting.id}, "both wait")
    shifting.end()
    until(lambda: all(b'"shutdown"' in backend.export(shifting.id, c) for c in shifting.channels), "all of it is sent")
    windows.tmp.rmdir()
    packed.unlink()
    for writer in (windows, shifting):
        until(lambda w=writer: backend.complete(w.id), f"{writer.id} is complete")
        lib.holds(backend, writer)


def records_written_with_spaces_end_a_session_too(place):
    """As json.dumps writes them by default, and many a Python program with it."""
    class Spaced(Shifting):
        separators = (", ", ": ")
    writer = Spaced(place.logs)
    for _ in range(3):
        for channel in writer.channels:
            writer.line(channel)
        writer.rotate("scope")
    writer.end()
    with sink.Sink() as s:
        done = lib.upload(place, s.url)
        equal(done.returncode, 0, done.stderr)
        equal((done.result["sessions"], done.result["sessions_complete"]), (1, 1), "complete")
        equal(sorted(s.lines), sorted(b"".join(writer.written.values()).splitlines()), "all lines")
        equal([json.loads(line)["type"] for line in s.lines[-3:]], ["shutdown"] * 3,
              "the end of each channel waits for the others")


def a_live_11_session_is_followed_over_kills_of_the_agent(place):
    """The writer rotates at will; the agent is killed and stopped in between."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Shifting(place.logs)
    flags = ("--flush-interval=10ms", "--max-requests-per-second=0")
    agent = lib.agent(place, backend.url, *flags)
    for turn in range(60):
        for n in range(turn % 7 + 1):
            writer.line("scope", turn=turn, n=n)
            writer.line("system")
        writer.compress = turn % 3 != 0
        writer.rotate("scope")
        if turn % 4 == 0:
            writer.rotate("system")
        if turn % 10 == 3:
            until(lambda: backend.export(SESSION, "scope"), "something is stored")
            agent.kill()
            agent.wait()
            agent = lib.agent(place, backend.url, *flags)
        if turn % 10 == 7:
            agent.send_signal(signal.SIGSTOP)
        if turn % 10 == 9:
            agent.send_signal(signal.SIGCONT)
    writer.compress = True
    writer.end()
    until(lambda: backend.complete(SESSION), "complete", 40)
    lib.holds(backend, writer)


def what_the_writer_dropped_is_said_and_the_rest_is_sent(place):
    """More rotations than it keeps, before anybody looked."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Shifting(place.logs, compress=False)
    done = lib.upload(place, backend.url)
    for _ in range(KEPT + 10):
        writer.line("scope")
        writer.rotate("scope")
    writer.end()
    done = lib.upload(place, backend.url)
    equal(done.returncode, 1, "exit code")
    check("deleted files before they were sent" in done.stderr + json.dumps(done.result),
          done.stderr)
    stored = backend.export(SESSION, "scope")
    head, rest = stored.split(b"\n", 1)
    check(b"job_start" in head and writer.written["scope"].endswith(rest), "in order, and once")
    equal(rest.count(b"\n"), KEPT + 1, "all that was left, and the shutdown")
    check(not backend.complete(SESSION), "not complete")


def status_counts_what_waits(place):
    writer = Shifting(place.logs)
    for _ in range(3):
        writer.line("device")
        writer.rotate("device")
    writer.end()
    before = place.run("gpufl", "status", place.logs)
    equal(before.returncode, 1, "exit code while something waits")
    check(re.search(r"device +0 lines settled, 4 files wait$", before.stdout, re.M), before.stdout)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "upload")
    after = place.run("gpufl", "status", place.logs)
    equal((after.returncode, "wait" in after.stdout), (0, False), after.stdout)


def force_sends_a_11_session_again_from_its_oldest_file(place):
    writer = Shifting(place.logs)
    for n in range(40):
        writer.line("scope")
        if n % 10 == 9:
            writer.rotate("scope")
    writer.end()
    with sink.Sink() as s:
        for flags in ((), ("--force",)):
            before = len(s.batches())
            equal(lib.upload(place, s.url, *flags).returncode, 0, f"{flags}")
            sent = b"".join(r.raw() for r in s.batches()[before:])
            equal(sorted(sent.splitlines()),
                  sorted(b"".join(writer.written.values()).splitlines()), f"{flags}: all of it")


def _cursor(place, **positions):
    """cursor.json as the JVM agent writes it; keys `<channel>`, of the shifting session."""
    path = place.path / "cursor.json"
    entry = {"fileIndex": 0, "offset": 0, "fileKey": None, "fileSize": 0, "headSig": 0}
    path.write_text(json.dumps({"streams": {f"{SESSION}.{channel}": {**entry, **position}
                                            for channel, position in positions.items()}}, indent=2))
    return f"--cursor-file={path}"


def the_jvm_agents_cursor_is_where_a_11_session_goes_on(place):
    """It stood in the active file, which has rotated since: found by its head."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Shifting(place.logs)
    writer.rotate("scope")
    writer.line("scope", pad="p" * 600)
    head = (writer.dir / "scope.log").read_bytes()
    sent = len(writer.written["scope"])
    for _ in range(3):
        writer.line("scope")
        writer.rotate("scope")
    writer.end()
    flag = _cursor(place, scope={"offset": len(head), "headSig": zlib.crc32(head[:512])})
    for _ in range(2):  # imported once: the second run sends nothing
        process = lib.agent(place, backend.url, "--exit-when-drained", flag)
        equal(process.wait(30 * lib.SLOW), 0, process.log.read_text())
        equal(backend.export(SESSION, "scope"), writer.written["scope"][sent:], "the rest, once")
        equal(backend.export(SESSION, "device"), writer.written["device"], "a channel without entry")


def the_jvm_agents_cursor_is_where_windows_go_on(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    first, second = lib.copy_samples(place)
    flag = f"--cursor-file={place.path / 'cursor.json'}"
    (place.path / "cursor.json").write_text(json.dumps({"streams": {
        f"{first.name}.device": {"fileIndex": 2, "offset": 0},
        f"{first.name}.sass": {"fileIndex": "2", "offset": 0}}}))  # not sound: ignored
    process = lib.agent(place, backend.url, "--exit-when-drained", flag)
    equal(process.wait(30 * lib.SLOW), 0, process.log.read_text())
    equal(backend.export(first.name, "device"), b"", "what was sent is not sent again")
    equal(process.log.read_text().count("cursor.imported"), 1, "one position is taken over")
    for session, channel in ((first, "scope"), (first, "sass"), (second, "device")):
        check(backend.export(session.name, channel) ==
              lib.on_disk(lib.SAMPLES / session.name, channel), f"{session.name} {channel}")


def a_cursor_file_that_is_none_is_refused(place):
    path = place.path / "cursor.json"
    for text in ("{", "[]", "7", '{"streams":[]}', '{"stream":{}}'):
        path.write_text(text)
        done = place.run("gpufl-agent", f"--folder={place.logs}", "--host=http://127.0.0.1:9",
                         f"--cursor-file={path}")
        equal(done.returncode, 1, text)
        check("--cursor-file" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    path.unlink()
    with sink.Sink() as s:
        process = lib.agent(place, s.url, "--exit-when-drained", "--exit-if-empty",
                            f"--cursor-file={path}")
        equal(process.wait(20 * lib.SLOW), 0, "none yet: it starts")


def a_cursor_file_without_positions_is_a_fresh_start(place):
    """What the JVM agent leaves before it has sent anything; a live session is none of its own."""
    path = place.path / "cursor.json"
    old, = lib.copy_samples(place)[:1]
    live = Live(place.logs)
    live.end()
    for n, text in enumerate(("", " \n", "{}", "{ }\n", '{"streams":{}}', json.dumps({"streams": {
            f"{live.id}.scope": {"fileIndex": 3, "offset": 9}, f"{old.name}.device": {"fileIndex": 1, "offset": 0}}}))):
        path.write_text(text)
        with sink.Sink(declare=True) as s:
            process = lib.agent(place, s.url, "--exit-when-drained", "--retain-acked-payloads",
                                f"--cursor-file={path}", f"--state-dir={place.path / str(n)}",
                                folder=shutil.copytree(place.logs, place.path / f"logs-{n}", copy_function=shutil.copy2))
            equal(process.wait(30 * lib.SLOW), 0, f"{text!r}: {process.log.read_text()}")
            equal(b"".join(x + b"\n" for x in s.lines if live.id.encode() in x and b'"scope"' in x),
                  bytes(live.written["scope"]), "everything is sent")
            log = process.log.read_text()
            equal(log.count("cursor.imported"), 0, f"{text!r}: {log}")
            equal("cursor.none" in log, "streams" not in text, f"{text!r}: {log}")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
