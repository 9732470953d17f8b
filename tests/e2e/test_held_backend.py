# SPDX-License-Identifier: Apache-2.0
"""Each reason for which a session is held because of what its backend has: it is said, its way out is said and leads
out, and nothing is stored twice."""
import gzip
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

import lib
from gateway import PASS, Gateway
from held import is_held
from lib import check, equal
from positions import streams
from writers import Live, Shifting, end_job_of

STATE = ".gpufl-agent"


def _backend(place, *args):
    return lib.Backend(place, "--api-key", lib.KEY, *args)


def _upload(place, url, *args):
    done = lib.upload(place, url, "--timeout=30", *args)
    check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    return done


def _status(place):
    return place.run("gpufl", "status", place.logs)


def _is_held(place, done, key):
    return is_held(done, _status(place), key)


def _goes_on(place, backend, writer):
    """… to its end: the backend has all that was written, once, and knows it."""
    done = _upload(place, backend.url)
    equal(done.returncode, 0, done.stdout + done.stderr)
    lib.holds(backend, writer)
    equal(streams(backend, writer.id)[0]["state"], "verified", "state")
    status = _status(place)
    equal(status.returncode, 0, status.stdout)


def _ended(place, backend, writer, words, losses):
    """A person gives up the rest: what was lost is counted, and said."""
    done = place.run("gpufl", *words)
    equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
    done = _upload(place, backend.url)
    equal(done.returncode, 0, done.stdout + done.stderr)
    equal([done.result[f"sessions_{figure}"] for figure in ("complete", "ended")], [0, 1], done.stdout)
    said, ends = streams(backend, writer.id)
    equal((said["state"], ends["device"]["losses"], ends["scope"]["losses"]), ("ended", losses, 0), said)
    status = _status(place)
    check("not complete" in status.stdout, status.stdout)


def _two_ways(place, run):
    """What was wrong is mended, or given up; each time with another backend."""
    for resolve in (False, True):
        place.logs = place.path / f"logs-{resolve}"
        place.logs.mkdir(mode=0o700)
        backend = _backend(place)
        run(backend, resolve)
        backend.kill()
        for file in place.path.glob("backend.db*"):
            file.unlink()


def _sent(place, url, files=2, lines=200):
    """A session of which all is sent, of a writer that goes on."""
    writer = Live(place.logs)
    for n in range(files):
        for channel in Live.channels:
            for _ in range(lines):
                writer.line(channel, rank=n)
            if n < files - 1:
                writer.rotate(channel)
    done = _upload(place, url)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return writer


def _lose_journal(place):
    shutil.rmtree(place.logs / STATE)


def other_lines_than_those_of_the_backend(place):
    def run(backend, resolve):
        writer = _sent(place, backend.url)
        _lose_journal(place)
        writer.end()
        path = writer.active("device")
        was = path.read_bytes()
        stored = backend.export(writer.id, "device")
        lines = was.splitlines(keepends=True)
        lines[50] = lines[50].replace(b"rank", b"RANK")
        path.write_bytes(b"".join(lines))
        words = _is_held(place, _upload(place, backend.url), "backend_other")
        equal(backend.export(writer.id, "device"), stored, "nothing of it is sent")
        if resolve:
            _ended(place, backend, writer, words, 1)
            equal(backend.export(writer.id, "device"), stored + b"".join(lines[50:]), "from the line that differs")
        else:
            path.write_bytes(was)
            _goes_on(place, backend, writer)

    _two_ways(place, run)


def files_that_end_before_the_lines_of_the_backend(place):
    """The backend is in the second file, and only part of the first is there."""
    def run(backend, resolve):
        writer = _sent(place, backend.url)
        _lose_journal(place)
        writer.end()
        kept = place.path / f"kept-{resolve}"
        shutil.copytree(writer.dir, kept)
        lines = (writer.dir / "device.1.log").read_bytes().splitlines(keepends=True)
        (writer.dir / "device.1.log").unlink()
        writer.active("device").write_bytes(b"".join(lines[:100]))
        os.truncate(writer.dir / ".gpufl-session.lock", 0)  # as before a power failure, to the next boot
        stored = backend.export(writer.id, "device")
        words = _is_held(place, _upload(place, backend.url), "backend_longer")
        if resolve:
            _ended(place, backend, writer, words, 0)
            equal(backend.export(writer.id, "device"), stored, "nothing of it is sent")
        else:
            for name in ("device.1.log", "device.log"):
                shutil.copy(kept / name, writer.dir / name)
            _goes_on(place, backend, writer)

    _two_ways(place, run)


