# SPDX-License-Identifier: Apache-2.0
"""Two users and the packaged service on one directory: what one user does there neither ends, hides, delays nor
forges a session of the other one. Needs root, to be several users."""
import contextlib
import gzip
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import uuid

import lib
from lib import check, equal, until
from sink import Sink
from test_backend import post
from writers import Live, Shifting, Windows

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

    def start(self, *args, **more):
        env = {"STATE_DIRECTORY": str(self.state), "RUNTIME_DIRECTORY": str(self.run)}
        more = {"user": AGENT, "group": AGENT, "extra_groups": [], **more}
        self.agent = lib.agent(self.place, self.backend.url, "--rescan-interval=200ms", *args, env=env,
                               folder=self.logs, umask=0o077, **more)

    def with_subordinate_ids(self, *ranges):
        """\return the words of a command that executes the one behind them in a mount namespace where these are the lines
        of /etc/subuid."""
        subuid = self.place.path / "subuid"
        subuid.write_text("".join(f"{line}\n" for line in ranges))
        subuid.chmod(0o644)
        inside = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/subuid && exec "$@"', subuid]
        if subprocess.run([*inside, "cmp", subuid, "/etc/subuid"], capture_output=True, check=False).returncode != 0:
            lib.skip("no file can be mounted over /etc/subuid here")
        return inside

    def start_with_subordinate_ids(self, *ranges):
        inside = self.with_subordinate_ids(*ranges)
        become = ["setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups"]
        self.start(user=0, group=0, through=[*inside, *become])

    def stop(self, how=signal.SIGTERM):
        self.agent.send_signal(how)
        self.agent.wait(30 * lib.SLOW)

    def upload(self, user, *args, env=None):
        env = {"GPUFL_RUNTIME_DIRECTORY": str(self.run), "XDG_STATE_HOME": str(self.home(user)), **(env or {})}
        return lib.upload(self.place, self.backend.url, *args, directory=self.logs, env=env, user=user, group=user,
                          extra_groups=[])

    def status(self, user, *args):
        env = {"GPUFL_RUNTIME_DIRECTORY": str(self.run), "XDG_STATE_HOME": str(self.home(user))}
        return self.place.run("gpufl", "status", self.logs, *args, env=env, user=user, group=user, extra_groups=[])

    def home(self, user):
        home = self.place.path / f"home-{user}"
        home.mkdir(exist_ok=True)
        os.chown(home, user, user)
        return home

    def has(self, session):
        return all(self.backend.export(session.id, channel) == bytes(data)
                   for channel, data in session.written.items())


MANY_LOCKS = """
import fcntl, os, struct, sys, tempfile
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the kernel lists each processor's, the newest first
held = [os.open(path, os.O_RDONLY) for path in sys.argv[2:]]
for fd in held:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
for n in range(int(sys.argv[1])):
    if n % 250 == 0:
        held.append(os.memfd_create("locked"))
    fcntl.fcntl(held[-1], 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, n % 250 * 2, 1, 0))  # F_OFD_SETLK
print(flush=True)
input()
"""


@contextlib.contextmanager
def _many_locks(*paths, count=17000):
    """Another user holds locks on these paths meanwhile, and so many that the kernel lists before them. They take half
    a second, and so does each reading of the list."""
    with lib.alone_with_the_kernels_locks():
        process = _as(OTHER, ["python3", "-c", MANY_LOCKS, str(count), *map(str, paths)])
        check(process.stdout.readline(), "the locks are taken")
        yield
        process.communicate()


def _session_in_group(service):
    """A session of one user, in a directory of the same one."""
    group = service.logs / "run-1"
    group.mkdir()
    os.chown(group, VICTIM, VICTIM)
    return _Session(group)


class _SlowReads:
    """A disk of which a large read takes a second."""

    def __init__(self, place):
        flag = place.path / "slow"
        flag.touch()
        flag.chmod(0o644)
        self.env = {"LD_PRELOAD": str(lib.BUILD / "tests/fake/slow_sync.so"), "FAKE_SLOW_READ": str(flag)}


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
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    service.start()
    until(lambda: service.has(writer), "the agent has sent it")
    done = service.upload(VICTIM, "--session-id", writer.id)
    equal((done.returncode, done.result.get("message")), (0, "sent by the uploader that serves this directory"),
          str(done.result))
    for wrong, code, said in ((("--api-key", "wrong"), 2, "the backend refused the API key"),
                              (("--backend-url", "http://127.0.0.1:9"), 1, "sends to another backend than --backend-url")):
        done = service.upload(VICTIM, "--session-id", writer.id, *wrong)
        equal(done.returncode, code, str(done.result))
        check(said in done.result["message"], str(done.result))
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


def new_sessions_in_a_group_of_before_wait_for_no_listing(place):
    """However many directories another user has, in which the next listing would look: there is none for an hour, but
    for two at the start."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    before = _session_in_group(service)
    before.lines()
    plant = "import os, sys\nfor n in range(500): os.mkdir(f'{sys.argv[1]}/g{n}')"
    equal(_as(OTHER, ["python3", "-c", plant, str(service.logs)]).wait(), 0, "planted")
    service.start("--rescan-interval=1h")
    until(lambda: service.has(before), "the root was listed")
    for number in range(5):
        late = _Session(before.dir.parent)
        late.lines()
        until(lambda late=late: service.has(late), f"{number} is found")
        late.end()
        until(lambda late=late: service.backend.complete(late.id), f"{number} is complete")
        lib.holds(service.backend, late)


def root_makes_nothing_in_the_home_of_another_user(place):
    """As by sudo without -H or su -m, which leave HOME as it is."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    session = lib.job(place, 0.1)
    place.logs.chmod(0o1777)  # the journal cannot lie beside the logs
    home, own, passwd = (place.path / name for name in ("home", "root", "passwd"))
    home.mkdir()
    os.chown(home, OTHER, OTHER)
    passwd.write_text(f"root:x:0:0::{own}:/bin/sh\n")
    through = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', passwd]
    if subprocess.run([*through, "cmp", passwd, "/etc/passwd"], capture_output=True, check=False).returncode != 0:
        lib.skip("no file can be mounted over /etc/passwd here")

    def gpufl(*args):
        process = place.start("gpufl", *args, env={"HOME": str(home), "XDG_STATE_HOME": f"{home}/.state"}, through=through)
        equal(process.wait(60 * lib.SLOW), 0, process.log.read_text())
        return process.log.read_text()

    backend = lib.Backend(place, "--api-key", lib.KEY)
    gpufl("upload", place.logs, "--backend-url", backend.url, "--api-key", lib.KEY)
    lib.same(backend, session)
    equal(list(home.iterdir()), [], "nothing was made there")
    equal([p.suffix for p in (own / ".local/state/gpufl").iterdir() if p.suffix == ".journal"], [".journal"], "but here")
    check("nothing to send" in gpufl("upload", place.logs, "--backend-url", backend.url, "--api-key", lib.KEY), "found again")
    check("complete" in gpufl("status", place.logs), "and read")


def verify_of_a_user_compares_what_is_that_users(place):
    """Another user has put a directory beside them that is equal to nothing, and sorts first."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    own = _Session(service.logs)
    own.lines()
    own.end()
    equal(service.upload(VICTIM).returncode, 0, "it is sent")
    planted = service.logs / "00000000-planted"
    planted.mkdir()
    (planted / "device.log").write_text("no record")
    for path in (planted, planted / "device.log"):
        os.chown(path, OTHER, OTHER)

    def verified(user, *args):
        return place.run("gpufl", "verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY, *args,
                         user=user, group=user, extra_groups=[])

    done = verified(VICTIM)
    equal(done.returncode, 0, done.stdout + done.stderr)
    check("00000000-planted  of another user, not compared\n" in done.stdout, done.stdout)
    check("1 directory of other users not compared" in done.stdout, done.stdout)
    check("1 of 1 session equal\n" in done.stdout, done.stdout)
    told = json.loads(verified(VICTIM, "--json").stdout)
    equal((told["equal"], told["not_compared"], len(told["sessions"])), (True, 1, 1), f"{told}")
    for user, *args in ((VICTIM, "--all"), (VICTIM, "--session-id", planted.name)):
        done = verified(user, *args)
        equal((done.returncode, "not compared" in done.stdout), (1, False), done.stdout + done.stderr)
    done = place.run("gpufl", "verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY)
    equal(done.returncode, 1, done.stderr)
    check("1 of 2 sessions equal\n" in done.stdout, done.stdout)


def _closed_groups(service):
    """Of one that another user owns: a session there that was sent, and one of a third user that was not."""
    group = service.logs / "group"
    group.mkdir()
    os.chown(group, OTHER, OTHER)
    group.chmod(0o777)
    own, foreign = _Session(group), _Session(group, AGENT)
    for writer in (own, foreign):
        writer.lines()
        writer.end()
    equal(service.upload(VICTIM, "--session-id", own.id).returncode, 0, "it is sent")
    for mode in (0o744, 0o700):
        group.chmod(mode)
        yield own, foreign, f"mode {mode:o}"


def what_is_ones_own_in_a_group_that_another_user_closed_counts(place):
    """That other one decides nothing by what was never this user's."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    beside = _Session(service.logs)
    beside.lines()
    beside.end()
    equal(service.upload(VICTIM).returncode, 0, "all is sent")
    home = service.home(VICTIM)

    def verified(*args, user=VICTIM):
        return place.run("gpufl", "verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY, *args,
                         user=user, group=user, extra_groups=[], env={"XDG_STATE_HOME": str(service.home(user))})

    for own, foreign, mode in _closed_groups(service):
        told = service.status(VICTIM)
        equal(told.returncode, 1, f"{mode}: {told.stdout}")
        check(any(f"/{own.id}" in line and "cannot be read" in line for line in told.stdout.splitlines()), told.stdout)
        done = verified()
        equal(done.returncode, 1, f"{mode}: {done.stdout}{done.stderr}")
        check(f"/{own.id}: its directory cannot be read" in done.stderr, done.stderr)
        check("1 of 2 sessions equal\n" in done.stdout, done.stdout)
        sessions = json.loads(verified("--json", "--state-dir", home / "gpufl").stdout)["sessions"]
        equal({s["session_id"]: s.get("unreadable", False) for s in sessions}, {beside.id: False, own.id: True}, mode)
        check(foreign.id not in done.stderr, done.stderr)


