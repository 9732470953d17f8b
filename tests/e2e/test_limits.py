# SPDX-License-Identifier: Apache-2.0
"""Few watches, few descriptors, little memory, a slow disk, files that go while they are read, and
being stopped in every state."""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

import lib
from lib import check, equal, until
import sink
from writers import Live, Shifting

MANY, BACKLOG_GIB = (5000, 10) if lib.FULL else (400, 1)
PEAK_KIB = 16 << 10


def _limited(place, url, sysctl, value, *args):
    """An agent in a user namespace where the kernel gives only so many of something."""
    limited = ["unshare", "-Ur", "sh", "-c", f'echo {value} > {sysctl} && exec "$0" "$@"']
    return lib.agent(place, url, *args, through=limited)


def _can_limit():
    return subprocess.run(["unshare", "-Ur", "test", "-w", "/proc/sys/user/max_inotify_watches"],
                          capture_output=True, check=False).returncode == 0


def without_watches_the_scan_does_it(place):
    if not _can_limit():
        lib.skip("no user namespaces here")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for name, value, said in (("max_inotify_watches", 3, "fs.inotify.max_user_watches"),
                              ("max_inotify_instances", 0, "watch=poll")):
        writers = [Live(place.logs) for _ in range(8)]
        agent = _limited(place, backend.url, f"/proc/sys/user/{name}", value)
        until(lambda a=agent, s=said: s in a.log.read_text(), f"it says so ({name})")
        for writer in writers:
            writer.line("scope", late=True)
            writer.rotate("scope")
            writer.end()
        until(lambda w=writers: all(backend.complete(x.id) for x in w), "all complete")
        for writer in writers:
            lib.holds(backend, writer)
        agent.terminate()
        agent.wait(20 * lib.SLOW)