def _complete(place, backend):
    """A session of which all is sent; \\return it, and a copy from before its last file was begun."""
    writer = Live(place.logs)
    writer.line("device", times=5)
    for number in (1, 2, 3):
        writer.rotate("device")
        for n in range(5 if number == 3 else 20):
            writer.line("device", rank=number * 100 + n)
        if number == 1:
            earlier = place.path / f"earlier-{writer.id}"
            shutil.copytree(writer.dir, earlier)
            end_job_of(earlier)
    writer.end()
    _goes_on(place, backend, writer)
    return writer, earlier


def _stays_complete(place, backend, writer, words):
    """Nothing is sent, however often it is said and tried, and whatever runs after that."""
    for _ in range(2):
        place.run("gpufl", *words)
    for _ in range(2):
        _goes_on(place, backend, writer)
        place.run("gpufl", *words)


def an_earlier_copy_of_a_complete_session(place):
    """Its newest file is an earlier one of the session, and longer than the last one; or shorter, the seal being gone."""
    for more in (0, 10):
        place.logs = place.path / f"logs-{more}"
        place.logs.mkdir(mode=0o700)
        backend = _backend(place)
        writer, earlier = _complete(place, backend)
        if more:
            active = earlier / "device.log"
            active.write_bytes(active.read_bytes()[:-more])
        kept = place.path / f"kept-{more}"
        writer.dir.rename(kept)
        shutil.copytree(earlier, writer.dir)
        done = _upload(place, backend.url)
        equal(done.returncode, 1, done.stdout)
        words = shlex.split(re.findall(r"gpufl (resolve .*)$", _status(place).stdout, re.M)[0])
        _stays_complete(place, backend, writer, words)
        shutil.rmtree(writer.dir)
        kept.rename(writer.dir)
        _goes_on(place, backend, writer)
        backend.kill()
        for file in place.path.glob("backend.db*"):
            file.unlink()


def an_earlier_copy_that_was_compared_before_all_of_it_was_there(place):
    """What was found then is not believed any more."""
    backend = _backend(place)
    writer, earlier = _complete(place, backend)
    shutil.rmtree(writer.dir)
    shutil.copytree(earlier, writer.dir, ignore=shutil.ignore_patterns("device.1.log", ".gpufl-session.lock"))
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms")
    lib.until(lambda: "session.held" in agent.log.read_text(), "it is held")
    for name in (".gpufl-session.lock", "device.1.log"):
        shutil.copy2(earlier / name, writer.dir / name)
    done = place.run("gpufl", "resolve", str(place.logs), f"{writer.id}/device")
    equal(done.returncode, 0, done.stdout + done.stderr)
    lib.until(lambda: "session.cut" in agent.log.read_text(), "it is said")
    lib.until(lambda: _status(place).returncode == 0, "nothing is held")
    lib.holds(backend, writer)
    equal(streams(backend, writer.id)[0]["state"], "verified", "state")


def an_earlier_copy_of_a_session_that_was_not_complete(place):
    """Nothing is sent, and what came after the copy may be lost."""
    backend = _backend(place)
    writer = _sent(place, backend.url)
    earlier = place.path / "earlier"
    subprocess.run(["cp", "-a", writer.dir, earlier], check=True)  # this process would lose the lock
    end_job_of(earlier)
    writer.rotate("device")
    writer.line("device", rank=7)
    equal(_upload(place, backend.url).returncode, 0, "it is sent")
    stored = backend.export(writer.id, "device")
    writer.die()
    shutil.rmtree(writer.dir)
    shutil.copytree(earlier, writer.dir)
    done = _upload(place, backend.url)
    equal(done.returncode, 1, done.stdout)
    for words in re.findall(r"gpufl (resolve .*)$", _status(place).stdout, re.M):  # each channel may lack lines
        place.run("gpufl", *shlex.split(words))
    equal(_upload(place, backend.url).returncode, 0, "nothing is held")
    equal(backend.export(writer.id, "device"), stored, "nothing is sent")
    equal(streams(backend, writer.id)[0]["state"], "ended", "state")


def a_complete_session_whose_file_was_cut_in_its_first_line(place):
    backend = _backend(place)
    writer, _ = _complete(place, backend)
    path = writer.active("scope")
    os.truncate(path, 10)
    done = _upload(place, backend.url)
    equal(done.returncode, 1, done.stdout)
    words = shlex.split(re.findall(r"gpufl (resolve .*)$", _status(place).stdout, re.M)[0])
    _stays_complete(place, backend, writer, words)