def an_upload_counts_what_is_ones_own_in_a_group_that_another_user_closed(place):
    """Complete or not, nothing shows whether it has grown. What was named and is elsewhere does not fail for the group."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    beside = _Session(service.logs)
    beside.lines()
    beside.end()

    def uploaded(*args):
        done = service.upload(VICTIM, *args)
        return done.returncode, done.result["message"]

    for own, foreign, mode in _closed_groups(service):
        shutil.rmtree(foreign.dir, ignore_errors=True)  # what cannot be read would count, whoever's it is
        equal(uploaded("--session-id", beside.id)[0], 0, mode)
        for args in ((), ("--session-id", own.id)):
            code, said = uploaded(*args)
            equal(code, 1, f"{mode} {args}: {said}")
            check("its directory cannot be read" in said, said)
    code, said = uploaded("--session-id", "unknown")
    equal(code, 1, said)
    check("nothing shows whether session group/unknown is there" in said, said)
    own.dir.parent.chmod(0o777)
    equal((uploaded()[0], uploaded("--session-id", own.id)[0]), (0, 0), "it can be looked at again")


def a_session_can_be_named_with_its_group(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    own = _session_in_group(service)
    own.lines()
    own.end()
    name, group = f"{own.dir.parent.name}/{own.id}", own.dir.parent
    verify = ("verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY, "--session-id", name)
    done = service.upload(VICTIM, "--session-id", name)
    equal((done.returncode, done.result["sessions"]), (0, 1), done.stdout + done.stderr)
    equal(place.run("gpufl", *verify, user=VICTIM, group=VICTIM, extra_groups=[]).returncode, 0, "it is compared")
    for other in (f"elsewhere/{own.id}", f"{group.name}/../{group.name}/{own.id}", f"../{service.logs.name}/{name}"):
        done = service.upload(VICTIM, "--session-id", other)
        equal(done.returncode, 2, other)
        check(f"'{other}': no such session" in done.result["message"], str(done.result))
    os.chown(group, OTHER, OTHER)
    group.chmod(0o700)
    done = service.upload(VICTIM, "--session-id", name)
    equal(done.returncode, 1, str(done.result))
    check(f"session {name} waits" in done.result["message"], str(done.result))
    done = service.upload(VICTIM, "--session-id", f"{group.name}/unknown")
    check(f"session {group.name}/unknown is there" in done.result["message"], str(done.result))
    done = place.run("gpufl", *verify, user=VICTIM, group=VICTIM, extra_groups=[])
    equal(done.returncode, 1, done.stdout)
    check(name in done.stderr + done.stdout and f"{group.name}/{name}" not in done.stderr + done.stdout, done.stderr)


def a_directory_in_the_place_of_ones_own_group_keeps_nothing_back(place):
    """That one was all sent and is removed; another user has closed its successor, or it leads to what is closed."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    own, beside = _session_in_group(service), _Session(service.logs)
    for writer in (own, beside):
        writer.lines()
        writer.end()
    equal(service.upload(VICTIM).returncode, 0, "all is sent")
    group = own.dir.parent
    env = {"XDG_STATE_HOME": str(service.home(VICTIM)), "GPUFL_RUNTIME_DIRECTORY": str(service.run)}
    as_victim = {"user": VICTIM, "group": VICTIM, "extra_groups": [], "env": env}

    def codes():
        verify = ("verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY)
        return [service.upload(VICTIM).returncode, service.status(VICTIM).returncode,
                place.run("gpufl", *verify, **as_victim).returncode]

    os.chown(group, OTHER, OTHER)  # it is the same one, as only root can say
    group.chmod(0o700)
    equal(codes(), [1] * 3, "nothing shows whether it has grown")
    shutil.rmtree(group)
    for made in (["mkdir", "-m", "700", group], ["ln", "-s", "/root", group]):
        equal(_as(OTHER, made).wait(), 0, f"{made}")
        equal(codes()[1:], [0] * 2, f"{made}")
        said = service.upload(VICTIM).result["message"]  # of what cannot be read, whoever's it is
        check("more session" not in said and own.id not in said, said)
        subprocess.run(["rm", "-r", group], check=True)


def a_person_can_have_a_complete_session_forgotten_that_cannot_be_seen(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    env = {"XDG_STATE_HOME": str(service.home(VICTIM)), "GPUFL_RUNTIME_DIRECTORY": str(service.run)}
    beside = _Session(service.logs)
    beside.lines()
    beside.end()
    equal(service.upload(VICTIM).returncode, 0, "it is sent")
    own, foreign, _ = next(_closed_groups(service))
    shutil.rmtree(foreign.dir)
    told = service.status(VICTIM)
    equal(told.returncode, 1, told.stdout)
    command = next((line for line in told.stdout.splitlines() if ": gpufl resolve " in line and own.id in line), None)
    check(command, told.stdout)
    done = place.run(*shlex.split(command.split(": ", 1)[1]), user=VICTIM, group=VICTIM, extra_groups=[], env=env)
    equal((done.returncode, "forgotten" in done.stdout), (0, True), done.stdout + done.stderr)
    told = service.status(VICTIM)
    equal(told.returncode, 0, told.stdout)
    own.dir.parent.chmod(0o777)
    equal(service.upload(VICTIM).returncode, 0, "it is sent again")
    lib.holds(service.backend, own)


def root_compares_who_has_little_first(place):
    """Another user's sessions sort first, and are larger by what they hold, or on disk."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    large = [_Session(service.logs, OTHER, f"0000000{n}-0000-4000-8000-000000000000") for n in range(3)]
    small = [_Session(service.logs, VICTIM) for _ in range(2)]
    for writer in (*large, *small):
        writer.lines(2000 if writer in large else 1)
        writer.end()
    packed = service.logs / large[0].id / "device.1.log.gz"
    active = large[0].active("device")
    packed.write_bytes(gzip.compress(active.read_bytes()))
    active.unlink()
    os.chown(packed, OTHER, OTHER)
    done = place.run("gpufl", "verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY, "--json")
    order = [s["session_id"] for s in json.loads(done.stdout)["sessions"]]
    equal(order, [*sorted(w.id for w in small), *(w.id for w in large)], done.stderr)


def root_compares_who_has_little_before_who_has_many_ids(place):
    """A directory of each of one user's subordinate ids is smaller on disk, and sorts first."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    for number in range(5):
        planted = _Session(service.logs, 200000 + number, f"0000000{number}-0000-4000-8000-000000000000")
        planted.lines(100)
        planted.end()
    writer = _Session(service.logs)
    writer.lines(150)
    writer.end()

    def order(*ranges):
        verify = ["verify", service.logs, "--backend-url", service.backend.url, "--api-key", lib.KEY, "--json"]
        done = subprocess.run([*service.with_subordinate_ids(*ranges), lib.BUILD / "gpufl", *verify], capture_output=True,
                              text=True, check=False)
        return [s["session_id"] for s in json.loads(done.stdout)["sessions"]]

    equal(order().index(writer.id), 5, "who has less comes first")
    equal(order(f"{OTHER}:200000:1000").index(writer.id), 1, "all these ids are one user's")


def an_upload_beside_an_agent_counts_what_is_ones_own_in_a_closed_group(place):
    """The agent cannot look at it either: it tells of nothing, or that it was complete."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    for own, foreign, mode in _closed_groups(service):
        shutil.rmtree(foreign.dir, ignore_errors=True)
        if not service.agent:
            service.start()
            until(lambda: "origin.known" in service.agent.log.read_text(), "it serves the directory")
        for args in ((), ("--session-id", own.id), ("--session-id", "unknown")):
            done = service.upload(VICTIM, *args)
            equal(done.returncode, 1, f"{mode} {args}: {done.result}")
            check("not everything was sent: " in done.result["message"], f"{mode} {args}: {done.result}")


def a_hold_of_a_directory_that_is_gone_counts_for_its_owner(place):
    """The uploader has told it while it was there, and was the last, or has not looked again."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    own = _Session(service.logs)
    own.lines()
    own.end()

    def held(user, name, code, served):
        closed, made = service.logs / name, service.logs / f".new-{name}"
        made.mkdir()
        for file in (".gpufl-session.json", "device.log"):  # a session that is held, also for its user
            (made / file).write_text("{\n")
            os.chown(made / file, user, user)
        os.chown(made, user, user)
        made.chmod(0o700)
        made.rename(closed)
        if served:
            until(lambda: f"waits: {name} *" in service.status(VICTIM).stdout, "the service tells it")
            service.agent.send_signal(signal.SIGSTOP)
        else:
            said = service.upload(VICTIM).result["message"]
            check(user == VICTIM or f"session {name} of user {user} waits: its directory cannot be read: let this" in said, said)
            said = service.status(VICTIM).stdout
            check(user == VICTIM or f"waits: {name} * of user {user}: its directory cannot be read: let this" in said, said)
            said = place.run("gpufl", "verify", service.logs, "--session-id", name, "--backend-url", service.backend.url, user=user + 1,
                             group=user, extra_groups=[], env={"GPUFL_API_KEY": lib.KEY}).stderr
            check(f": its directory cannot be read (in one of user {user}): let this user read it" in said, said)
        shutil.rmtree(closed)
        told = service.status(VICTIM)
        equal((told.returncode, f"waits: {name} *" in told.stdout), (code, True), told.stdout)

    equal(service.upload(VICTIM).returncode, 0, "all of this user's is sent")
    held(OTHER, "closed", 0, False)
    held(VICTIM, "damaged", 1, False)
    service.start()
    until(lambda: service.backend.complete(own.id) and service.status(VICTIM).returncode == 0, "it is served")
    held(OTHER, "closed-again", 0, True)
    service.agent.send_signal(signal.SIGCONT)
    until(lambda: "waits: closed-again *" not in service.status(VICTIM).stdout, "it has looked again")
    held(VICTIM, "closed-own", 1, True)


def _is_odd(logs, user, name):
    """A session with a file that is not read, and with another session in it. It appears at once."""
    staged = logs / f".new-{name}"
    inner = staged / f"inner-{name}"
    inner.mkdir(parents=True)
    for path, session in ((staged, name), (inner, inner.name)):
        (path / "device.log").write_text(f'{{"type":"job_start","session_id":"{session}"}}\n')
    (staged / "device.1.log.zst").write_text("x")
    for path in (staged, *staged.rglob("*")):
        os.chown(path, user, user)
    staged.rename(logs / name)


def what_is_said_at_the_first_look_at_many_directories_hides_nothing_of_another_user(place):
    """It is said once: a line that is dropped then does not come later."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    service.start()

    def said(event, session):
        return f" {event} session={session} " in service.agent.log.read_text()

    events = ("session.refused", "session.beside", "session.other_files")
    for number in range(30):  # more than a window of the log has room for
        _is_odd(service.logs, OTHER, f"odd-{number}")
    for event in events:
        until(lambda e=event: sum(said(e, f"odd-{n}") for n in range(30)) >= 20, f"{event} of another user")
    _is_odd(service.logs, VICTIM, "victim")
    for event in events:
        until(lambda e=event: said(e, "victim"), f"{event} of the victim")
    service.stop()
    dropped = [line for line in service.agent.log.read_text().splitlines() if "log.dropped" in line]
    check(any(f"owner={OTHER}" in line for line in dropped), f"{dropped}")
    equal([line for line in dropped if "owner=" not in line], [], "all that is dropped is somebody's")


def status_of_a_user_counts_what_is_that_users(place):
    """Of another user, a session is held, the lines of one wait, one was refused and one is away, by the journal of this
    user's uploads and as a service tells it."""
    if not ROOT:
        lib.skip("needs root, to be several users")

    def refuse(_, request):
        return 400 if request.is_batch and b'"poison"' in request.raw() else None

    service = _Service(place)
    with Sink(refuse, declare=True) as backend:
        service.backend.url = backend.url
        own = _Session(service.logs)
        short, away, refused = (_Session(service.logs, OTHER) for _ in range(3))
        for writer in (own, short, away, refused):
            writer.lines()
        equal(service.upload(VICTIM).returncode, 0, "all is sent")
        _is_truncated(short)
        away.dir.rename(place.path / "kept")
        _is_refused(refused)
        equal(service.upload(VICTIM, "--all-sessions").returncode, 1, "what others left is said to who sends it")
        waiting = _Session(service.logs, OTHER)
        own.end()
        equal(service.upload(VICTIM, "--session-id", own.id).returncode, 0, "this user's is complete")

        def statuses(*args):
            return [service.status(user, *args).returncode for user in (VICTIM, OTHER, 0, AGENT)]

        told = service.status(VICTIM)
        for writer in (short, refused, waiting):
            check(any(line.startswith(f"{writer.id}  writer") and line.endswith(", of another user: not counted")
                      for line in told.stdout.splitlines()), told.stdout)
        check(f"{away.id}  its directory is not there: a mount may be missing, of another user: not counted\n"
              in told.stdout, told.stdout)
        counted = [s["session_id"] for s in json.loads(service.status(VICTIM, "--json").stdout)["sessions"]
                   if not s.get("of_another_user")]
        equal(counted, [own.id], "what counts")
        equal(statuses(), [0, 1, 1, 1], told.stdout)
        equal(statuses("--all"), [1] * 4, "all are asked for")
        service.start()
        held = _Session(service.logs, OTHER)
        held.lines()
        until(lambda: set(bytes(held.written["device"]).splitlines()) <= set(backend.lines), "it is sent")
        _is_truncated(held)
        until(lambda: f"waits: {held.id} device" in service.status(VICTIM).stdout, "the service tells it")
        until(lambda: statuses() == [0, 1, 1, 1], "who has none sees to all")
        equal(statuses("--all"), [1] * 4, "all are asked for")
        more = _Session(service.logs)
        more.lines()
        until(lambda: set(bytes(more.written["device"]).splitlines()) <= set(backend.lines), "it is sent")
        until(lambda: service.status(VICTIM).returncode == 0, "the service tells it")
        _is_truncated(more)
        until(lambda: service.status(VICTIM).returncode == 1, "what is this user's own counts")


def status_of_a_user_tells_what_the_service_has_sent(place):
    """That user can read neither its journal nor its state directory: only what it publishes."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    ended, live = _Session(service.logs), _Session(service.logs)
    for writer in (ended, live):
        writer.lines()
    ended.end()
    told = service.status(VICTIM)
    equal((told.returncode, "no journal found" in told.stdout), (1, True), told.stdout)
    service.start()

    def shows(code, *lines, user=VICTIM):
        told = service.status(user)
        return told.returncode == code and all(line in told.stdout for line in lines)

    source = "as told by the service that serves this directory\n"
    for user in (VICTIM, OTHER):
        until(lambda user=user: shows(0, source, "served by gpufl-agent (pid", f"{live.id}  writer live\n",
                                      f"{ended.id}  writer ended, complete, verified", user=user), "all is sent")
    shown = json.loads(service.status(VICTIM, "--json").stdout)
    equal((shown["journal"], shown["service"]), (False, True), f"{shown}")
    for writer in (ended, live):
        session = next(s for s in shown["sessions"] if s["session_id"] == writer.id)
        lines = {c["channel"]: c["settled_lines"] for c in session["channels"]}
        equal(lines, {c: data.count(b"\n") for c, data in writer.written.items()}, f"{session}")
        equal(session["verified"], writer is ended, f"{session}")

    hidden = _session_in_group(service)
    hidden.lines()
    until(lambda: shows(0, f"{hidden.id}  writer live\n"), "one in a group")
    os.chown(hidden.dir.parent, VICTIM, AGENT)
    hidden.dir.parent.chmod(0o750)  # the service knows it, and others cannot list it
    told = service.status(OTHER).stdout
    check(source in told and hidden.id not in told, f"it is not said to be away: {told}")
    hidden.dir.parent.chmod(0o755)
    old = Shifting(service.logs)
    subprocess.run(["chown", "-R", str(VICTIM), old.dir], check=True)
    until(lambda: shows(1, "  device                1 line settled, the service does not tell how much waits"), "the 1.1 layout")
    gone = _Session(service.logs)
    until(lambda: service.has(gone), "it is sent")
    (gone.dir / "device.log").write_bytes(b"")
    until(lambda: shows(1, f"waits: {gone.id} device: a file is shorter than what was sent from it"), "it is held")
    service.backend.kill()
    before = len(live.written["device"])
    live.lines(5)
    rest = len(live.written["device"]) - before
    until(lambda: shows(1, "everything waits: ", f"       21 lines settled, {rest} bytes wait"), "n of m")
    service.stop(signal.SIGKILL)
    until(lambda: shows(1, "no journal found"), "what a dead service left is not believed")


def status_does_not_take_what_an_earlier_service_does_not_tell_for_nothing(place):
    """Its lines have no figures: nothing says how many lines were sent, or refused, or how a session ended."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    ended, live = _Session(service.logs), _Session(service.logs)
    for writer in (ended, live):
        writer.lines()
    ended.end()
    service.start()
    until(lambda: service.status(VICTIM).returncode == 0, "all is sent")
    service.agent.send_signal(signal.SIGSTOP)
    for path in (*service.run.glob("*.progress"), *service.run.glob("*.complete")):
        path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("!lines ")))
    told = service.status(VICTIM)
    equal(told.returncode, 1, told.stdout)
    check("0 lines" not in told.stdout and "complete" not in told.stdout, told.stdout)
    equal(told.stdout.count("? lines settled, the service tells neither how many nor whether some were refused\n"),
          len(ended.written) + len(live.written), told.stdout)
    check(f"{ended.id}  writer ended, has ended, the service does not tell how\n" in told.stdout, told.stdout)
    check("the service is of an earlier version" in told.stdout, told.stdout)
    for session in json.loads(service.status(VICTIM, "--json").stdout)["sessions"]:
        if session["session_id"] == ended.id:
            equal([session[key] for key in ("complete", "verified", "ended")], [None] * 3, f"{session}")
        for channel in session["channels"]:
            untold = ("settled_lines", "refused_lines", "front_missing", "given_up", "lost_ranges")
            equal([channel[key] for key in untold], [None] * len(untold), f"{channel}")
            check(channel["figures_untold"], f"{channel}")
    service.agent.send_signal(signal.SIGCONT)


