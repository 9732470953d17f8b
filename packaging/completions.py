#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes completions for bash, zsh and fish from what the programs say by --help, which the agent
prints from its option table. Usage: completions.py BUILD_DIR OUT_DIR [EMULATOR]; makes
OUT_DIR/PROGRAM.{bash,zsh,fish}."""
import dataclasses
import itertools
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?:-(\w), )?--([a-z][a-z-]*)(=\S+| \S+\|\S+| [A-Z][A-Z:]*)?")


@dataclasses.dataclass
class Option:
    short: str
    value: str  # its placeholder, such as DIR; "" = it takes none
    words: str  # the first clause of its help

    def choices(self):
        return self.value.split("|") if "|" in self.value else []

    def is_dir(self):
        return self.value.startswith("DIR")

    def is_file(self):
        return self.value.startswith("FILE")


@dataclasses.dataclass
class Verb:
    below: list  # the words that its first operand can be
    options: dict
    operands: list  # placeholders of the operands behind the first word

    def command_at(self):
        return len(self.operands) if self.operands[-1:] == ["COMMAND"] else 0

    def dir_at(self):
        return bool(self.below) + self.operands.index("DIR") + 1 if "DIR" in self.operands else 0


def says(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def options_in(text):
    """{flag: Option}"""
    found = {}
    lines = text.split("\n\nExit status: ")[0].split("\n\nDurations: ")[0].splitlines()
    for at, line in enumerate(lines):
        if not re.match(r" +(-\w, )?--[a-z]", line):
            continue
        rest, flags = line.strip(), []
        while m := OPTION.match(rest):
            flags.append((m[2], m[1] or "", (m[3] or " ")[1:]))
            rest = rest[m.end():].removeprefix(", ") if rest[m.end():].startswith(", -") else rest[m.end():].strip()
        following = itertools.takewhile(lambda more: re.match(r" +(?!environment:)[^ -]", more), lines[at + 1:])
        words = re.split(r"[;,(]|: | = ", " ".join([rest, *map(str.strip, following)]))[0].strip()
        for flag, short, value in flags:
            found[flag] = Option(short, value, re.sub(r"[^\w :./%-]", "", words))
    return found


def operands_in(text):
    """The operands of the first usage line: placeholders outside brackets."""
    line = re.sub(r"\[[^]]*\]", "", text.splitlines()[0])
    return re.findall(r"\b[A-Z]{2,}\b", re.sub(r"--\S+", "", line))


def verbs_in(text):
    return re.findall(r"^  ([a-z]+) ", text, re.M)


def spellings(option, flag):
    return [f"--{flag}", *([f"-{option.short}"] if option.short else [])]


def bash(program, of_verbs):
    """of_verbs: {verb: Verb}; "" is the program itself."""
    name = "_" + program.replace("-", "_")
    takes, words, paths, ends = "", "", "", ""
    for verb, of in sorted(of_verbs.items(), reverse=True):
        for flag, option in of.options.items():
            kind = ("dirs" if option.is_dir() else "files" if option.is_file()
                    else " ".join(option.choices()) or "any")
            if option.value:
                takes += f"        {'|'.join(repr(f'{verb} {s}') for s in spellings(option, flag))}) value='{kind}' ;;\n"
        flags = " ".join(f"--{flag}{'=' if o.value else ''}" for flag, o in of.options.items())
        words += f"        '{verb}') below='{' '.join(of.below)}' flags='{flags}' ;;\n"
        if of.dir_at():
            paths += f"            '{verb} {of.dir_at() - 1}') value=dirs ;;\n"
        if of.command_at():
            paths += f"            '{verb} 0') value=command ;;\n            '{verb} '*) value=files ;;\n"
            ends += f"\n                [[ $verb != {verb} ]] || ended=1"
    return f"""# Completion of {program}.
