#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes completions for bash, zsh and fish from what the programs say by --help, which the agent
prints from its option table. Usage: completions.py BUILD_DIR OUT_DIR; makes
OUT_DIR/PROGRAM.{bash,zsh,fish}."""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?:-\w, )?--([a-z][a-z-]*)(=\S+| [A-Z][A-Z:]*)?")


def says(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def options(text):
    """{flag: (takes a value, its choices, the first words of its help)}"""
    found = {flag: (bool(value), [], "") for flag, value in re.findall(r"\[--([a-z-]+)([= ][A-Z]+)?\]", text)}
    lines = text.split("\n\nExit: ")[0].split("\n\nDurations: ")[0].splitlines()
    for at, line in enumerate(lines):
        if not re.match(r" +(-\w, )?--[a-z]", line):
            continue
        rest, flags = line.strip(), []
        while m := OPTION.match(rest):
            flags.append((m[1], m[2]))
            rest = rest[m.end():].removeprefix(", ") if rest[m.end():].startswith(", -") else rest[m.end():].strip()
        following = lines[at + 1].strip() if at + 1 < len(lines) else ""
        words = (rest or following).split(" (default")[0]
        for flag, value in flags:
            choices = value[1:].split("|") if value and "|" in value else []
            found[flag] = (bool(value), choices, re.sub(r"[^\w ,;./%()-]", "", words))
    return found


def bash(program, verbs, flags):
    words = [*verbs, *(f"--{flag}{'=' if value else ''}" for flag, (value, _, _) in flags.items())]
    choices = "".join(f"        --{flag}) words='{' '.join(of)}' ;;\n" for flag, (_, of, _) in flags.items() if of)
    name = "_" + program.replace("-", "_")
    return (f"# Completion of {program}.\n{name}() {{\n"
            "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
            f"    local words='{' '.join(words)}'\n"
            "    if [[ $before == = ]]; then\n        before=${COMP_WORDS[COMP_CWORD-2]}\n        words=\n"
            "    elif [[ $current == = ]]; then\n        before=${COMP_WORDS[COMP_CWORD-1]} current= words=\n    fi\n"
            f"    case $before in\n{choices}    esac\n"
            "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
            "    [[ ${COMPREPLY[0]:-} == *= ]] && compopt -o nospace\n    return 0\n}\n"
            f"complete -o default -F {name} {program}\n")


def zsh(program, verbs, flags):
    lines = [f"'1:verb:({' '.join(verbs)})'"] if verbs else []
    for flag, (value, choices, words) in flags.items():
        action = f"({' '.join(choices)})" if choices else "_files"
        lines.append(f"'--{flag}=[{words}]:value:{action}'" if value else f"'--{flag}[{words}]'")
    return f"#compdef {program}\n_arguments \\\n  " + " \\\n  ".join([*lines, "'*:file:_files'"]) + "\n"


def fish(program, verbs, flags):
    lines = [f"complete -c {program} -n __fish_use_subcommand -a {verb}" for verb in verbs]
    for flag, (value, choices, words) in flags.items():
        of = f" -a '{' '.join(choices)}'" if choices else ""
        lines.append(f"complete -c {program} -l {flag}{' -r' if value else ''}{of} -d '{words}'")
    return "\n".join(lines) + "\n"


def main():
    build, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    verbs = re.findall(r"^  ([a-z]+) ", says(build / "gpufl", "--help"), re.M)
    of_verbs = {}
    for verb in verbs:
        if verb != "version":
            of_verbs = options(says(build / "gpufl", verb, "--help")) | of_verbs
    for program, its_verbs, flags in (
            ("gpufl-agent", ["healthcheck"], options(says(build / "gpufl-agent", "--help"))),
            ("gpufl-backend", [], options(says(build / "gpufl-backend", "--help"))),
            ("gpufl", verbs, of_verbs)):
        for shell in (bash, zsh, fish):
            (out / f"{program}.{shell.__name__}").write_text(shell(program, its_verbs, flags))


if __name__ == "__main__":
    main()
