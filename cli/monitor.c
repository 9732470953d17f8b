/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl monitor */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpufl/gpufl.h>
#include <gpufl/upload.h>

#include "base/duration.h"
#include "cli/output.h"
#include "cli/upload_flags.h"
#include "cli/verbs.h"

#define UPLOAD_EVERY_MS 5000
#define LAST_UPLOAD_MS  60000

static const char usage[] =
    "Usage: gpufl monitor [options]\n"
    "Records host and GPU figures until SIGINT or SIGTERM, or for a duration.\n"
    "\n"
    "  -n, --name NAME      shown by dashboards (gpufl-monitor)\n"
    "  -o, --output DIR     where the session goes (~/.gpufl/monitor/<time>_<random>)\n"
    "      --interval MS    between samples (5000)\n"
    "      --duration TIME  stop after 500ms, 30s, 5m, 1h; a bare number is seconds\n"
    "      --upload         send what is recorded every 5 s, and the rest at the end\n"
    "      --backend-url URL, --api-key KEY, --api-path PATH\n"
    "                       for it; else GPUFL_BACKEND_URL, GPUFL_API_KEY, "
    "GPUFL_API_PATH\n"
    "  -q, --quiet          say nothing but errors\n"
    "  -h, --help\n"
    "\n"
    "Exit: 0 recorded (and sent); 1 not all could be sent, it stays in the directory; 2 "
    "wrong\n"
    "use; 3 the session cannot be made.\n";

enum { EXIT_NO_SESSION = 3 };

struct monitor {
    struct gpufl_init_options record;
    struct gpufl_upload_options upload;
    char output[PATH_MAX];
    uint64_t duration_ms; /* 0 = until a signal */
    bool send;
    bool quiet;
};

static int bad(const char *what, const char *way_out)
{
    fprintf(stderr, "gpufl monitor: %s: %s\n", what, way_out);
    return EXIT_BAD_USE;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int take_interval(struct monitor *m, const char *text)
{
    char *end;
    errno = 0;
    long ms = strtol(text, &end, 10);
    if (errno || !*text || *end || ms <= 0 || ms > 86400000) {
        return bad("--interval", "give whole milliseconds above 0");
    }
    m->record.system_sample_rate_ms = (int)ms;
    return -1;
}

/* \return -1 to go on, else the exit code. */
static int take_option(int c, const char *arg, struct monitor *m)
{
    switch (c) {
    case 'n':
        m->record.app_name = arg;
        return -1;
    case 'o':
        snprintf(m->output, sizeof m->output, "%s", arg);
        return -1;
    case 'i':
        return take_interval(m, arg);
    case 'd':
        return duration_parse(arg, &m->duration_ms) && m->duration_ms
                   ? -1
                   : bad("--duration", "give 500ms, 30s, 5m or 1h");
    case 'u':
        m->send = true;
        return -1;
    case 'b':
        m->upload.backend_url = arg;
        return -1;
    case 'k':
        m->upload.api_key = arg;
        return -1;
    case 'p':
        m->upload.api_path = arg;
        return -1;
    case 'q':
        m->quiet = true;
        return -1;
    case 'h':
        fputs(usage, stdout);
        return EXIT_ALL_DONE;
    default:
        return bad("options", "see gpufl monitor --help");
    }
}

static bool missing(const char *value, const char *variable)
{
    const char *env = getenv(variable);
    return !*value && (!env || !*env);
}

static int parse(int argc, char **argv, struct monitor *m)
{
    static const struct option options[] = {
        {"name", required_argument, NULL, 'n'},
        {"output", required_argument, NULL, 'o'},
        {"interval", required_argument, NULL, 'i'},
        {"duration", required_argument, NULL, 'd'},
        {"upload", no_argument, NULL, 'u'},
        {"backend-url", required_argument, NULL, 'b'},
        {"api-key", required_argument, NULL, 'k'},
        {"api-path", required_argument, NULL, 'p'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int rc = -1;
    for (int c; rc < 0 && (c = getopt_long(argc, argv, "n:o:qh", options, NULL)) >= 0;) {
        rc = take_option(c, optarg, m);
    }
    if (rc < 0 && optind < argc) {
        rc = bad(argv[optind], "not expected, see gpufl monitor --help");
    }
    if (rc < 0 && m->send &&
        (missing(m->upload.backend_url, "GPUFL_BACKEND_URL") ||
         missing(m->upload.api_key, "GPUFL_API_KEY"))) {
        rc = bad("--upload",
                 "it needs --backend-url and --api-key, or GPUFL_BACKEND_URL and "
                 "GPUFL_API_KEY");
    }
    if (rc < 0 && !*m->output && !default_output("monitor", m->output)) {
        rc = bad("--output", "there is no home directory; name one");
    }
    return rc;
}

/* Waits for a signal or the time. \return false when it is over. */
static bool wait_ms(const sigset_t *stop, int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(stop, NULL, &t) < 0;
}

static void record(struct monitor *m, const sigset_t *stop)
{
    int64_t end = m->duration_ms ? now_ms() + (int64_t)m->duration_ms : INT64_MAX;
    for (int64_t left; (left = end - now_ms()) > 0;) {
        int64_t step = left < UPLOAD_EVERY_MS ? left : UPLOAD_EVERY_MS;
        if (!wait_ms(stop, step)) {
            return;
        }
        if (m->send && left > step) {
            gpufl_flush();
            (void)gpufl_upload_logs(&m->upload,
                                    NULL); /* what fails now goes at the end */
        }
    }
}

static int send_rest(struct monitor *m)
{
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    m->upload.total_timeout_ms = LAST_UPLOAD_MS;
    gpufl_status status = gpufl_upload_logs(&m->upload, &result);
    if (status != GPUFL_OK) {
        fprintf(stderr, "gpufl monitor: %s; later: gpufl upload %s\n", result.message,
                m->output);
    }
    return status == GPUFL_OK ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

int verb_monitor(int argc, char **argv)
{
    struct monitor m = {.record = GPUFL_INIT_OPTIONS_DEFAULT,
                        .upload = GPUFL_UPLOAD_OPTIONS_DEFAULT};
    sigset_t stop;
    m.record.app_name = "gpufl-monitor";
    m.record.system_sample_rate_ms = 5000;
    m.record.continuous_system_sampling = true;
    m.upload.total_timeout_ms = UPLOAD_EVERY_MS;
    m.upload.max_retries = 2;
    int rc = parse(argc, argv, &m);
    if (rc >= 0) {
        return rc;
    }
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    m.record.log_path = m.output;
    m.upload.log_path = m.output;
    m.upload.option_name = upload_flag_of;
    if (gpufl_init(&m.record) != GPUFL_OK) {
        return EXIT_NO_SESSION; /* the collector has said why */
    }
    if (!m.quiet) {
        printf("gpufl monitor: recording into %s\n", m.output);
        fflush(stdout);
    }
    record(&m, &stop);
    gpufl_shutdown();
    return m.send ? send_rest(&m) : EXIT_ALL_DONE;
}
