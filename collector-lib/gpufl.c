/* SPDX-License-Identifier: Apache-2.0 */
/* The public API: one collector a process, with one session at a time. */
#include "collector-lib/gpufl.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/call_lock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/session_dir.h"
#include "collector-lib/core/settings.h"
#include "collector-lib/exit_hooks.h"
#include "collector-lib/job/job_threads.h"
#include "collector-lib/keep_loaded.h"
#include "collector-lib/recorder.h"
#include "collector-lib/session_messages.h"
#include "collector-lib/session_open.h"
#include "collector-lib/trace/profiler.h"
#include "collector-lib/writer/summary.h"
#include "collector-lib/writer/writer.h"

#define FIRST_CONSTRUCTOR 101 /* those below are reserved */
#define LEFT_BEHIND_MAX   32  /* of ten forks, one in the child of the other */

/* The collector of this process: call_lock guards all up to `last`. */
static struct {
    struct session_dir dir; /* also of a session that is being opened or closed */
    struct session_opening *opening; /* under way; or given up, and it hangs */
    struct writer *writer;
    struct writer *ending; /* was told to end, is not freed yet, and may hang */
    const void
        *left_behind[LEFT_BEHIND_MAX]; /* after forks or at exit: see leave_behind */
    unsigned left_behind_count;
    uint16_t last_generation;
    bool forks_hooked, hooked;
    bool traces;   /* the session records by the GPU vendor's library, too */
    bool injected; /* it is one of gpufl trace */
    bool ended;    /* a session has ended, and `last` is its result */
    struct writer_result last;
    _Atomic bool switched_off;
    _Atomic bool stop_asked; /* by a signal handler, of what it interrupted */
    struct writer_flush flush;
    struct recorder recorder;
} process = {.recorder = RECORDER_INIT};

/* For leak checkers. */
static void leave_behind(const void *memory)
{
    if (memory) {
        process.left_behind[process.left_behind_count++ % LEFT_BEHIND_MAX] = memory;
    }
}

/* A forked child has the parent's memory but not its writer thread, so it records
 * nothing until it calls gpufl_init. Locks may have been held by other threads at the
 * fork, so they are initialised again. */
static void reset_in_child(void)
{
    atomic_store_explicit(&process.recorder.generation, 0, memory_order_relaxed);
    leave_behind(session_open_after_fork(&process.opening, &process.dir));
    leave_behind(process.writer ? process.writer : process.ending);
    process.writer = process.ending = NULL;
    call_lock_after_fork();
    fork_guard_in_child();
    atomic_store_explicit(&process.stop_asked, false, memory_order_relaxed);
    library_log_after_fork();
    stacks_after_fork();
    leave_behind(recorder_after_fork(&process.recorder));
    job_threads_after_fork();
}

bool gpufl_is_disabled(void)
{
    return settings_disabled_by_env() ||
           atomic_load_explicit(&process.switched_off, memory_order_relaxed);
}

static void take_result(void)
{
    free(process.last.report);
    writer_stop(process.ending, &process.last);
    process.ending = NULL;
    process.ended = true;
    call_lock_keep_for(0);
    job_threads_end();
}

/* A writer that hangs keeps all that it uses. */
static void stop_locked(void)
{
    atomic_store_explicit(&process.recorder.generation, 0, memory_order_release);
    if (process.writer) {
        process.ending = process.writer;
        process.writer = NULL;
        if (writer_end(process.ending)) {
            take_result();
        } else {
            job_threads_watch(); /* what hangs would keep the process */
        }
    }
}

/* Whether the session before still has no end; if it has meanwhile, it is over. */
static bool hangs_locked(void)
{
    if (process.ending && writer_has_ended(process.ending)) {
        take_result();
    }
    return process.ending;
}

/* exit() waits no longer than this for what hangs. What an interrupted function uses is
 * not freed. */
