/* SPDX-License-Identifier: Apache-2.0 */
/* Records a program that was not built with gpufl: libgpufl-inject.so. The CUDA driver
 * loads the library that CUDA_INJECTION64_PATH names when a process initialises CUDA, and
 * calls InitializeInjection (CUPTI's documentation, "CUPTI injection"). `gpufl trace`
 * sets that variable and those below; children inherit them, and each process that uses
 * CUDA becomes a session. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpufl/gpufl.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

/* 0 = no samples. */
static int interval_ms(void)
{
    char *end;
    const char *text = variable("GPUFL_TRACE_INTERVAL_MS", "0");
    long value = strtol(text, &end, 10);
    return *end || value < 0 || value > INT_MAX ? 0 : (int)value;
}

/* gpufl_init would end the session that the program itself has begun. */
static bool program_records_itself(void)
{
    char id[40];
    bool records = gpufl_session_id(id) == GPUFL_OK;
    if (records) {
        fprintf(stderr,
                "[GPUFL] the program records itself, in session %s: no other session is "
                "begun for gpufl trace\n",
                id);
    }
    return records;
}

int InitializeInjection(void)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    if (program_records_itself()) {
        return 1;
    }
    options.app_name = variable("GPUFL_TRACE_NAME", options.app_name);
    options.log_path = variable("GPUFL_TRACE_LOG_PATH", "");
    options.system_sample_rate_ms = interval_ms();
    options.continuous_system_sampling = options.system_sample_rate_ms > 0;
    if (gpufl_init(&options) == GPUFL_OK) {
        atexit(gpufl_shutdown); /* runs before the end of the runtime, which was set up
                                     earlier */
    }
    return 1; /* the program continues in any case */
}
