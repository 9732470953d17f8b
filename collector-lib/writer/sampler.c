/* SPDX-License-Identifier: Apache-2.0 */
/* Samples at a fixed rate on the monotonic clock. Late samples are skipped. */
#include "collector-lib/writer/sampler.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/files/files_thread.h"

#define NS_PER_MS         1000000
#define SYSFS_SHOWN_BYTES 300

/* What is looked for below it would be missing without a word. */
static void sampler_check_sysfs(const char *sysfs)
{
    char inside[PATH_MAX + sizeof "/."];
    snprintf(inside, sizeof inside, "%s/.", sysfs);
    if (*sysfs && access(inside, X_OK) < 0) {
        library_log(GPUFL_LOG_WARNING,
                    "GPUFL_SYSFS: '%.*s%s': %s: no figures of AMD GPUs and of the "
                    "control group are recorded (expected where the host's /sys lies)",
                    MESSAGE_VALUE(sysfs, SYSFS_SHOWN_BYTES), message_reason(errno));
    }
}

static void wait_for_driver(struct sampler *s)
{
    gpu_thread_wait(s->gpu, clock_mono_ns() + (int64_t)GPU_PATIENCE_MS * NS_PER_MS);
}

void sampler_open(struct sampler *s, const struct settings *settings,
                  struct device_table *table)
{
    s->table = table;
    s->rate_ms = settings->sample_rate_ms;
    s->backend = settings->backend;
    sampler_check_sysfs(settings->sysfs);
    s->details = settings->device_details;
    memset(s->sample, 0xff, sizeof s->sample); /* GPU_NOT_AVAILABLE */
    s->gpu = gpu_thread_open(settings->backend,
                             &(struct gpu_wish){.simulated = settings->simulated_gpus,
                                                .details = settings->device_details,
                                                .sysfs = settings->sysfs});
    if (s->gpu) { /* most drivers are fast: the session's first line names the devices */
        wait_for_driver(s);
    }
}

void sampler_finish(struct sampler *s, int64_t by_ns)
{
    if (s->gpu && !gpu_thread_wait(s->gpu, by_ns)) {
        s->missing++;
    }
}

static void close_host(void *arg)
{
    host_close(arg);
}

bool sampler_close(struct sampler *s, int64_t by_ns)
{
    bool ended = !s->gpu || gpu_thread_close(s->gpu, by_ns);
    s->gpu = NULL;
    s->devices = NULL;
    files_thread_do(close_host, &s->host);
    return ended;
}

static unsigned device_count(const struct sampler *s)
{
    return s->devices ? s->devices->count : 0;
}

static void say_late(struct sampler *s)
{
    if (!s->late_said) {
        s->late_said = true;
        library_log(GPUFL_LOG_WARNING,
                    "the GPU driver has not answered for %d ms: recording goes on, "
                    "without figures of devices until it answers",
                    GPU_LATE_MS);
    }
}

static bool number_is_taken(const struct sampler *s, unsigned before, unsigned id)
{
    for (unsigned i = 0; i < before; i++) {
        if (s->id[i] == id) {
            return true;
        }
    }
    return false;
}

/* Some drivers give all devices the same UUID. */
static void number_devices(struct sampler *s)
{
    for (unsigned i = 0; i < s->devices->count; i++) {
        const char *uuid = s->devices->info[i].uuid;
        unsigned id = device_table_id(s->table, uuid);
        s->id[i] = number_is_taken(s, i, id) ? device_table_add(s->table, uuid) : id;
    }
}

static void sampler_check_backend(const struct sampler *s)
{
    bool named = s->backend == GPUFL_BACKEND_NVIDIA || s->backend == GPUFL_BACKEND_AMD;
    if (named && s->devices->count == 0) {
        library_log(GPUFL_LOG_WARNING,
                    "backend: %s: no GPU of this vendor answers: no figures of devices "
                    "are recorded (Auto takes those of any)",
                    s->backend == GPUFL_BACKEND_AMD ? "Amd" : "Nvidia");
    }
}

