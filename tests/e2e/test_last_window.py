# SPDX-License-Identifier: Apache-2.0
"""The last window of a 1.3 channel is missed if it is gone: the other channels end in their shutdown."""
import gzip
import json
import os
import shutil
import sys

import lib
from held import is_held
from lib import check, equal, until
from sink import Sink
from writers import Windows


def _window(writer, channel, n):
    return writer.dir / f"{channel}.{n}.log.gz", writer.dir / f".gpufl-window.{channel}.{n}.json"


def _begun(logs, channels=("device",)):
    """Each of the channels has a window already."""
    writer = Windows(logs)
    for channel in channels:
        writer.line(channel)
        writer.rotate(channel)
    for channel in writer.channels:
        writer.line(channel)
    return writer


def _publish(writer, channel, salvaged=False):
    """\\return the numbers of the window that was made, as its writer makes it, or whoever publishes those of a dead one."""
    n = writer.retire(channel)
    writer.squeeze(channel, n)
    writer.sidecar(channel, n)
    if salvaged:
        path = _window(writer, channel, n)[1]
        path.write_text(json.dumps({**json.loads(path.read_text()), "opened_mono_ms": -1, "closed_mono_ms": -1}) + "\n")
    writer.publish(channel, n)
    return n


def _upload(place, sink):
    done = lib.upload(place, sink.url, "--timeout=30")
    check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    return done


def _is_held(place, sink, reason="window_missing"):
    """\\return the words of the command that gives it up."""
    words = is_held(_upload(place, sink), place.run("gpufl", "status", place.logs), reason)
    equal(sink.completes(), 0, "it is not called complete")
    return words


def _goes_on(place, sink, writer, lost):
    done = _upload(place, sink)
    equal((done.returncode, sink.completes()), (0, 1), done.stdout)
    equal(sink.missing(writer), lost, "what is missing")
    equal(place.run("gpufl", "status", place.logs).returncode, 0, "status")


def _given_up_or_comes_back(place, writer, gone, reason, comes_back):
    """These files, each window's data and its sidecar, are away, and its session is held, in a later run, too."""
    lost = {line for path in gone[::2] for line in gzip.decompress(path.read_bytes()).splitlines()}
    for path in gone:
        path.rename(place.path / path.name)
    with Sink(declare=True) as sink:
        words = _is_held(place, sink, reason)
        _is_held(place, sink, reason)
        if comes_back:
            for path in reversed(gone):
                (place.path / path.name).rename(path)
        else:
            done = place.run("gpufl", *words)
            equal(done.returncode, 0, f"{words} {done.stdout} {done.stderr}")
            equal(place.run("gpufl", *words).returncode, 1, "there is nothing more to give up")
        _goes_on(place, sink, writer, set() if comes_back else lost)


def one_that_is_gone_is_given_up_or_comes_back(place):
    for comes_back in (False, True):
        place.logs = place.path / f"logs-{comes_back}"
        place.logs.mkdir(mode=0o700)
        writer = _begun(place.logs)
        writer.end()
        gone = _window(writer, "device", 2)
        _given_up_or_comes_back(place, writer, gone, "window_missing", comes_back)


def a_channel_that_is_gone_is_given_up_or_comes_back(place):
    """No window of it is there, and no sidecar, before anything was read."""
    for channel in ("device", "scope", "system"):
        for comes_back in (False, True):
            place.logs = place.path / f"logs-{channel}-{comes_back}"
            place.logs.mkdir(mode=0o700)
            writer = _begun(place.logs, Windows.channels)
            writer.end()
            gone = [path for n in (1, 2) for path in _window(writer, channel, n)]
            _given_up_or_comes_back(place, writer, gone, "channel_gone", comes_back)


def a_channel_that_nothing_tells_of_is_not_missed(place):
    """Its writer was killed, or dropped rows, or only the other channels are asked for; and sass, which a writer may leave
    out."""
    for how in ("killed", "by its launcher", "loss", "not asked for", "sass"):
        gone = "sass" if how == "sass" else "scope"
        place.logs = place.path / f"logs-{how}"
        place.logs.mkdir(mode=0o700)
        writer = _begun(place.logs, Windows.channels)
        if how in ("loss", "not asked for", "sass"):
            writer.end()
        else:
            for channel in Windows.channels:
                _publish(writer, channel, salvaged=True)
            if how == "by its launcher":
                writer.line("system", "shutdown", synthetic=True, exit_code=137, signaled=True, signal=9)
                _publish(writer, "system")
            shutil.rmtree(writer.tmp)
            writer.die()
        for path in [*writer.dir.glob(f"{gone}.*"), *writer.dir.glob(f".gpufl-window.{gone}.*")]:
            path.unlink()
        if how == "loss":
            (writer.dir / ".gpufl-transport-loss.writer.1.json").write_text("{}")
        with Sink(declare=True) as sink:
            if how == "not asked for":
                agent = lib.agent(place, sink.url, "--exit-when-drained", "--log-types=device,system,sass")
                equal(agent.wait(), 0, agent.log.read_text())
            else:
                _upload(place, sink)
            held = place.run("gpufl", "status", place.logs).stdout
            check("no file of it is there" not in held, held)
            equal(sink.completes(), how != "loss", f"{how}: {held}")


