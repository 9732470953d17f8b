# SPDX-License-Identifier: Apache-2.0
"""What a session does not contain is counted by kind, in the closing record, on stderr and in the report."""
import collections
import errno
import json
import os
import re
import shutil
import sys
import time

import lib
from lib import check, equal
import test_collector as collector

FAKE = lib.BUILD / "tests/fake"
SCOPES, DROPPED, CALLS, WAITS, PHASES, WITHOUT, BYTES, BYTES_LOST, SAMPLES = range(9)


def _play(place, part, engine="Trace", **env):
    """(session's directory, stderr, report, counters of gpufl_get_stats)"""
    if lib.SANITIZER and "address" in lib.SANITIZER[0]:
        # The runtime ends the stack of signals of a cancelled thread in the wrong place.
        env.setdefault("ASAN_OPTIONS", "use_sigaltstack=0")
    env.setdefault("GPUFL_SHUTDOWN_TIMEOUT_MS", "60000")  # the end of a session of many names on a machine of any speed
    report = place.path / "report"
    done = place.run("tests/e2e/gpu_scopes", place.logs, part,
                     env={"GPU_SCOPES_REPORT": str(report), "LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": engine, **env})
    equal(done.returncode, 7, f"{part}: {done.stderr}")
    said, _, stats = done.stderr.partition("stats ")
    return place.logs / done.stdout.strip(), said, report.read_text(), [int(n) for n in stats.split()]


def _closing(session):
    """(losses that are not 0, capabilities by feature)"""
    record, = (r for r in collector.records(session, "scope") if r["type"] == "capture_capabilities")
    return ({kind: count for kind, count in record["losses"].items() if count},
            {c["feature"]: c for c in record["capabilities"]})


def _all_say(said, report, text):
    equal((said.count(text), report.count(text)), (1, 1), f"{text!r} on stderr and in the report: {said} {report}")


