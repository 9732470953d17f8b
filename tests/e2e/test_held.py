# SPDX-License-Identifier: Apache-2.0
"""Each reason for which a session is held: it is said, its way out is said and leads out, and nothing is lost or sent
twice."""
import os
import re
import shlex
import shutil
import sys

import lib
import test_held_backend
import test_copied
import test_moved
import test_resolve
import test_resolve_copies
import test_two_users
import test_unread
from held import HELD, is_held
from held_cases import AS_USER, NOBODY, ROOT
from lib import check, equal, until
from sink import Sink
from writers import Live, Shifting, Windows


# Of 65,536, as base/shares.h says.
QUARANTINE_OF_ONE = 36864


def _lines(writer, count=5):
    before = len(bytes(writer.written["device"]).splitlines())
    for _ in range(count):
        writer.line("device")
    return set(bytes(writer.written["device"]).splitlines()[before:])


def _give(place):
    """All of it to a user for whom modes count."""
    place.path.chmod(0o755)
    for path in [place.logs, *place.logs.rglob("*")] if ROOT else []:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _upload(place, sink):
    done = lib.upload(place, sink.url, f"--timeout={100 * lib.SLOW}", timeout=150, **AS_USER)
    check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    return done


def _status(place):
    return place.run("gpufl", "status", place.logs, **AS_USER)


def _is_held(place, done, key):
    return is_held(done, _status(place), key)


def _goes_on(place, sink, writer, lost=frozenset()):
    """… to its end, which is said, without `lost`."""
    done = _upload(place, sink)
    equal(sink.missing(writer), set(lost), f"what is missing: {done.stdout}")
    equal((done.returncode, sink.completes()), (0, 1), done.stdout)
    status = _status(place)
    equal(status.returncode, 0, status.stdout)


def _resolve(place, words):
    done = place.run("gpufl", *words, **AS_USER)
    equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")


def _is_closed(place, sink, writer, path):
    """… as is said, with the name and the reason. Nobody is told to give it up, and it cannot be given up."""
    reason = f"{HELD['closed'][1]} ({path.name}: Permission denied)"
    done = _upload(place, sink)
    equal(_is_held(place, done, "closed"), [], "no command")
    for said in (done.stdout, done.stderr, _status(place).stdout):
        check(reason in said, f"{reason}: {said}")
    for what in (writer.id, f"{writer.id}/device"):
        gives_up = place.run("gpufl", "resolve", place.logs, what, **AS_USER)
        equal((gives_up.returncode, gives_up.stdout), (1, ""), f"{what}: {gives_up.stdout}")
        check(f"nothing of device can be given up: {reason}" in gives_up.stderr, gives_up.stderr)
    equal(sink.completes(), 0, "not complete")


def _opened_again(place, writer, path):
    """Once its mode is mended, all of it is sent."""
    mode = path.stat().st_mode
    path.chmod(0)
    _give(place)
    with Sink(declare=True) as sink:
        _is_closed(place, sink, writer, path)
        path.chmod(mode)
        _goes_on(place, sink, writer)


def _directory_then(place, writer, path, key, lost, resolve):
    """A directory has the name of `path` until it has it again, or is given up."""
    kept = place.path / f"kept-{resolve}"
    path.rename(kept)
    path.mkdir()
    _give(place)
    with Sink(declare=True) as sink:
        done = _upload(place, sink)
        words = _is_held(place, done, key)
        check(f"{HELD[key][1]} ({path.name}: not a regular file)" in done.stdout, done.stdout)
        equal(sink.completes(), 0, "not complete")
        if resolve:
            _resolve(place, words)
        path.rmdir()
        if not resolve:
            kept.rename(path)
        _goes_on(place, sink, writer, lost if resolve else set())


def _two_ways(place, run, name=""):
    """What was wrong is mended, or given up."""
    for resolve in (False, True):
        place.logs = place.path / f"logs-{name}{resolve}"
        place.logs.mkdir(mode=0o700)
        run(resolve)


