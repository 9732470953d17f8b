# SPDX-License-Identifier: Apache-2.0
"""What the README and the pages in docs/ promise, word for word."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import lib
from lib import check, equal, until

sys.path.insert(0, str(lib.ROOT / "tests"))
import doc_paths
import readme_blocks

README = (lib.ROOT / "README.md").read_text()


def the_c_example_compiles_as_printed_and_records(place):
    code = re.search(r"```c\n(.*?)```", README, re.S).group(1)
    source = place.path / "train.c"
    source.write_text(code)
    done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", *lib.SANITIZER, source,
                           f"-I{lib.ROOT}/include", f"-L{lib.BUILD}", "-lgpufl",
                           f"-Wl,-rpath,{lib.BUILD}", "-o", place.path / "train"],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), "the compiler")
    done = subprocess.run([place.path / "train"], cwd=place.path, check=False,
                          env=lib.environment({}), capture_output=True, text=True)
    session, = (d for d in place.logs.iterdir() if d.is_dir())
    equal((done.returncode, done.stdout, done.stderr), (0, f"recorded in logs/{session.name}\n", ""),
          "it says where it recorded, and the library says nothing")
    text = lib.on_disk(session, "scope").decode()
    check('"step"' in text and '"forward"' in text, "its scopes are there")
    done = subprocess.run([place.path / "train"], cwd=place.path / "logs" / session.name, check=False,
                          env=lib.environment({"GPUFL_DISABLED": "1"}), capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (0, "", "train: gpufl records nothing\n"), "when it is off")


def public_headers_are_strict_c11(place):
    """D-01."""
    for header in sorted((lib.ROOT / "include/gpufl").glob("*.h")):
        source = place.path / "h.c"
        source.write_text(f"#include <gpufl/{header.name}>\nint used;\n")
        for std in ("c11", "c99"):
            done = subprocess.run(["cc", f"-std={std}", "-Wall", "-Wextra", "-pedantic", "-Werror",
                                   "-fsyntax-only", f"-I{lib.ROOT}/include", source],
                                  capture_output=True, text=True, check=False)
            equal((done.returncode, done.stderr), (0, ""), f"{header.name} as {std}")


def every_folder_of_the_map_exists_and_every_folder_is_on_it(place):
    named = set(re.findall(r"^\| `([a-z-]+)/", README, re.M)) | {"docs"}
    there = {d.name for d in lib.ROOT.iterdir()
             if d.is_dir() and not d.name.startswith(".") and d.name not in ("build", "demo-out")}
    if (lib.ROOT / ".git").exists():
        tracked = subprocess.run(["git", "-C", lib.ROOT, "ls-files"], capture_output=True,
                                 text=True, check=False).stdout
        there = {line.split("/")[0] for line in tracked.splitlines() if "/" in line}
        there = {d for d in there if not d.startswith(".")}
    equal(named, there, "folders")
    check(place, "")


def _ids(text):
    """Row ids in a text, ranges (S2-01 to S2-05) written out."""
    found = set()
    for seed, first, last in re.findall(r"\b(S\d|D)-(\d{2,3})\b(?: to (?:S\d-|D-)?(\d\d))?", text):
        found |= {f"{seed}-{n:02d}" for n in range(int(first), int(last or first) + 1)}
    return found


def the_coverage_page_and_the_tests_agree(place):
    """Each row, of the core and of engines, has tests that are there and say that they are for it; each field and
    variable of the page stands in the public header."""
    page = (lib.ROOT / "docs/api-coverage.md").read_text()
    tests = {}
    for path in (lib.ROOT / "tests/e2e").glob("test_*.py"):
        for name, text in re.findall(r'^def (\w+)\(place\):\n(?:    """(.*?)""")?', path.read_text(),
                                     re.M | re.S):
            tests[name] = _ids(text)
    for path in (lib.ROOT / "tests/unit").glob("test_*.c"):
        for text, name in re.findall(r"^/\* ((?:(?!\*/).)*) \*/\nstatic void (\w+)\(void \*\*state\)", path.read_text(),
                                     re.M | re.S):
            tests[name] = _ids(text)
    for name, text in re.findall(r'^def (\w+)\(\):\n(?:    """(.*?)""")?', (lib.ROOT / "tests/gpu/prove.py").read_text(),
                                 re.M | re.S):
        tests[f"GPU {name}"] = _ids(text)
    tested = re.findall(r"^\| ((?:S[23]|D)-\d{2,3}) \|.*\| ([^|]+) \|$", page, re.M)
    equal((len(tested), len(dict(tested))), (89, 89), "60 core rows, and 29 of engines")
    for ident, names in tested:
        check(names.strip(), f"{ident} has no test")
        for name in re.findall(r"`([\w ]+)`", names.replace("*GPU* `", "`GPU ")):
            check(ident in tests.get(name, ()), f"{name} does not say that it is for {ident}")
    header = (lib.ROOT / "include/gpufl/gpufl.h").read_text()
    fields = re.findall(r"^\| `([a-z_]+)` \|", page, re.M)
    equal(len(fields), 21, "fields")
    for field in fields:
        check(re.search(rf"\b\*?{field};", header), f"{field} is no field")
    others = dict(re.findall(r"^\| (\w[^|]*) \| (\d+) \| S", page, re.M))
    equal(sum(map(int, others.values())) + 60, 161, "all rows")
    for rows, ids in re.findall(r"^\| \w[^|]* \| (\d+) \| (S[^|]*) \|", page, re.M):
        equal(len(_ids(ids)), int(rows), ids)


def the_tables_of_failures_and_the_tests_agree(place):
    """Every row is there, and every test that it names; what once went wrong, each as a plan."""
    page = (lib.ROOT / "tests/README.md").read_text()
    names = set()
    for path in (lib.ROOT / "tests").rglob("test_*.*"):
        names |= set(re.findall(r"^def (\w+)\(place\):", path.read_text(), re.M))
        names |= set(re.findall(r"^static void\s(\w+)\(void \*\*\w+\)", path.read_text(), re.M))
    rows = re.findall(r"^\| ([FTDC]\d+) \|.*\|([^|]*)\|$", page, re.M)
    idents = [ident for ident, _ in rows]
    equal(idents, [f"{table}{n + 1}" for table in "FTDC" for n in range(sum(i[0] == table for i in idents))], "rows")
    check(all(any(i[0] == table for i in idents) for table in "FTDC"), "four tables")
    rules = re.findall(r"^\| ([^|]+) \|((?: `\w+`)+) \|$", page, re.M)
    check(rules, "rules of the backend")
    page = (lib.ROOT / "tests/sim/README.md").read_text()
    once = re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", page, re.M)
    equal([ident for ident, _ in once], [str(n + 1) for n in range(26)], "what once went wrong")
    plans = set(re.findall(r'^    \{"(\w+)",', (lib.ROOT / "tests/sim/fixed_plans.c").read_text(), re.M))
    for ident, tests in once:
        check(plans & set(re.findall(r"`(\w+)`", tests)), f"{ident}: no plan is named")
    for ident, tests in rows + rules + once:
        found = re.findall(r"`(\w+)`", tests)
        check(found, f"{ident}: no test is named")
        for name in found:
            check(name in (names | plans if ident.isdigit() else names), f"{ident}: no test is called {name}")


def its_make_targets_exist(place):
    text = (lib.ROOT / "Makefile").read_text()
    targets = re.findall(r"^make ([a-z-]+)", README, re.M)
    equal(targets, ["demo", "check", "install", "deb"], "targets")
    for target in targets:
        check(re.search(rf"^{target}:", text, re.M), f"make {target}")
    check(place, "")


def _as_if_installed(place):
    """The environment after `make install`: the programs are on PATH, pkg-config knows the library."""
    text = (lib.ROOT / "packaging/gpufl.pc.in").read_text()
    for name, value in (("prefix", lib.ROOT), ("libdir", lib.BUILD), ("incdir", lib.ROOT / "include"),
                        ("version", "0")):
        text = text.replace(f"@{name}@", str(value))
    (place.path / "gpufl.pc").write_text(text.replace("-lgpufl\n", f"-lgpufl {' '.join(lib.SANITIZER)}\n", 1))
    return lib.environment({"PATH": f"{lib.BUILD}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(lib.BUILD),
                            "PKG_CONFIG_PATH": str(place.path)})


def its_blocks_work_pasted_in_order(place):
    """All but those that install: what one records and sends is at the backend that one started,
    and the agent that one started goes on to send."""
    port, env = lib.free_port(), _as_if_installed(place)
    text = readme_blocks.script(README, without=("make", "apt", "systemctl")).replace("8765", str(port))
    check(text.count(f"127.0.0.1:{port}") >= 3, "backend, upload and agent use the same address")
    (place.path / "pasted.sh").write_text(text)
    with open(place.path / "pasted.log", "wb") as log:
        shell = subprocess.Popen(["sh", "-x", "pasted.sh"], cwd=place.path, env=env, stdout=log, stderr=log,
                                 start_new_session=True)
    try:
        code = shell.wait(60 * lib.SLOW)
        said = (place.path / "pasted.log").read_text()
        equal(code, 0, said)
        sessions = {d.name for d in place.logs.iterdir() if not d.name.startswith(".")}
        equal(set(re.findall(r"^recorded in logs/(\S+)$", said, re.M)), sessions, "it says where it recorded")
        equal(len(sessions), 2, "sessions: the program, and the program traced")
        backend = lib.Backend.__new__(lib.Backend)
        backend.url, key = f"http://127.0.0.1:{port}", (place.path / "key").read_text().strip()
        asked = {"Authorization": f"Bearer {key}"}
        stored = json.loads(backend.get("/api/v1/sessions", asked))["sessions"]
        equal({s["session_id"] for s in stored if s["complete"]}, sessions, "stored and complete")
        subprocess.run([place.path / "train"], cwd=place.path, env=env, check=True, stdout=subprocess.DEVNULL)
        until(lambda: sum(s["complete"] for s in json.loads(
            backend.get("/api/v1/sessions", asked))["sessions"]) == 3, "the agent sends the next one")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)


def paths_in_the_pages_exist(place):
    """What README and docs/ name of this tree is there; each source file of the architecture page too."""
    equal(doc_paths.missing(), [], "paths")
    check(place, "")


def install_puts_everything_in_its_place(place):
    if lib.BUILD.name != "release":
        lib.skip("only the release build is installed")
    done = subprocess.run(["make", "-s", "-C", lib.ROOT, "install", f"DESTDIR={place.path}/root",
                           "prefix=/usr"], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, f"make install ({done.stderr})")
    root = place.path / "root/usr"
    for name in ("bin/gpufl-agent", "bin/gpufl", "bin/gpufl-backend", "lib/libgpufl.so.0",
                 "lib/libgpufl.so", "lib/libgpufl.a", "lib/libgpufl-upload.so",
                 "lib/libgpufl-upload.a", "include/gpufl/gpufl.h", "include/gpufl/upload.h",
                 "include/gpufl/gpufl.hpp", "include/gpufl/options.hpp", "include/gpufl/core/monitor.hpp",
                 "include/gpufl/upload/upload_logs.hpp",
                 "lib/pkgconfig/gpufl.pc", "lib/pkgconfig/gpufl-upload.pc"):
        check((root / name).exists(), f"{name} is installed")
    equal(subprocess.run([root / "bin/gpufl", "version"], check=False).returncode, 0, "it runs")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
