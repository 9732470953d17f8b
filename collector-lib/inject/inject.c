/* SPDX-License-Identifier: Apache-2.0 */
/* Records a program that was not built with gpufl: libgpufl-inject.so. The CUDA driver
 * loads the library that CUDA_INJECTION64_PATH names when a process initialises CUDA, and
 * calls InitializeInjection (CUPTI's documentation, "CUPTI injection"). `gpufl trace`
 * sets that variable and those of the session's options; children inherit them, and each
 * process that uses CUDA becomes a session. */
#include <stdlib.h>

#include "collector-lib/gpufl.h"

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    options.continuous_system_sampling = true; /* the program has no scopes */
    if (gpufl_init_injected(&options) == GPUFL_OK) {
        atexit(gpufl_shutdown); /* runs before the end of the runtime, which was set up
                                     earlier */
    }
    return 1; /* the program continues in any case */
}