bool sampler_find_devices(struct sampler *s)
{
    if (!s->gpu || s->devices) {
        return false;
    }
    s->devices = gpu_thread_devices(s->gpu, clock_mono_ns());
    if (!s->devices) {
        return false;
    }
    number_devices(s);
    sampler_check_backend(s);
    if (s->devices->count == 0) {
        wait_for_driver(s); /* its thread ends */
    }
    return s->devices->count > 0;
}

/* \return false if there are no new figures; `sample` keeps the last ones. */
static bool read_devices(struct sampler *s, int64_t now_ns, int64_t *at_ns)
{
    if (!s->gpu) {
        return false;
    }
    if (s->devices && s->devices->count == 0) {
        return false;
    }
    enum gpu_answer answer = gpu_thread_sample(s->gpu, now_ns, s->sample, at_ns);
    if (answer == GPU_LATE) {
        s->missing++;
        say_late(s);
    }
    return answer == GPU_ANSWERED;
}

struct host_reading {
    struct host *host;
    int64_t mono_ns;
    struct host_sample sample;
};

static void read_host_files(void *arg)
{
    struct host_reading *r = arg;
    r->sample = host_read(r->host, r->mono_ns);
}

static struct host_sample read_host(struct sampler *s, int64_t mono_ns)
{
    struct host_reading r = {.host = &s->host, .mono_ns = mono_ns};
    files_thread_do(read_host_files, &r);
    return r.sample;
}

struct record_state sampler_state(struct sampler *s)
{
    int64_t at_ns;
    int64_t now_ns = clock_mono_ns();
    read_devices(s, now_ns, &at_ns);
    return (struct record_state){
        .host = &s->host,
        .host_sample = read_host(s, clock_mono_ns()),
        .gpus = device_count(s),
        .id = s->id,
        .info = s->devices ? s->devices->info : NULL,
        .sample = s->sample,
    };
}

static void add_device_rows(struct sampler *s, int64_t at_ns, struct summary *summary)
{
    for (unsigned i = 0; i < device_count(s); i++) {
        int parent = s->devices->info[i].parent;
        s->device_row[s->device_rows++] =
            (struct metric_row){.mono_ns = at_ns,
                                .device = s->id[i],
                                .parent = parent < 0 ? parent : (int)s->id[parent],
                                .gpu = s->sample[i]};
        summary_gpu(summary, i, &s->sample[i]);
    }
}

static void take_sample(struct sampler *s, int64_t now_ns, struct summary *summary)
{
    int64_t at_ns;
    if (s->device_rows + GPU_MAX > SAMPLER_ROWS || s->host_rows == SAMPLER_ROWS) {
        return; /* does not happen: rows are written after each sample */
    }
    if (read_devices(s, now_ns, &at_ns)) {
        add_device_rows(s, at_ns, summary);
    }
    struct host_sample host = read_host(s, now_ns);
    s->host_row[s->host_rows++] = (struct metric_row){.mono_ns = now_ns, .host = host};
    summary_host(summary, &host);
}

void sampler_step(struct sampler *s, bool active, int64_t now_ns, struct summary *summary)
{
    active = active && s->rate_ms > 0;
    if (active && !s->active) {
        s->next_ns = now_ns;
    }
    s->active = active;
    if (!active || now_ns < s->next_ns) {
        return;
    }
    take_sample(s, now_ns, summary);
    int64_t period = (int64_t)s->rate_ms * NS_PER_MS;
    s->next_ns += period;
    if (s->next_ns <=
        now_ns) { /* late: skip samples instead of taking them back to back */
        s->next_ns = now_ns + period;
    }
}

void sampler_write(struct sampler *s, const struct record_context *context,
                   struct text *out)
{
    if (s->device_rows) {
        record_device_metrics(out, context, s->device_row, s->device_rows,
                              ++s->device_batches, s->details);
    }
    if (s->host_rows) {
        record_host_metrics(out, context, &s->host, s->host_row, s->host_rows,
                            ++s->host_batches);
    }
    s->device_rows = s->host_rows = 0;
}
