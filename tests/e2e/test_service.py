# SPDX-License-Identifier: Apache-2.0
"""The agent as a service: what systemd is told, and what SIGHUP changes."""
import json
import os
import signal
import socket
import sys

import lib
from lib import check, equal, until
import sink
from test_metrics import Watched


class _Systemd:
    """Its end of $NOTIFY_SOCKET."""

    def __init__(self, place, name=None):
        self.name = name or str(place.path / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.name[1:] if self.name.startswith("@") else self.name)
        self.socket.setblocking(False)
        self.told = []

    def heard(self, start):
        """The first message that starts so, of all so far."""
        while True:
            try:
                self.told.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                break
        return next((text for text in self.told if text.startswith(start)), None)


def systemd_is_told_how_it_goes(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for name in (None, f"@gpufl-{os.getpid()}"):
        systemd = _Systemd(place, name)
        env = {"NOTIFY_SOCKET": systemd.name, "WATCHDOG_USEC": "400000"}
        process = lib.agent(place, backend.url, env=env)
        until(lambda s=systemd: s.heard("READY=1"), "it is ready")
        until(lambda s=systemd: s.heard("STATUS="), "a status")
        check("sessions live" in systemd.heard("STATUS="), systemd.heard("STATUS="))
        until(lambda s=systemd: s.told.count("WATCHDOG=1") > 3 or s.heard("nothing"), "signs of life")
        process.terminate()
        stopping = until(lambda s=systemd: s.heard("STOPPING=1"), "it stops")
        equal(stopping, "STOPPING=1\nEXTEND_TIMEOUT_USEC=30000000", "with the time that it needs")
        equal(process.wait(20 * lib.SLOW), 0, "exit code")
        os.path.exists(systemd.name) and os.unlink(systemd.name)


def the_status_says_why_it_waits(place):
    systemd = _Systemd(place)
    lib.job(place, 0.1)
    with sink.Sink(key="another") as s:
        process = lib.agent(place, s.url, "--drain-timeout=100ms", env={"NOTIFY_SOCKET": systemd.name})
        until(lambda: "origin.hold" in process.log.read_text(), "it holds")
        process.terminate()
        equal(process.wait(20 * lib.SLOW), 0, "exit code")
    systemd.heard("nothing")
    check(any("backlog" in t and "the backend refused the API key (HTTP 401)" in t for t in systemd.told), f"{systemd.told}")


def a_socket_that_is_not_there_harms_nothing(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for name in (str(place.path / "none"), "relative", "@", "/" + "x" * 200):
        session = lib.job(place, 0.1)
        process = lib.agent(place, backend.url, "--exit-when-drained", env={"NOTIFY_SOCKET": name})
        equal(process.wait(30 * lib.SLOW), 0, name)
        lib.same(backend, session)


def sighup_takes_over_what_it_can_and_says_what_it_cannot(place):
    config = place.path / "agent.json"

    def write(**agent):
        config.write_text(json.dumps({"agent": agent}))

    backend = lib.Backend(place, "--api-key", lib.KEY)
    write(logLevel="info", rescanInterval="10s")
    agent = Watched(place, backend.url, f"--config={config}")
    write(logLevel="debug", logFormat="json", rescanInterval="1s", flushInterval="50ms")
    agent.process.send_signal(signal.SIGHUP)
    line = until(lambda: [x for x in agent.log().splitlines() if "agent.reloaded" in x], "it reloads")[0]
    equal(json.loads(line)["needs_restart"], "rescan-interval", "what needs a restart")
    session = lib.job(place, 0.1)
    until(lambda: backend.complete(session.name), "it goes on")
    check('"event":"upload.acked"' in agent.log(), "it says more, as JSON")
    config.write_text("{")
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: "agent.not_reloaded" in agent.log(), "a broken file is said")
    config.write_text('{"agent":{"logLevel":"loud"}}')
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: agent.log().count("agent.not_reloaded") == 2 and "loud" in agent.log(), "and a wrong value")
    session = lib.job(place, 0.1)
    until(lambda: backend.complete(session.name), "everything stays as it was")
    agent.stop()


if __name__ == "__main__":
    sys.exit(lib.main(sys.modules[__name__]))
