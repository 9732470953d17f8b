# SPDX-License-Identifier: Apache-2.0
"""libgpufl in a real process: what stands in the directory, whatever the job does."""
import collections
import contextlib
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

import lib
from lib import check, equal, until
import sink
from writers import Live

BEGIN, END = 0, 1


def play(place, part, *more, env=None):
    done = place.run("tests/e2e/job", place.logs, part, *more, env=env)
    words = done.stdout.split("\n")
    return done, place.logs / words[0] if words[0] else None


def records(session, channel):
    data = lib.on_disk(session, channel)
    check(data.endswith(b"\n"), f"{channel} ends in a whole line")
    out = [json.loads(line) for line in data.splitlines()]
    for r in out:
        equal(r["session_id"], session.name, "session_id of a line")
    return out


def last_start(session, channel):
    """The last job_start, which has the devices: the first one has them if the driver answered within 50 ms."""
    return [r for r in records(session, channel) if r["type"] == "job_start"][-1]


def rows(session, channel, kind):
    for r in records(session, channel):
        if r["type"] == kind:
            for row in r["rows"]:
                yield dict(zip(r["columns"], row), base=r["base_time_ns"])


def scope_names(session):
    names = {}
    for r in records(session, "scope"):
        if r["type"] == "dictionary_update":
            names.update(r.get("scope_name_dict", {}))
    return names


def paired(session):
    """Every begin has its end, later, at the same depth; the names of the pairs."""
    names, open_scopes, count = scope_names(session), {}, collections.Counter()
    for row in rows(session, "scope", "scope_event_batch"):
        key = row["scope_instance_id"]
        if row["event_type"] == BEGIN:
            check(key not in open_scopes, "an instance begins once")
            open_scopes[key] = row
        else:
            begin = open_scopes.pop(key)
            equal((row["name_id"], row["depth"]), (begin["name_id"], begin["depth"]), "pair")
            check(row["base"] + row["dt_ns"] >= begin["base"] + begin["dt_ns"], "in order")
            count[names[str(row["name_id"])]] += 1
    equal(open_scopes, {}, "scopes left open")
    return count


def unlocked(session):
    with open(session / ".gpufl-session.lock", "rb") as f:
        flock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
        return struct.unpack("hhqqi4x", fcntl.fcntl(f, fcntl.F_GETLK, flock))[0] == fcntl.F_UNLCK


def a_session_has_manifest_lock_and_three_channels(place):
    session = lib.job(place, 0.5)
    equal(sorted(f.name for f in session.iterdir()),
          [".gpufl-session.json", ".gpufl-session.lock", "device.log", "scope.log",
           "system.log"], "files")
    manifest = json.loads((session / ".gpufl-session.json").read_text())
    equal((manifest["layout"], manifest["session_id"], manifest["channels"]),
          ("live", session.name, ["device", "scope", "system"]), "manifest")
    check(unlocked(session), "the lock is free after the job")
    born = subprocess.run(["stat", "-c", "%.9W", session / ".gpufl-session.lock"], capture_output=True, text=True, check=True)
    equal(manifest["lock_born_ns"], int(born.stdout.replace(".", "")), "when the lock file was made")
    for channel in ("device", "scope", "system"):
        all_records = records(session, channel)
        equal(all_records[0]["type"], "job_start", f"first line of {channel}")
        equal(all_records[-1]["type"], "shutdown", f"last line of {channel}")
    start = records(session, "system")[0]
    equal(list(start), ["version", "type", "pid", "app", "session_id", "log_path", "ts_ns",
                        "hostname", "ip_addr", "host", "devices", "gpu_static_devices",
                        "cuda_static_devices", "rocm_static_devices", "session_kind",
                        "profiling_engine"], "keys of job_start in order")
    if start["devices"] and start["devices"][0]["vendor"] == "SIMULATED":
        check("Simulated" in start["devices"][0]["name"], "simulated GPUs say so")


def an_active_file_that_was_removed_gets_its_name_back(place):
    """As by a tool that compresses logs: nothing of what was written is lost."""
    job = place.start("examples/demo-job", place.logs, 60 * lib.SLOW)
    active = until(lambda: next(place.logs.glob("[!.]*/system.log"), None), "the session")
    until(lambda: active.read_bytes().count(b"\n") > 1, "it is written")
    before = active.read_bytes()
    active.unlink()
    until(active.exists, "it is back")
    check(active.read_bytes().startswith(before), "with all that was written")
    size = active.stat().st_size
    until(lambda: active.stat().st_size > size, "and goes on")
    equal(sorted(f.name for f in active.parent.glob(".new-*")), [], "nothing else is left")
    job.kill()
    job.wait()


