#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what a build lacks with apt, as root or through sudo, without questions.
# Usage: packaging/deps.sh collector|agent|build|bench|lint|fuzz|deb|nspawn|page|arm64…
set -eu

need=""
foreign="" # the architecture of packages for a cross-build
want() { # want PACKAGE TEST…: PACKAGE is needed if TEST fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || need="$need $package"
}
module() { pkg-config --exists "$1"; }
foreign_module() { aarch64-linux-gnu-pkg-config --exists "$1"; }
python_module() { # the tests use the Python that has it
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
        want locales test -e /usr/share/i18n/locales/de_DE
        want zsh command -v zsh
        want fish command -v fish
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
        want build-essential test -e /usr/share/doc/build-essential
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
    arm64)
        [ "$(dpkg --print-architecture 2>/dev/null)" != arm64 ] || continue
        foreign=arm64
        want crossbuild-essential-arm64 test -e /usr/share/doc/crossbuild-essential-arm64
        want qemu-user command -v qemu-aarch64
        want pkg-config:arm64 command -v aarch64-linux-gnu-pkg-config
        want libcurl4-openssl-dev:arm64 foreign_module libcurl
        want libzstd-dev:arm64 foreign_module libzstd
        want zlib1g-dev:arm64 foreign_module zlib
        want libjson-c-dev:arm64 foreign_module json-c
        want libinotifytools0-dev:arm64 test -e /usr/lib/aarch64-linux-gnu/libinotifytools.so
        want libcmocka-dev:arm64 foreign_module cmocka
        want libmicrohttpd-dev:arm64 foreign_module libmicrohttpd
        want libsqlite3-dev:arm64 foreign_module sqlite3
        ;;
    *)
        echo "deps: group: $group: unknown (expected collector, agent, build, bench, lint, fuzz, deb," \
            "nspawn, page or arm64)" >&2
        exit 2
        ;;
    esac
done

[ -n "$need" ] || exit 0
command="apt-get install -y --no-install-recommends$need"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "deps: missing packages:$need: no apt-get (install what your system calls them;" \
        "on Debian: $command)" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "deps: missing packages:$need: not root, and no sudo (run as root:" \
            "${foreign:+dpkg --add-architecture $foreign && }apt-get update && $command)" >&2
        exit 1
    fi
    sudo="sudo"
fi
echo "deps: installing$need${sudo:+ (with sudo)}"
[ -z "$foreign" ] || $sudo dpkg --add-architecture "$foreign"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive $command -qq >/dev/null
