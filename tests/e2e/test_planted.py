# SPDX-License-Identifier: Apache-2.0
"""What another user leaves, or does all the time, in a directory that users share, while a user or root uploads on
demand: the upload ends by itself, and the user's own session is complete. Needs root, to be several users."""
import json
import sys
import uuid

import lib
from lib import check, equal
from test_two_users import MANIFEST, MINE, OTHER, ROOT, VICTIM, _Service, _Session, _Try

UNKNOWN = "echo " + MANIFEST % (MINE, 1, "x") + " > .gpufl-session.json; : > .gpufl-session.lock; "
NEW = "mkdir {logs}/" + MINE + "; cd {logs}/" + MINE + "; "
LINE = """{{"type":"x","session_id":\"""" + MINE + """\"}}"""
SAY = f"echo '{LINE}'"
HELD = ("exec python3 -c 'import fcntl, os, sys, time\nfd = os.open(\".gpufl-session.lock\", os.O_RDWR)\n"
        "fcntl.lockf(fd, fcntl.LOCK_EX)\nline = b\"" + LINE.replace('"', "\\\"") + "\\n\"\n"
        "def add(data): open(\"device.log\", \"ab\").write(data)\n%s'")
HOLD = HELD % "print(flush=True); input()"
CLAIM = "the user's id in a group"

# What the other user does, and what an upload of everything then says of that session; "" = it may be nothing.
# Each script may run for as long as the test does; `ready` says that it has begun.
PLANTED = {
    "a sealed file alone, of a writer that cannot be probed":
        (NEW + UNKNOWN + SAY + " > device.1.log; touch -d '1 hour ago' device.1.log; ready", "active file is gone"),
    "a sealed file alone, whose time changes all the time":
        (NEW + UNKNOWN + SAY + " > device.1.log; ready; while :; do touch device.1.log; sleep .05; done", "can be sent now"),
    "a sealed file alone, and a lock": (NEW + UNKNOWN + SAY + " > device.1.log; " + HOLD, ""),
    "half a line, of a writer that cannot be probed":
        (NEW + UNKNOWN + "printf '{{' > device.log; ready", "last line"),
    "half a line, and a lock": (NEW + UNKNOWN + "printf '{{' > device.log; " + HOLD, ""),
    "a session that grows slowly":
        (NEW + UNKNOWN + "ready; while " + SAY + " >> device.log; do sleep .02; done", ""),
    "a session that grows fast, and a lock":
        (NEW + UNKNOWN + HELD % "print(flush=True)\nfor _ in range(4000): add(line * 2000); time.sleep(.002)", ""),
    "half lines that grow":
        (NEW + UNKNOWN + "ready; while printf '{{' >> device.log; do sleep .01; done", ""),
    "a session that rotates all the time":
        (NEW + UNKNOWN + HELD % "print(flush=True)\nfor n in range(1, 3000): add(line); os.rename(\"device.log\", "
                                "\"device.%d.log\" % n); time.sleep(.01)", ""),
    "ends of channels, of a writer that cannot be probed":
        (NEW + UNKNOWN + "for c in device scope; do echo '{{\"type\":\"shutdown\",\"session_id\":\"" + MINE + "\"}}' > "
         "$c.log; done; ready; while " + SAY + " >> system.log; do sleep .02; done", ""),
    "lines of another session": (NEW + "ready; while echo '{{\"type\":\"x\",\"session_id\":\"y\"}}' >> device.log; "
                                       "do sleep .02; done", ""),
    "a 1.1 session that grows":
        (NEW + "ready; while " + SAY + " >> device.log; do sleep .02; done", ""),
    "a hole of a terabyte": (NEW + UNKNOWN + "truncate -s 1T device.log; ready", "not every session can be complete"),
    "holes of more": (NEW + UNKNOWN + "truncate -s 7T device.1.log device.2.log scope.1.log; : > device.log; : > "
                      "scope.log; ready", ""),
    "a hole that grows": (NEW + UNKNOWN + ": > device.log; ready; while truncate -s +1G device.log; do sleep .01; done", ""),
    "a file that grows and shrinks": (NEW + UNKNOWN + "ready; while " + SAY + " >> device.log; do " + SAY + " >> "
                                      "device.log; truncate -s 20 device.log; done", ""),
    "a hole in a window that a dead 1.3 writer left":
        ("mkdir -p {logs}/" + MINE + "/.tmp; cd {logs}/" + MINE + "; : > .gpufl-session.lock; truncate -s 1T "
         ".tmp/device.1.log; ready", ""),
    "a session that is renamed all the time":
        (NEW + SAY + " > device.log; cd ..; ready; while mv " + MINE + " x; do mv x " + MINE + "; done", ""),
    "sessions that come and go":
        ("cd {logs}; ready; while mkdir " + MINE + " && " + SAY + " > " + MINE + "/device.log; do rm -r " + MINE +
         "; done", ""),
    "names in a session that come and go":
        (NEW + SAY + " > device.log; ready; while echo x > scope.log; do mv scope.log y; rm y; done", ""),
    "many names in a session": (NEW + SAY + " > device.log; seq 2000 | sed s/^/n/ | xargs touch; ready", ""),
    "deep directories": ("cd {logs}; for n in $(seq 200); do mkdir d && cd d; done; ready", ""),
    "links in a circle": ("cd {logs}; ln -s b a; ln -s a b; mkdir " + MINE + "; ln -s . " + MINE + "/device.log; ln -s "
                          ".. " + MINE + "/up; ready", ""),
    "pipes, as sessions and files": ("cd {logs}; mkfifo p; mkdir " + MINE + "; for f in device.log scope.1.log.gz "
                                     ".gpufl-session.json .gpufl-session.lock; do mkfifo " + MINE + "/$f; done; ready", ""),
    "long names": ("cd {logs}; mkdir $(printf %0128d 1) $(printf %0255d 2); " + SAY + " > $(printf %0128d 1)/device.log; "
                   "ready", ""),
    "a gzip file of zeros": (NEW + UNKNOWN + "head -c 64M /dev/zero | gzip -1 > device.log.gz; ready", ""),
    "gzip files of zeros, in turn": (NEW + "for n in 1 2 3 4; do head -c 32M /dev/zero | gzip -1 > device.$n.log.gz; "
                                           "done; ready", ""),
    "a manifest of a gibibyte": (NEW + "truncate -s 1G .gpufl-session.json; echo x > device.log; ready", ""),
    "what nobody can read": (NEW + SAY + " > device.log; chmod 000 device.log; mkdir ../a; chmod 000 ../a; ready", ""),
    CLAIM: ("mkdir -p {logs}/g/{id}; echo x > {logs}/g/{id}/device.log; ready", ""),
    "a lock on the log directory": ("ready; exec flock -x {logs} cat", ""),
}


