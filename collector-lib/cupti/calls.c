/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/cupti/calls.h"

#include <stdatomic.h>
#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/cupti/activity.h"

#define IDS_MAX    4096u /* CUPTI 13 has 807 of the driver */
#define PER_THREAD 0x80u /* the default stream is the thread's own */

/* To ask for a pushed id takes 135 ns a kind (H200, CUPTI 13.0.1): after so many launches
 * without one a thread asks at one launch in ASK_EVERY. */
#define ASK_ALWAYS 1024u
#define ASK_EVERY  16u

enum call {
    NONE,
    LAUNCH,
    GRAPH,
    COPY,
    SET,
    MEMORY,
    WAIT_EVENT,
    WAIT_STREAM_FOR_EVENT,
    WAIT_STREAM,
    WAIT_CONTEXT
};

/* Of the driver alone: what the runtime does comes through it, under the correlation id
 * of the runtime's call, which the device's record has, too. By name, as every version
 * has its own numbers and variants (_v2, _ptsz). */
static const struct {
    const char *begins;
    enum call call;
} known[] = {
    {"cuLaunchKernel", LAUNCH},
    {"cuLaunchCooperativeKernel", LAUNCH},
    {"cuGraphLaunch", GRAPH},
    {"cuMemcpy", COPY},
    {"cuMemset", SET},
    {"cuMemAlloc", MEMORY},
    {"cuMemHostAlloc", MEMORY},
    {"cuMemFree", MEMORY},
    {"cuEventSynchronize", WAIT_EVENT},
    {"cuStreamWaitEvent", WAIT_STREAM_FOR_EVENT},
    {"cuStreamSynchronize", WAIT_STREAM},
    {"cuCtxSynchronize", WAIT_CONTEXT},
};

static struct {
    const struct tracer_config *config;
    int64_t since_ns;
    _Atomic bool heard;
    unsigned launches;            /* callbacks that are on */
    unsigned char known[IDS_MAX]; /* enum call by id, and PER_THREAD */
    /* Correlation id above, duration below: one word, so that the thread that calls and
     * the one that reads need no lock. */
    _Atomic uint64_t timed[CALLS_TIMED];
} calls;

static unsigned char call_named(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0) {
            unsigned flag = strstr(name, "_ptsz") ? PER_THREAD : 0;
            return (unsigned char)(known[i].call | flag);
        }
    }
    return NONE;
}

static enum call call_of(CUpti_CallbackId id)
{
    return id < IDS_MAX ? (enum call)(calls.known[id] & ~PER_THREAD) : NONE;
}

static bool wanted(enum call call)
{
    return call == MEMORY       ? calls.config->memory
           : call >= WAIT_EVENT ? calls.config->synchronization
                                : call != NONE;
}

void calls_enable(const struct tracer_config *config, CUpti_SubscriberHandle subscriber)
{
    const CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_DRIVER_API;
    const char *name;
    calls.config = config;
    calls.since_ns = clock_mono_ns();
    calls.launches = 0;
    atomic_store_explicit(&calls.heard, false, memory_order_relaxed);
    for (CUpti_CallbackId id = 1; id < IDS_MAX; id++) {
        if (cupti.GetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) {
            return; /* the ids have no holes */
        }
        calls.known[id] = call_named(name);
        if (wanted(call_of(id)) &&
            cupti.EnableCallback(1, subscriber, domain, id) == CUPTI_SUCCESS) {
            calls.launches += call_of(id) == LAUNCH;
        }
    }
}

bool calls_told(void)
{
    return calls.launches > 0;
}

bool calls_heard(void)
{
    return atomic_load_explicit(&calls.heard, memory_order_relaxed);
}

/* ---- ids that a framework pushed ---- */

/* The id on top of this thread's stack: there is no way to look at it but to take it off
 * and to put it back. */
static bool top_id(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    return cupti.ActivityPopExternalCorrelationId(kind, id) == CUPTI_SUCCESS &&
           cupti.ActivityPushExternalCorrelationId(kind, *id) == CUPTI_SUCCESS;
}

static void ask_for_id(struct trace_call *call)
{
    static const CUpti_ExternalCorrelationKind kinds[] = {
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, /* PyTorch, then what JAX takes */
        CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1,
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC};
    static _Thread_local unsigned without; /* launches since the last id */
    if (!calls.config->external_correlation || !cupti.ActivityPopExternalCorrelationId ||
        !cupti.ActivityPushExternalCorrelationId ||
        (++without > ASK_ALWAYS && without % ASK_EVERY != 0)) {
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (top_id(kinds[i], &call->external_id)) {
            call->external_kind = (uint8_t)kinds[i];
            without = 0;
            return;
        }
    }
}

