# SPDX-License-Identifier: Apache-2.0
"""Each option that --help lists, with each kind of wrong value: one line says how to mend it, or the value has a meaning
that stands in the table below."""
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent import futures

import lib
from lib import check, equal
import sink

HOST = "http://127.0.0.1:9"
OPTION = re.compile(r"^  (?:-\w, |    )?--([\w-]+)(?:[ =](\S+))?(?:  .*)?$", re.M)
VARIABLE = re.compile(r"--([\w-]+)=\S+\n(?:      (?!environment).*\n)*      environment: (\w+)")
WAY_OUT = re.compile(r"\(.+\)$|:\d+:\d+: ")
KINDS = {"empty": "", "blank": " ", "newline": "a\nb\x1b[1m", "long": "x" * 5000, "negative": "-1", "huge": "9" * 30,
         "float": "1.5", "hex": "0x10", "unit": "5 parsecs", "trailing": "5 ", "word": "frobnicate",
         "directory": None, "missing": None}
PATHS = {"directory": "", "missing": "x/y"}  # in a directory of the run: state directories are made
NUMBERS = {"negative", "huge", "float", "hex", "unit", "trailing", "word"}
NAMES = NUMBERS | {"newline", "directory", "missing"}
FILES = NAMES - {"trailing"}
LABELS = {"negative", "huge", "float", "hex", "word"}

# What is no mistake that a program could see, by option or by what --help calls the value, and the meaning.
TAKEN = {
    "KEY": (LABELS | {"unit", "directory", "missing"}, "any text without control characters and outer blanks"),
    "--token": (LABELS | {"unit", "trailing", "directory", "missing"}, "the same, but blanks around it are ignored"),
    "NAME": (NAMES, "any text of at most 255 bytes"),
    "PATH": (LABELS | {"directory", "missing"}, "a path, with or without '/' before it"),
    "VERSION": (LABELS, "one part of a path"),
    "URL": ({"negative", "float", "hex", "word"}, "the name of a host, or a form of an address that inet_aton(3) reads"),
    "gpufl --backend-url": ({"negative", "word"}, "the same; others are public addresses, to which no key is sent"),
    "--state-dir": (FILES, "a directory, made if it is missing"),
    "--output": (FILES, "a directory, made if it is missing"),
    "gpufl verify --backend-url": (set(), "it is asked before anything is compared"),
    "gpufl verify --state-dir": (FILES | {"long"}, "looked at once something is to be sent again"),
    "gpufl status --state-dir": ({"directory"}, "it exists"),
    "gpufl quarantine --state-dir": ({"directory"}, "it exists"),
    "gpufl resolve --state-dir": ({"directory"}, "it exists"),
    "--folder": ({"directory"}, "it exists"),
    "--folders": ({"directory"}, "it exists"),
    "--cursor-file": (FILES - {"directory"}, "a file that is missing says nothing"),
    "--db": (NUMBERS - {"trailing"}, "the name of a file, created if it is missing"),
}


def _fresh(place):
    return pathlib.Path(tempfile.mkdtemp(dir=place.path))


def _options(place, *program):
    return dict(OPTION.findall(place.run(program[0], *program[1:], "--help").stdout))


def _shown(value):
    return value.replace("\n", "\\n").replace("\x1b", "\\x1b")[:60]


def _taken(program, option, word):
    name = f"{program} --{option}"
    found = TAKEN.get(name) or TAKEN.get(f"--{option}") or TAKEN.get(f"gpufl --{option}" if name.startswith("gpufl ") else "")
    return (found or TAKEN.get(word, (set(), "")))[0]