def _edited(active, expression):
    subprocess.run(["sed", "-i", expression, active], check=True)


def _copied(active):
    copy = active.with_name("copy~")
    shutil.copy2(active, copy)
    copy.rename(active)


def _packed_and_unpacked(active):
    subprocess.run(["gzip", active], check=True)
    subprocess.run(["gunzip", "-f", f"{active}.gz"], check=True)


def _rotated_by_others(active):
    active.rename(active.with_name("system.1.log"))
    active.touch()


def _replaced(place, backend, replace):
    """A job whose active file another program replaces; what it said, what it wrote, and its session."""
    job = subprocess.Popen([lib.BUILD / "examples/demo-job", place.logs, str(4 * lib.SLOW)], env=lib.environment({}),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    active = until(lambda: next(place.logs.glob("[!.]*/system.log"), None), "the session")
    until(lambda: backend.export(active.parent.name, "system").count(b"\n") > 1, "it is sent live")
    replace(active)
    _, said = job.communicate(timeout=60 * lib.SLOW)
    equal(job.returncode, 0, said)
    return said, active.parent


def an_active_file_that_was_replaced_by_a_copy_is_whole(place):
    """By sed -i, by cp and mv, by gzip and gunzip, or renamed: the rest was written to a file without its name."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url)
    for replace in (lambda f: _edited(f, "s/no such text/x/"), _copied, _packed_and_unpacked,
                    lambda f: f.rename(place.path / "elsewhere"), lambda f: f.rename(f.with_name("system.7.log")),
                    _rotated_by_others):
        said, session = _replaced(place, backend, replace)
        equal(said, "", "nothing is lost")
        until(lambda d=session: backend.complete(d.name), "complete")
        lib.same(backend, session)
        lines = lib.on_disk(session, "system").splitlines()
        equal((len(set(lines)), json.loads(lines[-1])["type"]), (len(lines), "shutdown"), "to its end, each line once")
        shutil.rmtree(session)


def a_file_whose_number_is_taken_grows_and_says_so(place):
    job = subprocess.Popen([lib.BUILD / "examples/demo-job", place.logs, "600"], stdout=subprocess.DEVNULL, text=True,
                           env=lib.environment({"GPUFL_LOG_ROTATE_BYTES": "8000"}), stderr=subprocess.PIPE)
    sealed = until(lambda: next(place.logs.glob("[!.]*/system.1.log"), None), "a file is sealed")
    active, taken = sealed.with_name("system.log"), sealed.with_name("system.3.log")
    taken.write_text("")
    until(lambda: active.stat().st_size > 20000, "it grows")
    taken.unlink()
    until(sealed.with_name("system.4.log").exists, "and is sealed once that can be")
    job.kill()
    said = job.communicate()[1]
    equal(said.count("/system.log cannot be sealed, and grows: system.3.log is there already"), 1, said)


def _killed_behind_a_copy(logs):
    """A job that is killed after a copy has replaced its active file, and before it has noticed; its session."""
    job = subprocess.Popen([lib.BUILD / "examples/demo-job", logs, "600"], env=lib.environment({}), stderr=subprocess.DEVNULL)
    active = until(lambda: next(logs.glob("[!.]*/system.log"), None), "the session")
    lock = active.with_name(".gpufl-session.lock")

    def told():
        text = lock.read_bytes()  # empty until its writer has told
        return json.loads(text)["bytes"]["system"] if text else 0

    try:
        while True:  # until it has written, and has not yet looked
            job.send_signal(signal.SIGSTOP)
            _copied(active)
            copied, before = active.stat().st_ino, told()
            job.send_signal(signal.SIGCONT)
            until(lambda at=before: told() > at, "it writes on")
            job.send_signal(signal.SIGSTOP)
            if active.stat().st_ino == copied:
                return active.parent
            job.send_signal(signal.SIGCONT)
    finally:
        job.kill()
        job.wait()


def what_a_killed_job_wrote_behind_a_copy_is_missed(place):
    backend = lib.Backend(place, "--api-key", lib.KEY)
    session = _killed_behind_a_copy(place.logs)
    for upload in (lib.upload(place, backend.url), lib.upload(place, backend.url)):
        equal(upload.returncode, 1, upload.stdout)
        check("is not what its writer left" in upload.stdout, upload.stdout)
    check(not backend.session(session.name)["verified"], "not complete")
    equal(backend.export(session.name, "system"), lib.on_disk(session, "system"), "what is there is sent")


def an_active_file_that_was_replaced_by_other_content_is_a_loss(place):
    """It is said once, and the session is never complete; what follows is kept."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    agent = lib.agent(place, backend.url)
    said, session = _replaced(place, backend, lambda f: _edited(f, "1s/./ &/"))
    equal(said.count("was replaced by a file of other content"), 1, said)
    marker = json.loads((session / ".gpufl-transport-loss.system.1.json").read_text())
    equal(marker["reason"], "active_file_replaced", f"{marker}")
    check(f": {marker['lines']} lines are lost" in said and marker["lines"] > 1, f"{said} {marker}")
    types = [json.loads(line)["type"] for line in (session / "system.log").read_text().splitlines()]
    equal((types[0], types.count("job_start"), types[-1]), ("job_start", 1, "shutdown"), "what follows")
    check("dictionary_update" in types[:2], f"names may have been lost, too: {types[:4]}")
    agent.terminate()
    equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
    check(not backend.session(session.name)["verified"], "not complete")
    equal(place.run("gpufl", "status", place.logs).returncode, 1, "status")
    equal(lib.upload(place, backend.url).returncode, 1, "an upload")


def an_active_file_that_was_cut_is_a_loss(place):
    """As by logrotate with copytruncate, or within a line: it is said and counted, and what follows has its names."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.agent(place, backend.url)
    for left in (lambda size: 0, lambda size: size - 100):
        said, session = _replaced(place, backend, lambda f, left=left: os.truncate(f, left(f.stat().st_size)))
        equal(said.count("system.log was cut by another program: "), 1, said)
        marker = json.loads((session / ".gpufl-transport-loss.system.1.json").read_text())
        equal(marker["reason"], "active_file_cut", f"{marker}")
        check(f": {marker['lines']} line" in said and marker["lines"] > 0, f"{said} {marker}")
        lines = [json.loads(line) for line in (session / "system.log").read_text().splitlines()]
        equal((lines[0]["type"], lines[-1]["type"]), ("job_start", "shutdown"), "what follows")
        told = next(line for line in lines if line["type"] == "capture_capabilities")
        equal(told["losses"]["lines"], marker["lines"], f"{told}")
        check(not backend.session(session.name)["verified"], "not complete")
        shutil.rmtree(session)


def what_follows_in_the_next_file_is_sent_wherever_an_active_file_was_cut(place):
    """Whether that was sent before or not: the writer tells of the loss, and no person is needed."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for left in (lambda size: 0, lambda size: size // 2):
        for live in (True, False):
            agent = lib.agent(place, backend.url) if live else None
            job = place.start("examples/demo-job", place.logs, 4 * lib.SLOW)
            active = until(lambda: next(place.logs.glob("[!.]*/system.log"), None), "the session")
            until(lambda f=active: f.read_bytes().count(b"\n") > 1, "it is written")
            session = active.parent.name
            if live:
                until(lambda s=session: backend.export(s, "system").count(b"\n") > 1, "it is sent live")
            os.truncate(active, left(active.stat().st_size))
            until(active.with_name("system.1.log").exists, "its writer has seen it")
            equal(job.wait(60 * lib.SLOW), 0, "the job")
            if live:
                until(lambda s=session, f=active: backend.export(s, "system").endswith(f.read_bytes()), "what follows is sent")
                agent.terminate()
                equal(agent.wait(40 * lib.SLOW), 0, agent.log.read_text())
            done = lib.upload(place, backend.url)
            equal(done.returncode, 0, done.stdout)
            check("lines were dropped" in done.stdout, done.stdout)
            check(backend.export(session, "system").endswith(active.read_bytes()), "all that follows is there")
            check(not backend.session(session)["verified"], "not complete")
            shutil.rmtree(place.logs)


def a_loss_is_marked_while_an_active_file_cannot_be_restored(place):
    """Here, a directory has the name under which it is made anew. A job may be killed then, and be read after a reboot."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    for restored in ("by the writer", "by hand", None):
        job = subprocess.Popen([lib.BUILD / "examples/demo-job", place.logs, "600"], env=lib.environment({}),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        active = until(lambda: next(place.logs.glob("[!.]*/system.log"), None), "the session")
        until(lambda f=active: f.read_bytes().count(b"\n") > 1, "it is written")
        session, marker = active.parent, active.with_name(".gpufl-transport-loss.system.1.json")
        (session / ".new-system.log").mkdir()
        kept = active.rename(place.path / "kept") if restored == "by hand" else None
        shutil.copy2(kept or active, session / "copy~")
        (session / "copy~").rename(active)
        until(marker.exists, "the loss is marked")
        equal(json.loads(marker.read_text())["reason"], "active_file_not_restored", "why")
        if restored:
            size = active.stat().st_size
            if kept:
                kept.rename(active)
            (session / ".new-system.log").rmdir()
            until(lambda: not marker.exists() and active.stat().st_size > size, "it is restored, and nothing is lost")
            check((session / ".gpufl-reserve").exists(), "there is room for another marker")
        job.kill()
        said = job.communicate()[1]
        equal(said.count("cannot be restored yet: File exists"), 1, said)
        if not restored:
            until(lambda: json.loads(marker.read_text())["lines"] > 0, "it says how many lines")
            os.truncate(session / ".gpufl-session.lock", 0)  # what it told does not count after a reboot
        done = lib.upload(place, backend.url)
        equal((done.returncode, backend.complete(session.name)), (0, True) if restored else (1, False), done.stdout)
        shutil.rmtree(session)
        shutil.rmtree(place.logs / ".gpufl-agent")


def _with_nvml(place, **env):
    return lib.job(place, 4 if lib.VALGRIND or lib.EMULATOR else 0.5, env={"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), **env})


def nvml_figures_stand_in_their_columns(place):
    session = _with_nvml(place)
    told = last_start(session, "system")
    first = told["devices"][0]
    equal((first["name"], first["uuid"], first["vendor"], first["pci_bus"]),
          ("Fake H200 0", "GPU-00000000-2222-3333-4444-555555555555", "NVIDIA", 27), "who")
    equal((first["used_mib"], first["free_mib"], first["total_mib"], first["throttle_pwr"]),
          (1024, 143771 - 1024, 143771, 1), "memory, and a reason by its older name")
    equal([d["name"] for d in told["cuda_static_devices"]], ["Fake H200 0", "Fake H200 1"],
          "the inventory")
    equal(told["cuda_static_devices"][1]["architecture"], "sm_90", "architecture")
    samples = list(rows(session, "system", "device_metric_batch"))
    check(len(samples) >= 4, f"{len(samples)} rows")
    for row in samples:
        equal((row["gpu_util"], row["mem_util"], row["temp_c"], row["power_mw"], row["used_mib"],
               row["total_mib"], row["clock_sm"]),
              (87 + row["device_id"], 41, 61, 512340, 1024 + row["device_id"], 143771, 1980),
              "figures")
        equal((row["fan_speed_pct"], row["temp_mem_c"], row["temp_junction_c"], row["voltage_mv"],
               row["clock_mem"], row["ecc_corrected"], row["ecc_uncorrected"]),
              (30 + row["device_id"], 48, 61, -1, 3201, 5, 2), "more figures")
    slow = {(row["pcie_bw_bps"], row["energy_uj"]) for row in samples} - {(-1, -1)}  # until they are told
    equal(slow, {(1234 * 1024, 912345678000)}, "the slow ones")


def _phases(place, env=None):
    """A phase of 200 ms, in which a build that is slow comes to its samples, too."""
    return play(place, "phases", 200 * lib.SLOW, env=env)


def a_slow_driver_query_does_not_bend_the_beat(place):
    """Each PCIe query of the driver takes 20 ms: 320 ms for eight GPUs, at a period of 20 ms for 200 ms."""
    done, session = _phases(place, {"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), "FAKE_NVML_DEVICES": "8"})
    equal(done.returncode, 0, "exit code")
    times = [row["base"] + row["dt_ns"] for row in rows(session, "system", "device_metric_batch")
             if row["device_id"] == 0]
    check(len(times) >= 5, f"{len(times)} samples in 200 ms; behind the queries 4 at most")


def eight_devices_keep_a_beat_of_100_ms(place):
    """For all of them the slow queries take 320 ms."""
    session = lib.job(place, 2, env={"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), "FAKE_NVML_DEVICES": "8",
                                     "GPUFL_DEVICE_DETAILS": "1"})
    beats = collections.defaultdict(set)
    for row in rows(session, "system", "device_metric_batch"):
        beats[row["base"] + row["dt_ns"]].add(row["device_id"])
    equal({frozenset(devices) for devices in beats.values()}, {frozenset(range(8))}, "all of them, each time")
    check(len(beats) * lib.SLOW >= 15, f"{len(beats)} samples in 2 s")


DETAILS = ("throttle_reasons", "own_used_mib", "own_gpu_util", "nvlink_rx_bytes", "nvlink_tx_bytes", "xid_count",
           "last_xid", "parent_device_id")


def details_come_when_they_are_asked_for(place):
    session = _with_nvml(place, GPUFL_DEVICE_DETAILS="1", FAKE_NVML_MIG="1", FAKE_NVML_XID="79")
    last = {row["device_id"]: tuple(row[name] for name in DETAILS)
            for row in rows(session, "system", "device_metric_batch")}
    known = os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"  # elsewhere the driver counts other pids
    own = [300, 55] if known else [-1, -1]
    none = [0, -1] if known else [-1, -1]
    sent, received = ((1 << 32) + 138) * 1024, ((1 << 32) + 139) * 1024
    equal(last, {0: (4, *own, received, sent, 0, -1, -1), 1: (4, *none, received, sent, 1, 79, -1),
                 2: (4, *none, received, sent, 0, -1, 1), 3: (4, *none, received, sent, 0, -1, 1)},
          "two devices, and the parts of the second")
    equal(len(last_start(session, "system")["devices"]), 4, "in the inventory, too")


def without_details_the_columns_are_those_that_every_server_knows(place):
    session = _with_nvml(place, FAKE_NVML_MIG="1")
    for row in rows(session, "system", "device_metric_batch"):
        check(not set(DETAILS) & set(row) and row["device_id"] < 2, f"{row}")


def details_that_the_driver_does_not_tell_are_not_0(place):
    session = _with_nvml(place, GPUFL_DEVICE_DETAILS="1", FAKE_NVML_FAIL="Processes,Utilization,Field,Register")
    for row in rows(session, "system", "device_metric_batch"):
        equal([row[name] for name in DETAILS], [4, -1, -1, -1, -1, -1, -1, -1], "not told")
    session = _with_nvml(place, GPUFL_DEVICE_DETAILS="1", FAKE_NVML_FAIL="EventSet")
    equal({row["xid_count"] for row in rows(session, "system", "device_metric_batch")}, {-1}, "no events")


def what_a_device_does_not_offer_is_not_0(place):
    session = _with_nvml(place, FAKE_NVML_FAIL="Power,Clock,Utilization,Fan,Field,Energy,Ecc,Pcie")
    for row in rows(session, "system", "device_metric_batch"):
        equal((row["gpu_util"], row["power_mw"], row["clock_sm"], row["temp_c"]), (-1, -1, -1, 61),
              "figures")
        equal({row[name] for name in ("fan_speed_pct", "temp_mem_c", "energy_uj", "clock_mem",
                                      "pcie_bw_bps", "ecc_corrected", "ecc_uncorrected")}, {-1},
              "more figures")


AMD = {"GPUFL_SYSFS": str(lib.ROOT / "tests/samples/amdgpu")}


def amdgpu_figures_stand_in_their_columns(place):
    """S2-56, S2-73: a tree with an MI300X, an RX 7900 XTX, and a display that is neither."""
    done, session = _phases(place, AMD)
    equal(done.returncode, 0, done.stderr)
    told = last_start(session, "system")
    equal([(d["name"], d["uuid"], d["vendor"], d["pci_bus"], d["throttle_pwr"], d["throttle_therm"])
           for d in told["devices"]],
          [("AMD Instinct MI300X OAM", "3f1c5a7e9b2d4c68", "AMD", 0xc3, 0, 0),
           ("AMD GPU 1002:744c", "a1b2c3d4e5f60718", "AMD", 0x0a, 1, 1)], "who")
    equal(told["cuda_static_devices"], [], "none of them is NVIDIA's")
    equal([(d["architecture"], d["compute_major"], d["multi_processor_count"], d["warp_size"])
           for d in told["rocm_static_devices"]],
          [("gfx942", 9, 304, 64), ("gfx1100", 11, 96, 32)], "of the KFD's topology")
    samples = list(rows(session, "system", "device_metric_batch"))
    check(len(samples) >= 4, f"{len(samples)} rows")
    for row in samples:
        equal([row[name] for name in (
            "gpu_util", "mem_util", "temp_c", "power_mw", "used_mib", "total_mib", "clock_sm",
            "fan_speed_pct", "temp_mem_c", "temp_junction_c", "voltage_mv", "energy_uj", "clock_mem",
            "pcie_bw_bps", "ecc_corrected", "ecc_uncorrected")],
              [[93, 41, 61, 512000, 12288, 196592, 1980, -1, 55, 61, -1, -1, 1300, -1, 7, 1],
               [100, 12, 71, 355000, 2048, 24560, 2482, 49, 84, 110, 1043, -1, 1249, -1, -1, -1]]
              [row["device_id"]], f"figures of device {row['device_id']}")


def the_backend_option_chooses_the_vendor(place):
    """S2-55, S2-56: Auto takes NVIDIA first, a named one alone, None none."""
    both = {**AMD, "LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake")}
    for backend, env, vendors in (("Auto", both, {"NVIDIA"}), ("Amd", both, {"AMD"}),
                                  ("Nvidia", AMD, set()), ("None", both, set()),
                                  ("Auto", AMD, {"AMD"})):
        config = place.path / "config.json"
        config.write_text(json.dumps({"backend": backend}))
        done, session = play(place, "stats", env={**env, "GPUFL_CONFIG_FILE": str(config)})
        equal({d["vendor"] for d in last_start(session, "system")["devices"]}, vendors,
              f"{backend}: {done.stderr}")
        equal(done.stderr.count("backend: Nvidia: no GPU of this vendor answers"), int(backend == "Nvidia"), done.stderr)


def a_sysfs_that_is_not_there_is_said(place):
    for path, reason in (("/nope", "No such file or directory"), ("/dev/null", "Not a directory")):
        done, _ = play(place, "stats", env={"GPUFL_SYSFS": path})
        equal(done.stderr.count(f"GPUFL_SYSFS: '{path}': {reason}: no figures of AMD GPUs"), 1, done.stderr)
    done, _ = play(place, "stats", env=AMD)
    check("GPUFL_SYSFS" not in done.stderr, done.stderr)


def host_rows_tell_the_control_group(place):
    """The machine's own tree: each figure is there or −1."""
    _, session = play(place, "phases")
    for row in rows(session, "system", "host_metric_batch"):
        used, limit = row["cgroup_mem_used_mib"], row["cgroup_mem_limit_mib"]
        check(used >= -1 and limit >= -1 and (limit < 0 or used <= limit + 1), f"{row}")
        check(row["cgroup_cpu_pct_x100"] >= -1 and row["cgroup_cpu_limit_pct_x100"] >= -1, f"{row}")


def a_pod_is_recorded_once_a_session(place):
    pod = {"GPUFL_POD_NAME": "train-0", "GPUFL_POD_NAMESPACE": "ml", "GPUFL_NODE_NAME": "node-7"}
    _, session = play(place, "stats", env=pod)
    for channel in ("device", "scope", "system"):
        told = [r.get("kubernetes") for r in records(session, channel) if "kubernetes" in r]
        equal(told, [{"pod": "train-0", "namespace": "ml", "node": "node-7"}], channel)
    _, session = play(place, "stats")
    check("kubernetes" not in (session / "system.log").read_text(), "elsewhere nothing is said")


def without_a_driver_the_simulated_gpus_say_what_they_are(place):
    session = _with_nvml(place, FAKE_NVML_INIT="9")
    names = [(d["vendor"], d["name"]) for d in last_start(session, "system")["devices"]]
    equal(names, [("SIMULATED", "Simulated GPU 0"), ("SIMULATED", "Simulated GPU 1")], "devices")
    equal(last_start(session, "system")["cuda_static_devices"], [], "not in the inventory")


def samples_come_at_their_rate_on_one_clock(place):
    session = lib.job(place, 1.0)
    host = [r["base"] + r["dt_ns"] for r in rows(session, "system", "host_metric_batch")]
    marks = {r["type"]: r["ts_ns"] for r in records(session, "system") if r["type"] in ("system_start", "system_stop")}
    took = marks["system_stop"] - marks["system_start"]  # a busy machine needs more than the second
    check(5 <= len(host) <= took // 100_000_000 + 2, f"{len(host)} host samples in {took} ns at 100 ms")
    equal(host, sorted(host), "in order")
    types = [r["type"] for r in records(session, "system")]
    check(types.index("system_start") < types.index("host_metric_batch"), "start mark first")
    equal(types[-2], "system_stop", "stop mark last")
    for row in rows(session, "system", "device_metric_batch"):
        check(0 <= row["gpu_util"] <= 100 and row["total_mib"] > 0, f"values of {row}")


def threads_that_come_and_go_lose_no_scope(place):
    """S2-49."""
    done, session = play(place, "threads")
    equal(done.returncode, 0, "exit code")
    equal(paired(session), {"outer": 12000, "inner": 12000}, "pairs")


def a_flood_drops_whole_pairs_and_says_so(place):
    done, session = play(place, "flood")
    equal(done.returncode, 0, "exit code")
    pairs = sum(paired(session).values())
    said = [c for r in records(session, "scope") if r["type"] == "capture_capabilities"
            for c in r["capabilities"] if c["feature"] == "scope_attribution"]
    dropped = int(said[0]["reason_code"].split(":")[1] if said[0]["reason_code"] else 0)
    equal(pairs + dropped, 400000, "recorded and dropped")


def leaving_a_scope_by_any_way_ends_it(place):
    """S2-49."""
    done, session = play(place, "control-flow")
    equal(done.returncode, 0, "exit code")
    equal(paired(session), {"returned": 1, "broken": 1, "goto": 1}, "pairs")


def a_forked_child_leaves_the_parents_session_alone(place):
    done, session = play(place, "fork-quiet")
    equal(done.returncode, 0, f"exit code {done.stderr}")
    equal(paired(session), {"parent before": 1, "parent after": 1}, "the parent's scopes")
    equal(list(place.logs.iterdir()), [session], "sessions")


def a_forked_child_can_record_its_own_session(place):
    if lib.BUILD.name == "thread" or lib.EMULATOR:
        lib.skip("neither TSan nor QEMU can start a thread after a fork of a threaded process")
    done, session = play(place, "fork")
    equal(done.returncode, 0, f"exit code {done.stderr}")
    equal(paired(session), {"parent before": 1, "parent after": 1}, "the parent's scopes")
    others = [d for d in place.logs.iterdir() if d != session]
    equal(len(others), 1, "the child's own session")
    equal(paired(others[0]), {"child's own": 1}, "the child's scopes")


def a_child_forked_while_a_session_is_opened_does_not_keep_it(place):
    job = place.start("tests/e2e/job", place.logs, "fork-opening", stdin=subprocess.PIPE)
    until(lambda: "ended" in job.log.read_text(), "the session has ended")
    session, = place.logs.iterdir()
    check(unlocked(session), "the child does not hold the lock")
    equal(paired(session), {"behind": 1}, "it is whole")
    job.communicate(b"")
    equal(job.returncode, 0, job.log.read_text())


def a_fork_does_not_cut_our_loading_in_two(place):
    """The child's own dlopen would hang: the loader's locks stay as they were at the fork."""
    slow = place.path / "nvml"
    done, _ = play(place, "fork-loading", f"{slow}.begun", f"{slow}.done",
                   env={"LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"), "FAKE_NVML_SLOW": str(slow)})
    equal((done.returncode, done.stderr), (0, ""), "the library was loaded when the child came")


def what_is_older_than_100_ms_survives_kill_9(place):
    if lib.VALGRIND or lib.EMULATOR:  # the writer wakes up when it can: its lines are the evidence
        job = place.start("tests/e2e/job", place.logs, "kill", 600_000)

        def written():
            with contextlib.suppress(StopIteration, lib.Failed):
                return paired(next(place.logs.glob("[!.]*"))).get("work") == 50

        until(written, "the scopes are in the file", 30)
        job.kill()
        code, session = job.wait(), next(place.logs.glob("[!.]*"))
    else:
        done, session = play(place, "kill", 150)
        code = done.returncode
    equal(code, -signal.SIGKILL, "exit code")
    equal(paired(session)["work"], 50, "scopes")
    check(unlocked(session), "the lock frees itself")


def outside_phases_no_sample_is_taken(place):
    """S2-34."""
    done, session = _phases(place)
    equal(done.returncode, 0, "exit code")
    marks = {r["type"]: r["ts_ns"] for r in records(session, "system")
             if r["type"].startswith("system_") and r["name"] == "phase"}
    times = [r["base"] + r["dt_ns"] for r in rows(session, "system", "host_metric_batch")]
    took = marks["system_stop"] - marks["system_start"]  # 200 ms, or more on a busy machine
    check(3 <= len(times) <= took // 20_000_000 + 2, f"{len(times)} samples in a phase of {took} ns at 20 ms")
    check(min(times) >= marks["system_start"] - 1, "not before the phase")
    check(sum(time > marks["system_stop"] for time in times) <= 1, "behind the phase only one that was under way")


def odd_names_stay_one_json_line(place):
    """S2-10."""
    done, session = play(place, "threads")
    start = records(session, "device")[0]
    equal(start["app"], 'part "quoted"\n\ufffd end', "app")
    equal(done.stderr, "", "nothing on stderr")


def switched_off_nothing_is_touched(place):
    """S2-40, S2-41."""
    for env in ({}, {"GPUFL_DISABLED": "On"}):
        done = place.run("tests/e2e/job", place.logs, "disabled", env=env)
        equal(done.stdout.split(), ["7", "0", "0", "1"], "init, upload, events, warnings")
        equal(list(place.logs.iterdir()), [], "files")
    done = place.run("tests/e2e/job", place.logs, "threads", env={"GPUFL_DISABLED": "1"})
    equal((done.returncode, list(place.logs.iterdir())), (3, []), "GPUFL_DISABLED beats code")


def a_directory_that_cannot_be_made_is_said_and_the_job_goes_on(place):
    """S2-04."""
    blocker = place.path / "file"
    blocker.write_text("")
    done = place.run("examples/demo-job", blocker / "logs", 0.1)
    equal(done.returncode, 1, "the job decides")
    check("not recording" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def an_upload_from_inside_the_job_sends_all(place):
    """D-12."""
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done, session = play(place, "upload", backend.url)
    during, after, complete, *_ = done.stdout.split("\n")[1].split()
    equal((during, after, complete), ("0", "0", "1"), f"statuses ({done.stdout})")
    lib.same(backend, session)


def an_upload_from_inside_a_job_is_of_its_own_session(place):
    """While it runs and after its end, also where another one is newer."""
    newer = Live(place.logs)
    newer.raw("scope", b'{"type":"job_start","ts_ns":9000000000000000000}\n')
    for channel in newer.channels:
        path = newer.active(channel)
        path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    newer.end()
    backend = lib.Backend(place, "--api-key", lib.KEY)
    done, session = play(place, "upload", backend.url)
    equal(done.stdout.split("\n")[1].split()[:3], ["0", "0", "1"], f"statuses ({done.stdout})")
    lib.same(backend, session)
    check(backend.complete(session.name), "complete")
    equal(backend.session(newer.id), None, "the other one is left to its own process")


def each_rank_of_a_run_sends_its_own_session(place):
    """All at once, in one directory: they take turns."""
    with sink.Sink(declare=True, key=lib.KEY, delay_s=0.02) as s:
        ranks = [place.start("tests/e2e/job", place.logs, "upload", s.url) for _ in range(6)]
        for rank in ranks:
            equal(rank.wait(60 * lib.SLOW), 0, "exit code")
        said = [rank.log.read_text().splitlines() for rank in ranks]
        equal([line[1].split()[1:3] for line in said], [["0", "1"]] * 6, f"each has sent its session: {said}")
        sessions = [place.logs / line[0] for line in said]
        want = sorted(x for d in sessions for c in lib.CHANNELS for x in lib.on_disk(d, c).splitlines())
        equal(sorted(s.lines), want, "each line once")


def uploading_without_a_backend_leaves_the_jobs_exit_code_alone(place):
    """D-12."""
    done, session = play(place, "upload", "http://127.0.0.1:9")
    equal(done.returncode, 0, "exit code")
    equal(done.stdout.split("\n")[1].split()[1], "9", "no contact")
    check(lib.on_disk(session, "scope"), "the files stay")


def the_collector_links_nothing_but_libc(place):
    """D-02."""
    needed = os.popen(f"readelf -d {lib.BUILD}/libgpufl.so").read()
    libraries = [x.split("[")[1].split("]")[0] for x in needed.splitlines() if "NEEDED" in x]
    allowed = ("libc.so", "libasan", "libubsan", "libtsan", "libpthread", "libdl", "libgcc", "ld-")
    equal([x for x in libraries if not x.startswith(allowed)], [], "libraries")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
