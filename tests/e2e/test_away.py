# SPDX-License-Identifier: Apache-2.0
"""Folders that are replaced, mounted over, unmounted or late: what is said, and that nothing is missing or twice."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import lib
from lib import check, equal, until
from test_metrics import Watched
from writers import Live

OPEN = "--landlock=off"


def _job(logs, lines=20):
    writer = Live(logs)
    for _ in range(lines):
        writer.line("device")
    writer.end()
    return writer


def _confined(agent):
    """Whether the kernel has Landlock."""
    return 'landlock="on' in until(lambda: "agent.started" in agent.log() and agent.log(), "it is up")


def _holds_once(backend, *writers):
    for writer in writers:
        until(lambda: backend.complete(writer.id), "it is complete")
        lib.holds(backend, writer)


def a_folder_that_is_replaced_is_served_without_a_restart(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url, OPEN, f"--state-dir={place.path}/state", "--rescan-interval=300ms")
    before = _job(place.logs)
    _holds_once(backend, before)
    away = place.path / "away"
    place.logs.rename(away)
    until(lambda: agent.ask("/readyz")[0] == 503, "it is not ready")
    check("a folder is away" in agent.ask("/readyz")[1], agent.ask("/readyz")[1])
    equal(agent.figure("folders_away"), 1, "figure")
    check("root.away" in agent.log(), agent.log())
    place.logs.mkdir(mode=0o700)
    other = _job(place.logs)
    _holds_once(backend, other)
    equal(agent.ask("/readyz"), (200, "ready\n"), "ready again")
    live = Live(place.logs)
    live.line("device")
    until(lambda: backend.export(live.id, "device") == live.written["device"], "it is watched, too")
    shutil.rmtree(place.logs)
    away.rename(place.logs)
    last = _job(place.logs)
    _holds_once(backend, before, other, last)
    equal(agent.figure("lines_sent_total{device}"), 3 * len(last.written["device"].splitlines()) +
          len(live.written["device"].splitlines()), "each line was sent once")
    agent.stop()


def a_file_system_that_is_mounted_over_a_folder_is_served_and_what_it_hides_later(place):
    if os.geteuid() != 0:
        lib.skip("needs root, to mount")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = Watched(place, backend.url, OPEN, f"--state-dir={place.path}/state", "--rescan-interval=300ms")
    hidden = Live(place.logs)
    hidden.line("device")
    until(lambda: backend.export(hidden.id, "device"), "its line is stored")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "none", place.logs], check=False).returncode:
        lib.skip("this container may not mount")
    try:
        _holds_once(backend, _job(place.logs))
    finally:
        subprocess.run(["umount", "--lazy", place.logs], check=True)
    hidden.line("device")
    hidden.end()
    _holds_once(backend, hidden)
    equal(agent.figure("folders_away"), 0, "none is away")
    agent.stop()


def a_confined_agent_says_that_it_must_not_open_what_replaced_a_folder(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    args = (f"--state-dir={place.path}/state", "--rescan-interval=300ms")
    agent = Watched(place, backend.url, *args)
    if not _confined(agent):
        lib.skip("this kernel has no Landlock")
    before = _job(place.logs)
    _holds_once(backend, before)
    place.logs.rename(place.path / "away")
    place.logs.mkdir(mode=0o700)
    other = _job(place.logs)
    until(lambda: "folder.confined" in agent.log(), "it is said")
    status, why = agent.ask("/readyz")
    equal((status, "may not open" in why), (503, True), why)
    agent.stop()
    agent = Watched(place, backend.url, *args)
    _holds_once(backend, before, other)
    agent.stop()


def a_supervised_agent_ends_to_be_started_again_when_it_must_not_open_a_folder(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(place.path / "notify"))
        agent = Watched(place, backend.url, "--rescan-interval=300ms",
                        env={"NOTIFY_SOCKET": str(place.path / "notify")})
        if not _confined(agent):
            lib.skip("this kernel has no Landlock")
        place.logs.rename(place.path / "away")
        place.logs.mkdir(mode=0o700)
        equal(agent.process.wait(20 * lib.SLOW), 1, "exit code")
        check("to be started again" in agent.log(), agent.log())


def a_late_folder_is_served_with_the_state_elsewhere(place):
    """The state is not below a directory that the folder's rule covers."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with tempfile.TemporaryDirectory(prefix="gpufl-e2e-state-") as state:
        for name, flags, env, mode in (("flag", [f"--state-dir={state}/flag"], {}, 0o700),
                                       ("systemd", [], {"STATE_DIRECTORY": f"{state}/systemd"}, 0o700),
                                       ("home", [], {"XDG_STATE_HOME": f"{state}/home"}, 0o777)):
            late = place.path / name / "logs"
            agent = Watched(place, backend.url, *flags, folder=late, env=env)
            until(lambda: "folder.missing" in agent.log(), "it is waited for")
            late.mkdir(parents=True)
            late.chmod(mode)
            _holds_once(backend, _job(late))
            check("folder.refused" not in agent.log(), agent.log())
            check(list(pathlib.Path(state, name).rglob("*.journal")), "its journal is there")
            agent.stop()


