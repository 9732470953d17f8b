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
    for path in lib.BUILD.rglob("*.o"):
        name = path.relative_to(lib.BUILD)
        if name.parts[0] in ROOMS:
            (tree / "build" / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / "build" / name).symlink_to(path)
    return tree


def _compile(tree, name):
    out = tree / "build" / f"{name[:-2]}.o"
    out.unlink()
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", f"-I{tree}", f"-I{tree}/include", "-c", "-o", out, tree / name], check=True)


def _run(tree, script):
    done = subprocess.run([sys.executable, tree / "tests" / script, *(["build"] if script == "house_rules.py" else [])], cwd=tree, capture_output=True, text=True,
                          check=False, env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"})
    return done.returncode, done.stdout + done.stderr


def _first_include(line):
    return lambda text: re.sub(r'\n#include ', f"\n{line}\n#include ", text, count=1)


def _at_end(code):
    return lambda text: text + code


def _in_header(code):
    return lambda text: text[:text.rindex("#endif")] + code + "\n#endif\n"


def _rounds(faults):
    """Each as many faults as can be told apart: of different files, with different findings."""
    while faults:
        chosen = []
        for fault in faults:
            if all(fault[0] != other[0] and fault[2] != other[2] for other in chosen):
                chosen.append(fault)
        yield chosen
        faults = [fault for fault in faults if fault not in chosen]


def _plant(place, script, faults):
    tree = _copy(place)
    code, said = _run(tree, script)
    equal(code, 0, f"the tree as it is: {said}")
    for chosen in _rounds(list(faults)):
        before = {name: (tree / name).read_text() if (tree / name).exists() else None for name, _, _ in chosen}
        for name, change, _ in chosen:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(change(before[name] or ""))
        code, said = _run(tree, script)
        for name, _, finding in chosen:
            check(code == 1 and re.search(finding, said), f"{name}: {finding} is not found: {said}")
        for name, text in before.items():
            if text is None:
                (tree / name).unlink()
            else:
                (tree / name).write_text(text)


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
        ("backend/digest/pack.h", _in_header("__attribute__((format(printf, 1, 2))) void tally_fini(const char *f, ...);"),
         "declares tally_fini"),
        ("upload/http/verdict.c", _first_include("#include <curl/curl.h>"), "only .* may"),
        ("upload/http/verdict.c", _first_include("#include <archive.h>"), "<archive.h>, which tests/layers.py does not list"),
        ("base/hash.c", _first_include("#include <sys/socket.h>\n#include <sys/wait.h>"), "<sys/wait.h>, which .* for base"),
        ("base/hash.c", _first_include('#define HASH_OTHER "agent/notify.h"\n#include HASH_OTHER'), "name the file"),
        ("tests/layers.py", lambda text: text.replace('"schema": []', '"schema": ["base"]'), "lets schema use base, which"),
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
        ("base/hash.c", _at_end("\nstruct session {\n    int at;\n};\n"), "session names 2 types"),
        ("base/hash.c", _at_end("\nstruct __attribute__((packed)) session {\n    int at;\n};\n"), "session names 2 types"),
        ("base/hash.c", _at_end("\ntypedef int quarantine_get(void);\n"), "quarantine_get names 2 types"),
        ("base/hash.c", _at_end("\ntypedef int session;\n"), "session names 2 types"),
        ("base/hash.c", _at_end("\nvoid hash_copy(char *to, const char *from)\n{\n    strcpy(to, from);\n}\n"), "strcpy is banned"),
        ("base/hash.c", _at_end("\n/* ---- more ---- */\n"), "a banner"),
        ("base/hash.c", lambda text: text.replace("/* FNV-1a", "\n/* FNV-1a", 1), "no opening sentence"),
        ("backend/digest/rows.c", _at_end('\nstatic const char *const rows_name = "kernel_id";\n'), "respells"),
        ("upload/source/ndjson.c", _at_end('\nstatic const char *const ndjson_name = "kernel_event_batch";\n'), "respells"),
        ("backend/digest/rows.c", _at_end('\nstatic const char rows_key[] = "{\\"kernel_id\\":%d}";\n'), "respells kernel_id"),
        ("backend/digest/rows.c", _at_end('\nstatic const char rows_name[] = "kernel"\n    "_id";\n'), "respells kernel_id"),
        ("backend/digest/rows.c", _at_end("\nstatic const char rows_mark = '\"';\nstatic const char rows_name[] = "
                                          '"kernel_id";\n'), "respells kernel_id"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    if not place:\n        return\n    place.go()\n"),
         "test_plant.py:3: it_works can end without a word"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    with place:\n        if not place.on:\n"
                                            "            return None\n    place.go()\n"), "test_plant.py:4: it_works"),
        ("tests/e2e/test_plant.py", _at_end("def it_works(place):\n    if place:\n        place.go()\n"), "test_plant.py:2: "),
        ("tests/unit/test_plant.c", _at_end("static void it_works(void **state)\n{\n    if (geteuid() != 0) {\n"
                                            "        return;\n    }\n}\n"), "test_plant.c: it_works can end"),
        ("cli/send.c", _at_end("/* SPDX-License-Identifier: Apache-2.0 */\n/* Sends. */\n"), "has the name of"),
    ))


def faults_that_only_the_objects_show_are_found(place):
    tree = _copy(place)
    path = tree / "base/hash.c"
    text = path.read_text()
    for code, finding in (
            ("int hash_calls;\n", r"base/hash.c: hash_calls: a mutable global"),
            ("static int hash_calls = 1;\nint *hash_at(void)\n{\n    return &hash_calls;\n}\n", "hash_calls: a mutable"),
            ("__attribute__((section(\"ours\"))) int hash_calls = 1;\n", "hash_calls: a mutable"),
            ("__attribute__((visibility(\"protected\"))) int hash_calls;\n", "hash_calls: a mutable"),
            ("__attribute__((common)) int hash_calls;\n", "hash_calls: a mutable"),
            ("_Thread_local int hash_calls;\n", "hash_calls: a mutable"),
            ("#define HASH_MADE int hash_made(void) { return 1; }\nHASH_MADE\n", "does not see the function hash_made")):
        path.write_text(text + "\n" + code)
        _compile(tree, "base/hash.c")
        code, said = _run(tree, "house_rules.py")
        check(code == 1 and re.search(finding, said), f"{finding} is not found: {said}")
    path.write_text(text)
    _compile(tree, "base/hash.c")
    twice = tree / "base/crc32c_slices.c"
    twice.write_text(twice.read_text() + "\nint *crc32c_at(void)\n{\n    static int slices;\n    return &slices;\n}\n")
    _compile(tree, "base/crc32c_slices.c")
    check("slices: 2 mutable globals have this name" in _run(tree, "house_rules.py")[1], "two of one name")
    (tree / "build/base/hash.o").unlink()
    check("base/hash.c and 0 other files are not built" in _run(tree, "house_rules.py")[1], "an object that is missing")


def a_type_before_a_function_does_not_hide_it(place):
    _plant(place, "house_rules.py", (
        ("base/hash.c", _at_end("\nstruct hash_export\n{\n    int at;\n};\n\nstatic int session_mark(void)\n{\n"
                                "    return 0;\n}\n"), "session_mark is defined 2 times"),
    ))


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
