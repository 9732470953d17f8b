# SPDX-License-Identifier: Apache-2.0
"""C sources as tests/layers.py and tests/house_rules.py read them: clang-format has made
every function's body begin and end with a brace in the first column."""
import collections
import functools
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)\s*")

Function = collections.namedtuple("Function", "name static line lines parameters labels")


def files(pattern, folders):
    """(name from the root, path) of each file below \\p folders, each once, sorted."""
    found = {path for folder in folders for path in (ROOT / folder).rglob(pattern)}
    return sorted((str(path.relative_to(ROOT)), path) for path in found)


def unit_of(name):
    """A .c file and its header are one unit."""
    return re.sub(r"\.[ch]$", "", name)


def includes(path):
    """(kind, name) of each include; a file of the tree is `"` even where it is spelled <...>."""
    found = re.findall(r'^\s*#\s*include\s*([<"])([^">]+)[">]', path.read_text(), re.M)
    return [('"' if in_tree(target) else kind, target) for kind, target in found]


@functools.lru_cache(maxsize=None)
def in_tree(target):
    return (ROOT / target).is_file()


def all_code():
    """Each .c and .h of the tree, ignored files and tests left out, sorted."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                            capture_output=True, text=True, check=False) \
        if (ROOT / ".git").exists() else None
    names = listed.stdout.split("\n")[:-1] if listed and not listed.returncode else \
        [name for name, _ in files("*.[ch]", ["."])]
    return sorted(n for n in names if not n.startswith(("tests/", "build/")) and (ROOT / n).exists())


class Code:
    """A file with comments and the text of literals taken out, line breaks kept; what is in it, once it is asked for."""

    def __init__(self, path):
        def blank(match):
            return '""' if match.group(0)[0] == '"' else "\n" * match.group(0).count("\n")
        self.header = path.suffix == ".h"
        self.text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, path.read_text(), flags=re.S)

    @functools.cached_property
    def _without(self):
        return ATTRIBUTE.sub("", re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", self.text, flags=re.M))

    @functools.cached_property
    def words(self):
        return re.findall(r"(?<!struct )(?<!enum )(?<!\.)(?<!->)\b[A-Za-z_]\w*\b", self._without)

    @functools.cached_property
    def declared(self):
        called = re.findall(r"\b([a-z_]\w*)\((?:[^;{}]*)\)[^;{}()]*;", self._without) if self.header else []
        return {*called, *extern_objects(self._without)}

    @functools.cached_property
    def objects(self):
        return set(objects(self._without))


@functools.lru_cache(maxsize=None)
def code_only(path):
    return Code(path)


def extern_objects(without):
    """Objects that are declared with `extern`."""
    return re.findall(r"^extern\s[^();{}=]*?\b(\w+)(?:\[[^];]*\])*;", without, re.M)


def objects(without):
    """Objects with external linkage that are defined."""
    depth_0, before = without, None
    while before != depth_0:
        before, depth_0 = depth_0, re.sub(r"\{[^{}]*\}", "@", depth_0)
    for statement in re.findall(r"^(?!static\b|typedef\b|extern\b)\w[^;@()=]*(?:=|;)", depth_0, re.M):
        name = re.match(r"[\w\s*]*?[\s*](\w+)\s*(?:\[[^]]*\]\s*)*[=;]$", statement)
        if name and not re.match(r"(?:struct|enum|union) \w+;$", statement):
            yield name.group(1)


@functools.lru_cache(maxsize=None)
def definitions(path):
    """The functions that a file defines, in order."""
    out, head, start = [], "", None
    lines = code_only(path).text.split("\n")
    for number, line in enumerate(lines, 1):
        if line == "{" and start is None:
            start = number
        elif line.startswith("}") and start is not None:  # a type's ends with a name or a semicolon
            name = re.search(r"\b(\w+)\((?!\()", re.sub(r"__attribute__\(\(.*?\)\)+", "", head))
            if name:
                body = "\n".join(lines[start:number])
                out.append(Function(name.group(1), bool(re.search(r"\bstatic\b", head)), start,
                                    number - start - 1, parameters(head[name.end():]),
                                    frozenset(re.findall(r"\bgoto (\w+);", body))))
            head, start = "", None
        elif start is None:
            head = "" if not line.strip() or line.startswith("#") or line.endswith((";", "}")) \
                else head + " " + line
    return tuple(out)


def parameters(rest):
    """How many parameters stand in what follows a function's opening parenthesis."""
    before = None
    while before != rest:
        before, rest = rest, re.sub(r"\([^()]*\)", "", rest)
    listed = rest.split(")")[0].strip()
    return 0 if listed in ("", "void") else listed.count(",") + 1
