# SPDX-License-Identifier: Apache-2.0
"""What lies in a session directory and is not read is said, and keeps the session from being complete."""
import gzip
import json
import os
import stat
import subprocess
import sys
import time

import lib
from lib import check, equal, until
from sink import Sink
from writers import Live, Shifting, Windows


def _missing(sink, writer):
    want = sum(len(bytes(data).splitlines()) for data in writer.written.values())
    with sink.lock:
        return want - len(set(sink.lines))


def _session(place, lines=3, directory=None):
    writer = Live(directory or place.logs)
    for channel in writer.channels:
        for _ in range(lines):
            writer.line(channel)
    return writer


def _status(place):
    done = place.run("gpufl", "status", place.logs, "--json")
    return done.returncode, json.loads(done.stdout)["sessions"]


def a_backup_by_hard_links_changes_nothing(place):
    for kind in (Live, Windows, Shifting):
        logs = place.path / kind.__name__
        logs.mkdir(mode=0o700)
        writer = kind(logs)
        for channel in writer.channels:
            writer.line(channel)
            writer.rotate(channel)
        writer.end()
        backup = place.path / f"backup-{kind.__name__}"
        backup.mkdir()
        for file in writer.dir.iterdir():  # as cp -al and rsync --link-dest do
            os.link(file, backup / file.name)
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, _missing(sink, writer)), (0, 0), f"{kind.__name__} {done.stderr}")
            equal(sink.completes(), 1 if kind is not Shifting else sink.completes(), "complete")


def windows_that_were_seen_are_missed_when_they_are_gone_after_a_kill(place):
    writer = Windows(place.logs)
    writer.line("device")
    writer.rotate("device")
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--delete-acked=never")
        until(lambda: any(b'"device"' in line for line in list(sink.lines)), "the first window is sent")
        agent.kill()
        agent.wait()
        for _ in range(4):
            writer.line("device")
            writer.rotate("device")
        writer.end()
        refused = []
        sink.answer = lambda sink, request: refused.append(request) or (503, {}) if request.is_batch else None
        agent = lib.agent(place, sink.url, "--delete-acked=never")
        until(lambda: refused, "the next one is offered")
        agent.kill()
        agent.wait()
        for number in (4, 5, 6):
            for file in writer.dir.glob(f"*device.{number}.*"):
                file.unlink()
        sink.answer = None
        done = lib.upload(place, sink.url, "--timeout=20")
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        missing = _missing(sink, writer)
        done = place.run("gpufl", "resolve", place.logs, f"{writer.id}/device")
        equal(done.returncode, 0, done.stderr)
        done = lib.upload(place, sink.url, "--timeout=20")
        equal((done.returncode, sink.completes(), _missing(sink, writer)), (0, 1, missing), done.stdout)


def a_file_of_another_owner_is_not_read_by_its_second_name(place):
    if os.geteuid() != 0:
        lib.skip("nobody else can make such a link")
    writer = _session(place)
    secret = place.path / "secret"
    secret.write_bytes(b'{"secret":1}\n')
    os.chown(secret, 65534, 65534)
    os.link(secret, writer.dir / "sass.1.log")
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        check("sass.1.log" in done.result["message"] and "second name" in done.result["message"], done.result)
        check(not any(b"secret" in line for line in sink.lines), "it is not read")


def files_that_may_hold_records_keep_a_session_from_being_complete(place):
    odd = ["device.log.1", "device.log~", "device.log-20261123", "device.01.log", "my app.log", ".device.log.Xy12Ab",
           "x" * 40 + ".log", "evil\nX: 1.log", "device.1234567890.log", "device.log.bak"]
    for name in [*(f"rank{i}.log" for i in range(12)), *odd]:
        logs = place.path / "odd" / str(len(list(place.path.glob("odd/*"))))
        logs.mkdir(parents=True, mode=0o700)
        writer = Live(logs)
        for channel in writer.channels:
            writer.line(channel)
        (writer.dir / name).write_text("may be a record\n")
        writer.end()
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, _missing(sink, writer), sink.completes()), (1, 0, 0), f"{name} {done.stdout}")
            (writer.dir / name).unlink()
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, sink.completes()), (0, 1), f"once {name} is gone: {done.stdout}")


