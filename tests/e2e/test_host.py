# SPDX-License-Identifier: Apache-2.0
"""What tests/hostile found, each by itself: the job's end and its errno are its own, whatever the host does."""
import errno
import fcntl
import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import termios
import time

import lib
import python
from lib import check, equal
import test_collector as collector

python.needs("seccomp")
import seccomp  # noqa: E402


def _hostile(host, libraries=("libgpufl.so",), **env):
    if lib.SANITIZER:
        lib.skip("its runtime wants to be loaded first, and to make the calls that fail here")
    preload = [str(lib.BUILD / name) for name in (*libraries, "tests/fake/hostile_host.so")]
    return {"LD_PRELOAD": " ".join(preload), "LD_LIBRARY_PATH": str(lib.BUILD / "tests/fake"),
            **({"HOSTILE_HOST": host} if host else {}), **env}


def _has_table():
    """Whether the recorder's thread of files gets a descriptor table of its own."""
    return lib.BUILD.name != "thread" and "Seccomp:\t0" in pathlib.Path("/proc/self/status").read_text()


def _needs_table():
    if not _has_table():
        lib.skip("filters of system calls, as in a container, and TSan allow the recorder no descriptor table of its own")


def _refuse_table():
    """A process with a filter of system calls: each thread keeps the descriptor table of the job."""
    refuses = seccomp.SyscallFilter(seccomp.ALLOW)
    refuses.add_rule(seccomp.ERRNO(errno.ENOSYS), "close_range")
    refuses.load()


def _live(place, *words, folder="life", host=None, preexec_fn=None, **env):
    """What tests/hostile/life came to, and the seconds that it took."""
    own = place.path / folder
    own.mkdir()
    began = time.monotonic()
    done = place.run("tests/hostile/life", own, place.logs, *words, env=_hostile(host, **env), preexec_fn=preexec_fn)
    return done, time.monotonic() - began


def _state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def _said(done):
    return dict(line.split() for line in done.stdout.splitlines())


def _ended(place):
    return [collector.records(session, "system")[-1]["type"] == "shutdown" for session in place.logs.iterdir()]


def a_session_that_gets_no_thread_leaves_nothing(place):
    for error, todo in (("11", "ulimit -u or pids.max, of memory, ulimit -v, or of locked memory, ulimit -l)"), ("1", "(allow clone and clone3")):
        done, _ = _live(place, "init:0", "exit:5", folder=f"life-{error}", host=f"thread:{error}:1:1000000")
        equal(done.returncode, 5, done.stderr)
        equal(list(place.logs.iterdir()), [], "the log directory")
        check("not recording: cannot start a thread: " in done.stderr and todo in done.stderr, done.stderr)


def a_reader_of_stderr_that_is_gone_does_not_end_the_job(place):
    done, _ = _live(place, "deaf", "init:0", "exit:5", host="open:13:0:1000000")
    equal((done.returncode, _said(done)), (5, {"files": "1", "errno": "1"}), "it ends as it does alone")


def a_stderr_that_may_not_grow_does_not_end_the_job(place):
    """Of RLIMIT_FSIZE there is a signal, also for a message that is said on the job's thread."""
    err = place.path / "err"
    err.write_bytes(b"x" * 2048)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    with open(err, "ab") as stderr:
        done = subprocess.run([lib.BUILD / "tests/e2e/script", "log_path=/proc/none", "init", "init"], stdout=subprocess.PIPE,
                              stderr=stderr, preexec_fn=limit, check=False, timeout=60 * lib.SLOW, env=lib.environment({}))
    equal((done.returncode, len(done.stdout.splitlines())), (0, 2), "it goes on")


