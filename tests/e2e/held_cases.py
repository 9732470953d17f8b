# SPDX-License-Identifier: Apache-2.0
"""What makes a session held, one function a reason with a command that leads out, named as its key. Each prepares a
session in a scene, and returns its writer and the lines that are lost once a person has given them up."""
import gzip
import os
import shutil

import lib
from lib import equal
from sink import Sink
from writers import Live, Shifting, Windows, end_job_of

NOBODY = 65534
ROOT = os.geteuid() == 0
AS_USER = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if ROOT else {}
STATE = ".gpufl-agent"


def lines_of(writer):
    return {line for data in writer.written.values() for line in bytes(data).splitlines()}


class Origin:
    """One that knows positions, or one that does not: what it has of a session."""

    def __init__(self, place, positions):
        self.backend = lib.Backend(place, "--api-key", lib.KEY) if positions else None
        self.sink = None if positions else Sink(declare=True)
        self.url = (self.backend or self.sink).url

    def has(self, writer, channels=lib.CHANNELS):
        """The lines that it has, none of them twice."""
        if self.backend:
            found = [line for c in channels for line in self.backend.export(writer.id, c).splitlines()]
        else:
            with self.sink.lock:
                found = [line.rstrip(b"\n") for line in self.sink.lines]
        equal(len(found), len(set(found)), "nothing is there twice")
        return set(found)

    def missing(self, writer):
        """The lines that it has not; none is there twice."""
        return lines_of(writer) - self.has(writer)

    def state(self, writer):
        if self.backend:
            return self.backend.session(writer.id)["state"]
        with self.sink.lock:
            return "complete" if any(r.path.endswith("session-complete") and r.session == writer.id
                                     for r in self.sink.requests) else "live"

    def close(self):
        if self.backend:
            self.backend.kill()
        else:
            self.sink.close()


class Scene:
    """A directory whose name a shell has to be told, a group in it for the session, and the origin."""

    def __init__(self, place, positions=False):
        self.place = place
        self.logs = place.path / "the job's logs"
        self.logs.mkdir(mode=0o700)
        self.home = self.logs / "run-1"
        self.home.mkdir()
        self.kept = place.path / "kept"
        self.kept.mkdir()
        self.as_user = AS_USER
        self.origin = Origin(place, positions)
        self.mend = None  # what a person has to do after the command

    def give(self):
        """All of it to a user for whom modes count."""
        self.place.path.chmod(0o755)
        for path in [self.logs, *self.logs.rglob("*")] if self.as_user else []:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def upload(self):
        self.give()
        return lib.upload(self.place, self.origin.url, "--timeout=30", directory=self.logs, **self.as_user)

    def sent(self):
        done = self.upload()
        equal(done.returncode, 0, f"what there is so far is sent: {done.stdout} {done.stderr}")

    def agent(self):
        self.give()
        return lib.agent(self.place, self.origin.url, "--rescan-interval=100ms", folder=self.logs, **self.as_user)

    def read_by_agent(self, writer):
        agent = self.agent()
        lib.until(lambda: not self.origin.missing(writer), "it is read")
        agent.terminate()
        agent.wait(20 * lib.SLOW)

    def status(self):
        return self.place.run("gpufl", "status", self.logs, **self.as_user)

    def take(self, *paths):
        """They are gone; \\return the lines that were in them."""
        found = set()
        for path in paths:
            data = path.read_bytes()
            found |= set((gzip.decompress(data) if path.suffix == ".gz" else data).splitlines())
            path.rename(self.kept / path.name)
        return found


def _rotated(writer, files=3, lines=5):
    """`files` numbered files of its channel device, and some lines in the active one."""
    for _ in range(files):
        write(writer, lines=lines)
        writer.rotate("device")
    write(writer)
    return writer


def write(writer, channel="device", lines=5):
    """\\return the new lines."""
    before = lines_of(writer)
    for _ in range(lines):
        writer.line(channel)
    return lines_of(writer) - before


def _directory(scene, path):
    """… in its place, which a person removes after the command."""
    found = scene.take(path)
    path.mkdir()
    scene.mend = path.rmdir
    return found