def a_file_that_came_to_a_complete_session_is_said_until_it_is_settled(place):
    """`device.log.1`, copied into a directory whose session was complete: nobody knows what it holds."""
    writer = _session(place)
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)
        late = writer.dir / "device.log.1"
        late.write_bytes(b"may be a record\n")
        for settle in ("resolve", "remove"):
            for _ in range(2):  # the second time from the journal
                done = lib.upload(place, sink.url)
                equal(done.returncode, 1, f"{settle}: {done.stdout}")
                check("device.log" in done.result["message"], done.result)
                agent = lib.agent(place, sink.url, "--exit-when-drained")
                equal(agent.wait(20 * lib.SLOW), 1, f"{settle}: {agent.log.read_text()}")
                code, (session,) = _status(place)
                equal((code, session["complete"]), (1, False), f"{settle}: {session}")
            if settle == "resolve":
                done = place.run("gpufl", "resolve", place.logs, writer.id)
                equal((done.returncode, done.stdout.split(" (")[0]), (0, f"{writer.id}: given up: 1 file"), done.stderr)
            else:
                late.unlink()
            before = sink.completes()
            for completes in (1, 1):
                done = lib.upload(place, sink.url)
                equal((done.returncode, sink.completes()), (0, before + completes), f"{settle}: {done.stdout}")
            code, (session,) = _status(place)
            equal((code, session["complete"]), (0, True), f"{settle}: {session}")
            if settle == "resolve":
                late = late.with_name("device.log.2")
                late.write_bytes(b"another one\n")
        equal(_missing(sink, writer), 0, "all was sent, once")


def a_file_that_came_late_is_said_beside_a_running_agent(place):
    """The agent looks at a complete session once a minute: an upload beside it does not take its word of before."""
    writer = _session(place)
    writer.end()
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=1s")
        until(lambda: sink.completes() == 1, "complete")
        equal(lib.upload(place, sink.url).returncode, 0, "all is sent")
        (writer.dir / "device.log.1").write_bytes(b"may be a record\n")
        done = lib.upload(place, sink.url)
        equal((done.returncode, done.result["sessions_complete"]), (1, 0), done.stdout)
        check("1 file is not read, for example device.log.1" in done.result["message"], done.result)
        done = place.run("gpufl", "resolve", place.logs, writer.id)
        equal((done.returncode, done.stdout.split(" (")[0]), (0, f"{writer.id}: given up: 1 file"), done.stderr)
        done = lib.upload(place, sink.url)
        equal((done.returncode, done.result["sessions_complete"]), (0, 1), done.stdout)
        (writer.dir / "device.log.2").write_bytes(b"another one\n")
        equal(lib.upload(place, sink.url).returncode, 1, "another one")
        (writer.dir / "device.log.2").unlink()
        equal(lib.upload(place, sink.url).returncode, 0, "moved away")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")
        equal(_missing(sink, writer), 0, "all was sent")


class _ThreeWindows(Windows):
    channels = Windows.channels[:3]


def _late(writer, name, packed=False, kind="x", begins=False):
    """… is a file of that name, with the line that is returned."""
    line = json.dumps({"type": kind, "session_id": writer.id, "late": name}).encode()
    first = json.dumps({"type": "job_start", "session_id": writer.id}).encode() + b"\n" if begins else b""
    data = first + line + b"\n"
    (writer.dir / name).write_bytes(gzip.compress(data) if packed else data)
    return line


def _late_window(writer, channel, number, sidecar=True):
    line = json.dumps({"type": "x", "session_id": writer.id, "late": number}).encode()
    writer.tmp.mkdir()
    (writer.tmp / f"{channel}.{number}.log").write_bytes(line + b"\n")
    writer.squeeze(channel, number)
    if sidecar:
        writer.sidecar(channel, number)
    writer.publish(channel, number)
    writer.tmp.rmdir()
    return line


def _late_unpublished(writer, name):
    line = json.dumps({"type": "x", "session_id": writer.id, "late": name}).encode()
    writer.tmp.mkdir()
    (writer.tmp / name).write_bytes(line + b"\n")
    return line


