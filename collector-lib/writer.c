/* SPDX-License-Identifier: Apache-2.0 */
/* One thread a session. It wakes every BEAT_MS, so that what was recorded more than 100
 * ms ago is in a file and survives the job's own kill -9; every BUSY_BEAT_MS when much is
 * recorded, so that the rings, which nothing on the scope's path wakes us for, have room.
 */
#include "collector-lib/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/clock.h"
#include "collector-lib/records.h"
#include "collector-lib/sampler.h"
#include "collector-lib/spool.h"
#include "collector-lib/summary.h"
#include "collector-lib/thread.h"

#define BEAT_MS      40
#define BUSY_BEAT_MS 5
#define BUSY_ROWS    (RING_ROWS / 8) /* in one beat, of all threads */
#define NS_PER_MS    1000000

struct writer {
    struct settings settings;
    struct session_dir dir;
    struct rings *rings;
    struct names *names;
    uint16_t generation;

    pthread_t thread;
    pthread_mutex_t lock; /* guards stopping, flush_asked, flush_done */
    pthread_cond_t wake;
    pthread_cond_t flushed;
    bool stopping;
    uint64_t flush_asked;
    uint64_t flush_done;
    /* Read by writer_stats from other threads. */
    _Atomic uint64_t pairs;
    _Atomic uint64_t samples;
    _Atomic uint64_t bytes_written;
    _Atomic uint64_t bytes_lost;

    /* From here on: the thread's own. */
    struct record_context context;
    struct sampler sampler;
    struct row_list rows;
    struct text text;
    uint32_t names_written;
    uint64_t scope_batches;
    uint64_t dropped_before;
    int beat_ms;
    struct summary summary;
    struct spool spool;
    int64_t open_regions; /* scopes and phases that keep the sampler on */
    bool failure_said;
};

static int64_t wall_ns(const struct writer *w)
{
    return clock_mono_ns() + w->context.anchor_ns;
}

/* Also while recording is paused: the few lines that open and close a session. */
static void put_always(struct writer *w, enum channel channel)
{
    if (w->text.failed) {
        return; /* out of memory: the lines are lost, the session goes on */
    }
    if (session_dir_append(&w->dir, channel, w->text.data, w->text.len) != GPUFL_OK &&
        !w->failure_said) {
        w->failure_said = true;
        fprintf(stderr,
                "[GPUFL] cannot write %s/%s/%s.log: %s; lines are being lost, free some "
                "space or check the directory\n",
                w->settings.log_path, w->dir.id, channel_name(channel), strerror(errno));
    }
    spool_wrote(&w->spool, w->text.len);
    atomic_store_explicit(&w->bytes_lost, w->dir.lost_bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->bytes_written, w->text.len, memory_order_relaxed);
}

static void put(struct writer *w, enum channel channel)
{
    if (!w->spool.paused) {
        put_always(w, channel);
    } else if (w->text.len && !w->text.failed) {
        spool_lost(&w->spool, w->text.data, w->text.len, wall_ns(w));
        w->dir.lost_bytes += w->text.len;
        atomic_store_explicit(&w->bytes_lost, w->dir.lost_bytes, memory_order_relaxed);
    }
}

static void put_everywhere(struct writer *w)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        put_always(w, (enum channel)c);
    }
}

static void flush_metrics(struct writer *w)
{
    text_clear(&w->text);
    sampler_write(&w->sampler, &w->context, &w->text);
    put(w, CHANNEL_SYSTEM);
}

static void write_mark(struct writer *w, bool start, const char *name, int64_t mono_ns)
{
    flush_metrics(w); /* so that samples and marks stand in order */
    struct record_state state = sampler_state(&w->sampler);
    text_clear(&w->text);
    record_system_mark(&w->text, &w->context, &state, start, name, mono_ns);
    put(w, CHANNEL_SYSTEM);
}

static void follow_row(struct writer *w, const struct row *row)
{
    bool opens = row->kind == ROW_SCOPE_BEGIN || row->kind == ROW_SYSTEM_START;
    if (opens) {
        w->open_regions++;
    } else if (w->open_regions > 0) {
        w->open_regions--;
    }
    if (row->kind == ROW_SYSTEM_START || row->kind == ROW_SYSTEM_STOP) {
        write_mark(w, row->kind == ROW_SYSTEM_START, w->names->name[row->name_id],
                   row->mono_ns);
    }
}

