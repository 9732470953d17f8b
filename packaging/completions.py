#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes completions for bash, zsh and fish from what the programs say by --help, which the agent
prints from its option table. Usage: completions.py BUILD_DIR OUT_DIR [EMULATOR]; makes
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
    found = {flag: (bool(value), [], "") for flag, value in re.findall(r"\[--([a-z-]+)([= ][A-Z][A-Z:]*)?\]", text)}
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


def bash(program, of_verbs):
    """of_verbs: {verb: options()}; "" has those of the program itself, without a verb."""
    verbs = [v for v in of_verbs if v]
    words, choices = "", ""
    for verb, flags in sorted(of_verbs.items(), reverse=True):
        given = [*([] if verb else verbs),
                 *(f"--{flag}{'=' if value else ''}" for flag, (value, _, _) in flags.items())]
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
    verbs = [v for v in of_verbs if v]
    text = f"#compdef {program}\n"
    if verbs:
        text += f"local verb=$words[2]\n(( CURRENT > 2 )) && [[ $verb == ({'|'.join(verbs)}) ]] || verb=\ncase $verb in\n"
    for verb, flags in sorted(of_verbs.items(), reverse=True):
        lines = [f"'1:verb:({' '.join(verbs)})'"] if verbs and not verb else []
        for flag, (value, choices, words) in flags.items():
            action = f"({' '.join(choices)})" if choices else "_files"
            lines.append(f"'--{flag}=[{words}]:value:{action}'" if value else f"'--{flag}[{words}]'")
        call = "_arguments \\\n  " + " \\\n  ".join([*lines, "'*:file:_files'"])
        text += f"{verb or '*'})\n" + ("shift words; (( CURRENT-- ))\n" if verb else "") + f"{call} ;;\n" if verbs else call + "\n"
    return text + ("esac\n" if verbs else "")


def fish(program, of_verbs):
    verbs = [v for v in of_verbs if v]
    no_verb = f" -n 'not __fish_seen_subcommand_from {' '.join(verbs)}'" if verbs else ""
    lines = [f"complete -c {program} -n __fish_use_subcommand -a {verb}" for verb in verbs]
    for verb, flags in of_verbs.items():
        where = f" -n '__fish_seen_subcommand_from {verb}'" if verb else no_verb
        for flag, (value, choices, words) in flags.items():
            of = f" -a '{' '.join(choices)}'" if choices else ""
            lines.append(f"complete -c {program}{where} -l {flag}{' -r' if value else ''}{of} -d '{words}'")
    return "\n".join(lines) + "\n"


def main():
    build, out = map(pathlib.Path, sys.argv[1:3])
    emulator = sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    for program in ("gpufl", "gpufl-agent", "gpufl-backend"):
        own = says(*emulator, build / program, "--help")
        verbs = re.findall(r"^  ([a-z]+) ", own, re.M) if program == "gpufl" else []
        verbs += ["healthcheck"] if program == "gpufl-agent" else []
        of_verbs = {"": options(own)}
        for verb in verbs:
            of_verbs[verb] = {} if verb == "version" else options(says(*emulator, build / program, verb, "--help"))
        for shell in (bash, zsh, fish):
            (out / f"{program}.{shell.__name__}").write_text(shell(program, of_verbs))


if __name__ == "__main__":
    main()
