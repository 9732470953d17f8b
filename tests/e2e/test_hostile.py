# SPDX-License-Identifier: Apache-2.0
"""Directories made by somebody who means harm: nothing outside the root is read, nothing blocks,
nothing gets into a header, memory stays in bounds, and what is refused is said."""
import ctypes
import gzip
import json
import os
import pathlib
import stat
import sys
import threading

import gateway
import lib
from lib import check, equal, until
from writers import Live, Windows

CANARY = b"CANARY-never-to-be-sent"
GOOD = "55555555-5555-4555-8555-555555555555"
PEAK_KIB = 1 << 30 if lib.MEASURES_ITSELF else 40 << 10


def _line(session, n=0):
    return b'{"type":"x","session_id":"%s","n":%d}\n' % (str(session).encode(), n)


def _outside(place):
    """A file and a session that nobody may reach, and their bytes."""
    outside = place.path / "outside"
    outside.mkdir()
    secret = outside / "secret.log"
    secret.write_bytes(_line(CANARY.decode()))
    stolen = outside / "stolen"
    stolen.mkdir()
    (stolen / "scope.log").write_bytes(_line(CANARY.decode()))
    return outside, secret, stolen


def _good(place):
    session = place.logs / GOOD
    session.mkdir()
    for channel in ("device", "scope", "system"):
        (session / f"{channel}.log").write_bytes(
            b"".join(b'{"type":"%s","session_id":"%s"}\n' % (kind, GOOD.encode()) for kind in (b"job_start", b"x", b"shutdown")))
    return session


def _run_agent(place, *args):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url, "--flush-interval=0", "--rescan-interval=200ms", *args)
    return backend, agent


def _nothing_leaked(place, backend, outside):
    backend.process.terminate()
    backend.process.wait()
    for path in place.path.glob("backend.db*"):
        check(CANARY not in path.read_bytes(), f"{path.name} holds what lies outside")
    for path in outside.rglob("*"):
        check(path.exists(), f"{path} is still there")


def links_and_devices_are_refused_and_said(place):
    outside, secret, stolen = _outside(place)
    if os.geteuid() != 0:
        lib.skip("nobody else can link to what belongs to another user")
    os.chown(secret, 65534, 65534)
    session = place.logs / "bad-links"
    session.mkdir()
    (session / "device.log").symlink_to(secret)
    os.link(secret, session / "scope.log")
    os.mkfifo(session / "system.log")
    (session / "sass.log").mkdir()
    (session / "scope.1.log").symlink_to("../../outside/secret.log")
    try:
        os.mknod(session / "device.1.log", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pass
    (session / ".gpufl-session.lock").symlink_to(secret)
    (session / ".tmp").symlink_to(stolen)
    (place.logs / "linked-session").symlink_to(stolen)
    mixed = place.logs / "mixed"
    mixed.mkdir()
    (mixed / "device.log").write_bytes(_line("mixed"))
    os.link(secret, mixed / "scope.log")
    _good(place)
    backend, agent = _run_agent(place, "--salvage", "--delete-acked=acknowledged")
    until(lambda: backend.complete(GOOD), "a good session beside them is complete")
    until(lambda: backend.export("mixed", "device"), "and the good channel of a bad one is sent")
    until(lambda: "session.refused session=mixed names=1" in agent.log.read_text(), "it is said")
    agent.terminate()
    equal(agent.wait(20 * lib.SLOW), 0, "exit code")
    _nothing_leaked(place, backend, outside)


def names_never_become_headers(place):
    bad = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "b" * 200, "..x", "-rf", "a b", "ü", "a;b", "%0d%0aX"]
    for name in bad:
        (place.logs / name).mkdir()
        (place.logs / name / "scope.log").write_bytes(_line(name))
    session = _good(place)
    (session / "evil\r\nX-Evil: 1.log").write_bytes(_line(GOOD))
    (session / ("c" * 100 + ".log")).write_bytes(_line(GOOD))
    backend = lib.Backend(place, "--api-key", lib.KEY)
    with gateway.Gateway(backend.url, lambda *_: gateway.PASS) as g:
        done = lib.upload(place, g.url)
        equal(done.returncode, 1, f"two files may hold records and are not read: {done.stderr}")
        heads = b"\r\n\r\n".join(g.heads)
    check(heads and b"Evil" not in heads, "no header of a name")
    stored = {s["session_id"] for s in json.loads(backend.get("/api/v1/sessions"))["sessions"]}
    check(GOOD in stored and stored <= {GOOD, "-rf"}, f"sessions {stored}: a leading dot is no session")