def a_numbered_file_that_came_to_a_complete_session_is_not_passed_over(place):
    """Its number is not the next one: what is before it is missing, or nothing is."""
    table = (  # what came, whether something is missing, and whether it is sent before and after that is given up
        ("live-far", Live, lambda w: _late(w, "scope.9.log"), True, (False, False)),
        ("live-far-gz", Live, lambda w: _late(w, "scope.9.log.gz", packed=True), True, (False, False)),
        ("live-after-next", Live, lambda w: _late(w, "scope.5.log"), True, (False, False)),
        ("live-channel", Live, lambda w: _late(w, "sass.2.log"), True, (True, True)),
        ("windows-far", Windows, lambda w: _late_window(w, "scope", 9), True, (False, True)),
        ("windows-far-bare", Windows, lambda w: _late_window(w, "scope", 9, sidecar=False), True, (False, False)),
        ("windows-channel", _ThreeWindows, lambda w: _late_window(w, "sass", 3), True, (False, True)),
        ("windows-unpublished", Windows, lambda w: _late_unpublished(w, "scope.9.log"), True, (False, True)),
        ("shifting-channel", Shifting, lambda w: _late(w, "sass.2.log", kind="shutdown", begins=True), False, (True, True)),
        ("shifting-channel-later", Shifting, lambda w: _late(w, "sass.2.log", kind="shutdown"), True, (True, True)),
        ("shifting-older", Shifting, lambda w: _late(w, "scope.3.log"), True, (False, False)),
        ("shifting-older-gz", Shifting, lambda w: _late(w, "scope.3.log.gz", packed=True), True, (False, False)),
        ("shifting-far", Shifting, lambda w: _late(w, "scope.7.log"), True, (False, False)),
    )
    for name, kind, come, misses, (before, after) in table:
        logs = place.path / name
        logs.mkdir(mode=0o700)
        writer = kind(logs)
        for _ in range(2):
            writer.rotate("scope")
            writer.line("scope")
        writer.end()
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, sink.completes()), (0, 1), f"{name}: {done.stdout}")
            line = come(writer)
            for _ in range(2):  # the second time from the journal
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, line in sink.lines), (misses, before), f"{name}: {done.stdout}")
            if misses:
                equal(sink.completes(), 1, f"{name}: complete")
                status = place.run("gpufl", "status", logs)
                equal(status.returncode, 1, f"{name}: {status.stdout}")
                done = place.run("gpufl", "resolve", logs, writer.id)
                equal(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
            completes = []
            for _ in range(3):
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal(done.returncode, 0, f"{name}, settled: {done.stdout}")
                completes.append(sink.completes())
            equal(completes, [2, 2, 2], f"{name}: it stays settled")
            equal(line in sink.lines, after, f"{name}: {done.stdout}")
            equal(len(sink.lines), len(set(sink.lines)), f"{name}: nothing twice")
            status = place.run("gpufl", "status", logs)
            equal(status.returncode, 0, f"{name}: {status.stdout}")


def _shifting(logs, ends=True):
    """… whose channels have four rotated files."""
    writer = Shifting(logs, compress=False)
    for channel in writer.channels:
        for _ in range(4):
            writer.line(channel)
            writer.rotate(channel)
        writer.line(channel)
    if ends:
        writer.end()
    return writer


def _put_away(place, writer, names):
    kept = place.path / f"kept-{writer.dir.parent.name}"
    kept.mkdir()
    for name in names:
        (writer.dir / name).rename(kept / name)
    return kept


def files_of_1_1_that_came_to_a_channel_that_was_sent_are_said(place):
    """A directory is copied in two goes."""
    for name, late, sent in (
        ("oldest", ("scope.3.log", "scope.4.log"), ("scope.2.log", "scope.1.log")),
        ("between", ("scope.2.log",), ("scope.3.log", "scope.4.log")),
        ("each second one", ("scope.1.log", "scope.3.log"), ("scope.2.log", "scope.4.log")),
    ):
        logs = place.path / name
        logs.mkdir(mode=0o700)
        writer = _shifting(logs)
        kept = _put_away(place, writer, late)
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, sink.completes()), (1, 0), f"{name}: {done.stdout}")
            for file in late:
                (kept / file).rename(writer.dir / file)
            for cleaned_up in sent:
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                (writer.dir / cleaned_up).unlink()
                equal((done.returncode, sink.completes()), (1, 0), f"{name}: {done.stdout}")
                check("came after a later one was sent" in done.stdout, done.stdout)
            equal(place.run("gpufl", "status", logs).returncode, 1, "the status says so")
            done = place.run("gpufl", "resolve", logs, writer.id)
            equal(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
            for _ in range(2):
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, sink.completes()), (0, 1), f"{name}: {done.stdout}")
            _late(writer, "scope.6.log")
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, "came after a later one" in done.stdout), (1, True), f"another: {done.stdout}")
            equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "that, too")
            equal(lib.upload(place, sink.url, directory=logs).returncode, 0, "it is settled again")
            equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


