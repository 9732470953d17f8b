/* SPDX-License-Identifier: Apache-2.0 */
/* The tracing module for NVIDIA: libgpufl-cupti.so. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/cupti/activity.h"
#include "collector-lib/cupti/api.h"
#include "collector-lib/cupti/pc_sampling.h"

static struct {
    struct tracer_config config;
    CUpti_SubscriberHandle subscriber;
} module;

/* Where kernels are launched. The runtime's calls come through these, too, and carry the
 * correlation id of the kernel's record. */
static const CUpti_CallbackId launch[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

#define LAUNCHES (sizeof launch / sizeof launch[0])

static void on_launch(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    bool graph = id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
                 id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
    if (data->callbackSite == CUPTI_API_ENTER) {
        module.config.launched(data->correlationId);
    } else if (!graph && data->functionReturnValue &&
               *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS) {
        activity_expect();
    }
}

static void CUPTIAPI on_callback(void *arg, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId id, const void *data)
{
    (void)arg;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        on_launch(id, data);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        pc_sampling_resource(id, data);
    }
}

static bool subscribe(char *why, size_t size)
{
    CUptiResult result = cupti.Subscribe(&module.subscriber, on_callback, NULL);
    if (result == CUPTI_SUCCESS) {
        return true;
    }
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(
            why, size,
            "another profiler has CUPTI; end it (Nsight, PyTorch's or JAX's profiler, "
            "another tracer), since the driver serves one at a time");
    } else {
        snprintf(why, size, "CUPTI does not start: %s; is there a driver and a GPU?",
                 cupti_api_error(result));
    }
    return false;
}

static void enable_launches(void)
{
    for (size_t i = 0; i < LAUNCHES; i++) {
        cupti.EnableCallback(1, module.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launch[i]);
    }
}

static void stop(void)
{
    pc_sampling_stop();
    activity_stop();
    cupti.Unsubscribe(module.subscriber);
}

/* Kernel records come first: with PC sampling on, CUPTI refuses to switch them on. */
static bool start(const struct tracer_config *config, char *why, size_t size)
{
    static pid_t first;
    if (first && first != getpid()) {
        snprintf(why, size, "CUDA does not outlive a fork; start this process by exec");
        return false;
    }
    first = getpid();
    module.config = *config;
    if (!cupti_api_load(why, size) || !subscribe(why, size)) {
        return false;
    }
    if (!activity_start(config, why, size)) {
        cupti.Unsubscribe(module.subscriber);
        return false;
    }
    enable_launches();
    if (config->pc_sampling) {
        pc_sampling_start(config, module.subscriber);
    }
    return true;
}

static void deliver(const struct tracer_sink *sink)
{
    activity_deliver(sink);
    pc_sampling_deliver(sink);
}

static void collect(bool last)
{
    if (last) {
        pc_sampling_finish();
    }
    activity_collect(last);
}

static void status(struct tracer_status *out)
{
    memset(out, 0, sizeof *out);
    activity_status(out);
    pc_sampling_status(out);
}

__attribute__((visibility("default"))) const struct tracer *gpufl_tracer(void);

const struct tracer *gpufl_tracer(void)
{
    static const struct tracer tracer = {
        .abi = TRACER_ABI,
        .start = start,
        .collect = collect,
        .deliver = deliver,
        .status = status,
        .stop = stop,
    };
    return &tracer;
}
