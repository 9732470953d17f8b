#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tests/packages.sh runs in the booted root: both services, the README's section, TLS, wrong
# certificates, and where the key can be seen.
set -eu
cd /gpufl
fail() {
    echo "packages: $*" >&2
    journalctl -u gpufl-agent -u gpufl-backend --no-pager | tail -20 >&2
    exit 1
}
restart() { systemctl restart gpufl-agent || fail "gpufl-agent does not start again"; }
until_true() { # until_true TEXT COMMAND…: within 30 s
    text=$1
    shift
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "timed out: $text"
}
ip link set lo up 2>/dev/null || true
echo "127.0.0.1 localhost gpufl.example.com other.example.com" >>/etc/hosts

mkdir -p /tls && cd /tls
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ours -keyout ca.key -out ca.pem 2>/dev/null
issue() { # issue NAME HOST DAYS
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    echo "subjectAltName=DNS:$2" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days "$3" -extfile "$1.ext" -out "$1.crt" 2>/dev/null
}
issue good gpufl.example.com 1
issue elsewhere other.example.com 1
issue expired gpufl.example.com -1
echo gpfl_packaged_key >/gpufl/key
key=$(cat /gpufl/key)
present() { # present NAME: nginx serves that certificate
    cat >/etc/nginx/nginx.conf <<EOF
events {}
http {
    client_max_body_size 40m;
    server {
        listen 443 ssl;
        ssl_certificate /tls/$1.crt;
        ssl_certificate_key /tls/$1.key;
        location / { proxy_pass http://127.0.0.1:8765; proxy_request_buffering off; proxy_buffering off; }
    }
}
EOF
    nginx -s reload 2>/dev/null || nginx
}
cd /gpufl
gpufl_get() {
    perl -MIO::Socket::INET -e 'my ($p, $k) = @ARGV; my $s = IO::Socket::INET->new("127.0.0.1:8765") or exit 1;
        print $s "GET $p HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $k\r\nConnection: close\r\n\r\n"; print <$s>;' \
        "/api/v1/sessions$1" "$2"
}
complete() { gpufl_get "/$1" "$key" | grep -q '"complete":true'; }
answers() { gpufl_get "" "$1" | grep -q "^HTTP/1.1 $2"; }

# gpufl-backend as its unit runs it: on loopback, with the key of its settings, as a user of its own.
cat >>/etc/gpufl/backend.env <<EOF
GPUFL_BACKEND_OPTIONS=--retain-days 30 --max-db-bytes 1GiB
GPUFL_BACKEND_API_KEY=$key
EOF
systemctl start gpufl-backend || fail "gpufl-backend does not start"
until_true "gpufl-backend answers" answers "$key" 200
answers wrong 401 || fail "gpufl-backend takes a wrong key"
[ "$(grep -ci ':223D 0\+:0000 0A' /proc/net/tcp)" = 1 ] || fail "gpufl-backend listens more than once"
grep -qi '0100007F:223D 0\+:0000 0A' /proc/net/tcp || fail "gpufl-backend listens beyond loopback"
[ -e /var/lib/gpufl-backend/gpufl.db ] || fail "gpufl-backend has no database"
backend=$(systemctl show gpufl-backend -p MainPID --value)
[ "$(grep ^Uid: "/proc/$backend/status" | cut -f2)" != 0 ] || fail "gpufl-backend runs as root"
tr '\0' ' ' <"/proc/$backend/cmdline" | grep -q -- '--retain-days 30' || fail "gpufl-backend has no options"
! tr '\0' ' ' <"/proc/$backend/cmdline" | grep -q "$key" || fail "the key is in gpufl-backend's command line"
for file in alerts.yml gpufl-agent.json openapi.json; do
    [ -s "/usr/share/gpufl/$file" ] || fail "/usr/share/gpufl/$file is missing"
done
present good
cp /tls/ca.pem /usr/local/share/ca-certificates/ours.crt
update-ca-certificates >/dev/null 2>&1

systemctl start gpufl-agent 2>/dev/null || true
systemctl is-active -q gpufl-agent && fail "gpufl-agent runs without a key"
# The packages are already built and installed.
awk '/^## /{here = /^## As a service/} /^```/{code = here && /sh$/; next} code' README.md |
    grep -v '^make deb\|^apt install' >/tmp/section.sh
[ "$(wc -l </tmp/section.sh)" = 3 ] || fail "README: As a service: other commands than three"
sh -eux /tmp/section.sh
systemctl is-active -q gpufl-agent || fail "gpufl-agent does not run"
systemctl show gpufl-agent -p StatusText

useradd -m somebody
for user in root somebody; do
    session=$(su "$user" -s /bin/sh -c '/gpufl/demo-job /var/log/gpufl 1')
    until_true "the session of $user is complete" complete "$session"
    echo "== a session of $user went over TLS: $session"
done
# In a user namespace, it could not tell users apart.
agent=$(systemctl show gpufl-agent -p MainPID --value)
[ "$(readlink "/proc/$agent/ns/user")" = "$(readlink /proc/1/ns/user)" ] || fail "gpufl-agent sees no owners"
[ "$(stat -c %U /var/log/gpufl/*/device.log | sort -u | tr '\n' ' ')" = "root somebody " ] || fail "users"

for wrong in expired elsewhere; do
    present "$wrong"
    since=$(date '+%Y-%m-%d %H:%M:%S')
    restart
    session=$(/gpufl/demo-job /var/log/gpufl 0.3)
    until_true "$wrong is said" sh -c "journalctl -u gpufl-agent --since '$since' | grep -q 'gpufl.example.com'"
    journalctl -u gpufl-agent --since "$since" -o cat | grep -m1 'reason=' | sed 's/^/== /'
    gpufl_get "/$session" "$key" | grep -q '"complete"' && fail "$wrong was trusted"
    present good
    until_true "after $wrong it goes on" complete "$session"
done
rm /usr/local/share/ca-certificates/ours.crt && update-ca-certificates --fresh >/dev/null 2>&1
since=$(date '+%Y-%m-%d %H:%M:%S')
restart
/gpufl/demo-job /var/log/gpufl 0.3 >/dev/null
until_true "an unknown authority is said" sh -c "journalctl -u gpufl-agent --since '$since' | grep -q 'local issuer'"

pid=$(systemctl show gpufl-agent -p MainPID --value)
for file in cmdline environ; do
    ! tr '\0' '\n' <"/proc/$pid/$file" | grep -q gpfl_packaged || fail "the key is in $file"
done
! journalctl -u gpufl-agent | grep -q gpfl_packaged || fail "the key is in the journal"
[ "$(stat -c %U "/proc/$pid")" != root ] || [ "$(grep ^Uid: "/proc/$pid/status" | cut -f2)" != 0 ] || fail "it runs as root"
grep -q 'NoNewPrivs:.*1' "/proc/$pid/status" || fail "it may gain privileges"
systemctl reload gpufl-agent || fail "it does not reload"
until_true "it reloads" sh -c "journalctl -u gpufl-agent | grep -q agent.reloaded"
systemctl stop gpufl-agent
[ "$(systemctl show gpufl-agent -p Result --value)" = success ] || fail "gpufl-agent does not stop cleanly"
systemctl restart gpufl-backend || fail "gpufl-backend does not start again"
until_true "gpufl-backend keeps its sessions" complete "$session"
session=$(/gpufl/demo-job /tmp/own 0.3)
GPUFL_API_KEY=$key gpufl upload /tmp/own --backend-url http://127.0.0.1:8765 || fail "gpufl upload does not send"
complete "$session" || fail "gpufl upload says that it sent what the backend lacks"
systemctl stop gpufl-backend
[ "$(systemctl show gpufl-backend -p Result --value)" = success ] || fail "gpufl-backend does not stop cleanly"
gpufl trace -o /tmp/traced -- true 2>&1 | tee /tmp/trace.log
! grep -q 'libgpufl-inject.so' /tmp/trace.log || fail "gpufl trace lacks its library"
man -w gpufl-agent >/dev/null 2>&1 || [ -e /usr/share/man/man8/gpufl-agent.8.gz ] || fail "no manual"
echo "== everything inside passed"