def _is_truncated(writer):
    os.truncate(writer.dir / "device.log", 0)


def _is_refused(writer):
    writer.line("device", "poison")
    writer.end()


def each_command_that_status_prints_works_for_whom_it_names(place):
    """The journal is the service's: root, with the directory that the service tells, can leave a request there. A user
    with a journal of an upload of before is told so, and leaves none in that one."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)

    def refuse(_, request):
        return 400 if request.is_batch and b'"poison"' in request.raw() else None

    with Sink(refuse, declare=True, epoch="one") as backend:
        service.backend.url = backend.url
        before = _Session(service.logs)
        before.end()
        equal(service.upload(VICTIM, "--session-id", before.id).returncode, 0, "a journal of this user")
        away, short, refused = (_Session(service.logs) for _ in range(3))
        for writer in (away, short, refused):
            writer.lines()
        service.start()
        until(lambda: all(set(bytes(w.written["device"]).splitlines()) <= set(backend.lines) for w in (away, short, refused)), "sent")
        away.dir.rename(place.path / "kept")
        _is_truncated(short)
        _is_refused(refused)

        def commands(user=VICTIM):
            lines = service.status(user).stdout.splitlines()
            return [line.split(": gpufl ", 1) for line in lines if ": gpufl " in line]

        def shown():
            found = {(verb, tuple(s.id for s in (away, short) if s.id in what)) for verb, what in
                     (command.split(" ", 1) for _, command in commands())}
            return found == {("resolve", (away.id,)), ("resolve", (short.id,)), ("quarantine", ())}
        until(shown, "all three are shown")
        for session in json.loads(service.status(VICTIM, "--json").stdout)["sessions"]:
            if session["session_id"] == refused.id:
                equal((session["resolve"], session["as"]), (None, "root"), f"{session}")
                check(session["quarantined"].startswith("gpufl quarantine list "), f"{session}")
        for writer in (away, short):
            done = place.run("gpufl", "resolve", service.logs, writer.id, user=VICTIM, group=VICTIM, extra_groups=[],
                             env={"XDG_STATE_HOME": str(service.home(VICTIM)), "GPUFL_RUNTIME_DIRECTORY": str(service.run)})
            equal((done.returncode, "the journal of its uploader was not found (give its --state-dir" in done.stderr), (2, True),
                  done.stdout + done.stderr)
        for what, command in commands():
            check(what.endswith(", as root"), what)
            done = place.run("gpufl", *shlex.split(command))
            equal((done.returncode, bool(done.stdout)), (0, True), command + done.stdout + done.stderr)
        until(lambda: [command for _, command in commands() if command.startswith("resolve")] == [], "both are given up")


def status_leaves_out_a_journal_that_is_about_another_backend(place):
    """A user has uploaded a session to one backend, and the service sends to another one, which has nothing of it."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    answers = threading.Event()

    def slow(_sink, request):
        if request.is_batch:
            answers.wait(60)

    with Sink(declare=True, epoch="one") as own, Sink(declare=True, epoch="two", answer=slow) as backend:
        writer = _Session(service.logs)
        writer.lines()
        writer.end()
        for user in (VICTIM, 0):
            done = service.upload(user, "--session-id", writer.id, "--backend-url", own.url)
            equal(done.returncode, 0, str(done.result))
            told = service.status(user)
            equal((told.returncode, "complete" in told.stdout), (0, True), told.stdout)
        service.backend.url = backend.url
        service.start()
        until(lambda: any(writer.id in path.read_text() for path in service.run.glob("*.progress")), "it is published")
        for user in (VICTIM, 0):
            told = service.status(user)
            equal((told.returncode, "complete" in told.stdout), (1, False), told.stdout)
            check("as told by the service that serves this directory\n" in told.stdout, told.stdout)
            check(f"not counted: the journal of this user, which is about {own.url}/api/v1 (" in told.stdout, told.stdout)
            check("            0 lines settled" in told.stdout, told.stdout)
            shown = json.loads(service.status(user, "--json").stdout)
            equal((shown["journal"], shown["service"], shown["journal_left_out"]), (False, True, f"{own.url}/api/v1"), f"{shown}")
        answers.set()
        until(lambda: service.status(VICTIM).returncode == 0, "the service has sent it")