def a_file_of_1_1_that_came_after_others_were_given_up_is_said(place):
    writer = _shifting(place.logs)
    late = _put_away(place, writer, ("scope.4.log",)) / "scope.4.log"
    for number in (2, 3):
        packed = writer.dir / f"scope.{number}.log.gz"
        packed.write_bytes(b"no gzip at all")
        packed.with_suffix("").unlink()
    with Sink(declare=True) as sink:
        equal(lib.upload(place, sink.url, "--timeout=20").returncode, 1, "damaged")
        equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "given up")
        equal(lib.upload(place, sink.url, "--timeout=20").returncode, 0, "settled")
        late.rename(writer.dir / late.name)
        done = lib.upload(place, sink.url, "--timeout=20")
        equal((done.returncode, "came after a later one" in done.stdout), (1, True), done.stdout)
        equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "given up")
        equal(lib.upload(place, sink.url, "--timeout=20").returncode, 0, "settled")


def an_agent_says_that_a_file_of_1_1_came_late(place):
    """The job goes on, so that it does not stand in the middle of a rotation."""
    writer = _shifting(place.logs, ends=False)
    kept = _put_away(place, writer, ("scope.2.log",))
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=200ms")
        until(lambda: writer.line("system") or "files between others are missing" in agent.log.read_text(), "a file is missing")
        (kept / "scope.2.log").rename(writer.dir / "scope.2.log")
        writer.end()
        until(lambda: "came after a later one was sent" in agent.log.read_text(), "the agent says so")


def a_rotated_file_of_1_1_that_is_gone_before_it_was_read_is_missed(place):
    """Those that were sent, and cleaned up, are older."""
    backend = lib.Backend(place)
    for n, (gone, cleaned_up) in enumerate((((1,), ()), ((1,), (5,)), ((1, 2), (4, 6)), ((2,), (4, 5, 6)))):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = Shifting(logs, session=f"33333333-3333-4333-8333-33333333333{n}", compress=False)
        for _ in range(3):
            writer.line("scope")
            writer.rotate("scope")
        writer.line("scope", times=2)
        equal(lib.upload(place, backend.url, "--timeout=20", directory=logs).returncode, 0, "the job runs")
        sent = backend.export(writer.id, "scope")
        for _ in range(3):
            writer.rotate("scope")
            writer.line("scope")
        writer.end()
        _put_away(place, writer, [f"scope.{number}.log" for number in gone + cleaned_up])
        for _ in range(2):
            done = lib.upload(place, backend.url, "--timeout=20", directory=logs)
            equal((done.returncode, backend.complete(writer.id)), (1, False), f"{gone} {cleaned_up}: {done.stdout}")
        status = place.run("gpufl", "status", logs)
        equal((status.returncode, status.stdout.count("gone before they were read")), (1, 1), status.stdout)
        equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "given up")
        for _ in range(2):
            done = lib.upload(place, backend.url, "--timeout=20", directory=logs)
            equal(done.returncode, 0, f"{gone} {cleaned_up}: {done.stdout}")
        stored = backend.export(writer.id, "scope")
        check(stored.startswith(sent), "what was sent before")
        lost = len(bytes(writer.written["scope"]).splitlines()) - len(stored.splitlines())
        equal(lost, len(gone), f"{gone} {cleaned_up}: each has one line")


def a_session_of_1_1_whose_oldest_files_are_gone_is_not_complete(place):
    oldest = ("scope.3.log", "scope.4.log")
    for gone in (oldest, ("scope.1.log", "scope.2.log", *oldest)):
        logs = place.path / f"{len(gone)}-gone"
        logs.mkdir(mode=0o700)
        writer = _shifting(logs)
        _put_away(place, writer, gone)
        with Sink(declare=True) as sink:
            for _ in range(2):
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            status = place.run("gpufl", "status", logs)
            equal((status.returncode, status.stdout.count("files of it were gone before they were read")), (1, 1), status.stdout)
            equal(place.run("gpufl", "resolve", logs, writer.id).returncode, 0, "given up")
            for _ in range(2):
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, sink.completes()), (0, 1), done.stdout)
            equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


