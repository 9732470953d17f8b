/* SPDX-License-Identifier: Apache-2.0 */
/* The tracing module for NVIDIA, libgpufl-cupti.so: what it offers to the collector. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector-lib/cupti/activity.h"
#include "collector-lib/cupti/calls.h"
#include "collector-lib/cupti/cupti_api.h"
#include "collector-lib/cupti/device.h"
#include "collector-lib/cupti/pc_sampling.h"

static struct {
    _Atomic bool on; /* callbacks may come after the end if CUPTI is lost */
    pid_t pid;       /* of the first start: CUDA does not outlive a fork */
    struct tracer_config config;
    CUpti_SubscriberHandle subscriber;
} module;

/* In the midst of a call of the job, whose errno it leaves alone. */
static void CUPTIAPI on_callback(void *arg, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId id, const void *data)
{
    (void)arg;
    if (!atomic_load_explicit(&module.on, memory_order_acquire)) {
        return;
    }
    int saved = errno;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
        calls_on(id, data);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
               id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        calls_graph_node_made();
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        pc_sampling_resource(id, data);
    }
    errno = saved;
}

static bool subscribe(char *why, size_t size)
{
    CUptiResult result = cupti.Subscribe(&module.subscriber, on_callback, NULL);
    if (result == CUPTI_SUCCESS) {
        return true;
    }
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        snprintf(why, size,
                 "another profiler uses CUPTI, which allows one at a time (stop Nsight, "
                 "PyTorch's or JAX's profiler, or the other tracer)");
    } else {
        snprintf(why, size, "cannot start CUPTI: %s (check driver and GPU)",
                 cupti_api_error(result));
    }
    return false;
}

static void module_stop(void)
{
    bool over = cupti_driver_is_over();
    if (!over) {
        pc_sampling_stop();
        activity_stop();
    }
    atomic_store_explicit(&module.on, false, memory_order_release);
    if (!over && !cupti_api_lost()) {
        cupti.Unsubscribe(module.subscriber);
    }
}

/* Kernel records come first: while PC sampling is on, CUPTI refuses to enable them. */
static bool module_start(const struct tracer_config *config, char *why, size_t size)
{
    if (module.pid && module.pid != getpid()) {
        snprintf(why, size,
                 "CUDA does not work in a forked child (start the process by exec)");
        return false;
    }
    module.pid = getpid();
    module.config = *config;
    if (!cupti_api_load(why, size) || !subscribe(why, size)) {
        return false;
    }
    cupti_driver_look_up();
    if (!activity_start(config, why, size)) {
        cupti.Unsubscribe(module.subscriber);
        return false;
    }
    atomic_store_explicit(&module.on, true, memory_order_release);
    calls_enable(&module.config, module.subscriber);
    if (config->pc_sampling) {
        pc_sampling_start(config, module.subscriber);
    }
    return true;
}

static void module_deliver(const struct tracer_sink *sink)
{
    activity_deliver(sink);
    pc_sampling_deliver(sink);
}

static void module_collect(bool last)
{
    bool over = last && cupti_driver_is_over();
    if (last && !over) {
        pc_sampling_finish();
    }
    if (over) {
        activity_collect_nothing();
    } else {
        activity_collect(last);
    }
}

static void module_status(struct tracer_status *out)
{
    memset(out, 0, sizeof *out);
    activity_status(out);
    calls_why_untold(out->refused_why[TRACER_CALLBACKS], sizeof out->refused_why[0]);
    out->lost = cupti_api_lost();
    if (module.config.pc_sampling) {
        pc_sampling_status(out);
    }
}

__attribute__((visibility("default"))) const struct tracer *gpufl_tracer(void);

const struct tracer *gpufl_tracer(void)
{
    static const struct tracer tracer = {
        .abi = TRACER_ABI,
        .start = module_start,
        .collect = module_collect,
        .deliver = module_deliver,
        .device = device_describe,
        .status = module_status,
        .stop = module_stop,
    };
    return &tracer;
}
