# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish offer for a TAB is what the programs take at that place."""
import os
import pty
import re
import select
import subprocess
import sys

import lib
from lib import check, equal

PROGRAMS = ("gpufl", "gpufl-agent", "gpufl-backend")
# In the directory: sessions-dir/, the file sessions-file, roots.pem. In PATH: only-a-command.
DIRECTORY = ("sess", "sessions-dir")
FILE = ("roo", "roots.pem")
PAIRS = (
    ("gpufl qua", "quarantine"),
    ("gpufl status sess", "sessions-dir"),
    ("gpufl status --json sess", "sessions-dir"),
    ("gpufl status --state-dir elsewhere sess", "sessions-dir"),
    ("gpufl upload sess", "sessions-dir"),
    ("gpufl upload --state-dir=sess", "--state-dir=sessions-dir"),
    ("gpufl upload --ca-file=roo", "--ca-file=roots.pem"),
    ("gpufl upload logs --api-key sess", "sess"),
    ("gpufl quarantine ret", "retry"),
    ("gpufl quarantine retry sess", "sessions-dir"),
    ("gpufl trace -e Pc", "PcSampling"),
    ("gpufl trace --engine=Pc", "--engine=PcSampling"),
    ("gpufl trace -o sess", "sessions-dir"),
    ("gpufl trace --all", "--allow-insecure-http"),
    ("gpufl trace only-a-com", "only-a-command"),
    ("gpufl trace -e Trace only-a-com", "only-a-command"),
    ("gpufl trace -- only-a-com", "only-a-command"),
    ("gpufl trace only-a-command roo", "roots.pem"),
    ("gpufl trace only-a-command --all", "--all"),
    ("gpufl trace -- --all", "--all"),
    ("gpufl trace -- only-a-command --all", "--all"),
    ("gpufl trace -- only-a-command -n --all", "--all"),
    ("gpufl-agent --log-f", "--log-format="),
    ("gpufl-agent --log-format=j", "--log-format=json"),
    ("gpufl-agent --rea", "--read-timeout="),
    ("gpufl-agent healthcheck --rea", "--ready"),
    ("gpufl-agent healthcheck --he", "--help"),
    ("gpufl-agent healthcheck --ver", "--version"),
    ("gpufl-agent healthcheck --fol", "--fol"),
)


def _made(place):
    """Where the completions are, and what they complete."""
    out = place.path / "out"
    subprocess.run([sys.executable, lib.ROOT / "packaging/completions.py", lib.BUILD, out], check=True)
    (place.logs / "sessions-dir").mkdir()
    (place.logs / "sessions-file").touch()
    (place.logs / "roots.pem").touch()
    (place.path / "bin").mkdir()
    command = place.path / "bin/only-a-command"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    return out


def _paths_of_options(place):
    """A pair for each option whose value the help calls a directory or a file."""
    texts = [(program, place.run(program, "--help").stdout) for program in PROGRAMS]
    for verb in re.findall(r"^  ([a-z]+) ", texts[0][1], re.M):
        texts.append((f"gpufl {verb}", place.run("gpufl", verb, "--help").stdout))
    pairs = [(f"{start} --{flag} {made[0]}", made[1]) for start, text in texts
             for flag, kind in re.findall(r"^ +(?:-\w, )?--([a-z-]+)[ =](DIR|FILE)", text, re.M)
             for made in [DIRECTORY if kind == "DIR" else FILE]]
    check(len(pairs) > 15, f"{pairs}")
    return pairs


def _typed(place, command, lines):
    """The last argument of each line as the shell runs it, with a TAB behind the line."""
    manager, terminal = pty.openpty()
    shell = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=place.logs,
                             start_new_session=True, env=_environment(place))
    os.close(terminal)
    seen = ""

    def after(pattern):
        nonlocal seen
        while not (found := re.search(pattern, seen, re.S)):
            check(select.select([manager], [], [], 20 * lib.SLOW)[0], f"{command[0]}: no {pattern} in {seen!r}")
            seen += os.read(manager, 65536).decode(errors="replace")
        seen = seen[found.end():]
        return found[1]

    last = []
    try:
        for line in lines:
            after("(READY> )")
            os.write(manager, f"{line}\t\r".encode())
            last.append(after(r"GOT<([^>]*)>"))
    finally:
        shell.kill()
        shell.wait()
        os.close(manager)
    return last


def _environment(place):
    return lib.environment({"PATH": f"{place.path}/bin:/usr/bin:/bin", "HOME": str(place.path), "TERM": "dumb",
                            "INPUTRC": "/dev/null", "ZDOTDIR": str(place.path / "zsh"), "LC_ALL": "C.UTF-8"})


def _agree(shell, pairs, said):
    """A shell may remove the sign that it has added when the line ends there."""
    equal([(line, got) for (line, want), got in zip(pairs, said) if got.rstrip("/=") != want.rstrip("=")], [], shell)


