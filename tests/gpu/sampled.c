/* SPDX-License-Identifier: Apache-2.0 */
/* Records device metrics. Usage: sampled LOG_DIR RATE_MS SECONDS; prints the session id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpufl/gpufl.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    struct timespec rest = {.tv_sec = atoi(argv[3])};
    char id[40];
    options.app_name = "gpu-test";
    options.log_path = argv[1];
    options.system_sample_rate_ms = atoi(argv[2]);
    options.continuous_system_sampling = true;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
    nanosleep(&rest, NULL);
    gpufl_shutdown();
    return 0;
}
