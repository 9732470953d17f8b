# SPDX-License-Identifier: Apache-2.0
"""What the manual promises is what the programs take, and the other way round."""
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
    for at in re.finditer(r"^ *(?:-\w, )?--([a-z][a-z-]*)|\(default:? +(?:\$\w+, else )?([\w./-]+)[;,)]", text, re.M):
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
            text = "".join(re.search(rf"^{title}$(.*?)^[A-Z]", text, re.M | re.S).group(1)
                           for title in (f"GPUFL {verb.upper()}", "THE BACKEND"))
        check(len(said) > (10 if not verb else 1), f"{program} {verb}: {said}")
        equal(said - _defaults(re.sub(r"\n {7,}(?!-)", " ", text)), set(), f"{program} {verb}: defaults that the page lacks")


def each_variable_of_an_option_is_in_the_page(place):
    names = set(re.findall(r"environment: (\w+)", place.run("gpufl-agent", "--help").stdout))
    check(len(names) > 30, f"{names}")
    equal(names - set(re.findall(r"\w+", _shown("gpufl-agent.8"))), set(), "variables")


def each_variable_that_the_library_reads_is_in_its_header_and_its_pages(place):
    """As the source spells them: as strings, and what getenv() is asked for."""
    sources = [path.read_text() for path in (lib.ROOT / "collector-lib").rglob("*.c")]
    names = {name for text in sources for name in re.findall(r'"(GPUFL_[A-Z_]+)"|getenv\("(\w+)"', text) for name in name if name}
    check(len(names) > 25 and "CUDA_HOME" in names, f"{names}")
    for what, text in (("gpufl.h", (lib.ROOT / "include/gpufl/gpufl.h").read_text()), ("gpufl_init.3", _shown("gpufl_init.3")),
                       ("gpufl.1", _shown("gpufl.1"))):
        equal(names - set(re.findall(r"\w+", text)), set(), f"variables that {what} lacks")
    help_of_trace = place.run("gpufl", "trace", "--help").stdout
    for name in ("GPUFL_MAX_ENGINE", "GPUFL_TRACE_BUFFER_KIB", "GPUFL_PC_SAMPLING_BUFFER_MIB", "GPUFL_LOG_DIR"):
        check(name in help_of_trace, name)


def each_function_of_the_headers_is_in_a_page(place):
    for header, page in (("gpufl.h", "gpufl_init.3"), ("scope.h", "gpufl_init.3"), ("upload.h", "gpufl_upload_logs.3")):
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


def what_pc_sampling_costs_and_risks_is_said_where_it_is_offered(place):
    texts = {"header": re.sub(r"\n \*", "", (lib.ROOT / "include/gpufl/gpufl.h").read_text()),
             "help": place.run("gpufl", "trace", "--help").stdout, "page": _shown("gpufl.1"),
             "README": (lib.ROOT / "README.md").read_text()}
    for name, text in texts.items():
        text = re.sub(r"\s+", " ", text)
        for words in (r"PcSampling[^.]*; it is experimental|PcSampling is experimental", "SIGSEGV", r"12 MiB.* 64 MiB.* 512 MiB",
                      "GPUFL_PC_SAMPLING_BUFFER_MIB"):
            check(re.search(words, text) or (name == "README" and "experimental" not in words), f"{name}: {words}")


def help_fits_a_terminal(place):
    for program in PAGES:
        for line in _help(place, program).splitlines():
            check(len(line) <= 100, line)


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
