/* SPDX-License-Identifier: Apache-2.0 */
/* The public API: one collector a process, with one session at a time. */
#include <gpufl/gpufl.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/recorder.h"
#include "collector-lib/trace/profiler.h"
#include "collector-lib/writer/writer.h"

/* The collector of this process. */
static struct {
    pthread_mutex_t lock;   /* guards all up to `last` */
    struct session_dir dir; /* also of a session that is being opened or closed */
    struct writer *writer;
    struct writer *stopping; /* is no longer `writer`, and not yet freed */
    struct writer
        *left_behind; /* after a fork, or at exit; reachable for leak checkers */
    uint16_t last_generation;
    bool hooked;
    bool traces;        /* the session records by the GPU vendor's library, too */
    _Atomic bool heard; /* that library has told of a call */
    pid_t pid;          /* that began the session */
    bool ended;         /* a session has ended, and `last` is its result */
    struct writer_result last;
    _Atomic bool switched_off;
    struct recorder recorder;
} process = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, .recorder = RECORDER_INIT};

/* A forked child has the parent's memory but not its writer thread, so it records
 * nothing until it calls gpufl_init. Locks may have been held by other threads at the
 * fork, so they are initialised again. */
static void reset_in_child(void)
{
    atomic_store_explicit(&process.recorder.generation, 0, memory_order_relaxed);
    /* Only close(2) is safe here, and the writer may be half freed. Its memory stays
     * behind. */
    session_dir_close(&process.dir);
    if (process.writer) {
        process.left_behind = process.writer;
        process.writer = NULL;
    }
    process.lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    fork_guard_in_child();
    library_log_after_fork();
    stacks_after_fork();
    recorder_after_fork(&process.recorder);
}

void gpufl_set_log_callback(gpufl_log_fn log, void *arg)
{
    library_log_set(log, arg);
}

void gpufl_init_options_default(struct gpufl_init_options *options)
{
    *options = (struct gpufl_init_options)GPUFL_INIT_OPTIONS_DEFAULT;
}

bool gpufl_is_disabled(void)
{
    return settings_disabled_by_env() ||
           atomic_load_explicit(&process.switched_off, memory_order_relaxed);
}

static void stop_locked(void)
{
    atomic_store_explicit(&process.recorder.generation, 0, memory_order_release);
    if (process.writer) {
        free(process.last.report);
        process.stopping = process.writer;
        process.writer = NULL;
        writer_stop(process.stopping, &process.last);
        process.stopping = NULL;
        process.ended = true;
    }
}

/* \return 0, ETIMEDOUT, or EDEADLK where a signal handler calls exit() while its thread
 * is in a function that has the lock. */
static int lock_soon(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* the clock of pthread_mutex_timedlock */
    until.tv_sec += WRITER_STOP_MS / 1000;
    return pthread_mutex_timedlock(&process.lock, &until);
}

/* exit() waits no longer than this for what hangs. What an interrupted function uses is
 * not freed. */
static void stop_soon_locked(bool interrupted)
{
    atomic_store_explicit(&process.recorder.generation, 0, memory_order_release);
    if (!process.writer || process.pid != getpid()) {
        return;
    }
    if (!writer_end(process.writer) || interrupted) {
        process.left_behind = process.writer;
        process.writer = NULL;
    }
    stop_locked();
}

/* At exit() and the return from main, behind the end of the vendor's runtime if the job
 * has set it up after us: then the other handler has been called before. */
static void end_at_exit(void)
{
    int rc = lock_soon();
    if (rc == 0 || rc == EDEADLK) {
        bool heard = atomic_load_explicit(&process.heard, memory_order_relaxed);
        if (process.writer && process.traces && !heard) {
            writer_abandon_tracer(process.writer);
        }
        if (!process.traces || !heard) {
            stop_soon_locked(rc == EDEADLK);
        }
    }
    if (rc == 0) {
        pthread_mutex_unlock(&process.lock);
    }
}