def _sealed_and_ended(writer):
    """\return the lines of its first file of its channel device."""
    lost = set(bytes(writer.written["device"]).splitlines()) | _lines(writer)
    writer.rotate("device")
    _lines(writer)
    writer.end()
    return lost


def files_that_are_closed_to_this_user(place):
    """Of each layout, sealed and active, and the sidecar of a window."""
    for number, (layout, name) in enumerate((
            (Live, "device.1.log"), (Live, "device.log"), (Shifting, "device.1.log.gz"),
            (Windows, "device.1.log.gz"), (Windows, "device.2.log.gz"), (Windows, ".gpufl-window.device.1.json"))):
        place.logs = place.path / f"closed-{number}"
        place.logs.mkdir(mode=0o700)
        writer = layout(place.logs)
        _sealed_and_ended(writer)
        _opened_again(place, writer, writer.dir / name)


def a_closed_second_form_of_a_file_holds_nothing_of_the_first(place):
    """As gzip makes it while it runs, or leaves it when it is killed: what is behind the plain one is not known."""
    for layout, more in ((Live, {}), (Shifting, {"compress": False})):
        place.logs = place.path / f"logs-{layout.__name__}"
        place.logs.mkdir(mode=0o700)
        writer = layout(place.logs, **more)
        first = set(bytes(writer.written["device"]).splitlines()) | _sealed_and_ended(writer)
        packed = writer.dir / "device.1.log.gz"
        packed.write_bytes(b"")
        packed.chmod(0)
        _give(place)
        with Sink(declare=True) as sink:
            done = _upload(place, sink)
            equal(_is_held(place, done, "closed"), [], "no command")
            check("(device.1.log.gz: Permission denied)" in done.stdout, done.stdout)
            equal(first & sink.missing(writer), set(), "the plain file is sent")
            packed.unlink()
            _goes_on(place, sink, writer)


def what_is_not_a_file_has_the_name_of_the_next_one(place):
    """The writer seals nothing over it, and the active file is whole: none of it is given up, and all of it is sent
    once the name is free."""
    for number, (name, sent, make) in enumerate((
            ("device.1.log", False, os.mkdir), ("device.1.log", True, os.mkfifo), ("device.1.log.gz", False, os.mkdir),
            ("device.1.log", True, lambda path: path.symlink_to("/etc/hostname")))):
        place.logs = place.path / f"in-the-way-{number}"
        place.logs.mkdir(mode=0o700)
        writer = Live(place.logs)
        _lines(writer)
        path = writer.dir / name
        with Sink(declare=True) as sink:
            if sent:
                lib.upload(place, sink.url)
                _lines(writer)
            writer.end()
            make(path)
            _give(place)
            reason = f"{HELD['in_the_way'][1]} ({name}: not a regular file)"
            done = _upload(place, sink)
            equal(_is_held(place, done, "in_the_way"), [], "no command")
            check(reason in done.stdout, f"{reason}: {done.stdout}")
            for what, code in ((f"{writer.id}/device", 1), (writer.id, 0), (writer.id, 1)):
                gives_up = place.run("gpufl", "resolve", place.logs, what, **AS_USER)
                said = gives_up.stdout + gives_up.stderr
                equal((gives_up.returncode, f"nothing of device can be given up: {reason}" in said), (code, True), said)
                check("scope" not in said and "what is left" not in said, said)
            equal((_upload(place, sink).returncode, sink.completes()), (1, 0), "it is in the way")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            _goes_on(place, sink, writer)


def a_closed_window_behind_one_that_is_gone_is_not_given_up_with_it(place):
    writer = Windows(place.logs)
    lost = set(bytes(writer.written["device"]).splitlines()) | _lines(writer)
    writer.rotate("device")
    _sealed_and_ended(writer)
    (writer.dir / "device.1.log.gz").unlink()
    closed = writer.dir / "device.2.log.gz"
    closed.chmod(0)
    _give(place)
    with Sink(declare=True) as sink:
        _resolve(place, _is_held(place, _upload(place, sink), "window_missing"))
        _is_closed(place, sink, writer, closed)
        closed.chmod(0o644)
        _goes_on(place, sink, writer, lost)


