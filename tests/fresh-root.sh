#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README's two commands in a fresh Debian 12 root that has git, make and ca-certificates only.
# Needs root and debootstrap. MIRROR and the apt sources of this machine are used if set.
# Usage: tests/fresh-root.sh [DIRECTORY], made anew, removed again when all passed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-$(mktemp -d)/root}
suite=${SUITE:-bookworm}

[ "$(id -u)" = 0 ] || { echo "fresh-root: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh-root: needs debootstrap" >&2; exit 1; }

undo() {
    for m in dev/shm dev proc; do
        umount "$root/$m" 2>/dev/null || true
    done
}
trap undo EXIT
undo
rm -rf "$root"
debootstrap --variant=minbase --include=git,make,ca-certificates "$suite" "$root" \
    ${MIRROR:+"$MIRROR"} >/dev/null
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev" && mount --make-rslave "$root/dev"
[ -e "$root/dev/shm" ] || mount -t tmpfs tmpfs "$root/dev/shm"
# The apt set-up of this machine (mirror, proxy, keys) is how it reaches packages at all.
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/keyrings \
    /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates; do
    [ -e "$f" ] || continue
    mkdir -p "$root$(dirname "$f")"
    cp -rL "$f" "$root$(dirname "$f")/"
done
chroot "$root" update-ca-certificates >/dev/null 2>&1 || true
git clone -q "$here" "$root/gpufl"
run() {
    echo "== fresh root: $*"
    start=$(date +%s)
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ${http_proxy:+http_proxy="$http_proxy"} \
        ${https_proxy:+https_proxy="$https_proxy"} chroot "$root" sh -c "cd /gpufl && $*"
    echo "== $(($(date +%s) - start)) s"
}
run make demo
run make check
undo
trap - EXIT
rm -rf "$root"
echo "fresh-root: both commands passed"
