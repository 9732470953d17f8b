#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and folders that the documentation names and that do not exist. Usage: doc_paths.py.

Checked are links, and names in backticks: paths that begin with a folder of this tree, and names of
source files, which may leave out the folders above: `core/ring.c`, `ring.c`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "schema/README.md", ROOT / "tests/README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCE = (".c", ".h", ".hpp", ".py", ".sh", ".md")


def _named(text):
    """(name, is a link) of each path in the text."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if "://" not in target:
            yield target, True
    for name in re.findall(r"`([\w./-]+?)(?::\w+)?`", prose):
        yield name, False


def missing():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".")} - {"build", "demo-out"}
    paths = [p for folder in folders for p in (ROOT / folder).rglob("*")] + list(ROOT.iterdir())
    tails = {"/".join(p.relative_to(ROOT).parts[n:]) for p in paths if p.is_file()
             for n in range(len(p.relative_to(ROOT).parts))}
    bad = []
    for page in PAGES:
        text = page.read_text()
        tails_here = tails | set(re.findall(r"Save this as `([^`]+)`", text))  # the page's own example
        for name, link in _named(text):
            there = (page.parent / name).exists() if link else (
                (ROOT / name).exists() or (page.parent / name).exists() or name in tails_here or name in SOURCE
                or not (name.endswith(SOURCE) or name.split("/")[0] in folders and "/" in name))
            if not there:
                bad.append(f"{page.relative_to(ROOT)} names {name}, which does not exist")
    return sorted(set(bad))


if __name__ == "__main__":
    wrong = missing()
    print("\n".join(wrong) if wrong else "documented paths: clean")
    sys.exit(1 if wrong else 0)
