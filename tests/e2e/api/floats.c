/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose floating point raises SIGFPE for whatever is not exact, and rounds up.
 * Usage: floats LOG_DIR REPORT; prints what became of that. */
#include <fenv.h>
#include <stdio.h>

#include <gpufl/gpufl.h>
#include <gpufl/upload.h>

static void record(const char *report)
{
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    GFL_SCOPE("step")
    {
        do {
            gpufl_flush();
            gpufl_get_stats(&stats);
        } while (stats.samples < 10);
    }
    gpufl_shutdown();
    gpufl_generate_report(report);
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    struct gpufl_upload_options upload = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    if (argc < 3) {
        return 2;
    }
    options.log_path = upload.log_path = argv[1];
    options.system_sample_rate_ms = 5;
    upload.backend_url = "http://127.0.0.1:9";
    upload.api_key = "k";
    upload.total_timeout_ms = 500;
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    record(argv[2]);
    gpufl_upload_logs(&upload, &result);
    if (gpufl_init(&options) != GPUFL_OK) { /* which exit() ends */
        return 3;
    }
    printf("%d %d %d\n", fegetround() == FE_UPWARD, fegetexcept() == FE_ALL_EXCEPT,
           fetestexcept(FE_ALL_EXCEPT));
    return 0;
}
