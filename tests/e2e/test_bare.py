# SPDX-License-Identifier: Apache-2.0
"""Recording needs the C library alone: gpufl in a root, or beside libraries, that lack all else."""
import os
import re
import shutil
import subprocess
import sys

import lib
from lib import check, equal
import test_collector as collector

C_LIBRARY = re.compile(r"lib(c|m|dl|rt|pthread)\.so\.\d+|ld-linux.*\.so\.\d+")
FAKE_CUPTI = lib.BUILD / "tests/fake/libcupti.so.13"
BACKEND = ("--backend-url", "http://127.0.0.1:9", "--api-key", lib.KEY)


def _needed(path):
    """What the loader needs for a file, without what that needs."""
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def _put(root, path, name=None):
    """Copies a program or library into the root, and the parts of the C library that it needs."""
    shutil.copy(path, root / "bin" / (name or path.name))
    for found in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", path], capture_output=True, text=True,
                                                             check=True).stdout):
        if C_LIBRARY.fullmatch(found.rsplit("/", 1)[1]):
            (root / found[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, root / found[1:])


def _root(place):
    """A root with gpufl and its libraries, a job that knows nothing of it, and the C library."""
    root = place.path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "proc").mkdir()
    job = place.path / "job"
    subprocess.run(["cc", lib.BUILD / "tests/e2e/gpu_job.o", f"-L{lib.BUILD}", "-lgpufl", "-ldl", "-pthread",
                    "-o", job], check=True)
    for name in ("gpufl", "libgpufl-inject.so", "libgpufl-transfer.so", "libgpufl-cupti.so"):
        _put(root, lib.BUILD / name)
    _put(root, lib.BUILD / "libgpufl.so", "libgpufl.so.0")
    _put(root, job)
    _put(root, FAKE_CUPTI)
    return root


def _need_a_bare_root():
    if lib.MEASURES_ITSELF:
        lib.skip("a sanitizer's runtime, valgrind and QEMU need /proc and libraries of their own")
    if not FAKE_CUPTI.exists():
        lib.skip("built without the headers of CUPTI")


def _inside(root, *command, proc=True):
    """Runs a command in the root, which has a /proc as any container if asked."""
    enter = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user", "--pid", "--fork"])]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode != 0:
        lib.skip("this user may make no mount namespace")
    mounts = ('mount -t proc proc "$0/proc" && ' if proc else "") + 'exec chroot "$0" "$@"'
    return subprocess.run([*enter, "sh", "-c", mounts, root, *command], capture_output=True, text=True, check=False,
                          timeout=60, env={"PATH": "/bin:/usr/sbin:/usr/bin:/sbin", "LD_LIBRARY_PATH": "/bin"})


def its_modules_are_found_without_proc(place):
    _need_a_bare_root()
    done = _inside(_root(place), "gpufl", "status", "/", proc=False)
    check("not found beside" not in done.stderr, done.stderr)


def gpufl_is_linked_with_the_c_library_alone(place):
    del place
    if lib.SANITIZER:
        lib.skip("a sanitizer brings its own library")
    for name in ("gpufl", "libgpufl.so", "libgpufl-inject.so"):
        more = [n for n in _needed(lib.BUILD / name) if not C_LIBRARY.fullmatch(n) and n != "libgpufl.so.0"]
        equal(more, [], name)


