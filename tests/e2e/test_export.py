# SPDX-License-Identifier: Apache-2.0
"""`gpufl export`: a session as tools read it that join kernels and details by corr_id alone."""
import contextlib
import fcntl
import gzip
import json
import os
import re
import struct
import subprocess
import sys

import lib
from lib import check, equal, until
import test_collector as collector
import test_losses
import test_trace
from test_trace import _kernels
from writers import Live


SHUTDOWN = '{"type":"shutdown","session_id":"x"}\n'


def _run(place, part, **env):
    lib.need_the_module()
    return test_trace._run(place, part, **env)


def _export(place, session):
    done = place.run("gpufl", "export", session)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def _without(record, *keys):
    return {k: v for k, v in record.items() if k not in keys}


@contextlib.contextmanager
def _held(session):
    """Its lock, as its writer holds it."""
    with open(session / ".gpufl-session.lock", "rb+") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        yield


def a_session_is_exported_as_if_each_launch_had_its_detail(place):
    (shared,), _, _ = _run(place, "counted", GPUFL_LOG_ROTATE_BYTES="4096")
    check(list(shared.glob("device.*.log")), "it has sealed files")
    done, lines = _export(place, shared)
    equal((done.returncode, done.stderr), (0, ""), "exit status, errors")
    details = {d["corr_id"]: d for d in lines if d["type"] == "kernel_detail"}
    kernels = list(_kernels(shared))
    equal(sorted(details), sorted(k["corr_id"] for k in kernels), "a detail for each launch")
    equal(sum(d["type"] == "kernel_detail" for d in lines), len(kernels), "and no other")
    check(len(kernels) > 5 and not any("per_launch" in d for d in details.values()), "as older writers have them")
    written = {d["corr_id"]: d for d in collector.records(shared, "device") if d["type"] == "kernel_detail"}
    for kernel in kernels:
        equal(_without(details[kernel["corr_id"]], "corr_id"),
              _without(written[kernel["detail_corr_id"]], "corr_id", "per_launch"), "what the launches share")
    rows = [dict(zip(r["columns"], row)) for r in lines if r["type"] == "kernel_event_batch" for row in r["rows"]]
    equal([_without(r, "has_details", "detail_corr_id") for r in rows],
          [_without(k, "has_details", "detail_corr_id", "name", "start_ns") for k in kernels], "the rows are the same")
    check(all(r["has_details"] == 1 and r["detail_corr_id"] == r["corr_id"] for r in rows), "but that each names its own")
    files = [json.loads(line) for c in lib.CHANNELS for line in lib.on_disk(shared, c).splitlines()]
    others = [r for r in files if r["type"] not in ("kernel_detail", "kernel_event_batch")]
    equal([r for r in lines if r["type"] not in ("kernel_detail", "kernel_event_batch")], others, "all other lines as they are")


def a_session_with_details_of_its_own_is_printed_as_it_is(place):
    (session,), _, _ = _run(place, "counted", GPUFL_KERNEL_DETAILS="per_launch")
    done, _ = _export(place, session)
    equal((done.returncode, done.stderr), (0, ""), "exit status, errors")
    equal(done.stdout.encode(), b"".join(lib.on_disk(session, c) for c in lib.CHANNELS), "its lines")


def what_is_missing_of_an_export_is_said(place):
    (session,), _, _ = _run(place, "counted", GPUFL_LOG_ROTATE_BYTES="4096")
    first = session / "device.1.log"
    kept = first.read_bytes()
    first.unlink()
    done, _ = _export(place, session)
    equal(done.returncode, 1, "a file is missing")
    check("device: files 1 to 1 are not there" in done.stderr, done.stderr)
    first.with_name("device.1.log.gz").write_bytes(gzip.compress(kept))
    done, _ = _export(place, session)
    check(done.returncode == 2 and "gunzip" in done.stderr, done.stderr)
    first.with_name("device.1.log.gz").unlink()
    first.write_bytes(kept)
    with open(session / "scope.log", "ab") as active:
        active.write(b'{"type":"x","session_')
    done, lines = _export(place, session)
    equal(done.returncode, 1, "a line is cut off")
    check("last line" in done.stderr and all("type" in r for r in lines), done.stderr)
    for path in session.glob("device*.log"):
        path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(keepends=True) if b'"kernel_detail"' not in line))
    done, _ = _export(place, session)
    check(done.returncode == 1 and done.stderr.count("kernel_detail that is not there") == 1, done.stderr)
    (session / "scope.log").write_bytes((session / "scope.log").read_bytes().replace(b'"shutdown"', b'"other"'))
    with _held(session):
        done, _ = _export(place, session)
    equal((done.returncode, done.stderr.count("\n"), "still being recorded" in done.stderr), (0, 1, True),
          f"while it runs, details may come behind the first look: {done.stderr}")


