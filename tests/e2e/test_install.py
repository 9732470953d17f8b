# SPDX-License-Identifier: Apache-2.0
"""`make install` and `make uninstall`: prefixes, the loader, and nothing left behind."""
import re
import subprocess
import sys

import lib
from lib import check, equal

PC = ("gpufl.pc", "gpufl-upload.pc")
OF_BUILD = {"release": {}, "coverage": {"COVERAGE": 1}}.get(lib.BUILD.name, {"SAN": lib.BUILD.name.replace("-", ",")})


def _make(target, **variables):
    """Its standard error; make's own messages are off."""
    variables |= OF_BUILD
    done = subprocess.run(["make", "-s", "-C", lib.ROOT, target, *(f"{k}={v}" for k, v in variables.items())],
                          capture_output=True, text=True, check=False)
    equal(done.returncode, 0, f"make {target}: {done.stdout}{done.stderr}")
    return done.stderr


def _files(root):
    return {str(f.relative_to(root)) for f in root.rglob("*") if f.is_symlink() or not f.is_dir()}


def each_prefix_is_that_of_its_own_install(place):
    roots = {prefix: place.path / prefix.strip("/") for prefix in ("/opt/one", "/opt/two", "/usr")}
    for prefix, root in roots.items():
        _make("install", DESTDIR=root, prefix=prefix)
        for name in PC:
            text = (root / prefix.strip("/") / "lib/pkgconfig" / name).read_text()
            equal(re.search(r"^prefix=(.*)$", text, re.M)[1], prefix, name)
            equal([other for other in roots if other != prefix and f"={other}" in text], [], f"{name}: other prefixes")
            check("@" not in text, f"{name}: {text}")
    installed = [{f.removeprefix(prefix.strip("/")) for f in _files(root)} for prefix, root in roots.items()]
    check(installed[0] == installed[1] == installed[2], "each has the same files")


def uninstall_removes_everything_that_install_installed(place):
    theirs = place.path / "root/usr/lib/theirs.so"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    where = {"DESTDIR": place.path / "root", "prefix": "/usr"}
    _make("install", **where)
    check(len(_files(place.path / "root")) > 25, "files are installed")
    _make("uninstall", **where)
    equal(_files(place.path / "root"), {"usr/lib/theirs.so"}, "what is left")


def what_operators_need_is_installed(place):
    _make("install", DESTDIR=place.path, prefix="/usr")
    for name, source in (("alerts.yml", "packaging/prometheus"), ("gpufl-agent.json", "packaging/grafana"),
                         ("openapi.json", "schema")):
        equal((place.path / "usr/share/gpufl" / name).read_bytes(), (lib.ROOT / source / name).read_bytes(), name)


def a_directory_that_the_loader_does_not_search_is_said(place):
    prefix = place.path / "prefix"
    said = _make("install", prefix=prefix)
    for words in (f"install: {prefix}/lib/libgpufl.so.0: ", f"the loader does not search {prefix}/lib",
                  f"(link with -Wl,-rpath,{prefix}/lib"):
        check(words in said, said)
    source = place.path / "train.c"
    source.write_text(re.search(r"```c\n(.*?)```", (lib.ROOT / "README.md").read_text(), re.S)[1])
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gpufl"], capture_output=True, text=True, check=True,
                           env=lib.environment({"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"})).stdout.split()
    for advice, code in (([], 127), ([f"-Wl,-rpath,{prefix}/lib"], 0)):
        subprocess.run(["cc", source, "-o", place.path / "train", *flags, *advice, *lib.SANITIZER], check=True)
        done = subprocess.run([place.path / "train"], cwd=place.path, env=lib.environment({}), check=False,
                              capture_output=True)
        equal(done.returncode, code, f"linked with {advice}")
    equal(_make("uninstall", prefix=prefix), "", "nothing to say")
    equal(_files(prefix), set(), "what is left")


def with_destdir_the_loader_is_left_alone(place):
    equal(_make("install", DESTDIR=place.path, prefix="/opt/gpufl"), "", "what is said")


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