/* Handlers are called in the reverse order: the vendor's runtime, which was set up before
 * its first call that we heard of, is still there. */
static void end_traced_at_exit(void)
{
    int rc = lock_soon();
    if (rc == 0 || rc == EDEADLK) {
        stop_soon_locked(rc == EDEADLK);
    }
    if (rc == 0) {
        pthread_mutex_unlock(&process.lock);
    }
}

static void hook_at_first_call(void)
{
    if (!atomic_load_explicit(&process.heard, memory_order_relaxed) &&
        !atomic_exchange_explicit(&process.heard, true, memory_order_relaxed)) {
        atexit(end_traced_at_exit);
    }
}

/* Each of the three fails for want of memory, or of a key for the thread's ring. */
static gpufl_status hook_once(void)
{
    if (!process.hooked) {
        session_dir_init(&process.dir);
        process.hooked = recorder_prepare(&process.recorder) &&
                         pthread_atfork(fork_guard_before, fork_guard_in_parent,
                                        reset_in_child) == 0 &&
                         atexit(end_at_exit) == 0;
    }
    return process.hooked ? GPUFL_OK : GPUFL_ERR_NOMEM;
}

static void on_call(const struct trace_call *call)
{
    hook_at_first_call();
    recorder_call(&process.recorder, call);
}

static void on_wait(const struct trace_wait *wait)
{
    hook_at_first_call();
    recorder_wait(&process.recorder, wait);
}

static const struct tracer_listener listener = {.called = on_call, .waited = on_wait};

/* A fork waits, so that its child sees each descriptor that it got, and closes it. */
static gpufl_status open_directory(const struct settings *settings)
{
    struct session_dir *dir = &process.dir;
    dir->rotate_bytes = settings->rotate_bytes;
    dir->rotate_after_ns = (int64_t)settings->rotate_after_ms * 1000000;
    dir->sync_each_write = settings->sync_each_write;
    dir->with_sass = settings->source_collection && profiler_samples(settings->engine) &&
                     settings->max_engine >= GPUFL_ENGINE_PC_SAMPLING;
    fork_guard_enter();
    gpufl_status status = session_dir_open(dir, settings->log_path);
    int saved = errno;
    fork_guard_leave();
    errno = saved;
    return status;
}

static gpufl_status start_writer(const struct settings *settings)
{
    struct profiler profiler;
    process.last_generation = (uint16_t)(process.last_generation % UINT16_MAX + 1);
    profiler_start(&profiler, settings, &listener);
    process.traces = profiler.runs != GPUFL_ENGINE_MONITOR;
    process.pid = getpid();
    const struct writer_input input = {.rings = &process.recorder.rings,
                                       .names = &process.recorder.names,
                                       .generation = process.last_generation};
    gpufl_status status =
        writer_start(settings, &profiler, &process.dir, &input, &process.writer);
    if (status == GPUFL_OK) {
        atomic_store_explicit(&process.recorder.generation, process.last_generation,
                              memory_order_release);
    }
    return status;
}

/* Keeps errno, which says why to the caller, too. */
static void say_not_recording(const struct settings *settings, gpufl_status status,
                              bool opened)
{
    int reason = errno;
    if (status == GPUFL_ERR_NOMEM) {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: out of memory, or of keys for data of threads "
                    "(PTHREAD_KEYS_MAX)");
    } else if (opened) {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: cannot start a thread: %s (raise the limit of "
                    "processes, ulimit -u or pids.max)",
                    strerror(reason));
    } else {
        library_log(GPUFL_LOG_ERROR,
                    "not recording: cannot create a session in %s: %s (set "
                    "log_path to a writable directory)",
                    settings->log_path, strerror(reason));
    }
    errno = reason;
}

static gpufl_status start_locked(const struct settings *settings)
{
    gpufl_status status = hook_once();
    if (status == GPUFL_OK) {
        status = open_directory(settings);
    }
    bool opened = status == GPUFL_OK;
    if (opened) {
        status = start_writer(settings);
    }
    if (status != GPUFL_OK) {
        say_not_recording(settings, status, opened);
    }
    return status;
}

