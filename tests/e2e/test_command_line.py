# SPDX-License-Identifier: Apache-2.0
"""What the programs answer to what a newcomer types: each mistake is named, and none passes for success."""
import os
import re
import shutil
import subprocess
import sys

import lib
from lib import check, equal
import sink

ROOT = os.geteuid() == 0
NOWHERE = ("--backend-url", "http://127.0.0.1:9", "--api-key", "k")


def _says(done, code, *words):
    equal(done.returncode, code, f"{done.args}: {done.stdout} {done.stderr}")
    for word in words:
        check(word in done.stderr, f"{done.args}: no {word!r} in: {done.stderr}")


def what_cannot_be_printed_is_no_success(place):
    session = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    settings = (f"--folder={place.logs}", f"--host={backend.url}")
    env = lib.environment({"GPUFL_HTTP_TOKEN": lib.KEY})
    for name, *args in (("gpufl", "--version"), ("gpufl", "--help"), ("gpufl", "upload", "--help"),
                        ("gpufl", "version"), ("gpufl", "status", place.logs), ("gpufl", "status", place.logs, "--json"),
                        ("gpufl", "upload", place.logs, "--json", "--backend-url", backend.url, "--api-key", lib.KEY),
                        ("gpufl-agent", "--help"), ("gpufl-agent", "--version"), ("gpufl-agent", *settings, "--check"),
                        ("gpufl-agent", "healthcheck", "--help"), ("gpufl-backend", "--help"),
                        ("gpufl-backend", "--version")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*lib.EMULATOR, lib.BUILD / name, *args], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60 * lib.SLOW, env=env, check=False)
        _says(done, 2, f"{name}: cannot write to standard output: No space left on device")
    lib.same(backend, session)


def a_session_in_place_of_its_directory_is_refused(place):
    """Of each layout; and what another user puts beside the sessions refuses nothing."""
    lib.copy_samples(place)
    live = lib.job(place, 0.1)
    plain = place.logs / "22222222-2222-4222-8222-222222222222"
    plain.mkdir()
    (plain / "device.log").write_text('{"type":"x","session_id":"%s"}\n' % plain.name)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    to = ("--backend-url", backend.url, "--api-key", lib.KEY)
    agent = f"--host={backend.url}"
    for session in sorted(place.logs.iterdir()):
        told = f"'{session}': it is a session (give the directory that holds it, {place.logs}"
        for verb in (("status",), ("upload", *to), ("quarantine", "list"), ("quarantine", "show", "--all"),
                     ("quarantine", "drop", "--all"), ("quarantine", "retry", "--all", *to)):
            head = verb[:2] if verb[0] == "quarantine" else verb[:1]
            done = place.run("gpufl", *head, session, *verb[len(head):])
            _says(done, 2, f"gpufl {verb[0]}: DIR: {told}", f"--session-id {session.name})" if verb[0] == "upload" else ")")
        done = place.run("gpufl-agent", f"--folder={session}", agent, "--exit-when-drained")
        _says(done, 1, f"gpufl-agent: --folder: {told}")
        _says(place.run("gpufl-agent", f"--folder={session}", agent, "--check", env={"GPUFL_HTTP_TOKEN": lib.KEY}), 2, told)
        check(not (session / ".gpufl-agent").exists(), "nothing is written there")
    done = place.run("gpufl", "status", ".", cwd=live)
    _says(done, 2, f"'.': it is a session (give the directory that holds it, {place.logs}")
    (place.logs / "device.log").write_text("beside sessions\n")
    _says(place.run("gpufl", "upload", place.logs, "--session-id", live.name, *to), 0)
    empty = place.path / "empty"
    empty.mkdir()
    (empty / "train.log").write_text("of something else\n")
    _says(place.run("gpufl", "status", empty), 0)
    if ROOT:
        (empty / "device.log").write_text("planted\n")
        os.chown(empty / "device.log", 12345, -1)
        _says(place.run("gpufl", "status", empty), 0)


