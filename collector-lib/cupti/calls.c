/* SPDX-License-Identifier: Apache-2.0 */
#include "collector-lib/cupti/calls.h"

#include <stdatomic.h>
#include <string.h>

#include "collector-lib/clock.h"
#include "collector-lib/cupti/activity.h"

#define IDS_MAX 4096 /* CUPTI 13 has 807 of the driver and 523 of the runtime */

enum call { NONE, LAUNCH, GRAPH, COPY, SET, WAIT, MEMORY };

/* By name, as every version has its own numbers and variants (_v2, _ptsz). Launches are
 * taken from the driver alone: the runtime's come through it, with their own correlation
 * id. Of the others that is not known, so both are asked; who hears of one id twice takes
 * it once. */
static const struct {
    const char *begins;
    enum call call;
} known[] = {
    {"cuLaunchKernel", LAUNCH},
    {"cuLaunchCooperativeKernel", LAUNCH},
    {"cuGraphLaunch", GRAPH},
    {"cuMemcpy", COPY},
    {"cudaMemcpy", COPY},
    {"cuMemset", SET},
    {"cudaMemset", SET},
    {"cuCtxSynchronize", WAIT},
    {"cuStreamSynchronize", WAIT},
    {"cuEventSynchronize", WAIT},
    {"cuStreamWaitEvent", WAIT},
    {"cudaDeviceSynchronize", WAIT},
    {"cudaThreadSynchronize", WAIT},
    {"cudaStreamSynchronize", WAIT},
    {"cudaEventSynchronize", WAIT},
    {"cudaStreamWaitEvent", WAIT},
    {"cuMemAlloc", MEMORY},
    {"cuMemHostAlloc", MEMORY},
    {"cuMemFree", MEMORY},
    {"cudaMalloc", MEMORY},
    {"cudaHostAlloc", MEMORY},
    {"cudaFree", MEMORY},
};

static struct {
    const struct tracer_config *config;
    unsigned launches;                               /* callbacks that are on */
    unsigned char driver[IDS_MAX], runtime[IDS_MAX]; /* enum call, by id */
    /* Correlation id above, duration below: one word, so that the thread that calls and
     * the one that reads need no lock. */
    _Atomic uint64_t timed[CALLS_TIMED];
} calls;

static enum call call_named(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(name, known[i].begins, strlen(known[i].begins)) == 0) {
            return known[i].call;
        }
    }
    return NONE;
}

static bool wanted(enum call call)
{
    return call == MEMORY ? calls.config->memory
           : call == WAIT ? calls.config->stacks
                          : call != NONE;
}

static void enable_domain(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                          unsigned char *call)
{
    const char *name;
    for (CUpti_CallbackId id = 1; id < IDS_MAX; id++) {
        if (cupti.GetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name) {
            return; /* the ids have no holes */
        }
        call[id] = (unsigned char)call_named(name);
        if (wanted((enum call)call[id]) &&
            cupti.EnableCallback(1, subscriber, domain, id) == CUPTI_SUCCESS) {
            calls.launches += call[id] == LAUNCH;
        }
    }
}

void calls_enable(const struct tracer_config *config, CUpti_SubscriberHandle subscriber)
{
    calls.config = config;
    calls.launches = 0;
    enable_domain(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, calls.driver);
    enable_domain(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, calls.runtime);
}

/* CUPTI keeps one word for us from the begin of a call to its end. */
static void time_call(const CUpti_CallbackData *data)
{
    if (!data->correlationData) {
        return;
    }
    if (data->callbackSite == CUPTI_API_ENTER) {
        *data->correlationData = (uint64_t)clock_mono_ns();
        return;
    }
    uint64_t ns = (uint64_t)clock_mono_ns() - *data->correlationData;
    uint64_t word =
        (uint64_t)data->correlationId << 32 | (ns < UINT32_MAX ? ns : UINT32_MAX);
    atomic_store_explicit(&calls.timed[data->correlationId % CALLS_TIMED], word,
                          memory_order_relaxed);
}

bool calls_told(void)
{
    return calls.launches > 0;
}

static void launched(const CUpti_CallbackData *data)
{
    if (data->callbackSite == CUPTI_API_EXIT && data->functionReturnValue &&
        *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS) {
        activity_expect();
    }
}

void calls_on(CUpti_CallbackDomain domain, CUpti_CallbackId id,
              const CUpti_CallbackData *data)
{
    const unsigned char *of =
        domain == CUPTI_CB_DOMAIN_DRIVER_API ? calls.driver : calls.runtime;
    enum call call = id < IDS_MAX ? (enum call)of[id] : NONE;
    bool deep = call == LAUNCH || call == GRAPH || call == WAIT;
    if (call == MEMORY) {
        time_call(data);
        return;
    }
    if (call != NONE && data->callbackSite == CUPTI_API_ENTER) {
        calls.config->called(data->correlationId, deep && calls.config->stacks);
    }
    if (call == LAUNCH) {
        launched(data);
    }
}

uint32_t calls_duration_ns(uint32_t correlation)
{
    uint64_t word = atomic_load_explicit(&calls.timed[correlation % CALLS_TIMED],
                                         memory_order_relaxed);
    return word >> 32 == correlation ? (uint32_t)word : 0;
}
