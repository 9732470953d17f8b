# SPDX-License-Identifier: Apache-2.0
"""What `make lint` holds of the structure: each fault is planted in a copy of the tree, and found."""
import re
import shutil
import subprocess
import sys

import lib
from lib import check, equal

ROOMS = ("agent", "backend", "base", "cli", "collector-lib", "docs", "examples", "include", "schema", "upload")
SCRIPTS = ("layers.py", "house_rules.py", "source_tree.py")


def _copy(place):
    tree = place.path / "tree"
    for room in ROOMS:
        shutil.copytree(lib.ROOT / room, tree / room)
    (tree / "tests").mkdir()
    for script in SCRIPTS:
        shutil.copy(lib.ROOT / "tests" / script, tree / "tests" / script)
    return tree


def _run(tree, script):
    done = subprocess.run([sys.executable, tree / "tests" / script], cwd=tree, capture_output=True, text=True,
                          check=False, env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"})
    return done.returncode, done.stdout + done.stderr


def _first_include(line):
    return lambda text: re.sub(r'\n#include ', f"\n{line}\n#include ", text, count=1)


def _at_end(code):
    return lambda text: text + code


def _in_header(code):
    return lambda text: text[:text.rindex("#endif")] + code + "\n#endif\n"


def _plant(place, script, faults):
    tree = _copy(place)
    code, said = _run(tree, script)
    equal(code, 0, f"the tree as it is: {said}")
    for name, change, finding in faults:
        path = tree / name
        before = path.read_text() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change(before or ""))
        code, said = _run(tree, script)
        check(code == 1 and re.search(finding, said), f"{name}: {finding} is not found: {said}")
        if before is None:
            path.unlink()
        else:
            path.write_text(before)


def faults_of_the_rooms_are_found(place):
    _plant(place, "layers.py", (
        ("upload/core/session.c", _first_include('#include "upload/engine/send.h"'), "an arrow back up"),
        ("upload/core/session.c", _first_include("#include <upload/engine/send.h>"), "an arrow back up"),
        ("base/hash.c", _first_include('#include "agent/notify.h"'), "an arrow back up"),
        ("schema/layout.c", _first_include('#include "upload/journal/journal.h"'), "an arrow back up"),
        ("upload/http/verdict.c", _at_end("\nvoid session_mark(struct session *session);\n"
                                          "void verdict_mark(struct session *session)\n{\n    session_mark(session);\n}\n"),
         "session_mark"),
        ("upload/journal/journal_format.c", _first_include('#include "upload/journal/journal.h"'), "a circle of"),
        ("backend/digest/pack.h", _in_header("void tally_fini(struct tallies *tallies);"), "tally_fini"),
        ("upload/http/verdict.c", _first_include("#include <curl/curl.h>"), "only .* may"),
        ("python/reader.c", _at_end("/* SPDX-License-Identifier: Apache-2.0 */\n/* A reader. */\nint reader;\n"),
         "lies in no room"),
    ))


def faults_of_the_files_are_found(place):
    long = "void hash_long(void)\n{\n" + "    hash_text(0, 0);\n" * 61 + "}\n"
    _plant(place, "house_rules.py", (
        ("base/hash.c", _at_end("\n" + long), "hash_long has 61 lines"),
        ("base/hash.c", _at_end("\n" * 400), "lines, 400 at most"),
        ("base/hash.c", _at_end("\nstatic int session_mark(void)\n{\n    return 0;\n}\n"), "session_mark is defined 2 times"),
        ("base/hash.c", _at_end("\nvoid hash_seven(int a, int b, int c, int d, int e, int f, int g)\n{\n}\n"),
         "hash_seven has 7 parameters, 6 at most"),
        ("base/hash.c", _at_end("\nstruct session {\n    int at;\n};\n"), "session is the tag of 2 types"),
        ("base/hash.c", _at_end("\nvoid hash_copy(char *to, const char *from)\n{\n    strcpy(to, from);\n}\n"), "strcpy is banned"),
        ("base/hash.c", _at_end("\n/* ---- more ---- */\n"), "a banner"),
        ("base/hash.c", lambda text: text.replace("/* FNV-1a", "\n/* FNV-1a", 1), "no opening sentence"),
        ("backend/digest/rows.c", _at_end('\nstatic const char *const rows_name = "kernel_id";\n'), "respells"),
        ("upload/source/ndjson.c", _at_end('\nstatic const char *const ndjson_name = "kernel_event_batch";\n'), "respells"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    if not place:\n        return\n    place.go()\n"),
         "test_plant.py:3: it_works can end without a word"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    with place:\n        if not place.on:\n"
                                            "            return None\n    place.go()\n"), "test_plant.py:4: it_works"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    if place:\n        place.go()\n"), "test_plant.py:2: "),
        ("tests/unit/test_plant.c", _at_end("static void it_works(void **state)\n{\n    if (geteuid() != 0) {\n"
                                            "        return;\n    }\n}\n"), "test_plant.c: it_works can end"),
        ("cli/send.c", _at_end("/* SPDX-License-Identifier: Apache-2.0 */\n/* Sends. */\n"), "has the name of"),
    ))


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