def what_the_recorder_lost_is_said_once_each(place):
    session, said, _, _ = test_losses._play(place, "forgotten")
    lost = re.findall(r"  (\d+ .*)", said)
    equal(len(lost), 2, f"kinds: {said}")
    for closing in ("device", "scope", "system"):
        done, _ = _export(place, session)
        equal((done.returncode, done.stderr.splitlines()), (1, [f"gpufl export: {session}: lost: {text}" for text in lost]), closing)
        for path in session.glob(f"{closing}.log"):  # the others tell it, too
            path.write_bytes(b"".join(line for line in path.read_bytes().splitlines(keepends=True)
                                      if b'"capture_capabilities"' not in line))
    done, _ = _export(place, session)
    equal((done.returncode, done.stderr), (0, ""), "no record tells it any more")


def what_loss_markers_tell_is_said(place):
    session = lib.job(place, 0.2)
    marker = {"schema_version": 1, "type": "transport_window_loss", "channel": "spool", "window_index": 0, "reason": "disk_full"}
    for name, lines in (("spool.0", 200), ("system.1", 24)):
        (session / f".gpufl-transport-loss.{name}.json").write_text(json.dumps({**marker, "lines": lines}) + "\n")
    done, _ = _export(place, session)
    check(done.returncode == 1 and done.stderr.count("\n") == 1 and ": lost: 224 lines: " in done.stderr, done.stderr)
    (session / ".gpufl-transport-loss.spool.1.json").write_text(json.dumps(marker) + "\n")
    done, _ = _export(place, session)
    check(done.returncode == 1 and done.stderr.count("\n") == 2 and "spool.1.json does not tell how many" in done.stderr, done.stderr)


def a_session_that_runs_and_one_without_end_are_told_apart(place):
    job = place.start("examples/demo-job", place.logs, "600")
    active = until(lambda: next(place.logs.glob("[!.]*/system.log"), None), "the session")
    until(lambda: active.read_bytes().count(b"\n") > 1, "it is written")
    session = active.parent
    done, _ = _export(place, session)
    equal((done.returncode, done.stderr.count("\n"), "still being recorded" in done.stderr), (0, 1, True), f"it runs: {done.stderr}")
    job.kill()
    job.wait()
    until(lambda: collector.unlocked(session), "its lock is free")
    done, _ = _export(place, session)
    check(done.returncode == 1 and "device, scope, system: no shutdown" in done.stderr, f"it was killed: {done.stderr}")
    with open(active, "ab") as growing:
        growing.write(b'{"type":"x","session_')
    with _held(session):
        done, _ = _export(place, session)
    equal((done.returncode, done.stderr.count("\n")), (0, 1), f"the rest of a line comes: {done.stderr}")


def a_channel_of_which_no_file_is_there_is_said(place):
    session = lib.job(place, 0.2)
    for path in session.glob("system*.log"):
        path.unlink()
    done, _ = _export(place, session)
    check(done.returncode == 1 and done.stderr.count("\n") == 1 and "system: no file of it is there" in done.stderr, done.stderr)
    (session / ".gpufl-session.json").write_text("{")
    done, _ = _export(place, session)
    check(done.returncode == 1 and ".gpufl-session.json is damaged" in done.stderr, done.stderr)