def a_directory_above_that_of_the_sessions_is_no_success(place):
    """One that is empty is, and both are said; what a journal knows counts more than what lies deeper."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    to, key = ("--backend-url", backend.url, "--api-key", lib.KEY), {"GPUFL_HTTP_TOKEN": lib.KEY}
    deep = place.path / "p/q/r/logs"

    def told_of(done, code, word=""):
        said = done.stdout + done.stderr
        check(done.returncode == code and word in said, f"{done.args}: {done.returncode}, no {word!r} in: {said}")

    deep.mkdir(parents=True)
    (place.path / "p/.trash/a/b").mkdir(parents=True)
    (place.path / "p/x/y/z").mkdir(parents=True)
    (place.path / "p/x/y/z/device.log").write_text("of something else\n")
    for path in (deep.parent, place.path / "p"):
        told_of(place.run("gpufl", "status", path), 0, "no session in this directory (expected SESSION or GROUP/SESSION in it)")
        told_of(place.run("gpufl", "upload", path, *to), 0, f"no session in {path} (expected SESSION or GROUP/SESSION in it)")
        told_of(place.run("gpufl", "verify", path, *to), 1, f"'{path}': there is no session to compare (expected SESSION or GROUP/")
        told_of(place.run("gpufl-agent", "--check", f"--folder={path}", f"--host={backend.url}", env=key), 0,
              f"--folder: '{path}': no session in it yet (expected SESSION or GROUP/SESSION in it)")
    session = lib.job(place, 0.1, logs=deep)
    for path in (place.path / "p", place.path / "p/q"):
        told = f"'{path}': no session lies in it, or in a directory in it, but deeper (give the directory that holds them, {deep})"
        told_of(place.run("gpufl", "status", path), 2, f"gpufl status: DIR: {told}")
        told_of(place.run("gpufl", "upload", path, *to), 2, f"gpufl upload: DIR: {told}")
        told_of(place.run("gpufl", "verify", path, *to), 2, f"gpufl verify: DIR: {told}")
        told_of(place.run("gpufl-agent", "--check", f"--folder={path}", f"--host={backend.url}", env=key), 0, f"gpufl-agent: --folder: {told}")
    for path in (deep.parent, deep):
        told_of(place.run("gpufl", "status", path), 1, session.name)
        told_of(place.run("gpufl", "upload", path, *to), 0)
        done = place.run("gpufl-agent", "--check", f"--folder={path}", f"--host={backend.url}", env=key)
        check(done.returncode == 0 and "no session" not in done.stdout, done.stdout)
    if ROOT:  # what another user puts there refuses nothing
        (place.path / "shared").mkdir()
        shutil.copytree(deep / session.name, place.path / "shared/a/b/c" / session.name)
        for path in (place.path / "shared").rglob("*"):
            os.chown(path, 12345, -1)
        told_of(place.run("gpufl", "upload", place.path / "shared", *to), 0, "no session in")
    archive = deep / "old/of/november"
    archive.mkdir(parents=True)
    session.rename(archive / session.name)
    told_of(place.run("gpufl", "upload", deep, *to), 0, "no session in")
    told_of(place.run("gpufl", "status", deep), 0)
    told_of(place.run("gpufl", "verify", deep, *to), 1, f"'{deep}': there is no session to compare")
    done = place.run("gpufl-agent", "--check", f"--folder={deep}", f"--host={backend.url}", env=key)
    check(done.returncode == 0 and "deeper" not in done.stdout, done.stdout)


def the_home_of_root_in_the_environment_hides_nothing_of_ones_own(place):
    """As a container's -u leaves it: it may not even be looked into."""
    if not ROOT:
        lib.skip("needs root, to be several users")
    (place.path / "home").mkdir(mode=0o700)
    place.path.chmod(0o755)
    for path in (place.logs, *lib.job(place, 0.1).glob("**")):
        os.chown(path, 12345, -1)
    more = {"env": {"HOME": str(place.path / "home"), "XDG_STATE_HOME": ""}, "user": 12345, "group": 12345, "extra_groups": []}
    done = place.run("gpufl", "status", place.logs, **more)
    check(done.returncode == 1 and "no journal found" in done.stdout and " bytes wait" in done.stdout, done.stdout + done.stderr)
    for verb in (("list",), ("list", "--json")):
        done = place.run("gpufl", "quarantine", verb[0], place.logs, *verb[1:], **more)
        equal(done.returncode, 0, done.stderr)
    os.chown(place.logs, 0, -1)
    place.logs.chmod(0o755)  # nothing can be kept beside these
    for program in (("gpufl", "upload", place.logs, "--backend-url=http://127.0.0.1:9", "--api-key=k"),
                    ("gpufl-agent", "--check", f"--folder={place.logs}", "--host=http://127.0.0.1:9")):
        said = place.run(*program, **more).stderr
        check("it lies in a directory of user 0, and user 12345 has no home (the journal of " in said
              and "only its user can write to: name one by --state-dir)" in said, said)


