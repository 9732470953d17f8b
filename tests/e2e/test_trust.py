# SPDX-License-Identifier: Apache-2.0
"""Two users in a directory in which everybody may create files, as the packaged service has it:
what one does there changes nothing for the other."""
import json
import os
import signal
import subprocess
import sys

import lib
from lib import check, equal, until
from writers import Live

AGENT, OTHER, SERVICE = 65532, 65534, 64000  # neither is root; sessions belong to root
PLANTED = "umask 0; cd {logs}; "


class _Shared:
    """A directory with mode 3777 and a session in it; the agent's state is its own."""

    def __init__(self, place, name="logs"):
        place.path.chmod(0o755)
        self.place, self.logs, self.state = place, place.path / name, place.path / f"state-{name}"
        self.logs.mkdir(exist_ok=True)
        self.logs.chmod(0o3777)
        self.state.mkdir(mode=0o700)
        os.chown(self.state, AGENT, AGENT)
        self.backend = lib.Backend(place, "--api-key", lib.KEY)

    def session(self, lines=20):
        writer = Live(self.logs)
        (writer.dir / ".gpufl-session.lock").chmod(0o644)
        for _ in range(lines):
            writer.line("device")
        return writer

    def other(self, script):
        """Lets the other user do something."""
        done = subprocess.run(["sh", "-ec", PLANTED.format(logs=self.logs) + script], user=OTHER, group=OTHER,
                              extra_groups=[], check=False, capture_output=True, text=True)
        equal(done.returncode, 0, f"{script}: {done.stderr}")

    def agent(self, *args, **more):
        return lib.agent(self.place, self.backend.url, f"--state-dir={self.state}", "--rescan-interval=200ms", *args,
                         folder=self.logs, user=AGENT, group=AGENT, extra_groups=[], **more)

    def all_is_sent(self, agent, writer):
        until(lambda: self.backend.complete(writer.id), "the session is complete")
        lib.holds(self.backend, writer)
        agent.send_signal(signal.SIGTERM)
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())


def _forged(writer, file=1, offset=None):
    """Progress that says that all but the last line of a session is settled."""
    whole = bytes(writer.written["device"])
    offset = len(whole[:whole.rindex(b"\n", 0, -1) + 1]) if offset is None else offset
    return f"gpufl-progress 1 pid=1 program=x\\n{writer.id} device {file} {offset} 7 1\\n"


AGENT_DIR = "mkdir -m 777 .gpufl-agent; "
PLANT = {  # what the other user does before the agent starts
    "a pipe as progress.tmp": AGENT_DIR + "mkfifo .gpufl-agent/progress.tmp",
    "a pipe as complete.tmp": AGENT_DIR + "mkfifo .gpufl-agent/complete.tmp",
    "a pipe as progress": AGENT_DIR + "mkfifo .gpufl-agent/progress",
    "a pipe as complete": AGENT_DIR + "mkfifo .gpufl-agent/complete",
    "a pipe as the state directory": "mkfifo .gpufl-agent",
    "a link as the state directory": "ln -s /etc .gpufl-agent",
    "a link as progress": AGENT_DIR + "ln -s /etc/passwd .gpufl-agent/progress",
    "a directory as progress": AGENT_DIR + "mkdir .gpufl-agent/progress",
    "a forged progress": AGENT_DIR + "printf '{progress}' > .gpufl-agent/progress",
    "a forged progress that only it can write": AGENT_DIR + "printf '{progress}' > .gpufl-agent/progress; "
                                                            "chmod 644 .gpufl-agent/progress; chmod 755 .gpufl-agent",
    "a forged list of complete sessions": AGENT_DIR + "printf '{progress}' | tee .gpufl-agent/progress "
                                                      "> .gpufl-agent/complete",
    "a forged journal": AGENT_DIR + "echo GPUFLJNL > .gpufl-agent/journal",
    "a progress of 1 GiB": AGENT_DIR + "truncate -s 1G .gpufl-agent/progress",
    "a pipe as the upload cursor": "mkfifo .gpufl-upload-cursor.json",
    "a pipe as the upload cursor's temporary file": "mkfifo .gpufl-upload-cursor.json.tmp",
    "a link as the upload cursor": "ln -s /etc/passwd .gpufl-upload-cursor.json",
    "an upload cursor that names the session": "echo '{{\"schema_version\":2,\"uploaded_files\":[],"
                                               "\"completed_sessions\":{{\"{id}\":{{}}}}}}' > .gpufl-upload-cursor.json",
    "an upload cursor of 1 GiB": "truncate -s 1G .gpufl-upload-cursor.json",
}


def what_another_user_plants_changes_nothing(place):
    if os.geteuid() != 0:
        lib.skip("needs root, to be several users")
    for n, (what, script) in enumerate(PLANT.items()):
        print(f"# {what}", flush=True)
        shared = _Shared(place, f"logs-{n}")
        writer = shared.session()
        writer.end()
        shared.other(script.format(progress=_forged(writer), id=writer.id))
        agent = shared.agent()
        shared.all_is_sent(agent, writer)
        check("progress.imported" not in agent.log.read_text(), what)
        shared.backend.kill()


