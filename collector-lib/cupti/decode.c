/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/cupti/decode.h"

#include "collector-lib/cupti/api.h"

static int64_t at(const struct decode *d, uint64_t timestamp)
{
    return (int64_t)timestamp + d->clock_offset_ns;
}

static void give_device(const struct tracer_sink *sink, const CUpti_ActivityDevice5 *r)
{
    sink->device(sink->arg,
                 &(struct trace_device){
                     .id = r->id,
                     .threads_per_warp = r->numThreadsPerWarp,
                     .warps_per_sm = r->maxWarpsPerMultiprocessor,
                     .blocks_per_sm = r->maxBlocksPerMultiprocessor,
                     .registers_per_sm = r->maxRegistersPerMultiprocessor,
                     .registers_per_block = r->maxRegistersPerBlock,
                     .shared_per_sm_bytes = r->maxSharedMemoryPerMultiprocessor,
                     .compute_major = r->computeCapabilityMajor,
                     .compute_minor = r->computeCapabilityMinor,
                 });
}

static void give_kernel(struct decode *d, const struct tracer_sink *sink,
                        const cupti_kernel *k)
{
    d->ended++;
    if (k->end == 0 || k->start == 0) {
        d->incomplete++;
        return;
    }
    const struct decode_external *e = &d->external[k->correlationId % DECODE_EXTERNALS];
    bool known = e->kind && e->correlation == k->correlationId;
    sink->kernel(sink->arg, &(struct trace_kernel){
                                .start_ns = at(d, k->start),
                                .end_ns = at(d, k->end),
                                .symbol = k->name ? k->name : "(unknown)",
                                .correlation = k->correlationId,
                                .device = k->deviceId,
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
                                .external_kind = known ? e->kind : 0,
                                .external_id = known ? e->id : 0,
                            });
}

static void give_copy(struct decode *d, const struct tracer_sink *sink,
                      const cupti_memcpy *c)
{
    sink->copy(sink->arg, &(struct trace_copy){.start_ns = at(d, c->start),
                                               .end_ns = at(d, c->end),
                                               .bytes = c->bytes,
                                               .correlation = c->correlationId,
                                               .device = c->deviceId,
                                               .stream = c->streamId,
                                               .kind = c->copyKind});
}

static void give_set(struct decode *d, const struct tracer_sink *sink,
                     const CUpti_ActivityMemset4 *m)
{
    sink->set(sink->arg, &(struct trace_set){.start_ns = at(d, m->start),
                                             .end_ns = at(d, m->end),
                                             .bytes = m->bytes,
                                             .correlation = m->correlationId,
                                             .device = m->deviceId,
                                             .stream = m->streamId});
}

static void give_wait(struct decode *d, const struct tracer_sink *sink,
                      const cupti_synchronization *s)
{
    sink->wait(sink->arg, &(struct trace_wait){.start_ns = at(d, s->start),
                                               .end_ns = at(d, s->end),
                                               .type = (uint32_t)s->type,
                                               .correlation = s->correlationId,
                                               .context = s->contextId,
                                               .stream = s->streamId,
                                               .event = s->cudaEventId});
}

static void give_memory(struct decode *d, const struct tracer_sink *sink,
                        const CUpti_ActivityMemory4 *m)
{
    sink->memory(sink->arg,
                 &(struct trace_memory){.at_ns = at(d, m->timestamp),
                                        .operation = (uint8_t)m->memoryOperationType,
                                        .kind = (uint8_t)m->memoryKind,
                                        .address = m->address,
                                        .bytes = m->bytes,
                                        .correlation = m->correlationId,
                                        .device = m->deviceId,
                                        .stream = m->streamId});
}

static void give_graph(struct decode *d, const struct tracer_sink *sink,
                       const CUpti_ActivityGraphTrace2 *g)
{
    sink->graph(sink->arg, &(struct trace_graph){.start_ns = at(d, g->start),
                                                 .end_ns = at(d, g->end),
                                                 .correlation = g->correlationId,
                                                 .device = g->deviceId,
                                                 .stream = g->streamId,
                                                 .graph = g->graphId});
}

static void give(struct decode *d, const struct tracer_sink *sink,
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
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        give_wait(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        give_memory(d, sink, r);
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        give_graph(d, sink, r);
        break;
    default:
        break; /* seen ahead, or an API call that carried an id */
    }
}

/* What kernels refer to may lie in a buffer behind theirs: devices, and the ids that were
 * pushed on the thread that launched. */
static void note_external(struct decode *d, const CUpti_ActivityExternalCorrelation *e)
{
    d->external[e->correlationId % DECODE_EXTERNALS] =
        (struct decode_external){.correlation = e->correlationId,
                                 .kind = (uint32_t)e->externalKind,
                                 .id = e->externalId};
}

static void look_ahead(struct decode *d, const struct buffer *b,
                       const struct tracer_sink *sink)
{
    CUpti_Activity *record = NULL;
    while (cupti.ActivityGetNextRecord(b->bytes, b->valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
            note_external(d, (const void *)record);
        } else if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE) {
            give_device(sink, (const void *)record);
            d->devices_told = true;
        }
    }
}

static void walk(struct decode *d, const struct buffer *b, const struct tracer_sink *sink)
{
    CUpti_Activity *record = NULL;
    CUptiResult result;
    while ((result = cupti.ActivityGetNextRecord(b->bytes, b->valid, &record)) ==
           CUPTI_SUCCESS) {
        give(d, sink, record);
    }
    d->unknown += result != CUPTI_ERROR_MAX_LIMIT_REACHED;
}

void decode_buffers(struct decode *d, const struct buffer *first,
                    const struct tracer_sink *sink)
{
    bool ahead = d->external_correlation || !d->devices_told;
    for (const struct buffer *b = first; b && ahead; b = b->next) {
        look_ahead(d, b, sink);
    }
    for (const struct buffer *b = first; b; b = b->next) {
        walk(d, b, sink);
    }
}