def each_kind_that_finds_no_room_has_its_counter(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    flag = place.path / "slow"
    flag.touch()
    session, said, report, stats = _play(
        place, "stalled", GPUFL_FLUSH_LOGS_ALWAYS="1", GPUFL_SHUTDOWN_TIMEOUT_MS="60000", FAKE_SLOW_SYNC=str(flag),
        LD_PRELOAD=str(FAKE / "slow_sync.so"))
    losses, capabilities = _closing(session)
    equal(collector.paired(session), {"only one": 1}, "the scope")
    equal(stats[:2], [1, 0], "scopes recorded and dropped")
    check(1000 < losses["calls"] < 10000, f"{losses}")
    equal((losses["waits"], losses["phases"]), (6, 1), "waits and phases")
    equal(stats[CALLS:BYTES], [losses["calls"], 6, 1, 0], "the same by gpufl_get_stats")
    equal(set(losses), {"calls", "waits", "phases"}, "nothing else")
    equal((capabilities["sync_activity"]["status"], capabilities["sync_activity"]["reason_code"]),
          ("partial", "ring_full:6"), "waits")
    equal(capabilities["scope_attribution"]["reason_code"], f"ring_full:{losses['calls']}", "calls")
    _all_say(said, report, "6 synchronisations that did not fit in their thread's ring")
    _all_say(said, report, f"{losses['calls']} launches, copies and sets without scope")
    equal(said.count(session.name), 1, said)


def launches_whose_stack_found_no_room_are_counted(place):
    options = place.path / "stacks.json"
    options.write_text('{"enable_stack_trace": true}')
    session, said, report, _ = _play(place, "many stacks", GPUFL_CONFIG_FILE=str(options))
    losses, capabilities = _closing(session)
    equal(losses, {"stacks": 20000 - 16384}, "those beyond the table's room")
    equal((capabilities["stack_traces"]["status"], capabilities["stack_traces"]["reason_code"]),
          ("partial", "no_room:3616"), "the capability")
    _all_say(said, report, "3616 launches and synchronisations without their call stack")


def a_thread_without_memory_is_counted(place):
    if lib.SANITIZER or lib.VALGRIND or lib.EMULATOR:
        lib.skip("the address space is not the program's own")
    session, said, report, stats = _play(place, "without memory", "Monitor")
    losses, capabilities = _closing(session)
    equal(losses, {"without_memory": 1000}, "each scope")
    equal((stats[SCOPES], stats[WITHOUT]), (0, 1000), "by gpufl_get_stats")
    equal((capabilities["scope_attribution"]["status"], capabilities["scope_attribution"]["reason_code"]),
          ("partial", "no_memory:1000"), "it is said")
    _all_say(said, report, "1000 scopes, their ends, calls, waits and phases for which there was no memory")


def _kernel_scopes(session):
    """(kernel's name, name of its scope or None, path) of each kernel"""
    names = collector.scope_names(session)
    scope = {row["scope_instance_id"]: names[str(row["name_id"])]
             for row in collector.rows(session, "scope", "scope_event_batch")}
    kernels, paths, found = {}, {}, []
    for record in collector.records(session, "device"):
        kernels.update(record.get("kernel_dict", {}))
        if record["type"] == "kernel_detail":
            paths[record["corr_id"]] = record["user_scope"]
    for row in collector.rows(session, "device", "kernel_event_batch"):
        found.append((kernels[str(row["kernel_id"])].split("(")[0], scope.get(row["scope_instance_id"]),
                      paths[row["detail_corr_id"]]))
    return found


def _depths(session):
    names = collector.scope_names(session)
    return {names[str(r["name_id"])]: r["depth"] for r in collector.rows(session, "scope", "scope_event_batch")}


def scopes_may_overlap(place):
    session, said, _, _ = _play(place, "overlapping")
    equal(said, "", "nothing is lost")
    equal(collector.paired(session), {"load 1": 1, "load 2": 1, "train": 1}, "pairs")
    equal(_depths(session), {"load 1": 0, "load 2": 1, "train": 0}, "depths")
    equal(_kernel_scopes(session), [("second", "load 2", "load 1|load 2"), ("first", None, "global"),
                                    ("third", "train", "train")], "kernels")


def another_thread_may_end_a_scope(place):
    session, said, _, _ = _play(place, "elsewhere")
    equal(said, "", "nothing is lost")
    equal(collector.paired(session), {"async": 200}, "each once, though it was ended three times")
    equal(set(_depths(session).values()), {0}, "depth")
    equal(set(_kernel_scopes(session)), {("second", "async", "async"), ("first", None, "global")}, "kernels")
    equal(_closing(session)[0], {}, "losses")


def phases_that_are_left_open_are_counted(place):
    report = place.path / "report"
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", "start:load", "start:train", "stop:load", "shutdown",
                     f"report:{report}")
    equal(done.returncode, 0, done.stderr)
    session, = (d for d in place.logs.iterdir() if not d.name.startswith("."))
    equal(_closing(session)[0], {"phases_not_ended": 1}, "one of two")
    _all_say(done.stderr, report.read_text(), "1 ends of phases: they were still open when the session ended")


def scopes_that_are_left_open_end_with_their_thread(place):
    session, said, report, stats = _play(place, "forgotten")
    begun, ended = {}, {}
    names = collector.scope_names(session)
    for row in collector.rows(session, "scope", "scope_event_batch"):
        count = begun if row["event_type"] == collector.BEGIN else ended
        name = names[str(row["name_id"])]
        count[name] = count.get(name, 0) + 1
    equal(begun, {"left": 1, "proper": 1, "left, too": 1, "async": 9500, "step": 100}, "begins")
    not_ended = 9500 - 4096 + 1  # room for the first step
    equal(ended, {**begun, "async": not_ended}, "ends")
    cut = 9500 - 1023 // len("|async") + 100  # whose path is too long: "async|async|…", and the steps below it
    equal(_closing(session)[0], {"scopes_not_ended": 9500 + 2, "scope_paths": cut}, "counted, with those that the session ends")
    equal(stats[:2], [not_ended + 2 + 101, 0], "recorded and dropped")
    told = place.run("gpufl", "status", place.logs)
    lost = re.findall(r"  (\d+ .*)", said)
    equal([told.stdout.count(f"  lost while recording: {text}\n") for text in lost], [1, 1], told.stdout)
    told, = json.loads(place.run("gpufl", "status", "--json", place.logs).stdout)["sessions"]
    equal(told["recording_losses"], _closing(session)[0], "what gpufl status tells to programs")
    _all_say(said, report, "9502 ends of scopes: they were still open when their thread or the session ended")


