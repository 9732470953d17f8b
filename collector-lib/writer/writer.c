/* SPDX-License-Identifier: Apache-2.0 */
/* A session has one thread that writes. It wakes every WRITER_BEAT_MS, so that what was
 * recorded more than 100 ms ago is in a file and survives a kill -9 of the job. When much
 * is recorded it wakes every WRITER_BUSY_BEAT_MS, so that the rings do not overflow:
 * recording a scope never wakes the thread. */
#include "collector-lib/writer/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/fork_guard.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/stacks.h"
#include "collector-lib/core/thread.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/job/job_threads.h"
#include "collector-lib/writer/file_names.h"
#include "collector-lib/writer/writer_files.h"
#include "collector-lib/writer/writer_lines.h"
#include "collector-lib/writer/writer_state.h"

#define NS_PER_MS    1000000
#define JOB_EVERY_NS 1000000000ll
#define ROUND_NS     200000
#define OPEN_NS      100000000

static uint64_t flush_asked(struct writer *w)
{
    return atomic_load_explicit(&w->flush->asked, memory_order_acquire);
}

static uint64_t flush_done(struct writer *w)
{
    return atomic_load_explicit(&w->flush->done, memory_order_relaxed);
}

/* Sleeps to the next beat or sample. Returns false when the session is to end. */
static bool sleep_to_next(struct writer *w)
{
    int64_t until = clock_mono_ns() + (int64_t)w->beat_ms * NS_PER_MS;
    if (w->sampler.active && w->sampler.next_ns < until) {
        until = w->sampler.next_ns;
    }
    if (w->tracing.profiler.tracer && w->tracing.next_ns < until) {
        until = w->tracing.next_ns;
    }
    struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (!w->stopping && flush_asked(w) == flush_done(w) && rc == 0) {
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &at);
    }
    bool go_on = !w->stopping;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static void tell_flushed(struct writer *w, uint64_t asked)
{
    atomic_store_explicit(&w->flush->done, asked, memory_order_release);
}

/* Not by a condition: a thread that waits for one may be interrupted by a signal whose
 * handler calls exit(), and whoever tells it then waits for that thread.
 * \return false if it is not reached by then. */
static bool wait_reached(_Atomic uint64_t *at, uint64_t wanted, int64_t by_ns)
{
    const struct timespec round = {.tv_nsec = ROUND_NS};
    /* Pairs with the release of who sets it: what was recorded is in the files. */
    while (atomic_load_explicit(at, memory_order_acquire) < wanted) {
        if (clock_mono_ns() >= by_ns) {
            return false;
        }
        nanosleep(&round, NULL);
    }
    return true;
}

/* Main may have left without a word, by a call of the kernel. \return true if this thread
 * has to end the process, as there is no memory for another one that does. */
static bool job_is_over(struct writer *w)
{
    int64_t now_ns = clock_mono_ns();
    if (now_ns - w->job_checked_ns < JOB_EVERY_NS) {
        return false;
    }
    w->job_checked_ns = now_ns;
    return job_threads_are_gone() && !job_threads_watch();
}

/* No handler that calls exit() comes while this thread has it: the writer would wait for
 * it, and exit() for the writer. \p mask: what was blocked before. */
static void lock_writer(struct writer *w, sigset_t *mask)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, mask);
    pthread_mutex_lock(&w->lock);
}

