#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Tests the Debian packages. Two builds of one commit in two places have to give the same bytes, and
# lintian and systemd-analyze have to pass. Then the packages are installed in a bare Debian root that
# boots systemd: it runs gpufl-backend as a service, follows the README's section "As a service", and
# sends sessions through a TLS proxy to that backend; wrong certificates have to be refused.
# Needs root, debootstrap and systemd-nspawn. Usage: tests/packages.sh [DIRECTORY]; DIRECTORY must not
# exist, and is removed at the end if everything passed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)/packages}
root=$work/root

[ "$(id -u)" = 0 ] || { echo "packages: not root (run as root)" >&2; exit 1; }
[ ! -e "$work" ] || { echo "packages: $work: exists (choose another directory)" >&2; exit 1; }
"$here/packaging/deps.sh" build deb nspawn
mkdir -p "$work"

for place in one the/other; do
    mkdir -p "$work/$place"
    git clone -q "$here" "$work/$place/gpufl"
    make -s -C "$work/$place/gpufl" deb >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }
done
for deb in "$work"/one/gpufl/build/deb/*.deb; do
    cmp "$deb" "$work/the/other/gpufl/build/deb/$(basename "$deb")"
done
echo "== two builds are identical"
lintian --allow-root --fail-on error,warning "$work"/one/gpufl/build/deb/*.changes
echo "== lintian passes"
for unit in gpufl-agent gpufl-backend; do
    systemd-analyze security --offline=true --threshold=20 "$here/packaging/systemd/$unit.service" >"$work/security"
    tail -1 "$work/security"
done

"$here/tests/debian-root.sh" "$root" systemd,systemd-sysv,dbus,ca-certificates,make,nginx-light,openssl
mkdir -p "$root/gpufl/build" "$root/dev/shm"
cp -r "$work/one/gpufl/build/deb" "$root/gpufl/build/"
cp "$here/README.md" "$here/tests/packages-inside.sh" "$root/gpufl/"
make -s -C "$here" build/release/examples/demo-job
cp "$here/build/release/examples/demo-job" "$root/gpufl/"

# apt needs the network of this machine; the container that boots has none but loopback.
chroot "$root" env ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c '
    apt-get update -qq && cd /gpufl &&
    apt-get install -y -qq ./build/deb/gpufl-agent_*.deb ./build/deb/gpufl_*.deb ./build/deb/libgpufl0_*.deb' \
    >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; exit 1; }
chroot "$root" gpufl-agent --version
echo "== installed"
for unit in gpufl-agent gpufl-backend; do
    [ ! -e "$root/etc/systemd/system/multi-user.target.wants/$unit.service" ] ||
        { echo "packages: $unit.service: is enabled after installation" >&2; exit 1; }
done

cat >"$root/etc/systemd/system/proof.service" <<'EOF'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'sh /gpufl/packages-inside.sh >/gpufl/proof.log 2>&1; echo $? >/gpufl/proof.rc; systemctl --force poweroff'
[Install]
WantedBy=default.target
EOF
ln -sf /etc/systemd/system/proof.service "$root/etc/systemd/system/multi-user.target.wants/proof.service"
unshare --mount --propagation private sh -c '
    mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null || true
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --register=no --keep-unit --private-network \
        --directory="$1" --boot </dev/null >"$2/boot.log" 2>&1' - "$root" "$work" || true
cat "$root/gpufl/proof.log" 2>/dev/null || tail -30 "$work/boot.log"
[ "$(cat "$root/gpufl/proof.rc" 2>/dev/null)" = 0 ] || { echo "packages: failed (logs: $work)" >&2; exit 1; }
rm -rf --one-file-system "$work"
echo "packages: passed"