def _judge(program, option, names, kind, value, said):
    """Whether the first line refuses the option; then it has to be enough to mend it."""
    what = f"{program} --{option} {kind}: {said}"
    if not said.startswith(tuple(f"{program}: {n}: " for n in names)):
        return False
    check(said.count("\n") == 1 and said.endswith("\n"), f"one line: {what}")
    check(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", said) and len(said) <= 1000, f"it can be read: {what}")
    hidden = option in ("token", "api-key") or " and --api-path: longer than 511 bytes together" in said
    check(hidden or value in ("", " ") or _shown(value) in said, f"the value is named: {what}")
    check(hidden or kind != "long" or "xxx..." in said, f"that it is cut: {what}")
    check(WAY_OUT.search(said.strip()), f"a way out: {what}")
    return True


def _each(place, program, options, one, seen=frozenset()):
    """Options that another verb has shown are read by the same code: a few kinds are enough."""
    rows = [(o, w, k, v) for (o, w), (k, v) in itertools.product(options.items(), KINDS.items())
            if o not in seen or k in ("blank", "newline", "word")]
    rows = rows[::5] if lib.MEASURES_ITSELF else rows  # each starts a slow program
    wrong = []

    def judge(row):
        option, word, kind, value = row
        value = str(_fresh(place) / PATHS[kind]) if kind in PATHS else value
        try:
            refused = one(option, kind, value)
        except lib.Failed as failed:
            wrong.append(str(failed)[:600])
            return
        expected = kind not in _taken(program, option, word.strip("[]"))
        if refused != expected:
            wrong.append(f"--{option} {kind} is {'refused' if refused else 'taken'}")
    with futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(judge, row) for row in rows]:
            done.result()
    check(not wrong, f"{program}: {len(wrong)} of {len(rows)}:\n" + "\n".join(sorted(wrong)))


def wrong_values_of_the_agent_are_refused_by_start_and_check_alike(place):
    options = _options(place, "gpufl-agent")
    check(len(options) >= 40, f"options that were found: {options}")
    with sink.Sink(declare=True) as s:
        def run(option, value, *more):
            logs = _fresh(place)
            usual = {"folder": logs, "host": s.url, "exit-when-drained": "yes", "exit-if-empty": "yes", "landlock": "off"}
            args = [f"--{k}={v}" for k, v in usual.items() if k != option]
            return place.run("gpufl-agent", *args, f"--{option}={value}", *more, cwd=_fresh(place))

        def one(option, kind, value):
            started = run(option, value)
            names = (f"--{option}", *([value] if option == "config" else []), "--host and --api-path")
            refused = _judge("gpufl-agent", option, names, kind, value, started.stderr)
            if not refused and option in ("host", "proxy", "api-path", "api-version", "token"):
                return False  # the check asks the backend
            tried = run(option, value, "--check")
            equal(tried.returncode, 2 if refused else 0, f"--check --{option} {kind}: {started.stderr}{tried.stderr}")
            same = [re.sub(rf"{place.path}/tmp\w+", "", done.stderr) for done in (started, tried)]
            check(not refused or same[0] in same[1], f"start: {started.stderr}check: {tried.stderr}")
            return refused
        _each(place, "gpufl-agent", options, one)


def _usual(place, verb):
    to = ("--backend-url", HOST, "--api-key", "k")
    out = ("-o", place.path / "out")
    return {"upload": (place.logs, *to), "verify": (place.logs, "--resend", *to), "status": (place.logs,), "export": (place.logs,),
            "resolve": (place.logs, "s"), "quarantine": ("retry", place.logs, "--all", *to),
            "trace": (*out, "--upload", *to), "monitor": (*out, "--duration=1ms", "--upload", *to), "info": ()}[verb]


def wrong_values_of_each_verb_are_refused(place):
    verbs = re.findall(r"^  (\w+)  ", place.run("gpufl", "--help").stdout, re.M)
    seen = set()
    for verb in verbs:
        options = _options(place, "gpufl", verb)
        if set(options) == {"help", "version"}:
            continue

        def one(option, kind, value, verb=verb):
            tail = ("--", "true") if verb == "trace" else ()
            done = place.run("gpufl", verb, *_usual(place, verb), f"--{option}={value}", *tail, cwd=_fresh(place))
            refused = _judge(f"gpufl {verb}", option, (f"--{option}", "--backend-url and --api-path"), kind, value, done.stderr)
            check(not refused or done.returncode == 2 or (verb, option, done.returncode) == ("monitor", "output", 3),
                  f"{verb} --{option} {kind}: {done.returncode}")
            return refused
        _each(place, f"gpufl {verb}", options, one, seen)
        seen.update(options)


