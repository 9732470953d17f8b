#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README's two commands in a fresh Debian 12 root that has git, make and ca-certificates only.
# Needs root, debootstrap and unshare. MIRROR, SUITE and the apt set-up of this machine are used.
# Usage: tests/fresh-root.sh [DIRECTORY [TARGET…]], which must not exist; removed again when all
# passed. Other targets than demo and check may be named.
#
# The root gets a /proc and a small /dev of its own, in a mount namespace of its own: nothing of
# this machine is bound into it, the mounts end with the namespace, and nothing is removed while
# anything is mounted below.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-$(mktemp -d)/root}
[ $# = 0 ] || shift
[ $# != 0 ] || set -- demo check

[ "$(id -u)" = 0 ] || { echo "fresh-root: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh-root: needs debootstrap" >&2; exit 1; }
[ ! -e "$root" ] || { echo "fresh-root: $root is there already; name another" >&2; exit 1; }

debootstrap --variant=minbase --include=git,make,ca-certificates "${SUITE:-bookworm}" "$root" \
    ${MIRROR:+"$MIRROR"} >/dev/null
# The apt set-up of this machine (mirror, proxy, keys) is how it reaches packages at all.
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/keyrings \
    /etc/resolv.conf /etc/hosts /usr/local/share/ca-certificates; do
    [ -e "$f" ] || continue
    mkdir -p "$root$(dirname "$f")"
    cp -rL "$f" "$root$(dirname "$f")/"
done
git clone -q "$here" "$root/gpufl"

cat >"$root/inside.sh" <<'EOF'
set -eu
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /dev
for d in null:3 zero:5 full:7 random:8 urandom:9; do
    mknod -m 666 "/dev/${d%:*}" c 1 "${d#*:}"
done
ln -s /proc/self/fd /dev/fd
mkdir -m 1777 /dev/shm
mkdir /dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
update-ca-certificates >/dev/null 2>&1 || true
cd /gpufl
for target in "$@"; do
    echo "== fresh root: make $target"
    start=$(date +%s)
    make "$target"
    echo "== $(($(date +%s) - start)) s"
done
EOF
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root ${http_proxy:+http_proxy="$http_proxy"} \
    ${https_proxy:+https_proxy="$https_proxy"} \
    unshare --mount --propagation private chroot "$root" sh /inside.sh "$@"

if grep -q " $root/" /proc/self/mountinfo; then
    echo "fresh-root: something is still mounted below $root; nothing is removed" >&2
    exit 1
fi
rm -rf --one-file-system "$root"
echo "fresh-root: passed: $*"