/* ---- waits ---- */

static uint32_t stream_id(CUcontext context, CUstream stream, bool per_thread)
{
    uint32_t id;
    if (stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY) {
        per_thread = stream == CU_STREAM_PER_THREAD;
        stream = NULL;
    }
    return cupti.GetStreamIdEx &&
                   cupti.GetStreamIdEx(context, stream, per_thread, &id) == CUPTI_SUCCESS
               ? id
               : UINT32_MAX;
}

/* CUPTI's own number of an event is not to be had here: its handle's low bits tell events
 * apart just as well. */
static uint32_t event_id(CUevent event)
{
    return (uint32_t)((uintptr_t)event >> 4);
}

static void describe_wait(struct trace_wait *wait, enum call call, bool per_thread,
                          const CUpti_CallbackData *data)
{
    const cuStreamWaitEvent_params *both = data->functionParams;
    const cuStreamSynchronize_params *stream = data->functionParams;
    const cuEventSynchronize_params *event = data->functionParams;
    wait->stream = wait->event = UINT32_MAX;
    if (call == WAIT_EVENT) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
        wait->event = event_id(event->hEvent);
    } else if (call == WAIT_STREAM_FOR_EVENT) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
        wait->stream = stream_id(data->context, both->hStream, per_thread);
        wait->event = event_id(both->hEvent);
    } else if (call == WAIT_STREAM) {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
        wait->stream = stream_id(data->context, stream->hStream, per_thread);
    } else {
        wait->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    }
}

static void waited(CUpti_CallbackId id, const CUpti_CallbackData *data, int64_t begin_ns)
{
    struct trace_wait wait = {.start_ns = begin_ns,
                              .end_ns = clock_mono_ns(),
                              .with_stack = calls.config->stacks,
                              .correlation = data->correlationId,
                              .context = data->contextUid};
    describe_wait(&wait, call_of(id), calls.known[id] & PER_THREAD, data);
    calls.config->listener->waited(&wait);
}

/* ---- all ---- */

static void called(enum call call, const CUpti_CallbackData *data)
{
    struct trace_call told = {.correlation = data->correlationId};
    if (call == LAUNCH || call == GRAPH) {
        told.with_stack = calls.config->stacks;
        ask_for_id(&told);
    }
    calls.config->listener->called(&told);
}

static void launched(const CUpti_CallbackData *data)
{
    if (data->functionReturnValue &&
        *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS) {
        activity_expect();
    }
}

static void time_allocation(const CUpti_CallbackData *data, int64_t begin_ns)
{
    uint64_t ns = (uint64_t)(clock_mono_ns() - begin_ns);
    uint64_t word =
        (uint64_t)data->correlationId << 32 | (ns < UINT32_MAX ? ns : UINT32_MAX);
    atomic_store_explicit(&calls.timed[data->correlationId % CALLS_TIMED], word,
                          memory_order_relaxed);
}

/* CUPTI keeps one word for us from the begin of a call to its end. A call that began
 * before we listened has none of ours in it. */
static void timed(enum call call, CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    if (!data->correlationData) {
        return;
    }
    int64_t begin_ns = (int64_t)*data->correlationData;
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = (uint64_t)clock_mono_ns();
    } else if (begin_ns < calls.since_ns) {
        return;
    } else if (call == MEMORY) {
        time_allocation(data, begin_ns);
    } else {
        waited(id, data, begin_ns);
    }
}

void calls_on(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    enum call call = call_of(id);
    if (!calls_heard()) { /* written once: threads share the line */
        atomic_store_explicit(&calls.heard, true, memory_order_relaxed);
    }
    if (call >= MEMORY) {
        timed(call, id, data);
    } else if (call != NONE && data->callbackSite == CUPTI_API_ENTER) {
        called(call, data);
    } else if (call == LAUNCH) {
        launched(data);
    }
}

uint32_t calls_duration_ns(uint32_t correlation)
{
    uint64_t word = atomic_load_explicit(&calls.timed[correlation % CALLS_TIMED],
                                         memory_order_relaxed);
    return word >> 32 == correlation ? (uint32_t)word : 0;
}