/* A thread that is cancelled while it waits for the writer would keep the lock. */
static int lock_process(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&process.lock);
    return state;
}

static void unlock_process(int state)
{
    pthread_mutex_unlock(&process.lock);
    pthread_setcancelstate(state, NULL);
}

gpufl_status gpufl_init(const struct gpufl_init_options *options)
{
    struct settings settings;
    char why[256];
    gpufl_status status = settings_resolve(options, &settings, why);
    int cancel_state = lock_process();
    stop_locked();
    atomic_store_explicit(&process.switched_off, status == GPUFL_OFF,
                          memory_order_relaxed);
    if (status == GPUFL_OK) {
        status = start_locked(&settings);
    } else if (status == GPUFL_ERR_USAGE) {
        library_log(GPUFL_LOG_ERROR, "not recording: %s", why);
    }
    unlock_process(cancel_state);
    return status;
}

void gpufl_shutdown(void)
{
    int cancel_state = lock_process();
    stop_locked();
    unlock_process(cancel_state);
}

gpufl_status gpufl_session_id(char out[40])
{
    out[0] = '\0';
    int cancel_state = lock_process();
    if (process.writer) {
        snprintf(out, 40, "%s", writer_session_id(process.writer));
    }
    unlock_process(cancel_state);
    return out[0] ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

void gpufl_flush(void)
{
    int cancel_state = lock_process();
    if (process.writer) {
        writer_flush(process.writer);
    }
    unlock_process(cancel_state);
    pthread_testcancel(); /* it waits, so it is a point of cancellation */
}

gpufl_status gpufl_get_stats(struct gpufl_stats *stats)
{
    struct gpufl_stats full;
    int cancel_state = lock_process();
    bool known = process.writer || process.ended;
    if (process.writer) {
        writer_stats(process.writer, &full);
    } else {
        full = process.last.stats;
    }
    unlock_process(cancel_state);
    if (!known || stats->struct_size < sizeof(size_t)) {
        return known ? GPUFL_ERR_USAGE : GPUFL_ERR_NOT_FOUND;
    }
    size_t size = stats->struct_size < sizeof full ? stats->struct_size : sizeof full;
    size -= size % sizeof(uint64_t); /* whole counters */
    full.struct_size = stats->struct_size;
    memcpy(stats, &full, size);
    return GPUFL_OK;
}

/* errno is that of the first call that failed. */
static gpufl_status write_report(const char *report, const char *path)
{
    FILE *out = path && *path ? fopen(path, "we") : stdout;
    if (!out) {
        return GPUFL_ERR_IO;
    }
    bool written = fputs(report, out) >= 0;
    int reason = errno;
    bool closed = (out == stdout ? fflush(out) : fclose(out)) == 0;
    if (!written) {
        errno = reason;
    }
    return written && closed ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status gpufl_generate_report(const char *path)
{
    gpufl_status status = GPUFL_ERR_NOT_FOUND;
    int cancel_state = lock_process();
    if (process.ended && process.last.report) {
        status = write_report(process.last.report, path);
    }
    unlock_process(cancel_state);
    return status;
}

struct gpufl_scope gpufl_scope_begin(const char *name)
{
    return recorder_begin_scope(&process.recorder, name, 0, 0);
}

struct gpufl_scope gpufl_scope_begin_repeated(const char *name, uint32_t repeat,
                                              uint32_t warmup)
{
    return recorder_begin_scope(&process.recorder, name, repeat, warmup);
}

void gpufl_scope_end(struct gpufl_scope scope)
{
    recorder_end_scope(&process.recorder, scope);
}

void gpufl_system_start(const char *name)
{
    recorder_phase(&process.recorder, name, ROW_SYSTEM_START);
}

void gpufl_system_stop(const char *name)
{
    recorder_phase(&process.recorder, name, ROW_SYSTEM_STOP);
}
