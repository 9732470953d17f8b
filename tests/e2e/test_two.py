# SPDX-License-Identifier: Apache-2.0
"""Two uploaders at once, on the same directory, on nested ones, and inside the recording process."""
import collections
import concurrent.futures
import fcntl
import gzip
import json
import os
import signal
import subprocess
import sys
import uuid

import lib
import sink
from lib import check, equal, until
from writers import Live, Shifting, Windows


def _group(place):
    """Sessions on both levels: of a multi-pass run, and beside it."""
    group = place.logs / "run-train-1234abcd"
    group.mkdir(mode=0o700)
    return group, lib.job(place, 0.2), lib.job(place, 0.2, logs=group)


def an_agent_on_a_group_keeps_out_one_on_the_directory_above(place):
    group, above, inside = _group(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    inner = lib.agent(place, backend.url, folder=group)
    until(lambda: backend.complete(inside.name), "the group's session is complete")
    outer = lib.agent(place, backend.url, "--rescan-interval=100ms")
    until(lambda: backend.complete(above.name), "the other session is complete")
    late = lib.job(place, 0.2, logs=group)
    until(lambda: backend.complete(late.name), "a late one of the group is complete")
    inner.terminate()
    inner.wait(20 * lib.SLOW)
    outer.terminate()
    equal(outer.wait(20 * lib.SLOW), 0, "exit code")
    equal(outer.log.read_text().count("scan.other_root"), 1, "said once")
    check("complete=1 unsent_channels=0 quarantined=0" in outer.log.read_text(),
          "and the group is left to its own journal")
    for session in (above, inside, late):
        lib.same(backend, session)


def an_agent_above_keeps_out_one_on_a_group(place):
    group, above, inside = _group(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    outer = lib.agent(place, backend.url)
    until(lambda: backend.complete(inside.name), "the group's session is complete")
    inner = lib.agent(place, backend.url, folder=group)
    equal(inner.wait(20 * lib.SLOW), 1, "the second one's exit code")
    said = inner.log.read_text()
    check("the directory above" in said and f"pid {outer.pid}" in said, said)
    done = lib.upload(place, backend.url, directory=group)
    equal(done.returncode, 1, "an upload of the group")
    check("the directory above" in done.result["message"], done.result["message"])
    until(lambda: backend.complete(above.name), "complete")
    for session in (above, inside):
        lib.same(backend, session)


def _loses_its_active_file(writer):
    (writer.dir / "device.log").unlink()
    writer.line("device")
    (writer.dir / "device.log").unlink()
    writer.die()


def _leaves_a_file_that_is_not_read(writer):
    (writer.dir / "device.log.1").write_bytes(b"{}\n")
    writer.end()


def _is_truncated(writer):
    os.truncate(writer.dir / "device.log", 60)
    writer.die()


def _is_compressed_in_part(writer):
    plain = writer.dir / "device.log"
    data = gzip.compress(plain.read_bytes() * 3)
    (writer.dir / "device.log.gz").write_bytes(data[:len(data) // 2])
    plain.unlink()
    writer.die()


def _is_refused(writer):
    writer.line("device", "poison")
    writer.end()


def _ends(writer):
    writer.end()


def _lives(writer):
    writer.line("device")


FILES = {_loses_its_active_file: "active file is gone", _is_truncated: ("shorter", "has more of this session"),
         _leaves_a_file_that_is_not_read: "device.log.1", _is_compressed_in_part: "is damaged or cut off"}
WHOLE = {_ends: "", _lives: ""}


def _judged(place, url, is_sent, steps):
    """An upload of each session, on which a step was taken once the agent had sent it, beside that agent, and then alone."""
    logs = place.path / f"logs{next(place.count)}"
    logs.mkdir(mode=0o700)
    writers = {step: Live(logs) for step in steps}
    for writer in writers.values():
        writer.line("device")
    agent = lib.agent(place, url, folder=logs)
    until(lambda: all(is_sent(writer) for writer in writers.values()), "sent")
    for step, writer in writers.items():
        step(writer)

    def upload(writer):
        return lib.upload(place, url, "--session-id", writer.id, "--timeout=60s", directory=logs)

    with concurrent.futures.ThreadPoolExecutor(len(writers)) as pool:
        beside = dict(zip(writers, pool.map(upload, writers.values())))
    agent.terminate()
    agent.wait(20 * lib.SLOW)
    for step, want in steps.items():
        alone, done, name = upload(writers[step]), beside[step], f"{step.__name__}: "
        equal(done.returncode, alone.returncode, name + done.stdout + alone.stdout)
        for figure in ("success", "status", "sessions_live", "sessions_away", "sessions_lossy", "sessions_ended"):
            equal(done.result[figure], alone.result[figure], name + figure + done.stdout + alone.stdout)
        check(any(text in done.result["message"] for text in ((want,) if isinstance(want, str) else want)), name + done.stdout)
        check("time limit" not in done.result["message"], name + done.stdout)
        equal(done.returncode, 0 if step in WHOLE else 1, name + done.stdout)


def an_upload_beside_an_agent_fails_for_what_the_agent_holds(place):
    """Whether the backend takes positions or not: as it does alone, and no later than that is known."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    _judged(place, backend.url, lambda w: backend.export(w.id, "device") == w.written["device"], {**FILES, **WHOLE})
    for declare, steps in ((True, {_is_refused: "1 line was rejected"}), (False, {**FILES, _is_refused: "1 line was rejected", **WHOLE})):
        with sink.Sink(lambda s, r: 400 if r.is_batch and b'"poison"' in r.raw() else None, declare=declare) as s:
            _judged(place, s.url, lambda w, s=s: set(bytes(w.written["device"]).splitlines()) <= set(s.lines), steps)


def _compresses_at_its_end(writer):
    writer.compress = True
    writer.end()


def _rotates_with_lines_lost(writer):
    writer.rotate("device")
    writer.line("device", times=5)
    (writer.dir / ".gpufl-transport-loss.spool.1.json").write_text('{"schema_version":1,"lost_rows":5,"reason":"spool"}\n')


def _rotates(writer):
    writer.rotate("device")
    writer.line("device", times=5)


def _goes_on_behind_its_end(writer):
    writer.line("device", times=20)


def an_upload_beside_a_stopped_agent_does_not_say_that_unsent_lines_are_sent(place):
    """Of the 1.1 layout, where no position tells where a session ends; once the agent goes on, all of it is sent."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for step in (_compresses_at_its_end, _rotates_with_lines_lost, _rotates, _goes_on_behind_its_end):
        logs = place.path / step.__name__
        logs.mkdir(mode=0o700)
        writer = Shifting(logs, session=str(uuid.uuid4()), compress=False)
        writer.line("device", times=5)
        if step is _goes_on_behind_its_end:
            writer.rotate("device")
            writer.line("device")
            writer.end()
        agent = lib.agent(place, backend.url, "--rescan-interval=200ms", folder=logs)
        until(lambda w=writer: backend.export(w.id, "device") == w.written["device"], "what is there is sent")
        if step is _goes_on_behind_its_end:
            until(lambda w=writer: backend.complete(w.id), "complete")
            equal(lib.upload(place, backend.url, directory=logs).returncode, 0, "that is told")
        agent.send_signal(signal.SIGSTOP)
        step(writer)
        done = lib.upload(place, backend.url, "--timeout=1s", directory=logs)
        equal((done.returncode, done.result["status"]), (1, "not complete"), step.__name__ + done.stdout)
        agent.send_signal(signal.SIGCONT)
        done = lib.upload(place, backend.url, directory=logs)
        equal(done.returncode, 0, step.__name__ + done.stdout)
        equal(backend.export(writer.id, "device"), writer.written["device"], step.__name__)
        agent.kill()
        agent.wait()


def an_upload_beside_an_agent_counts_as_one_alone(place):
    """Also of older layouts, of which nothing but the agent's word tells whether the writer lives."""
    for kind in (Live, Shifting, Windows):
        logs = place.path / kind.__name__
        logs.mkdir(mode=0o700)
        with sink.Sink(declare=True, key=lib.KEY) as s:
            lib.agent(place, s.url, folder=logs)
            writer = kind(logs)
            writer.end()
            done = lib.upload(place, s.url, directory=logs)
            figures = [done.result[figure] for figure in ("sessions", "sessions_complete", "sessions_live")]
            equal((done.returncode, figures, s.completes()), (0, [1, 1, 0], 1), kind.__name__ + done.stdout)


def an_upload_says_when_the_other_uploader_has_no_room_for_the_session(place):
    """What an agent tells that already keeps all it may of this user: a longer limit does not help."""
    lib.job(place, 0.2)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    state = place.logs / ".gpufl-agent"
    state.mkdir(mode=0o755, exist_ok=True)
    (state / "progress").write_text(f"gpufl-progress 1 pid={os.getpid()} program=gpufl-agent origin=0 database=0 state=0-0\n"
                                    f"!waits {os.geteuid()} 3\n")
    holder = os.open(place.logs, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    fast = {"LD_PRELOAD": str(lib.BUILD / "tests/fake/fast_clock.so"), "FAKE_CLOCK_RATE": "20"}
    limits = [("1s", None, 1000, 30000 * lib.SLOW), ("10m", fast, 30000, 300000)]
    for limit, env, least_ms, most_ms in limits[:1] if lib.SANITIZER else limits:  # its runtime wants to be loaded first
        done = lib.upload(place, backend.url, f"--timeout={limit}", env=env)
        equal(done.returncode, 1, "exit code")
        message = done.result["message"]
        check(f"there is no room for 3 more directories of user {os.geteuid()} (remove some that are complete" in message,
              message)
        check("longer" not in message and "gpufl-agent" in message, message)
        check(least_ms <= done.result["elapsed_ms"] < most_ms, f"after 30 s at the latest: {done.stdout}")
    os.close(holder)


def both_in_one_agent_is_refused(place):
    group, _, _ = _group(place)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = place.start("gpufl-agent", f"--folders={place.logs},{group}", f"--host={backend.url}",
                        env={"GPUFL_HTTP_TOKEN": lib.KEY})
    equal(agent.wait(20 * lib.SLOW), 1, "exit code")
    check("(leave one of the two out)" in agent.log.read_text(), agent.log.read_text())


def many_uploads_at_once_send_each_line_once(place):
    sessions = [lib.job(place, 0.1) for _ in range(4)]
    backend = lib.Backend(place, "--api-key", lib.KEY)
    uploads = [place.start("gpufl", "upload", place.logs, "--backend-url", backend.url,
                           env={"GPUFL_API_KEY": lib.KEY}) for _ in range(6)]
    agents = [lib.agent(place, backend.url, "--exit-when-drained") for _ in range(3)]
    codes = [p.wait(60 * lib.SLOW) for p in uploads + agents]
    check(set(codes) <= {0, 1}, f"exit codes {codes}")
    equal(lib.upload(place, backend.url).returncode, 0, "and one more")
    for session in sessions:
        lib.same(backend, session)
        check(backend.complete(session.name), "complete")


def _stored(s):
    return collections.Counter(s.lines)


def _written(writer):
    return collections.Counter(line for data in writer.written.values() for line in bytes(data).splitlines())


def uploaders_with_states_of_their_own_in_turns_send_each_line_once(place):
    """To a backend that takes windows, or not even these: nobody but the progress file tells what the other one has sent."""
    for declare in (True, False):
        logs = place.path / f"logs{declare}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        with sink.Sink(declare=declare) as s:
            for turn in range(6):
                writer.line("device", times=2)
                if turn % 2:
                    done = lib.upload(place, s.url, f"--state-dir={logs}-b", directory=logs)
                    equal((done.returncode, done.result["events_uploaded"]), (0, 2), done.stdout)
                else:
                    agent = lib.agent(place, s.url, f"--state-dir={logs}-a", folder=logs)
                    until(lambda s=s, w=writer: not _written(w) - _stored(s), "all of it is sent")
                    agent.terminate()
                    equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
                equal(_stored(s), _written(writer), f"turn {turn}: each line once")
            writer.end()
            done = lib.upload(place, s.url, f"--state-dir={logs}-a", directory=logs)
            equal((done.returncode, done.result["sessions_complete"]), (0, 1), done.stdout)
            equal(_stored(s), _written(writer), "each line once")


def what_another_uploader_sends_meanwhile_is_not_sent_again(place):
    """As on two hosts with a shared directory, whose file system does not share locks: the other one serves a copy."""
    writer = Live(place.logs)
    writer.line("device")
    with sink.Sink(declare=True) as s:
        agent = lib.agent(place, s.url, f"--state-dir={place.path}/a")
        progress = place.logs / ".gpufl-agent/progress"
        until(lambda: all(f"{writer.id} {c} 1 {len(data)} " in progress.read_text() for c, data in writer.written.items()),
              "it tells of its lines")
        agent.send_signal(signal.SIGSTOP)
        writer.line("device", times=3)
        shared = place.path / "shared"
        subprocess.run(["cp", "-a", place.logs, shared], check=True)
        done = lib.upload(place, s.url, f"--state-dir={place.path}/b", directory=shared)
        equal((done.returncode, done.result["events_uploaded"]), (0, 3), done.stdout)
        for name in ("key", "progress"):
            os.rename(shared / ".gpufl-agent" / name, place.logs / ".gpufl-agent" / name)
        agent.send_signal(signal.SIGCONT)
        until(lambda: "progress.imported" in agent.log.read_text(), "it has seen that")
        writer.line("device")
        writer.end()
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        equal(_stored(s), _written(writer), "each line once")


def what_was_sent_with_another_key_is_sent_with_this_one(place):
    """It may be of another workspace. Only programs of the same user can tell: nobody else can read a hash of the key."""
    writer = Live(place.logs)
    writer.line("device")
    writer.end()
    with sink.Sink(declare=True) as s:
        for turn, (key, sends) in enumerate((("one", True), ("two", True), ("one", False), ("two", False))):
            done = place.run("gpufl", "upload", place.logs, f"--backend-url={s.url}", f"--state-dir={place.path}/{key}",
                             env={"GPUFL_API_KEY": key})
            equal((done.returncode, len(s.lines)), (0, len(_written(writer).keys()) * min(turn + 1, 2)), f"{turn} {sends}: {done.stdout}")
        equal((place.logs / ".gpufl-agent/key").stat().st_mode & 0o777, 0o600, "the mode of its file")


def a_state_that_changes_to_the_backend_of_another_one_goes_on_where_that_has_stopped(place):
    """By another URL, or another key of the same one, to a backend that takes windows, or not even these; what was not
    sent there is sent, and a key that was only tried changes nothing."""
    for declare, changes_url in ((True, True), (False, True), (True, False)):
        logs = place.path / f"logs-{declare}-{changes_url}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        writer.line("device", times=5)
        with sink.Sink(declare=declare) as first, sink.Sink(declare=declare) as second:
            second = second if changes_url else first

            def upload(state, to, key, events, rc=0, logs=logs):
                done = place.run("gpufl", "upload", logs, f"--backend-url={to.url}", f"--state-dir={logs}-{state}", "--json",
                                 env={"GPUFL_API_KEY": key})
                told = json.loads(done.stdout)
                equal((done.returncode, told["events_uploaded"]), (rc, events), f"{state}: {done.stdout}")

            other = "one" if changes_url else "two"
            upload("b", first, "one", 8)
            upload("a", second, other, 8)
            writer.line("device", times=2)
            if not changes_url:
                upload("a", second, other, 2)
            second.key = "a third one"
            upload("b", second, other, 0, rc=2)
            second.key = None
            if not changes_url:
                upload("b", first, "one", 2)
                upload("a", second, other, 0)
            upload("b", second, other, 2 if changes_url else 0)
            writer.end()
            upload("b", second, other, 3)
            upload("a", second, other, 0)
            equal(len(second.lines), 13 if changes_url else 23, "each line once for each key")


HOLDER = """
import ctypes, fcntl, os, sys
sys.path.insert(0, sys.argv[1])
os.environ["GPUFL_BACKEND_URL"], os.environ["GPUFL_API_KEY"] = sys.argv[4], sys.argv[5]
lock = os.open(sys.argv[3] + "/.gpufl-session.lock", os.O_RDWR)
fcntl.lockf(lock, fcntl.LOCK_EX)
library = ctypes.CDLL(sys.argv[2])
options = (ctypes.c_void_p * 64)()
library.gpufl_upload_options_default(options)
path = ctypes.create_string_buffer(os.path.dirname(sys.argv[3]).encode())
options[1] = ctypes.addressof(path)  # log_path, behind struct_size
print(library.gpufl_upload_logs(options, None), flush=True)
sys.stdin.read()
"""


def a_posix_lock_of_the_calling_process_survives_the_upload(place):
    """The existing client's lock goes with the first descriptor of it that its process closes."""
    if lib.SANITIZER:
        lib.skip("a library under a sanitizer cannot be loaded into another program")
    writer = Live(place.logs)
    writer.line("scope")
    writer.die()  # the lock is the other process's from here on
    os.truncate(writer.dir / ".gpufl-session.lock", 0)  # that client writes nothing into it
    backend = lib.Backend(place, "--api-key", lib.KEY)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(lib.ROOT / "tests/e2e"),
         str(lib.BUILD / "libgpufl-upload.so"), str(writer.dir), backend.url, lib.KEY],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=lib.environment({}))
    equal(holder.stdout.readline(), "0\n", "gpufl_upload_logs")
    lib.holds(backend, writer)
    check(not backend.complete(writer.id), "not complete: its writer lives")
    lock = os.open(writer.dir / ".gpufl-session.lock", os.O_RDWR)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise lib.Failed("the lock was lost")
    except BlockingIOError:
        pass
    holder.communicate("")
    os.close(lock)
    equal(lib.upload(place, backend.url).returncode, 0, "after its end")
    check(backend.complete(writer.id), "complete now")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