def kernels_without_a_name_are_counted(place):
    session, said, report, _ = _play(place, "many names")
    other = sum(name == "" for name, _, _ in _kernel_scopes(session))  # cut off at the bracket
    losses, capabilities = _closing(session)
    equal(losses, {"kernel_names": other}, "losses")
    check(100 < other < 200, f"{other}")
    equal((capabilities["kernel_events"]["status"], capabilities["kernel_events"]["reason_code"]),
          ("partial", f"names_lost:{other}"), "it is said")
    _all_say(said, report, f'{other} kernels whose name is "(other)"')


def a_name_takes_as_much_room_as_is_recorded_of_it(place):
    session, said, _, _ = _play(place, "long names", "Monitor")
    rest = "a" * 65535 + "…"
    equal(({name[:9]: n for name, n in collector.paired(session).items()}, said),
          ({"a" * 9: 2, "b" + "a" * 8: 1, "plain": 1}, ""), "scopes")
    equal(sorted(collector.scope_names(session).values()), ["a" + rest, "b" + rest, "plain"], "names")


def paths_that_are_cut_or_find_no_room_are_counted(place):
    session, said, report, _ = _play(place, "long paths")
    losses, capabilities = _closing(session)
    whole, cut = ("a" * 511 + "|" + "a" * 511, "a" * 511 + "|" + "b" * 511)
    equal([path for _, _, path in _kernel_scopes(session)], [whole, cut], "paths")
    equal(losses, {"scope_paths": 1}, "the second")
    equal((capabilities["scope_attribution"]["status"], capabilities["scope_attribution"]["reason_code"]),
          ("partial", "paths_lost:1"), "it is said")
    _all_say(said, report, "1 paths of scopes (user_scope of kernels)")
    losses, _ = _closing(_play(place, "many paths")[0])
    kept = (8 << 20) // (2 * 194)
    check(set(losses) == {"scope_paths"} and abs(losses["scope_paths"] - (100 * 221 - kept)) < 500, f"{losses}, {kept} fit")


def a_kernel_that_ends_too_many_calls_later_is_counted(place):
    session, said, report, _ = _play(place, "runs on")
    equal(([k for k in _kernel_scopes(session) if k[0] == "long"], said), ([("long", "long", "long")], ""), "as many as fit")
    session, said, report, _ = _play(place, "runs on too long")
    losses, capabilities = _closing(session)
    equal([k for k in _kernel_scopes(session) if k[0] == "long"], [("long", None, "global")], "one more")
    equal(losses, {"calls_forgotten": 1}, "it is counted")
    equal((capabilities["scope_attribution"]["status"], capabilities["scope_attribution"]["reason_code"]),
          ("partial", "calls_forgotten:1"), "it is said")
    _all_say(said, report, "1 kernels, copies and sets without scope, stack and external id: they ended when 262,144")


def _pairs(session):
    """How many scopes have their begin and their end in the files."""
    begun, ended = set(), set()
    for row in collector.rows(session, "scope", "scope_event_batch"):
        (begun if row["event_type"] == collector.BEGIN else ended).add(row["scope_instance_id"])
    return len(begun & ended)


def _samples(session):
    return sum(len(r["rows"]) for r in collector.records(session, "system")
               if r["type"] in ("host_metric_batch", "device_metric_batch"))


