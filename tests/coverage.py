# SPDX-License-Identifier: Apache-2.0
"""Lines that the tests ran, a folder: `coverage.py BUILD FLOOR FOLDER...`. Fails below FLOOR %.

A process that is killed leaves no counts, so the figures are a lower bound."""
import collections
import json
import pathlib
import subprocess
import sys


def lines_run(build):
    """{file: {line: times}}, over all objects."""
    files = collections.defaultdict(collections.Counter)
    for notes in sorted(build.rglob("*.gcno")):
        if not notes.with_suffix(".gcda").exists():
            continue
        told = subprocess.run(["gcov", "--json-format", "--stdout", str(notes)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        for unit in told.stdout.splitlines():
            for f in json.loads(unit)["files"]:
                for line in f["lines"]:
                    files[f["file"]][line["line_number"]] += line["count"]
    return files


def share(counts):
    return 100 * sum(1 for n in counts if n) / max(1, len(counts))


def main():
    build, floor, folders = pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    files, good = lines_run(build), True
    for folder in folders:
        inside = {f: c for f, c in files.items() if f.startswith(folder + "/") and f.endswith(".c")}
        for f, c in sorted(inside.items(), key=lambda item: share(item[1].values())):
            print(f"  {share(c.values()):5.1f} %  {f}")
        total = share([n for c in inside.values() for n in c.values()])
        print(f"{total:7.1f} %  {folder}/ (floor {floor:g} %)")
        good = good and total >= floor
    sys.exit(0 if good else 1)


main()