def a_sealed_file_that_cannot_be_read(place):
    def run(resolve):
        writer = Live(place.logs)
        lost = _sealed_and_ended(writer)
        _directory_then(place, writer, writer.dir / "device.1.log", "unreadable", lost, resolve)

    _two_ways(place, run)


def rotated_files_that_are_closed_are_moved_away(place):
    """Of a session of 1.1 any of its files could be the one that is to be sent next."""
    for newest in (False, True):
        place.logs = place.path / f"logs-{newest}"
        place.logs.mkdir(mode=0o700)
        writer = Shifting(place.logs)
        lost = []
        for _ in range(2):
            lost.append(_lines(writer))
            writer.rotate("device")
        lost[0] |= {line for line in bytes(writer.written["device"]).splitlines() if b"job_start" in line}
        writer.end()
        path = writer.dir / f"device.{1 if newest else 2}.log.gz"
        path.chmod(0)
        _give(place)
        with Sink(declare=True) as sink:
            _is_closed(place, sink, writer, path)
            path.rename(place.path / f"kept-{newest}")
            done = _upload(place, sink)
            equal((done.returncode, sink.completes()), (1, 0), f"it is missing now: {done.stdout}")
            _resolve(place, ("resolve", place.logs, writer.id))
            _goes_on(place, sink, writer, lost[newest])


def a_rotated_file_that_cannot_be_read_any_more(place):
    """Part of it was sent."""
    writer = Shifting(place.logs)
    _give(place)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url, **AS_USER)
        equal(sink.missing(writer), set(), "sent")
        _sealed_and_ended(writer)
        _give(place)
        path = writer.dir / "device.1.log.gz"
        path.chmod(0)
        _is_closed(place, sink, writer, path)
        path.chmod(0o644)
        _goes_on(place, sink, writer)


def a_rotated_file_that_is_gone(place):
    """Its successors are there, so nothing tells how much of the channel lies between."""
    writer = Shifting(place.logs)
    _give(place)
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms", **AS_USER)
        until(lambda: not sink.missing(writer), "sent")
        agent.terminate()
        agent.wait(20 * lib.SLOW)
        lost = _lines(writer)
        writer.rotate("device")
        (writer.dir / "device.1.log.gz").rename(place.path / "kept")
        _lines(writer)
        writer.end()
        _give(place)
        words = _is_held(place, _upload(place, sink), "rotated_gone")
        done = place.run("gpufl", "resolve", place.logs, writer.id, **AS_USER)
        equal(done.returncode, 1, done.stdout)
        check("--force" in done.stderr, done.stderr)
        equal(sink.completes(), 0, "not complete")
        stored = len(sink.lines)
        done = place.run("gpufl", *words, "--backend-url", sink.url, "--api-key", lib.KEY, **AS_USER)
        equal((done.returncode, sink.completes()), (1, 0), f"{words} {done.stdout} {done.stderr}")
        check("channel device does not start with its job_start" in done.stderr, "what is there is not all")
        check(len(sink.lines) > stored, "sent again, as was said")
        equal(place.run("gpufl", "resolve", place.logs, writer.id, **AS_USER).returncode, 0, "given up")
        done = _upload(place, sink)
        equal((done.returncode, sink.completes()), (0, 1), f"{done.stdout} {done.stderr}")
        with sink.lock:
            sink.lines[:] = set(sink.lines)
        begin = {line for line in bytes(writer.written["device"]).splitlines() if b"job_start" in line}
        equal(sink.missing(writer), lost - begin, "what is gone")
        equal(_status(place).returncode, 0, "nothing is held")


