#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/contributing.md that a machine can hold: sizes, opening sentences, calls
that are banned, labels, unique names and tags, listed mutable globals, records and columns spelled once.
Usage: house_rules.py [BUILD [FILE…]]; house_rules.py --measure prints sizes, bounds in parentheses."""
import ast
import collections
import re
import statistics
import subprocess
import sys

from layers import BELOW
from source_tree import ATTRIBUTE, ROOT, code_only, definitions, files

FILE_LINES, FUNCTION_LINES = 400, 60
FILE_MEDIAN, FUNCTION_MEDIAN = 150, 12
FOLDER_FILES = 30
PARAMETERS_MAX = 6  # docs/contributing.md aims at 4
BANNED = re.compile(r"\b(strcpy|stpcpy|strcat|strncpy|stpncpy|strncat|sprintf|vsprintf|atoi|atol|atoll|atof|"
                    r"strtok|gets|alloca)\)?\(")
BANNER = re.compile(r"^\s*/\*\s*[-=*]{3,}|^\s*//\s*[-=]{3,}", re.M)
# Each program's own entry.
SHARED_NAMES = {"main"}
SHARED_TAGS = {"gpu_handle"}
# Their keys of JSON are of answers of the backend, which schema/openapi.json names, or of records without rows;
# that columns have the same names is chance.
KEYS = {"backend/api/api_kernels.c", "collector-lib/trace/trace_records.c", "collector-lib/writer/session_records.c"}
# These open a file that is kept, in a directory that is ours and closed to others.
KEPT_FILES = {"upload/journal/journal_try.c": 1}
# Their parameters are those of a callback of another library: libmicrohttpd.
CALLBACKS = {"on_request"}


def opening(name, text):
    if "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
        yield f"{name} has no SPDX line"
    if not re.match(r"(#!.*\n)?/\* SPDX[^\n]*\n/\* [A-Za-z`<.]", text):
        yield f"{name} has no opening sentence"


def sizes(name, path):
    lines = len(path.read_text().splitlines())
    if lines > FILE_LINES:
        yield f"{name} has {lines} lines, {FILE_LINES} at most"
    for function in definitions(path):
        if function.lines > FUNCTION_LINES:
            yield f"{name}:{function.line}: {function.name} has {function.lines} lines, " \
                  f"{FUNCTION_LINES} at most"
        if function.parameters > PARAMETERS_MAX and function.name not in CALLBACKS:
            yield f"{name}:{function.line}: {function.name} has {function.parameters} parameters, " \
                  f"{PARAMETERS_MAX} at most"
        if len(function.labels) > 1:
            yield f"{name}:{function.line}: {function.name} goes to {' and '.join(sorted(function.labels))}: " \
                  "one label at most"


def calls(name, path):
    text = code_only(path).text
    for match in BANNED.finditer(text):
        yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(1)} is banned: " \
              "use memcpy or snprintf with a size"
    text = path.read_text()
    for match in BANNER.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{number}: a banner; a file that needs one wants to be two"


def new_files(name, path):
    """In directories of jobs, others can make names: a file is created under a name that was free, or not at all."""
    if name.split("/")[0] in ("backend", "examples"):
        return
    text = code_only(path).text
    opened = [text[text.rfind(";", 0, m.start()) + 1:text.find(";", m.end())]
              for m in re.finditer(r"\bO_CREAT\b(?!\))|\bcreat\(", text)]
    bad = sum("O_EXCL" not in statement for statement in opened)
    if bad != KEPT_FILES.get(name, 0):
        yield f"{name}: creates {bad} files without O_EXCL, {KEPT_FILES.get(name, 0)} expected: use file_create"


def measures(sources):
    """What --measure prints: sizes beside their bounds."""
    functions = [f.lines for _, path in sources for f in definitions(path)]
    parameters = [f.parameters for _, path in sources for f in definitions(path)]
    lengths = [len(path.read_text().splitlines()) for _, path in sources]
    folders = collections.Counter(name.rsplit("/", 1)[0] for name, _ in sources)
    yield f"functions: {len(functions)}, median {statistics.median(functions)} lines ({FUNCTION_MEDIAN}), " \
          f"longest {max(functions)} ({FUNCTION_LINES}), parameters up to {max(parameters)} ({PARAMETERS_MAX})"
    yield f".c files: {len(lengths)}, median {statistics.median(lengths)} lines ({FILE_MEDIAN}), " \
          f"longest {max(lengths)} ({FILE_LINES})"
    for folder, count in sorted(folders.items(), key=lambda f: (-f[1], f[0])):
        yield f"{folder}/: {count} .c files ({FOLDER_FILES})"


def medians(sources):
    functions = [f.lines for _, path in sources for f in definitions(path)]
    lengths = [len(path.read_text().splitlines()) for _, path in sources]
    if statistics.median(functions) > FUNCTION_MEDIAN:
        yield f"functions: median {statistics.median(functions)}, {FUNCTION_MEDIAN} at most"
    if statistics.median(lengths) > FILE_MEDIAN:
        yield f"files: median {statistics.median(lengths)}, {FILE_MEDIAN} at most"
    folders = collections.Counter(name.rsplit("/", 1)[0] for name, _ in sources)
    for folder, count in sorted(folders.items()):
        if count > FOLDER_FILES:
            yield f"{folder}/ has {count} .c files, {FOLDER_FILES} at most"


def names(sources):
    homes = collections.defaultdict(list)
    for name, path in sources:
        for function in definitions(path):
            homes[function.name].append(f"{name}:{function.line}")
    for function, places in sorted(homes.items()):
        if len(places) > 1 and function not in SHARED_NAMES:
            yield f"{places[0]}: {function} is defined {len(places)} times: {' '.join(places)}"


def tags(sources):
    """A tag, or the name of a typedef, names one type. Of gpu_handle, each source of samples has its own behind gpu_source.h."""
    homes = collections.defaultdict(list)
    for name, path in sources:
        text = ATTRIBUTE.sub(lambda match: "\n" * match.group(0).count("\n"), code_only(path).text)
        for match in re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{|"
                                 r"^typedef\b(?:[^;{}]|\{[^{}]*\})*?(?:\(\*(\w+)\)|(\w+))\s*(?:\[[^;]*\]|\((?!\*)[^;]*\))?;",
                                 text, re.M):
            homes["".join(filter(None, match.groups()))].append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}")
    for tag, places in sorted(homes.items()):
        if len(places) > 1 and tag not in SHARED_TAGS:
            yield f"{places[0]}: {tag} names {len(places)} types: {' '.join(places)}"


def same_files(sources):
    homes = collections.defaultdict(list)
    for name, _ in sources:
        homes[name.rsplit("/", 1)[1]].append(name)
    for base, places in sorted(homes.items()):
        if len(places) > 1 and base != "main.c":
            yield f"{places[0]} has the name of {' and '.join(places[1:])}"


def symbols(sources, build):
    """{source: (its functions, its objects that can change)} by its object file; a source without one
    is left out. Names as in the source: the compiler appends numbers and the like,
    and a sanitizer's own begin with an underscore."""
    objects = {str(ROOT / build / (name[:-2] + ".o")): name for name, _ in sources
               if (ROOT / build / (name[:-2] + ".o")).exists()}
    said = subprocess.run(["readelf", "-SsW", *objects], capture_output=True, text=True,
                          check=False).stdout
    out = {}
    for path, table in re.findall(r"^File: (\S+)$(.*?)(?=^File: |\Z)", said, re.M | re.S):
        if path not in objects:
            continue
        sections = {number: (name, flags) for number, name, flags in
                    re.findall(r"^ +\[ *(\d+)\] (\S+) .*? [0-9a-f]{2} +([A-Zxo]*) +\d+ +\d+ +\d+$", table, re.M)}
        functions, changing = set(), []
        for kind, section, name in re.findall(r"^ *\d+: [0-9a-f]+ +\w+ (FUNC|OBJECT|TLS|COMMON) +\w+ +\w+ +"
                                              r"(\d+|COM) ([a-zA-Z][\w.]*)$", table, re.M):
            place, flags = sections.get(section, ("COM", "W"))
            if kind == "FUNC":
                functions.add(name.split(".")[0])
            elif "W" in flags and not place.startswith(".data.rel.ro"):
                changing.append(name.split(".")[0])
        out[objects[path]] = functions, collections.Counter(changing)
    return out


