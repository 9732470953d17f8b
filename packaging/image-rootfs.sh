#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the root of a container image: gpufl-agent, its shared libraries, the certificates, and the
# files that the C library needs to look up names.
# Usage: packaging/image-rootfs.sh BUILD_DIR ROOT; replaces ROOT. The Dockerfile copies it.
set -eu
agent=$1/gpufl-agent
root=$2

# Only a root that this script made is replaced.
if [ -e "$root" ]; then
    [ -e "$root/usr/bin/gpufl-agent" ] || { echo "image-rootfs: $root: exists and has no usr/bin/gpufl-agent (choose another directory)" >&2; exit 1; }
    rm -rf "$root"
fi
mkdir -p "$root/usr/bin" "$root/etc/ssl/certs" "$root/tmp" "$root/var/log/gpufl" "$root/var/lib/gpufl-agent"
chmod 1777 "$root/tmp"
cp "$agent" "$root/usr/bin/gpufl-agent"
strip "$root/usr/bin/gpufl-agent"

# Each library goes to the path at which the loader finds it; the loader is one of them.
ldd "$agent" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | sort -u |
    while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done

cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'gpufl:x:65532:65532:gpufl:/var/lib/gpufl-agent:/nonexistent' >"$root/etc/passwd"
echo 'gpufl:x:65532:' >"$root/etc/group"
chown 65532:65532 "$root/var/lib/gpufl-agent" "$root/var/log/gpufl" 2>/dev/null || true
chmod 700 "$root/var/lib/gpufl-agent"
find "$root" -exec touch -hd "@${SOURCE_DATE_EPOCH:-0}" {} +
du -sh "$root" | cut -f1
