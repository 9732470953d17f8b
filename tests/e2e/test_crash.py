# SPDX-License-Identifier: Apache-2.0
"""An uploader that dies at every single write, sync, rename, unlink and send, in each layout:
nothing lost, nothing twice, order kept."""
import os
import random
import signal
import subprocess
import sys
import uuid

import lib
from lib import check, equal
import sink
from writers import Shifting, Windows, crashed_windows

# Each point in make check-e2e; else each third, from a first one that changes.
STRIDE = 1 if lib.FULL else 3
FIRST = int(os.environ.get("SEED") or random.randrange(1 << 32)) % STRIDE + 1
HELPER = lib.BUILD / "tests/e2e/crash_upload"


class Live:
    """A copy of a session that libgpufl recorded, under an id of its own."""

    template = None

    def __init__(self, place, logs):
        if not Live.template or not Live.template.exists():
            Live.template = lib.rotated_job(place, "system.*.log", 1, 3000, seconds=0.2)
        self.id = str(uuid.uuid4())
        (logs / self.id).mkdir()
        for f in Live.template.iterdir():
            data = f.read_bytes().replace(Live.template.name.encode(), self.id.encode())
            (logs / self.id / f.name).write_bytes(data)
        self.written = {c: lib.on_disk(logs / self.id, c) for c in lib.CHANNELS}


def _live(place, logs):
    return Live(place, logs)


def _shifting(_, logs):
    writer = Shifting(logs, str(uuid.uuid4()))
    for i in range(12):
        for channel in writer.channels[:2]:
            writer.line(channel)
            if i % 5 == 4:
                writer.rotate(channel)
    writer.end()
    return writer


def _windows(_, logs):
    writer = Windows(logs, str(uuid.uuid4()))
    for channel in writer.channels[:2]:
        writer.line(channel)
        writer.rotate(channel)
    writer.end()
    return writer


def _crashed(_, logs):
    return crashed_windows(logs, lines=2)


def _run(root, url, n, when):
    return subprocess.run([HELPER, root, url, str(n), when], capture_output=True, text=True,
                          timeout=60 * lib.SLOW, check=False, env=lib.environment({}))


def _die_everywhere(place, make, url, verify, at_least):
    for when in ("before", "after"):
        n, code = FIRST - STRIDE, None
        while code != 0:
            n += STRIDE
            root = place.path / f"root-{when}-{n}"
            root.mkdir(mode=0o700)
            writer = make(place, root)
            first = _run(root, url, n, when)
            code = first.returncode
            if code != 0:
                equal(code, -signal.SIGKILL, f"it died {when} point {n}: {first.stderr}")
                second = _run(root, url, 0, when)
                equal(second.returncode, 0, f"the run after the death {when} point {n}")
            verify(writer, f"{when} point {n}")
        check(n > at_least, f"{n} points were tried")
        print(f"   {n - 1} points {when}, each {STRIDE} from {FIRST} (SEED={FIRST - 1})")


def _at_every_point(place, make, at_least):
    backend = lib.Backend(place, "--api-key", lib.KEY)

    def verify(writer, point):
        lib.holds(backend, writer)
        check(backend.complete(writer.id), f"complete after the death {point}")

    _die_everywhere(place, make, backend.url, verify, at_least)


def a_live_session(place):
    _at_every_point(place, _live, 40)


def a_session_of_the_11_layout(place):
    _at_every_point(place, _shifting, 40)


def published_windows(place):
    _at_every_point(place, _windows, 30)


def a_crashed_session_that_is_salvaged(place):
    _at_every_point(place, _crashed, 80)


def batches_that_are_split(place):
    def small_only(_, request):
        return 413 if request.is_batch and request.raw().count(b"\n") > 3 else None

    with sink.Sink(small_only, declare=True) as s:
        def verify(writer, point):
            got = {c: b"" for c in writer.written}
            seen = set()
            for r in s.batches():
                if r.session == writer.id and r.status == 200 and r.window_id not in seen:
                    seen.add(r.window_id)
                    got[r.channel] += r.raw()
            equal(got, writer.written, f"stored after the death {point}")

        _die_everywhere(place, _live, s.url, verify, 60)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