def a_complete_session_whose_files_are_deleted_or_compressed_stays_so(place):
    def delete(writer):
        for file in writer.dir.glob("scope.[12].log*"):
            file.unlink()

    def pack(writer):
        for file in list(writer.dir.glob("*.[12].log")):
            (writer.dir / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()

    def empty(writer):
        writer.active("scope").with_name("scope.4.log").touch()

    for kind, change in ((Live, delete), (Live, pack), (Live, empty), (Windows, delete), (Shifting, delete)):
        logs = place.path / f"{kind.__name__}-{change.__name__}"
        logs.mkdir(mode=0o700)
        writer = kind(logs)
        for _ in range(2):
            writer.rotate("scope")
            writer.line("scope")
        writer.end()
        with Sink(declare=True) as sink:
            equal(lib.upload(place, sink.url, "--timeout=20", directory=logs).returncode, 0, logs.name)
            change(writer)
            for _ in range(2):
                done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
                equal((done.returncode, sink.completes()), (0, 1), f"{logs.name}: {done.stdout}")
            equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


def a_second_form_of_a_sealed_file_is_not_passed_over(place):
    """`device.1.log.gz` beside `device.1.log`: what it holds may be something else."""
    writer = _session(place)
    writer.rotate("device")
    writer.end()
    (writer.dir / "device.1.log.gz").write_bytes(gzip.compress(b"may be a record\n"))
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, _missing(sink, writer), sink.completes()), (1, 0, 0), done.stdout)
        check("device.1.log.gz" in done.result["message"], done.result)
        (writer.dir / "device.1.log.gz").unlink()
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)


def _names_the_one_to_remove(place, logs, done, plain, packed, less):
    """By `ls -l` the compressed one is the shorter one, also if it is whole: what is said has a command that tells."""
    text = "remove the one that holds less uncompressed, as `zcat X.gz | cmp - X` tells, or either if they are equal"
    check(f"{packed.name}: the file is there uncompressed, too: {text}" in done.result["message"], done.result)
    check(text in place.run("gpufl", "status", logs).stdout, "status")
    told = subprocess.run(f"zcat {packed.name} | cmp - {plain.name}", shell=True, cwd=plain.parent, capture_output=True,
                          text=True).stderr
    check(f"EOF on {plain.name if less == 'plain' else '-'}" in told, told)


def _longer_one_is_read(place, backend, logs, writer, forms, cut, what):
    """Of the two forms, the one that was cut is named, and nothing is missing without it."""
    shorter = forms[cut == "gz"]
    done = lib.upload(place, backend.url, "--timeout=20", directory=logs)
    equal((done.returncode, backend.export(writer.id, "device")), (1, bytes(writer.written["device"])),
          f"{what} {done.stdout}")
    _names_the_one_to_remove(place, logs, done, *forms, "packed" if cut == "gz" else "plain")
    shorter.unlink()
    done = lib.upload(place, backend.url, "--timeout=20", directory=logs)
    equal((done.returncode, backend.complete(writer.id)), (0, True), done.stdout)
    equal(place.run("gpufl", "verify", logs, "--backend-url", backend.url, env={"GPUFL_API_KEY": lib.KEY}).returncode,
          0, "verify")
    lib.holds(backend, writer)


def of_two_forms_of_a_sealed_file_the_longer_one_is_read(place):
    """As `gunzip -k` leaves them when it is killed, and gzip while it runs: no message makes anybody move the whole one
    away, and nothing is lost if somebody does."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for n, (cut, sent) in enumerate((cut, sent) for cut in ("line", "middle", "empty", "gz") for sent in (0, 4)):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        writer.line("device", times=max(sent, 1))
        if sent:
            equal(lib.upload(place, backend.url, directory=logs).returncode, 0, "the first lines")
        writer.line("device", times=20)
        writer.rotate("device")
        writer.line("device")
        writer.end()
        plain = writer.dir / "device.1.log"
        packed = writer.dir / "device.1.log.gz"
        data = plain.read_bytes()
        line_end = len(b"".join(data.splitlines(True)[:9]))
        packed.write_bytes(gzip.compress(data)[:-30 if cut == "gz" else None])
        plain.write_bytes({"line": data[:line_end], "middle": data[:line_end + 20], "empty": b"", "gz": data}[cut])
        _longer_one_is_read(place, backend, logs, writer, (plain, packed), cut, f"{cut} {sent}")


def of_two_forms_in_the_layout_of_1_1_the_longer_one_is_read(place):
    """Likewise, while numbers shift, and however much of the file had been sent."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    cuts = ("line", "middle", "first", "empty", "gz")
    for n, (cut, sent, shifts) in enumerate((c, s, m) for c in cuts for s in (0, 4) for m in (0, 2)):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = Shifting(logs, session=f"shifting-{n}", compress=False)
        writer.rotate("device")
        writer.line("device", times=max(sent, 1))
        if sent:
            lib.upload(place, backend.url, directory=logs)
        writer.line("device", times=20)
        writer.rotate("device")
        writer.line("device")
        for _ in range(shifts):
            writer.rotate("device")
            writer.line("device")
        writer.end()
        plain = writer.dir / f"device.{1 + shifts}.log"
        packed = writer.dir / f"device.{1 + shifts}.log.gz"
        data = plain.read_bytes()
        line_end = len(b"".join(data.splitlines(True)[:9]))
        packed.write_bytes(gzip.compress(data)[:-30 if cut == "gz" else None])
        plain.write_bytes(data[:{"line": line_end, "middle": line_end + 20, "first": 20, "empty": 0, "gz": None}[cut]])
        _longer_one_is_read(place, backend, logs, writer, (plain, packed), cut, f"{cut} {sent} {shifts}")