def a_file_that_was_cut_and_written_on_before_it_was_sealed(place):
    """It is shorter than what was sent of it, and not for a disk that lost the rest: what is new in it is not left."""
    backend = _backend(place)
    writer = _sent(place, backend.url, files=1)
    os.truncate(writer.active("device"), 100)
    for _ in range(3):
        writer.line("device", rank=7)
    new = [line for line in writer.active("device").read_bytes().splitlines(keepends=True) if b'"rank":7' in line][1:]
    writer.rotate("device")
    writer.end()
    stored = backend.export(writer.id, "device")
    words = _is_held(place, _upload(place, backend.url), "backend_other")
    equal(backend.export(writer.id, "device"), stored, "nothing is passed over")
    done = place.run("gpufl", *words)
    equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
    done = _upload(place, backend.url)
    equal(done.returncode, 0, done.stdout + done.stderr)
    export = backend.export(writer.id, "device")
    check(export.startswith(stored), "what was stored stays")
    equal([line for line in new if line not in export], [], "what is new in it is sent")


def an_active_file_that_was_cut_below_what_was_sent_of_it(place):
    """Its writer wrote on, and told that: that the backend has what was sent is not all. Given up, or put back."""
    backend = _backend(place)
    for n in range(4):
        writer = Live(place.logs)
        writer.line("device", times=10)
        equal(_upload(place, backend.url).returncode, 0, "some is sent")
        sent = backend.export(writer.id, "device")
        writer.line("device", times=20)
        writer.end()
        whole = writer.active("device").read_bytes()
        os.truncate(writer.active("device"), len(whole.splitlines(keepends=True)[0]) + 10 * (n // 2))
        for _ in range(2):
            words = _is_held(place, _upload(place, backend.url), "cut")
        equal(backend.export(writer.id, "device"), sent, "nothing is sent")
        if n % 2:
            writer.active("device").write_bytes(whole)
            _goes_on(place, backend, writer)
        else:
            _ended(place, backend, writer, words, 0)
            equal(backend.export(writer.id, "device"), sent, "nothing of it is sent")
        shutil.rmtree(place.logs / STATE)
        shutil.rmtree(writer.dir)


def an_active_file_without_its_last_line_is_held_in_each_channel(place):
    """Of the channel that a real job wrote last, too: it tells that what it wrote is there."""
    backend = _backend(place)
    for channel in Live.channels:
        session = lib.job(place, 0.3)
        file = session / f"{channel}.log"
        whole = file.read_bytes()
        os.truncate(file, whole.rindex(b"\n", 0, -1) + 1)
        _is_held(place, _upload(place, backend.url), "cut")
        file.write_bytes(whole)
        equal(_upload(place, backend.url).returncode, 0, "put back")
        equal(streams(backend, session.name)[0]["state"], "verified", "state")
        shutil.rmtree(session)
        shutil.rmtree(place.logs / STATE)


def _verify(place, backend):
    return place.run("gpufl", "verify", place.logs, "--backend-url", backend.url, env={"GPUFL_API_KEY": lib.KEY})


def _emptied(file, packed):
    whole = file.read_bytes()
    os.truncate(file, 0)
    if packed:
        file.unlink()
        pathlib.Path(f"{file}.gz").write_bytes(gzip.compress(b""))
    return whole


def _put_back(file, whole):
    pathlib.Path(f"{file}.gz").unlink(missing_ok=True)
    file.write_bytes(whole)


def a_rotated_file_that_was_emptied_before_anything_of_it_was_sent(place):
    """Its writer does not tell so: it is held as one that is damaged, and given up, or put back."""
    backend = _backend(place)
    cases = (1, False, True), (1, True, True), (2, False, True), (2, True, False)
    for number, packed, journal in cases:
        for back in (False, True):
            writer = Live(place.logs)
            for _ in range(3):
                writer.line("device", times=5)
                writer.rotate("device")
            writer.end()
            file = writer.dir / f"device.{number}.log"
            whole = _emptied(file, packed)
            words = _is_held(place, _upload(place, backend.url), "damaged")
            equal(_verify(place, backend).returncode, 1, "not equal")
            if not journal:
                shutil.rmtree(place.logs / STATE)
                words = _is_held(place, _upload(place, backend.url), "damaged")
            if back:
                _put_back(file, whole)
                _goes_on(place, backend, writer)
            else:
                _ended(place, backend, writer, words, 1)
                check("1 lost" in _verify(place, backend).stdout, "the backend knows of it")
                equal(len(backend.export(writer.id, "device").splitlines()), 10 + number, "the rest is sent")
            shutil.rmtree(place.logs / STATE)
            shutil.rmtree(writer.dir)


def a_rotated_file_that_was_emptied_is_passed_where_its_writer_tells_that(place):
    """Sent before or not, in either form: what follows is sent, and the session is not complete."""
    backend = _backend(place)
    for sent, packed in (False, False), (False, True), (True, False), (True, True):
        writer = Live(place.logs)
        writer.line("device", times=5)
        if sent:
            equal(_upload(place, backend.url).returncode, 0, "what is before it")
        writer.line("device", times=5)
        writer.rotate("device")
        writer.line("device", times=5)
        writer.end()
        _emptied(writer.dir / "device.1.log", packed)
        (writer.dir / ".gpufl-transport-loss.device.1.json").write_text("{}")
        done = _upload(place, backend.url)
        equal((done.returncode, "lines were dropped" in done.stdout), (0, True), done.stdout)
        check(backend.export(writer.id, "device").endswith(writer.active("device").read_bytes()), "what follows is sent")
        equal(streams(backend, writer.id)[0]["state"], "open", "not complete")
        equal(_verify(place, backend).returncode, 1, "not equal")
        shutil.rmtree(place.logs / STATE)
        shutil.rmtree(writer.dir)


def _pack(file):
    pathlib.Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()


def a_rotated_file_that_was_cut_within_a_line(place):
    """Its writer makes no file behind half a line: the rest of it was cut off."""
    backend = _backend(place)
    for number, packed, sent in (1, False, False), (1, True, False), (2, False, True), (2, True, False), (3, False, True):
        for back in (False, True):
            writer = Live(place.logs)
            for n in range(1, 4):
                if sent and n == number:
                    equal(_upload(place, backend.url).returncode, 0, "what is before it")
                writer.line("device", times=5)
                writer.rotate("device")
            writer.end()
            file = writer.dir / f"device.{number}.log"
            whole = file.read_bytes()
            os.truncate(file, len(whole) - len(whole) // 3)
            left = file.read_bytes().count(b"\n")
            if packed:
                _pack(file)
            words = _is_held(place, _upload(place, backend.url), "damaged")
            equal(_verify(place, backend).returncode, 1, "not equal")
            if back:
                _put_back(file, whole)
                _goes_on(place, backend, writer)
            else:
                _ended(place, backend, writer, words, 1)
                check(backend.export(writer.id, "device").count(b"\n") == 17 - whole.count(b"\n") + left, "the rest is sent")
            shutil.rmtree(place.logs / STATE)
            shutil.rmtree(writer.dir)


def half_a_line_that_a_writer_may_leave_holds_nothing(place):
    """At the end of all, in a file of another program that its writer told, or in the layout of 1.1."""
    backend = _backend(place)
    for kind in "newest", "told", "1.1":
        writer = Shifting(place.logs, compress=False) if kind == "1.1" else Live(place.logs)
        writer.raw("device", b'{"type":"x","n')
        writer.rotate("device")
        if kind == "newest":
            writer.active("device").rename(writer.dir / ".gpufl-next.device.2")
            writer.die()
        else:
            writer.end()
        if kind == "told":
            (writer.dir / ".gpufl-transport-loss.device.1.json").write_text("{}")
        done = _upload(place, backend.url)
        equal(done.returncode, 0, f"{kind}: {done.stdout}")
        equal(streams(backend, writer.id)[1]["device"]["skips"], 1, f"{kind}: the backend knows")
        shutil.rmtree(place.logs / STATE)
        shutil.rmtree(writer.dir)


def a_first_rotated_file_that_lost_its_begin_before_anything_of_it_was_sent(place):
    """As by copytruncate while the job runs: what is there is sent, and a person gives up the rest."""
    backend = _backend(place)
    for packed in (False, True):
        for marked in (False, True):
            writer = Live(place.logs)
            writer.line("device", times=5)
            os.truncate(writer.active("device"), 0)
            writer.line("device", times=3)
            writer.rotate("device")
            writer.end()
            file = writer.dir / "device.1.log"
            if packed:
                _pack(file)
            if marked:
                (writer.dir / ".gpufl-transport-loss.device.1.json").write_text("{}")
            done = _upload(place, backend.url)
            equal(done.returncode, 0 if marked else 1, done.stdout)
            check(("lines were dropped" if marked else "does not start with its job_start") in done.stdout, done.stdout)
            equal(len(backend.export(writer.id, "device").splitlines()), 4, "the rest is sent")
            equal(streams(backend, writer.id)[0]["state"], "open", "not complete")
            done = _verify(place, backend)
            check(done.returncode == 1 and "device: file 1 is not here as it was written" in done.stdout, done.stdout)
            if not marked:
                check("lines or files of it were gone" in _status(place).stdout, "why")
                _ended(place, backend, writer, ("resolve", place.logs, writer.id), 0)
            shutil.rmtree(place.logs / STATE)
            shutil.rmtree(writer.dir)


def a_newest_rotated_file_that_was_emptied_is_missing_for_verify(place):
    """Nothing follows it, so that the backend has all that is there."""
    backend = _backend(place)
    for packed in (False, True):
        writer = Live(place.logs)
        for _ in range(2):
            writer.line("device", times=5)
            writer.rotate("device")
        _emptied(writer.dir / "device.2.log", packed)
        writer.die()
        _is_held(place, _upload(place, backend.url), "damaged")
        done = _verify(place, backend)
        equal(done.returncode, 1, done.stdout)
        check("device: file 2 is not here as it was written" in done.stdout, done.stdout)
        shutil.rmtree(writer.dir)


def lines_up_to_a_file_that_is_gone(place):
    """Another process gives them up than the one that found it."""
    def run(backend, resolve):
        writer = _sent(place, backend.url)
        _lose_journal(place)
        writer.end()
        kept = place.path / f"kept-{resolve}"
        writer.active("device").rename(kept)
        stored = backend.export(writer.id, "device")
        words = _is_held(place, _upload(place, backend.url), "backend_unproved")
        if resolve:
            _ended(place, backend, writer, words, 0)
            equal(backend.export(writer.id, "device"), stored, "nothing of it is sent")
        else:
            kept.rename(writer.active("device"))
            _goes_on(place, backend, writer)

    _two_ways(place, run)


def a_session_that_the_backend_deleted(place):
    """It is not sent again from its first line, as often as it is tried."""
    backend = _backend(place, "--retain-days", "7")
    writer = _sent(place, backend.url)
    backend.kill()
    with sqlite3.connect(place.path / "backend.db") as db:
        db.execute("UPDATE session SET last_seen_ms = last_seen_ms - 8 * 86400000")
    backend.start()
    lib.until(lambda: backend.session(writer.id) is None, "it is deleted")
    writer.end()
    for lose in (False, True):
        if lose:
            _lose_journal(place)
        _is_held(place, _upload(place, backend.url), "expired")
        equal(backend.export(writer.id, "device"), b"", "nothing comes again")
    shutil.rmtree(writer.dir)
    other = Live(place.logs)
    other.end()
    equal(_upload(place, backend.url).returncode, 0, "it is not waited for")
    status = _status(place)
    equal((status.returncode, writer.id in status.stdout), (0, False), status.stdout)
    lib.holds(backend, other)


def a_backend_that_does_not_know_positions_any_more(place):
    """Behind another gateway, say. Nothing goes the old way meanwhile."""
    backend = _backend(place)
    with Gateway(backend.url, lambda *_: PASS) as gateway:
        writer = _sent(place, gateway.url)
        stored = backend.export(writer.id, "device")
        gateway.positions = False
        writer.line("device", times=100)
        writer.end()
        _is_held(place, _upload(place, gateway.url), "no_positions")
        equal(backend.export(writer.id, "device"), stored, "nothing is sent")
        gateway.positions = True
        done = _upload(place, gateway.url)
        equal(done.returncode, 0, done.stdout + done.stderr)
        lib.holds(backend, writer)
        equal(streams(backend, writer.id)[0]["state"], "verified", "state")
        equal(_status(place).returncode, 0, "nothing is held")


def another_backend_that_got_the_channel_without_positions(place):
    """At the address of the right one, which comes back."""
    backend = _backend(place)
    writer = _sent(place, backend.url)
    backend.kill()
    kept = place.path / "kept"
    kept.mkdir()
    for file in place.path.glob("backend.db*"):
        file.rename(kept / file.name)
    backend.start()
    with Gateway(backend.url, lambda *_: PASS, positions=False) as gateway:
        (place.logs / STATE).rename(kept / STATE)
        done = _upload(place, gateway.url)
        equal(done.returncode, 0, done.stdout + done.stderr)
        _lose_journal(place)
        (kept / STATE).rename(place.logs / STATE)
    stored = backend.export(writer.id, "device")
    said = streams(backend, writer.id)[0]
    check(stored and "device" in said["without_positions"], f"it has the channel without positions: {said} {stored[:80]}")
    writer.line("device", times=100)
    writer.end()
    _is_held(place, _upload(place, backend.url), "without_positions")
    equal(backend.export(writer.id, "device"), stored, "nothing is sent")
    backend.kill()
    for file in place.path.glob("backend.db*"):
        file.unlink()
    for file in kept.iterdir():
        file.rename(place.path / file.name)
    backend.start()
    _goes_on(place, backend, writer)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