/* A name stands in a channel's dictionary before the first row that uses it. */
static void write_names(struct writer *w)
{
    uint32_t known = atomic_load_explicit(&w->names->count, memory_order_acquire);
    if (known > w->names_written && !w->spool.paused) {
        text_clear(&w->text);
        record_dictionary(&w->text, &w->context, w->names, w->names_written, known);
        put_everywhere(w);
        w->names_written = known;
    }
}

static void drain(struct writer *w)
{
    size_t drained = 0;
    bool more;
    do {
        more = rings_drain(w->rings, w->generation, &w->rows);
        if (w->rows.count == 0) {
            break;
        }
        write_names(w);
        for (size_t i = 0; i < w->rows.count; i++) {
            follow_row(w, &w->rows.row[i]);
            summary_row(&w->summary, &w->rows.row[i]);
        }
        atomic_store_explicit(&w->pairs, w->summary.pairs, memory_order_relaxed);
        text_clear(&w->text);
        record_scopes(&w->text, &w->context, &w->rows, &w->scope_batches);
        put(w, CHANNEL_SCOPE);
        drained += w->rows.count;
    } while (more);
    if (drained >= BUSY_ROWS) {
        w->beat_ms = BUSY_BEAT_MS;
    } else if (w->beat_ms < BEAT_MS) {
        w->beat_ms *= 2; /* not at once: a sleep cut short by a sample has few rows too */
    }
}

static void sample_if_due(struct writer *w)
{
    bool active = w->settings.continuous || w->open_regions > 0;
    sampler_step(&w->sampler, active, clock_mono_ns(), &w->summary);
    atomic_store_explicit(&w->samples, w->summary.samples, memory_order_relaxed);
    if (w->sampler.host_rows) {
        flush_metrics(w);
    }
}

static void open_session(struct writer *w)
{
    sampler_open(&w->sampler, &w->settings);
    if (w->settings.debug) {
        fprintf(stderr, "[GPUFL] session %s in %s, %u GPUs by %s\n", w->dir.id,
                w->settings.log_path, w->sampler.gpu.count,
                w->sampler.gpu.source ? w->sampler.gpu.source->name : "none");
    }
    struct record_state state = sampler_state(&w->sampler);
    text_clear(&w->text);
    record_job_start(&w->text, &w->context, &state, clock_mono_ns());
    put_everywhere(w);
    if (w->settings.continuous && w->settings.sample_rate_ms) {
        write_mark(w, true, "sampling_start", clock_mono_ns());
    }
}

static void close_session(struct writer *w)
{
    drain(w);
    flush_metrics(w);
    text_clear(&w->text);
    record_capabilities(&w->text, &w->context, &w->settings,
                        rings_dropped(w->rings) - w->dropped_before, clock_mono_ns());
    put_everywhere(w);
    if (w->settings.continuous && w->settings.sample_rate_ms) {
        write_mark(w, false, "sampling_end", clock_mono_ns());
    }
    text_clear(&w->text);
    record_shutdown(&w->text, &w->context, clock_mono_ns());
    put_everywhere(w);
    spool_write_marker(&w->spool);
    w->summary.end_ns = clock_mono_ns();
}

/* Sleeps to the next beat or sample. Returns false when the session is to end. */
static bool sleep_to_next(struct writer *w)
{
    int64_t until = clock_mono_ns() + (int64_t)w->beat_ms * NS_PER_MS;
    if (w->sampler.active && w->sampler.next_ns < until) {
        until = w->sampler.next_ns;
    }
    struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (!w->stopping && w->flush_asked == w->flush_done && rc == 0) {
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &at);
    }
    bool go_on = !w->stopping;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static uint64_t flush_asked(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    uint64_t asked = w->flush_asked;
    pthread_mutex_unlock(&w->lock);
    return asked;
}

static void tell_flushed(struct writer *w, uint64_t asked)
{
    pthread_mutex_lock(&w->lock);
    w->flush_done = asked;
    pthread_cond_broadcast(&w->flushed);
    pthread_mutex_unlock(&w->lock);
}

