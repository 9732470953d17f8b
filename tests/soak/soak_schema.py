# SPDX-License-Identifier: Apache-2.0
"""SOAK_S (600) seconds of our own recording, each line against the schemas: a job with scopes and
made-up NVIDIA devices, and gpufl monitor on a tree of AMD ones. With directories of sessions as
arguments those are validated instead. Usage: soak_schema.py BUILD_DIR [DIRECTORY…]"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import schemas  # noqa: E402  (first: it may start this anew by the Python that has jsonschema)
import lib  # noqa: E402  (reads the build directory from argv)
from lib import check, equal  # noqa: E402

SECONDS = os.environ.get("SOAK_S", "600")


def validate(session):
    lines = schemas.Lines()
    size = 0
    for channel in lib.CHANNELS:
        data = lib.on_disk(session, channel)
        size += len(data)
        for number, line in enumerate(data.splitlines(), 1):
            wrong = lines.wrong(line)
            check(not wrong, f"{session.name} {channel}, line {number}: {wrong}")
    print(f"{session}: {sum(lines.seen.values())} lines, {size} bytes valid: " +
          ", ".join(f"{n} {t}" for t, n in sorted(lines.seen.items())), flush=True)


def record(place):
    rotate = {"GPUFL_LOG_ROTATE_BYTES": "2000000", "GPUFL_LOG_ROTATE_AFTER_MS": "60000"}
    running = [
        place.start("examples/demo-job", place.logs, SECONDS,
                    env={**rotate, "LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}),
        place.start("gpufl", "monitor", "-q", "-o", place.logs, "--interval", "50", "--duration",
                    f"{SECONDS}s", env={"GPUFL_SYSFS": str(lib.ROOT / "tests/samples/amdgpu")})]
    for process in running:
        equal(process.wait(), 0, process.log.read_text())
    return place.logs


def main():
    with lib.a_place() as place:
        for root in [pathlib.Path(a) for a in sys.argv[2:]] or [record(place)]:
            for session in sorted(d for d in root.iterdir() if not d.name.startswith(".")):
                validate(session)


main()
