# SPDX-License-Identifier: Apache-2.0
"""An uploader that dies at every single write, sync, rename and send: nothing lost, nothing
twice, order kept."""
import signal
import subprocess
import sys
import uuid

import lib
from lib import check, equal

HELPER = lib.BUILD / "tests/e2e/crash_upload"


def fresh_copy(place, template, number):
    """The template session under an id of its own, in a root of its own."""
    root = place.path / f"root-{number}"
    root.mkdir(mode=0o700)
    session = root / str(uuid.uuid4())
    session.mkdir()
    for f in template.iterdir():
        data = f.read_bytes().replace(template.name.encode(), session.name.encode())
        (session / f.name).write_bytes(data)
    return root, session


def run(root, backend, n, when):
    return subprocess.run([HELPER, root, backend.url, str(n), when], capture_output=True,
                          text=True, timeout=60 * lib.SLOW, check=False,
                          env=lib.environment({}))


def die_everywhere(place, when):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    template = lib.job(place, 0.2, env={"GPUFL_LOG_ROTATE_BYTES": "3000"})
    check(len(list(template.glob("system.*.log"))) >= 1, "the session has a rotated file")
    n = 0
    while True:
        n += 1
        root, session = fresh_copy(place, template, f"{when}-{n}")
        first = run(root, backend, n, when)
        if first.returncode != 0:
            equal(first.returncode, -signal.SIGKILL, f"it died at point {n}: {first.stderr}")
            second = run(root, backend, 0, when)
            equal(second.returncode, 0, f"the run after the death at point {n}")
        lib.same(backend, session)
        check(backend.complete(session.name), f"complete after the death at point {n}")
        if first.returncode == 0:
            break
    check(n > 20, f"{n} points were tried")
    print(f"   {n} points {when}")


def dying_before_each_point_loses_and_doubles_nothing(place):
    die_everywhere(place, "before")


def dying_after_each_point_loses_and_doubles_nothing(place):
    die_everywhere(place, "after")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