def a_file_that_is_parsed_takes_no_more_memory_than_it_may(place):
    """Ours, too: a cursor whose tree would be forty or four hundred times its size, a manifest, a last line."""
    if lib.MEASURES_ITSELF:
        lib.skip("a sanitizer, valgrind and QEMU take memory of their own")
    for n, unit in enumerate((b"0,", b"{},")):
        logs = place.path / f"logs-{n}"
        logs.mkdir(mode=0o700)
        array = b"[" + unit * ((7 << 20) // len(unit)) + b"0]"
        (logs / ".gpufl-upload-cursor.json").write_bytes(b'{"uploaded_files":%s}' % array)
        writer, torn = Live(logs), Live(logs)
        manifest = json.loads((writer.dir / ".gpufl-session.json").read_text())
        (writer.dir / ".gpufl-session.json").write_text(json.dumps({**manifest, "more": [0] * 200}))
        torn.raw("device", b'{"type":"x","session_id":"%s","a":%s}' % (torn.id.encode(), array))
        torn.die()
        writer.end()
        backend = lib.Backend(place, "--api-key", lib.KEY)
        agent = lib.agent(place, backend.url, "--rescan-interval=200ms", "--orphan-timeout=1s", folder=logs)
        until(lambda: backend.complete(writer.id), "complete")
        until(lambda: backend.export(torn.id, "device") == torn.written["device"] + b"\n", "the last line")
        until(lambda: "cursor.off" in agent.log.read_text(), "it is said")
        check("too large" in agent.log.read_text(), agent.log.read_text())
        check(lib.peak_kib(agent.pid) < 64 << 10, f"{lib.peak_kib(agent.pid)} KiB")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, "exit code")
        backend.kill()


def a_state_directory_that_others_can_change_is_refused(place):
    """Also one with the sticky bit; below it one is made, as on an emptyDir volume."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = lib.job(place, 0.1)
    state = place.path / "state"
    state.mkdir()
    for mode in (0o777, 0o1777, 0o770):
        state.chmod(mode)
        agent = lib.agent(place, backend.url, f"--state-dir={state}")
        equal(agent.wait(20 * lib.SLOW), 1, f"{mode:o}")
        check(f"'{state}'" in agent.log.read_text() and f"{mode:04o}" in agent.log.read_text(), agent.log.read_text())
        done = lib.upload(place, backend.url, "--state-dir", state)
        equal(done.returncode, 2, f"{mode:o}: {done.result}")
        check("chmod go-w" in done.result["message"], done.result["message"])
    equal(list(state.iterdir()), [], "nothing is written there")
    state.chmod(0o2777)
    agent = lib.agent(place, backend.url, f"--state-dir={state}/agent", "--exit-when-drained")
    equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
    equal((state / "agent").stat().st_mode & 0o777, 0o700, "its mode")
    lib.same(backend, session)


def _locked_by(user, path):
    holder = subprocess.Popen(["flock", "-x", path, "sh", "-c", "echo; cat"], user=user, group=user, extra_groups=[],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    return holder


def a_lock_that_another_user_takes_keeps_no_service_away(place):
    """On the directory, on the one above, on a group below; released, the agent takes it itself."""
    if os.geteuid() != 0:
        lib.skip("needs root, to be several users")
    for n, where in enumerate(("root", "above", "group")):
        shared = _Shared(place, f"logs-{n}")
        group = shared.logs / "run-1"
        group.mkdir()
        writer = Live(group) if where == "group" else shared.session()
        writer.line("device")
        (writer.dir / ".gpufl-session.lock").chmod(0o644)
        writer.end()
        holder = _locked_by(OTHER, {"root": shared.logs, "above": place.path, "group": group}[where])
        agent = shared.agent(env={"STATE_DIRECTORY": str(shared.state)})
        until(lambda w=writer, s=shared: s.backend.complete(w.id), f"{where}: complete")
        lib.holds(shared.backend, writer)
        if where == "root":
            check("root.locked" in agent.log.read_text(), agent.log.read_text())
            second = shared.agent(env={"STATE_DIRECTORY": str(shared.state)})
            equal(second.wait(20 * lib.SLOW), 1, "a second service")
            check("only one uploader" in second.log.read_text(), second.log.read_text())
        holder.communicate()
        if where == "root":
            until(lambda a=agent: "root.unlocked" in a.log.read_text(), "it takes the lock")
            done = lib.upload(place, shared.backend.url, directory=shared.logs)
            equal(done.returncode, 1, "an upload finds it served")
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())
        shared.backend.kill()


def the_lock_of_one_who_has_a_say_keeps_an_agent_away(place):
    """Of the agent's own user, of root, of the directory's owner; and, if it is no service, of the account of one."""
    if os.geteuid() != 0:
        lib.skip("needs root, to be several users")
    shared = _Shared(place)
    for user, owner, service in ((AGENT, 0, True), (0, 0, True), (OTHER, OTHER, True), (SERVICE, 0, False)):
        os.chown(shared.logs, owner, 0)
        shared.logs.chmod(0o3777)
        with lib.alone_with_the_kernels_locks():
            holder = _locked_by(user, shared.logs)
            agent = shared.agent(env={"STATE_DIRECTORY": str(shared.state)} if service else {})
            equal(agent.wait(20 * lib.SLOW), 1, f"{user} {owner} {service}: {agent.log.read_text()}")
            holder.communicate()


def status_does_not_believe_a_forged_progress(place):
    if os.geteuid() != 0:
        lib.skip("needs root, to be several users")
    shared = _Shared(place)
    shared.session().end()
    shared.other(AGENT_DIR + "printf 'gpufl-progress 1 pid=1 program=x\\n!trouble 9 call this number\\n'"
                             " > .gpufl-agent/progress")
    done = place.run("gpufl", "status", shared.logs, "--json", "--state-dir", shared.state)
    said = json.loads(done.stdout)
    check(said["served_by"] is None and "number" not in done.stdout, done.stdout)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