def a_second_form_in_the_layout_of_1_1_is_not_passed_over(place):
    """Of each name one form is read. What the other holds may be something else."""
    for n, name in enumerate(("device.1.log", "device.log")):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = Shifting(logs, compress=False)
        writer.line("device")
        writer.rotate("device")
        writer.line("device")
        writer.end()
        second = writer.dir / f"{name}.gz"
        second.write_bytes(gzip.compress(b'{"type":"kernel","n":"of the second form"}\n'))
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, _missing(sink, writer), sink.completes()), (1, 0, 0), f"{name} {done.stdout}")
            check(f"{name}.gz" in done.result["message"], done.result)
            status = json.loads(place.run("gpufl", "status", logs, "--json").stdout)["sessions"][0]
            reason = "layout" if name == "device.log" else "second_form"
            equal(status["not_read"], [{"reason": reason, "files": 1, "example": f"{name}.gz"}], "status")
            second.unlink()
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, sink.completes()), (0, 1), f"once {name}.gz is gone: {done.stdout}")


def a_compressed_copy_of_the_active_file_of_1_1_blocks_nothing(place):
    writer = Shifting(place.logs, compress=False)
    writer.line("device")
    writer.end()
    (writer.dir / "device.log.gz").write_bytes(gzip.compress(writer.active("device").read_bytes()))
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url, "--timeout=20")
        equal((done.returncode, _missing(sink, writer), sink.completes()), (0, 0, 1), done.stdout)


def what_a_writer_of_1_1_may_be_compressing_is_said_once_it_is_quiet(place):
    """It makes `device.1.log.gz` while `device.1.log` is there."""
    writer = Shifting(place.logs, compress=False)
    writer.line("device")
    writer.rotate("device")
    (writer.dir / "device.1.log.gz").write_bytes(gzip.compress((writer.dir / "device.1.log").read_bytes())[:20])
    writer.end()

    def run(age_s):
        at = time.time() - age_s
        for file in writer.dir.glob("*.log"):
            os.utime(file, (at, at))
        agent = lib.agent(place, sink.url, "--exit-when-drained", "--rescan-interval=100ms")
        equal(agent.wait(30 * lib.SLOW), 1, "exit code")
        equal(sink.completes(), 0, "not complete")
        return agent.log.read_text()

    with Sink(declare=True) as sink:
        check("session.refused" not in run(-3600), "it is being written")
        log = run(3600)
        check('example="device.1.log.gz"' in log, log)


def _cut_and_written_on(writer):
    """Its plain file is gone, and a writer of before has begun a new one."""
    packed = writer.dir / "device.log.gz"
    packed.write_bytes(gzip.compress(writer.active("device").read_bytes())[:63])
    writer.active("device").unlink()


def _holds_more(writer):
    plain = writer.active("device").read_bytes()
    first = bytearray(gzip.compress(plain))
    first[-6] ^= 1  # its checksum
    packed = writer.dir / "device.log.gz"
    packed.write_bytes(bytes(first) + gzip.compress(plain.replace(b'"n":', b'"more":')))


