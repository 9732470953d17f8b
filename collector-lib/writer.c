/* SPDX-License-Identifier: Apache-2.0 */
/* One thread a session. It wakes every BEAT_MS, so that what was recorded more than 100
 * ms ago is in a file and survives the job's own kill -9. */
#include "collector-lib/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/clock.h"
#include "collector-lib/records.h"

#define BEAT_MS     40
#define NS_PER_MS   1000000
#define METRIC_ROWS 256u

struct writer {
    struct settings settings;
    struct session_dir dir;
    struct rings *rings;
    struct names *names;
    uint16_t generation;

    pthread_t thread;
    pthread_mutex_t lock; /* guards stopping */
    pthread_cond_t wake;
    bool stopping;

    /* From here on: the thread's own. */
    struct record_context context;
    struct host host;
    struct gpu gpu;
    struct gpu_info *info;
    struct gpu_sample *sample;
    struct row_list rows;
    struct text text;
    struct metric_row metric[METRIC_ROWS];
    size_t device_rows; /* rows waiting in metric[], then host rows behind them */
    struct metric_row host_row[METRIC_ROWS];
    size_t host_rows;
    uint32_t names_written;
    uint64_t scope_batches, device_batches, host_batches;
    uint64_t dropped_before;
    int64_t open_regions; /* scopes and phases that keep the sampler on */
    int64_t next_sample_ns;
    bool sampling;
    bool failure_said;
};

static void put(struct writer *w, enum channel channel)
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
}

static void put_everywhere(struct writer *w)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        put(w, (enum channel)c);
    }
}

static void read_devices(struct writer *w)
{
    for (unsigned i = 0; i < w->gpu.count; i++) {
        w->gpu.source->sample(w->gpu.handle, i, &w->sample[i]);
    }
}

static struct record_state state_now(struct writer *w)
{
    read_devices(w);
    return (struct record_state){
        .host = &w->host,
        .host_sample = host_read(&w->host),
        .gpus = w->gpu.count,
        .info = w->info,
        .sample = w->sample,
    };
}

static void flush_metrics(struct writer *w)
{
    text_clear(&w->text);
    if (w->device_rows) {
        record_device_metrics(&w->text, &w->context, w->metric, w->device_rows,
                              ++w->device_batches);
    }
    if (w->host_rows) {
        record_host_metrics(&w->text, &w->context, &w->host, w->host_row, w->host_rows,
                            ++w->host_batches);
    }
    put(w, CHANNEL_SYSTEM);
    w->device_rows = w->host_rows = 0;
}

static void take_sample(struct writer *w, int64_t now_ns)
{
    if (w->device_rows + w->gpu.count > METRIC_ROWS || w->host_rows == METRIC_ROWS) {
        flush_metrics(w);
    }
    read_devices(w);
    for (unsigned i = 0; i < w->gpu.count; i++) {
        w->metric[w->device_rows++] =
            (struct metric_row){.mono_ns = now_ns, .device = i, .gpu = w->sample[i]};
    }
    w->host_row[w->host_rows++] =
        (struct metric_row){.mono_ns = now_ns, .host = host_read(&w->host)};
}

static void write_mark(struct writer *w, bool start, const char *name, int64_t mono_ns)
{
    flush_metrics(w); /* so that samples and marks stand in order */
    struct record_state state = state_now(w);
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
    if (known > w->names_written) {
        text_clear(&w->text);
        record_dictionary(&w->text, &w->context, w->names, w->names_written, known);
        put_everywhere(w);
        w->names_written = known;
    }
}

static void drain(struct writer *w)
{
    bool more;
    do {
        more = rings_drain(w->rings, w->generation, &w->rows);
        if (w->rows.count == 0) {
            break;
        }
        write_names(w);
        for (size_t i = 0; i < w->rows.count; i++) {
            follow_row(w, &w->rows.row[i]);
        }
        text_clear(&w->text);
        record_scopes(&w->text, &w->context, &w->rows, &w->scope_batches);
        put(w, CHANNEL_SCOPE);
    } while (more);
}