def a_journal_that_cannot_be_read_is_not_no_journal(place):
    """That of another user, a damaged one, and one in a directory that is not there."""
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url).returncode, 0, "upload")
    journal = place.logs / ".gpufl-agent/journal"
    verbs = (("status",), ("quarantine", "list"), ("quarantine", "show", "--all"), ("quarantine", "drop", "--all"),
             ("quarantine", "retry", "--all", "--backend-url", backend.url, "--api-key", lib.KEY))

    def each(*words, args=(), **more):
        for verb in verbs:
            head = 2 if verb[0] == "quarantine" else 1
            done = place.run("gpufl", *verb[:head], place.logs, *verb[head:], *args, **more)
            _says(done, 2, *words)
            equal(done.stdout, "", f"{verb}")

    if ROOT:
        place.path.chmod(0o755)
        place.logs.chmod(0o755)
        each(f"'{journal}': Permission denied: it belongs to user 0 (run this as its owner)", user=12345, group=12345,
             extra_groups=[])
        (place.logs / ".gpufl-agent").chmod(0o700)
        each(f"'{journal}': Permission denied", user=12345, group=12345, extra_groups=[])
        (place.logs / ".gpufl-agent").chmod(0o755)
        for path in (place.logs, journal.parent, journal):
            os.chown(path, 12345, -1)
        each(f"'{journal}': it belongs to user 12345, and is not believed (run this as its owner)")
        for path in (place.logs, journal.parent, journal):
            os.chown(path, 0, -1)
        place.logs.chmod(0o1777)  # now anybody could have put it there
        os.chown(journal.parent, 12346, -1)
        for head in (("status",), ("quarantine", "list")):
            done = place.run("gpufl", *head, place.logs, user=12345, group=12345, extra_groups=[])
            check(done.returncode != 2, done.stderr)
        os.chown(journal.parent, 0, -1)
        place.logs.chmod(0o700)
    each("--state-dir: empty", args=("--state-dir=",))
    each(f"'{place.path}/none': No such file or directory", args=(f"--state-dir={place.path}/none",))
    each(f"'{backend.process.log}': Not a directory", args=(f"--state-dir={backend.process.log}",))
    whole = journal.read_bytes()
    journal.write_text("garbage\n")
    each(f"'{journal}': it is damaged (gpufl upload repairs it; some lines may be sent twice)")
    journal.unlink()
    journal.mkdir()
    each(f"'{journal}': ", "it is not a regular file: move it away")
    _says(lib.upload(place, backend.url), 2)
    done = lib.upload(place, backend.url)
    check(f"journal: '{journal}': it is not a regular file of this user" in done.stdout, done.stdout)
    journal.rmdir()
    journal.write_bytes(whole)
    equal(place.run("gpufl", "status", place.logs).returncode, 0, "as before")


