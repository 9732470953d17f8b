# SPDX-License-Identifier: Apache-2.0
"""What a crashed 1.3 writer left in `.tmp`."""
import gzip
import json
import os
import sys
import zlib

import lib
from lib import check, equal, until
from writers import Windows, crashed_windows


def upload_publishes_it_all_in_order(place):
    writer = crashed_windows(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, f"exit code ({done.stdout} {done.stderr})")
    lib.holds(backend, writer)
    check(backend.complete(writer.id), "complete")
    check(not writer.tmp.exists(), "no .tmp is left")
    equal(sorted(f.name for f in writer.dir.glob("*.gz")),
          [f"device.{n}.log.gz" for n in (1, 2, 3, 4)] +
          ["scope.1.log.gz", "scope.2.log.gz", "system.1.log.gz", "system.2.log.gz"], "windows")
    for payload in writer.dir.glob("*.gz"):
        channel, n, _ = payload.name.split(".", 2)
        side = json.loads((writer.dir / f".gpufl-window.{channel}.{n}.json").read_text())
        data = payload.read_bytes()
        equal((side["payload_file"], side["payload_bytes"], side["payload_crc32"]),
              (payload.name, len(data), zlib.crc32(data)), "its sidecar")
    again = lib.upload(place, backend.url)
    equal((again.returncode, again.result["events_uploaded"]), (0, 0), "a second run")


def an_agent_leaves_it_alone_unless_asked(place):
    writer = crashed_windows(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    before = sorted(f.name for f in writer.tmp.iterdir())
    agent = lib.agent(place, backend.url, "--retain-acked-payloads")
    until(lambda: "--salvage" in agent.log.read_text(), "it says so")
    published = gzip.decompress((writer.dir / "device.1.log.gz").read_bytes())
    until(lambda: backend.export(writer.id, "device") == published, "what is published goes")
    equal(sorted(f.name for f in writer.tmp.iterdir()), before, ".tmp")
    check(not backend.complete(writer.id), "not complete")
    agent.terminate()
    agent.wait(20 * lib.SLOW)
    equal(agent.log.read_text().count("unpublished windows"), 1, "said once")
    lib.agent(place, backend.url, "--salvage")
    until(lambda: backend.complete(writer.id), "complete with --salvage")
    lib.holds(backend, writer)


def a_live_writer_is_never_touched(place):
    writer = Windows(place.logs)
    writer.line("device")
    writer.retire("device")
    before = sorted(f.name for f in writer.tmp.iterdir())
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 0, f"exit code ({done.stderr})")
    equal(sorted(f.name for f in writer.tmp.iterdir()), before, ".tmp of a live writer")
    writer.squeeze("device", 1)
    writer.sidecar("device", 1)
    writer.publish("device", 1)
    writer.end()
    equal(lib.upload(place, backend.url).returncode, 0, "exit code after its end")
    lib.holds(backend, writer)


def what_needs_a_person_stays_and_is_said(place):
    writer = Windows(place.logs)
    for channel in writer.channels:
        writer.rotate(channel)
    same = (writer.dir / "scope.1.log.gz").read_bytes()
    (writer.tmp / "scope.1.log.gz").write_bytes(same)                   # a copy: may go
    (writer.tmp / "system.1.log.gz").write_bytes(gzip.compress(b"{}\n"))  # against a published one
    (writer.tmp / "device.2.log.gz").write_bytes(same[:-5])             # damaged, no raw
    (writer.tmp / "device.3.log").write_bytes(b'{"type":"later"}\n')    # waits behind it
    (writer.tmp / "core.1234").write_bytes(b"x")
    os.symlink("/etc/passwd", writer.tmp / "sass.2.log")
    (writer.tmp / "sass.9.log.gz").write_bytes(b"")                     # held nothing any more
    writer.die()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 1, f"exit code ({done.stdout})")
    check("move or delete them" in done.result["message"], done.result["message"])
    equal(sorted(f.name for f in writer.tmp.iterdir()),
          ["core.1234", "device.2.log.gz", "device.3.log", "sass.2.log", "system.1.log.gz"],
          "what is left in .tmp")
    equal([f.name for f in writer.dir.glob(".gpufl-transport-loss.*")],
          [".gpufl-transport-loss.sass.9.json"], "the loss marker")
    check(not backend.complete(writer.id), "not complete")
    for channel in ("device", "scope", "system", "sass"):
        check(backend.export(writer.id, channel), f"published windows of {channel} are sent")


