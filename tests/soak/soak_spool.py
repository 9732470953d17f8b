# SPDX-License-Identifier: Apache-2.0
"""SOAK_GIB (20) of recording through a spool of 512 MiB, with an agent that deletes what the
backend has stored: nothing is lost, nothing comes twice. Usage: soak_spool.py BUILD_DIR"""
import os
import pathlib
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import lib  # noqa: E402  (lib reads the build directory from argv)
from lib import check, equal, until  # noqa: E402

BYTES = int(float(os.environ.get("SOAK_GIB", "20")) * (1 << 30))
PAIRS_PER_MS = int(os.environ.get("SOAK_PAIRS_PER_MS", "200"))
SPOOL_BYTES = 512 << 20


def directory_bytes(session):
    total = 0
    for path in session.iterdir():
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # delivered and deleted just now
            pass
    return total


def peak_kib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def stored_rows(backend, session):
    """Scope rows of the stored channel, and its bytes; read as a stream."""
    request = urllib.request.Request(
        f"{backend.url}/api/v1/sessions/{session}/export?channel=scope",
        headers={"Authorization": f"Bearer {lib.KEY}"})
    rows = size = 0
    rest = b""
    with urllib.request.urlopen(request, timeout=600) as reply:
        while data := reply.read(4 << 20):
            size += len(data)
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if b"scope_event_batch" in line[:60]:
                    rows += line.count(b"],[") + 1
    equal(rest, b"", "the last line ends")
    return rows, size


def main():
    with lib.a_place() as place:
        backend = lib.Backend(place, "--api-key", lib.KEY)
        agent = lib.agent(place, backend.url, "--delete-acked=acknowledged",
                          "--max-requests-per-second=0")
        begin = time.monotonic()
        job = place.start("tests/soak/recorder", place.logs, BYTES, PAIRS_PER_MS,
                          env={"GPUFL_LOG_MAX_SPOOL_BYTES": str(SPOOL_BYTES)})
        session = place.logs / until(lambda: job.log.read_text().strip(), "it records")
        most = said = 0
        while job.poll() is None:
            most = max(most, directory_bytes(session))
            if time.monotonic() - begin > said + 30:
                said += 30
                found = backend.session(session.name) or {"raw_bytes": 0}
                print(f"  {said} s: {found['raw_bytes'] >> 20} MiB stored, spool "
                      f"{directory_bytes(session) >> 20} MiB", flush=True)
            time.sleep(0.2)
        recorded_s = time.monotonic() - begin
        equal(job.returncode, 0, job.log.read_text())
        until(lambda: backend.complete(session.name), "complete", 600)
        drained_s = time.monotonic() - begin - recorded_s
        pairs, dropped, written, lost = map(int, job.log.read_text().split()[-4:])
        equal((dropped, lost), (0, 0), "the recorder lost nothing")
        equal(list(session.glob(".gpufl-transport-loss*")), [], "no loss marker")
        equal(backend.session(session.name)["raw_bytes"], written, "every byte is stored")
        rows, size = stored_rows(backend, session.name)
        equal(rows, 2 * pairs, "every row is stored once")
        check(most <= SPOOL_BYTES, f"the spool had {most} bytes")
        print(f"{written / (1 << 30):.2f} GiB, {pairs} pairs in {recorded_s:.0f} s, drained "
              f"{drained_s:.1f} s later; spool at most {most >> 20} MiB, agent's peak "
              f"{peak_kib(agent) / 1024:.1f} MiB; stored: {size} bytes of scopes, 0 lost, 0 twice")


main()