/* Age of files and share of the disk, before anything is written. */
static void keep_house(struct writer *w)
{
    session_dir_rotate_old(&w->dir, clock_mono_ns());
    if (spool_check(&w->spool, clock_mono_ns(), wall_ns(w))) {
        w->names_written = 0; /* readers may have lost names: all of them again */
    }
}

static void *run(void *arg)
{
    struct writer *w = arg;
    w->summary.begin_ns = clock_mono_ns();
    open_session(w);
    do {
        uint64_t asked = flush_asked(w); /* before the drain that serves it */
        keep_house(w);
        drain(w);
        sample_if_due(w);
        tell_flushed(w, asked);
    } while (sleep_to_next(w));
    close_session(w);
    tell_flushed(w, UINT64_MAX);
    return NULL;
}

static void writer_free(struct writer *w)
{
    sampler_close(&w->sampler);
    session_dir_close(&w->dir);
    text_fini(&w->text);
    free(w->rows.row);
    summary_fini(&w->summary);
    pthread_cond_destroy(&w->flushed);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

gpufl_status writer_start(const struct settings *settings, const struct session_dir *dir,
                          struct rings *rings, struct names *names, uint16_t generation,
                          struct writer **out)
{
    *out = NULL;
    struct writer *w = calloc(1, sizeof *w);
    if (!w) {
        struct session_dir copy = *dir;
        session_dir_close(&copy);
        return GPUFL_ERR_NOMEM;
    }
    w->settings = *settings;
    w->dir = *dir;
    w->rings = rings;
    w->names = names;
    w->generation = generation;
    w->dropped_before = rings_dropped(rings);
    w->beat_ms = BUSY_BEAT_MS; /* a job may begin with a burst */
    w->spool = (struct spool){.max_bytes = settings->max_spool_bytes,
                              .min_free_bytes = settings->min_free_bytes,
                              .dir_fd = w->dir.dir_fd};
    w->context = (struct record_context){
        .session_id = w->dir.id,
        .app = w->settings.app_name,
        .log_path = w->settings.log_path,
        .pod = &w->settings.pod,
        .pid = (int)getpid(),
        .anchor_ns = clock_anchor_ns(),
    };
    pthread_mutex_init(&w->lock, NULL);
    thread_condition_init(&w->wake);
    pthread_cond_init(&w->flushed, NULL);
    int rc = thread_start(&w->thread, "gpufl-writer", run, w);
    if (rc != 0) {
        writer_free(w);
        errno = rc;
        return GPUFL_ERR_IO;
    }
    *out = w;
    return GPUFL_OK;
}

static char *render_report(struct writer *w, const struct gpufl_stats *stats)
{
    struct text text = {0};
    summary_render(&w->summary, w->settings.app_name, w->dir.id, w->names,
                   w->sampler.info, stats->scopes_dropped, stats->bytes_lost, &text);
    text_append(&text, "", 1);
    if (text.failed) {
        text_fini(&text);
    }
    return text.data;
}

void writer_stop(struct writer *w, struct writer_result *result)
{
    if (!w) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    writer_stats(w, &result->stats);
    result->report = render_report(w, &result->stats);
    writer_free(w);
}

void writer_flush(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    uint64_t mine = ++w->flush_asked;
    pthread_cond_signal(&w->wake);
    while (w->flush_done < mine) {
        pthread_cond_wait(&w->flushed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

void writer_stats(struct writer *w, struct gpufl_stats *stats)
{
    *stats = (struct gpufl_stats)GPUFL_STATS_INIT;
    stats->scopes_recorded = atomic_load_explicit(&w->pairs, memory_order_relaxed);
    stats->scopes_dropped = rings_dropped(w->rings) - w->dropped_before;
    stats->samples = atomic_load_explicit(&w->samples, memory_order_relaxed);
    stats->bytes_written = atomic_load_explicit(&w->bytes_written, memory_order_relaxed);
    stats->bytes_lost = atomic_load_explicit(&w->bytes_lost, memory_order_relaxed);
    stats->names_overflowed =
        atomic_load_explicit(&w->names->overflowed, memory_order_relaxed);
}

const char *writer_session_id(const struct writer *w)
{
    return w->dir.id;
}

void writer_abandon(struct writer *w)
{
    /* Only close(2) is safe here: the parent's thread may have held any lock at the fork.
     * The memory stays behind. */
    if (w) {
        session_dir_close(&w->dir);
    }
}