def a_program_is_traced_where_only_the_c_library_is(place):
    _need_a_bare_root()
    root = _root(place)
    done = _inside(root, "gpufl", "trace", "-o", "/out", "--upload", *BACKEND, "--", "job", "-", "injected", "exit")
    equal((done.returncode, done.stdout), (2, ""), "what cannot be done is said before the program starts")
    check(done.stderr.startswith("gpufl trace: --upload: libcurl") and "install libcurl" in done.stderr, done.stderr)
    done = _inside(root, "gpufl", "trace", "-o", "/out", "--", "job", "-", "injected", "exit")
    equal((done.returncode, done.stdout), (7, "launched\n"), done.stderr)
    equal(done.stderr, "gpufl trace: 1 session in /out\n", "trace")
    session, = (d for d in (root / "out").iterdir() if not d.name.startswith("."))
    kernels = sum(len(r["rows"]) for r in collector.records(session, "device") if r["type"] == "kernel_event_batch")
    equal(kernels, 20, "kernels")
    done = _inside(root, "gpufl", "monitor", "-o", "/metrics", "--duration", "200ms", "--interval", "20")
    equal((done.returncode, done.stderr), (0, "gpufl monitor: 1 session in /metrics\n"), "monitor")
    for verb in ("upload", "status", "quarantine"):
        done = _inside(root, "gpufl", verb, "--help")
        equal((done.returncode, done.stderr), (0, ""), f"{verb} --help")
        check(done.stdout.startswith(f"Usage: gpufl {verb} "), done.stdout)
        equal(_inside(root, "gpufl", verb, "-V").returncode, 0, f"{verb} -V")
    done = _inside(root, "gpufl", "upload", "/out")
    equal(done.returncode, 2, "upload")
    check(done.stderr.startswith("gpufl upload: libcurl") and "install libcurl" in done.stderr, done.stderr)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    equal(lib.upload(place, backend.url, directory=root / "out").returncode, 0, "from where libcurl is, it is sent")
    lib.same(backend, session)


def a_library_that_cannot_be_loaded_is_named(place):
    broken = place.path / "broken"
    broken.mkdir()
    (broken / "libcurl.so.4").write_text("")
    for verb in (("upload", place.logs), ("status", place.logs), ("quarantine", "list", place.logs),
                 ("monitor", "--upload", *BACKEND)):
        done = place.run("gpufl", *verb, env={"LD_LIBRARY_PATH": str(broken)})
        equal((done.returncode, done.stdout), (2, ""), f"{verb}: {done.stderr}")
        check(done.stderr.startswith(f"gpufl {verb[0]}: "), done.stderr)
        check("libcurl.so.4" in done.stderr and "install libcurl" in done.stderr, done.stderr)
    for verb in (("version",), ("trace", "-o", place.path / "out", "true"), ("help", "upload"), ("upload", "--help"),
                 ("status", "-V"), ("quarantine", "-h")):
        equal(place.run("gpufl", *verb, env={"LD_LIBRARY_PATH": str(broken)}).returncode, 0, f"{verb}")


def without_its_module_gpufl_says_where_it_looked(place):
    (place.path / "bin").mkdir()
    alone = shutil.copy(lib.BUILD / "gpufl", place.path / "bin")
    done = subprocess.run([alone, "upload", place.logs], capture_output=True, text=True, check=False)
    equal(done.returncode, 2, "exit code")
    check(done.stderr.startswith("gpufl upload: libgpufl-transfer.so: not found beside gpufl"), done.stderr)
    (place.path / "lib/gpufl").mkdir(parents=True)
    shutil.copy(lib.BUILD / "libgpufl-transfer.so", place.path / "lib/gpufl")
    done = subprocess.run([alone, "status", place.logs], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), "as it is installed")


def a_module_of_another_build_is_refused(place):
    """It would read arguments of another shape."""
    (place.path / "bin").mkdir()
    alone = shutil.copy(lib.BUILD / "gpufl", place.path / "bin")
    module = place.path / "bin/libgpufl-transfer.so"
    source = place.path / "module.c"
    abort = "#include <stdlib.h>\nint gpufl_transfer_verb(void) { abort(); }\n" \
            "int gpufl_transfer_upload(void) { abort(); }\n"
    for code, said in (
            (abort, "belongs to gpufl of an earlier build, "),
            (abort + "const struct { const char *version; int (*f[2])(void); } gpufl_transfer_module =\n"
                     '{"9.9.9 (interface 1)", {gpufl_transfer_verb, gpufl_transfer_upload}};\n',
             "belongs to gpufl 9.9.9 (interface 1), ")):
        source.write_text(code)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", module, source], check=True)
        for verb in (("upload", place.logs), ("status", place.logs), ("monitor", "--upload", *BACKEND)):
            done = subprocess.run([alone, *verb], capture_output=True, text=True, check=False)
            equal((done.returncode, done.stdout), (2, ""), f"{verb}: {done.stderr}")
            check(done.stderr.startswith(f"gpufl {verb[0]}: ") and f"{module}: {said}" in done.stderr, done.stderr)
            check(re.search(r"this program is gpufl \S+ \(interface \d+\) \(install all", done.stderr), done.stderr)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
