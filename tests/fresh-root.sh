#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the README's commands, in its order, in a bare Debian root that has git, make and
# ca-certificates only; or, if targets are given, these targets of the Makefile.
# Needs root, debootstrap and unshare. tests/debian-root.sh says what the root gets of this machine.
# Usage: tests/fresh-root.sh [DIRECTORY [TARGET…]]; DIRECTORY must not exist, and is removed at the
# end if everything passed.
#
# The commands run in mount and PID namespaces of their own, so mounts and background processes end
# with them, and nothing is removed while anything is mounted below the root.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
root=${1:-$(mktemp -d)/root}
[ $# = 0 ] || shift

"$here/tests/debian-root.sh" "$root" git,make,ca-certificates
git clone -q "$here" "$root/gpufl"
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99yes" # as a reader answers
# systemd does not run here; tests/packages.sh runs this line.
python3 "$here/tests/readme_blocks.py" "$here/README.md" | grep -v '^systemctl ' >"$root/readme.sh"

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
cd /gpufl
for target in "$@"; do
    echo "== fresh root: make $target"
    start=$(date +%s)
    make "$target"
    echo "== $(($(date +%s) - start)) s"
done
[ $# = 0 ] || exit 0
PS4='== $(date +%H:%M:%S) README: ' sh -eux /readme.sh </dev/null
EOF
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
    ${https_proxy:+https_proxy="$https_proxy"} \
    unshare --mount --propagation private --pid --fork --kill-child chroot "$root" sh /inside.sh "$@"

if grep -q " $root/" /proc/self/mountinfo; then
    echo "fresh-root: $root: something is mounted below it (unmount it, then remove $root)" >&2
    exit 1
fi
rm -rf --one-file-system "$root"
echo "fresh-root: passed: ${*:-README}"
