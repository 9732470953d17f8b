#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes completions for bash, zsh and fish from what the programs say by --help, which the agent
prints from its option table. Usage: completions.py BUILD_DIR OUT_DIR [EMULATOR]; makes
OUT_DIR/PROGRAM.{bash,zsh,fish}."""
import itertools
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?:-\w, )?--([a-z][a-z-]*)(=\S+| \S+\|\S+| [A-Z][A-Z:]*)?")


def says(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def options(text):
    """{flag: (takes a value, its choices, the first clause of its help)}"""
    found = {flag: (bool(value), [], "") for flag, value in re.findall(r"\[--([a-z-]+)([= ][A-Z][A-Z:]*)?\]", text)}
    lines = text.split("\n\nExit status: ")[0].split("\n\nDurations: ")[0].splitlines()
    for at, line in enumerate(lines):
        if not re.match(r" +(-\w, )?--[a-z]", line):
            continue
        rest, flags = line.strip(), []
        while m := OPTION.match(rest):
            flags.append((m[1], m[2]))
            rest = rest[m.end():].removeprefix(", ") if rest[m.end():].startswith(", -") else rest[m.end():].strip()
        following = itertools.takewhile(lambda more: re.match(r" +(?!environment:)[^ -]", more), lines[at + 1:])
        words = re.split(r"[;,(]|: | = ", " ".join([rest, *map(str.strip, following)]))[0].strip()
        for flag, value in flags:
            choices = value[1:].split("|") if value and "|" in value else []
            found[flag] = (bool(value), choices, re.sub(r"[^\w :./%-]", "", words))
    return found


def bash(program, of_verbs):
    """of_verbs: {verb: (verbs below it, options())}; "" has those of the program itself."""
    verbs = of_verbs[""][0]
    words, choices = "", ""
    for verb, (below, flags) in sorted(of_verbs.items(), reverse=True):
        given = [*below, *(f"--{flag}{'=' if value else ''}" for flag, (value, _, _) in flags.items())]
        words += f"        {verb or '*'}) words='{' '.join(given)}' ;;\n"
        choices += "".join(f"        '{verb} --{flag}') words='{' '.join(of)}' ;;\n"
                           for flag, (_, of, _) in flags.items() if of)
    name = "_" + program.replace("-", "_")
    return (f"# Completion of {program}.\n{name}() {{\n"
            "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    local verb=${COMP_WORDS[1]} words\n"
            f"    [[ $COMP_CWORD -gt 1 && \" {' '.join(verbs)} \" == *\" $verb \"* ]] || verb=\n"
            f"    case $verb in\n{words}    esac\n"
            "    if [[ $before == = ]]; then\n        before=${COMP_WORDS[COMP_CWORD-2]}\n        words=\n"
            "    elif [[ $current == = ]]; then\n        before=${COMP_WORDS[COMP_CWORD-1]} current= words=\n    fi\n"
            f"    case \"$verb $before\" in\n{choices}    esac\n"
            "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
            "    [[ ${COMPREPLY[0]:-} == *= ]] && compopt -o nospace\n    return 0\n}\n"
            f"complete -o default -F {name} {program}\n")


def zsh(program, of_verbs):
    verbs = of_verbs[""][0]
    text = f"#compdef {program}\n"
    if verbs:
        text += f"local verb=$words[2]\n(( CURRENT > 2 )) && [[ $verb == ({'|'.join(verbs)}) ]] || verb=\ncase $verb in\n"
    for verb, (below, flags) in sorted(of_verbs.items(), reverse=True):
        lines = [f"'1:verb:({' '.join(below)})'"] if below else []
        for flag, (value, choices, words) in flags.items():
            words = words.replace(":", "\\:")
            action = f"({' '.join(choices)})" if choices else "_files"
            lines.append(f"'--{flag}=[{words}]:value:{action}'" if value else f"'--{flag}[{words}]'")
        call = "_arguments \\\n  " + " \\\n  ".join([*lines, "'*:file:_files'"])
        text += f"{verb or '*'})\n" + ("shift words; (( CURRENT-- ))\n" if verb else "") + f"{call} ;;\n" if verbs else call + "\n"
    return text + ("esac\n" if verbs else "")


def fish(program, of_verbs):
    verbs = of_verbs[""][0]
    no_verb = f" -n 'not __fish_seen_subcommand_from {' '.join(verbs)}'" if verbs else ""
    lines = [f"complete -c {program} -n __fish_use_subcommand -a {verb}" for verb in verbs]
    for verb, (below, flags) in of_verbs.items():
        where = f" -n '__fish_seen_subcommand_from {verb}'" if verb else no_verb
        if verb and below:
            lines.append(f"complete -c {program}{where} -a '{' '.join(below)}'")
        for flag, (value, choices, words) in flags.items():
            of = f" -a '{' '.join(choices)}'" if choices else ""
            lines.append(f"complete -c {program}{where} -l {flag}{' -r' if value else ''}{of} -d '{words}'")
    return "\n".join(lines) + "\n"


def verbs_in(text):
    return re.findall(r"^  ([a-z]+) ", text, re.M)


def main():
    build, out = map(pathlib.Path, sys.argv[1:3])
    emulator = sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    for program in ("gpufl", "gpufl-agent", "gpufl-backend"):
        own = says(*emulator, build / program, "--help")
        verbs = verbs_in(own) if program == "gpufl" else ["healthcheck"] if program == "gpufl-agent" else []
        of_verbs = {"": (verbs, options(own))}
        for verb in verbs:
            its = says(*emulator, build / program, verb, "--help")
            below = verbs if verb == "help" else verbs_in(its) if program == "gpufl" else []
            of_verbs[verb] = (below, options(its))
        for shell in (bash, zsh, fish):
            (out / f"{program}.{shell.__name__}").write_text(shell(program, of_verbs))


if __name__ == "__main__":
    main()
