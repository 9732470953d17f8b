#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the sh and c blocks of a Markdown page as one shell script, in the order of the page.

Usage: readme_blocks.py PAGE [COMMAND…]. A sh block is printed as it is; a block in which a line
begins with one of the COMMANDs is left out. A c block becomes the file that is named last in the
text before it."""
import pathlib
import re
import sys

BLOCK = re.compile(r"^```(sh|c)\n(.*?)^```$", re.M | re.S)


def script(page, without=()):
    parts, end = ["set -eu\n"], 0
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        before, end = page[end:block.start()], block.end()
        if kind == "c":
            name = re.findall(r"`([\w-]+\.c)`", before)[-1]
            parts.append(f"cat >{name} <<'end of {name}'\n{text}end of {name}\n")
        elif not any(line.split(" ")[0] in without for line in text.splitlines()):
            parts.append(text)
    return "".join(parts)


if __name__ == "__main__":
    print(script(pathlib.Path(sys.argv[1]).read_text(), sys.argv[2:]), end="")