def files_that_may_not_grow_end_no_job(place):
    """The report, and the journal of an upload, are written on the job's thread."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (550, 550))
    done = subprocess.run([lib.BUILD / "tests/e2e/script", f"log_path={place.logs}", f"app_name={'x' * 250}", "init", "scope:a:1", "shutdown",
                           f"report:{place.path / 'report'}", "errno", "backend_url=http://127.0.0.1:9", "api_key=k", "upload", "errno"],
                          capture_output=True, text=True, preexec_fn=limit, check=False, timeout=60 * lib.SLOW,
                          env=lib.environment({"STATE_DIRECTORY": str(place.path)}))
    equal((done.returncode, done.stdout.splitlines()[1:]), (0, ["3", "EFBIG", "3 0 0", "EFBIG"]), f"it goes on: {done.stderr}")


def a_message_does_not_stop_a_job_in_the_background_of_a_terminal(place):
    """There SIGTTOU stops who writes, if the terminal is set so (stty tostop)."""
    leader, terminal = pty.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[3] |= termios.TOSTOP
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    shell = subprocess.Popen(["bash", "-mc", '"$@" >out & wait', "bash", lib.BUILD / "tests/e2e/script", "log_path=/proc/none",
                              "init", "init"], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), cwd=place.path, env=lib.environment({}))
    os.close(terminal)
    try:
        equal((shell.wait(60 * lib.SLOW), len((place.path / "out").read_text().splitlines())), (0, 2), "it goes on")
    finally:
        shell.kill()
        os.close(leader)


def a_full_pipe_as_stderr_holds_up_nothing(place):
    done, took = _live(place, "full", "init:0", "ops:50", "nap:100000", "exit:5", host="write:28:4:1000000")
    equal(done.returncode, 5, "it ends as it does alone")
    check(took < 5 * lib.SLOW, f"{took:.1f} s")


def a_process_ends_with_its_last_own_thread(place):
    for env in ({}, {"FAKE_NVML_HANG": "Sample"}):
        for words in (("init:0", "ops:5"), ("init:0", "ops:5", "shutdown"), ("elsewhere:0", "ops:5")):
            done, _ = _live(place, *words, "pthread_exit", folder=f"life-{len(list(place.path.iterdir()))}", **env)
            equal(done.returncode, 0, f"{env} {words}: status")
    equal(_ended(place), [True] * 6, "each session has an end")


def a_thread_of_cupti_keeps_no_process(place):
    """Whichever thread began the session, and it takes no signals of the job."""
    for n, words in enumerate((("init:1",), ("elsewhere:1",), ("init:1", "shutdown", "elsewhere:1"))):
        done, _ = _live(place, *words, "ops:50", "nap:100000", "pthread_exit", folder=f"life-{n}", LIFE_GPU="1")
        equal(done.returncode, 0, f"{words}: status")
    equal(_ended(place), [True] * 4, "each session has an end")


def a_process_that_ends_with_its_last_own_thread_ends_at_once_and_with_mains_signals(place):
    took = []
    for n, words in enumerate((("init:0", "ops:5"), ("elsewhere:0", "ops:5")) * 3):
        done, seconds = _live(place, "mask", *words, "pthread_exit", folder=f"life-{n}")
        equal((done.returncode, _said(done)["blocked"]), (0, "0"), f"{words}: {done.stdout}")
        took.append(seconds)
    check(min(took) < 1 * lib.SLOW, f"{took} s")


def a_process_whose_threads_hand_on_its_work_does_not_end_before_it_is_done(place):
    """None of them is there for long, and /proc may not list one that was made while another ended."""
    for n in range(3):
        done, _ = _live(place, "init:0", "relay:1500000", "pthread_exit", folder=f"life-{n}")
        equal((done.returncode, _said(done).get("worked")), (0, "1"), f"its work is done: {done.stderr}")


def a_process_without_proc_ends_with_its_last_own_thread(place):
    """Whether that lives cannot be told: the session ends with main, and the C library sees the end of the job's."""
    for n, words in enumerate((("init:0",), ("elsewhere:0",), ("init:0", "shutdown", "elsewhere:0"))):
        from_now = place.path / f"from-{n}"
        done, _ = _live(place, *words, "ops:5", "work:2500000", f"touch:{from_now}", "pthread_exit", folder=f"life-{n}",
                        host="open:2:0:1000000", HOSTILE_FROM=str(from_now))
        equal((done.returncode, _said(done).get("worked")), (0, "1"), f"{words}: its work is done: {done.stderr}")
        check("as /proc/self/task cannot be read: No such file or directory" in done.stderr, f"{words}: {done.stderr}")
    equal(_ended(place), [True] * 4, "each session has an end")


