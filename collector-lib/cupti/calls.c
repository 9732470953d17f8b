/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the callbacks of CUPTI that are needed and handles them. */
#include "collector-lib/cupti/calls.h"

#include <stdatomic.h>
#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/cupti/external_ids.h"
#include "collector-lib/cupti/wait_details.h"

#define IDS_MAX    4096u /* CUPTI 13 has 807 of the driver */
#define PER_THREAD 0x80u /* the default stream is the thread's own */

enum call {
    NONE,
    LAUNCH,
    GRAPH,
    COPY,
    SET,
    MEMORY,
    WAIT_EVENT, /* from here on as enum wait_call */
    WAIT_STREAM_FOR_EVENT,
    WAIT_STREAM,
    WAIT_CONTEXT
};

/* Calls of the driver only: the runtime uses the driver, under the correlation id of
 * the runtime's call, which is also in the device's record. By name, since numbers and
 * variants (_v2, _ptsz) differ between versions. */
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

/* A callback of an earlier session may still run while the next one is set up. */
static struct {
    _Atomic(const struct tracer_listener *) listener;
    _Atomic bool stacks, external_ids;
    _Atomic int64_t since_ns;
    _Atomic bool heard;
    _Atomic unsigned launches;                 /* callbacks that are on */
    _Atomic CUptiResult refused;               /* what came first instead of one */
    _Atomic uint64_t accepted;                 /* launches */
    _Atomic unsigned char known[IDS_MAX];      /* enum call by id, and PER_THREAD */
    _Atomic uint32_t launched[CALLS_LAUNCHED]; /* ids of launches, by their low bits */
    /* Correlation id in the upper half, duration in the lower: one word, so that no
     * lock is needed. */
    _Atomic uint64_t timed[CALLS_TIMED];
} calls;

/* Whether a node of a graph was made since this thread began its last launch: that is
 * what becomes of a launch which is captured. */
static __thread bool node_made;

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

static unsigned char call_known(CUpti_CallbackId id)
{
    return id < IDS_MAX ? atomic_load_explicit(&calls.known[id], memory_order_relaxed)
                        : (unsigned char)NONE;
}

static enum call call_of(CUpti_CallbackId id)
{
    return (enum call)(call_known(id) & ~PER_THREAD);
}

static bool call_wanted(const struct tracer_config *config, enum call call)
{
    return call == MEMORY       ? config->memory
           : call >= WAIT_EVENT ? config->synchronization
                                : call != NONE;
}

static void calls_configure(const struct tracer_config *config)
{
    atomic_store_explicit(&calls.stacks, config->stacks, memory_order_relaxed);
    atomic_store_explicit(&calls.external_ids, config->external_correlation,
                          memory_order_relaxed);
    atomic_store_explicit(&calls.since_ns, clock_mono_ns(), memory_order_relaxed);
    atomic_store_explicit(&calls.launches, 0, memory_order_relaxed);
    atomic_store_explicit(&calls.refused, CUPTI_SUCCESS, memory_order_relaxed);
    atomic_store_explicit(&calls.accepted, 0, memory_order_relaxed);
    atomic_store_explicit(&calls.heard, false, memory_order_relaxed);
    atomic_store_explicit(&calls.listener, config->listener, memory_order_release);
}

static void calls_refused(CUptiResult result)
{
    if (atomic_load_explicit(&calls.refused, memory_order_relaxed) == CUPTI_SUCCESS) {
        atomic_store_explicit(&calls.refused, result, memory_order_relaxed);
    }
}

static void enable_call(CUpti_SubscriberHandle subscriber, CUpti_CallbackId id)
{
    CUptiResult result =
        cupti.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    if (result == CUPTI_SUCCESS) {
        atomic_fetch_add_explicit(&calls.launches, call_of(id) == LAUNCH,
                                  memory_order_relaxed);
    } else {
        calls_refused(result);
    }
}

void calls_enable(const struct tracer_config *config, CUpti_SubscriberHandle subscriber)
{
    const char *name;
    calls_configure(config);
    cupti.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                         CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
    for (CUpti_CallbackId id = 1; id < IDS_MAX; id++) {
        CUptiResult named = cupti.GetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name);
        if (named != CUPTI_SUCCESS || !name) {
            calls_refused(named);
            return; /* ids are consecutive */
        }
        atomic_store_explicit(&calls.known[id], call_named(name), memory_order_relaxed);
        if (call_wanted(config, call_of(id))) {
            enable_call(subscriber, id);
        }
    }
}