def status_counts_a_journal_that_is_about_the_database_of_the_service(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    done = service.upload(VICTIM, "--session-id", writer.id)
    equal(done.returncode, 0, str(done.result))
    service.start()
    until(lambda: "serves this directory, and by the journal of this user\n" in service.status(VICTIM).stdout, "it counts")
    until(lambda: service.status(VICTIM).returncode == 0, "all is sent")
    told = service.status(VICTIM, "--state-dir", service.home(VICTIM) / "gpufl")  # the journal that is named, alone
    check(told.returncode == 0 and "as told by the service" not in told.stdout, told.stdout + told.stderr)


def the_lock_of_another_user_keeps_no_upload_away(place):
    """Nor does what that user's session claims; and two uploads of one user still take turns."""
    if not ROOT:
        lib.skip("needs root, to be several users")
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


def a_lock_of_another_user_is_said_once(place):
    """An upload waits for another one of its user, which is killed, and tries again and again to open the directory."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()

    def begin():
        return place.start("gpufl", "upload", service.logs, "--backend-url", backend.url, "--api-key", lib.KEY, "--retries=0",
                           user=VICTIM, group=VICTIM, extra_groups=[], env={"XDG_STATE_HOME": str(service.home(VICTIM))})

    with Sink(lambda _, request: 503 if request.is_batch else None, declare=True) as backend, _Locked(service.logs):
        first = begin()
        until(backend.batches, "the first one sends")
        first.send_signal(signal.SIGSTOP)
        asked = len(backend.requests)
        second = begin()
        until(lambda: len(backend.requests) > asked, "the second one waits")
        backend.answer = None
        first.kill()
        first.wait()
        equal(second.wait(60 * lib.SLOW), 0, second.log.read_text())
        equal(second.log.read_text().count("root.locked"), 1, second.log.read_text())


def very_many_locks_of_another_user_keep_no_upload_away(place):
    """The kernel's list of locks is read up to a limit. What is behind it keeps nobody away, unless a process is seen
    to hold it that has a say."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writers = [_Session(service.logs) for _ in range(2)]
    for writer in writers:
        writer.lines()
        writer.end()
    with _many_locks(service.logs, place.path):
        for user, writer in zip((VICTIM, 0), writers):
            done = service.upload(user, "--session-id", writer.id)
            equal(done.returncode, 0, f"{user}: {done.result}")
            check("root.locked" in done.stderr, done.stderr)
    for writer in writers:
        check(service.backend.complete(writer.id), "complete")
        lib.holds(service.backend, writer)


def behind_very_many_locks_root_finds_an_uploader(place):
    """One of root's own, and an agent of another user, of which root sees the journal."""
    if not ROOT or lib.SANITIZER:
        lib.skip("needs root, to be several users, and no runtime that wants to be loaded first")
    fast = {"LD_PRELOAD": str(lib.BUILD / "tests/fake/fast_clock.so"), "FAKE_CLOCK_RATE": "20"}  # it waits for 5 s
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    with _Locked(service.logs, 0), _many_locks():
        done = service.upload(0, env=fast)
        equal((done.returncode, "only one uploader" in done.result["message"]), (1, True), str(done.result))
    agent = lib.agent(place, service.backend.url, folder=service.logs, user=OTHER, group=OTHER, extra_groups=[],
                      env={"XDG_STATE_HOME": str(service.home(OTHER))})
    until(lambda: service.backend.complete(writer.id), "the agent has sent it")
    with _many_locks():
        done = service.upload(0, env=fast)
    equal(done.returncode, 1, str(done.result))
    check(f"process {agent.pid} of user {OTHER}" in done.result["message"], done.result["message"])
    lib.holds(service.backend, writer)


def very_many_locks_keep_no_service_away_and_hide_no_group(place):
    """Of one that publishes nothing, which reads less of the list."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _session_in_group(service)
    writer.lines()
    writer.end()
    with _many_locks(service.logs, writer.dir.parent, count=5000):
        agent = lib.agent(place, service.backend.url, folder=service.logs, user=AGENT, group=AGENT, extra_groups=[],
                          env={"STATE_DIRECTORY": str(service.state)}, umask=0o077)
        until(lambda: service.backend.complete(writer.id), "complete")
        check("root.locked" in agent.log.read_text(), agent.log.read_text())
    lib.holds(service.backend, writer)


def an_upload_by_root_does_not_send_what_an_agent_of_another_user_sends(place):
    """That one has no runtime directory, and root may not believe what it writes; but root sees that it holds the
    lock and has a journal open. A mere lock keeps root no more away than others."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    agent = lib.agent(place, service.backend.url, folder=service.logs, user=OTHER, group=OTHER, extra_groups=[],
                      env={"XDG_STATE_HOME": str(service.home(OTHER))})
    until(lambda: service.backend.complete(writer.id), "the agent has sent it")
    with lib.alone_with_the_kernels_locks():
        done = service.upload(0)
    equal(done.returncode, 1, str(done.result))
    message = done.result["message"]
    check(f"process {agent.pid} of user {OTHER}" in message and "--force" in message, message)
    lib.holds(service.backend, writer)
    agent.kill()
    agent.wait()
    second = _Session(service.logs)
    second.lines()
    second.end()
    with lib.alone_with_the_kernels_locks(), _Locked(service.logs):
        done = service.upload(0, "--session-id", second.id)
    equal(done.returncode, 0, str(done.result))
    lib.holds(service.backend, second)
    agent = lib.agent(place, service.backend.url, folder=service.logs, user=OTHER, group=OTHER, extra_groups=[],
                      env={"XDG_STATE_HOME": str(service.home(OTHER))})
    until(lambda: "origin.known" in agent.log.read_text(), "it serves the directory")
    with lib.alone_with_the_kernels_locks():
        done = service.upload(0, "--force", "--session-id", second.id)
    equal(done.returncode, 0, str(done.result))
    check("root.locked" in done.stderr and "both send" in done.stderr, done.stderr)


def an_upload_says_that_a_group_is_left_to_the_uploader_of_its_owner(place):
    """It fails for the owner, whose sessions were not sent, and for who has named one of them."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    group = service.logs / "run-1"
    group.mkdir(mode=0o755)
    os.chown(group, VICTIM, VICTIM)
    beside, inside = _Session(service.logs), _Session(group)
    for writer in (beside, inside):
        writer.lines()
        writer.end()
    agent = lib.agent(place, service.backend.url, folder=group, user=VICTIM, group=VICTIM, extra_groups=[],
                      env={"XDG_STATE_HOME": str(service.home(VICTIM))})
    until(lambda: service.backend.complete(inside.id), "the agent has sent it")
    planted = service.logs / "planted"
    for path in (planted, planted / ".gpufl-agent", planted / beside.id):
        path.mkdir()
        os.chown(path, OTHER, OTHER)
    for user in (0, OTHER):
        done = service.upload(user)
        equal((done.returncode, service.backend.complete(beside.id)), (0, True), str(done.result))
        equal(done.stderr.count("dir=run-1 "), 1, f"said once: {done.stderr}")
        done = service.upload(user, "--session-id", beside.id)
        equal(done.returncode, 0, str(done.result))
        _is_left(service.upload(user, "--session-id", inside.id), group)
    _is_left(service.upload(VICTIM), group)
    os.chown(group, OTHER, OTHER)
    _is_left(service.upload(VICTIM), group, OTHER)
    for path in (group, group / ".gpufl-agent"):
        os.chown(path, 0, 0)
    _is_left(service.upload(0), group, 0)
    agent.terminate()
    agent.wait(20 * lib.SLOW)
    done = service.upload(0)
    equal(done.returncode, 1, f"its journal is still there: {done.result}")


def beside_the_agent_an_upload_says_it_too(place):
    """The agent leaves the group out, as its owner, or root, keeps a journal there."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    group = service.logs / "run-1"
    (group / ".gpufl-agent").mkdir(parents=True)
    inside = _Session(group)
    inside.lines()
    inside.end()
    for owner in (VICTIM, 0):
        for path in (group, group / ".gpufl-agent"):
            os.chown(path, owner, owner)
        service.start()
        until(lambda: "scan.other_root" in service.agent.log.read_text(), "it is skipped")
        for user in (0, OTHER, VICTIM):
            for named in (["--session-id", inside.id], ["--session-id", f"run-1/{inside.id}"], ["--latest"], []):
                done = service.upload(user, *named, "--timeout=5")
                equal(done.returncode, int(bool(named) or user in (owner, VICTIM)), f"{user} {named} {done.result}")
        service.stop()
    check(service.backend.session(inside.id) is None, "nothing was sent")


