/* SPDX-License-Identifier: Apache-2.0 */
/* Samples at a fixed rate on the monotonic clock. Late samples are skipped. */
#include "collector-lib/writer/sampler.h"

#include <stdlib.h>

#include "collector-lib/core/clock.h"

#define NS_PER_MS 1000000

void sampler_open(struct sampler *s, const struct settings *settings)
{
    s->rate_ms = settings->sample_rate_ms;
    host_open(&s->host);
    s->details = settings->device_details;
    s->gpu = gpu_open(settings->backend,
                      &(struct gpu_wish){.simulated = settings->simulated_gpus,
                                         .details = settings->device_details});
    s->info = calloc(s->gpu.count + 1, sizeof *s->info);
    s->sample = calloc(s->gpu.count + 1, sizeof *s->sample);
    if (!s->info || !s->sample) {
        gpu_close(&s->gpu);
    }
    for (unsigned i = 0; i < s->gpu.count; i++) {
        s->gpu.source->info(s->gpu.handle, i, &s->info[i]);
    }
}

void sampler_close(struct sampler *s)
{
    gpu_close(&s->gpu);
    host_close(&s->host);
    free(s->info);
    free(s->sample);
}

static void read_devices(struct sampler *s)
{
    for (unsigned i = 0; i < s->gpu.count; i++) {
        s->gpu.source->sample(s->gpu.handle, i, &s->sample[i]);
    }
}

struct record_state sampler_state(struct sampler *s)
{
    read_devices(s);
    return (struct record_state){
        .host = &s->host,
        .host_sample = host_read(&s->host, clock_mono_ns()),
        .gpus = s->gpu.count,
        .info = s->info,
        .sample = s->sample,
    };
}

static void take_sample(struct sampler *s, int64_t now_ns, struct summary *summary)
{
    if (s->device_rows + s->gpu.count > SAMPLER_ROWS || s->host_rows == SAMPLER_ROWS) {
        return; /* does not happen: rows are written after each sample */
    }
    read_devices(s);
    for (unsigned i = 0; i < s->gpu.count; i++) {
        s->device_row[s->device_rows++] = (struct metric_row){.mono_ns = now_ns,
                                                              .device = i,
                                                              .parent = s->info[i].parent,
                                                              .gpu = s->sample[i]};
        summary_gpu(summary, i, &s->sample[i]);
    }
    struct host_sample host = host_read(&s->host, now_ns);
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