def _row_of(report, table, name):
    """Calls of a name in a table of the report."""
    rows = report.partition(f"\n{table} by time")[2].partition("\n\n")[0]
    return int(next((row.split()[1] for row in rows.splitlines() if row.endswith(f"  {name}")), 0))


def what_a_full_disk_took_counts_neither_as_recorded_nor_in_the_report(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    session, _, report, stats = _play(
        place, "full disk within", FAKE_FULL_DISK=str(place.path / "full"), FAKE_ERRNO=str(errno.ENOSPC),
        LD_PRELOAD=str(FAKE / "full_disk.so"), GPUFL_SYSTEM_SAMPLE_RATE_MS="5")
    begun = collections.Counter(row["event_type"] for row in collector.rows(session, "scope", "scope_event_batch"))
    check(begun[collector.BEGIN] + 50 < sum(begun.values()) - begun[collector.BEGIN], f"ends without a begin: {begun}")
    equal(stats[SCOPES], _pairs(session), "scopes on disk")
    equal(re.findall(r"^  scopes +(\d+)$", report, re.M)[0], str(stats[SCOPES]), report)
    equal(stats[SAMPLES], _samples(session), "samples on disk")
    losses, _ = _closing(session)
    names = collections.Counter(name for name, _, _ in _kernel_scopes(session))
    lost = 50 - names["second"]
    equal(_row_of(report, "Kernels", "second(float*)"), 50, report)
    check(0 < lost < 30 and f"\n{lost} of these kernels are not in the files: their lines could not be written\n" in report,
          f"{lost}: {report}")
    told, = re.findall(rf"  {losses['lines']} lines: .*\n    in those that could not be written: (.*)\n", report)
    check(f"{lost} kernels" in told and re.search(r"\d+ begins and ends of scopes, ", told) and "samples of the host" in told, told)


def a_write_that_fails_is_said_and_nothing_else_is_missing(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    for reason in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        session, said, report, stats = _play(
            place, "full disk", FAKE_FULL_DISK=str(place.path / "full"), FAKE_ERRNO=str(reason),
            LD_PRELOAD=str(FAKE / "full_disk.so"))
        losses, capabilities = _closing(session)
        equal(set(losses), {"lines"}, "losses")
        check(0 < losses["lines"] < 200, f"{losses}")
        equal(stats[SCOPES], _pairs(session), "scopes on disk")
        equal(stats[BYTES], sum(f.stat().st_size for f in session.glob("*.log")), "bytes on disk")
        check(stats[BYTES_LOST] > 0, "bytes that are not")
        names = collector.scope_names(session)
        kernels = collections.Counter(name for name, _, _ in _kernel_scopes(session))
        equal(set(names.values()), {"before", "meanwhile", "behind"}, "names, also those of the pause")
        check(30 <= kernels["second"] <= 31 and kernels["third"] == 20, f"{kernels}")
        for feature in ("kernel_events", "scope_attribution"):
            equal(capabilities[feature]["status"], "partial", feature)
            check(capabilities[feature]["reason_code"].startswith("lines_lost:"), f"{capabilities[feature]}")
        marker = json.loads((session / ".gpufl-transport-loss.spool.0.json").read_text())
        check(marker["reason"].endswith(f",errno={reason}") and marker["lines"] == losses["lines"], f"{marker}")
        _all_say(said, report, f"{losses['lines']} lines: they could not be written")
        equal((said.count(os.strerror(reason)), said.count("recording resumed")), (1, 1), said)
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    check(not backend.complete(session.name), "not complete")


def a_disk_that_is_full_to_the_end_leaves_a_loss_marker(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    full = place.path / "full"
    for takes in ("", "old bytes", "nothing"):
        full.unlink(missing_ok=True)
        env = {"FAKE_FULL_DISK_TAKES": takes} if takes else {}
        session, said, report, stats = _play(
            place, "full disk to the end", FAKE_FULL_DISK=str(full), FAKE_ERRNO=str(errno.ENOSPC),
            LD_PRELOAD=str(FAKE / "full_disk.so"), **env)
        check(stats[BYTES_LOST] > 0, f"{takes}: bytes that are not on disk")
        check(collector.records(session, "scope")[-1]["type"] != "shutdown", f"{takes}: it has no end")
        lost, = re.findall(r"(\d+) lines: they could not be written", said)
        _all_say(said, report, f"{lost} lines: they could not be written")
        own = {f.name for f in session.glob(".gpufl-*")}
        markers = {".gpufl-transport-loss.spool.0.json"} if takes != "nothing" else set()
        equal(own, {".gpufl-session.json", ".gpufl-session.lock"} | markers, f"{takes}: files")
        equal(said.count("no loss marker can be written: No space left on device"), 0 if markers else 1, said)
        for name in markers:
            marker = json.loads((session / name).read_text())
            equal((marker["reason"].split(",")[1], marker["lines"]), (f"errno={errno.ENOSPC}", int(lost)), f"{takes}: {marker}")
            lib.upload(place, backend.url)
            check(not backend.complete(session.name), "not complete")
            told = place.run("gpufl", "status", place.logs)
            check("lines were dropped while recording" in told.stdout, told.stdout)


def what_others_remove_to_the_end_is_counted(place):
    """The last look at the names comes before the closing record."""
    removed = f"rm -r {place.logs}"
    unnamed = f"cd {place.logs}/[0-9a-f]* && mkdir .new-scope.log && rm scope.log"
    replaced = f"cd {place.logs}/[0-9a-f]* && echo other > new && mv new scope.log"
    for command, most, message in ((removed, 0, "was removed: what it records is lost"), (unnamed, 0, "scope.log was removed or replaced"),
                                   (replaced, 3053, "scope.log was replaced by a file of other content")):  # if it was noticed soon
        session, said, report, stats = _play(place, "disturbed", GPU_SCOPES_COMMAND=command)
        equal((stats[SCOPES] <= most, said.count(message)), (True, 1), f"{command}: {stats} {said}")
        lost, = re.findall(r"(\d+) lines: they could not be written, their file was removed, replaced or cut", said)
        _all_say(said, report, f"{lost} lines: they could not be written")
        check(f"bytes        {stats[BYTES_LOST]}\n" in report and stats[BYTES_LOST] > 100 * int(lost), f"{command}: {report}")
        equal(stats[BYTES], sum(f.stat().st_size for f in session.glob("[a-z]*.log") if f.read_bytes() != b"other\n"), f"{command}: bytes on disk")
        if session.exists():
            record = next(r for r in collector.records(session, "device") if r["type"] == "capture_capabilities")
            closing = 0 if command == replaced else 2  # which go into the lost file
            equal(record["losses"]["lines"], int(lost) - closing, "the closing record")
            shutil.rmtree(session)


def _read(session, channel):
    """The records in the channel's files, without what others have left."""
    for file in session.glob(f"{channel}.*log"):
        for line in file.read_bytes().splitlines(keepends=True):
            try:
                yield json.loads(line)
            except ValueError:
                check(file.name != f"{channel}.log", f"{file} has whole lines")


def _rows_read(session, channel, kinds):
    return [row for r in _read(session, channel) if r["type"] in kinds for row in r["rows"]]


def _told_gone(report, table):
    """How many of the rows of a table the report tells of as lost with their file."""
    told = re.findall(rf"\n(\d+) of these {table.lower()} are not in the files: their file was removed, replaced or cut\n",
                      report.partition(f"\n{table} by time")[2].partition("\n\n")[0] + "\n")
    return int(told[0]) if told else 0


def only_what_others_have_cut_off_or_replaced_counts_as_lost(place):
    """The rest of the file is counted from what is there."""
    sampling = place.path / "continuous.json"
    sampling.write_text('{"continuous_system_sampling": true}')
    replace = "head -c {at} {file} > new && echo other >> new && mv new {file}"
    for file in ("scope.log", "system.log", "device.log"):
        for command in ("truncate -s -100 {file}", "truncate -s 0 {file}", "truncate -s $(($(stat -c %s {file}) / 2)) {file}", replace.replace("{at}", "5000"),
                        replace.replace("{at}", "-1"), replace.replace("{at}", "0")):
            where = command.format(file=file)
            session, said, report, stats = _play(
                place, "disturbed", GPU_SCOPES_COMMAND=f"cd {place.logs}/[0-9a-f]* && {where}",
                GPUFL_CONFIG_FILE=str(sampling), GPUFL_SYSTEM_SAMPLE_RATE_MS="5")
            check(f"{file} was " in said, f"{where}: {said}")
            begun, ended = ({row[1] for row in _rows_read(session, "scope", ("scope_event_batch",)) if row[3] == event} for event in (0, 1))
            equal(stats[SCOPES], len(begun & ended), f"{where}: scopes in the files")
            equal(stats[SAMPLES], len(_rows_read(session, "system", ("host_metric_batch", "device_metric_batch"))), f"{where}: samples in the files")
            kernels = len(_rows_read(session, "device", ("kernel_event_batch",)))
            shown = sum(_row_of(report, "Scopes", name) for name in ("before", "across", "burst", "behind"))
            equal((_told_gone(report, "Scopes"), _told_gone(report, "Kernels")), (shown - stats[SCOPES], 43 - kernels), f"{where}: {report}")
            told = re.findall(r"^    in those whose file was removed, replaced or cut: .*\b(\d+) kernels", report, re.M)
            equal(told, [str(43 - kernels)] if kernels < 43 else [], f"{where}: {report}")
            shutil.rmtree(session)


def a_file_that_may_not_grow_is_followed_by_another_one(place):
    """RLIMIT_FSIZE; a batch that is longer than a file may be is written into several."""
    limit = 120_000  # two lines of many scopes
    session, said, _, stats = _play(place, "disturbed", GPU_SCOPES_COMMAND=f"prlimit --pid $PPID --fsize={limit}")
    equal((said, stats[BYTES_LOST], _closing(session)[0]), ("", 0, {}), "nothing is lost")
    equal(collector.paired(session), {"before": 40, "across": 10, "burst": 3000, "behind": 3}, "scopes")
    check((session / "scope.1.log").exists() and all(f.stat().st_size <= limit for f in session.iterdir()), "other files")


def each_pause_ends_with_what_readers_need_in_every_channel(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    session, said, _, _ = _play(place, "full disk again", FAKE_FULL_DISK=str(place.path / "full"),
                                FAKE_ERRNO=str(errno.ENOSPC), LD_PRELOAD=str(FAKE / "full_disk.so"))
    equal((said.count(os.strerror(errno.ENOSPC)), said.count("recording resumed")), (2, 2), said)
    for channel in ("device", "scope", "system"):
        starts = [record.get("repeated") for record in collector.records(session, channel) if record["type"] == "job_start"]
        equal(starts, [None, True, True], f"the first one, and one at the end of each pause: {channel}")
    equal(set(collector.scope_names(session).values()), {"before", "meanwhile", "behind"}, "names")


def threads_that_never_rest_hold_up_neither_samples_nor_the_budget(place):
    if lib.VALGRIND or lib.EMULATOR:
        lib.skip("one thread at a time")
    budget = 4 << 20
    hot = place.path / "hot"
    for limit, shown in ((0, lambda s: lib.on_disk(s, "system").count(b"host_metric_batch") >= 5),
                         (budget, lambda s: (s / ".gpufl-transport-loss.spool.0.json").exists())):
        logs = place.path / f"logs-{limit}"
        hot.touch()
        process = place.start("tests/e2e/gpu_scopes", logs, "hot", env={
            "GPU_SCOPES_HOT": str(hot), "LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}",
            "GPUFL_PROFILING_ENGINE": "Monitor", "GPUFL_SYSTEM_SAMPLE_RATE_MS": "20",
            "GPUFL_LOG_MAX_SPOOL_BYTES": str(limit), "GPUFL_LOG_MIN_FREE_BYTES": "0"})
        session, = lib.until(lambda logs=logs: list(logs.glob("[!.]*")), "a session")
        lib.until(lambda session=session, shown=shown: shown(session), f"samples, or a pause at {limit}", 60)
        hot.unlink()
        equal(process.wait(60 * lib.SLOW), 7, "exit code")
    size = sum(f.stat().st_size for f in session.iterdir())
    check(size < budget * 3 / 2, f"{size} bytes of {budget}")


def ends_without_memory_are_counted(place):
    """Whichever of the first calls for memory it is that fails, of those that leave the lines whole."""
    if lib.SANITIZER or lib.VALGRIND or lib.EMULATOR:
        lib.skip("memory is not the program's own")
    own, counted = place.path / "life", 0
    own.mkdir()
    for first in range(10, 40):
        logs = place.path / f"logs-{first}"
        done = place.run("tests/hostile/life", own, logs, "init:0", "open:1000", "nap:30000", "shutdown", "exit:0", env={
            "LD_PRELOAD": f"{lib.BUILD}/libgpufl.so {lib.BUILD}/tests/fake/no_memory.so", "HOSTILE_HOST": f"malloc:12:{first}:1"})
        for file in own.iterdir():
            file.unlink()
        equal(done.returncode, 0, done.stderr)
        for session in logs.glob("[!.]*"):
            losses, _ = _closing(session)
            rows = [dict(zip(r["columns"], row)) for r in collector.records(session, "scope") if r["type"] == "scope_event_batch"
                    for row in r["rows"]]
            begun, ended = (sum(row["event_type"] == kind for row in rows) for kind in (0, 1))
            if not losses.get("lines"):
                without_end = losses.get("scopes_not_ended", 0) + losses.get("without_memory", 0)
                equal(begun - ended, without_end, f"{first}: scopes without end, {losses}")
                counted += bool(losses.get("without_memory"))
    check(counted, "memory was refused to some")


def descriptors_that_the_job_closes_or_takes_cost_it_nothing(place):
    if lib.SANITIZER or lib.VALGRIND:
        lib.skip("it has descriptors of its own")
    for part in ("closed", "replaced"):
        session, said, _, _ = _play(place, part)
        equal(said, "", f"{part}: messages, and files of the job that were closed")
        for i in range(8):
            equal((place.path / f"report.{i}").read_text(), "weights\nend\n", f"{part}: file {i} of the job")
        equal(collector.paired(session), {"before": 1, "behind": 3}, f"{part}: scopes")
        equal(len(_kernel_scopes(session)), 4, f"{part}: kernels")
        for channel in ("device", "scope", "system"):
            equal(collector.records(session, channel)[-1]["type"], "shutdown", f"{part}: end of {channel}")


def a_file_system_without_locks_is_said_and_recorded_on(place):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first")
    session, said, _, _ = _play(place, "sessions", GPU_SCOPES_LOGS=str(place.logs), LD_PRELOAD=str(FAKE / "no_locks.so"))
    equal(said.count("is recorded without a lock"), 3, said)
    equal(collector.paired(session), {"first": 1}, "scopes")
    check("lock_file" not in json.loads((session / ".gpufl-session.json").read_text()), "the lock proves nothing")
    equal(len(list(place.logs.iterdir())), 3, "directories")
    backend = lib.Backend(place, "--api-key", lib.KEY)
    lib.upload(place, backend.url)
    check(backend.complete(session.name), "complete, as its process is gone")


def kernels_of_graphs_do_not_stand_for_launches_without_a_record(place):
    session, said, report, _ = _play(place, "graphs")
    equal(collections.Counter(name for name, _, _ in _kernel_scopes(session)), {"first": 3, "second": 40}, "kernels")
    losses, capabilities = _closing(session)
    kernels = capabilities["kernel_events"]
    equal((losses, kernels["status"], kernels["reason_code"]), ({"launches": 30}, "partial", "launches_without_record:30"), "missing")
    _all_say(said, report, "30 launches without a record of their kernel")


def sessions_begin_and_end_while_threads_launch(place):
    """ThreadSanitizer would end it otherwise."""
    session, _, _, _ = _play(place, "restarts", GPU_SCOPES_LOGS=str(place.logs))
    equal(len(list(place.logs.iterdir())), 11, "sessions")
    check(collector.records(session, "device")[-1]["type"] == "shutdown", "the first one has ended")


def _exit(place, part, **env):
    """(session's directory, stderr, seconds)"""
    began = time.monotonic()
    done = place.run("tests/e2e/gpu_scopes", place.logs, part,
                     env={"LD_LIBRARY_PATH": f"{FAKE}:{lib.BUILD}", "GPUFL_PROFILING_ENGINE": "Trace", **env})
    equal(done.returncode, 7, f"{part}: {done.stderr}")
    return place.logs / done.stdout.strip(), done.stderr, time.monotonic() - began


def exit_ends_a_traced_session(place):
    """Before the runtime of CUDA ends, or without calling it."""
    for part, kernels in (("exits", 1), ("exits before a call", 0)):
        session, said, _ = _exit(place, part)
        equal(said, "", part)
        equal(collector.paired(session), {"step": 1}, f"{part}: scopes")
        equal(len(_kernel_scopes(session)), kernels, f"{part}: kernels")
        for channel in ("device", "scope", "system"):
            equal(collector.records(session, channel)[-1]["type"], "shutdown", f"{part}: end of {channel}")


def a_library_that_never_returns_does_not_hold_up_exit(place):
    if lib.SANITIZER or lib.VALGRIND:
        lib.skip("the thread that is left behind is taken for a leak")
    session, said, took = _exit(place, "exits", FAKE_CUPTI_HANG=str(place.path / "hang"))
    check(3 <= took < 3 + 5 * lib.SLOW, f"{took:.1f} s")
    check(f"session {session.name} has no end" in said, said)
    equal(collector.paired(session), {"step": 1}, "scopes")


def exit_fetches_nothing_from_a_library_that_the_job_has_not_called(place):
    """Its runtime may be set up by another exit handler, or be gone."""
    calls = place.path / "calls"
    for part, fetches in (("exits before a call", False), ("exits", True)):
        session, said, _ = _exit(place, part, FAKE_CUPTI_CALLS=str(calls))
        equal(said, "", "the session has its end")
        equal(collector.records(session, "scope")[-1]["type"], "shutdown", "end")
        equal("flush" in calls.read_text(), fetches, part)
        calls.unlink()


def a_thread_that_is_cancelled_in_a_flush_holds_up_nobody(place):
    session, _, _, _ = _play(place, "cancelled")
    equal(collector.paired(session), {"behind": 1}, "scopes")


def a_session_has_no_names_of_an_earlier_one(place):
    first, _, _, _ = _play(place, "sessions", GPU_SCOPES_LOGS=str(place.logs))
    names = sorted("".join(collector.scope_names(s).values()) for s in place.logs.iterdir())
    equal(names, ["first", "second", "second"], "names of each session")
    equal(collector.paired(first), {"first": 1}, "scopes of the first")


def threads_that_come_and_go_leave_nothing_behind(place):
    if lib.MEASURES_ITSELF:
        lib.skip("the memory is not the program's own")
    _, said, _, _ = _play(place, "churn")
    check(int(said.split("grown ")[1].split()[0]) < 4000, said)


if __name__ == "__main__":
    here = sys.modules[__name__]
    if not (lib.BUILD / "libgpufl-cupti.so").exists():
        print("skip losses: the module that records calls is built only where CUDA's headers are")
        sys.exit(0)
    sys.exit(lib.main(here))
