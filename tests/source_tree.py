# SPDX-License-Identifier: Apache-2.0
"""C sources as tests/layers.py and tests/house_rules.py read them: clang-format has made
every function's body begin and end with a brace in the first column."""
import collections
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent

Function = collections.namedtuple("Function", "name static line lines")
Code = collections.namedtuple("Code", "text words declared")


def files(pattern, folders):
    """(name from the root, path) of each file below \\p folders, each once, sorted."""
    found = {path for folder in folders for path in (ROOT / folder).rglob(pattern)}
    return sorted((str(path.relative_to(ROOT)), path) for path in found)


def unit_of(name):
    """A .c file and its header are one unit."""
    return re.sub(r"\.[ch]$", "", name)


def includes(path):
    return re.findall(r'^\s*#\s*include\s*([<"])([^">]+)[">]', path.read_text(), re.M)


@functools.lru_cache(maxsize=None)
def code_only(path):
    """Comments and the text of literals taken out, line breaks kept."""
    def blank(match):
        return '""' if match.group(0)[0] == '"' else "\n" * match.group(0).count("\n")
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, path.read_text(), flags=re.S)
    without = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)
    declared = re.findall(r"\b([a-z_]\w*)\((?:[^;{}]*)\)[^;{}()]*(?:__attribute__\(.*?\)\))?;",
                          without) if path.suffix == ".h" else []
    return Code(text, re.findall(r"(?<!struct )(?<!enum )(?<!\.)(?<!->)\b[A-Za-z_]\w*\b", without), set(declared))


@functools.lru_cache(maxsize=None)
def definitions(path):
    """The functions that a file defines, in order."""
    out, head, start = [], "", None
    for number, line in enumerate(code_only(path).text.split("\n"), 1):
        if line == "{" and start is None:
            start = number
        elif line == "}" and start is not None:
            name = re.search(r"\b(\w+)\((?!\()", re.sub(r"__attribute__\(\(.*?\)\)+", "", head))
            if name:
                out.append(Function(name.group(1), bool(re.search(r"\bstatic\b", head)), start,
                                    number - start - 1))
            head, start = "", None
        elif start is None:
            head = "" if not line.strip() or line.startswith("#") or line.endswith((";", "}")) \
                else head + " " + line
    return tuple(out)
