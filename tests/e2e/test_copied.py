# SPDX-License-Identifier: Apache-2.0
"""Directories of running sessions that are copied, while the job goes on elsewhere: less than all is never complete."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import lib
from held import is_held
from lib import check, equal, until
from writers import Live, end_job_of

SAID = "its directory is a copy made before its writer had ended"


class _Job:
    """The demo job, and what it has written to its files so far, whether they have names or not."""

    def __init__(self, logs):
        self.process = subprocess.Popen([lib.BUILD / "examples/demo-job", logs, "600"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env=lib.environment({"GPUFL_LOG_ROTATE_BYTES": "20000"}))
        self.dir = until(lambda: next(logs.glob("[!.]*/scope.1.log"), None), "it has rotated").parent
        self.lines = set()

    def writes_on(self):
        """… until there are lines that no copy made before has."""
        before = len(self._written())
        until(lambda: len(self._written()) > before + 3, "it writes on")

    def _written(self):
        for fd in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/fd/*"):  # its writer's are of a thread
            if os.readlink(fd).removesuffix(" (deleted)").endswith(".log"):
                self.lines |= set(line for line in fd.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))
        return self.lines

    def ends(self, how):
        """\\return the lines that it had written; after SIGTERM, it may have written more."""
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: all("State:\tT" in text for text in lib.proc(self.process.pid, "task/*/status")), "it stands still")
        lines = self._written()
        self.process.send_signal(how)
        self.process.send_signal(signal.SIGCONT)
        self.process.communicate()
        return lines


def _copy(directory, to):
    """By another process, as the writer of writers.py would lose its lock."""
    subprocess.run(["cp", "-a", directory, to], check=True)


def _copied_elsewhere(job, logs):
    _copy(job.dir, logs / job.dir.name)


def _copied_and_removed(job, logs):
    _copied_elsewhere(job, logs)
    shutil.rmtree(job.dir)


def _moved_and_copied_back(job, logs):
    """mv ID away; cp -a away ID."""
    job.dir.rename(logs.parent / "away")
    _copy(logs.parent / "away", job.dir)
    if job.dir.parent != logs:
        _copy(job.dir, logs / job.dir.name)


def _is_not_complete(place, backend, session, lines):
    """Two uploads say so, and status names the command."""
    for _ in range(2):
        done = lib.upload(place, backend.url)
        equal(done.returncode, 1, done.stdout)
        check(SAID in done.stdout, done.stdout)
        check(not backend.session(session)["complete"], "it is not complete")
    stored = {line for channel in lib.CHANNELS for line in backend.export(session, channel).splitlines(keepends=True)}
    check(lines - stored, "the copy lacks lines")
    there = {line for channel in lib.CHANNELS for line in lib.on_disk(place.logs / session, channel).splitlines(keepends=True)}
    equal(there - stored, set(), "what is there is sent")
    status = place.run("gpufl", "status", place.logs)
    check(SAID in status.stdout and "gpufl resolve" in status.stdout, status.stdout)


def a_copy_of_a_running_session_is_not_whole_once_its_job_has_ended(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for how in (signal.SIGKILL, signal.SIGTERM):
        for copy in (_copied_elsewhere, _copied_and_removed):
            elsewhere = place.path / f"{copy.__name__}-{how}"
            elsewhere.mkdir()
            job = _Job(elsewhere)
            copy(job, place.logs)
            job.writes_on()
            lines = job.ends(how)
            _is_not_complete(place, backend, job.dir.name, lines)
            shutil.rmtree(place.logs / job.dir.name)
            shutil.rmtree(place.logs / ".gpufl-agent")


def a_copy_in_the_place_of_a_running_session_is_not_whole(place):
    """An agent has sent what was there before."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms")
    job = _Job(place.logs)
    until(lambda: backend.export(job.dir.name, "scope"), "it is sent live")
    _moved_and_copied_back(job, place.logs)
    job.writes_on()
    lines = job.ends(signal.SIGKILL)
    until(lambda: SAID in agent.log.read_text(), "the agent says so")
    agent.terminate()
    agent.wait()
    _is_not_complete(place, backend, job.dir.name, lines)


