# SPDX-License-Identifier: Apache-2.0
"""Session directories that are renamed within the log directory: they are taken along, by whatever is there."""
import re
import shutil
import signal
import subprocess
import sys

import lib
from lib import check, equal, until
from sink import Sink
from writers import Live, Shifting, Windows

KINDS = (Live, Windows, Shifting)


def _move(writer, to):
    writer.dir.rename(to)
    if isinstance(writer, Windows):
        writer.tmp = to / ".tmp"
    writer.dir = to


def _some(writer):
    for _ in range(3):
        writer.line("device")
        writer.line("scope")
    if not isinstance(writer, Live):
        writer.rotate("device")


def _has(backend, writer):
    published = writer.written["device"]
    return backend.export(writer.id, "device") == published


def a_session_is_followed_while_it_is_written_and_after_a_crash(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writers = [kind(place.logs) for kind in KINDS]
    agent = lib.agent(place, backend.url, "--rescan-interval=300ms")
    group = place.logs / "run-7"
    group.mkdir()
    for writer in writers:
        _some(writer)
        until(lambda w=writer: _has(backend, w), f"{type(writer).__name__}: it is read")
        _move(writer, group / writer.id)
        _some(writer)
        until(lambda w=writer: _has(backend, w), f"{type(writer).__name__}: it is read where it is now")
    text = agent.log.read_text()
    equal(text.count("session.moved"), len(writers), "it is said once for each")
    check(f"to={group}/{writers[0].id}" in text, text)
    for held in re.findall("session.held session=([^ ]*) ", text):  # renamed between a look and a read
        check(f"session.moved session={held} " in text.rpartition(f"session.held session={held} ")[2], text)
    status = place.run("gpufl", "status", place.logs)
    for writer in writers:
        check(f"run-7/{writer.id}" in status.stdout, status.stdout)
    agent.send_signal(signal.SIGKILL)
    agent.wait()
    for writer in writers:
        _move(writer, place.logs / writer.id)
        _some(writer)
        writer.end()
    group.rmdir()
    lib.agent(place, backend.url, "--rescan-interval=300ms")
    for writer in writers:
        until(lambda w=writer: backend.complete(w.id), f"{type(writer).__name__}: complete")
        lib.holds(backend, writer)


def _state(place, name):
    state = place.path / f"state-{name}"
    state.mkdir(mode=0o700, exist_ok=True)
    return f"--state-dir={state}"


def _stop(agent):
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "the agent")


def a_session_is_known_again_by_an_agent_whose_state_is_elsewhere(place):
    """It is moved while no agent runs. Each next one has a state of its own, and what the one before has published."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for kind in KINDS:
        writer = kind(place.logs)
        group = place.logs / f"run-{writer.id}"
        group.mkdir()
        for state, where in (("a", None), ("b", group), ("a", None), ("b", place.logs), ("a", None), ("c", group), ("b", None)):
            if where:
                _move(writer, where / writer.id)
            _some(writer)
            agent = lib.agent(place, backend.url, "--rescan-interval=300ms", _state(place, state))
            until(lambda w=writer: _has(backend, w), f"{kind.__name__}, state {state}, in {where}: it is read")
            _stop(agent)
        for state in place.path.glob("state-*"):
            shutil.rmtree(state)
        writer.end()
        _move(writer, place.logs / writer.id)
        agent = lib.agent(place, backend.url, "--exit-when-drained", _state(place, "last"))
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        check(backend.complete(writer.id), f"{kind.__name__}: complete")
        lib.holds(backend, writer)


def a_copy_is_called_the_copy_by_an_agent_whose_state_is_elsewhere(place):
    """mv ID ID.old; cp -a ID.old ID, while no agent runs, of which the state is lost. Whoever does as is said of the
    directory that is no copy would lose its lines."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = Live(place.logs)
    _some(writer)
    agent = lib.agent(place, backend.url, "--rescan-interval=300ms", _state(place, "a"))
    until(lambda: _has(backend, writer), "it is read")
    _stop(agent)
    name, old = writer.dir, place.logs / f"{writer.id}.old"
    _move(writer, old)
    subprocess.run(["cp", "-a", old, name], check=True)  # the lock is this process's, which would lose it
    agent = lib.agent(place, backend.url, "--rescan-interval=300ms", _state(place, "b"))
    said = {f"session={writer.id} ": "it is a copy of another session", f"session={old.name} ": "give the directory"}
    for session, reason in said.items():
        until(lambda s=session, r=reason: re.search(f"session.held {s}.*{r}", agent.log.read_text()), f"{session} held")
    shutil.rmtree(name)
    _move(writer, name)
    _some(writer)
    writer.end()
    until(lambda: backend.complete(writer.id), "complete")
    lib.holds(backend, writer)