def a_killed_writer_has_none(place):
    """Also if it was killed while it ended, or if its launcher wrote the end of the job in its place."""
    for how in ("killed", "while it ended", "by its launcher", "by its launcher and the writer's hand"):
        place.logs = place.path / f"logs-{how}"
        place.logs.mkdir(mode=0o700)
        writer = _begun(place.logs, Windows.channels)
        if how == "while it ended":
            writer.line("device", "shutdown")
            writer.rotate("device")
        writer.die()
        if "launcher" in how:
            for channel in ("device", "scope", "sass"):
                _publish(writer, channel, salvaged="hand" not in how)
            writer.line("system", "shutdown", synthetic=True, exit_code=137, signaled=True, signal=9)
            _publish(writer, "system", salvaged="hand" not in how)
            writer.tmp.rmdir()
        with Sink(declare=True) as sink:
            _goes_on(place, sink, writer, set())


def what_is_written_behind_the_shutdown_is_no_other_window(place):
    """By a thread that was late."""
    writer = _begun(place.logs)
    for channel in writer.channels:
        writer.line(channel, "shutdown")
    writer.line("scope")
    for channel in writer.channels:
        writer.rotate(channel)
    writer.tmp.rmdir()
    writer.die()
    with Sink(declare=True) as sink:
        _goes_on(place, sink, writer, set())


def large_ones_are_read_in_steps(place):
    """Each is decoded over several turns."""
    writer = _begun(place.logs)
    for channel in ("device", "scope"):
        writer.raw(channel, b"".join(b'{"type":"x","session_id":"%s","channel":"%s","big":%d,"pad":"%s"}\n' % (
            writer.id.encode(), channel.encode(), n, b"p" * 1000) for n in range(40000)))
    for channel in ("scope", "system", "sass"):
        writer.line(channel, "shutdown")
        writer.rotate(channel)
    lost = {json.dumps({"type": "shutdown", "session_id": writer.id, "channel": "device",
                        "n": len(writer.written["device"])}, separators=writer.separators).encode()}
    writer.rotate("device")
    writer.line("device", "shutdown")
    writer.end()  # a second shutdown for the others, and one of device that is gone
    lost |= set(gzip.decompress(_window(writer, "device", 3)[0].read_bytes()).splitlines())
    for path in _window(writer, "device", 3):
        path.unlink()
    with Sink(declare=True) as sink:
        words = _is_held(place, sink)
        equal(place.run("gpufl", *words).returncode, 0, "given up")
        _goes_on(place, sink, writer, lost)


def the_end_of_another_is_known_after_a_restart(place):
    """Of a channel that is gone as a whole."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    writer = _begun(place.logs)
    writer.end()
    for path in (*_window(writer, "scope", 1), *_window(writer, "system", 1)):
        path.unlink()
    for times in (1, 2):
        agent = lib.agent(place, backend.url, "--delete-acked=acknowledged")
        until(lambda a=agent: a.log.read_text().count("session.held") == 2, f"they are held, {times}")
        until(lambda: {f.name for f in writer.dir.glob("*.gz")} == {"device.2.log.gz", "sass.1.log.gz"},
              "all but the last ones are deleted")
        check(not backend.complete(writer.id), "not complete")
        agent.kill()
        agent.wait()
    equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "given up")
    lib.agent(place, backend.url, "--delete-acked=acknowledged")
    until(lambda: backend.complete(writer.id), "complete")
    until(lambda: not list(writer.dir.glob("*.gz")), "they are deleted")


def the_ends_of_the_others_are_known_after_a_restart(place):
    """An agent that deletes what is stored keeps the last window of each channel until it knows that none is missing."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--delete-acked=acknowledged")
    writer = _begun(place.logs, Windows.channels)
    until(lambda: all(backend.export(writer.id, c) for c in writer.channels), "the first windows are sent")
    for channel in writer.channels:
        writer.line(channel, "shutdown")
    (writer.tmp / f"device.{writer.retire('device')}.log").unlink()
    for channel in writer.channels[1:]:
        writer.rotate(channel)
    writer.tmp.rmdir()
    writer.die()
    for times in (1, 2):
        until(lambda: "window is missing" in place.run("gpufl", "status", place.logs).stdout, f"it is held, {times}")
        equal({f.name for f in writer.dir.glob("*.gz")},
              {"device.1.log.gz", "scope.2.log.gz", "system.2.log.gz", "sass.2.log.gz"}, "the last ones are kept")
        check(not backend.complete(writer.id), "not complete")
        if times == 1:
            agent.kill()
            agent.wait()
            agent = lib.agent(place, backend.url, "--delete-acked=acknowledged")
            until(lambda a=agent: "session.held" in a.log.read_text(), "it is held again")
    equal(place.run("gpufl", "resolve", place.logs, writer.id).returncode, 0, "given up")
    until(lambda: backend.complete(writer.id), "complete")
    equal({f.name for f in writer.dir.glob("*.gz")}, {"device.1.log.gz"}, "those of the others are deleted")


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(lib.main(sys.modules[__name__]))
