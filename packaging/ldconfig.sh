#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs ldconfig after libgpufl was installed or removed, or says why that does not help.
# Usage: packaging/ldconfig.sh LIBDIR; `make install` and `make uninstall` call it without DESTDIR.
set -eu
libdir=$1
library=$libdir/libgpufl.so.0
PATH=$PATH:/usr/sbin:/sbin
command -v ldconfig >/dev/null || exit 0 # another C library

searched() { # is LIBDIR one of the directories that ldconfig reads?
    ldconfig -N -X -v 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p' | while read -r directory; do
        [ ! "$directory" -ef "$libdir" ] || echo "$directory"
    done | grep -q .
}

if searched; then
    [ "$(id -u)" != 0 ] || exec ldconfig
    [ ! -e "$library" ] ||
        echo "install: $library: programs do not find it yet: not root (run ldconfig as root)" >&2
elif [ -e "$library" ]; then
    echo "install: $library: programs do not find it: the loader does not search $libdir" \
        "(link with -Wl,-rpath,$libdir, or add $libdir to /etc/ld.so.conf.d and run ldconfig)" >&2
fi
