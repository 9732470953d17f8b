#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a minimal Debian root whose apt is set up like this machine's; needs root and debootstrap.
# Nothing else of this machine is copied. SUITE and MIRROR go to debootstrap.
# Usage: tests/debian-root.sh ROOT PACKAGE[,PACKAGE…]; ROOT must not exist.
set -eu
root=$1
packages=$2

[ "$(id -u)" = 0 ] || { echo "debian-root: not root (run as root)" >&2; exit 1; }
command -v debootstrap >/dev/null ||
    { echo "debian-root: debootstrap: not found (apt-get install debootstrap)" >&2; exit 1; }
[ ! -e "$root" ] || { echo "debian-root: $root: exists (choose another directory)" >&2; exit 1; }

mkdir -p "$(dirname "$root")"
debootstrap --variant=minbase --include="$packages" "${SUITE:-bookworm}" "$root" \
    ${MIRROR:+"$MIRROR"} >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
rm -rf "$root/etc/apt/sources.list" "$root/etc/resolv.conf"
for path in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/auth.conf.d \
    /etc/apt/preferences.d /etc/apt/keyrings /etc/apt/trusted.gpg.d /usr/share/keyrings \
    /usr/local/share/ca-certificates /etc/resolv.conf; do
    [ -e "$path" ] || continue
    mkdir -p "$root$(dirname "$path")"
    cp -rL "$path" "$root$(dirname "$path")/"
done
# The proxy of this machine may have a certificate of its own.
if [ -x "$root/usr/sbin/update-ca-certificates" ]; then
    chroot "$root" update-ca-certificates >"$root.log" 2>&1 ||
        { echo "debian-root: $root: update-ca-certificates failed:" >&2; cat "$root.log" >&2; exit 1; }
fi
rm -f "$root.log"