def _kept(place, n, *words):
    """A process that a driver keeps when its threads are gone, without /proc; and what it has said so far."""
    own, from_now, said = place.path / f"life-{n}", place.path / f"from-{n}", place.path / f"said-{n}"
    own.mkdir()
    env = _hostile("open:2:0:1000000", FAKE_NVML_HANG="Init", GPUFL_SHUTDOWN_TIMEOUT_MS="200", HOSTILE_FROM=str(from_now))
    with open(said, "wb") as out:
        process = subprocess.Popen([lib.BUILD / "tests/hostile/life", own, place.logs, *words, "ops:5", f"touch:{from_now}", "pthread_exit"],
                                   stdout=out, stderr=out, env=lib.environment(env))
    lib.until(lambda: _state(process.pid) == "Z", "main has left")
    return process, said.read_text


def without_proc_a_signal_ends_a_process_that_a_driver_keeps(place):
    """A session before main leaves, and none then."""
    for n, words in enumerate((("init:0",), ("init:0", "shutdown"))):
        process, _ = _kept(place, n, *words)
        process.send_signal(signal.SIGTERM)
        equal(process.wait(60 * lib.SLOW), -signal.SIGTERM, f"{words}: status")


def without_proc_a_signal_that_a_thread_awaits_ends_no_process(place):
    """Which blocks it, though main did not. Once nobody awaits it, it does."""
    for n, awaited in enumerate((signal.SIGTERM, signal.SIGUSR1)):
        process, said = _kept(place, n, "init:0", f"await:{awaited:d}:20")
        lib.until(lambda: "awaits" in said() and "the session ends with the main thread" in said(), "main has left the session")
        for i in range(1, 21):
            process.send_signal(awaited)
            lib.until(lambda: said().count(f"took {awaited:d}\n") == i or process.poll() is not None, f"it takes {i}")
        process.send_signal(signal.SIGTERM)
        equal(process.wait(60 * lib.SLOW), -signal.SIGTERM, f"{awaited}: status")
        equal(said().count(f"took {awaited:d}\n"), 20, f"{awaited}: taken")


def a_thread_of_the_job_works_on_after_main_has_left(place):
    """Whatever its name, and also if the log callback started it, on a thread of the library."""
    for n, words in enumerate((("callback:2500000", "init:0"), ("name:gpufl-job", "init:0", "work:2500000"))):
        done, _ = _live(place, *words, "ops:5", "nap:100000", "pthread_exit", folder=f"life-{n}", GPUFL_DEBUG="1")
        equal((done.returncode, _said(done).get("worked")), (0, "1"), f"{words}: its work is done: {done.stdout} {done.stderr}")
    equal(_ended(place), [True] * 2, "each session has an end")


def a_process_without_descriptors_ends_with_its_last_own_thread(place):
    """Not before, either: whether that lives can be told with what the library has kept."""
    for left in (0, 1):
        done, _ = _live(place, "init:0", "ops:5", "work:2500000", "nap:100000", f"nofiles:{left}", "pthread_exit", folder=f"life-{left}")
        equal((done.returncode, _said(done).get("worked")), (0, "1"), f"{left} left: {done.stderr}")
    equal(_ended(place), [True] * 2, "each session has an end")


def a_process_whose_writer_hangs_ends_with_its_last_own_thread(place):
    """Whatever hangs: 1 s until it is noticed, and what exit() has to wait."""
    hang = place.path / "hang"
    lib.need_the_module()
    hang.touch()
    disk, cupti = {"host": "write:h:8:1000000"}, {"FAKE_CUPTI_HANG": str(hang), "LIFE_GPU": "1"}
    for n, (begin, words, env) in enumerate((
            ("init:0", ("ops:5", "nap:100000"), disk), ("init:1", ("ops:50", "nap:100000"), cupti),
            ("init:0", ("ops:5", "work:1500000", "nap:100000", "nofiles:0"), disk),
            ("elsewhere:0", ("ops:5", "work:1500000", "nap:100000", "nofiles:0"), disk))):
        done, _ = _live(place, begin, *words, "pthread_exit", folder=f"life-{n}", **env)
        equal((done.returncode, _said(done).get("worked", "1")), (0, "1"), f"{n}: {done.stderr}")
        check("has no end: the disk or the GPU's library has not returned" in done.stderr, f"{n}: {done.stderr}")


