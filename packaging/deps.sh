#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finds what the build lacks and installs it by apt, as root or by sudo, without questions.
# Usage: packaging/deps.sh collector|agent|build|bench|lint|fuzz|deb|nspawn|page…
set -eu

need=""
want() { # want PACKAGE TEST…: remembers PACKAGE when TEST fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || need="$need $package"
}
module() { pkg-config --exists "$1"; }
python_module() { # the tests take the Python that has it
    for python in python3 /usr/bin/python3; do
        "$python" -c "import $1" && return
    done
    return 1
}
header() { printf '#include <%s>\n' "$1" | cc -E -x c - ; }

compiler() {
    want gcc command -v cc
    want libc6-dev test -e /usr/include/stdio.h
}
uploader() {
    compiler
    want pkg-config command -v pkg-config
    want libcurl4-openssl-dev module libcurl
    want libzstd-dev module libzstd
    want zlib1g-dev module zlib
    want libjson-c-dev module json-c
    want libinotifytools0-dev header inotifytools/inotifytools.h
}

for group in "$@"; do
    case $group in
    collector)
        compiler
        ;;
    agent)
        uploader
        ;;
    build)
        uploader
        want g++ command -v g++
        want python3 command -v python3
        want openssl command -v openssl
        want groff-base command -v groff
        want python3-jsonschema python_module jsonschema
        want python3-yaml python_module yaml
        want python3-seccomp python_module seccomp
        want libcmocka-dev module cmocka
        want libmicrohttpd-dev module libmicrohttpd
        want libsqlite3-dev module sqlite3
        want libjs-dygraphs test -e /usr/share/javascript/dygraphs/dygraph.min.js
        ;;
    bench)
        want libssl-dev module libssl
        ;;
    lint)
        want clang-format command -v clang-format
        want cppcheck command -v cppcheck
        want binutils command -v nm
        ;;
    fuzz)
        want clang command -v clang
        ;;
    deb)
        want debhelper command -v dh
        want dpkg-dev command -v dpkg-buildpackage
        want lintian command -v lintian
        want systemd command -v systemd-analyze
        ;;
    nspawn)
        want debootstrap command -v debootstrap
        want systemd-container command -v systemd-nspawn
        ;;
    page)
        want chromium command -v chromium
        want chromium-driver command -v chromedriver
        want fonts-dejavu-core test -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
        ;;
    *)
        echo "deps: no group \"$group\"; groups are collector, agent, build, bench, lint, fuzz, deb, nspawn, page" >&2
        exit 2
        ;;
    esac
done

[ -n "$need" ] || exit 0
command="apt-get install -y --no-install-recommends$need"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: missing:$need" >&2
    echo "deps: no apt here; install what your system calls these, on Debian: $command" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "deps: missing:$need" >&2
        echo "deps: run as root: apt-get update && $command" >&2
        exit 1
    fi
    sudo="sudo"
fi
echo "deps: installing$need${sudo:+ (by sudo)}"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive $command -qq >/dev/null