static void stop_soon_locked(bool interrupted)
{
    if (!process.writer || call_lock_is_others()) {
        return;
    }
    if (interrupted) {
        writer_end(process.writer);
        leave_behind(process.writer);
        process.writer = NULL;
    }
    stop_locked();
}

/* The vendor's runtime has ended if the job has set it up after us: then the handler of
 * the first call has been called before. */
static void stop_at_exit_locked(bool before_runtime, bool interrupted)
{
    if (process.traces && !before_runtime) {
        if (exit_hooks_heard()) {
            return;
        }
        if (process.writer) {
            writer_abandon_tracer(process.writer);
        }
    }
    stop_soon_locked(interrupted);
}

static bool hook_forks(void)
{
    if (!process.forks_hooked) {
        session_dir_init(&process.dir);
        process.forks_hooked =
            pthread_atfork(fork_guard_before, fork_guard_in_parent, reset_in_child) == 0;
    }
    return process.forks_hooked;
}

/* As soon as the library is there, before the program has handlers of its own: of those
 * that are registered later, the one before fork() is called earlier, and the others
 * later. They call us, while no lock is held, and in a child that has been reset. */
__attribute__((constructor(FIRST_CONSTRUCTOR))) static void prepare_at_load(void)
{
    keep_loaded();
    hook_forks();
}

/* Each of the three fails for want of memory, or of a key for the thread's ring. */
static gpufl_status hook_once(void)
{
    if (!process.hooked) {
        job_threads_prepare(gpufl_shutdown);
        process.hooked = recorder_prepare(&process.recorder) && hook_forks() &&
                         exit_hooks_prepare(stop_at_exit_locked);
    }
    return process.hooked ? GPUFL_OK : GPUFL_ERR_NOMEM;
}

static void on_call(const struct trace_call *call)
{
    exit_hooks_at_first_call();
    recorder_call(&process.recorder, call);
}

static void on_wait(const struct trace_wait *wait)
{
    exit_hooks_at_first_call();
    recorder_wait(&process.recorder, wait);
}

static const struct tracer_listener listener = {.called = on_call, .waited = on_wait};

static gpufl_status start_writer(const struct settings *settings)
{
    struct profiler profiler;
    process.last_generation = recorder_generation_after(process.last_generation);
    profiler_start(&profiler, settings, &listener);
    process.traces = profiler.runs != GPUFL_ENGINE_MONITOR;
    if (process.traces) {
        exit_hooks_renew();
    }
    call_lock_keep_for(getpid());
    const struct writer_input input = {.rings = &process.recorder.rings,
                                       .names = &process.recorder.names,
                                       .flush = &process.flush,
                                       .generation = process.last_generation};
    call_lock_patience(settings->shutdown_ms + WRITER_LAST_WRITES_MS);
    job_threads_begin(); /* while no thread of ours waits for the loader's lock */
    gpufl_status status =
        writer_start(settings, &profiler, &process.dir, &input, &process.writer);
    if (status == GPUFL_OK) {
        atomic_store(&process.recorder.generation, process.last_generation);
    } else {
        call_lock_keep_for(0);
        job_threads_end();
    }
    return status;
}

static gpufl_status start_locked(const struct gpufl_init_options *given,
                                 struct settings *settings, char why[256])
{
    if (hangs_locked()) {
        return session_says_refused(writer_session_id(process.ending));
    }
    gpufl_status status = hook_once();
    if (status == GPUFL_OK) {
        status = session_open(&process.dir, given, settings, &process.opening, why);
    }
    bool opened = status == GPUFL_OK;
    status = opened ? start_writer(settings) : status;
    if ((status == GPUFL_ERR_IO || status == GPUFL_ERR_NOMEM) && !process.opening) {
        session_says_failed(settings, status, opened);
    }
    return status;
}

static void leave(const struct call_hold *hold)
{
    if (atomic_exchange_explicit(&process.stop_asked, false, memory_order_relaxed)) {
        stop_locked();
    }
    call_lock_leave(hold);
}