def what_is_complete_may_be_moved_to_an_archive(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writers = [kind(place.logs) for kind in KINDS]
    for writer in writers:
        _some(writer)
        writer.end()
    first = lib.upload(place, backend.url)
    equal(first.returncode, 0, f"{first.stdout} {first.stderr}")
    (place.logs / "archive").mkdir()
    for writer in writers:
        _move(writer, place.logs / "archive" / writer.id)
    for _ in range(2):
        again = lib.upload(place, backend.url)
        equal((again.returncode, again.result["events_uploaded"]), (0, 0), f"{again.stdout} {again.stderr}")
    for writer in writers:
        lib.holds(backend, writer)


def a_copy_is_called_a_copy_whatever_is_done_first(place):
    """cp -a ID ID.bak, of a running session and of one that nobody has read yet."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for read_first in (True, False):
        logs = place.path / f"logs-{read_first}"
        logs.mkdir(mode=0o700)
        writer = Live(logs)
        _some(writer)
        if read_first:
            lib.upload(place, backend.url, directory=logs)
        copy = logs / f"{writer.id}.bak"
        shutil.copytree(writer.dir, copy)
        _some(writer)
        writer.end()
        done = lib.upload(place, backend.url, directory=logs)
        equal(done.returncode, 1, done.stdout)
        check("it is a copy of another session" in done.stdout, done.stdout)
        lib.holds(backend, writer)
        check(backend.complete(writer.id), "the session itself is complete")
        status = place.run("gpufl", "status", logs).stdout
        check("it is a copy of another session" in status and "resolve" not in status, status)
        shutil.rmtree(copy)
        done = lib.upload(place, backend.url, directory=logs)
        equal((done.returncode, done.result["events_uploaded"]), (0, 0), done.stdout)
        equal(place.run("gpufl", "status", logs).returncode, 0, "nothing is held")


def a_copy_that_takes_the_name_of_a_running_session_is_called_the_copy(place):
    """cp -a ID ID.new; mv ID ID.old; mv ID.new ID: what to do is said of both, and nothing is lost by doing it."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--rescan-interval=300ms")
    writer = Live(place.logs)
    _some(writer)
    until(lambda: _has(backend, writer), "it is read")
    name, old, new = writer.dir, place.logs / f"{writer.id}.old", place.logs / f"{writer.id}.new"
    shutil.copytree(writer.dir, new)
    _move(writer, old)
    new.rename(name)
    said = {f"session={writer.id} ": "it is a copy of another session", f"session={old.name} ": "give the directory"}
    for session, reason in said.items():
        until(lambda s=session, r=reason: re.search(f"session.held {s}.*{r}", agent.log.read_text()), f"{session} held")
    _some(writer)

    def advice():
        lines = place.run("gpufl", "status", place.logs).stdout.splitlines()
        return [line for line in lines if line.startswith(f"{old.name} ")]

    until(lambda: advice() and "give the directory that name" in advice()[0], "status does not call it the copy")
    check(not backend.complete(writer.id), "its writer lives")
    shutil.rmtree(name)
    _move(writer, name)
    writer.end()
    until(lambda: backend.complete(writer.id), "complete")
    lib.holds(backend, writer)