def a_window_that_cannot_be_read(place):
    def run(resolve):
        writer = Windows(place.logs)
        lost = _sealed_and_ended(writer)
        _directory_then(place, writer, writer.dir / "device.1.log.gz", "window_unreadable", lost, resolve)

    _two_ways(place, run)


def a_window_whose_sidecar_says_nothing(place):
    def run(resolve):
        writer = Windows(place.logs)
        lost = set(bytes(writer.written["device"]).splitlines()) | _lines(writer)
        writer.rotate("device")
        _lines(writer)
        writer.end()
        _give(place)
        sidecar = writer.dir / ".gpufl-window.device.1.json"
        was = sidecar.read_text()
        sidecar.write_text("{}")
        with Sink(declare=True) as sink:
            words = _is_held(place, _upload(place, sink), "window_sidecar")
            if resolve:
                _resolve(place, words)
            else:
                sidecar.write_text(was)
            _goes_on(place, sink, writer, lost if resolve else set())

    _two_ways(place, run)


def a_batch_whose_file_is_gone_after_a_kill(place):
    def run(resolve):
        writer = Live(place.logs)
        lost = set(bytes(writer.written["device"]).splitlines()) | _lines(writer)
        _give(place)
        away = [True]

        def answer(_, request):
            return (503, "{}") if away[0] and request.is_batch and request.channel == "device" else None

        with Sink(answer, declare=True) as sink:
            agent = lib.agent(place, sink.url, "--rescan-interval=100ms", **AS_USER)
            until(lambda: any(r.channel == "device" for r in sink.batches()), "it is offered")
            agent.kill()
            agent.wait()
            writer.rotate("device")
            _lines(writer)
            writer.end()
            _give(place)
            (writer.dir / "device.1.log").rename(place.path / "kept")
            away[0] = False
            words = _is_held(place, _upload(place, sink), "batch")
            if resolve:
                _resolve(place, words)
            else:
                (place.path / "kept").rename(writer.dir / "device.1.log")
            _goes_on(place, sink, writer, lost if resolve else set())

    _two_ways(place, run)


def a_rejected_batch_whose_file_is_gone(place):
    """It cannot be split then, and a batch that is rejected as a whole is not sent again."""
    def run(resolve):
        writer = Live(place.logs)
        lost = set(bytes(writer.written["device"]).splitlines()) | _lines(writer)
        writer.rotate("device")
        file, kept = writer.dir / "device.1.log", place.path / f"kept-{resolve}"
        _lines(writer)
        writer.end()
        _give(place)

        def answer(_, request):
            if not request.is_batch or request.channel != "device" or kept.exists():
                return None
            file.rename(kept)
            return 400, '{"error":"bad"}'

        with Sink(answer, declare=True) as sink:
            words = _is_held(place, _upload(place, sink), "refused_batch")
            if resolve:
                _resolve(place, words)
            else:
                sink.answer = None
                kept.rename(file)
            _goes_on(place, sink, writer, lost if resolve else set())

    _two_ways(place, run)


def a_directory_of_another_owner(place):
    writer = Live(place.logs)
    writer.end()
    with Sink(declare=True) as sink:
        owner = writer.dir.stat().st_uid
        for uid, code in ((owner + 1, 1), (owner, 0)):
            agent = lib.agent(place, sink.url, f"--require-owner-uid={uid}", "--exit-when-drained")
            equal(agent.wait(20 * lib.SLOW), code, agent.log.read_text())
            equal(sink.completes(), 1 - code, "complete")
            equal(HELD["owner"][1] in agent.log.read_text(), code == 1, agent.log.read_text())
            status = place.run("gpufl", "status", place.logs)
            equal((status.returncode, HELD["owner"][1] in status.stdout), (code, code == 1), status.stdout)
            check("resolve" not in status.stdout, status.stdout)
        equal(sink.missing(writer), set(), "missing")