static gpufl_status begin_locked(const struct gpufl_init_options *options)
{
    struct gpufl_init_options given;
    struct settings *settings = settings_new();
    char why[256] = "out of memory";
    library_log_note_stderr();
    gpufl_status status =
        settings ? settings_begin(options, &given, settings, why) : GPUFL_ERR_NOMEM;
    if (status == GPUFL_OK) {
        status = start_locked(&given, settings, why);
    }
    atomic_store(&process.switched_off, status == GPUFL_OFF);
    if (status == GPUFL_ERR_USAGE || !settings) {
        library_log(GPUFL_LOG_ERROR, "not recording: %s", why);
    }
    settings_free(settings);
    return status;
}

gpufl_status gpufl_init(const struct gpufl_init_options *options)
{
    struct call_hold hold;
    if (!call_lock_enter("gpufl_init", &hold)) {
        return session_says_no_turn(errno);
    }
    if (process.writer && process.injected) {
        session_says_instead_of(writer_session_id(process.writer));
    }
    stop_locked();
    process.injected = false;
    gpufl_status status = begin_locked(options);
    leave(&hold);
    return status;
}

/* Who has the lock, this thread or another, may wait for CUDA, which waits for us. */
gpufl_status gpufl_init_injected(const struct gpufl_init_options *options)
{
    gpufl_status status = GPUFL_BUSY;
    struct call_hold hold;
    if (!call_lock_try(&hold)) {
        session_says_records_itself("");
        return status;
    }
    if (process.writer) {
        session_says_records_itself(writer_session_id(process.writer));
    } else {
        status = begin_locked(options);
        process.injected = true;
    }
    leave(&hold);
    return status;
}

void gpufl_shutdown(void)
{
    struct call_hold hold;
    if (call_lock_enter("gpufl_shutdown", &hold)) {
        stop_locked();
        hangs_locked();
        leave(&hold);
    } else if (errno == EDEADLK) {
        atomic_store_explicit(&process.stop_asked, true, memory_order_relaxed);
    }
}

gpufl_status gpufl_session_id(char out[40])
{
    struct call_hold hold;
    if (!out) {
        return GPUFL_ERR_USAGE;
    }
    out[0] = '\0';
    if (call_lock_enter("gpufl_session_id", &hold)) {
        snprintf(out, 40, "%s", process.writer ? writer_session_id(process.writer) : "");
        leave(&hold);
    }
    return out[0] ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

/* Waits without the lock, which others need meanwhile. */
void gpufl_flush(void)
{
    struct call_hold hold;
    struct writer_ticket ticket = {0};
    if (call_lock_enter("gpufl_flush", &hold)) {
        if (process.writer) {
            ticket = writer_ask_flush(process.writer);
        }
        leave(&(struct call_hold){PTHREAD_CANCEL_DISABLE, hold.floats});
        writer_flush_wait(&process.flush, &ticket);
        pthread_setcancelstate(hold.cancel_state, NULL);
    }
    pthread_testcancel(); /* it waits, so it is a point of cancellation */
}

gpufl_status gpufl_get_stats(struct gpufl_stats *stats)
{
    struct gpufl_stats full;
    struct call_hold hold;
    bool fits = stats && stats->struct_size >= sizeof(size_t);
    if (!fits || !call_lock_enter("gpufl_get_stats", &hold)) {
        return fits ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_USAGE;
    }
    struct writer *w = process.writer ? process.writer : process.ending;
    bool known = w || process.ended;
    full = process.last.stats;
    if (w) {
        writer_stats(w, &full);
    }
    leave(&hold);
    if (!known) {
        return GPUFL_ERR_NOT_FOUND;
    }
    writer_stats_copy(&full, stats);
    return GPUFL_OK;
}

gpufl_status gpufl_generate_report(const char *path)
{
    gpufl_status status = GPUFL_ERR_NOT_FOUND;
    struct call_hold hold;
    if (call_lock_enter("gpufl_generate_report", &hold)) {
        status = process.last.report ? summary_write(process.last.report, path) : status;
        leave(&hold);
    }
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