def the_name_of_a_journal_that_another_user_makes_in_a_shared_group_hides_nothing(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    group = service.logs / "project"
    group.mkdir()
    group.chmod(0o3777)
    (group / ".gpufl-agent").mkdir()
    os.chown(group / ".gpufl-agent", OTHER, OTHER)
    inside = _Session(group)
    inside.lines()
    inside.end()
    service.start()
    until(lambda: service.backend.complete(inside.id), "it is sent")
    equal(service.upload(VICTIM).returncode, 0, "to an upload, too")


def _is_left(done, group, owner=VICTIM):
    equal(done.returncode, 1, f"{done.result} {done.stderr}")
    message = done.result["message"]
    check(f"run-1 of user {owner}" in message and f"'gpufl upload {group}' as that user" in message, message)


def root_s_upload_waits_while_it_compares_another_user_s_session(place):
    """The journal is lost, and reading what the backend has takes longer than sessions of others are waited for of
    which nothing comes."""
    if not ROOT or lib.SANITIZER:
        lib.skip("needs root, to be several users, and no runtime that wants to be loaded first")
    service = _Service(place)
    writer = _Session(service.logs)
    for _ in range(8):
        writer.raw("device", b'{"type":"x","session_id":"%s","pad":"%s"}\n' % (writer.id.encode(), b"a" * 1000000))
    journal = place.path / "journal"
    service.upload(0, "--state-dir", journal)
    check(service.has(writer), "the backend has all there is")
    shutil.rmtree(journal)
    writer.end()
    done = service.upload(0, "--state-dir", journal, env=_SlowReads(place).env)
    equal((done.returncode, service.backend.complete(writer.id)), (0, True), f"{done.result} {done.stderr}")


def root_s_upload_waits_while_it_salvages_another_user_s_session(place):
    """Publishing what a killed writer has left takes longer than sessions of others are waited for of which nothing
    comes."""
    if not ROOT or lib.SANITIZER:
        lib.skip("needs root, to be several users, and no runtime that wants to be loaded first")
    service = _Service(place)
    writer = Windows(service.logs)
    writer.line("device", times=40000)
    writer.die()
    for path in (writer.dir, writer.tmp, *writer.tmp.iterdir(), writer.dir / ".gpufl-session.lock"):
        os.chown(path, VICTIM, VICTIM)
    check((writer.tmp / "device.log").stat().st_size > 3 << 20, "it takes several turns")
    env = {**_SlowReads(place).env, "FAKE_SLOW_READS": "1"}
    done = service.upload(0, "--state-dir", place.path / "journal", env=env)
    equal((done.returncode, service.backend.complete(writer.id)), (0, True), f"{done.result} {done.stderr}")
    check(not writer.tmp.exists(), "all is published")


def a_lock_for_reading_of_another_user_keeps_no_salvage_away(place):
    """Who can read the lock file of a killed 1.3 writer can lock it for reading."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    for user in (0, VICTIM):
        writer = Windows(service.logs)
        writer.line("device", times=20)
        writer.die()
        lock = writer.dir / ".gpufl-session.lock"
        lock.chmod(0o644)
        for path in (writer.dir, writer.tmp, *writer.tmp.iterdir(), lock):
            os.chown(path, VICTIM, VICTIM)
        other = _as(OTHER, ["python3", "-c", "import fcntl, os, sys\nfcntl.lockf(os.open(sys.argv[1], os.O_RDONLY), "
                                            "fcntl.LOCK_SH | fcntl.LOCK_NB); print(flush=True); input()", str(lock)])
        check(other.stdout.readline(), "it is locked")
        done = service.upload(user, "--session-id", writer.id)
        other.communicate()
        equal((done.returncode, service.backend.complete(writer.id)), (0, True), f"{done.result} {done.stderr}")
        equal(sorted(path.name for path in writer.dir.glob(".gpufl-salvage*")), [], "what is left")
        lib.holds(service.backend, writer)


PLANTS = {
    "a session with a journal of its own": "mkdir -p p/.gpufl-agent p/any; echo x > p/any/device.log",
    "many of these": "for n in $(seq 40); do mkdir -p q$n/.gpufl-agent q$n/any-$n; echo x > q$n/any-$n/device.log; done",
    "the name of a session that is gone": "mkdir {id}; echo x > {id}/device.log",
    "that name in a group": "mkdir -p g/{id}; echo x > g/{id}/device.log",
}


def what_others_plant_does_not_fail_an_upload(place):
    """It is said, and is no failure of who has nothing there."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    for what, script in PLANTS.items():
        for user in (VICTIM, 0):
            sent = _Session(service.logs, user)
            sent.lines()
            sent.end()
            equal(service.upload(user).returncode, 0, f"{what}: as it was")
            shutil.rmtree(sent.dir)
            script_of = f"cd {service.logs}; " + script.format(id=sent.id)
            equal(_as(OTHER, ["sh", "-c", script_of]).wait(), 0, what)
            done = service.upload(user)
            equal(done.returncode, 0, f"{what}, as user {user}: {done.result} {done.stderr}")
            check("warn " in done.stderr and "error " not in done.stderr, f"{what}, as user {user}: {done.stderr}")
            told = service.status(user)
            equal(told.returncode, 0, f"{what}, status as user {user}: {told.stdout} {told.stderr}")
            check("of another user: not counted" in told.stdout, f"{what}, status as user {user}: {told.stdout}")
            subprocess.run(["sh", "-c", f"cd {service.logs}; rm -r *"], check=True)


def status_looks_at_a_limited_number_of_directories_of_others(place):
    """Anybody can make any number of them in a directory that users share."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    own = _Session(service.logs)
    own.lines()
    group = service.logs / "a"  # before the own session by name
    group.mkdir()
    for number in range(150):
        (group / f"s{number}").mkdir()
        (group / f"s{number}" / "device.log").write_text('{"type":"x"}\n')
        os.chown(group / f"s{number}", OTHER, OTHER)
    (group / "s0" / "device.log").unlink()
    own_line = f"{own.id}  writer"

    def shown(user, *args):
        told = service.status(user, *args)
        lines = [line for line in told.stdout.splitlines() if "  writer " in line]
        check(lines[0].startswith(own_line) or user == 0, told.stdout)
        return len(lines), "(--all shows" in told.stdout
    # The group is one of the hundred, and s0 may be: neither is a session.
    few, cut = shown(VICTIM)
    check(99 <= few <= 101 and cut, f"{few} are shown")
    equal(shown(VICTIM, "--all"), (150, False), "all are shown")
    equal(shown(0), (150, False), "root sees all")
    told = json.loads(service.status(VICTIM, "--json").stdout)
    equal(told["others_not_shown"], 51, "what is not shown is counted")
    equal(len(told["sessions"]), few, str(len(told["sessions"])))


def an_upload_and_status_agree_on_a_group_that_its_owners_uploader_only_locks(place):
    """As one does that has its state elsewhere. What the backend refused of it before, in an upload of this user,
    counts in both until it is dropped."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _session_in_group(service)
    writer.lines()
    writer.raw("device", b"no record\n")
    writer.end()
    for refused in (0, 1):
        with _Locked(writer.dir.parent, VICTIM):
            done, told = service.upload(OTHER), service.status(OTHER)
        equal((done.returncode, told.returncode), (refused, refused), f"{done.result} {done.stderr} {told.stdout}")
        check("of another user: not counted" in told.stdout, told.stdout)
        done, told = service.upload(OTHER), service.status(OTHER)
        equal((done.returncode, told.returncode), (1, 1), f"{done.result} {told.stdout}")
        equal(done.result["ranges_quarantined"], 1, str(done.result))


def an_upload_does_not_send_again_what_the_owners_journal_says_is_sent(place):
    """Root, and a third user who has a session there: neither may believe that journal."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    os.chown(service.logs, VICTIM, VICTIM)
    service.logs.chmod(0o755)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    equal(service.upload(VICTIM).returncode, 0, "by the owner")
    for user in (0, OTHER):
        done = service.upload(user)
        equal(done.returncode, 2, str(done.result))
        message = done.result["message"]
        check(f"belongs to user {VICTIM}" in message and "run this as its owner" in message and "--force" in message,
              message)
    lib.holds(service.backend, writer)
    equal(service.upload(VICTIM).result["message"], "nothing to send", "the owner's journal is as it was")
    done = service.upload(0, "--force")
    equal((done.returncode, done.result["events_uploaded"]), (0, 0), f"the backend says where it ends: {done.result}")
    lib.holds(service.backend, writer)


TAKES_IDS = """
import contextlib, json, os, sys
logs = sys.argv[1]
def take(name):
    with contextlib.suppress(OSError):
        os.mkdir(f"{logs}/{name}")
print(flush=True)
while True:
    for name in os.listdir(logs):
        if name.startswith(".new-"):
            take(name.removeprefix(".new-"))
            with contextlib.suppress(OSError, ValueError), open(f"{logs}/{name}/.gpufl-session.json") as f:
                take(json.load(f)["session_id"])
"""


PLANT = '''mkdir {dir}; cd {dir}; : > .gpufl-session.lock
echo '{{"schema_version":1,"type":"gpufl_session","layout":"live","session_id":"{id}","pid":1,"boot_id":"x"}}' \\
    > .gpufl-session.json
echo '{{"type":"forged","session_id":"{id}"}}' | tee sass.log >> device.log'''


def a_directory_that_another_user_puts_in_the_place_of_a_session_is_held(place):
    """Of one that is complete, and of one that is not; until it is removed, or a person says that it is the session."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    ended, live = _Session(service.logs), _Session(service.logs)
    ended.lines()
    ended.end()
    live.lines()
    service.start()
    until(lambda: service.has(live) and service.backend.complete(ended.id), "both are read")
    kept = place.path / "kept"
    kept.mkdir()
    for writer in (ended, live):
        writer.dir.rename(kept / writer.id)
        equal(_as(OTHER, ["sh", "-c", PLANT.format(dir=writer.dir, id=writer.id)]).wait(), 0, "planted")
    for writer in (ended, live):
        until(lambda w=writer: f"session.held session={w.id} " in service.agent.log.read_text(), "it is said")
        until(lambda w=writer: f"waits: {w.id} * of user {VICTIM}: a directory of another user has its name"
              in place.run("gpufl", "status", service.logs, user=AGENT, group=AGENT, extra_groups=[]).stdout,
              "status says it")
    check(f"user={OTHER} was={VICTIM}" in service.agent.log.read_text(), "whose it is")
    service.stop(signal.SIGKILL)
    service.start()
    until(lambda: service.agent.log.read_text().count("session.held") == 2, "after a restart, too")
    for writer in (ended, live):
        equal(service.backend.export(writer.id, "sass"), b"", "nothing is forged")
        check(service.has(writer), "nothing was added")
    check(service.backend.complete(ended.id) and not service.backend.complete(live.id), "what is complete stays so")
    for writer in (ended, live):
        done = place.run("gpufl", "resolve", service.logs, writer.id, "--state-dir", service.state)
        equal(done.returncode, 0, f"{done.stdout} {done.stderr}")
    until(lambda: all(b"forged" in service.backend.export(w.id, "sass") for w in (ended, live)), "by a person's word")


def a_job_records_though_another_user_takes_the_names_it_could_have(place):
    """Of its directory, and in its manifest, while it is being made."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    with _as(OTHER, ["python3", "-c", TAKES_IDS, str(service.logs)]) as racer:
        racer.stdout.readline()
        for _ in range(10):
            job = place.run("examples/demo-job", service.logs, 0.1, user=VICTIM, group=VICTIM, extra_groups=[])
            equal((job.returncode, "not recording" in job.stderr), (0, False), job.stderr)
        check(racer.poll() is None, "the other user tries until the end")
        racer.kill()
    recorded = [path for path in service.logs.iterdir() if path.stat().st_uid == VICTIM]
    equal([p.name.startswith(".") for p in recorded], [False] * 10, "sessions")
    for session in recorded:
        check((session / "system.log").read_text().count("shutdown"), "recorded to its end")


# What the other user does, with {logs}, {run}, the {id} of the victim's session and its {dir}.
# Each script may run for as long as the test does; `ready` says that it has begun.
OWN = "mkdir -p {logs}/mine; cd {logs}/mine; "
FORGED = """'{{"type":"shutdown","session_id":"{id}"}}'"""
MANIFEST = """'{{"schema_version":1,"type":"gpufl_session","layout":"live","session_id":"%s","pid":%s,"boot_id":"%s"}}'"""
MINE = "11111111-2222-4333-8444-555555555555"
ENDED = "11111111-3333-4333-8444-555555555555"
BOOT = "$(cat /proc/sys/kernel/random/boot_id)"
PLANTED = ("mkdir {id}; echo " + MANIFEST % ("{id}", 1, "x") + " > {id}/.gpufl-session.json; echo " + FORGED +
           " > {id}/sass.log; : > {id}/.gpufl-session.lock; exec python3 -c 'import fcntl, os, time; "
           "fd = os.open(\"{id}/.gpufl-session.lock\", os.O_RDWR); fcntl.lockf(fd, fcntl.LOCK_EX); "
           "print(flush=True); input()'")
PLANTED_LIVE, PLANTED_ABOVE = OWN + PLANTED, "cd {logs}; " + PLANTED
SU = """exec python3 -c 'import fcntl, os, pty
pid, fd = pty.fork()
if pid == 0:
    held = os.open("%s", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held, True)
    os.execvp("su", ["su", "root"])
os.read(fd, 100)
print(flush=True)
input()'"""
# Of gzip: a header; two Huffman blocks that hold nothing, with tables of their own.
GZ = ("import gzip, itertools, os, pathlib, time; head = bytes.fromhex(\"1f8b08000000000000ff\"); "
      "empty = bytes.fromhex(\"04c0810800000000207feb43001c880000000000f2b73e\"); mine = pathlib.Path(\"{logs}\", \"" + MINE +
      "\"); os.mkdir(mine)")
TRIES = {
    "one line that ends the victim's session": OWN + "mkdir {id}; echo " + FORGED + " > {id}/sass.log; ready",
    "lines of the victim's session": OWN + "mkdir {id}; echo '{{\"type\":\"forged\",\"session_id\":\"{id}\"}}' > "
                                           "{id}/device.log; echo " + FORGED + " >> {id}/device.log; ready",
    "the victim's session, with manifest and lock": PLANTED_LIVE,
    "a copy of the victim's session": OWN + "cp -r {dir} .; ready",
    "a 1.3 session of the victim's id": OWN + "mkdir -p {id}/.tmp; echo " + FORGED + " > {id}/.tmp/sass.1.log; "
                                                                             ": > {id}/.gpufl-session.lock; ready",
    "a mark that the victim's session is uploaded": OWN + "mkdir {id}; : > {id}/.gpufl-uploaded; echo " + FORGED +
                                                    " > {id}/sass.log; ready",
    "the victim's id in many groups": "for n in $(seq 300); do mkdir -p {logs}/g$n/{id}; echo " + FORGED +
                                      " > {logs}/g$n/{id}/sass.log; done; ready",
    "a link of the victim's id": OWN + "ln -s {dir} {id}; ready",
    "a link to the victim's file": OWN + "mkdir " + MINE + "; ln -s {dir}/device.log " + MINE + "/device.log; ready",
    "a hard link to the victim's file": OWN + "mkdir " + MINE + "; ln {dir}/device.log " + MINE +
                                        "/device.log 2>/dev/null || :; ready",
    "locks for reading on the victim's files":
        "exec python3 -c 'import fcntl, glob, os; fds = [os.open(p, os.O_RDONLY) for p in "
        "glob.glob(\"{dir}/*\") + glob.glob(\"{dir}/.gpufl*\")]; "
        "[fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB) for fd in fds if not fcntl.fcntl(fd, 3) & 3 "
        "and not \"lock\" in os.readlink(\"/proc/self/fd/%d\" % fd)]; print(flush=True); input()'",
    "a compressed file that 60 others may begin with": PLANT.replace("{dir}", "{logs}/" + MINE).replace("{id}", MINE) +
        "\nrm device.log; head -c 128M /dev/zero | gzip -1 > .gz; for n in $(seq 60); do truncate -s 128M device.$n.log; done; "
        "mv .gz device.log.gz; ready",
    "a lock on the victim's directory": "ready; exec flock -x {dir} cat",
    "a lock on the log directory": "ready; exec flock -x {logs} cat",
    "a lock on the directory above": "ready; exec flock -x {logs}/.. cat",
    # The agent holds the first one until it is killed.
    "a lock on the log directory, held by su": "ready; " + SU % "{logs}",
    "a lock on the directory above, held by su": "ready; " + SU % "{logs}/..",
    "locks on what the service publishes": "exec python3 -c 'import fcntl, glob, os; fds = [os.open(p, os.O_RDONLY) "
                                           "for p in glob.glob(\"{run}/*\")]\nfor fd in fds:\n try: fcntl.flock(fd, "
                                           "fcntl.LOCK_EX); fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)\n except "
                                           "OSError: pass\nprint(flush=True); input()'",
    "a directory of the service's": "mkdir -m 777 {logs}/.gpufl-agent; mkfifo {logs}/.gpufl-agent/progress; ready",
    "forged progress": "mkdir -m 777 {logs}/.gpufl-agent; printf 'gpufl-progress 1 pid=1 program=x\\n{id} device 9 9 7 "
                       "1\\n' | tee {logs}/.gpufl-agent/progress > {logs}/.gpufl-agent/complete; ready",
    "a forged upload cursor": "echo '{{\"schema_version\":2,\"uploaded_files\":[],\"completed_sessions\":{{\"{id}\":"
                              "{{}}}}}}' > {logs}/.gpufl-upload-cursor.json; ready",
    "pipes as files": OWN + "mkdir " + MINE + "; for f in device.log scope.1.log .gpufl-session.json "
                            ".gpufl-session.lock; do mkfifo " + MINE + "/$f; done; ready",
    "sockets as files": OWN + "mkdir " + MINE + "; cd " + MINE + "; python3 -c 'import socket\nfor f in (\"device.log\", "
                              "\".gpufl-session.lock\", \".gpufl-session.json\"): "
                              "socket.socket(socket.AF_UNIX).bind(f)'; ready",
    "directories as files": OWN + "mkdir -p " + MINE + "/device.log " + MINE + "/.gpufl-session.json; ready",
    "names with newlines and escapes":
        "cd {logs}; for n in \"$(printf 'a\\nerror session.held')\" \"$(printf 'b\\033[2J')\" \"$(printf '\\377')\" "
        "'$(reboot)' '%s%n'; do mkdir \"$n\"; mkdir \"$n/{id}\"; echo " + FORGED + " > \"$n/{id}/sass.log\"; done; ready",
    "5,000 directories": "cd {logs}; seq 5000 | sed s/^/d/ | xargs mkdir; ready",
    "thousands of names in directories that grow":
        "cd {logs}; exec python3 -c 'import os, time\nfor d in range(4):\n os.mkdir(f\"s{{d}}\")\n"
        " for i in range(1, 5000): os.mknod(f\"s{{d}}/device.{{i}}.log\")\nprint(flush=True)\nwhile 1:\n for d in range(4):\n"
        "  with open(f\"s{{d}}/device.log\", \"a\") as f: f.write(\"x\\n\")\n time.sleep(.001)'",
    "a manifest of 1 GiB": OWN + "mkdir " + MINE + "; truncate -s 1G " + MINE + "/.gpufl-session.json; echo x > " +
                           MINE + "/device.log; ready",
    "a line of 1 GiB": OWN + "mkdir " + MINE + "; truncate -s 1G " + MINE + "/device.log; ready",
    "a line of 400 GiB": OWN + "mkdir " + MINE + "; truncate -s 400G " + MINE + "/device.log; ready",
    "a window of 400 GiB": OWN + "mkdir " + MINE + "; cd " + MINE + "; truncate -s 400G device.1.log.gz; : > "
                           ".gpufl-session.lock; echo '{{\"schema_version\":1,\"type\":\"transport_window\","
                           "\"window_id\":\"22222222-2222-4333-8444-555555555555\",\"session_id\":\"" + MINE +
                           "\",\"channel\":\"device\",\"window_sequence\":1,\"opened_mono_ms\":1,"
                           "\"closed_mono_ms\":2,\"created_wall_ms\":3,\"payload_file\":\"device.1.log.gz\","
                           "\"payload_bytes\":429496729600,\"payload_crc32\":1}}' > .gpufl-window.device.1.json; ready",
    "a gzip file of zeros": OWN + "mkdir " + MINE + "; cd " + MINE + "; head -c 200M /dev/zero | gzip -1 > "
                                  "device.1.log.gz; echo x > device.log; ready",
    "a hundred compressed files that hold nothing, of which one is sought":
        "exec python3 -c '" + GZ + "\n(mine / \"device.log\").write_text(\"x\\n\"); print(flush=True); time.sleep(2); "
        "(mine / \"device.log\").unlink()\nfor n in range(1, 101): (mine / f\"device.{{n}}.log.gz\").write_bytes(head + empty * "
        "3000)\nwhile 1: (mine / \"x\").touch(); (mine / \"x\").unlink(); time.sleep(.05)'",
    "a compressed file of empty members, and what is no gzip behind one":
        "exec python3 -c '" + GZ + "\n(mine / \"device.1.log.gz\").write_bytes(gzip.compress(b\"x\\n\") + os.urandom(9999)); "
        "(mine / \"device.2.log.gz\").write_bytes(gzip.compress(b\"\") * 100000); print(flush=True); input()'",
    "compressed files without end that grow":
        "exec python3 -c '" + GZ + "\nfor d in range(5):\n os.mkdir(f\"{logs}/z{{d}}\")\n open(f\"{logs}/z{{d}}/device.1.log.gz\", "
        "\"wb\").write(head)\nprint(flush=True)\nfor d in itertools.cycle(range(5)):\n with open(f\"{logs}/z{{d}}/device.1.log.gz\", "
        "\"ab\") as f: f.write(empty * 20)\n time.sleep(.01)'",
    "a manifest with another's pid": OWN + "mkdir " + MINE + "; printf " + MANIFEST % (MINE, 1, "%s") + " " + BOOT +
                                     " > " + MINE + "/.gpufl-session.json; echo x > " + MINE + "/device.log; ready",
    "files and directories that nobody can read": OWN + "mkdir " + MINE + " a b; echo x > " + MINE + "/device.log; "
                                                  "chmod 000 " + MINE + "/device.log a; chmod 000 .; ready",
    "a directory that is swapped for a link": OWN + "mkdir m; ready; while mkdir m/{id} && echo " + FORGED +
                                              " > m/{id}/sass.log; do rm -r m; ln -s {dir}/.. m; rm m; mkdir m; done",
    "a session that is swapped for a link": OWN + "ready; while mkdir " + MINE + " && echo x > " + MINE + "/device.log; "
                                            "do rm -r " + MINE + "; ln -s {dir} " + MINE + "; rm " + MINE + "; done",
    "files that come and go": OWN + "mkdir " + MINE + "; cd " + MINE + "; ready; while echo x > device.log; do "
                              "mv device.log device.1.log; rm device.1.log; done",
    "a file that grows without end": OWN + "mkdir " + MINE + "; ready; exec timeout 20 sh -c \"yes "
                                     "'{{\\\"type\\\":\\\"x\\\",\\\"session_id\\\":\\\"" + MINE + "\\\"}}' | head -c 2G > "
                                     + MINE + "/device.log\"",
    "names that come and go in the log directory": "cd {logs}; ready; while mkdir x{id}; do rmdir x{id}; done",
    "events of thousands of directories without end":
        "cd {logs}; exec python3 -c 'import os\nfor d in range(3000): os.mkdir(f\"w{{d}}\")\nos.mkdir(\"e1\")\n"
        "print(flush=True)\nwhile 1:\n for d in range(3000):\n"
        "  os.mknod(f\"w{{d}}/q\"); os.unlink(f\"w{{d}}/q\"); os.rename(\"e1\", \"e2\"); os.rename(\"e2\", \"e1\")\n"
        "  os.rename(f\"w{{d}}\", f\"v{{d}}\"); os.rename(f\"v{{d}}\", f\"w{{d}}\")'",
}


def a_lock_that_su_holds_keeps_no_upload_away(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _Session(service.logs)
    writer.lines()
    writer.end()
    with _Try(service, SU % "{logs}", writer) as attempt:
        check(attempt.begun, "su waits for a password")
        done = service.upload(VICTIM, "--session-id", writer.id)
        equal(done.returncode, 0, str(done.result))
    lib.holds(service.backend, writer)


def a_lock_that_su_holds_hides_no_group(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    service.start()
    writer = _session_in_group(service)
    with _Try(service, SU % "{dir}/..", writer) as attempt:
        check(attempt.begun, "su waits for a password")
        writer.lines()
        writer.end()
        until(lambda: service.backend.complete(writer.id), "complete")
    lib.holds(service.backend, writer)


def a_lock_beside_a_file_named_as_a_journals_hides_no_group_from_root(place):
    """Anybody can look like an uploader, in a directory of which he owns nothing."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _session_in_group(service)
    writer.lines()
    writer.end()
    name = service.home(OTHER) / "x.journal.lock"
    holder = _as(OTHER, ["sh", "-c", f"exec flock -x {writer.dir.parent} sh -c 'echo; cat' 3>{name}"])
    check(holder.stdout.readline(), "the group is locked")
    done = service.upload(0)
    holder.communicate()
    equal(done.returncode, 0, str(done.result))
    lib.holds(service.backend, writer)


def an_id_of_which_nothing_was_sent_goes_to_no_other_user(place):
    """Whoever was there first: both wait, and the session goes on when the other directory is gone."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = _session_in_group(service)
    writer.lines()
    with _Try(service, PLANTED_ABOVE, writer) as attempt:
        check(attempt.begun, "it is planted")
        service.start()
        until(lambda: "directories of two users" in service.agent.log.read_text(), "that is said")
        writer.lines()
        service.stop(signal.SIGKILL)
        service.start()
        until(lambda: "directories of two users" in service.agent.log.read_text(), "after a crash, too")
    equal(service.backend.export(writer.id, "sass"), b"", "forged lines")
    subprocess.run(["rm", "-r", service.logs / writer.id], check=True)
    until(lambda: service.has(writer), "it goes on")
    writer.end()
    until(lambda: service.backend.complete(writer.id), "complete")
    lib.holds(service.backend, writer)
    equal(service.backend.export(writer.id, "sass"), b"", "forged lines")


def a_session_whose_id_is_bound_to_its_user_is_taken_by_nobody(place):
    """Not even before its first line is sent, by several directories with all that is in its own."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    job = place.run("examples/demo-job", service.logs, 0.1, user=VICTIM, group=VICTIM, extra_groups=[])
    session = service.logs / job.stdout.strip()
    plant = (f"cd {service.logs}; for g in 1 2 zz; do mkdir $g; cp -r {session} $g/; echo "
             f"'{{\"type\":\"shutdown\",\"session_id\":\"{session.name}\"}}' > $g/{session.name}/sass.log; done")
    subprocess.run(["sh", "-c", plant], user=OTHER, group=OTHER, extra_groups=[], check=True)
    service.start()
    until(lambda: service.backend.complete(session.name), "complete")
    until(lambda: service.agent.log.read_text().count("session.claimed") >= 3, "the others are held, which is said")
    for channel in ("device", "scope", "system"):
        equal(service.backend.export(session.name, channel), (session / f"{channel}.log").read_bytes(), channel)
    equal(service.backend.export(session.name, "sass"), b"", "forged lines")
    service.stop(signal.SIGKILL)


# More lines, also in a channel that the session has not, for a copy of a directory; with or without what its writer left.
EXTEND = """cp -r {kept} {to} && cd {to}
for c in device sass; do echo '{{"type":"{what}","session_id":"{id}"}}' >> $c.log; done
{then}"""


def _forget(service):
    """As after the days for which a session is remembered whose directory is gone."""
    service.stop()
    shutil.rmtree(service.logs / ".gpufl-agent")
    shutil.rmtree(service.state)
    service.state.mkdir(mode=0o700)
    os.chown(service.state, AGENT, AGENT)


def _completed(place):
    """\\return a service, and a session of the victim that the backend has."""
    service = _Service(place)
    job = place.run("examples/demo-job", service.logs, 0.1, user=VICTIM, group=VICTIM, extra_groups=[], umask=0o022)
    session = service.logs / job.stdout.strip()
    service.start()
    until(lambda: service.backend.complete(session.name), "complete")
    return service, session


def _completed_and_kept(place):
    """The same, whose directory is gone but for a copy, the third."""
    service, session = _completed(place)
    kept = place.path / "kept"
    subprocess.run(["cp", "-r", session, kept], check=True)
    shutil.rmtree(session)
    return service, session, kept


def a_copy_of_a_complete_session_adds_lines_only_for_its_user(place):
    """The agent has forgotten it: the backend knows whose it was. Its user goes on with a copy, or by what the writer left."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service, session, kept = _completed_and_kept(place)

    def extend(user, what, then):
        script = EXTEND.format(kept=kept, to=session, id=session.name, what=what, then=then)
        equal(_as(user, ["sh", "-c", script]).wait(), 0, "it is made")

    for then in ("true", "rm .gpufl-session.*"):
        _forget(service)
        extend(OTHER, "forged", then)
        service.start()
        for channel in ("device", "sass"):
            until(lambda c=channel: f"session.held session={session.name} channel={c} reason=\"it was complete from"
                  in service.agent.log.read_text(), f"{channel} is held")
        check(f"user={OTHER} was={VICTIM}" in service.agent.log.read_text(), "whose it is")
        done = place.run("gpufl", "resolve", service.logs, session.name, "--state-dir", service.state)
        check(done.returncode == 1 or " is not sent: it was complete from another user's directory" in done.stdout,
              f"{done.stdout}{done.stderr}")
        for channel in ("device", "scope", "system"):
            equal(service.backend.export(session.name, channel), (kept / f"{channel}.log").read_bytes(), channel)
        equal(service.backend.export(session.name, "sass"), b"", "forged lines")
        check(service.backend.complete(session.name), "it stays complete")
        subprocess.run(["rm", "-r", session], check=True)
    for n, then in enumerate(("true", "rm .gpufl-session.*")):
        _forget(service)
        extend(VICTIM, f"more-{n}", then)
        service.start()
        until(lambda n=n: f"more-{n}".encode() in service.backend.export(session.name, "device"), "its user goes on")
        kept = place.path / f"kept-{n}"
        shutil.copytree(place.path / "kept", kept)
        until(lambda n=n: f"more-{n}".encode() in service.backend.export(session.name, "sass"), "in a new channel, too")
        subprocess.run(["rm", "-r", session], check=True)
        for channel in ("device", "sass"):
            (kept / f"{channel}.log").write_bytes(service.backend.export(session.name, channel))


def what_is_given_up_of_another_users_copy_is_no_loss_of_the_session(place):
    """A part of the copy is gone, and whoever may write to the state of the agent gives that up. The session stays as it
    is, and ends only if its user gives up the same."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service, session, kept = _completed_and_kept(place)
    for user in (OTHER, VICTIM):
        _forget(service)
        for path in (kept, *kept.iterdir()):
            os.chown(path, user, user)
        subprocess.run(["cp", "-a", kept, session], check=True)
        (session / "scope.log").unlink()
        service.start()
        until(lambda: "session.held" in service.agent.log.read_text(), "it is held")

        def claimed():
            place.run("gpufl", "resolve", service.logs, session.name, "--state-dir", service.state)
            return any(word in service.agent.log.read_text() for word in ("session.not_completed", "session.ended"))

        until(claimed, "it is given up, and claimed")
        found = service.backend.session(session.name)
        equal((found["state"], found["verified"]), ("complete", True) if user == OTHER else ("ended_with_losses", False), f"{found}")
        if user == OTHER:
            until(lambda: "it was complete from another user's directory" in service.status(AGENT).stdout, "status")
        subprocess.run(["rm", "-r", session], check=True)


def a_copy_that_is_held_keeps_the_session_from_its_user_nowhere(place):
    """Nothing was sent of it: the user's own directory, which its id proves, goes on beside it, or in its place."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service, session = _completed(place)
    group = service.logs / "group"
    held = f'session.held session={session.name} channel=device reason="it was complete from'

    def extend(user, to, what):
        script = EXTEND.format(kept=kept, to=to, id=session.name, what=what, then="true")
        equal(_as(user, ["sh", "-c", script]).wait(), 0, "it is made")

    for where in (group, service.logs):
        kept = place.path / f"kept-{where.name}"
        subprocess.run(["cp", "-r", session, kept], check=True)
        for channel in ("device", "sass"):
            (kept / f"{channel}.log").write_bytes(service.backend.export(session.name, channel))
        shutil.rmtree(session)
        _forget(service)
        extend(OTHER, session, "forged")
        service.start()
        until(lambda: held in service.agent.log.read_text(), "the copy is held")
        if where == group:
            group.mkdir()
            os.chown(group, VICTIM, VICTIM)
        else:
            shutil.rmtree(session)
        extend(VICTIM, where / session.name, f"more-{where.name}")
        until(lambda: f"more-{where.name}".encode() in service.backend.export(session.name, "device"), f"{where}")
        service.stop(signal.SIGKILL)
        service.start()
        with open(where / session.name / "device.log", "a") as log:
            log.write(json.dumps({"type": f"after-{where.name}", "session_id": session.name}, separators=(",", ":")) + "\n")
        until(lambda: f"after-{where.name}".encode() in service.backend.export(session.name, "device"), "and after a crash")
        equal(service.backend.export(session.name, "device"), (where / session.name / "device.log").read_bytes(), "what is stored")
        if where == group:
            shutil.rmtree(session)
            (group / session.name).rename(session)


def a_window_of_another_user_opens_no_complete_session(place):
    """It goes by no position, and anybody can make it under the id. It is kept where it is, which its sender says, and page
    and status agree on the session."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service, session = _completed(place)
    until(lambda: "complete, verified" in service.status(VICTIM).stdout, "so says its status")
    before = service.backend.session(session.name)
    logs = place.path / "elsewhere"
    logs.mkdir()
    Windows(logs, session.name).end()
    for path in (logs, *logs.rglob("*")):
        os.chown(path, OTHER, OTHER)
    done = lib.upload(place, service.backend.url, directory=logs, user=OTHER, group=OTHER, extra_groups=[])
    equal((done.returncode, done.result["events_uploaded"]), (1, 0), done.stdout + done.stderr)
    equal(done.result["ranges_quarantined"], len(Windows.channels), done.stdout)
    equal(service.backend.session(session.name), before, "the session is as it was")
    check("complete, verified" in service.status(VICTIM).stdout, service.status(VICTIM).stdout)


def what_a_copy_of_another_user_adds_is_sent_by_a_persons_word(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service, session = _completed(place)
    _forget(service)
    subprocess.run(["chown", "-R", f"{OTHER}:{OTHER}", session], check=True)  # restored by root, say
    with open(session / "device.log", "a") as log:
        log.write(json.dumps({"type": "x", "session_id": session.name}, separators=(",", ":")) + "\n")
    service.start()
    until(lambda: "it was complete from another user's directory" in service.status(AGENT).stdout, "it is held")
    service.stop()
    done = service.upload(AGENT, "--force", "--session-id", session.name, "--state-dir", service.state)
    equal(service.backend.export(session.name, "device"), (session / "device.log").read_bytes(), f"{done.stdout}{done.stderr}")


# Puts the id that a victim's sidecar has into a window of a session of one's own.
TAKE_WINDOW_ID = """
import gzip, json, os, sys, zlib
victim, mine = sys.argv[1:]
os.makedirs(mine)
session = os.path.basename(mine)
with open(victim) as f:
    sidecar = json.load(f)
data = gzip.compress(b'{"type":"x","session_id":"%s"}\\n' % session.encode())
with open(f"{mine}/device.1.log.gz", "wb") as f:
    f.write(data)
sidecar.update(session_id=session, window_sequence=1, payload_file="device.1.log.gz", payload_bytes=len(data),
               payload_crc32=zlib.crc32(data))
open(f"{mine}/.gpufl-session.lock", "w").close()
with open(f"{mine}/.gpufl-window.device.1.json", "w") as f:
    f.write(json.dumps(sidecar, separators=(",", ":")) + "\\n")
"""


def the_id_of_a_window_that_another_user_sends_first_keeps_nothing_away(place):
    """It is in a sidecar that others can read, and that is there before the window is."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    writer = Windows(service.logs)
    (writer.dir / ".gpufl-session.lock").chmod(0o644)
    for path in (writer.dir, writer.tmp, *writer.tmp.iterdir(), writer.dir / ".gpufl-session.lock"):
        os.chown(path, VICTIM, -1)
    writer.line("device")
    number = writer.retire("device")
    writer.squeeze("device", number)
    writer.sidecar("device", number)
    service.start()
    taken = _as(OTHER, ["python3", "-c", TAKE_WINDOW_ID, str(writer.dir / f".gpufl-window.device.{number}.json"),
                        str(service.logs / MINE)])
    equal((taken.wait(), taken.stderr.read()), (0, ""), "another user has it")
    until(lambda: service.backend.export(MINE, "device"), "and is the first one of whom it is stored")
    writer.publish("device", number)
    writer.line("device")
    writer.end()
    until(lambda: service.backend.complete(writer.id), "complete")
    lib.holds(service.backend, writer)


def a_session_without_a_lock_is_not_taken_by_one_with_a_lock(place):
    """Of the 1.1 layout, begun or complete."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    begun, ended = Shifting(service.logs), Shifting(service.logs, session=ENDED)
    for writer in (begun, ended):
        for path in (writer.dir, *writer.dir.iterdir()):
            os.chown(path, VICTIM, -1)
        for _ in range(20):
            writer.line("device")
    ended.end()
    service.start()
    until(lambda: service.has(begun) and service.backend.complete(ended.id), "sent, and one complete", 60)
    with _Try(service, PLANTED_LIVE, begun) as one, _Try(service, PLANTED_LIVE, ended) as two:
        check(one.begun and two.begun, "they are planted")
        until(lambda: service.agent.log.read_text().count("session.claimed") >= 2, "that is said", 60)
        begun.line("device")
        until(lambda: service.has(begun), "the session goes on")
    for writer in (begun, ended):
        lib.holds(service.backend, writer)
        equal(service.backend.export(writer.id, "sass"), b"", "forged lines")


class _Try:
    """The other user does something, for as long as this is open."""

    def __init__(self, service, script, writer):
        script = script.format(logs=service.logs, run=service.run, id=writer.id, dir=writer.dir)
        self.process = _as(OTHER, ["sh", "-c", "umask 0; ready() { echo; }; " + script], start_new_session=True)
        self.begun = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _tried(place, number, what):
    """While it goes on: what the victim writes arrives, also after a crash of the service, and its end does."""
    service = _Service(place, f"logs-{number}")
    before, live = _Session(service.logs), _Session(service.logs)
    before.lines()
    before.end()
    live.lines()
    service.start()
    until(lambda: service.backend.complete(before.id), f"{what}: complete before it")
    until(lambda: service.has(live), f"{what}: the id has its session")
    with _Try(service, TRIES[what], live) as attempt:
        check(attempt.begun, f"{what}: {attempt.process.stderr.read() if attempt.process.poll() else 'silent'}")
        live.lines()
        until(lambda: service.has(live), f"{what}: live lines arrive")
        service.stop(signal.SIGKILL)
        if "held by su" in what:
            equal(attempt.process.stdout.readline(), "\n", f"{what}: su waits for a password")
        late = _Session(service.logs)
        late.lines()
        live.lines()
        service.start()
        until(lambda: service.has(live) and service.has(late), f"{what}: after a crash", 60)
        check(not service.backend.complete(live.id), f"{what}: complete before its end")
        live.end()
        until(lambda: service.backend.complete(live.id), f"{what}: complete", 60)
        for session in (before, live, late):
            lib.holds(service.backend, session)
            equal(service.backend.export(session.id, "sass"), b"", f"{what}: forged lines")
        check(service.agent.poll() is None, f"{what}: the agent ended")
        if not lib.MEASURES_ITSELF:
            check(lib.peak_kib(service.agent.pid) < 128 << 10, f"{what}: {lib.peak_kib(service.agent.pid)} KiB")
    late.die()
    service.stop(signal.SIGKILL)
    service.backend.kill()


def _planted(service, users):
    """A session of each of these users, of one line, in the layout without a lock."""
    for number, user in enumerate(users):
        staged = service.logs / f".new-{number}"
        staged.mkdir()
        (staged / "device.log").write_text('{"type":"x"}\n')
        for path in (staged / "device.log", staged):
            os.chown(path, user, -1)
        staged.rename(service.logs / f"p{number}")


def _its_lines_go_before(service, sink, live, users):
    """The lines of a live session arrive while the planted ones of these users are sent. Counted in requests, as each
    of them takes as long as the backend and the budget want."""
    until(lambda: sink.lines, "the agent sends")
    _planted(service, users)
    until(lambda: len(sink.batches()) > 100, "the planted ones are sent")
    for number in range(5):
        before = len(sink.batches())
        live.line("device")
        line = bytes(live.written["device"]).splitlines()[-1]
        until(lambda line=line: line in sink.lines, f"line {number} arrives", 60)
        ahead = len(sink.batches()) - before
        check(ahead < 300, f"{ahead} requests went before line {number}")
    check(len(sink.batches()) < len(users), "the planted ones were all sent before")
    live.die()
    service.stop(signal.SIGKILL)


def thousands_of_sessions_of_one_user_do_not_go_before_the_lines_of_another(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    with Sink() as sink:
        service.backend.url = sink.url
        live = _Session(service.logs)
        service.start()
        _its_lines_go_before(service, sink, live, 2000 * [OTHER])


def thousands_of_sessions_of_subordinate_ids_do_not_go_before_the_lines_of_another_user(place):
    """The ids that /etc/subuid gives to a user have one turn with it, however many of them it uses."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    with Sink() as sink:
        service.backend.url = sink.url
        live = _Session(service.logs)
        service.start_with_subordinate_ids(f"{OTHER}:200000:65536")
        _its_lines_go_before(service, sink, live, range(200000, 202000))


def lines_of_another_user_that_the_backend_fails_at_hold_nothing(place):
    """As something in front of it may judge what they contain: lines, new sessions and ends of others go on."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    answers = {"status": 500}

    def fail(_, request):
        return answers["status"] if request.is_batch and b'"evil"' in request.raw() else None

    with Sink(fail, declare=True, epoch="one") as sink:
        service.backend.url = sink.url
        plant = ("import os, sys, uuid\nfor i in range(400):\n u = str(uuid.uuid4()); os.mkdir(f'{sys.argv[1]}/{u}')\n"
                 " open(f'{sys.argv[1]}/{u}/device.log', 'w').write('{\"type\":\"evil\",\"session_id\":\"%s\"}\\n' % u)")
        equal(_as(OTHER, ["python3", "-c", plant, str(service.logs)]).wait(), 0, "planted")
        live = _Session(service.logs)
        service.start()
        for status in (500, 403):
            answers["status"] = status
            evil = len([r for r in sink.batches() if r.status == status])
            until(lambda evil=evil, status=status:
                  len([r for r in sink.batches() if r.status == status]) > evil + 2, f"{status}: they fail")
            new = _Session(service.logs)
            for writer in (live, new):
                writer.lines(3)
            until(lambda w=new: all(set(bytes(d).splitlines()) <= set(sink.lines) for s in (live, w)
                                    for d in s.written.values()), f"{status}: lines of others are stored", 15)
            new.end()
            until(lambda w=new: any(r.path.endswith("session-complete") and r.session == w.id and r.status == 200
                                    for r in list(sink.requests)), f"{status}: a session of others is complete", 15)
            service.stop(signal.SIGKILL)
            service.start()
        live.die()
        service.stop(signal.SIGKILL)


def what_one_user_does_changes_nothing_for_another(place):
    if not ROOT:
        lib.skip("needs root, to be several users")
    for number, what in enumerate(TRIES):
        print(f"# {what}", flush=True)
        _tried(place, number, what)


def what_another_user_makes_a_salvage_of_is_left_alone(place):
    """Whoever owns a group can make a session in it the `.tmp` of a session of his own, which root would publish."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    service = _Service(place)
    session = str(uuid.uuid4())
    group = service.logs / session  # else it is held as one that was renamed
    group.mkdir()
    group.chmod(0o1777)
    os.chown(group, OTHER, OTHER)
    writer = _Session(group, session=session)
    writer.lines()
    writer.rotate("device")
    writer.lines()
    for path in writer.dir.iterdir():
        os.chown(path, VICTIM, VICTIM)
    before = {p.name: p.read_bytes() for p in writer.dir.iterdir()}
    planted = _as(OTHER, ["sh", "-c", f"cd {group}; mv -T {writer.id} .tmp; : > .gpufl-session.lock"])
    planted.communicate()
    done = service.upload(0)
    equal(done.returncode, 1, done.stderr)
    check("belongs to another user, or is a session itself" in done.stderr, done.stderr)
    equal({p.name: p.read_bytes() for p in (group / ".tmp").iterdir()}, before, "what the victim has written")
    (group / ".gpufl-session.lock").unlink()
    (group / ".tmp").rename(writer.dir)
    service.upload(0)
    check(service.has(writer), "it is sent once it is back")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