def a_directory_that_cannot_be_read(place):
    writer = Live(place.logs)
    writer.end()
    _give(place)
    writer.dir.chmod(0)
    with Sink(declare=True) as sink:
        _is_held(place, _upload(place, sink), "directory")
        writer.dir.chmod(0o700)
        _goes_on(place, sink, writer)


def _session_in_group(place):
    group = place.logs / "run-1"
    group.mkdir()
    writer = Live(group)
    _give(place)
    return writer


def a_second_directory_of_an_id(place):
    """The first one is known."""
    writer = _session_in_group(place)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url, **AS_USER)
        other = place.logs / "run-2"
        other.mkdir()
        Live(other, writer.id).end()
        _lines(writer)
        writer.end()
        _give(place)
        _is_held(place, _upload(place, sink), "claimed")
        equal((sink.missing(writer), sink.completes()), (set(), 1), "the first one is complete")
        shutil.rmtree(other)
        _goes_on(place, sink, writer)


def a_second_directory_of_an_id_whose_first_is_not_there(place):
    writer = _session_in_group(place)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url, **AS_USER)
        _lines(writer)
        writer.end()
        writer.dir.rename(place.path / "elsewhere")
        other = place.logs / "run-2"
        other.mkdir()
        second = Live(other, writer.id)
        second.raw("device", b'{"type":"another"}\n')
        second.end()
        _give(place)
        _is_held(place, _upload(place, sink), "moved")
        check(b'{"type":"another"}' not in sink.lines, "the second one is not taken for it")
        (place.path / "elsewhere").rename(writer.dir)
        shutil.rmtree(other)
        _goes_on(place, sink, writer)


def a_directory_of_another_user_in_the_place_of_one(place):
    """It is removed, or it is the session by a person's word."""
    if not ROOT:
        lib.skip("needs root, to be two users")

    def run(resolve):
        with Sink(declare=True) as sink:
            writer = Live(place.logs)
            _lines(writer)
            equal(lib.upload(place, sink.url).returncode, 0, "what there is")
            kept = writer.dir.rename(place.path / f"kept-{resolve}")
            shutil.copytree(kept, writer.dir)
            os.chown(writer.dir, NOBODY - 1, -1)
            writer.end()
            done = lib.upload(place, sink.url)
            way, text = HELD["replaced"]
            equal((way, done.returncode), ("RESOLVE", 1), done.stdout)
            status = place.run("gpufl", "status", place.logs)
            check(text in done.stdout and text in status.stdout, done.stdout + status.stdout)
            words = shlex.split(re.findall(r"^  to .*?: gpufl (.*)$", status.stdout, re.M)[0])
            equal(sink.completes(), 0, "not complete")
            if resolve:
                done = place.run("gpufl", *words)
                equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
            else:
                for channel, data in writer.written.items():
                    (kept / f"{channel}.log").write_bytes(bytes(data))
                shutil.rmtree(writer.dir)
                kept.rename(writer.dir)
            done = lib.upload(place, sink.url)
            equal((done.returncode, sink.completes()), (0, 1), done.stdout)
            equal(sink.missing(writer), set(), "all is sent")

    _two_ways(place, run)


def files_of_another_layout(place):
    """A session of windows without its sidecars looks like one of the 1.1 layout."""
    writer = Windows(place.logs)
    writer.rotate("device")
    _give(place)
    with Sink(declare=True) as sink:
        lib.upload(place, sink.url, **AS_USER)
        _lines(writer)
        writer.end()
        kept = place.path / "kept"
        kept.mkdir()
        for sidecar in writer.dir.glob(".gpufl-window.*"):
            sidecar.rename(kept / sidecar.name)
        _give(place)
        _is_held(place, _upload(place, sink), "layout")
        equal(sink.completes(), 0, "not complete")
        for sidecar in kept.iterdir():
            sidecar.rename(writer.dir / sidecar.name)
        _goes_on(place, sink, writer)