def a_process_without_memory_ends_with_its_last_own_thread(place):
    if lib.SANITIZER:
        lib.skip("memory is the sanitizer's")
    own = place.path / "life"
    own.mkdir()
    done = place.run("tests/hostile/life", own, place.logs, "init:0", "fork:_exit", "threads:8:95", "pthread_exit", env={
        "LD_PRELOAD": f"{lib.BUILD}/libgpufl.so {lib.BUILD}/tests/fake/no_memory.so", "HOSTILE_HOST": "malloc:12:6:1000000"})
    equal(done.returncode, 0, done.stderr)


def a_small_default_of_stacks_is_the_jobs_alone(place):
    """pthread_setattr_default_np before gpufl_init: what it sets is for the job's threads."""
    for engine in range(3):
        done, _ = _live(place, "stacks:16", f"init:{engine}", "ops:50", "shutdown", "exit:5", folder=f"life-{engine}", LIFE_GPU="1")
        equal((done.returncode, _said(done).get("stacks")), (5, "1"), f"engine {engine}: {done.stderr}")
    equal(_ended(place), [True] * 3, "each session has an end")


def quick_exit_ends_a_session_that_the_program_has_registered_for_it(place):
    """It runs in handlers of signals, too, where an end may wait for ever."""
    for n, words in enumerate(((), ("hooked",))):
        done, _ = _live(place, "init:0", *words, "ops:5", "flush", "quick_exit:5", folder=f"life-{n}")
        equal(done.returncode, 5, done.stderr)
    equal(sorted(_ended(place)), [False, True], "one session has an end")


def exit_in_a_handler_ends_the_session(place):
    took = []
    for n in range(10):
        done, seconds = _live(place, "init:0", "exit_handler:4", folder=f"life-{n}")
        equal(done.returncode, 4, "status")
        took.append(seconds)
    check(sorted(took)[5] < 3 * lib.SLOW, f"{took} s: it waits for nothing")  # most of them, whatever else runs
    equal(_ended(place), [True] * 10, "each session has an end")


def a_driver_that_hangs_keeps_no_job_that_finds_no_thread_for_a_while(place):
    """Main has left, the session has ended: a thread has to end the process, and cannot be made at once."""
    done, _ = _live(place, "init:0", "nap:300000", "shutdown", "pthread_exit", host="thread:11:3:5", FAKE_NVML_HANG="Sample")
    check("its thread is left behind" in done.stderr, done.stderr)
    equal(done.returncode, 0, done.stderr)


def a_job_that_closes_and_reuses_descriptors_keeps_its_files_and_the_figures_of_amdgpu(place):
    done, _ = _live(place, "init:0", "nap:300000", "closefrom", "spread", "nap:300000", "shutdown", "exit:5",
                    GPUFL_SYSFS=str(lib.ROOT / "tests/samples/amdgpu"), FAKE_NVML_INIT="9")
    equal((done.returncode, _said(done)), (5, {"files": "1", "errno": "1"}), f"its files: {done.stderr}")
    session, = place.logs.iterdir()
    samples = list(collector.rows(session, "system", "device_metric_batch"))
    missed = [row for row in samples if -1 in (row["temp_c"], row["used_mib"])]  # while it was being closed
    check(len(missed) <= 2, f"not known in a sample of each device at most: {missed}")
    equal({(row["temp_c"], row["used_mib"]) for row in samples if row not in missed}, {(61, 12288), (71, 2048)},
          "figures before and behind it")
    times = [row["base"] + row["dt_ns"] for row in samples]
    check(max(times) - min(times) > 3e8, f"{len(samples)} rows over {(max(times) - min(times)) / 1e6} ms")