def a_state_directory_that_the_agent_would_refuse_fails_its_check(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    shared = place.path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    told = f"gpufl-agent: --state-dir: '{shared}': other users can write to it: its mode is 1777"
    args = (f"--folder={place.logs}", f"--host={backend.url}")
    env = {"GPUFL_HTTP_TOKEN": lib.KEY}
    _says(place.run("gpufl-agent", *args, f"--state-dir={shared}", "--check", env=env), 2, told)
    _says(place.run("gpufl-agent", *args, f"--state-dir={shared}", "--exit-when-drained", env=env), 1, told)
    done = place.run("gpufl-agent", *args, f"--state-dir={shared}/new/one", "--check", env=env)
    _says(done, 0)
    check(not (shared / "new").exists(), "a check makes nothing")
    _says(place.run("gpufl-agent", *args, f"--state-dir={shared}", "--state=memory", "--check", env=env), 0)
    place.logs.chmod(0o777)  # then the journal is not kept beside the logs, and there is no other place
    told = "state directory: '/dev/null/none/gpufl': Not a directory"
    _says(place.run("gpufl-agent", *args, "--check", env=env), 2, told)
    _says(place.run("gpufl-agent", *args, "--exit-when-drained", env=env), 1, told)


def what_keeps_a_recording_from_its_end_is_said_before_its_begin(place):
    """A command of hours is not run first."""
    backend, mark = "http://127.0.0.1:9", place.path / "ran"
    for args, word in ((("--upload",), "--upload: no backend (give --backend-url and --api-key"), (("--upload", "--api-key=k"), "--upload: no backend (give --backend-url and --api-key"),
                       (("--upload", f"--backend-url={backend}"), "--api-key: missing (give it, or set GPUFL_API_KEY)"),
                       (("--upload", "--backend-url=ftp://x", "--api-key=k"), "--backend-url: "),
                       (("--upload", f"--backend-url={backend}", "--api-key=k\nx"), "--api-key: "),
                       ((f"--backend-url={backend}",), "--backend-url: has no effect without --upload"),
                       (("--output=",), "--output: empty"), (("--name=",), "--name: empty")):
        _says(place.run("gpufl", "trace", *args, "--", "touch", mark), 2, f"gpufl trace: {word}")
        _says(place.run("gpufl", "monitor", "--duration=1ms", "-o", place.path / "out", *args), 2,
              f"gpufl monitor: {word}")
    for place_of in ("/proc/none", "/proc/none/x", "/dev/null/x", mark.parent / "file"):
        (mark.parent / "file").touch()
        _says(place.run("gpufl", "trace", "-o", place_of, "--", "touch", mark), 2, f"--output: '{place_of}': ")
        _says(place.run("gpufl", "monitor", "--duration=1ms", "-o", place_of), 3, f"--output: '{place_of}': ")
    check(not mark.exists(), "nothing was run")
    equal(sorted(p.name for p in place.path.iterdir()), ["file", "logs"], "nothing was made")
    _says(place.run("gpufl", "trace", "-o", place.path / "a/b", "--", "touch", mark,
                    env={"GPUFL_BACKEND_URL": backend}), 0)
    check(mark.exists(), "the variable alone is no reason")


def a_trace_counts_what_is_new_and_guesses_no_reason(place):
    out = place.path / "out"
    for name in ("one", "two"):
        (out / name).mkdir(parents=True)
    (out / "notes.txt").touch()
    done = place.run("gpufl", "trace", "-o", out, "--", "rmdir", out / "one")
    _says(done, 0, "nothing was recorded", "either no process used CUDA, or the program records elsewhere")
    done = place.run("gpufl", "trace", "-o", out, "--", "sh", "-c", f"rmdir {out}/two; mkdir {out}/three; touch {out}/x")
    _says(done, 0, f"gpufl trace: 1 session in {out}\n")
    _says(place.run("gpufl", "trace", "-o", out, "true", env={"GPUFL_DISABLED": "1"}), 0,
          "nothing was recorded: GPUFL_DISABLED is set")
    done = place.run("gpufl", "trace", "-o", out, "--", out / "nonexistent")
    equal((done.returncode, done.stderr), (127, f"gpufl trace: {out}/nonexistent: No such file or directory\n"),
          "what did not run needs no guess")


def only_the_operands_that_are_missing_are_named(place):
    for words, missing in (((), "DIR SESSION"), ((place.logs,), "SESSION")):
        _says(place.run("gpufl", "resolve", *words), 2, f"gpufl resolve: {missing}: missing")


def an_upload_says_once_that_gpufl_is_switched_off(place):
    for quiet, times in (((), 1), (("--quiet",), 0), (("--json",), 2)):  # JSON: as message and as warning
        done = place.run("gpufl", "upload", place.logs, "--backend-url", "http://127.0.0.1:1", "--api-key", lib.KEY,
                         *quiet, env={"GPUFL_DISABLED": "1"})
        equal((done.returncode, (done.stdout + done.stderr).count("switched off")), (0, times), f"{quiet}: {done}")


def what_the_backend_says_is_told_as_it_says_it(place):
    """And running it again is advised only where that helps."""
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    wrong = place.run("gpufl", "upload", place.logs, "--backend-url", backend.url, "--api-key", "wrong")
    _says(wrong, 2, "the backend refused the API key (HTTP 401): Authorization: ", "; give another --api-key and run it again")
    check("{" not in wrong.stderr and "?" not in wrong.stderr, wrong.stderr)
    with sink.Sink(lambda _, r: (401, "") if r.to_stream else None) as s:
        _says(lib.upload(place, s.url), 2)
        done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", lib.KEY)
        _says(done, 2, "gpufl upload: the backend refused the API key (HTTP 401); give another --api-key and run it "
                       "again (nothing is lost)\n")
    shutil.rmtree(place.logs / ".gpufl-agent")
    with sink.Sink(lambda _, r: (404, '{"message":"no such page"}') if r.to_stream else None) as s:
        done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", lib.KEY)
        _says(done, 1, "answered 404", "; no such page (nothing is lost; correct --backend-url or --api-path and run it again)")
    shutil.rmtree(place.logs / ".gpufl-agent")
    scopes = next(path for path in place.logs.glob("[!.]*/scope.log"))
    poison = next(line for line in scopes.read_bytes().splitlines() if b"scope_event_batch" in line)  # the first one alone
    with sink.Sink(lambda _, r: (422, "no") if r.is_batch and poison in r.raw() else None, declare=True) as s:
        done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", lib.KEY)
        _says(done, 1, "not everything was accepted: ", " (see gpufl quarantine list)")
        check("run it again" not in done.stderr, done.stderr)


def a_time_limit_that_strikes_is_the_reason_that_is_given(place):
    """With what to do, in the words of who set it."""
    lib.job(place, 0.1)
    key = ("--api-key", lib.KEY)
    with sink.Sink(delay_s=2) as s:
        done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, *key, "--timeout", "1ms")
        _says(done, 2, f"gpufl upload: cannot reach {s.url}: the time limit of 1ms was reached (nothing is lost; run it again, "
              "or give a longer --timeout)\n")
    with sink.Sink(lambda _, r: (503, "") if r.is_batch else None) as s:
        done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, *key, "--timeout", "3s", "--retries", "0")
        _says(done, 1, "not everything was sent: the backend answered 503", "; the time limit of 3s was reached (nothing is "
              "lost; run it again, or give a longer --timeout)\n")