def sessions_of_the_older_clients_are_not_read_under_another_name(place):
    """Which their files tell: what was renamed waits until it has its name again, what was copied until it is gone."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for kind in (Windows, Shifting):
        logs = place.path / f"logs-{kind.__name__}"
        logs.mkdir(mode=0o700)
        writer = kind(logs)
        _some(writer)
        copy = logs / f"{writer.id}.bak"
        subprocess.run(["cp", "-a", writer.dir, copy], check=True)  # another process: the writer keeps its lock
        agent = lib.agent(place, backend.url, "--rescan-interval=300ms", folder=logs)
        until(lambda w=writer: _has(backend, w), "it is read")
        until(lambda a=agent: "it is a copy of another session" in a.log.read_text(), "the copy is held")
        shutil.rmtree(copy)
        name = writer.dir
        _move(writer, logs / "old-run")
        _some(writer)
        until(lambda a=agent: "session.held session=old-run channel=* reason=\"what it holds is of another session"
              in a.log.read_text(), "what was renamed is held")
        agent.send_signal(signal.SIGKILL)
        agent.wait()
        done = lib.upload(place, backend.url, directory=logs)
        equal(done.returncode, 1, done.stdout)
        status = place.run("gpufl", "status", logs).stdout
        check("waits: old-run *: what it holds is of another session" in status, status)
        check("resolve" not in status.partition("old-run *")[2].partition("\n")[2].partition("\n")[0], status)
        _move(writer, name)
        writer.end()
        agent = lib.agent(place, backend.url, "--rescan-interval=300ms", "--orphan-timeout=2s", folder=logs)
        until(lambda w=writer: backend.complete(w.id), "complete")
        lib.holds(backend, writer)
        for other in ("old-run", copy.name):
            equal(backend.export(other, "device"), b"", "nothing is sent under another name")


def what_a_dead_13_job_did_not_publish_keeps_its_name(place):
    """No sidecar says which: a salvage would make some by the name of the directory."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    left = (lambda w: None, lambda w: w.retire("device"), lambda w: w.squeeze("device", w.retire("device")))
    for n, leave in enumerate(left):
        logs = place.path / f"logs-{n}"
        logs.mkdir(mode=0o700)
        writer = Windows(logs)
        writer.line("device")
        leave(writer)
        writer.die()
        name = writer.dir
        _move(writer, logs / "my-run")
        agent = lib.agent(place, backend.url, "--rescan-interval=100ms", "--salvage", folder=logs)
        until(lambda a=agent: "what it holds is of another session" in a.log.read_text(), "it is held")
        _move(writer, name)
        until(lambda w=writer: backend.complete(w.id), "it goes on under its name")
        lib.holds(backend, writer)
        equal(backend.export("my-run", "device"), b"", "nothing is sent under another name")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())


def copies_in_a_group_are_not_sent_whichever_is_found_first(place):
    """A group lists its directories in any order: of a dozen copies, some come before their sessions."""
    group = place.logs / "run-1"
    group.mkdir()
    writers = [Shifting(group, session=f"33333333-3333-4333-8333-{n:012}") for n in range(12)]
    for writer in writers:
        _some(writer)
        writer.end()
        subprocess.run(["cp", "-a", writer.dir, group / f"{writer.id}.bak"], check=True)
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal(done.returncode, 1, done.stdout)
        equal({r.session for r in sink.requests if r.is_batch}, {w.id for w in writers}, "sent under their own ids")
        equal(len(sink.lines), sum(data.count(b"\n") for w in writers for data in w.written.values()), "and once")