def a_channel_whose_ranges_fill_the_quarantine(place):
    """Very many files of half a line each, of one user: what is kept of them has a limit."""
    writer = Live(place.logs)
    writer.end()
    torn = place.logs / "torn"
    for number in range(1, QUARANTINE_OF_ONE + 6):
        if number % 30000 == 1:  # a file has no more names than some 65,000
            torn.unlink(missing_ok=True)
            torn.write_text("{")
        os.link(torn, writer.dir / f"device.{number}.log")
    torn.unlink()
    _give(place)
    with Sink() as sink:
        _is_held(place, _upload(place, sink), "quarantine_full")
        _is_held(place, _upload(place, sink), "quarantine_full")
        listed = place.run("gpufl", "quarantine", "list", place.logs, **AS_USER).stdout.splitlines()
        names = [line.split()[0] for line in listed if writer.id in line]
        equal(len(names), QUARANTINE_OF_ONE, "ranges")
        behind = set(bytes(writer.written["device"]).splitlines())
        equal((behind - sink.missing(writer), sink.completes()), (set(), 0), "the lines behind them wait")
        dropped = place.run("gpufl", "quarantine", "drop", place.logs, *names[:10], **AS_USER)
        equal(dropped.returncode, 0, dropped.stdout + dropped.stderr)
        done = _upload(place, sink)
        check(HELD["quarantine_full"][1] not in done.stdout, done.stdout)
        equal((sink.missing(writer), sink.completes()), (set(), 0), done.stdout)


def a_manifest_that_cannot_be_read(place):
    def run(resolve):
        writer = Live(place.logs)
        writer.end()
        manifest = writer.dir / ".gpufl-session.json"
        manifest.chmod(0)
        _give(place)
        with Sink(declare=True) as sink:
            words = _is_held(place, _upload(place, sink), "manifest_unreadable")
            if resolve:
                _resolve(place, words)
            else:
                manifest.chmod(0o644)
            _goes_on(place, sink, writer)

    _two_ways(place, run)


def two_reasons_at_once_are_said_once(place):
    """One is found at the beginning of each inspection, the other at its end."""
    writer = Live(place.logs)
    for _ in range(4):
        writer.line("device")
    writer.end()
    with Sink(declare=True) as first, Sink(declare=True) as second:
        equal(lib.upload(place, first.url).returncode, 0, "it is sent")
        active = writer.dir / "device.log"
        active.write_bytes(b"".join(active.read_bytes().splitlines(keepends=True)[:2]))
        os.truncate(writer.dir / ".gpufl-session.lock", 0)
        agent = lib.agent(place, second.url, "--rescan-interval=100ms", "--watch=poll")
        until(lambda: "files that an earlier backend got" in agent.log.read_text(), "what is gone is said")
        (writer.dir / ".gpufl-session.json").write_text("{")
        until(lambda: "is damaged, or of another session" in agent.log.read_text(), "and the manifest")
        for n, name in enumerate(("device.log~", "other.log", "scope.1.log")):  # an inspection says each
            (writer.dir / name).mkdir() if n == 2 else (writer.dir / name).write_text("x")
            until(lambda n=n: agent.log.read_text().count(" session.refused ") == n + 1, name)
        held = [line for line in agent.log.read_text().splitlines() if " session.held " in line]
        equal((len(held), len(set(held))), (2, 2), "\n".join(held))


