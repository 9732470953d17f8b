#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and folders that the documentation names and that do not exist. Usage: doc_paths.py.

Checked are links, and names in backticks: paths that begin with a folder of this tree or end like
a source file, from the root; a source file's name alone anywhere in the tree."""
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
    names = {p.name for folder in folders for p in (ROOT / folder).rglob("*")}
    names |= {p.name for p in ROOT.iterdir()}
    bad = []
    for page in PAGES:
        text = page.read_text()
        saved = set(re.findall(r"Save this as `([^`]+)`", text))  # the page's own example
        for name, link in _named(text):
            if link:
                there = (page.parent / name).exists()
            elif "/" in name and not name.startswith("/"):
                checked = name.split("/")[0] in folders or name.endswith(SOURCE)
                there = not checked or (ROOT / name).exists() or (page.parent / name).exists()
            else:
                there = not name.endswith(SOURCE) or name in names | saved
            if not there:
                bad.append(f"{page.relative_to(ROOT)} names {name}, which does not exist")
    return bad


if __name__ == "__main__":
    wrong = missing()
    print("\n".join(wrong) if wrong else "documented paths: clean")
    sys.exit(1 if wrong else 0)