static void unlock_writer(struct writer *w, const sigset_t *mask)
{
    pthread_mutex_unlock(&w->lock);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static void ask_to_stop(struct writer *w)
{
    sigset_t mask;
    lock_writer(w, &mask);
    if (!w->stopping) {
        w->stopping = true;
        w->stop_by_ns = clock_mono_ns() + (int64_t)w->settings.shutdown_ms * NS_PER_MS;
    }
    pthread_cond_signal(&w->wake);
    unlock_writer(w, &mask);
}

/* By no thread that gpufl_init() waits for: the program's function may take a lock of who
 * calls that, or call us. */
static void say_without_lock(const struct session_dir *dir)
{
    if (!dir->lock.held) {
        library_log(
            GPUFL_LOG_WARNING,
            "session %s is recorded without a lock, which its file system "
            "refused: %s; whether its writer lives can be told on this host only (use "
            "a local directory, or mount with locks)",
            dir->id, message_reason(dir->lock.refused));
    }
}

static void *write_until_stopped(void *arg)
{
    struct writer *w = arg;
    bool over;
    w->summary.begin_ns = w->job_checked_ns = clock_mono_ns();
    writer_files_open(w);
    job_threads_are_gone(); /* what it looks at stays open from now on */
    atomic_store_explicit(&w->opened, 1, memory_order_release);
    writer_lines_open(w);
    say_without_lock(w->dir);
    do {
        uint64_t asked = flush_asked(w); /* before the drain that serves it */
        bool flushed = asked != flush_done(w);
        writer_files_begin_beat(w, flushed);
        writer_lines_fetch(w, flushed, false);
        writer_lines_drain(w, flushed);
        writer_lines_sample(w);
        tell_flushed(w, asked);
        over = job_is_over(w);
    } while (!over && sleep_to_next(w));
    if (over) {
        ask_to_stop(w);
    }
    writer_lines_close(w);
    tell_flushed(w, flush_asked(w));
    writer_files_leave(w->dir, session_dir_close); /* a close may hang, too */
    atomic_store_explicit(&w->ended, 1, memory_order_release);
    if (over) {
        job_threads_exit();
    }
    return NULL;
}

static void writer_free(struct writer *w)
{
    tracing_close(&w->tracing);
    if (!sampler_close(&w->sampler, w->stop_by_ns)) {
        library_log(GPUFL_LOG_ERROR,
                    "session %s has ended without the GPU driver, which has not "
                    "returned for %" PRIu64 " ms: its thread is left behind%s",
                    w->dir->id, w->settings.shutdown_ms,
                    fork_guard_loads()
                        ? ", and exit() waits some seconds for its library "
                          "to be loaded"
                        : "");
        job_threads_watch();
    }
    text_fini(&w->text);
    text_fini(&w->mark_state);
    text_fini(&w->opening);
    text_fini(&w->names_text);
    file_names_fini(w);
    name_set_fini(&w->used_names);
    name_set_fini(&w->row_names);
    ring_rows_fini(&w->rows);
    open_scopes_fini(&w->open);
    summary_fini(&w->summary);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
    files_thread_end();
}

gpufl_status writer_start(const struct settings *settings,
                          const struct profiler *profiler, struct session_dir *dir,
                          const struct writer_input *input, struct writer **out)
{
    *out = NULL;
    struct writer *w = calloc(1, sizeof *w);
    if (!w) {
        struct profiler stopped = *profiler;
        writer_files_leave(dir, session_dir_discard);
        files_thread_end();
        profiler_stop(&stopped);
        return GPUFL_ERR_NOMEM;
    }
    w->settings = *settings;
    w->dir = dir;
    w->rings = input->rings;
    w->names = input->names;
    w->flush = input->flush;
    w->generation = input->generation;
    rings_losses(input->rings, &w->lost_before);
    w->lost_before.count[LOSS_SCOPE_NAMES] =
        atomic_load_explicit(&w->names->overflowed, memory_order_relaxed);
    w->lost_before.count[LOSS_STACKS] = stacks_overflowed();
    w->beat_ms = WRITER_BUSY_BEAT_MS; /* a job may begin with a burst */
    w->spool = (struct spool){.max_bytes = settings->max_spool_bytes,
                              .min_free_bytes = settings->min_free_bytes,
                              .dir = &w->dir->own};
    w->context = (struct record_context){
        .session_id = w->dir->id,
        .app = w->settings.app_name,
        .log_path = w->settings.log_path,
        .pod = &w->settings.pod,
        .pid = (int)getpid(),
        .anchor_ns = clock_anchor_ns(),
    };
    w->tracing.log.details_per_launch = settings->details_per_launch;
    tracing_open(&w->tracing, profiler, &w->context, &w->summary.kernel, &w->devices,
                 settings->source_collection ? &w->settings.source_roots : NULL);
    w->lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    thread_condition_init(&w->wake);
    int rc = thread_start(&w->thread, THREAD_WRITER, write_until_stopped, w);
    if (rc != 0) {
        writer_files_leave(dir, session_dir_discard); /* nobody would end it */
        writer_free(w);
        errno = rc;
        return GPUFL_ERR_IO;
    }
    *out = w; /* which a signal's handler that calls exit() ends meanwhile */
    wait_reached(&w->opened, 1, clock_mono_ns() + OPEN_NS);
    return GPUFL_OK;
}

static char *render_report(struct writer *w, const struct gpufl_stats *stats)
{
    struct text text = {0};
    const struct summary_context context = {
        .app = w->settings.app_name,
        .session_id = w->dir->id,
        .names = w->names,
        .kernels = w->tracing.log.names.kernels,
        .id = w->sampler.id,
        .info = w->sampler.devices ? w->sampler.devices->info : NULL,
        .scopes = stats->scopes_recorded,
        .losses = writer_lines_losses(w),
        .lost_bytes = stats->bytes_lost,
        .traced = &w->tracing.status};
    summary_render(&w->summary, &context, &text);
    text_append(&text, "", 1);
    if (text.failed) {
        text_fini(&text);
    }
    return text.data;
}

bool writer_end(struct writer *w)
{
    ask_to_stop(w);
    bool ended = wait_reached(&w->ended, 1,
                              w->stop_by_ns + (int64_t)WRITER_LAST_WRITES_MS * NS_PER_MS);
    if (!ended) {
        library_log(GPUFL_LOG_ERROR,
                    "session %s has no end: the disk or the GPU's library has not "
                    "returned for %" PRIu64
                    " ms (if they are only slow, raise GPUFL_SHUTDOWN_TIMEOUT_MS)",
                    w->dir->id, w->settings.shutdown_ms + WRITER_LAST_WRITES_MS);
    }
    return ended;
}

bool writer_has_ended(struct writer *w)
{
    return wait_reached(&w->ended, 1, clock_mono_ns());
}

void writer_abandon_tracer(struct writer *w)
{
    atomic_store_explicit(&w->tracer_gone, true, memory_order_relaxed);
}

void writer_stop(struct writer *w, struct writer_result *result)
{
    if (!w) {
        return;
    }
    ask_to_stop(w);
    pthread_join(w->thread, NULL);
    writer_stats(w, &result->stats);
    result->report = render_report(w, &result->stats);
    writer_free(w);
}

struct writer_ticket writer_ask_flush(struct writer *w)
{
    struct writer_ticket ticket = {.patience_ms = w->settings.shutdown_ms};
    sigset_t mask;
    snprintf(ticket.session_id, sizeof ticket.session_id, "%s", w->dir->id);
    ticket.number =
        1 + atomic_fetch_add_explicit(&w->flush->asked, 1, memory_order_release);
    lock_writer(w, &mask); /* so that it is awake, or looks before it sleeps */
    pthread_cond_signal(&w->wake);
    unlock_writer(w, &mask);
    return ticket;
}

void writer_flush_wait(struct writer_flush *flush, const struct writer_ticket *ticket)
{
    int64_t by_ns = clock_mono_ns() + (int64_t)ticket->patience_ms * NS_PER_MS;
    if (!wait_reached(&flush->done, ticket->number, by_ns)) {
        library_log(GPUFL_LOG_ERROR,
                    "a flush of session %s has not ended: the disk or the GPU's library "
                    "has not returned for %" PRIu64
                    " ms (if they are only slow, raise GPUFL_SHUTDOWN_TIMEOUT_MS)",
                    ticket->session_id, ticket->patience_ms);
    }
}

/* They are not told at the same moment. */
static uint64_t writer_left(_Atomic uint64_t *all, _Atomic uint64_t *gone)
{
    uint64_t without = atomic_load_explicit(gone, memory_order_relaxed);
    uint64_t with = atomic_load_explicit(all, memory_order_relaxed);
    return with > without ? with - without : 0;
}

void writer_stats(struct writer *w, struct gpufl_stats *stats)
{
    *stats = (struct gpufl_stats)GPUFL_STATS_INIT;
    stats->scopes_recorded = writer_left(&w->pairs, &w->pairs_gone);
    const struct losses losses = writer_lines_losses(w);
    stats->scopes_dropped = losses.count[LOSS_SCOPES];
    stats->calls_dropped = losses.count[LOSS_CALLS];
    stats->waits_dropped = losses.count[LOSS_WAITS];
    stats->phases_dropped = losses.count[LOSS_PHASES];
    stats->scope_ends_dropped = losses.count[LOSS_SCOPE_ENDS];
    stats->scopes_not_ended = losses.count[LOSS_NOT_ENDED];
    stats->kernel_names_overflowed = losses.count[LOSS_KERNEL_NAMES];
    stats->without_memory = losses.count[LOSS_NO_MEMORY];
    stats->samples = writer_left(&w->samples, &w->samples_gone);
    stats->bytes_written = writer_left(&w->bytes_written, &w->bytes_gone);
    stats->bytes_lost = atomic_load_explicit(&w->bytes_lost, memory_order_relaxed) +
                        atomic_load_explicit(&w->bytes_gone, memory_order_relaxed);
    stats->names_overflowed =
        atomic_load_explicit(&w->names->overflowed, memory_order_relaxed);
}

void writer_stats_copy(const struct gpufl_stats *full, struct gpufl_stats *out)
{
    size_t told = out->struct_size;
    size_t size = told < sizeof *full ? told : sizeof *full;
    memcpy(out, full, size - size % sizeof(uint64_t));
    out->struct_size = told;
}

const char *writer_session_id(const struct writer *w)
{
    return w->dir->id;
}