def an_upload_beside_an_agent_with_its_state_elsewhere_knows_what_that_has_not_sent(place):
    """Also where the directory of all that is not sent is gone, and nothing in the log directory tells of it."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, OPEN, f"--state-dir={place.path}/state", "--rescan-interval=200ms")
    until(lambda: "agent.started" in agent.log.read_text(), "it serves the directory")
    done = lib.upload(place, backend.url)
    equal((done.returncode, "nothing to send" in done.result["message"]), (0, True), done.stdout)
    writer = Live(place.logs)
    until(lambda: backend.export(writer.id, "device") == writer.written["device"], "its first line")
    backend.kill()
    writer.line("device")
    done = lib.upload(place, backend.url, "--timeout=1s")
    equal((done.returncode, "cannot reach" in done.result["message"]), (2, True), done.stdout)
    progress = place.logs / ".gpufl-agent/progress"
    until(lambda: progress.exists() and writer.id in progress.read_text(), "it tells of the session")
    writer.dir.rename(place.path / "elsewhere")
    backend.start()
    done = lib.upload(place, backend.url)
    equal((done.returncode, done.result["sessions_away"]), (1, 1), done.stdout)
    check(writer.id in done.result["message"], done.stdout)
    (place.path / "elsewhere").rename(writer.dir)
    writer.end()
    done = lib.upload(place, backend.url)
    equal((done.returncode, "sent by the uploader" in done.result["message"]), (0, True), done.stdout)
    lib.holds(backend, writer)
    check(agent.poll() is None, "it runs")


def _is_begun(place, backend, name):
    """A session in a directory of its own, of which an agent that has ended sent all but the last line."""
    logs = place.path / name
    logs.mkdir(mode=0o700)
    writer = Live(logs)
    agent = lib.agent(place, backend.url, OPEN, f"--state-dir={place.path}/{name}-state", folder=logs)
    until(lambda: backend.export(writer.id, "device") == writer.written["device"], "its first line")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
    writer.line("device")
    return logs, writer


def _drains(place, backend, logs, *args):
    return lib.agent(place, backend.url, OPEN, f"--state-dir={logs}-state", "--exit-when-drained", "--rescan-interval=300ms",
                     *args, folder=logs)


def _ends_with_1(agent, *words):
    equal(agent.wait(20 * lib.SLOW), 1, agent.log.read_text())
    last = agent.log.read_text().splitlines()[-1]
    check("agent.stopped" in last and all(word in last for word in words), last)


def an_agent_that_exits_when_drained_fails_for_a_session_that_is_away(place):
    """Whether it is the only one, there are others, it goes while the agent runs, or all of the directory does."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    way_out = "(start the agent again when it is back; gpufl status names what is away, and how to give it up)"
    for flags in ((), ("--exit-if-empty",)):
        logs, writer = _is_begun(place, backend, f"only{len(flags)}")
        writer.dir.rename(place.path / f"gone{len(flags)}")
        _ends_with_1(_drains(place, backend, logs, *flags), "away=1", writer.id, way_out)
    other = _job(logs)
    _ends_with_1(_drains(place, backend, logs), "complete=1", "away=1", writer.id, way_out)
    _holds_once(backend, other)
    (place.path / "gone1").rename(writer.dir)
    writer.end()
    agent = _drains(place, backend, logs)
    equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
    _holds_once(backend, writer)
    for name in ("session", "root"):
        logs, writer = _is_begun(place, backend, name)
        agent = _drains(place, backend, logs)
        until(lambda w=writer: backend.export(w.id, "device") == w.written["device"], "it is live")
        (writer.dir if name == "session" else logs).rename(place.path / f"gone-{name}")
        _ends_with_1(agent, "away=1", writer.id, way_out)


