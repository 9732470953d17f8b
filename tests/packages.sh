#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Debian packages, proved: two builds of one commit in two places give the same bytes; lintian
# and systemd-analyze are content; in a fresh Debian 12 root that runs systemd they are installed,
# the README's section "As a service" is followed word for word, and a session goes over TLS to
# gpufl-backend behind a TLS proxy. Wrong certificates are refused with a sentence.
# Needs root, debootstrap, systemd-nspawn. Usage: tests/packages.sh [DIRECTORY], which must not exist.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)/packages}
root=$work/root

[ "$(id -u)" = 0 ] || { echo "packages: needs root" >&2; exit 1; }
[ ! -e "$work" ] || { echo "packages: $work is there already; name another" >&2; exit 1; }
"$here/packaging/deps.sh" build deb nspawn
mkdir -p "$work"

# ---- the packages --------------------------------------------------------------------------------
for place in one the/other; do
    mkdir -p "$work/$place"
    git clone -q "$here" "$work/$place/gpufl"
    make -s -C "$work/$place/gpufl" deb >"$work/build.log" 2>&1 || { tail -30 "$work/build.log"; exit 1; }
done
for deb in "$work"/one/gpufl/build/deb/*.deb; do
    cmp "$deb" "$work/the/other/gpufl/build/deb/$(basename "$deb")"
done
echo "== two builds are the same"
lintian --allow-root --fail-on error,warning "$work"/one/gpufl/build/deb/*.changes
echo "== lintian is content"
systemd-analyze security --offline=true --threshold=20 "$here/packaging/systemd/gpufl-agent.service" >"$work/security"
tail -1 "$work/security"

# ---- a fresh root ----------------------------------------------------------------------------------
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,make,nginx-light,openssl \
    "${SUITE:-bookworm}" "$root" ${MIRROR:+"$MIRROR"} >/dev/null
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/keyrings; do
    [ -e "$f" ] || continue
    mkdir -p "$root$(dirname "$f")"
    cp -rL "$f" "$root$(dirname "$f")/"
done
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
mkdir -p "$root/gpufl/build" "$root/dev/shm"
cp -r "$work/one/gpufl/build/deb" "$root/gpufl/build/"
cp "$here/README.md" "$here/tests/packages-inside.sh" "$root/gpufl/"
make -s -C "$here" build/release/examples/demo-job
cp "$here/build/release/examples/demo-job" "$root/gpufl/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true

# apt wants the network of this machine; the service is run in a container that boots.
chroot "$root" env ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c '
    apt-get update -qq && cd /gpufl &&
    apt-get install -y -qq ./build/deb/gpufl-agent_*.deb ./build/deb/gpufl_*.deb ./build/deb/libgpufl0_*.deb' \
    >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; exit 1; }
chroot "$root" gpufl-agent --version
echo "== installed"
[ ! -e "$root/etc/systemd/system/multi-user.target.wants/gpufl-agent.service" ] ||
    { echo "packages: the unit is enabled without a key" >&2; exit 1; }

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
[ "$(cat "$root/gpufl/proof.rc" 2>/dev/null)" = 0 ] || { echo "packages: FAILED, see $work" >&2; exit 1; }
rm -rf --one-file-system "$work"
echo "packages: passed"