def no_thread_of_ours_reads_or_writes_under_a_number_of_the_jobs(place):
    """While a file of ours has a low number, the job may close it and open its own there, which we would close. Without a
    table of its own, a thread opens the session while one of the job's waits in gpufl_init()."""
    lives = ((("init:1", "threads:4:50", "nap:300000", "vandal:rm", "ops:50", "nap:300000"), "exit:5", 5),
             (("init:0", "ops:50", "nap:300000", "closefrom", "ops:50", "nap:300000"), "pthread_exit", 0))
    for refused in (False, True) if _has_table() else (True,):
        low = place.path / f"low-{refused}"
        env = {"HOSTILE_LOW": str(low), "GPUFL_SYSFS": str(lib.ROOT / "tests/samples/amdgpu"), "FAKE_NVML_INIT": "9",
               "LIFE_GPU": "1", "GPUFL_LOG_MAX_SPOOL_BYTES": str(64 << 20)}
        for words, end, code in lives:
            done, _ = _live(place, *words, end, folder=f"{end}-{refused}", preexec_fn=_refuse_table if refused else None, **env)
            equal((done.returncode, _said(done).get("files")), (code, "1"), done.stderr)
        found = low.read_text().splitlines() if low.exists() else []
        equal([line for line in found if not (refused and line.startswith("gpufl-files:"))], [], "under low numbers")


def _take_numbers(place, how, rounds, **env):
    """A job that takes or closes all numbers while it records: its own file and the session are whole."""
    if lib.VALGRIND or lib.EMULATOR:
        lib.skip("it has descriptors of its own")
    _needs_table()
    own, logs = place.path / f"own-{how}", place.path / f"logs-{how}"
    done = place.run("tests/e2e/numbers", logs, own, how, rounds, env=env)
    equal((done.returncode, done.stderr), (0, ""), f"{how}: the job")
    scopes, lines, missing = (int(word) for word in done.stdout.split())
    equal((lines, missing), (rounds, 0), f"{how}: lines, and numbers that it lacks")
    equal(own.read_bytes(), b"job\n" * rounds, f"{how}: its file")
    session, = logs.iterdir()
    equal(collector.paired(session), {"work": scopes}, f"{how}: scopes")
    for channel in ("device", "scope", "system"):
        equal(collector.records(session, channel)[-1]["type"], "shutdown", f"{how}: end of {channel}")


def a_job_that_takes_or_closes_all_numbers_harms_no_file_and_loses_none_of_its_own(place):
    for how in ("taken", "closed"):
        _take_numbers(place, how, 3000)


def a_write_that_is_late_meets_no_file_of_the_job(place):
    """It is the moment between the look at a number and the write that is made longer."""
    for how, rounds in (("taken", 300), ("closed", 3000)):
        _take_numbers(place, how, rounds, **_hostile("write:l3:0:1000000,pwrite:l3:0:1000000", libraries=()))


def a_job_that_may_have_few_descriptors_is_recorded(place):
    few = (64, 64)
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)
    done = place.run("tests/e2e/script", f"log_path={place.logs / 'few'}", "init", "scope:a:1", "shutdown", preexec_fn=limit)
    equal((done.returncode, done.stderr), (0, ""), "few from the begin on")
    session, = (place.logs / "few").iterdir()
    equal(collector.paired(session), {"a": 1}, "scopes")
    fewer = place.logs / "fewer"
    job = place.start("examples/demo-job", fewer, "600", env={"GPUFL_LOG_ROTATE_BYTES": "20000"})
    rotated = lambda: max((int(file.name.split(".")[1]) for file in fewer.glob("[!.]*/scope.*.log")), default=0)
    lib.until(rotated, "it has rotated")
    resource.prlimit(job.pid, resource.RLIMIT_NOFILE, few)
    before = rotated()
    lib.until(lambda: rotated() > before + 1, "it rotates on")
    check("GPUFL" not in job.log.read_text(), job.log.read_text())


def a_session_has_a_table_of_descriptors_of_its_own(place):
    """Where that is refused, it is recorded in that of the job."""
    _needs_table()
    for refused in (False, True):
        logs = place.logs / str(refused)
        job = place.start("tests/e2e/job", logs, "kill", 600_000, preexec_fn=_refuse_table if refused else None)
        lib.until(lambda logs=logs: any(lib.on_disk(s, "scope") for s in logs.glob("[!.]*")), "scopes")
        table = lambda path, job=job, logs=logs: [
            fd for fd in pathlib.Path(f"/proc/{job.pid}").glob(path) if os.readlink(fd).startswith(str(logs))]
        equal(bool(table("fd/*")), refused, "in the table of the job")
        check(len(table("task/*/fd/*")) >= 5, "the files of the session")
        job.kill()
        job.wait()


