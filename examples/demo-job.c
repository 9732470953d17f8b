/* SPDX-License-Identifier: Apache-2.0 */
/* A job for the demo: records nested scopes for SECONDS seconds, and samples every 100
 * ms. Usage: demo-job LOG_DIR SECONDS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpufl/gpufl.h>

static void work(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void epoch(void)
{
    GFL_SCOPE("epoch")
    {
        for (int step = 0; step < 10; step++) {
            GFL_SCOPE("step")
            {
                GFL_SCOPE("forward")
                {
                    work(8);
                }
                GFL_SCOPE("backward")
                {
                    work(14);
                }
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char session[40];
    options.app_name = "demo-job";
    options.log_path = argc > 1 ? argv[1] : "demo-logs";
    options.system_sample_rate_ms = 100;
    options.continuous_system_sampling = true;
    options.simulated_gpus = 2; /* used only if there is no real GPU */
    if (gpufl_init(&options) != GPUFL_OK) {
        return 1;
    }
    gpufl_session_id(session);
    printf("%s\n", session);
    fflush(stdout);
    double end = now() + (argc > 2 ? strtod(argv[2], NULL) : 15);
    while (now() < end) {
        epoch();
    }
    gpufl_shutdown();
    return 0;
}