def a_queue_that_overflows_loses_nothing(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    agent = lib.agent(place, backend.url, "--rescan-interval=1h", "--log-level=debug")
    until(lambda: backend.export(writer.id, "scope"), "it follows")
    lib.flood(agent, writer.dir)
    late = Live(place.logs)  # what the queue had no room for
    late.end()
    agent.send_signal(signal.SIGCONT)
    until(lambda: backend.complete(late.id), "the session that no event told of")
    lib.holds(backend, late)
    writer.end()


def many_sessions_need_few_descriptors_and_little_memory(place):
    """A backlog while the backend is down, within 64 descriptors; then all of it, once."""
    writers = []
    for _ in range(MANY):
        writer = Live(place.logs)
        writer.line("scope")
        writer.end()
        writers.append(writer)
    big = [Live(place.logs) for _ in range(20)]
    for writer in big:  # room that is taken, as far as an uploader that waits can tell
        with open(writer.active("device"), "ab") as file:
            file.truncate((BACKLOG_GIB << 30) // len(big))
    backend = lib.Backend(place, "--api-key", lib.KEY)
    backend.kill()
    for start in ("first", "second"):
        agent = lib.agent(place, backend.url, "--max-requests-per-second=0",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        until(lambda: "origin.failing" in agent.log.read_text(), "the backend is down", 60)
        until(lambda: lib.watches(agent.pid) == len(big) + 1, "those still written are watched", 60)
        peak = lib.peak_kib(agent.pid)
        print(f"   {start} start, {MANY} sessions, {BACKLOG_GIB} GiB, backend down: {peak} KiB at most")
        check(lib.MEASURES_ITSELF or peak <= PEAK_KIB, f"{peak} KiB, {PEAK_KIB} allowed")
        if start == "first":
            agent.kill()
            agent.wait()
    for writer in big:
        shutil.rmtree(writer.dir)
        writer.die()
    backend.start()
    until(lambda: all(backend.complete(w.id) for w in writers), "all complete", 240)
    for writer in writers[::50]:
        lib.holds(backend, writer)
    agent.terminate()
    agent.wait(60 * lib.SLOW)
    check("Too many open files" not in agent.log.read_text(), agent.log.read_text()[-2000:])


def files_that_go_or_shrink_while_they_are_read_are_said(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    cut, gone, fine = Live(place.logs), Live(place.logs), Live(place.logs)
    replaced = Shifting(place.logs)
    agent = lib.agent(place, backend.url, "--rescan-interval=200ms", "--flush-interval=0")
    for writer in (cut, gone, fine, replaced):
        for _ in range(20):
            writer.line("scope")
    until(lambda: all(backend.export(w.id, c) == w.written[c] for c in Live.channels
                      for w in (cut, gone, fine, replaced)), "all is sent")
    os.truncate(cut.active("scope"), 100)
    backend.kill()
    gone.line("scope")
    until(lambda: f"upload.retry session={gone.id}" in agent.log.read_text() or
          "origin.failing" in agent.log.read_text(), "an attempt fails")
    shutil.rmtree(gone.dir)
    until(lambda: f"session.away session={gone.id}" in agent.log.read_text(), "it is said")
    other = replaced.dir / "other"
    other.write_bytes(b'{"type":"other","session_id":"%s"}\n' % replaced.id.encode())
    other.rename(replaced.dir / "scope.log")
    backend.start()
    until(lambda: f"session={cut.id} channel=scope" in agent.log.read_text() and
          "shorter than what was sent" in agent.log.read_text(), "the cut file is said")
    until(lambda: f"session={replaced.id} channel=scope" in agent.log.read_text(), "and the third")
    for writer in (cut, fine):
        writer.line("device", after=True)
        writer.end()
    until(lambda: backend.complete(fine.id), "others go on")
    lib.holds(backend, fine)
    want = b"".join(bytes(cut.written["device"]).splitlines(True)[:-1])  # its shutdown waits
    until(lambda: backend.export(cut.id, "device") == want, "its other channels go on")
    check(not backend.complete(cut.id), "it is not complete")


def a_file_that_went_alone_keeps_its_session_incomplete(place):
    """The active file of one channel is deleted before it was read; the directory stays."""
    session = lib.job(place, 0.2)
    with sink.Sink(declare=True, delay_s=1 * lib.SLOW) as s:
        agent = lib.agent(place, s.url, "--rescan-interval=100ms", "--drain-timeout=1s")
        until(lambda: s.requests, "the backend is asked what it is")
        (session / "device.log").unlink()
        s.delay_s = 0
        until(lambda: f"session.held session={session.name} channel=device" in agent.log.read_text(), "it is said")
        until(lambda: len(s.lines) == sum(len(lib.on_disk(session, c).splitlines()) for c in ("scope", "system")),
              "the other channels are sent")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")
        check(not any(r.path.endswith("session-complete") for r in s.requests), "it is not complete")


def a_journal_remembers_sessions_that_are_away(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writers = []
    for _ in range(100):
        writer = Live(place.logs)
        writer.end()
        writers.append(writer)
    equal(lib.upload(place, backend.url).returncode, 0, "upload")
    journal, = place.logs.glob(".gpufl-agent/*journal")
    for writer in writers:
        writer.dir.rename(place.path / writer.id)
    last = Live(place.logs)
    last.end()
    for _ in range(3):  # each rewrites it
        equal(lib.upload(place, backend.url).returncode, 0, "upload")
    check(all(writer.id.encode() in journal.read_bytes() for writer in writers), "it knows all of them")
    for writer in writers:
        (place.path / writer.id).rename(writer.dir)
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["events_uploaded"]), (0, 0), "nothing is sent again")


def state_that_cannot_be_written_is_said_at_once(place):
    lib.job(place, 0.1)
    agent = lib.agent(place, "http://127.0.0.1:1", "--state-dir=/proc/none")
    equal(agent.wait(20 * lib.SLOW), 1, "exit code")
    check("/proc/none" in agent.log.read_text(), agent.log.read_text())


def _stopped_in_time(process, seconds):
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    equal(process.wait(60 * lib.SLOW), 0, "exit code")
    spent = time.monotonic() - begin
    check(spent < seconds * lib.SLOW, f"stopped after {spent:.1f} s")
    check("agent.stopped" in process.log.read_text(), "it says what is left")


def sigterm_in_the_middle_of_a_connect(place):
    lib.job(place, 0.1)
    with socket.socket() as full:  # its queue is full: whoever comes now hears nothing
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        agent = lib.agent(place, f"http://127.0.0.1:{full.getsockname()[1]}",
                          "--drain-timeout=300ms")
        until(lambda: "agent.started" in agent.log.read_text(), "it is up")
        _stopped_in_time(agent, 5)
        for one in crowd:
            one.close()


def sigterm_in_the_middle_of_a_pause(place):
    lib.job(place, 0.1)
    agent = lib.agent(place, "http://127.0.0.1:1", "--drain-timeout=300ms")
    until(lambda: "origin.failing" in agent.log.read_text(), "it waits for the backend")
    _stopped_in_time(agent, 5)
    check("unsent_channels=3" in agent.log.read_text(), agent.log.read_text())


def a_disk_that_takes_5_s_to_sync_stops_nothing_else(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    slow = place.path / "slow"
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    agent = lib.agent(place, backend.url, "--drain-timeout=1h", "--log-level=debug",
                      env={"LD_PRELOAD": str(lib.BUILD / "tests/fake/slow_sync.so"),
                           "FAKE_SLOW_SYNC": str(slow)})
    until(lambda: backend.export(writer.id, "scope") == writer.written["scope"], "it follows")
    slow.touch()
    writer.line("scope")
    until(lambda: backend.export(writer.id, "scope") == writer.written["scope"],
          "after the sync the line is stored", 30)
    writer.line("scope")  # its record is being synced, or soon
    begin = time.monotonic()
    agent.send_signal(signal.SIGTERM)
    until(lambda: "agent.draining" in agent.log.read_text(), "the signal is taken at once", 2)
    agent.send_signal(signal.SIGTERM)
    equal(agent.wait(20), 0, "exit code")
    check(time.monotonic() - begin < 4, "a second signal ends it now")
    slow.unlink()
    writer.end()
    lib.agent(place, backend.url)
    until(lambda: backend.complete(writer.id), "complete")
    lib.holds(backend, writer)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