def a_watcher_whose_files_cannot_be_looked_at_sees_the_end_of_the_job(place):
    """179593435267: main has left, the driver hangs, and fstat(2) fails for ever."""
    _needs_table()
    done, seconds = _live(place, "init:0", "ops:20", "pthread_exit", host="stat:5:200:1000000", FAKE_NVML_HANG="Init")
    equal(done.returncode, 0, done.stderr)
    check(seconds < 20, f"{seconds:.1f} s")


def no_thread_of_ours_opens_a_file_while_a_session_runs(place):
    """Each has a low number for a moment, in which the job's next file gets another one, and which it may close: but for
    the thread that has a table of its own, which opens files of /proc."""
    _needs_table()
    begun = place.path / "begun"
    for refused in (False, True):
        opened = place.path / f"opened-{refused}"
        done, _ = _live(place, "init:0", f"touch:{begun}", "ops:50", "nap:2300000", "ops:50", "flush", "shutdown", "exit:5",
                        folder=f"life-{refused}", preexec_fn=_refuse_table if refused else None,
                        HOSTILE_OPENS=str(opened), HOSTILE_FROM=str(begun))
        equal((done.returncode, _said(done).get("files")), (5, "1"), done.stderr)
        found = opened.read_text().splitlines() if opened.exists() else []
        equal([line for line in found if refused or not line.startswith("gpufl-files: /proc/")], [], "opened")
        begun.unlink()


def a_scope_without_memory_changes_no_errno(place):
    if lib.SANITIZER:
        lib.skip("memory is the sanitizer's")
    own = place.path / "life"
    own.mkdir()
    for first in range(0, 40, 4):
        done = place.run("tests/hostile/life", own, place.logs, "init:0", "threads:2:20", "exit:0", env={
            "LD_PRELOAD": f"{lib.BUILD}/libgpufl.so {lib.BUILD}/tests/fake/no_memory.so",
            "HOSTILE_HOST": f"malloc:12:{first}:1000000"})
        for file in own.iterdir():
            file.unlink()
        equal((done.returncode, _said(done)["errno"]), (0, "1"), f"memory ends at the {first}th: {done.stderr}")


def a_disk_that_hangs_keeps_no_buffer_of_cupti(place):
    """S3-07: their callback only queues them."""
    lib.need_the_module()
    done, _ = _live(place, "init:1", "threads:8:15000", "completed:3", "exit:5", host="write:h:6:1000000", LIFE_GPU="1")
    equal((done.returncode, _said(done).get("completed")), (5, "1"), f"handed over while nothing is written: {done.stderr}")
    check("has no end" in done.stderr, done.stderr)


def a_shutdown_that_the_disk_holds_up_is_given_up(place):
    """It returns, as a flush does; no session begins beside what still hangs, which is written once the disk is back."""
    hang = place.path / "hang"
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", "scope:a:1", "flush", f"touch:{hang}", "scope:b:1",
                     "flush", "shutdown", "init", "errno", "shutdown", f"unlink:{hang}", "again", "scope:c:1", "shutdown",
                     env=_hostile("write:h:0:1000000", (), HOSTILE_HANG=str(hang)))
    equal(done.returncode, 0, done.stderr)
    (begun, first), (refused, none), (reason,), *tries, (again, second) = (
        (*line.split(" "),) for line in done.stdout.splitlines())
    equal((begun, refused, none, reason, again), ("0", "3", "", "EBUSY", "0"), done.stdout)
    check(all(status == "3" for status, _ in tries), done.stdout)
    for said in (f"a flush of session {first} has not ended", f"session {first} has no end: the disk",
                 f"not recording: session {first} has no end yet"):
        check(said in done.stderr, f"{said}: {done.stderr}")
    for session, scopes in ((first, {"a": 1, "b": 1}), (second, {"c": 1})):
        equal(collector.paired(place.logs / session), scopes, "scopes")
        equal(collector.records(place.logs / session, "system")[-1]["type"], "shutdown", "its end")


