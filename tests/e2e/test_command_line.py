# SPDX-License-Identifier: Apache-2.0
"""What the programs answer to what a newcomer types: each mistake is named, and none passes for success."""
import os
import subprocess
import sys

import lib
from lib import check, equal

ROOT = os.geteuid() == 0
NOWHERE = ("--backend-url", "http://127.0.0.1:9", "--api-key", "k")


def _says(done, code, *words):
    equal(done.returncode, code, f"{done.args}: {done.stdout} {done.stderr}")
    for word in words:
        check(word in done.stderr, f"{done.args}: no {word!r} in: {done.stderr}")


def what_cannot_be_printed_is_no_success(place):
    session = lib.job(place, 0.1)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    settings = (f"--folder={place.logs}", f"--host={backend.url}")
    env = lib.environment({"GPUFL_HTTP_TOKEN": lib.KEY})
    for name, *args in (("gpufl", "--version"), ("gpufl", "--help"), ("gpufl", "upload", "--help"),
                        ("gpufl", "version"), ("gpufl", "status", place.logs), ("gpufl", "status", place.logs, "--json"),
                        ("gpufl", "upload", place.logs, "--json", "--backend-url", backend.url, "--api-key", lib.KEY),
                        ("gpufl-agent", "--help"), ("gpufl-agent", "--version"), ("gpufl-agent", *settings, "--check"),
                        ("gpufl-agent", "healthcheck", "--help"), ("gpufl-backend", "--help"),
                        ("gpufl-backend", "--version")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*lib.EMULATOR, lib.BUILD / name, *args], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60 * lib.SLOW, env=env, check=False)
        _says(done, 2, f"{name}: cannot write to standard output: No space left on device")
    lib.same(backend, session)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