def what_a_backend_says_of_a_failure_is_told(place):
    """Its message, as of one whose database was removed; of a web page, which a proxy sends, the status."""
    lib.job(place, 0.1)
    for answer, said in (((503, '{"error":"store","message":"its database \\"x\\" is gone"}'), "503: its database 'x' is gone"),
                         ((502, "<html><h1>Bad Gateway</h1></html>", ("Content-Type", "text/html")), "502"), ((500, ""), "500")):
        with sink.Sink(lambda _, r, answer=answer: answer if r.is_batch else None) as s:
            done = place.run("gpufl", "upload", place.logs, "--backend-url", s.url, "--api-key", lib.KEY, "--timeout", "3s",
                             "--retries", "0")
            _says(done, 1, f"not everything was sent: the backend answered {said}; the time limit of 3s was reached")


def a_variable_is_named_where_it_set_the_value(place):
    lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    env = {"GPUFL_BACKEND_URL": backend.url, "GPUFL_API_KEY": lib.KEY}
    for variable, value, told in (("GPUFL_BACKEND_URL", "ftp://x", "'ftp://x': not an http"), ("GPUFL_API_PATH", "/a?b", "'/a?b': "),
                                  ("GPUFL_API_KEY", "a\nb", "contains a control character")):
        _says(place.run("gpufl", "upload", place.logs, env={**env, variable: value}), 2, f"gpufl upload: {variable}: {told}")
    _says(place.run("gpufl", "upload", place.logs, env={**env, "GPUFL_API_KEY": "wrong"}), 2,
          "; give another GPUFL_API_KEY and run it again")
    _says(place.run("gpufl", "upload", place.logs, "--api-key", "wrong", env=env), 2, "; give another --api-key and run it again")


