/* SPDX-License-Identifier: Apache-2.0 */
/* Records host and GPU metrics of a node until it is stopped. */
#include "cli/verb_monitor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpufl/gpufl.h>

#include "base/flags.h"
#include "base/message.h"
#include "base/parse_bool.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/transfer_module.h"
#include "cli/upload_recorded.h"
#include "cli/version_line.h"

#define UPLOAD_EVERY_MS 5000
#define UPLOAD_RETRIES  2
#define LAST_UPLOAD_MS  60000

enum { EXIT_NO_SESSION = 3 };

struct monitor {
    const char *name;
    const char *output;
    int interval_ms;
    uint64_t duration_ms; /* 0 = until a signal */
    bool quiet;
    struct upload_recorded send;
    struct transfer_module module; /* with send.wanted */
};

static const struct flag monitor_flags[] = {
    {.name = "name",
     .letter = 'n',
     .type = FLAG_TEXT,
     .value = "NAME",
     .field = offsetof(struct monitor, name),
     .max = OUTPUT_NAME_MAX_BYTES,
     .fallback = "gpufl-monitor",
     .help = "name that dashboards show"},
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct monitor, output),
     .help = "directory of the session (default: ~/.gpufl/monitor/<time>_<random>)"},
    {.name = "interval",
     .type = FLAG_NUMBER,
     .value = "MS",
     .field = offsetof(struct monitor, interval_ms),
     .min = 1,
     .max = 86400000,
     .expected = "milliseconds from 1 to 86400000",
     .fallback = "5000",
     .help = "milliseconds between samples"},
    {.name = "duration",
     .type = FLAG_DURATION,
     .value = "TIME",
     .field = offsetof(struct monitor, duration_ms),
     .min = 1,
     .help = "stop after this time: 500ms, 30s, 5m or 1h; a bare number is seconds"},
    UPLOAD_RECORDED_FLAGS(offsetof(struct monitor, send),
                          "send what was recorded every 5 s, and the rest at the end"),
    {.name = "quiet",
     .letter = 'q',
     .type = FLAG_ON,
     .field = offsetof(struct monitor, quiet),
     .help = "print errors only"},
};

static const struct flag_table monitor_table = {
    .program = "gpufl monitor",
    .version = VERSION_LINE,
    .usage = "[options]",
    .about = "Records host and GPU metrics until SIGINT or SIGTERM, or for a duration.",
    .notes =
        "Exit status: 0 recorded (and sent); 1 not all was sent, the rest stays in the "
        "directory; 2 usage error; 3 the session cannot be created.",
    .flag = monitor_flags,
    .count = sizeof monitor_flags / sizeof monitor_flags[0],
};

static int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int monitor_arguments(int argc, char **argv, struct monitor *m,
                             char default_output[PATH_MAX])
{
    struct flag_words words = {argv, argc};
    int rc = flags_read(&monitor_table, &words, m);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!m->output) {
        if (!output_default("monitor", default_output)) {
            return flags_wrong(&monitor_table, "--output",
                               "missing (HOME is not set; give a directory)");
        }
        m->output = default_output;
    }
    return upload_recorded_open(&m->send, &monitor_table, m, m->output, &m->module);
}

/* \return false when a signal came. */
static bool wait_for_signal(const sigset_t *stop, int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return sigtimedwait(stop, NULL, &t) < 0;
}

static gpufl_status send_recorded(const struct monitor *m, int timeout_ms,
                                  struct gpufl_upload_result *result)
{
    struct gpufl_upload_options options = upload_recorded_options(&m->send, m->output);
    options.total_timeout_ms = timeout_ms;
    options.max_retries = UPLOAD_RETRIES;
    return m->module.upload_logs(&options, result);
}

static void record_until(const struct monitor *m, const sigset_t *stop)
{
    int64_t end = m->duration_ms ? monotonic_ms() + (int64_t)m->duration_ms : INT64_MAX;
    for (int64_t left; (left = end - monotonic_ms()) > 0;) {
        int64_t step = left < UPLOAD_EVERY_MS ? left : UPLOAD_EVERY_MS;
        if (!wait_for_signal(stop, step)) {
            return;
        }
        if (m->send.wanted && left > step) {
            gpufl_flush();
            (void)send_recorded(m, UPLOAD_EVERY_MS,
                                NULL); /* a failure shows at the end */
        }
    }
}

static int send_rest(const struct monitor *m)
{
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    if (send_recorded(m, LAST_UPLOAD_MS, &result) != GPUFL_OK) {
        upload_recorded_failed("gpufl monitor", m->output, result.message);
        return EXIT_NOT_ALL;
    }
    return EXIT_ALL_DONE;
}

/* In the words of the command line, which the recorder does not know. */
static bool is_recordable(const struct monitor *m)
{
    if (!output_is_writable(m->output)) {
        flags_wrong(&monitor_table, "--output",
                    "'%.*s%s': %s (expected a directory that can be written to)",
                    MESSAGE_VALUE(m->output, 300), strerror(errno));
        return false;
    }
    return true;
}

static int not_recording(gpufl_status status)
{
    if (status == GPUFL_OFF) { /* else the recorder has said why */
        flags_wrong(&monitor_table, "not recording", "%s",
                    parse_bool(getenv("GPUFL_DISABLED"))
                        ? "GPUFL_DISABLED is set (unset it to record)"
                        : "the configuration file sets enabled to false");
    }
    return EXIT_NO_SESSION;
}

int verb_monitor(int argc, char **argv)
{
    struct monitor m = {0};
    struct gpufl_init_options record = GPUFL_INIT_OPTIONS_DEFAULT;
    char default_output[PATH_MAX];
    sigset_t stop;
    int rc = monitor_arguments(argc, argv, &m, default_output);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!is_recordable(&m)) {
        return EXIT_NO_SESSION;
    }
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    record.app_name = m.name;
    record.log_path = m.output;
    record.system_sample_rate_ms = m.interval_ms;
    record.continuous_system_sampling = true;
    gpufl_status status = gpufl_init(&record);
    if (status != GPUFL_OK) {
        return not_recording(status);
    }
    if (!m.quiet) {
        printf("gpufl monitor: recording into %s\n", m.output);
        fflush(stdout);
    }
    record_until(&m, &stop);
    gpufl_shutdown();
    if (!m.quiet) {
        message_line("gpufl monitor", "1 session in %s", m.output);
    }
    return m.send.wanted ? send_rest(&m) : EXIT_ALL_DONE;
}