/* Turns the sampler on and off by policy, and takes the sample that is due. */
static void sample_if_due(struct writer *w, int64_t now_ns)
{
    if (w->settings.sample_rate_ms == 0) {
        return;
    }
    bool active = w->settings.continuous || w->open_regions > 0;
    if (active && !w->sampling) {
        w->next_sample_ns = now_ns;
    }
    w->sampling = active;
    if (!active || now_ns < w->next_sample_ns) {
        return;
    }
    take_sample(w, now_ns);
    int64_t period = (int64_t)w->settings.sample_rate_ms * NS_PER_MS;
    w->next_sample_ns += period;
    if (w->next_sample_ns <= now_ns) { /* behind: skip, never run back to back */
        w->next_sample_ns = now_ns + period;
    }
}

static void open_session(struct writer *w)
{
    host_open(&w->host);
    w->gpu = gpu_open(w->settings.backend, w->settings.simulated_gpus);
    w->info = calloc(w->gpu.count + 1, sizeof *w->info);
    w->sample = calloc(w->gpu.count + 1, sizeof *w->sample);
    if (!w->info || !w->sample) {
        gpu_close(&w->gpu);
    }
    for (unsigned i = 0; i < w->gpu.count; i++) {
        w->gpu.source->info(w->gpu.handle, i, &w->info[i]);
    }
    if (w->settings.debug) {
        fprintf(stderr, "[GPUFL] session %s in %s, %u GPUs by %s\n", w->dir.id,
                w->settings.log_path, w->gpu.count,
                w->gpu.source ? w->gpu.source->name : "none");
    }
    struct record_state state = state_now(w);
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
    if (w->settings.continuous && w->settings.sample_rate_ms) {
        write_mark(w, false, "sampling_end", clock_mono_ns());
    }
    uint64_t dropped = rings_dropped(w->rings) - w->dropped_before;
    text_clear(&w->text);
    if (dropped) {
        record_ring_full(&w->text, &w->context, dropped, clock_mono_ns());
    }
    record_shutdown(&w->text, &w->context, clock_mono_ns());
    put_everywhere(w);
}

/* Sleeps to the next beat or sample. Returns false when the session is to end. */
static bool sleep_to_next(struct writer *w)
{
    int64_t until = clock_mono_ns() + (int64_t)BEAT_MS * NS_PER_MS;
    if (w->sampling && w->next_sample_ns < until) {
        until = w->next_sample_ns;
    }
    struct timespec at = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    pthread_mutex_lock(&w->lock);
    int rc = 0;
    while (!w->stopping && rc == 0) {
        rc = pthread_cond_timedwait(&w->wake, &w->lock, &at);
    }
    bool go_on = !w->stopping;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

static void *run(void *arg)
{
    struct writer *w = arg;
    open_session(w);
    do {
        drain(w);
        sample_if_due(w, clock_mono_ns());
        if (w->host_rows) {
            flush_metrics(w);
        }
    } while (sleep_to_next(w));
    close_session(w);
    return NULL;
}

static void writer_free(struct writer *w)
{
    gpu_close(&w->gpu);
    session_dir_close(&w->dir);
    text_fini(&w->text);
    free(w->rows.row);
    free(w->info);
    free(w->sample);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* The thread must not take the job's signals: it starts with all of them blocked. */
static int start_thread(struct writer *w)
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
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
    w->context = (struct record_context){
        .session_id = w->dir.id,
        .app = w->settings.app_name,
        .log_path = w->settings.log_path,
        .pid = (int)getpid(),
        .anchor_ns = clock_anchor_ns(),
    };
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, &attr);
    pthread_condattr_destroy(&attr);
    int rc = start_thread(w);
    if (rc != 0) {
        writer_free(w);
        errno = rc;
        return GPUFL_ERR_IO;
    }
    *out = w;
    return GPUFL_OK;
}

void writer_stop(struct writer *w)
{
    if (!w) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    writer_free(w);
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