# Sets value to what the option $1, which is "VERB OPTION", takes: empty if nothing.
{name}_takes() {{
    value=
    case $1 in
{takes}    esac
}}
{name}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} verb= value= operands=0 ended= at word below flags
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${{COMP_WORDS[at]}}
        if [[ $value && $word == = ]]; then # bash cuts --option=value at the sign
            continue
        elif [[ $value ]]; then
            value=
        elif [[ $ended || $word != -?* ]]; then
            if [[ -z $verb && $operands == 0 && " {' '.join(of_verbs[""].below)} " == *" $word "* ]]; then
                verb=$word
            else
                ((operands += 1)){ends}
            fi
        elif [[ $word == -- ]]; then
            ended=1
        else
            {name}_takes "$verb $word"
        fi
    done
    [[ $current == = ]] && current=
    case $verb in
{words}    esac
    if [[ -z $value ]]; then
        [[ $operands == 0 ]] || below=
        [[ $ended ]] && flags=
        if [[ $ended || $current != -* ]]; then
            case "$verb $operands" in
{paths}            *) value="$below $flags" ;;
            esac
        else
            value=$flags
        fi
    fi
    COMPREPLY=()
    case $value in # readline itself offers paths, as it knows how to quote them
        any) ;;
        dirs) compopt -o dirnames ;;
        files) compopt -o default ;;
        command) compopt -o default; COMPREPLY=($(compgen -c -- "$current")) ;;
        *) COMPREPLY=($(compgen -W "$value" -- "$current")) ;;
    esac
    [[ ${{COMPREPLY[0]:-}} == *= ]] && compopt -o nospace
    return 0
}}
complete -F {name} {program}
"""


def zsh(program, of_verbs):
    verbs = of_verbs[""].below
    text = f"#compdef {program}\n"
    if verbs:
        text += f"local verb=$words[2]\n(( CURRENT > 2 )) && [[ $verb == ({'|'.join(verbs)}) ]] || verb=\ncase $verb in\n"
    for verb, of in sorted(of_verbs.items(), reverse=True):
        lines = [f"'1:verb:({' '.join(of.below)})'"] if of.below else []
        for flag, option in of.options.items():
            words = option.words.replace(":", "\\:")
            action = ("_files -/" if option.is_dir() else "_files" if option.is_file()
                      else f"({' '.join(option.choices())})" if option.choices() else " ")
            both = spellings(option, flag)
            for each in both:
                sign = "=" if option.value and each.startswith("--") else ""
                lines.append(f"'({' '.join(both)}){each}{sign}[{words}]" + (f":value:{action}'" if option.value else "'"))
        if of.dir_at():
            lines.append(f"'{of.dir_at()}:directory:_files -/'")
        if of.command_at():
            lines += ["'(-)1:command:_command_names -e'", "'*::arguments:_normal'"]
        own_only = "-A '-*' " if of.command_at() else ""  # what follows the command belongs to it
        call = " \\\n  ".join([f"_arguments -S {own_only}:", *lines])
        text += f"{verb or '*'})\n" + ("shift words; (( CURRENT-- ))\n" if verb else "") + f"{call} ;;\n" if verbs else call + "\n"
    return text + ("esac\n" if verbs else "")


def fish(program, of_verbs):
    at = "__" + program.replace("-", "_") + "_at"
    valued = " ".join(f"'{verb} {s}'" for verb, of in of_verbs.items() for flag, option in of.options.items()
                      if option.value for s in spellings(option, flag))
    lines = [f"# Prints the verb before the cursor, how many operands follow it, and the first one's place.",
             f"function {at}",
             "    set -l verb ''; set -l operands 0; set -l value ''; set -l ended ''; set -l first 0; set -l place 1",
             "    for word in (commandline -opc)[2..]",
             "        set place (math $place + 1)",
             "        if test -n \"$value\"",
             "            set value ''",
             "        else if test -z \"$ended\"; and test \"$word\" = --",
             "            set ended 1",
             "        else if test -z \"$ended\"; and string match -q -- '-*' $word",
             f"            contains -- \"$verb $word\" {valued}; and set value 1",
             f"        else if test -z \"$verb\"; and test $operands = 0; and contains -- $word {' '.join(of_verbs[''].below)}",
             "            set verb $word",
             "        else",
             "            test $operands = 0; and set first $place",
             "            set operands (math $operands + 1)",
             "        end",
             "    end",
             "    test -n \"$ended\"; and test $operands = 0; and set operands ended",
             "    echo \"$verb:$operands:$first\"",
             "end",
             f"complete -c {program} -f"]
    for verb, of in of_verbs.items():
        def where(pattern):
            return f" -n 'string match -qr \"^{verb}:{pattern}:\" -- ({at})'"
        if of.below:
            lines.append(f"complete -c {program}{where('0')} -a '{' '.join(of.below)}'")
        if of.dir_at():
            lines.append(f"complete -c {program}{where(f'({of.dir_at() - 1}|ended)')} -xa '(__fish_complete_directories)'")
        if of.command_at():
            lines += [f"function {at}_command # what fish offers without the words before the command",
                      f"    set -l first (string split : ({at}))[3]; set -l words (commandline -opc)",
                      "    test $first -gt 0; and set words $words[$first..]; or set words",
                      "    complete --do-complete=(string join ' ' -- $words (commandline -ct))",
                      "end",
                      f"complete -c {program}{where('([0-9]+|ended)')} -xa '({at}_command)'"]
        for flag, option in of.options.items():
            short = f" -s {option.short}" if option.short else ""
            takes = (" -xa '(__fish_complete_directories)'" if option.is_dir() else " -rF" if option.is_file()
                     else f" -xa '{' '.join(option.choices())}'" if option.value else "")
            lines.append(f"complete -c {program}{where('0' if of.command_at() else '[0-9]+')}{short} -l {flag}{takes} -d '{option.words}'")
    return "\n".join(lines) + "\n"


def main():
    build, out = map(pathlib.Path, sys.argv[1:3])
    emulator = sys.argv[3:]
    out.mkdir(parents=True, exist_ok=True)
    for program in ("gpufl", "gpufl-agent", "gpufl-backend"):
        own = says(*emulator, build / program, "--help")
        verbs = verbs_in(own) if program == "gpufl" else ["healthcheck"] if program == "gpufl-agent" else []
        of_verbs = {"": Verb(verbs, options_in(own), [])}
        for verb in verbs:
            its = says(*emulator, build / program, verb, "--help")
            below = verbs if verb == "help" else verbs_in(its) if program == "gpufl" else []
            of_verbs[verb] = Verb(below, options_in(its), operands_in(its))
        for shell in (bash, zsh, fish):
            (out / f"{program}.{shell.__name__}").write_text(shell(program, of_verbs))


if __name__ == "__main__":
    main()
