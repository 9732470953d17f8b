/* SPDX-License-Identifier: Apache-2.0 */
/* An array behind a lock; sample_queue_deliver takes it as a whole. */
#include "collector-lib/cupti/sample_queue.h"

#include <stdlib.h>

#include "base/array.h"

#define QUEUE_MAX (1u << 20)

void sample_queue_reset(struct sample_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->count = 0;
    q->samples = q->dropped = 0;
    pthread_mutex_unlock(&q->lock);
}

void sample_queue_push(struct sample_queue *q, const struct trace_sample *sample)
{
    pthread_mutex_lock(&q->lock);
    struct trace_sample *row =
        q->count < QUEUE_MAX ? array_grown(q->row, q->count, &q->cap, sizeof *row) : NULL;
    if (row) {
        q->row = row;
        row[q->count++] = *sample;
        q->samples += sample->samples;
    } else {
        q->dropped += sample->samples;
    }
    pthread_mutex_unlock(&q->lock);
}

void sample_queue_drop(struct sample_queue *q, uint64_t samples)
{
    pthread_mutex_lock(&q->lock);
    q->dropped += samples;
    pthread_mutex_unlock(&q->lock);
}

void sample_queue_deliver(struct sample_queue *q, const struct tracer_sink *sink)
{
    pthread_mutex_lock(&q->lock);
    struct trace_sample *row = q->row;
    size_t count = q->count;
    q->row = NULL;
    q->count = q->cap = 0;
    pthread_mutex_unlock(&q->lock);
    for (size_t i = 0; i < count; i++) {
        sink->sample(sink->arg, &row[i]);
    }
    free(row);
}

void sample_queue_status(struct sample_queue *q, struct tracer_status *out)
{
    pthread_mutex_lock(&q->lock);
    out->samples = q->samples;
    out->samples_dropped = q->dropped;
    pthread_mutex_unlock(&q->lock);
}
