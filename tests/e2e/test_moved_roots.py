# SPDX-License-Identifier: Apache-2.0
"""Session directories that are moved to another log directory of the same agent, or replaced by a copy elsewhere: what
was sent of them is not sent again."""
import itertools
import re
import shlex
import shutil
import signal
import sys

import lib
import test_resolve_copies as copies
from lib import check, equal, until
from writers import Live, Shifting, Windows

KINDS = (Live, Windows, Shifting)
QUICK = ("--rescan-interval=200ms", "--flush-interval=50ms")


def _some(writer, lines=3):
    for _ in range(lines):
        writer.line("device")
        writer.line("scope")
    if not isinstance(writer, Live):
        for channel in ("device", "scope"):
            writer.rotate(channel)


def _at(writer, directory):
    writer.dir = directory
    if isinstance(writer, Windows):
        writer.tmp = directory / ".tmp"


def _has(origin, writer):
    """All of it, but for what is in windows that are not published."""
    missing = origin.missing(writer)
    return not missing or (isinstance(writer, Windows) and not any(b'"device"' in line for line in missing))


def _commands(place, logs):
    status = place.run("gpufl", "status", logs).stdout
    return list(dict.fromkeys(re.findall(r"^  to .*?: gpufl (.*)$", status, re.M)))


def _roots(place):
    other = place.path / f"other-{place.logs.name}"
    other.mkdir(mode=0o700)
    return other


def _stop(agent, how=signal.SIGTERM):
    agent.send_signal(how)
    agent.wait(20 * lib.SLOW)


def a_session_goes_on_in_another_root(place):
    """While it is written, by an agent that runs, and by one that was killed and started again; and once complete."""
    def run(origin):
        other = _roots(place)
        for kind in KINDS:
            writer = kind(place.logs, f"{kind.__name__.lower()}-1111-4111-8111-111111111111"[-36:])
            agent = lib.agent(place, origin.url, *QUICK, f"--folders={other}", "--orphan-timeout=2s")
            _some(writer)
            until(lambda w=writer: _has(origin, w), f"{kind.__name__}: sent")
            home = writer.dir
            _at(writer, home.rename(other / writer.id))
            _some(writer)
            until(lambda w=writer: _has(origin, w), f"{kind.__name__}: it goes on")
            check(f"session.moved session={writer.id} " in agent.log.read_text(), agent.log.read_text())
            _stop(agent, signal.SIGKILL)
            _at(writer, writer.dir.rename(home))
            _some(writer)
            agent = lib.agent(place, origin.url, *QUICK, f"--folders={other}", "--orphan-timeout=2s")
            until(lambda w=writer: _has(origin, w), f"{kind.__name__}: it goes on after a restart")
            writer.end()
            until(lambda w=writer: origin.state(w) == "complete", f"{kind.__name__}: complete")
            equal(origin.missing(writer), set(), kind.__name__)
            until(lambda: place.run("gpufl", "status", place.logs).returncode == 0, "nothing is held")
            _stop(agent)
            writer.dir.rename(other / writer.id)
            agent = lib.agent(place, origin.url, *QUICK, f"--folders={other}", "--exit-when-drained")
            equal(agent.wait(30 * lib.SLOW), 0, agent.log.read_text())
            equal(origin.missing(writer), set(), f"{kind.__name__}: nothing is sent again")
            equal([place.run("gpufl", "status", d).returncode for d in (place.logs, other)], [0, 0], "nothing is held")
            shutil.rmtree(other / writer.id)

    copies._each_origin(place, run)


def a_copy_goes_on_in_another_root_once_a_person_says_so(place):
    """As `mv` leaves it where the other one is on another disk."""
    def run(origin):
        other = _roots(place)
        writer = Live(place.logs)
        agent = lib.agent(place, origin.url, *QUICK, f"--folders={other}")
        _some(writer)
        until(lambda: _has(origin, writer), "sent")
        _some(writer, 2)
        until(lambda: _has(origin, writer), "sent")
        writer.end()
        kept = place.path / f"kept-{place.logs.name}"
        until(lambda: origin.state(writer) == "complete", "complete")
        writer.line("device", late=1)
        _stop(agent)
        shutil.copytree(writer.dir, other / writer.id)
        writer.dir.rename(kept)
        agent = lib.agent(place, origin.url, *QUICK, f"--folders={other}")
        until(lambda: f"session.held session={writer.id} " in agent.log.read_text() or not origin.missing(writer), "held")
        for command in until(lambda: _commands(place, other), "status has the command"):
            done = place.run("gpufl", *shlex.split(command))
            equal(done.returncode, 0, f"{command}: {done.stdout} {done.stderr}")
        until(lambda: not origin.missing(writer), "the rest is sent, and nothing again")
        until(lambda: place.run("gpufl", "status", other).returncode == 0, "nothing is held there")
        until(lambda: place.run("gpufl", "status", place.logs).returncode == 0, "nor here")
        _stop(agent)

    copies._each_origin(place, run)


def a_copy_in_another_group_goes_on_once_a_person_says_so(place):
    """Whether an agent runs or nothing does."""
    for running, named in itertools.product((True, False), (1, 2)):
        def run(origin, running=running, named=named):
            for name in ("run-1", "run-2"):
                (place.logs / name).mkdir(mode=0o700)
            writer = Live(place.logs / "run-1")
            _some(writer)
            copies._upload(place, origin)
            equal(origin.missing(writer), set(), "sent")
            _some(writer, 2)
            writer.end()
            shutil.copytree(writer.dir, place.logs / "run-2" / writer.id)
            shutil.rmtree(writer.dir)
            equal(copies._upload(place, origin).returncode, 1, "held")
            agent = lib.agent(place, origin.url, *QUICK) if running else None
            if running:
                until(lambda: "session.away" in agent.log.read_text(), "away")
            commands = copies._commands(place)
            equal({c.split()[-1] for c in commands}, {f"run-{n}/{writer.id}" for n in (1, 2)}, "either of the two")
            command = next(c for c in commands if f" {place.logs} run-{named}/" in c)
            done = place.run("gpufl", *shlex.split(command))
            equal(done.returncode, 0, f"{commands}: {done.stdout} {done.stderr}")
            check(running or f"goes on in {place.logs}/run-2/{writer.id};" in done.stdout, done.stdout)
            if running:
                until(lambda: origin.state(writer) == "complete", "complete")
                _stop(agent)
            else:
                equal(copies._upload(place, origin).returncode, 0, "all sent")
            equal((origin.missing(writer), origin.state(writer)), (set(), "complete"), "once")

        copies._each_origin(place, run)
        for path in place.path.glob("logs-*"):
            shutil.rmtree(path)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