void calls_graph_node_made(void)
{
    node_made = true;
}

bool calls_told(void)
{
    return atomic_load_explicit(&calls.launches, memory_order_relaxed) > 0;
}

void calls_why_untold(char *why, size_t size)
{
    if (!calls_told()) {
        cupti_api_refused(why, size, "callbacks",
                          atomic_load_explicit(&calls.refused, memory_order_relaxed));
    }
}

bool calls_heard(void)
{
    return atomic_load_explicit(&calls.heard, memory_order_relaxed);
}

static const struct tracer_listener *calls_listener(void)
{
    return atomic_load_explicit(&calls.listener, memory_order_acquire);
}

static bool calls_flag(const _Atomic bool *flag)
{
    return atomic_load_explicit(flag, memory_order_relaxed);
}

static void tell_wait(CUpti_CallbackId id, const CUpti_CallbackData *data,
                      int64_t begin_ns)
{
    struct trace_wait wait = {.start_ns = begin_ns,
                              .end_ns = clock_mono_ns(),
                              .with_stack = calls_flag(&calls.stacks),
                              .correlation = data->correlationId,
                              .context = data->contextUid};
    wait_details_fill(&wait, (enum wait_call)(call_of(id) - WAIT_EVENT),
                      call_known(id) & PER_THREAD, data);
    calls_listener()->waited(&wait);
}

static void tell_call(enum call call, const CUpti_CallbackData *data)
{
    struct trace_call told = {.correlation = data->correlationId};
    if (call == LAUNCH) { /* before its record can come */
        node_made = false;
        atomic_store_explicit(&calls.launched[told.correlation % CALLS_LAUNCHED],
                              told.correlation, memory_order_relaxed);
    }
    if (call == LAUNCH || call == GRAPH) {
        told.with_stack = calls_flag(&calls.stacks);
        if (calls_flag(&calls.external_ids)) {
            external_ids_ask(&told);
        }
    }
    calls_listener()->called(&told);
}

static void count_launch(const CUpti_CallbackData *data)
{
    if (!node_made && data->functionReturnValue &&
        *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS) {
        atomic_fetch_add_explicit(&calls.accepted, 1, memory_order_relaxed);
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

/* CUPTI keeps one word for us from the begin of a call to its end. If the call began
 * before calls_enable, the word is not ours. */
static void time_call(enum call call, CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    if (!data->correlationData) {
        return;
    }
    int64_t begin_ns = (int64_t)*data->correlationData;
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = (uint64_t)clock_mono_ns();
    } else if (begin_ns < atomic_load_explicit(&calls.since_ns, memory_order_relaxed)) {
        return;
    } else if (call == MEMORY) {
        time_allocation(data, begin_ns);
    } else {
        tell_wait(id, data, begin_ns);
    }
}

void calls_on(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    enum call call = call_of(id);
    if (!calls_heard()) { /* written once, since threads share the cache line */
        atomic_store_explicit(&calls.heard, true, memory_order_relaxed);
    }
    if (call >= MEMORY) {
        time_call(call, id, data);
    } else if (call != NONE && data->callbackSite == CUPTI_API_ENTER) {
        tell_call(call, data);
    } else if (call == LAUNCH) {
        count_launch(data);
    }
}

uint64_t calls_launched(void)
{
    return atomic_load_explicit(&calls.accepted, memory_order_relaxed);
}

bool calls_is_launch(uint32_t correlation)
{
    uint32_t last = atomic_load_explicit(&calls.launched[correlation % CALLS_LAUNCHED],
                                         memory_order_relaxed);
    return last - correlation < UINT32_MAX / 2; /* a later one may have its slot */
}

uint32_t calls_duration_ns(uint32_t correlation)
{
    uint64_t word = atomic_load_explicit(&calls.timed[correlation % CALLS_TIMED],
                                         memory_order_relaxed);
    return word >> 32 == correlation ? (uint32_t)word : 0;
}
