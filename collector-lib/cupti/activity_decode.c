/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CUPTI's records and hands each to the sink. */
#include "collector-lib/cupti/activity_decode.h"

#include <string.h>

#include "collector-lib/cupti/calls.h"
#include "collector-lib/cupti/cupti_api.h"

static void give_kernel(struct activity_decode *d, const struct tracer_sink *sink,
                        const cupti_kernel *k)
{
    d->ended += calls_is_launch(k->correlationId);
    if (k->end == 0 || k->start == 0) {
        d->incomplete++;
        return;
    }
    sink->kernel(sink->arg, &(struct trace_kernel){
                                .start_ns = record_clock_ns(&d->clock, k->start),
                                .end_ns = record_clock_ns(&d->clock, k->end),
                                .symbol = k->name ? k->name : "(unknown)",
                                .correlation = k->correlationId,
                                .device = k->deviceId,
                                .context = k->contextId,
                                .stream = k->streamId,
                                .grid = {k->gridX, k->gridY, k->gridZ},
                                .block = {k->blockX, k->blockY, k->blockZ},
                                .registers = k->registersPerThread,
                                .static_shared_bytes = (uint32_t)k->staticSharedMemory,
                                .dynamic_shared_bytes = (uint32_t)k->dynamicSharedMemory,
                                .local_thread_bytes = k->localMemoryPerThread,
                                .local_total_bytes = k->localMemoryTotal_v2,
                                .shared_executed_bytes = k->sharedMemoryExecuted,
                                .cache_requested = k->cacheConfig.config.requested,
                                .cache_executed = k->cacheConfig.config.executed,
                            });
}

static void give_copy(struct activity_decode *d, const struct tracer_sink *sink,
                      const cupti_memcpy *c)
{
    sink->copy(sink->arg,
               &(struct trace_copy){.start_ns = record_clock_ns(&d->clock, c->start),
                                    .end_ns = record_clock_ns(&d->clock, c->end),
                                    .bytes = c->bytes,
                                    .correlation = c->correlationId,
                                    .device = c->deviceId,
                                    .context = c->contextId,
                                    .stream = c->streamId,
                                    .kind = c->copyKind});
}

static void give_set(struct activity_decode *d, const struct tracer_sink *sink,
                     const CUpti_ActivityMemset4 *m)
{
    sink->set(sink->arg,
              &(struct trace_set){.start_ns = record_clock_ns(&d->clock, m->start),
                                  .end_ns = record_clock_ns(&d->clock, m->end),
                                  .bytes = m->bytes,
                                  .correlation = m->correlationId,
                                  .device = m->deviceId,
                                  .stream = m->streamId});
}

static void give_memory(struct activity_decode *d, const struct tracer_sink *sink,
                        const CUpti_ActivityMemory4 *m)
{
    sink->memory(sink->arg, &(struct trace_memory){
                                .at_ns = record_clock_ns(&d->clock, m->timestamp),
                                .duration_ns = calls_duration_ns(m->correlationId),
                                .operation = (uint8_t)m->memoryOperationType,
                                .kind = (uint8_t)m->memoryKind,
                                .address = m->address,
                                .bytes = m->bytes,
                                .correlation = m->correlationId,
                                .device = m->deviceId,
                                .stream = m->streamId});
}

static void give_graph(struct activity_decode *d, const struct tracer_sink *sink,
                       const CUpti_ActivityGraphTrace2 *g)
{
    sink->graph(sink->arg,
                &(struct trace_graph){.start_ns = record_clock_ns(&d->clock, g->start),
                                      .end_ns = record_clock_ns(&d->clock, g->end),
                                      .correlation = g->correlationId,
                                      .device = g->deviceId,
                                      .stream = g->streamId,
                                      .graph = g->graphId});
}

static void give_record(struct activity_decode *d, const struct tracer_sink *sink,
                        const CUpti_Activity *record)
{
    const void *r = record;
    d->records++;
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        give_kernel(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        give_copy(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        give_set(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        give_memory(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        give_graph(d, sink, r);
        break;
    default:
        break;
    }
}

static void decode_buffer(struct activity_decode *d, const struct buffer *b,
                          const struct tracer_sink *sink)
{
    CUpti_Activity *record = NULL;
    CUptiResult result;
    while ((result = cupti.ActivityGetNextRecord(b->bytes, b->valid, &record)) ==
           CUPTI_SUCCESS) {
        give_record(d, sink, record);
    }
    d->buffers_unread += result != CUPTI_ERROR_MAX_LIMIT_REACHED;
}

void activity_decode_buffers(struct activity_decode *d, const struct buffer *first,
                             const struct tracer_sink *sink)
{
    for (const struct buffer *b = first; b; b = b->next) {
        decode_buffer(d, b, sink);
    }
}
