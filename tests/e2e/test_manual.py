# SPDX-License-Identifier: Apache-2.0
"""What the manual and the completions promise is what the programs take, and the other way round."""
import re
import subprocess
import sys

import lib
from lib import check, equal

MAN = lib.ROOT / "packaging/man"
PAGES = {"gpufl-agent": "gpufl-agent.8", "gpufl-backend": "gpufl-backend.8", "gpufl": "gpufl.1"}
# Of the existing client; taken, without effect.
SILENT = {"salvage", "agent-jar"}


def _shown(page):
    """A page as it is read, without hyphenation."""
    done = subprocess.run(["groff", "-ww", "-man", "-Tascii", "-P-cbou", "-rLL=200n", "-rHY=0", MAN / page],
                          capture_output=True, text=True, check=True)
    equal(done.stderr, "", f"{page}: what groff warns of")
    return done.stdout


def _flags(text):
    return set(re.findall(r"--([a-z][a-z-]*)", text))


def _help(place, program):
    texts = [place.run(program, "--help").stdout]
    if program == "gpufl":
        texts += [place.run("gpufl", verb, "--help").stdout
                  for verb in re.findall(r"^  ([a-z]+) ", texts[0], re.M)]
    if program == "gpufl-agent":
        texts.append(place.run(program, "healthcheck", "--help").stdout)
    return "\n".join(texts)


def each_option_is_in_its_page_and_the_other_way_round(place):
    for program, page in PAGES.items():
        equal(_flags(_shown(page)) - SILENT, _flags(_help(place, program)) - SILENT, program)


def _defaults(text):
    """(option, default) of each option whose default is one word. A default counts for the option before it."""
    found, option = set(), None
    for at in re.finditer(r"^ *(?:-\w, )?--([a-z][a-z-]*)|\(default:? +([\w./-]+)[;,)]", text, re.M):
        option = at.group(1) or option
        if at.group(2):
            found.add((option, at.group(2)))
    return found


def each_default_of_the_help_is_in_the_page(place):
    for program, verb, page in (("gpufl-agent", None, "gpufl-agent.8"), ("gpufl", "upload", "gpufl.1"),
                                ("gpufl", "monitor", "gpufl.1"), ("gpufl", "trace", "gpufl.1")):
        said = _defaults(re.sub(r"\n {7,}(?!-)", " ", place.run(program, *([verb] if verb else []), "--help").stdout))
        text = _shown(page)
        if verb:
            text = re.search(rf"^GPUFL {verb.upper()}$(.*?)^[A-Z]", text, re.M | re.S).group(1)
        check(len(said) > (10 if not verb else 1), f"{program} {verb}: {said}")
        equal(said - _defaults(re.sub(r"\n {7,}(?!-)", " ", text)), set(), f"{program} {verb}: defaults that the page lacks")


def each_variable_of_an_option_is_in_the_page(place):
    names = set(re.findall(r"environment: (\w+)", place.run("gpufl-agent", "--help").stdout))
    check(len(names) > 30, f"{names}")
    equal(names - set(re.findall(r"\w+", _shown("gpufl-agent.8"))), set(), "variables")


def each_function_of_the_headers_is_in_a_page(place):
    for header, page in (("gpufl.h", "gpufl_init.3"), ("upload.h", "gpufl_upload_logs.3")):
        text = (lib.ROOT / "include/gpufl" / header).read_text()
        functions = set(re.findall(r"^GPUFL_API [\w ]+?[ *](gpufl_\w+)\(", text, re.M))
        check(functions, header)
        equal({f for f in functions if f not in _shown(page)}, set(), header)
        if header == "upload.h":
            for status in re.findall(r"GPUFL_(?:OK|BUSY|PARTIAL|ERR_\w+)", text.split("\\return GPUFL_OK: all sent")[1]):
                check(status in _shown(page), status)


def examples_of_the_pages_compile(place):
    for page, header in (("gpufl_init.3", "gpufl/gpufl.h"), ("gpufl_upload_logs.3", "gpufl/upload.h")):
        example = re.search(r"^\.EX\n(.*?)^\.EE", (MAN / page).read_text(), re.M | re.S)[1].replace("\\e", "\\")
        source = place.path / "example.c"
        source.write_text(f"#include <stdio.h>\n#include <{header}>\nint main(void)\n{{\n{example}    return 0;\n}}\n")
        done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-I",
                               lib.ROOT / "include", "-fsyntax-only", source], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, f"{page}: {done.stderr}")


def completions_know_each_option(place):
    subprocess.run([sys.executable, lib.ROOT / "packaging/completions.py", lib.BUILD, place.path / "out"], check=True)
    for program in PAGES:
        for shell in ("bash", "zsh", "fish"):
            text = (place.path / "out" / f"{program}.{shell}").read_text()
            missing = {f for f in _flags(_help(place, program)) - {"ready"}
                       if not re.search(rf"(--|-l ){f}\b", text)}
            equal(missing, set(), f"{program}.{shell}")

    def complete(program, *words):
        script = (f"source {place.path}/out/{program}.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1));"
                  f"compopt() {{ :; }}; _{program.replace('-', '_')}; echo \"${{COMPREPLY[*]}}\"")
        return subprocess.run(["bash", "-c", script, "-", *words], capture_output=True, text=True,
                              check=True).stdout.split()

    equal(complete("gpufl-agent", "gpufl-agent", "--log-f"), ["--log-format="], "a flag")
    equal(complete("gpufl-agent", "gpufl-agent", "--log-format", "=", "j"), ["json"], "a choice")
    equal(complete("gpufl-agent", "gpufl-agent", "--log-format", "="), ["text", "json"], "all choices")
    equal(complete("gpufl", "gpufl", "up"), ["upload"], "a verb")
    equal(complete("gpufl", "gpufl", "upload"), ["upload"], "a whole verb")
    verbs = [v for v in complete("gpufl", "gpufl", "") if v[0] != "-"]
    check(len(verbs) == 9, f"{verbs}")
    for program, verb in [*(("gpufl", v) for v in verbs), ("gpufl-agent", "healthcheck")]:
        offered = {w.strip("-=") for w in complete(program, program, verb, "--")}
        text = place.run(program, verb, "--help").stdout
        listed = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)) if program == "gpufl" else _flags(text)
        equal(offered, listed, verb)
    equal(complete("gpufl", "gpufl", "trace", "--engine", "=", "M"), ["Monitor"], "a choice of a verb")
    equal(complete("gpufl", "gpufl", "upload", "--compression", ""), ["auto", "zstd", "gzip", "none"], "behind a blank")
    equal(complete("gpufl", "gpufl", "quarantine", "r"), ["retry"], "an action")
    equal(complete("gpufl", "gpufl", "help", "q"), ["quarantine"], "a verb to have explained")


def help_fits_a_terminal(place):
    for program in PAGES:
        for line in _help(place, program).splitlines():
            check(len(line) <= 100, line)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