def missing(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    return writer, scene.take(writer.dir / "device.2.log")


def missing_unsent(scene):
    """The first file, before anything of its channel was sent, and only the active one is left."""
    writer = _rotated(Live(scene.home), files=1)
    writer.end()
    return writer, scene.take(writer.dir / "device.1.log")


def deleted(scene):
    writer = Shifting(scene.home)
    scene.read_by_agent(writer)
    scene.take(writer.dir / "device.log")
    for channel in ("scope", "system"):
        writer.line(channel, "shutdown")
    return writer, set()


def shorter(scene):
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    lost = write(writer)
    writer.die()
    os.truncate(writer.dir / "device.log", 100)
    return writer, lost


def late(scene):
    """A sealed file is away, so the active one is sent under its number; then it is back."""
    writer = Live(scene.home)
    for lines in (3, 3, 2):
        write(writer, lines=lines)
        writer.rotate("device")
    write(writer, lines=9)
    lost = scene.take(writer.dir / "device.3.log")
    os.truncate(writer.dir / ".gpufl-session.lock", 0)  # of an earlier writer, which tells no numbers
    scene.sent()
    (scene.kept / "device.3.log").rename(writer.dir / "device.3.log")
    writer.end()
    return writer, lost


def other(scene):
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    lost = write(writer)
    scene.take(writer.dir / "device.log")
    write(writer, lines=20)
    writer.end()
    return writer, lost


def earlier(scene):
    """Its lock file is gone, and it ends before the newest sealed file did."""
    writer = Live(scene.home)
    for lines in (5, 20):
        write(writer, lines=lines)
        if lines == 5:
            writer.rotate("device")
    copy = scene.place.path / "earlier"
    shutil.copytree(writer.dir, copy)
    end_job_of(copy)
    writer.rotate("device")
    write(writer, lines=9)
    writer.end()
    scene.sent()
    (copy / "device.log").write_bytes(b"".join((copy / "device.log").read_bytes().splitlines(keepends=True)[:12]))
    (copy / ".gpufl-session.lock").unlink()
    shutil.rmtree(writer.dir)
    shutil.copytree(copy, writer.dir)
    return writer, set()


def active_gone(scene):
    writer = _rotated(Live(scene.home), files=1, lines=1)
    scene.sent()
    writer.rotate("device")
    scene.sent()
    lost = write(writer)
    writer.end()
    lost |= scene.take(writer.dir / "device.log")
    return writer, lost


def channel_gone(scene):
    """Its manifest is all that tells of it."""
    writer = Live(scene.home)
    write(writer, "scope")
    writer.die()
    end_job_of(writer.dir)
    return writer, scene.take(writer.dir / "scope.log")


def cut(scene):
    """A copy of its active file, as sed -i makes one: its writer was killed before it noticed."""
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    active = writer.active("device")
    copy = scene.kept / "copy"
    shutil.copyfile(active, copy)
    lost = write(writer)
    shutil.move(copy, active)
    writer.die()
    return writer, lost


def compressed(scene):
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    write(writer)
    plain = writer.dir / "device.log"
    (writer.dir / "device.log.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    lost = write(writer)  # into a file without a name: here, the writer makes another one
    plain.unlink()
    writer.die()
    return writer, lost


def compressed_nothing(scene):
    """Its active file, behind a sealed one of which all is sent, is a compressed file of nothing."""
    writer = _rotated(Live(scene.home), files=1)
    writer.end()
    lost = scene.take(writer.dir / "device.log")
    (writer.dir / "device.log.gz").write_bytes(gzip.compress(b""))
    return writer, lost


def copied(scene):
    """Its directory was copied before its writer had ended, and is gone."""
    writer = Live(scene.home)
    write(writer)
    for channel in ("scope", "system"):
        writer.line(channel, "shutdown")
    copy = scene.kept / "copy"  # which is there before the directory goes: its files have other inodes
    shutil.copytree(writer.dir, copy)
    lost = write(writer)
    writer.die()
    shutil.rmtree(writer.dir)
    copy.rename(writer.dir)
    end_job_of(writer.dir)
    return writer, lost


def damaged(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    plain = writer.dir / "device.2.log"
    lost = scene.take(plain)
    plain.with_name("device.2.log.gz").write_bytes(gzip.compress((scene.kept / plain.name).read_bytes())[40:])
    return writer, lost


def damaged_unsent(scene):
    """The first file, before anything of its channel was sent."""
    writer = _rotated(Live(scene.home), files=1)
    writer.end()
    lost = scene.take(writer.dir / "device.1.log")
    (writer.dir / "device.1.log.gz").write_text("not gzip")
    return writer, lost


def _cut_off(scene, blob, at):
    """Its first file was compressed, and is cut off in a line: what comes before that is sent."""
    writer = Live(scene.home)
    write(writer, lines=2)
    writer.line("device", blob="x" * blob)
    writer.rotate("device")
    write(writer)
    writer.end()
    plain = (writer.dir / "device.1.log").read_bytes()
    scene.take(writer.dir / "device.1.log")
    packed = gzip.compress(plain, 0)  # not made smaller, so that it can be cut off anywhere
    (writer.dir / "device.1.log.gz").write_bytes(packed[:packed.index(b"x" * 50) + at])
    return writer, {plain.splitlines()[-1]}


def damaged_in_a_line(scene):
    return _cut_off(scene, 100, 50)


def damaged_in_a_long_line(scene):
    """It does not fit in a batch."""
    return _cut_off(scene, 3 << 20, 2 << 20)


def unreadable(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    return writer, _directory(scene, writer.dir / "device.2.log")


def rotated_gone(scene):
    """Its successors are there, so nothing tells how much of the channel lies between."""
    writer = Shifting(scene.home)
    scene.read_by_agent(writer)
    lost = write(writer)
    writer.rotate("device")
    scene.take(writer.dir / "device.1.log.gz")
    write(writer)
    writer.end()
    return writer, lost


def window_missing(scene):
    writer = _rotated(Windows(scene.home))
    writer.end()
    return writer, scene.take(writer.dir / "device.2.log.gz")


def window_unreadable(scene):
    writer = _rotated(Windows(scene.home))
    writer.end()
    return writer, _directory(scene, writer.dir / "device.2.log.gz")


def window_sidecar(scene):
    writer = _rotated(Windows(scene.home))
    writer.end()
    (writer.dir / ".gpufl-window.device.2.json").write_text("{}")
    return writer, set(gzip.decompress((writer.dir / "device.2.log.gz").read_bytes()).splitlines())


def batch(scene):
    """Its file is gone after the uploader was killed."""
    writer = Live(scene.home)
    write(writer)
    lost = set(bytes(writer.written["device"]).splitlines())
    scene.origin.sink.answer = \
        lambda _, request: (503, "{}") if request.is_batch and request.channel == "device" else None
    agent = scene.agent()
    lib.until(lambda: any(r.channel == "device" for r in scene.origin.sink.batches()), "it is offered")
    agent.kill()
    agent.wait()
    scene.origin.sink.answer = None
    writer.rotate("device")
    write(writer)
    writer.end()
    scene.take(writer.dir / "device.1.log")
    return writer, lost


def refused_batch(scene):
    """It cannot be split then, and a batch that is rejected as a whole is not sent again."""
    writer = _rotated(Live(scene.home), files=1)
    writer.end()
    file, kept = writer.dir / "device.1.log", scene.kept / "device.1.log"
    lost = set(file.read_bytes().splitlines())

    def answer(_, request):
        if not request.is_batch or request.channel != "device" or kept.exists():
            return None
        file.rename(kept)
        return 400, '{"error":"bad"}'

    scene.origin.sink.answer = answer
    return writer, lost


def _without_journal(scene, files=2):
    """All is sent, and the backend alone knows it."""
    writer = Live(scene.home)
    for n in range(files):
        for channel in Live.channels:
            for _ in range(50):
                writer.line(channel, rank=n)
            if n < files - 1:
                writer.rotate(channel)
    scene.sent()
    shutil.rmtree(scene.logs / STATE)
    writer.end()
    return writer


def backend_other(scene):
    writer = _without_journal(scene)
    path = writer.active("device")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b"rank", b"RANK")  # the last one that was sent
    path.write_bytes(b"".join(lines))
    writer.written["device"] += lines[-2]
    return writer, set()


def backend_longer(scene):
    writer = _without_journal(scene)
    lines = (writer.dir / "device.1.log").read_bytes().splitlines(keepends=True)
    (writer.dir / "device.1.log").unlink()
    lost = {line for line in lines_of(writer) if b'"device"' in line and b'"shutdown"' in line}
    writer.active("device").write_bytes(b"".join(lines[:30]))
    os.truncate(writer.dir / ".gpufl-session.lock", 0)  # as before a power failure, to the next boot
    return writer, lost


def backend_unproved(scene):
    writer = _without_journal(scene)
    scene.take(writer.active("device"))
    return writer, {line for line in lines_of(writer) if b'"device"' in line and b'"shutdown"' in line}


def lost_elsewhere(scene):
    """Another uploader has given up a file that this directory has."""
    writer = _rotated(Live(scene.home))
    writer.end()
    file = writer.dir / "device.2.log"
    other = scene.place.path / "other"
    shutil.copytree(scene.home, other)
    (other / writer.id / file.name).unlink()
    equal(lib.upload(scene.place, scene.origin.url, directory=other).returncode, 1, "it is held there")
    equal(scene.place.run("gpufl", "resolve", other, writer.id).returncode, 0, "and given up")
    equal(lib.upload(scene.place, scene.origin.url, directory=other).returncode, 0, "the rest is sent")
    shutil.rmtree(other)
    return writer, set(file.read_bytes().splitlines())


def moved(scene):
    """Its directory is gone, and a copy is in another group."""
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    write(writer)
    writer.end()
    (scene.logs / "run-2").mkdir()
    shutil.copytree(writer.dir, scene.logs / "run-2" / writer.id)
    writer.dir.rename(scene.kept / writer.id)
    return writer, set()


def replaced(scene):
    """By a directory of another user."""
    if not ROOT:
        lib.skip("needs root, to be two users")
    scene.as_user = {}
    writer = Live(scene.home)
    write(writer)
    scene.sent()
    kept = writer.dir.rename(scene.kept / writer.id)
    shutil.copytree(kept, writer.dir)
    os.chown(writer.dir, NOBODY - 1, -1)
    writer.end()
    return writer, set()


def away(scene):
    writer = Live(scene.home)
    Live(scene.home).end()
    scene.sent()
    lost = write(writer)
    writer.end()
    for channel in Live.channels:
        lost |= {line for line in lines_of(writer) if b'"shutdown"' in line}
    writer.dir.rename(scene.kept / writer.id)
    return writer, lost


def falls_short(scene):
    """Another backend got what is gone now."""
    writer = _rotated(Live(scene.home))
    writer.end()
    first = Origin(scene.place, False)
    scene.give()
    done = lib.upload(scene.place, first.url, directory=scene.logs, **scene.as_user)
    equal(done.returncode, 0, done.stdout)
    first.close()
    return writer, scene.take(writer.dir / "device.log")


def manifest_damaged(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    (writer.dir / ".gpufl-session.json").write_text("{")
    return writer, set()


def manifest_unreadable(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    (writer.dir / ".gpufl-session.json").chmod(0)
    return writer, set()


def manifest_gone(scene):
    writer = _rotated(Live(scene.home))
    scene.sent()
    writer.end()
    (writer.dir / ".gpufl-session.json").unlink()
    return writer, set()


def not_read(scene):
    writer = Live(scene.home)
    (writer.dir / "rank0.log").write_text("the user's own\n")
    writer.end()
    return writer, set()


def gap(scene):
    writer = _rotated(Live(scene.home))
    writer.end()
    return writer, scene.take(writer.dir / "device.1.log")


def refused(scene):
    writer = Live(scene.home)
    write(writer)
    writer.end()
    scene.origin.sink.answer = \
        lambda _, request: (409, "{}") if request.is_batch and request.channel == "device" else None
    return writer, set(bytes(writer.written["device"]).splitlines())
