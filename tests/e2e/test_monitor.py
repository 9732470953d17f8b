# SPDX-License-Identifier: Apache-2.0
"""gpufl monitor and gpufl info."""
import json
import signal
import sys

import lib
from lib import check, equal, until
import test_collector as collector

FAKE = {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}


def _session(directory):
    found, = (d for d in directory.iterdir() if not d.name.startswith("."))
    return found


def it_records_for_a_duration(place):
    out = place.path / "out"
    done = place.run("gpufl", "monitor", "--name", "node-7", "--output", out, "--interval", "50",
                     "--duration", "600ms", env=FAKE)
    equal(done.returncode, 0, done.stderr)
    session = _session(out)
    equal(collector.records(session, "system")[0]["app"], "node-7", "name")
    rows = list(collector.rows(session, "system", "device_metric_batch"))
    check(10 <= len(rows) <= 30, f"{len(rows)} device rows of 2 GPUs at 50 ms")
    equal(collector.records(session, "system")[-1]["type"], "shutdown", "it ends whole")


def a_signal_ends_it_cleanly(place):
    out = place.path / "out"
    for number in (signal.SIGINT, signal.SIGTERM):
        process = place.start("gpufl", "monitor", "-o", out / str(number), "--interval", "20")
        until(lambda: "recording into" in process.log.read_text(), "it records")
        process.send_signal(number)
        equal(process.wait(10 * lib.SLOW), 0, "exit code")
        equal(collector.records(_session(out / str(number)), "system")[-1]["type"], "shutdown",
              "it ends whole")


def with_upload_everything_is_at_the_backend(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    out = place.path / "out"
    done = place.run("gpufl", "monitor", "-q", "-o", out, "--interval", "50", "--duration", "400ms",
                     "--upload", "--backend-url", backend.url, "--api-key", lib.KEY)
    equal((done.returncode, done.stdout), (0, ""), done.stderr)
    session = _session(out)
    lib.same(backend, session)
    check(backend.complete(session.name), "complete")


def without_a_backend_the_session_stays_and_is_said(place):
    out = place.path / "out"
    done = place.run("gpufl", "monitor", "-q", "-o", out, "--interval", "50", "--duration", "200ms",
                     "--upload", "--backend-url", "http://127.0.0.1:9", "--api-key", lib.KEY)
    equal(done.returncode, 1, "exit code")
    check(f"gpufl upload {out}" in done.stderr, done.stderr)
    check(lib.on_disk(_session(out), "system"), "the files stay")


def wrong_use_is_told(place):
    for args, code, word in ((("--interval", "0"), 2, "interval"), (("--upload",), 2, "backend-url"),
                             (("--duration", "soon"), 2, "duration"), (("extra",), 2, "extra"),
                             (("--output", "/proc/none", "--duration", "1s"), 3, "/proc/none"),
                             (("--output", "/dev/null/x", "--duration", "1s"), 3, "--output: ")):
        done = place.run("gpufl", "monitor", *args)
        equal(done.returncode, code, f"exit code of {args}")
        check(word in done.stderr, f"{args}: {done.stderr}")
    equal(place.run("gpufl", "monitor", "--help").returncode, 0, "help")


def info_shows_what_the_driver_tells(place):
    done = place.run("gpufl", "info", "--json", env=FAKE)
    equal(done.returncode, 0, done.stderr)
    devices = json.loads(done.stdout)["devices"]
    equal([d["name"] for d in devices], ["Fake H200 0", "Fake H200 1"], "names")
    equal(devices[1]["memory"]["totalGlobalBytes"], 143771 << 20, "memory")
    one = place.run("gpufl", "info", "--device", "1", env=FAKE)
    equal((one.returncode, one.stdout.count("\n")), (0, 1), "one device")
    equal(place.run("gpufl", "info", "--device", "9", env=FAKE).returncode, 2, "no such device")
    none = place.run("gpufl", "info")
    equal(none.returncode, 3, "no GPU")
    check("libnvidia-ml" in none.stderr, none.stderr)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