def a_compressed_file_that_cannot_be_read_to_its_end_is_said(place):
    for n, spoil in enumerate((_cut_and_written_on, _holds_more)):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = _session(place, directory=logs)
        writer.rotate("device")
        for _ in range(300):
            writer.line("device", pad=os.urandom(60).hex())
        spoil(writer)
        writer.end()
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            said = (done.result["message"], *done.result["warnings"])
            check(any("device.log.gz" in text for text in said), said)


def a_compressed_file_that_could_not_be_read_is_read_again(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    writer = _session(place)
    for _ in range(600):
        writer.line("device", pad=os.urandom(60).hex())
    packed = writer.dir / "device.log.gz"
    packed.write_bytes(gzip.compress(writer.active("device").read_bytes()))
    check(packed.stat().st_size > 32768, "the error comes in the middle")
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url, env={"LD_PRELOAD": str(lib.BUILD / "tests/fake/read_error.so")})
        equal((done.returncode, _missing(sink, writer), sink.completes()), (1, 0, 0), done.stdout)
        check("device.log.gz: it cannot be read to its end" in done.result["message"], done.result)
        done = lib.upload(place, sink.url)
        equal((done.returncode, _missing(sink, writer), sink.completes()), (0, 0, 1), done.stdout)
        equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


def a_compressed_active_file_is_not_damaged_while_the_disk_cannot_read_it(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    for where in ({}, {"FAKE_READ_ERROR_BEGIN": "1"}):
        _is_read_once_the_disk_can(place, where)


def _is_read_once_the_disk_can(place, where):
    logs, failing = place.path / f"logs{len(where)}", place.path / "failing"
    logs.mkdir(mode=0o700)
    writer = _session(place, directory=logs)
    for _ in range(600):
        writer.line("device", pad=os.urandom(60).hex())
    writer.end()
    plain = writer.active("device")
    packed = writer.dir / "device.log.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    check(packed.stat().st_size > 32768, "the error comes in the middle")
    plain.unlink()
    failing.touch()
    env = {"LD_PRELOAD": str(lib.BUILD / "tests/fake/read_error.so"), "FAKE_READ_ERROR": str(failing), **where}
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms", env=env, folder=logs)
        until(lambda: "session.held" in agent.log.read_text(), "held")
        failing.unlink()
        until(lambda: sink.completes(), "it is read again", 100)
        equal(_missing(sink, writer), 0, "all is sent")
        log = agent.log.read_text()
        check("cannot be read" in log and "damaged" not in log, log)
        agent.terminate()
        agent.wait(30 * lib.SLOW)


def many_foreign_files_take_no_place_from_ours_and_are_one_line(place):
    writer = _session(place)
    for i in range(200):
        (writer.dir / f"rank{i:03}.log").write_text("the user's own\n")
    (writer.dir / "device.pipe.log").write_text("")
    writer.end()
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--exit-when-drained", "--rescan-interval=100ms")
        equal(agent.wait(30 * lib.SLOW), 1, "exit code")
        log = agent.log.read_text()
        equal(_missing(sink, writer), 0, "ours are all sent")
        equal(sink.completes(), 0, "and not complete")
        equal(log.count("session.refused"), 2, "a line a reason: " + log)
        check('names=200 example="rank000.log"' in log, log)
    code, sessions = _status(place)
    equal(code, 1, "status")
    equal(sessions[0]["not_read"], [{"reason": "channel", "files": 200, "example": "rank000.log"},
                                    {"reason": "name", "files": 1, "example": "device.pipe.log"}], "status")
    text = place.run("gpufl", "status", place.logs).stdout
    check("not read: 200 files, for example rank000.log: not a file of a known channel" in text, text)


def files_that_cannot_hold_records_are_told_and_block_nothing(place):
    writer = _session(place)
    (writer.dir / "notes.txt").write_text("x")
    (writer.dir / "profiles").mkdir()
    (writer.dir / ".gpufl-window.device.1.json.part.0123").write_text("x")
    (writer.dir / ".failed").write_text("")
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (0, 1), done.stdout)
    code, sessions = _status(place)
    equal((code, sessions[0]["other_files"], sessions[0]["not_read"]), (0, 2, []), "status")


def what_is_no_file_in_the_place_of_one_holds(place):
    for n, make in enumerate((os.mkdir, os.mkfifo, lambda path: os.symlink("/etc/passwd", path))):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        (logs / "only").mkdir()
        make(logs / "only" / "device.log")
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            check("not a regular file" in done.result["message"], done.result)


