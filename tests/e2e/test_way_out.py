# SPDX-License-Identifier: Apache-2.0
"""The command that gpufl status prints for a session that is held, as a person pastes it into a shell: it gives up what
is gone and nothing else, says so, and the session goes on to its end; with an agent that runs, and with none."""
import concurrent.futures
import os
import re
import subprocess
import sys
import traceback

import held_cases
import lib
from held import HELD
from lib import Failed, check, equal, until

POSITIONS = ("backend_other", "backend_longer", "backend_unproved")
SHOWN = {"not_read": "not read: 1 file", "gap": "files of it were gone before they were read", "refused": "7 lines refused",
         "lost_elsewhere": "1 range is lost at the backend"}
GIVEN_UP = {
    "missing": "device file 2", "deleted": "device", "shorter": "device file 1 from byte 557", "late": "device file 3",
    "other": "device file 1 from byte 557", "active_gone": "device file 3", "channel_gone": "scope file 1",
    "compressed": "device file 1 from byte 1017", "cut": "device file 1 from byte 557",
    "copied": "device file 1 from byte 557", "damaged": "device file 2",
    "unreadable": "device file 2",
    "window_missing": "device window 2", "window_unreadable": "device window 2",
    "window_sidecar": "device window 2", "batch": "device file 1", "refused_batch": "device file 1",
    "backend_other": "device", "backend_longer": "device", "backend_unproved": "device", "falls_short": "device file 4",
    "manifest_damaged": "its manifest", "manifest_unreadable": "its manifest", "manifest_gone": "its manifest",
    "not_read": "1 file", "gap": "device", "refused": "device 7 lines",
    "lost_elsewhere": "device",
    "missing_unsent": "device file 1", "damaged_unsent": "device file 1",
    "damaged_in_a_line": "device file 1 from byte 281", "damaged_in_a_long_line": "device file 1 from byte 281",
    "compressed_nothing": "device file 2"}
# Further ways to a reason, with a backend that knows positions: the case, and its reason.
MORE = {"missing_unsent": "missing", "damaged_unsent": "damaged", "damaged_in_a_line": "damaged",
        "damaged_in_a_long_line": "damaged", "compressed_nothing": "compressed"}
WHY = {"batch": "missing", "refused_batch": "missing"}  # their file is gone
ELSE = {"moved": "goes on in {logs}/run-2/{id}; what was sent of it is not sent again",
        "replaced": "goes on in {logs}/run-1/{id}, as it is now; what was sent of it is not sent again",
        "away": "forgotten; if its directory comes back, all of it is sent again"}


def _sh(scene, command):
    env = lib.environment({"PATH": f"{lib.BUILD}:{os.environ['PATH']}", "GPUFL_BACKEND_URL": scene.origin.url,
                           "GPUFL_API_KEY": lib.KEY})
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60 * lib.SLOW, check=False,
                          env=env, cwd=scene.place.path, **scene.as_user)


def _commands(status):
    return list(dict.fromkeys(re.findall(r"^  to .*?: (gpufl .*)$", status, re.M)))


def _held(scene, key, running):
    """An uploader and status say why, and status the command, which is returned with the agent."""
    way, text = HELD[key][0], SHOWN.get(key, HELD[key][1])
    agent = None
    if running:
        agent = scene.agent()
        until(lambda: "served by" in (said := scene.status().stdout) and text in said and _commands(said),
              f"status says so: {agent.log}")
    else:
        done = scene.upload()
        equal(done.returncode, 1, done.stdout)
        check("gpufl status" in done.stdout, f"it says where the command is: {done.stdout}")
        check("time limit" not in done.stdout, f"it ends before its time limit: {done.stdout}")
    status = scene.status()
    equal(status.returncode, 1, status.stdout + status.stderr)
    check(text in status.stdout, status.stdout)
    command = _commands(status.stdout)[0]
    check(command.startswith({"RESOLVE": "gpufl resolve ", "FORCE": "gpufl upload "}[way]), status.stdout)
    if way == "FORCE" and running:
        check("once the uploader is stopped" in status.stdout, status.stdout)
        agent.terminate()
        agent.wait(20 * lib.SLOW)
        agent = None
    return agent, command