def a_line_that_no_backend_takes_is_left_out_and_said(place):
    (session,), _, _ = _run(place, "counted")
    before, _ = _export(place, session)
    with open(session / "system.log", "ab") as active:
        active.write(b'{"type":"x","of":"' + b"x" * (20 << 20) + b'"}\n{"type":"behind"}\n')
    done, lines = _export(place, session)
    equal((done.returncode, "longer than 8 MiB" in done.stderr), (1, True), done.stderr)
    equal(done.stdout, before.stdout + '{"type":"behind"}\n', "all others")
    equal(lines[-1], {"type": "behind"}, "also that behind it")


def what_is_no_record_is_left_out_and_counted(place):
    """Half lines, and lines that merged, since another program cut the file between them."""
    session = lib.job(place, 0.2)
    before, _ = _export(place, session)
    line = (session / "scope.log").read_bytes().splitlines(True)[-1]
    merged = b"".join(line[:cut] + line for cut in (1, 9, 40, len(line) // 2, len(line) - 3))
    with open(session / "system.log", "ab") as active:
        active.write(merged + b'{"version":1,"type":"x"\n[1]\n\n{"type":"behind"}\n')
    done, _ = _export(place, session)
    equal((done.returncode, "8 lines are no record, and left out" in done.stderr), (1, True), done.stderr)
    equal(done.stdout, before.stdout + '{"type":"behind"}\n', "all others")


def what_a_backend_stores_is_printed_though_it_is_no_json(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    head = b'{"version":1,"type":"x","session_id":"' + writer.id.encode() + b'",'
    odd = b"".join(head + rest + b"\n" for rest in (
        b'"a":"\xff\xfe"}', b'"a":"\0"}', b'"a":"tab\there"}', b'"a":01}', b'"a":1,}', b'"a":' + b'{"k":' * 120 + b"1" + b"}" * 121,
        b'"a":"not "escaped"","n":{"version":1}}', b'"a":{"version":1,"type":"y"}}'))
    writer.raw("scope", odd)
    writer.end()
    done = subprocess.run([lib.BUILD / "gpufl", "export", writer.dir], capture_output=True, env=lib.environment({}), check=False)
    equal((done.returncode, odd in done.stdout), (0, True), done.stderr)
    equal(lib.upload(place, backend.url).returncode, 0, "it is sent")
    check(odd in backend.export(writer.id, "scope"), "and stored")


def a_batch_of_many_launches_takes_the_memory_of_one(place):
    """Of one detail of 1 MiB, each of 300 launches gets a copy."""
    session = place.logs / "one"
    session.mkdir()
    (session / "device.log").write_text(
        '{"type":"kernel_detail","session_id":"x","corr_id":1,"per_launch":false,"stack_trace":"' + "s" * (1 << 20) + '"}\n'
        '{"type":"kernel_event_batch","session_id":"x","columns":["corr_id","has_details","detail_corr_id"],"rows":['
        + ",".join(f"[{n},0,1]" for n in range(2, 302)) + "]}\n" + SHUTDOWN)
    with open(place.path / "out", "wb") as out:
        process = subprocess.Popen([lib.BUILD / "gpufl", "export", session], stdout=out, env=lib.environment({}))
        _, status, used = os.wait4(process.pid, 0)
    equal(os.waitstatus_to_exitcode(status), 0, "exit status")
    check((place.path / "out").stat().st_size > 300 << 20, "each has its own")
    if not lib.SANITIZER:
        check(used.ru_maxrss < 160 << 10, f"{used.ru_maxrss >> 10} MiB")


def a_detail_with_a_nul_is_printed_as_it_is(place):
    session = place.logs / "one"
    session.mkdir()
    line = b'{"type":"kernel_detail","session_id":"x","corr_id":1,"name":"a\0b","grid":"(1,1,1)"}\n' + SHUTDOWN.encode()
    (session / "device.log").write_bytes(line)
    done = place.run("gpufl", "export", session)
    equal((done.returncode, done.stdout.encode()), (0, line), done.stderr)


def a_directory_that_is_no_session_is_not_exported(place):
    for path in (place.logs, place.path / "none", "/dev/null"):
        done, _ = _export(place, path)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and str(path) in done.stderr, done.stderr)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
