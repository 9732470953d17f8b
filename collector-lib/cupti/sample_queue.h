/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that were fetched and not yet delivered. Safe for several threads. */
#ifndef GPUFL_COLLECTOR_CUPTI_SAMPLE_QUEUE_H
#define GPUFL_COLLECTOR_CUPTI_SAMPLE_QUEUE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "collector-lib/trace/tracer.h"

/** Initialise with SAMPLE_QUEUE_INIT. */
struct sample_queue {
    pthread_mutex_t lock; /* guards what follows; taken last and briefly */
    struct trace_sample *row;
    size_t count, cap;
    uint64_t samples, dropped;
};

#define SAMPLE_QUEUE_INIT                                                                \
    {                                                                                    \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                \
    }

/** Empties the queue and its counters. */
void sample_queue_reset(struct sample_queue *queue);

/** Adds \p sample. Beyond a bound, or without memory, its samples count as dropped. */
void sample_queue_push(struct sample_queue *queue, const struct trace_sample *sample);

/** Counts samples that were lost before they could be queued. */
void sample_queue_drop(struct sample_queue *queue, uint64_t samples);

/** Passes all queued samples to \p sink and empties the queue. */
void sample_queue_deliver(struct sample_queue *queue, const struct tracer_sink *sink);

/** Fills in the samples and those dropped since sample_queue_reset. */
void sample_queue_status(struct sample_queue *queue, struct tracer_status *out);

#endif