def _says(scene, writer, case, running, said):
    """What was given up and why, where its files are, and who does what with the rest. \\return whether there is any."""
    key = MORE.get(case, case)
    if key in ELSE:
        check(f": {ELSE[key].format(logs=scene.logs, id=writer.id)}\n" in said, said)
        return None
    who = "the uploader that serves the directory" if running else "gpufl-agent or gpufl upload"
    found = re.search(r": given up: (.*?) \((.*)\); the files that are there stay in (.*); (.*)\n$", said)
    check(found, said)
    equal(found.groups()[:3], (GIVEN_UP[case], HELD[WHY.get(key, key)][1].split(": ")[0], f"{scene.logs}/run-1/{writer.id}"),
          said)
    check(found[4] in (f"what is left is sent by {who}", f"what is left, if anything, is sent by {who}",
                       "nothing of it is left to be sent", f"{who} compares them with what the backend has"), said)
    equal("compares" in found[4], key in POSITIONS, said)
    return None if "if anything" in found[4] or "compares" in found[4] else "what is left" in found[4]


def _is_done(scene, command, key):
    """It says so when it is given again."""
    done = _sh(scene, command)
    equal((done.returncode, done.stdout), (2 if key == "away" else 1, ""), f"again: {done.stdout} {done.stderr}")
    said = "no such session" if key == "away" else "nothing to resolve"
    check(said in done.stderr, done.stderr)


def _ends(scene, writer, lost, agent, key):
    """The rest is sent, the session is at its end, and nothing is held."""
    state = "live" if key == "away" else "ended_with_losses" if scene.origin.backend else "complete"
    if agent:
        until(lambda: scene.status().returncode == 0, f"nothing is held: {agent.log}")
        until(lambda: scene.origin.state(writer) == state, f"it is {state}")
    else:
        done = scene.upload()
        equal(done.returncode, 0, done.stdout + done.stderr)
    equal(scene.origin.missing(writer), lost, "what is missing")
    equal(scene.origin.state(writer), state, "its state at the backend")
    status = scene.status()
    equal((status.returncode, _commands(status.stdout)), (0, []), status.stdout)


def _gives_up(scene, writer, lost, case, running):
    key = MORE.get(case, case)
    agent, command = _held(scene, key, running)
    before = scene.origin.has(writer)
    done = _sh(scene, command)
    equal((done.returncode, done.stderr), (0, ""), f"{command}: {done.stdout}")
    left = _says(scene, writer, case, running, done.stdout)
    if not running:
        _is_done(scene, command, key)  # also before anybody has gone on
    if scene.mend:
        scene.mend()
        scene.mend = None
    _ends(scene, writer, lost, agent, key)
    if left is not None and not running:  # an agent has sent it before this looks
        equal(scene.origin.has(writer) > before, left, f"what is left: {done.stdout}")
    _is_done(scene, command, key)
    if agent:
        agent.terminate()
        equal(agent.wait(20 * lib.SLOW), 0, agent.log.read_text())


def _sends_again(scene, writer, lost, key, running):
    _, command = _held(scene, key, running)
    done = _sh(scene, command)
    if done.returncode == 1 and key == "rotated_gone":  # what is left is sent, and does not begin with the first record
        command, = _commands(scene.status().stdout)
        check(command.startswith("gpufl resolve "), command)
        done = _sh(scene, command)
    equal(done.returncode, 0, f"{command}: {done.stdout} {done.stderr}")
    with scene.origin.sink.lock:
        scene.origin.sink.lines[:] = set(scene.origin.sink.lines)  # sent again, as was said
    _ends(scene, writer, lost, None, key)


def _leads_out(case, running):
    with lib.a_place() as place:
        scene = held_cases.Scene(place, case in (*POSITIONS, *MORE, "lost_elsewhere"))
        try:
            writer, lost = getattr(held_cases, case)(scene)
            again = case in HELD and HELD[case][0] == "FORCE"
            (_sends_again if again else _gives_up)(scene, writer, lost, case, running)
        finally:
            scene.origin.close()


def _tried(case, running):
    try:
        _leads_out(case, running)
    except lib.Skipped as e:
        print(f"# {case}: skipped: {e}")
    except Exception as e:  # the others are tried, too
        return f"{case}: {e if isinstance(e, Failed) else traceback.format_exc()}"
    return None


def _each(place, running):
    keys = [key for key, (way, _) in HELD.items() if way != "MEND"]
    check(len(keys) > 25, f"the table of reasons is read: {keys}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they mostly wait
        failed = [text for text in pool.map(lambda case: _tried(case, running), [*keys, *MORE]) if text]
    check(not failed, "\n".join([f"in places beside {place.path}:", *failed]))


def the_command_of_each_hold_leads_out(place):
    _each(place, False)


def the_command_of_each_hold_leads_out_with_an_agent_that_runs(place):
    _each(place, True)


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