def a_copy_that_was_made_once_all_was_written_is_whole(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    elsewhere = place.path / "elsewhere"
    elsewhere.mkdir()
    session = lib.job(place, logs=elsewhere)
    _copy(session, place.logs)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, done.stdout)
    check(backend.session(session.name)["verified"], "complete")
    lib.same(backend, place.logs / session.name)


def what_a_copy_lacks_is_given_up(place):
    """What came after the copy is lost, and the session does not count as complete."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    writer.line("device")
    copy = place.path / "copy"
    _copy(writer.dir, copy)
    writer.line("device")
    writer.die()
    shutil.rmtree(writer.dir)
    copy.rename(writer.dir)
    end_job_of(writer.dir)
    there = {channel: writer.active(channel).read_bytes() for channel in writer.channels}
    done = lib.upload(place, backend.url)
    for channel in writer.channels:
        words = is_held(done, place.run("gpufl", "status", place.logs), "copied")
        done = place.run("gpufl", *words)
        equal(done.returncode, 0, done.stdout + done.stderr)
        done = lib.upload(place, backend.url)
    equal((done.returncode, backend.session(writer.id)["state"]), (0, "ended_with_losses"), done.stdout)
    equal({channel: backend.export(writer.id, channel) for channel in there}, there, "what is there")


def a_copy_of_files_of_different_ages_is_not_whole(place):
    """cp takes long: of what was rotated meanwhile, it knows nothing, though it gets the shutdown of all channels."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for boot in (None, "00000000-0000-4000-8000-000000000000"):  # which another host has
        elsewhere = place.path / f"elsewhere-{boot}"
        elsewhere.mkdir()
        writer = Live(elsewhere)
        writer.boot_id = boot or writer.boot_id
        (writer.dir / ".gpufl-session.json").write_text(json.dumps(writer.manifest()))
        writer.line("device", times=5)
        writer.rotate("device")
        writer.line("device", times=5)
        copy = place.logs / writer.id
        copy.mkdir()
        for name in (".gpufl-session.json", ".gpufl-session.lock", "device.1.log"):
            shutil.copy2(writer.dir / name, copy)
        writer.rotate("device")
        lost = (writer.dir / "device.2.log").read_bytes()
        writer.end()
        for channel in writer.channels:
            shutil.copy2(writer.active(channel), copy)
        if not boot:
            end_job_of(copy)
        done = lib.upload(place, backend.url)
        equal(done.returncode, 1, done.stdout)
        check(SAID in done.stdout, done.stdout)
        check(not backend.session(writer.id)["complete"], "it is not complete")
        equal(backend.export(writer.id, "device"), bytes(writer.written["device"]).replace(lost, b"", 1), "the others are sent")
        shutil.rmtree(copy)
        shutil.rmtree(place.logs / ".gpufl-agent")


def that_a_copy_is_silent_does_not_end_its_writer(place):
    """Nothing is ever added to it, so that is no evidence; a file system may show other inodes on another boot."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    elsewhere = place.path / "elsewhere"
    elsewhere.mkdir()
    writer = Live(elsewhere)
    writer.boot_id = "00000000-0000-4000-8000-000000000000"
    (writer.dir / ".gpufl-session.json").write_text(json.dumps(writer.manifest()))
    writer.line("device")
    _copy(writer.dir, place.logs)
    agent = lib.agent(place, backend.url, "--rescan-interval=100ms", "--orphan-timeout=1s")
    until(lambda: SAID in agent.log.read_text(), "it says so")
    check(not backend.session(writer.id)["complete"], "it is not complete")
    writer.line("device")
    writer.end()
    _copy(writer.dir, place.logs)  # as rsync does again
    until(lambda: backend.complete(writer.id), "now it is whole")
    lib.holds(backend, writer)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