def what_is_published_but_never_complete_ends_the_run(place):
    writer = crashed_windows(place.logs)
    (writer.dir / ".gpufl-transport-loss.device.99.json").write_text("{}\n")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url, timeout=30 * lib.SLOW)
    check(not writer.tmp.exists(), "no .tmp is left")
    lib.holds(backend, writer)
    check(not backend.complete(writer.id), "not complete")
    for run in ("first", "second"):
        equal((done.returncode, done.result["sessions_lossy"]), (0, 1), f"{run} run: {done.stdout}")
        check(f"; lines were dropped while recording 1 session: {writer.id}" in done.result["message"],
              done.result["message"])
        done = lib.upload(place, backend.url, timeout=30 * lib.SLOW)
    quiet = place.run("gpufl", "upload", place.logs, "-q", "--backend-url", backend.url, "--api-key", lib.KEY)
    equal((quiet.returncode, quiet.stdout), (0, ""), "quietly")
    check(f"dropped while recording 1 session: {writer.id}" in quiet.stderr, quiet.stderr)
    told = place.run("gpufl", "status", place.logs, "--json")
    equal((told.returncode, json.loads(told.stdout)["sessions_lossy"]), (0, 1), f"status: {told.stdout}")
    text = place.run("gpufl", "status", place.logs)
    equal((text.returncode, "lines were dropped while recording" in text.stdout), (0, True), text.stdout)


def without_salvage_nothing_is_written(place):
    writer = crashed_windows(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    before = sorted(f.name for f in writer.dir.rglob("*"))
    done = lib.upload(place, backend.url, "--no-salvage")
    equal(done.returncode, 1, "exit code")
    check("publishes them" in done.result["message"], done.result["message"])
    equal(sorted(f.name for f in writer.dir.rglob("*")), before, "files")


def a_sidecar_that_comes_before_its_payload_skips_nothing(place):
    writer = Windows(place.logs)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url)
    writer.line("device")
    n = writer.retire("device")
    writer.squeeze("device", n)
    writer.sidecar("device", n)
    writer.rotate("system")
    until(lambda: backend.export(writer.id, "system"), "the directory was looked at")
    equal(backend.export(writer.id, "device"), b"", "not there yet")
    writer.publish("device", n)
    writer.end()
    until(lambda: backend.complete(writer.id), "complete")
    lib.holds(backend, writer)


def a_payload_that_vanished_unsent_is_not_passed_over(place):
    writer = Windows(place.logs)
    for channel in writer.channels:
        writer.line(channel)
        writer.rotate(channel)
    (writer.dir / "scope.1.log.gz").unlink()   # and no agent's marker with its id beside it
    (writer.dir / ".gpufl-window-ack.scope.1").write_text(f"{writer.id}\n")
    (writer.dir / "system.1.log.gz").unlink()  # delivered and deleted by another agent
    side = json.loads((writer.dir / ".gpufl-window.system.1.json").read_text())
    (writer.dir / ".gpufl-window-ack.system.1").write_text(side["window_id"] + "\n")
    writer.end()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done = lib.upload(place, backend.url)
    equal(done.returncode, 1, "exit code")
    check("channel scope waits: a window is missing" in done.result["message"],
          done.result["message"])
    check(not backend.complete(writer.id), "not complete")
    for channel in ("device", "sass"):
        equal(backend.export(writer.id, channel), writer.written[channel], channel)
    check(b"shutdown" in backend.export(writer.id, "system"), "system goes on at window 2")
    equal(backend.export(writer.id, "scope"), b"", "scope waits")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
