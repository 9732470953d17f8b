/* SPDX-License-Identifier: Apache-2.0 */
/* libgpufl-inject.so: records a program that does not know of us. The CUDA driver loads
 * the library that CUDA_INJECTION64_PATH names as a process initialises CUDA, and calls
 * InitializeInjection (CUPTI's documentation, "CUPTI injection"). `gpufl trace` sets both
 * that and the variables below; children inherit them, and each that uses CUDA becomes a
 * session of its own. */
#include <stdlib.h>

#include <gpufl/gpufl.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

int InitializeInjection(void)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    options.app_name = variable("GPUFL_TRACE_NAME", options.app_name);
    options.log_path = variable("GPUFL_TRACE_LOG_PATH", "");
    options.system_sample_rate_ms = atoi(variable("GPUFL_TRACE_INTERVAL_MS", "0"));
    options.continuous_system_sampling = options.system_sample_rate_ms > 0;
    if (gpufl_init(&options) == GPUFL_OK) {
        atexit(
            gpufl_shutdown); /* before the runtime's own end, which was set up earlier */
    }
    return 1; /* whatever happened, the program goes on */
}