def copies_elsewhere_below_the_root_are_not_sent(place):
    """In another group than their session, or in none, whichever is found first, by an upload and by an agent."""
    for kind in KINDS:
        for n, (home, away) in enumerate((("m", "a"), ("m", "z"), ("m", ""), ("", "m"), ("a", "m"))):
            logs = place.path / f"logs-{kind.__name__}-{n}"
            for group in (home, away):
                (logs / group).mkdir(mode=0o700, parents=True, exist_ok=True)
            writer = kind(logs / home)
            _some(writer)
            writer.end()
            subprocess.run(["cp", "-a", writer.dir, logs / away / "copy"], check=True)
            with Sink(declare=True) as sink:
                if n == 1:
                    agent = lib.agent(place, sink.url, "--exit-when-drained", folder=logs)
                    agent.wait(40 * lib.SLOW)
                done = lib.upload(place, sink.url, directory=logs)
                equal(done.returncode, 1, f"{kind} {home} {away} {done.stdout}")
                equal(re.findall(r"session=copy channel=\S+ reason=\"(.*?) \(session.other", done.stderr),
                      ["it is a copy of another session"], f"{kind} {home} {away}: {done.stderr}")
                equal({r.session for r in sink.requests if r.is_batch}, {writer.id}, f"{kind} {home} {away}")
                equal(len(sink.lines), sum(data.count(b"\n") for data in writer.written.values()), "once")


def plain_directories_have_any_name(place):
    """If no session has the one that their lines name."""
    writer = Shifting(place.logs)
    _some(writer)
    _move(writer, place.logs / "my-run")
    writer.end()
    with Sink(declare=True) as sink:
        done = lib.upload(place, sink.url)
        equal((done.returncode, {r.session for r in sink.requests if r.is_batch}), (0, {"my-run"}), done.stdout)
        equal(len(sink.lines), sum(data.count(b"\n") for data in writer.written.values()), "all is read")


def a_copy_of_a_running_session_is_not_complete(place):
    """Its lock is free, as nobody ever held it. Nor once its writer has died, which wrote on elsewhere."""
    def completes(sink):
        return [r for r in sink.requests if r.path.endswith("session-complete")]

    with Sink() as sink:
        job = place.start("examples/demo-job", place.logs, 600)
        until(lambda: sum(log.stat().st_size > 0 for log in place.logs.glob("*-*-*-*-*/*.log")) == 3,
              "the first lines of all channels")
        copy = place.path / "copy"
        subprocess.run(["cp", "-a", place.logs, copy], check=True)
        lib.upload(place, sink.url, directory=copy)
        check(not completes(sink), "it is complete while its writer lives")
        job.kill()
        job.wait()
        for _ in range(2):
            done = lib.upload(place, sink.url, directory=copy)
            equal((done.returncode, completes(sink)), (1, []), "the rest of what it wrote is not there")
            check("a copy made before its writer had ended" in done.stdout, done.stdout)


def directories_that_lost_their_names_go_on_when_they_have_them_again(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--rescan-interval=300ms")
    one, two, three = (Live(place.logs) for _ in range(3))
    for writer in (one, two, three):
        _some(writer)
        until(lambda w=writer: _has(backend, w), "it is read")
    names = {writer: writer.dir for writer in (one, two, three)}
    _move(one, place.logs / "tmp")
    _move(two, names[one])
    _move(one, names[two])
    _move(three, place.logs / "three.old")
    for writer in (one, two, three):
        _some(writer)
    for name in (names[one].name, names[two].name, "three.old"):
        until(lambda n=name: f"session.held session={n} " in agent.log.read_text(), f"{name} is held")
    check("is of another session" in place.run("gpufl", "status", place.logs).stdout, "status says it")
    _move(one, place.logs / "tmp")
    _move(two, names[two])
    _move(one, names[one])
    _move(three, names[three])
    for writer in (one, two, three):
        writer.end()
        until(lambda w=writer: backend.complete(w.id), "complete")
        lib.holds(backend, writer)
    until(lambda: place.run("gpufl", "status", place.logs).returncode == 0, "nothing is held")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