def built(sources, found):
    """Without CUDA's headers the CUPTI module is not built; anything else that is not would go unseen."""
    missing = [name for name, _ in sources if name not in found and not name.startswith("collector-lib/cupti/")]
    if missing:
        yield f"{missing[0]} and {len(missing) - 1} other files are not built (run make first, or name the build)"


def unseen_functions(sources, found):
    """What source_tree.py does not take for a function no rule applies to."""
    for name, path in sources:
        functions, _ = found.get(name, ((), ()))
        for function in sorted(set(functions) - {f.name for f in definitions(path)}):
            yield f"{name}: tests/source_tree.py does not see the function {function}"


def mutable_globals(sources, found):
    """Objects in sections that can be written, against the list in docs/contributing.md."""
    listed = set(re.findall(r"^\| `([\w/.-]+:\w+)`", (ROOT / "docs/contributing.md").read_text(), re.M))
    there = {f"{name}:{word}": count for name, _ in sources if name in found
             for word, count in found[name][1].items()}
    for entry, count in sorted(there.items()):
        if entry not in listed:
            yield f"{entry.replace(':', ': ')}: a mutable global that docs/contributing.md does not list"
        elif count > 1:
            yield f"{entry.replace(':', ': ')}: {count} mutable globals have this name"
    unbuilt = {name for name, _ in sources if name not in found}
    for entry in sorted(e for e in listed - there.keys() if e.split(":")[0] not in unbuilt):
        yield f"docs/contributing.md lists {entry}, which is not there"