def a_misspelt_variable_is_named_once(place):
    """By gpufl and by the recorder; those of the other programs, and of others, are not."""
    recording = ("examples/demo-job", place.logs, 0.05)
    for words, head in ((("gpufl", "status", place.logs), "gpufl: "), (recording, "[GPUFL] ")):
        for name, meant in (("GPUFL_API_PTH", "GPUFL_API_PATH"), ("GPUFL_BACKEND_ULR", "GPUFL_BACKEND_URL"), ("GPUFL_DISABLE", "GPUFL_DISABLED"),
                            ("GPUFL_LOGDIR", "GPUFL_LOG_DIR"), ("GPUFL_PROFILING_ENGIN", "GPUFL_PROFILING_ENGINE")):
            done = place.run(*words, env={name: "1"})
            equal((done.returncode in (0, 1), done.stderr.count(name + ":")), (True, 1), done.stderr)
            check(f"{head}{name}: nothing reads it (did you mean {meant}?)\n" in done.stderr, done.stderr)
        done = place.run(*words, env={name: "1" for name in (
            "GPUFL_HTTP_TOKEN", "GPUFL_BACKEND_API_KEY", "GPUFL_AGENT_STATE_DRI", "GPUFL_LOG_TYPES", "GPUFL_SOURCE_FOLDER", "GPUFL_MONITOR_APP",
            "GPUFL_API_URL", "GPUFL_INJECT", "GPUFL_DEEP_ARM", "GPUFL_RUN_ID", "GPUFL_FROBNICATE", "GPUFL_BACKEND_PORT", "GPUFL_",
            "GPUFL_LIB_DIR", "GPUFL_POD_IMAGE", "GPUFL_LOG_DIR_2", "GPUFL_APP_HOME")})
        check("nothing reads it" not in done.stderr, done.stderr)
    done = place.run("tests/e2e/script", f"log_path={place.logs}", *["init", "shutdown"] * 3, env={"GPUFL_LGO_DIR": "1"})
    equal(done.stderr.count("GPUFL_LGO_DIR:"), 1, f"of a process: {done.stderr}")
    equal(len(list(place.logs.glob("[!.]*"))) >= 3, True, "there were three sessions")


def the_variables_that_are_looked_for_are_known(place):
    """In the table of names that are not misspelt."""
    known = set(re.findall(r'"([A-Z_]+)"', (lib.ROOT / "base/variables.c").read_text().split("unread_own[]")[1].split("};")[0]))
    read = {name for room in ("base", "cli", "collector-lib", "upload", "include") for path in (lib.ROOT / room).rglob("*.[ch]*")
            for name in re.findall(r'"GPUFL_([A-Z_]+)"', path.read_text())}
    equal(sorted(read), sorted(known), "names")


def help_of_help_is_its_own(place):
    equal(place.run("gpufl", "help", "help").stdout, place.run("gpufl", "help", "--help").stdout, "gpufl help help")
    check("Usage: gpufl help [VERB]" in place.run("gpufl", "help", "help").stdout, "its usage")


def what_would_have_no_effect_is_refused(place):
    key = ("--backend-url", "http://127.0.0.1:9", "--api-key", "k")
    for args, told in ((("info", "extra"), "gpufl info: 'extra': unexpected argument"),
                       (("version", "extra"), "gpufl version: 'extra': unexpected argument"),
                       (("--version", "extra"), "gpufl: 'extra': unexpected argument"),
                       (("upload", "-V", place.logs), f"gpufl upload: '{place.logs}': unexpected argument"),
                       (("upload", place.logs, "--latest", "--all-sessions", *key),
                        "gpufl upload: --all-sessions: conflicts with --latest (give only one)"),
                       (("upload", place.logs, "--all-sessions", "--session-id", "s", *key),
                        "gpufl upload: --all-sessions: conflicts with --session-id (give only one)"),
                       (("quarantine", "drop", place.logs, "--all", "--json"),
                        "gpufl quarantine: --json: has no effect with drop (leave it out)")):
        _says(place.run("gpufl", *args), 2, told)
    for flag in ("--help", "--version", "--check"):
        done = place.run("gpufl-agent", f"{flag}=x")
        _says(done, 1, f"gpufl-agent: {flag}: unexpected value 'x' (it takes none)")
        equal(done.stdout, "", flag)


def a_one_shot_run_with_a_refused_key_ends_with_the_reason(place):
    """And a key file that is replaced in time is taken."""
    session = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--exit-when-drained", env={"GPUFL_HTTP_TOKEN": "wrong"})
    equal(agent.wait(20 * lib.SLOW), 1, "exit code")
    said = agent.log.read_text()
    for word in ("agent.key_refused status=401", "the backend refused the API key", "agent.stopped sent_lines=0"):
        check(word in said, f"no {word!r} in: {said}")
    key = place.path / "key"
    key.write_text("wrong")
    agent = lib.agent(place, backend.url, "--exit-when-drained", f"--token-file={key}", env={"GPUFL_HTTP_TOKEN": ""})
    lib.until(lambda: "origin.hold" in agent.log.read_text(), "the key is refused")
    key.write_text(lib.KEY)
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    check("agent.key_refused" not in agent.log.read_text(), "it waited for the file")
    lib.same(backend, session)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