def a_directory_that_cannot_be_read_is_said(place):
    _session(place).end()
    closed = place.logs / "closed"
    closed.mkdir()
    user = 65534
    if os.geteuid() != 0:
        closed.chmod(0)
        more = {}
    else:
        place.path.chmod(0o755)
        for path in [place.logs, *place.logs.rglob("*")]:
            os.chown(path, user, user)
        os.chown(closed, 0, 0)
        closed.chmod(0o700)
        more = {"user": user, "group": user, "extra_groups": []}
    with Sink(declare=True) as sink:
        done = place.run("gpufl", "upload", place.logs, "--backend-url", sink.url, "--api-key", lib.KEY, "--json",
                         **more)
        equal((done.returncode, sink.completes()), (1, 1), done.stdout + done.stderr)
        check("cannot be read" in done.stdout, done.stdout)
        done = place.run("gpufl", "status", place.logs, **more)
        equal(done.returncode, 1, done.stdout)
        check("closed  writer unknown, its directory cannot be read" in done.stdout, done.stdout)
    closed.chmod(stat.S_IRWXU)


def a_rotated_file_that_is_cut_off_holds(place):
    for cut in (lambda data: data[:-20], lambda data: data[40:], lambda data: b""):
        logs = place.path / f"cut{len(list(place.path.glob('cut*')))}"
        logs.mkdir(mode=0o700)
        writer = Shifting(logs)
        for _ in range(3000):
            writer.line("device")
        writer.rotate("device")
        writer.line("device")
        packed = writer.dir / "device.1.log.gz"
        whole = packed.read_bytes()
        packed.write_bytes(cut(whole))
        writer.end()
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal((done.returncode, sink.completes()), (1, 0), done.stdout)
            packed.write_bytes(whole)
            done = lib.upload(place, sink.url, "--timeout=20", directory=logs)
            equal(_missing(sink, writer), 0, done.stdout)
            with sink.lock:
                equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


def a_manifest_that_says_nothing_makes_no_other_layout(place):
    def newer(file):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": 2}))

    def foreign(file):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"session_id": "another"}))

    for n, (spoil, why) in enumerate((
            (newer, "newer gpufl"), (foreign, "of another session"), (lambda file: file.write_text(""), "damaged"),
            (lambda file: file.write_text("x" * 100000), "damaged"),
            (lambda file: (file.unlink(), file.mkdir()), "cannot be read"))):
        logs = place.path / f"logs{n}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        for _ in range(3):
            writer.line("device")
            writer.rotate("device")
        writer.end()
        manifest = writer.dir / ".gpufl-session.json"
        was = manifest.read_text()
        spoil(manifest)
        with Sink(declare=True) as sink:
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, len(sink.lines), sink.completes()), (1, 0, 0), done.stdout)
            check(why in done.result["message"], done.result)
            status = place.run("gpufl", "status", logs)
            equal((status.returncode, why in status.stdout), (1, True), status.stdout)
            if manifest.is_dir():
                manifest.rmdir()
            manifest.write_text(was)
            done = lib.upload(place, sink.url, directory=logs)
            equal((done.returncode, _missing(sink, writer), sink.completes()), (0, 0, 1), done.stdout)
            numbers = [json.loads(line)["n"] for line in sink.lines if b'"channel":"device"' in line]
            equal(numbers, sorted(numbers), "in order")


def a_manifest_that_vanished_holds_its_session_after_a_restart_too(place):
    writer = _session(place)
    with Sink(declare=True) as sink:
        agent = lib.agent(place, sink.url, "--rescan-interval=100ms")
        until(lambda: _missing(sink, writer) == 0, "sent")
        manifest = writer.dir / ".gpufl-session.json"
        manifest.rename(place.path / "aside")
        until(lambda: "is gone: restore it" in agent.log.read_text(), "it is said")
        writer.rotate("device")
        writer.line("device")
        agent.terminate()
        agent.wait(20 * lib.SLOW)
        writer.end()
        done = lib.upload(place, sink.url)
        equal((done.returncode, sink.completes()), (1, 0), done.stdout)
        check("is gone: restore it" in place.run("gpufl", "status", place.logs).stdout, "status")
        (place.path / "aside").rename(manifest)
        done = lib.upload(place, sink.url)
        equal((done.returncode, _missing(sink, writer), sink.completes()), (0, 0, 1), done.stdout)
        equal(len(sink.lines), len(set(sink.lines)), "nothing twice")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