def literals(text):
    """(line, text) of each string of C; those that the compiler joins are one."""
    joined, at, end = "", 0, 0
    for token in re.finditer(r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])+'|\"((?:\\.|[^\"\\\n])*)\"|^[ \t]*#include[^\n]*",
                             text, re.S | re.M):
        if token.group(1) is None:
            continue
        between = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", "", text[end:token.start()], flags=re.S)
        if at and not between.strip():
            joined += token.group(1)
        else:
            if at:
                yield at, joined
            joined, at = token.group(1), text.count("\n", 0, token.start()) + 1
        end = token.end()
    if at:
        yield at, joined


def respelled(sources):
    """Record types, dictionaries, columns, channels and names of the protocol that a file outside
    schema/ spells as text. A word with a quote and a colon behind it is a key of JSON; those of
    the files in KEYS are not of columns. Of the channels only "sass" is no common word."""
    schema = (ROOT / "schema/records.h").read_text()
    columns = set(re.findall(r"\b(?:FIRST|X)\(([a-z]\w*)\)", schema)) - {"name"}
    names = set(re.findall(r'^#define RECORD_\w+\s+"(\w+)"', schema, re.M))
    names |= {column for column in columns if "_" in column}  # "bytes" and "depth" are words, too
    assert len(names) > 70, "tests/house_rules.py no longer reads schema/records.h"
    protocol = set(re.findall(r'^#define PROTOCOL_\w+\s+"([^"]{2,})"',
                              (ROOT / "schema/protocol.h").read_text(), re.M))
    assert len(protocol) > 10, "tests/house_rules.py no longer reads schema/protocol.h"
    channels = re.findall(r'\(\w+, "(\w+)"\)', (ROOT / "schema/channels.h").read_text())
    assert "sass" in channels, "tests/house_rules.py no longer reads schema/channels.h"
    listed = re.compile(rf"\bsass\b(?!\.)|\b(?:{'|'.join(channels)}),(?:{'|'.join(channels)})\b")
    for name, path in sources:
        if name.startswith(("schema/", "include/", "examples/")):
            continue
        for number, literal in literals(path.read_text()):
            for word, key in re.findall(r'(?<!\w)(\w+)(?!\w)(\\":)?', re.sub(r"\\[nrt]", " ", literal)):
                if word in names and not (key and name in KEYS):
                    yield f"{name}:{number}: respells {word} of schema/records.h"
            if literal in protocol or re.match("x-gpuf", literal, re.I):
                yield f"{name}:{number}: respells {literal} of schema/protocol.h"
            if listed.search(literal):
                yield f"{name}:{number}: respells {literal} of schema/channels.h"


def own_nodes(node):
    """The nodes of a function without those of the functions in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield child
            yield from own_nodes(child)


def is_test(node):
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and \
        [argument.arg for argument in node.args.args] == ["place"] and not node.args.vararg


def silent_guards():
    """Tests that can end early, and would count as passed; skip() counts, and says why."""
    for name, path in files("test_*.py", ["tests"]):
        for test in filter(is_test, ast.parse(path.read_text()).body):
            steps = [s for s in test.body if not isinstance(s, (ast.Expr, ast.Delete)) or
                     isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
            for node in [n for n in own_nodes(test) if isinstance(n, ast.Return)] + \
                    [s for s in steps[:1] if len(steps) == 1 and isinstance(s, ast.If)]:
                yield f"{name}:{node.lineno}: {test.name} can end without a word: use lib.skip()"
    for name, path in files("test_*.c", ["tests"]):
        for test in re.finditer(r"^static void (\w+)\(void \*\*state\)\n\{\n(.*?)^\}", code_only(path).text, re.M | re.S):
            if re.search(r"\breturn;|\bfor \([^{]*\bgete?uid\(", test.group(2)):
                yield f"{name}: {test.group(1)} can end without a word: use skip()"


def main():
    sources = [(n, p) for n, p in files("*.c", BELOW) if not n.startswith("examples/")]
    if sys.argv[1:] == ["--measure"]:
        print("\n".join(measures(sources)))
        return 0
    build, *only = sys.argv[1:] or ["build/release"]
    bad = []
    for name, path in files("*.[ch]", BELOW):
        bad += opening(name, path.read_text())
        bad += calls(name, path)
        bad += sizes(name, path)
        bad += new_files(name, path)
    for name, path in files("*.[ch]", ["tests/sim"]):  # a program of its own
        bad += opening(name, path.read_text())
        bad += calls(name, path)
        bad += sizes(name, path)
    bad += [line for name, path in files("*.[ch]", ["tests"])
            if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]
            for line in [f"{name} has no SPDX line"]]
    bad += medians(sources)
    bad += names([f for f in files("*.[ch]", BELOW) if not f[0].startswith("examples/")])
    bad += tags([f for f in files("*.[ch]", BELOW) if not f[0].startswith("examples/")])
    bad += same_files([f for f in files("*.[ch]", BELOW) if not f[0].startswith("include/")])
    found = symbols(sources, build)
    bad += built(sources, found)
    bad += unseen_functions(sources, found)
    bad += mutable_globals(sources, found)
    bad += respelled(files("*.[ch]", BELOW))
    bad += silent_guards()
    bad = [line for line in bad if not only or line.startswith(tuple(only))]
    print("\n".join(bad) if bad else "house rules: clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
