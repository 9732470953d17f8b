/* SPDX-License-Identifier: Apache-2.0 */
/* Records until the files of the session had BYTES bytes. Usage: recorder LOG_DIR BYTES
 * PAIRS_PER_MS; prints the session id, at the end "recorded dropped bytes_written
 * bytes_lost". */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <gpufl/gpufl.h>

/* A thread that was not scheduled goes on from now: no burst makes up for it. */
static void one_millisecond(long pairs)
{
    struct timespec rest = {.tv_nsec = 1000000};
    for (long i = 0; i < pairs / 2; i++) {
        GFL_SCOPE("step")
        {
            GFL_SCOPE("forward")
            {
            }
        }
    }
    clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    char id[40];
    if (argc != 4) {
        return 2;
    }
    uint64_t want = strtoull(argv[2], NULL, 10);
    options.app_name = "soak";
    options.log_path = argv[1];
    options.system_sample_rate_ms = 100;
    options.continuous_system_sampling = true;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    gpufl_session_id(id);
    puts(id);
    fflush(stdout);
    do {
        one_millisecond(atol(argv[3]));
        gpufl_get_stats(&stats);
    } while (stats.bytes_written < want);
    gpufl_shutdown();
    gpufl_get_stats(&stats);
    printf("%llu %llu %llu %llu\n", (unsigned long long)stats.scopes_recorded,
           (unsigned long long)stats.scopes_dropped,
           (unsigned long long)stats.bytes_written, (unsigned long long)stats.bytes_lost);
    return 0;
}