def an_agent_for_new_sessions_waits_for_them_whatever_it_has_sent_before(place):
    """Sessions whose directories are gone by then, complete ones and others, are neither missed nor the end."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for ended in (True, False):
        logs, writer = _is_begun(place, backend, f"logs{ended}")
        if ended:
            writer.end()
            equal(_drains(place, backend, logs).wait(20 * lib.SLOW), 0, "complete")
        writer.dir.rename(place.path / f"gone{ended}")
        agent = _drains(place, backend, logs, "--ignore-preexisting", "--listen=127.0.0.1:0")
        until(lambda a=agent: "origin.known" in a.log.read_text(), "it is up")
        new = Live(logs)
        until(lambda w=new: backend.export(w.id, "device") == w.written["device"], "the new one is sent live")
        check("session.away" not in agent.log.read_text(), agent.log.read_text())
        new.end()
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        _holds_once(backend, new)


def the_name_of_a_folder_puts_no_control_character_into_what_is_told(place):
    """A newline would begin another variable for systemd, such as STOPPING=1."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    logs = place.path / "lo\x1b[1m\nSTOPPING=1\ngs"
    logs.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(place.path / "notify"))
        agent = Watched(place, backend.url, OPEN, f"--state-dir={place.path}/state", "--rescan-interval=300ms",
                        folder=logs, env={"NOTIFY_SOCKET": str(place.path / "notify")})
        until(lambda: "agent.started" in agent.log(), "it is up")
        logs.rename(place.path / "away")
        until(lambda: agent.ask("/readyz")[0] == 503, "it is not ready")
        told = agent.ask("/readyz")[1]
        check("lo\\x1b[1m\\nSTOPPING=1\\ngs" in told, told)
        agent.process.terminate()
        systemd.settimeout(20 * lib.SLOW)
        status = next(text for text in iter(lambda: systemd.recv(4096).decode(), "") if "a folder is away" in text)
        check(status.startswith("STATUS=") and "\n" not in status and "\x1b" not in status, repr(status))
        agent.stop()


def a_late_folder_that_was_refused_is_served_once_it_can_be(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    late, elsewhere = place.path / "late", place.path / "elsewhere"
    agent = Watched(place, backend.url, folder=late)
    elsewhere.mkdir(mode=0o700)
    other = lib.agent(place, backend.url, folder=elsewhere)
    until(lambda: "agent.started" in other.log.read_text(), "another agent has its lock")
    elsewhere.rename(late)
    until(lambda: "folder.refused" in agent.log(), "it is said")
    equal(agent.ask("/readyz")[0], 503, "not ready")
    other.kill()
    other.wait()
    _holds_once(backend, _job(late))
    equal((agent.log().count("folder.refused"), agent.ask("/readyz")), (1, (200, "ready\n")), "said once")
    agent.stop()


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
