# SPDX-License-Identifier: Apache-2.0
"""Two users and the packaged service on one directory: what one user does there neither ends, hides, delays nor
forges a session of the other one. Needs root, to be several users."""
import os
import signal
import subprocess
import sys

import lib
from lib import check, equal, until
from writers import Live

AGENT, OTHER, VICTIM = 65532, 12345, 12346  # none is root, or an account of a service
ROOT = os.geteuid() == 0


def _as(user, argv, **more):
    return subprocess.Popen(argv, user=user, group=user, extra_groups=[], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


class _Session(Live):
    """A session of a user whose files the others can read, as by the usual umask."""

    def __init__(self, logs, user=VICTIM, session=None):
        super().__init__(logs, session)
        self.user = user
        (self.dir / ".gpufl-session.lock").chmod(0o644)
        for path in (self.dir, *self.dir.iterdir()):
            os.chown(path, user, -1)

    def lines(self, count=20):
        for _ in range(count):
            self.line("device")


class _Service:
    """/var/log/gpufl with mode 3777, and the agent as its unit runs it."""

    def __init__(self, place, name="logs"):
        place.path.chmod(0o755)
        self.place, self.logs = place, place.path / name
        self.state, self.run = place.path / f"state-{name}", place.path / f"run-{name}"
        for path, mode in ((self.logs, 0o3777), (self.state, 0o700), (self.run, 0o755)):
            path.mkdir(exist_ok=True)
            os.chown(path, 0 if path == self.logs else AGENT, AGENT)
            path.chmod(mode)
        self.backend = lib.Backend(place, "--api-key", lib.KEY)
        self.agent = None

    def start(self, *args):
        env = {"STATE_DIRECTORY": str(self.state), "RUNTIME_DIRECTORY": str(self.run)}
        self.agent = lib.agent(self.place, self.backend.url, "--rescan-interval=200ms", *args, env=env,
                               folder=self.logs, user=AGENT, group=AGENT, extra_groups=[], umask=0o077)

    def stop(self, how=signal.SIGTERM):
        self.agent.send_signal(how)
        self.agent.wait(30 * lib.SLOW)

    def upload(self, user, *args):
        env = {"GPUFL_RUNTIME_DIRECTORY": str(self.run), "XDG_STATE_HOME": str(self.home(user))}
        return lib.upload(self.place, self.backend.url, *args, directory=self.logs, env=env, user=user, group=user,
                          extra_groups=[])

    def home(self, user):
        home = self.place.path / f"home-{user}"
        home.mkdir(exist_ok=True)
        os.chown(home, user, user)
        return home

    def has(self, session):
        return all(self.backend.export(session.id, channel) == bytes(data)
                   for channel, data in session.written.items())


class _Locked:
    """Another user holds a lock on a path while this is open."""

    def __init__(self, path, user=OTHER):
        self.process = _as(user, ["flock", "-x", str(path), "sh", "-c", "echo; cat"])

    def __enter__(self):
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.communicate()


def a_job_waits_for_the_service_though_it_can_read_nothing_of_it(place):
    """Its lock and its progress are in its runtime directory; the lock on the log directory may be anybody's."""
    if not ROOT:
        return
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    service.start()
    until(lambda: service.has(writer), "the agent has sent it")
    done = service.upload(VICTIM, "--session-id", writer.id)
    equal((done.returncode, done.result.get("message")), (0, "sent by the uploader that serves this directory"),
          str(done.result))
    said = place.run("gpufl", "status", service.logs, "--json", env={"GPUFL_RUNTIME_DIRECTORY": str(service.run)},
                     user=OTHER, group=OTHER, extra_groups=[])
    check("gpufl-agent (pid" in said.stdout, said.stdout + said.stderr)
    service.stop(signal.SIGKILL)
    with _Locked(service.logs):
        service.start()
        until(lambda: "root.locked" in service.agent.log.read_text(), "the agent works without the lock")
        writer.lines()
        until(lambda: service.has(writer), "and sends")
        done = service.upload(VICTIM, "--session-id", writer.id)
        equal(done.returncode, 0, str(done.result))
    writer.end()
    until(lambda: service.backend.complete(writer.id), "complete")
    lib.holds(service.backend, writer)


def the_lock_of_another_user_keeps_no_upload_away(place):
    """Nor does what that user's session claims; and two uploads of one user still take turns."""
    if not ROOT:
        return
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    other = service.logs / "evil" / writer.id
    other.mkdir(parents=True)
    (other / "sass.log").write_text(f'{{"type":"shutdown","session_id":"{writer.id}"}}\n')
    for path in (other.parent, other):
        os.chown(path, OTHER, OTHER)
    with _Locked(service.logs), _Locked(place.path):
        done = service.upload(VICTIM, "--session-id", writer.id)
        equal(done.returncode, 0, str(done.result))
    check(service.backend.complete(writer.id), "complete")
    lib.holds(service.backend, writer)
    equal(service.backend.export(writer.id, "sass"), b"", "what was planted")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