def a_session_that_the_disk_does_not_let_begin_is_given_up(place):
    """Whatever of it hangs; what comes of it later is removed, and then a session begins."""
    for call, first in (("open", 1), ("rename", 0)):  # the first file that is opened is of /proc
        hang, logs = place.path / f"hang-{call}", place.path / call
        done = place.run("tests/e2e/script", f"log_path={logs}", f"touch:{hang}", "init", "errno", "scope:lost:1", "flush",
                         "shutdown", "init", "errno", f"unlink:{hang}", "again", "scope:c:1", "shutdown",
                         env=_hostile(f"{call}:h:{first}:1000000", (), HOSTILE_HANG=str(hang), GPUFL_SHUTDOWN_TIMEOUT_MS="200"))
        equal(done.returncode, 0, done.stderr)
        first, why, second, busy, *tries, (again, session) = ((*line.split(" "),) for line in done.stdout.splitlines())
        equal((first, why, second, busy, again), (("3", ""), ("ETIMEDOUT",), ("3", ""), ("EBUSY",), "0"), f"{call}: {done.stdout}")
        check(all(status == "3" for status, _ in tries), done.stdout)
        check(f"not recording: cannot create a session in {logs}: the disk has not returned for 1200 ms (" in done.stderr, done.stderr)
        check("not recording: the disk that was waited for before has not returned yet" in done.stderr, done.stderr)
        equal(os.listdir(logs), [session], f"{call}: nothing else is left")
        equal(collector.paired(logs / session), {"c": 1}, f"{call}: scopes")


def a_disk_with_the_settings_that_hangs_is_given_up(place):
    """The configuration file and the source roots may lie on any, and the working directory, which is a root by default."""
    config = place.path / "config.json"
    config.write_text("{}")
    for n, (call, env, what) in enumerate((("open", {"GPUFL_CONFIG_FILE": str(config)}, f"read the configuration file {config}"),
                                           ("path", {}, "look up source_roots ."),
                                           ("path", {"GPUFL_SOURCE_ROOTS": "/tmp"}, "look up source_roots /tmp"))):
        hang, logs = place.path / f"hang-{n}", place.path / f"logs-{n}"
        done = place.run("tests/e2e/script", f"log_path={logs}", f"touch:{hang}", "init", "errno", "init", "errno", f"unlink:{hang}",
                         "again", "scope:c:1", "shutdown",
                         env=_hostile(f"{call}:h:0:1", (), HOSTILE_HANG=str(hang), GPUFL_SHUTDOWN_TIMEOUT_MS="200", **env))
        equal(done.returncode, 0, done.stderr)
        told = done.stdout.splitlines()
        equal(told[:4], ["3 ", "ETIMEDOUT", "3 ", "EBUSY"], f"{call}: {done.stdout}")
        check(f"not recording: cannot {what}: the disk has not returned for 1200 ms (" in done.stderr, done.stderr)
        equal(os.listdir(logs), [told[-1].split()[1]], f"{call}: nothing else is left")


def a_disk_that_is_back_late_costs_the_job_no_file(place):
    """A thread that was given up goes on when the job has closed its numbers, and has its own files there."""
    for n in range(2, 10):
        own, hang, closed = (place.path / f"{name}-{n}" for name in ("life", "hang", "closed"))
        own.mkdir()
        hang.touch()
        env = _hostile(f"open:h:{n}:1", HOSTILE_HANG=str(hang), GPUFL_SHUTDOWN_TIMEOUT_MS="1")
        process = subprocess.Popen([lib.BUILD / "tests/hostile/life", own, place.logs, "init:0", "closefrom", "renumber",
                                    f"touch:{closed}", "nap:300000", "exit:5"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=lib.environment(env))
        lib.until(closed.exists, "the job has its files")
        hang.unlink()
        out = process.communicate(timeout=60)[0]
        equal((process.returncode, "files 1" in out.splitlines()), (5, True), f"open {n}: {out}")


def a_job_goes_on_and_ends_whose_disk_does_not_let_a_session_begin(place):
    hang = place.path / "hang"
    hang.touch()
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", "scope:a:1",
                     env=_hostile("open:h:0:1000000", (), HOSTILE_HANG=str(hang), GPUFL_SHUTDOWN_TIMEOUT_MS="200"))
    hang.unlink()
    equal((done.returncode, done.stdout.split()[0], done.stderr.count("\n")), (0, "3", 1), done.stderr)