def wrong_values_of_the_healthcheck_are_refused(place):
    def one(option, kind, value):
        done = place.run("gpufl-agent", "healthcheck", f"--{option}={value}")
        return _judge("gpufl-agent healthcheck", option, (f"--{option}",), kind, value, done.stderr)
    _each(place, "gpufl-agent healthcheck", _options(place, "gpufl-agent", "healthcheck"), one)


def wrong_values_of_the_backend_are_refused(place):
    count = itertools.count()

    def one(option, kind, value):
        usual = {"listen": "127.0.0.1:0", "db": place.path / f"{next(count)}.db"}
        args = [f"--{k}={v}" for k, v in usual.items() if k != option]
        with subprocess.Popen([*lib.EMULATOR, lib.BUILD / "gpufl-backend", *args, f"--{option}={value}"], cwd=_fresh(place),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=lib.environment({})) as backend:
            serves = backend.stdout.readline()
            if serves:
                backend.terminate()
            said = backend.stderr.read()
        refused = _judge("gpufl-backend", option, (f"--{option}",), kind, value, said)
        check(refused == (not serves), f"--{option} {kind}: {serves}{said}")
        return refused
    _each(place, "gpufl-backend", _options(place, "gpufl-backend"), one)


def a_variable_or_a_key_is_named_where_it_is_wrong(place):
    """Of each option of the agent that has one, by the table of its options."""
    table = (lib.ROOT / "agent/options/option_table.c").read_text()
    table = [row for row in re.findall(r"\{\.flag.*?\}", table, re.S) if ".kind = KIND" not in row]
    keys = dict(m for row in table for m in re.findall(r'\.flag = "([\w-]+)".*?\.key = "([\w.]+)"', row, re.S))
    variables = dict(VARIABLE.findall(place.run("gpufl-agent", "--help").stdout))
    switches = dict(re.findall(r"--([\w-]+)\n(?:      (?!environment).*\n)*      environment: (\w+)",
                               place.run("gpufl-agent", "--help").stdout))
    variables.update(switches)
    check(len(keys) >= 35 and len(variables) >= 37, f"{len(keys)} keys, {len(variables)} variables")
    taken = {"KEY", "PATH", "VERSION", "--state-dir", "--cursor-file"}
    options = _options(place, "gpufl-agent")
    value = "a\nb"

    def one(option, name, env, *args):
        usual = {"folder": place.logs, "host": HOST}
        args = [*args, *(f"--{k}={v}" for k, v in usual.items() if k != option), "--exit-when-drained", "--exit-if-empty",
                "--landlock=off"]
        said = place.run("gpufl-agent", *args, env=env, cwd=place.path).stderr
        shown = option == "token" or "a\\nb" in said
        check(re.match(rf"gpufl-agent: (\S+:\d+:\d+: )?{re.escape(name)}: ", said) and shown and said.count("\n") == 1,
              f"{name}: {said}")
    rows = [(o, v, {v: value}) for o, v in variables.items()]
    for number, (option, key) in enumerate(keys.items()):
        file = place.path / f"{number}.json"
        group, name = key.split(".")
        file.write_text(lib.json.dumps({group: {name: value}}))
        rows.append((option, key, {}, f"--config={file}"))
    rows = [row for row in rows if not {f"--{row[0]}", options[row[0]]} & (taken - {"KEY", "PATH"})]
    with futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(one, *row) for row in rows]:
            done.result()


# Of the variables that libgpufl reads: those for which any text is a value.
TEXTS = {"GPUFL_APP_NAME", "GPUFL_LOG_DIR", "GPUFL_BACKEND_URL", "GPUFL_API_KEY", "GPUFL_API_PATH", "GPUFL_POD_NAME",
         "GPUFL_POD_NAMESPACE", "GPUFL_NODE_NAME", "GPUFL_SYSFS"}