# Each shell runs the line, with the programs replaced by functions that print their last argument.
PRINTERS = "".join(f"{program}() {{ printf 'GOT<%s>\\n' \"${{@: -1}}\"; }}\n" for program in PROGRAMS)


def bash_completes_what_is_typed(place):
    out = _made(place)
    start = place.path / "bashrc"
    start.write_text(f"for p in {' '.join(PROGRAMS)}; do . {out}/$p.bash; done\n{PRINTERS}PS1='READY> '\n"
                     "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'\n")
    pairs = [*PAIRS, *_paths_of_options(place)]
    _agree("bash", pairs, _typed(place, ["bash", "--noprofile", "--rcfile", start, "-i"], [p[0] for p in pairs]))


def zsh_completes_what_is_typed(place):
    out = _made(place)
    start = place.path / "zsh"
    start.mkdir()
    for program in PROGRAMS:
        (start / f"_{program}").write_text((out / f"{program}.zsh").read_text())
    (start / ".zshrc").write_text(f"fpath=({start} $fpath); autoload -Uz compinit; compinit -u -d {start}/dump\n"
                                  f"{PRINTERS}PS1='READY> '; unsetopt beep prompt_sp zle_bracketed_paste\n"
                                  "unset zle_bracketed_paste; bindkey '^I' complete-word\n")
    pairs = [*PAIRS, *_paths_of_options(place)]
    _agree("zsh", pairs, _typed(place, ["zsh", "-d", "-i"], [p[0] for p in pairs]))


def fish_offers_what_fits(place):
    out = _made(place)
    pairs = [*PAIRS, *_paths_of_options(place)]
    script = (f"for p in {' '.join(PROGRAMS)}; source {out}/$p.fish; end\n"
              "for line in $argv; complete -C $line; echo =; end\n")
    done = subprocess.run(["fish", "-N", "-c", script, *(p[0] for p in pairs)], capture_output=True, text=True,
                          check=True, cwd=place.logs, env=_environment(place))
    equal(done.stderr, "", "fish")
    offers = [[line.split("\t")[0] for line in text.splitlines()] for text in done.stdout.split("=\n")[:-1]]
    equal(len(offers), len(pairs), "answers")
    said = []
    for (line, want), offered in zip(pairs, offers):  # it offers what contains the word, too: what begins with it counts
        last = line.split()[-1]
        begins = [o for o in offered if o.startswith(last)]
        said.append(begins[0] if len(begins) == 1 else f"{begins}" if begins else last)
    _agree("fish", pairs, said)


def _flags(text):
    return set(re.findall(r"--([a-z][a-z-]*)", text))


def _help(place, program):
    own = place.run(program, "--help").stdout
    verbs = re.findall(r"^  ([a-z]+) ", own, re.M) if program == "gpufl" else ["healthcheck"] * (program == "gpufl-agent")
    return "\n".join([own, *(place.run(program, verb, "--help").stdout for verb in verbs)])


def each_option_is_offered(place):
    out = _made(place)
    for program in PROGRAMS:
        for shell in ("bash", "zsh", "fish"):
            text = (out / f"{program}.{shell}").read_text()
            missing = {f for f in _flags(_help(place, program)) if not re.search(rf"(--|-l ){f}\b", text)}
            equal(missing, set(), f"{program}.{shell}")

    def complete(program, *words):
        script = (f"source {out}/{program}.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1));"
                  f"compopt() {{ :; }}; _{program.replace('-', '_')}; echo \"${{COMPREPLY[*]}}\"")
        return subprocess.run(["bash", "-c", script, "-", *words], capture_output=True, text=True,
                              check=True).stdout.split()

    equal(complete("gpufl-agent", "gpufl-agent", "--log-f"), ["--log-format="], "a flag")
    equal(complete("gpufl-agent", "gpufl-agent", "--log-format", "=", "j"), ["json"], "a choice")
    equal(complete("gpufl-agent", "gpufl-agent", "--log-format", "="), ["text", "json"], "all choices")
    equal(complete("gpufl", "gpufl", "up"), ["upload"], "a verb")
    equal(complete("gpufl", "gpufl", "upload"), ["upload"], "a whole verb")
    verbs = [v for v in complete("gpufl", "gpufl", "") if v[0] != "-"]
    check(len(verbs) == 11, f"{verbs}")
    for program, verb in [*(("gpufl", v) for v in verbs), ("gpufl-agent", "healthcheck")]:
        offered = {w.strip("-=") for w in complete(program, program, verb, "--")}
        text = place.run(program, verb, "--help").stdout
        listed = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)) if program == "gpufl" else _flags(text)
        equal(offered, listed, verb)
    equal(complete("gpufl", "gpufl", "trace", "--engine", "=", "M"), ["Monitor"], "a choice of a verb")
    equal(complete("gpufl", "gpufl", "upload", "--compression", ""), ["auto", "zstd", "gzip", "none"], "behind a blank")
    equal(complete("gpufl", "gpufl", "quarantine", "r"), ["retry"], "an action")
    equal(complete("gpufl", "gpufl", "help", "q"), ["quarantine"], "a verb to have explained")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