TESTS = {
    "missing": test_resolve.a_sealed_file_missing_in_the_middle_is_passed,
    "deleted": test_resolve.a_11_channel_of_which_all_files_went_away_is_held_and_given_up,
    "shorter": test_resolve.a_file_shorter_than_what_was_sent_is_taken_as_it_is,
    "late": test_resolve.a_file_that_came_after_a_later_one_was_sent_is_given_up,
    "other": test_resolve.another_file_of_the_name_is_read_once_the_first_is_given_up,
    "earlier": test_resolve_copies.a_part_of_an_earlier_file_that_nothing_tells_from_a_new_one_is_held,
    "active_gone": test_resolve.an_active_file_that_was_never_read_is_given_up,
    "channel_gone": test_resolve.a_channel_that_was_deleted_before_anything_was_read_is_given_up,
    "compressed": test_resolve.an_active_file_that_was_compressed_early_is_given_up,
    "cut": test_resolve.lines_behind_a_copy_that_replaced_the_active_file_are_given_up,
    "copied": test_copied.what_a_copy_lacks_is_given_up,
    "damaged": test_resolve.a_rotated_file_that_is_damaged_is_passed,
    "unreadable": a_sealed_file_that_cannot_be_read,
    "closed": files_that_are_closed_to_this_user,
    "in_the_way": what_is_not_a_file_has_the_name_of_the_next_one,
    "rotated_gone": a_rotated_file_that_is_gone,
    "window_missing": test_resolve.windows_that_are_gone_are_passed,
    "window_unreadable": a_window_that_cannot_be_read,
    "window_sidecar": a_window_whose_sidecar_says_nothing,
    "batch": a_batch_whose_file_is_gone_after_a_kill,
    "refused_batch": a_rejected_batch_whose_file_is_gone,
    "backend_other": test_held_backend.other_lines_than_those_of_the_backend,
    "backend_longer": test_held_backend.files_that_end_before_the_lines_of_the_backend,
    "backend_unproved": test_held_backend.lines_up_to_a_file_that_is_gone,
    "without_positions": test_held_backend.another_backend_that_got_the_channel_without_positions,
    "expired": test_held_backend.a_session_that_the_backend_deleted,
    "no_positions": test_held_backend.a_backend_that_does_not_know_positions_any_more,
    "quarantine_full": a_channel_whose_ranges_fill_the_quarantine,
    "owner": a_directory_of_another_owner,
    "claimed": a_second_directory_of_an_id,
    "moved": a_second_directory_of_an_id_whose_first_is_not_there,
    "replaced": a_directory_of_another_user_in_the_place_of_one,
    "contested": test_two_users.an_id_of_which_nothing_was_sent_goes_to_no_other_user,
    "foreign": test_two_users.a_copy_of_a_complete_session_adds_lines_only_for_its_user,
    "directory": a_directory_that_cannot_be_read,
    "away": test_resolve.a_session_that_is_away_for_good_is_forgotten,
    "falls_short": test_resolve.files_deleted_before_another_backend_got_them_are_given_up,
    "layout": files_of_another_layout,
    "manifest_newer": test_unread.a_manifest_that_says_nothing_makes_no_other_layout,
    "copy": test_moved.a_copy_is_called_a_copy_whatever_is_done_first,
    "renamed": test_moved.directories_that_lost_their_names_go_on_when_they_have_them_again,
    "manifest_damaged": test_resolve.a_manifest_that_is_gone_or_damaged_is_given_up_and_a_newer_one_is_not,
    "manifest_unreadable": a_manifest_that_cannot_be_read,
    "manifest_gone": test_unread.a_manifest_that_vanished_holds_its_session_after_a_restart_too,
    "not_read": test_resolve.files_that_are_not_read_are_given_up_until_there_are_others,
    "gap": test_resolve.front_that_was_gone_is_given_up,
    "refused": test_resolve.lines_that_were_rejected_for_good_are_given_up,
    "final": test_resolve.a_loss_that_was_declared_stays_one_whatever_is_forced,
    "lost_elsewhere": test_resolve.what_was_given_up_elsewhere_is_not_complete_where_it_is,
}


def each_reason_has_its_test(place):
    check(len(HELD) > 30, f"the table of reasons is read: {sorted(HELD)}")
    equal(sorted(TESTS), sorted(HELD), f"reasons and their tests in {place.path}")
    for key, (way, text) in HELD.items():
        check(way != "MEND" or ": " in text, f"{key}: what a person can do: {text}")
        check(len(text) <= 120, f"{key}: status shows all of it: {text}")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