def a_variable_of_the_recorder_that_is_wrong_is_named_once(place):
    """With its value and what is expected; the job records all the same."""
    core = (lib.ROOT / "collector-lib/core").glob("*.c")
    sources = "".join(path.read_text() for path in [*core, lib.ROOT / "collector-lib/sample/sysfs.c"])
    variables = set(re.findall(r'"(GPUFL_[A-Z_]+)"', sources)) - TEXTS
    check(len(variables) >= 12, f"variables: {variables}")
    for number, (name, value) in enumerate(itertools.product(sorted(variables), ("a\nb\x1b[1m", " 5 parsecs"))):
        logs = place.path / f"recorded-{number}"
        done = place.run("tests/e2e/script", f"log_path={logs}", "init", "shutdown", env={name: value})
        shown = _shown(value)
        said = [line for line in done.stderr.splitlines() if name in line or shown in line]
        check(len(said) == 1 and said[0].startswith("[GPUFL] ") and shown in said[0], f"{name}={value!r}: {done.stderr}")
        check("expected" in said[0] or name == "GPUFL_CONFIG_FILE", said[0])
        check("\x1b" not in done.stderr and any(logs.iterdir()), f"{name}: {done.stderr}")


def a_path_brings_no_control_character_into_a_message(place):
    """Of libgpufl, of an upload and of its result."""
    logs, file = place.path / "lo\x1b[1m\ngs", place.path / "fi\x1b[1m\nle"
    logs.mkdir(mode=0o700)
    file.write_text("")
    for path, said in ((logs, "[GPUFL] session "), (file, "[GPUFL] not recording: ")):
        done = place.run("tests/e2e/script", f"log_path={path}", "init", "shutdown", env={"GPUFL_DEBUG": "1"})
        line, = (line for line in done.stderr.splitlines() if line.startswith(said))
        check("\x1b" not in done.stderr and _shown(path.name) in line, f"{path}: {done.stderr!r}")
    for args in ((file,), (logs, "--session-id", "a\x1bb")):
        done = place.run("gpufl", "upload", *args, "--backend-url", HOST, "--api-key", "k", "--retries=1", "--json")
        said = lib.json.loads(done.stdout)["message"]
        check(done.returncode == 2 and "\x1b" not in said + done.stderr and "\\x1b" in said, f"{args}: {said!r} {done.stderr!r}")


def of_an_option_that_is_given_twice_the_last_one_counts(place):
    """In each program, as its manual says; a name is not abbreviated."""
    manual = {"gpufl": "gpufl.1", "gpufl-agent": "gpufl-agent.8", "gpufl-backend": "gpufl-backend.8"}
    wrong = "127.0.0.1:x"
    for name, args in (("gpufl", ("monitor", "--interval=x")), ("gpufl-agent", (f"--listen={wrong}",)),
                       ("gpufl-backend", (f"--listen={wrong}",))):
        text = " ".join((lib.ROOT / "packaging/man" / manual[name]).read_text().split())
        check("the last one counts" in text and "not abbreviated" in text, name)
        first, last = args[-1].split("=")
        usual = (f"--folder={place.logs}", f"--host={HOST}") if name == "gpufl-agent" else ()
        before = f"{first}=127.0.0.1:0" if "listen" in first else f"{first}=5"
        said = place.run(name, *args[:-1], *usual, before, args[-1]).stderr
        check(f": {first}: invalid value '{last}'" in said, said)
        part = first[:-2]
        said = place.run(name, *args[:-1], f"{part}={last}").stderr
        check(f": {part}: unknown option (did you mean {first}?)" in said, said)
    folder = os.path.join(place.path, "one")
    os.mkdir(folder, 0o700)
    said = place.run("gpufl-agent", f"--folder={place.logs}", "--folder=/nowhere", f"--folder={folder}", f"--host={HOST}",
                     "--exit-when-drained", "--exit-if-empty").stderr
    check("--folder: '/nowhere': No such file" in said, f"folders add: {said}")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