def a_directory_that_is_swapped_for_a_link_is_never_followed(place):
    outside, _, stolen = _outside(place)
    session = place.logs / "swapped"
    session.mkdir()
    (session / "scope.log").write_bytes(_line("swapped"))
    link = place.path / "link"
    link.symlink_to(stolen)
    libc = ctypes.CDLL(None, use_errno=True)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            libc.renameat2(-100, bytes(link), -100, bytes(session), 2)  # RENAME_EXCHANGE

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        _good(place)
        backend, agent = _run_agent(place, "--delete-acked=acknowledged")
        until(lambda: backend.complete(GOOD), "the good session is complete")
        for n in range(200 if lib.FULL else 20):  # each one is an event, and a look
            (place.logs / f"more-{n}").mkdir()
            (place.logs / f"more-{n}" / "scope.log").write_bytes(_line(f"more-{n}"))
        until(lambda: backend.export(f"more-{n}", "scope"), "it has looked often")
    finally:
        stop.set()
        swapper.join()
    agent.terminate()
    agent.wait(20 * lib.SLOW)
    _nothing_leaked(place, backend, outside)


def deep_and_foreign_metadata_is_refused(place):
    deep = b'{"a":' * 10000 + b"1" + b"}" * 10000
    manifest = place.logs / "deep-manifest"
    manifest.mkdir()
    (manifest / ".gpufl-session.json").write_bytes(deep[:65536])
    (manifest / "scope.log").write_bytes(_line("deep-manifest"))
    huge = place.logs / "huge-manifest"
    huge.mkdir()
    with open(huge / ".gpufl-session.json", "wb") as file:
        file.truncate(1 << 30)
    (huge / "scope.log").write_bytes(_line("huge-manifest"))
    mine, other = Windows(place.logs), Windows(place.logs)
    for writer in (mine, other):
        for channel in writer.channels:
            writer.line(channel)
        writer.end()
    forged = json.loads((other.dir / ".gpufl-window.scope.1.json").read_text())
    forged["session_id"] = mine.id  # its window says that it belongs to another session
    (other.dir / ".gpufl-window.scope.1.json").write_text(json.dumps(forged))
    (other.dir / ".gpufl-window.system.1.json").write_bytes(deep[:60000])
    backend, agent = _run_agent(place)
    until(lambda: backend.complete(mine.id), "the good one is complete")
    until(lambda: agent.log.read_text().count(f"session={other.id} channel=s") == 2, "both are said")
    equal(backend.export(other.id, "scope") + backend.export(other.id, "system"), b"", "forged")
    check(not backend.complete(other.id), "not complete")
    check(lib.peak_kib(agent.pid) < PEAK_KIB, f"{lib.peak_kib(agent.pid)} KiB")


def bombs_and_endless_lines_stay_within_memory(place):
    line_mib, bomb_mib = (200, 1024) if lib.FULL else (40, 100)
    bomb = place.logs / "bomb"
    bomb.mkdir()
    zeros = bytes(1 << 20)
    with gzip.open(bomb / "scope.1.log.gz", "wb", compresslevel=1) as file:
        file.write(_line("bomb", 1))
        for _ in range(bomb_mib):
            file.write(zeros)
        file.write(b"\n" + _line("bomb", 2))
    (bomb / "scope.log").write_bytes(_line("bomb", 3))
    long = Live(place.logs)
    long.line("scope", before=True)
    with open(long.active("scope"), "ab") as file:
        file.write(b'{"type":"long","session_id":"%s","pad":"' % long.id.encode())
        for _ in range(line_mib):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    long.line("scope", after=True)
    long.end()
    backend, agent = _run_agent(place)
    until(lambda: backend.export("bomb", "scope") == b"".join(_line("bomb", n) for n in (1, 2, 3)),
          "the lines around the bomb", 120)
    until(lambda: backend.export(long.id, "scope") == long.written["scope"],
          "the lines around the long one", 120)
    equal(agent.log.read_text().count("upload.quarantined"), 2, "both are said")
    check(not backend.complete(long.id), "not complete: something was kept back")
    check(lib.peak_kib(agent.pid) < PEAK_KIB, f"{lib.peak_kib(agent.pid)} KiB at most")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