def _uploads(service, what, own, user, says):
    """Everything, within the default time limit, and the user's own session. How long it takes is not asked."""
    done = service.upload(user)
    message = done.result.get("message", done.stderr)
    check(done.returncode in (0, 1) and "time limit" not in message, f"{what}, user {user}: {message} {done.stderr}")
    check(says in message and (not says or done.returncode == 1), f"{what}, user {user}: {message}")
    check(not says or f"user {OTHER}" in message or says != "can be sent now" and says != "active file is gone", f"{what}: names the user: {message}")
    check(service.backend.complete(own.id), f"{what}, user {user}: own session: {message} {done.stderr}")
    named = service.upload(user, "--session-id", own.id)
    equal(named.returncode, 0, f"{what}, user {user}: {named.result} {named.stderr}")


def _looks(service, what, own, user):
    told = service.status(user, "--json")
    check(told.returncode in (0, 1), f"{what}, status: {told.stderr}")
    mine = [s for s in json.loads(told.stdout)["sessions"] if s["session_id"] == own.id and s["complete"]]
    equal(len(mine), 1, f"{what}, status: {told.stdout}")
    verified = service.place.run("gpufl", "verify", service.logs, "--session-id", own.id, "--backend-url",
                                 service.backend.url, env={"GPUFL_API_KEY": lib.KEY}, user=user, group=user,
                                 extra_groups=[])
    equal(verified.returncode, 0, f"{what}: {verified.stdout} {verified.stderr}")


def _planted(place, number, what):
    script, says = PLANTED[what]
    for user in (VICTIM, 0) if what != CLAIM else (VICTIM,):  # root may mean either
        service = _Service(place, f"logs-{number}-{user}")
        own = _Session(service.logs, user)
        own.lines()
        equal(service.upload(user).returncode, 0, f"{what}: the id has its session")
        with _Try(service, script.replace(MINE, str(uuid.uuid4())), own) as attempt:
            check(attempt.begun, f"{what}: {attempt.process.stderr.read() if attempt.process.poll() else 'silent'}")
            own.lines()
            own.end()
            _uploads(service, what, own, user, says)
            _looks(service, what, own, user)
        lib.holds(service.backend, own)
        service.backend.kill()


def what_another_user_leaves_ends_no_upload_late(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    for number, what in enumerate(PLANTED):
        print(f"# {what}", flush=True)
        _planted(place, number, what)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