def a_row_of_phases_is_written_at_once(place):
    """Each write takes 20 ms: one for each of the 1000 marks would take far longer than an end waits."""
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", *("start:x", "stop:x") * 500, "shutdown",
                     env=_hostile("write:s20:0:1000000", ()))
    equal((done.returncode, done.stderr), (0, ""), done.stderr)
    types = [r["type"] for r in collector.records(place.logs / done.stdout.split()[1], "system")]
    equal([t for t in types if t.startswith("system_")], ["system_start", "system_stop"] * 500, "in order")
    equal(types[-1], "shutdown", "its end")


def _hung(place, *words, call="write", **env):
    """A session whose disk hangs from then on, and what is done with it."""
    hang = place.path / "hang"
    done = place.run("tests/e2e/script", f"log_path={place.logs}", "init", "scope:a:1", "flush", f"touch:{hang}", "scope:b:1",
                     *words, env=_hostile(f"{call}:h:0:1000000", (), HOSTILE_HANG=str(hang), **env))
    hang.unlink()
    equal(done.returncode, 0, done.stderr)
    return done.stdout.splitlines()[1:], done.stderr


def a_close_that_hangs_holds_up_neither_shutdown_nor_exit(place):
    for words in (("shutdown",), ()):
        _, said = _hung(place, *words, call="close")
        equal(said.count("has no end: the disk"), 1, said)


def who_waits_for_the_disk_keeps_no_other_call_waiting(place):
    """A flush that waits for ten minutes has nothing that the counters or an id need."""
    told, said = _hung(place, "elsewhere:flush", "sleep:300", "stats", "_exit", GPUFL_SHUTDOWN_TIMEOUT_MS="600000")
    equal((told, said), (["0"], ""), "the status")


def a_disk_that_hangs_holds_up_one_fork_alone(place):
    """Each of 40 would take a second else."""
    done, took = _live(place, "init:0", *["fork:_exit"] * 40, "exit:5", host="open:h:1:1")
    equal(done.returncode, 5, done.stderr)
    check("ETIMEDOUT" in done.stderr or "has not returned" in done.stderr, done.stderr)
    check(took < 30, f"{took:.1f} s")


def a_first_launch_during_exit_calls_no_cupti_behind_the_runtime(place):
    """Which is set up between two sessions; the first launch of the second one comes when its handler has run."""
    done, _ = _live(place, "init:1", "shutdown", "late", "ops:5", "init:1", "exit:5", LIFE_GPU="1")
    equal((done.returncode, "without a runtime" in done.stderr), (5, False), done.stderr)
    equal(_ended(place), [True] * 2, "each session has an end")


def a_first_launch_that_exit_overtakes_calls_no_cupti_behind_the_runtime(place):
    """Its handler is registered, and has run, before we hear of the launch."""
    done, _ = _live(place, "init:1", "spin:1", "nap:300000", "return:5", LIFE_GPU="1", FAKE_CUPTI_OVERTAKEN="1")
    equal((done.returncode, "without a runtime" in done.stderr), (5, False), done.stderr)
    equal(_ended(place), [True], "the session has an end")
    equal(done.stderr.count("records may be missing: the CUDA driver had shut down"), 1, done.stderr)
    equal(done.stderr.count("  1 fetches of CUPTI's records that failed"), 1, done.stderr)


def exit_beside_a_call_that_hangs_is_said(place):
    _, said = _hung(place, "elsewhere:shutdown", "sleep:300")
    check("exit() has given up: another call of gpufl" in said or "has no end: the disk" in said, said)


def a_handler_may_shut_down_what_it_interrupts(place):
    _, said = _hung(place, "alarm:100", "flush", "shutdown")
    equal(said.count("has no end: the disk"), 1, said)


def nothing_is_left_of_a_session_that_could_not_begin(place):
    refused = 0
    for call in ("open:28", "write:28", "rename:28", "lock:13"):
        for first in range(9):
            done, _ = _live(place, "init:0", "_exit:0", folder=f"{call[:4]}-{first}", host=f"{call}:{first}:1000000")
            refused += "not recording" in done.stderr
    check(refused >= 10, f"{refused} sessions were refused")
    equal(sorted(f.name for f in place.logs.glob(".new-*")), [], "directories that are left")


if __name__ == "__main__":
    lib.main(sys.modules[__name__])
