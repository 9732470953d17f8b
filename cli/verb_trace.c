/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command with an engine in each of its processes that uses CUDA. */
#include "cli/verb_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flags.h"
#include "base/message.h"
#include "base/parse_bool.h"
#include "base/plural.h"
#include "cli/child.h"
#include "cli/installed.h"
#include "cli/output.h"
#include "cli/transfer_module.h"
#include "cli/upload_recorded.h"
#include "cli/version_line.h"

#define INJECT "libgpufl-inject.so"

enum trace_engine { TRACE_MONITOR, TRACE_TRACE, TRACE_PC_SAMPLING };
static const char *const engines[] = {"Monitor", "Trace", "PcSampling", NULL};

struct trace {
    const char *output;
    const char *name;
    enum trace_engine engine;
    int interval_ms;
    bool quiet;
    struct upload_recorded send;
    struct transfer_module module; /* with send.wanted */
};

static const struct flag trace_flags[] = {
    {.name = "engine",
     .letter = 'e',
     .type = FLAG_CHOICE,
     .value = "E",
     .field = offsetof(struct trace, engine),
     .choices = engines,
     .fallback = "Trace",
     .help = "what to record: Monitor has host and GPU metrics; Trace adds kernels, "
             "memory copies and synchronisation; PcSampling adds warp stall reasons"},
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct trace, output),
     .help = "directory of the sessions (default: ~/.gpufl/trace/<time>_<random>); the "
             "log_path of a program that calls gpufl itself takes precedence"},
    {.name = "name",
     .letter = 'n',
     .type = FLAG_TEXT,
     .value = "NAME",
     .field = offsetof(struct trace, name),
     .max = OUTPUT_NAME_MAX_BYTES,
     .help = "name that dashboards show (default: the command's name)"},
    {.name = "interval",
     .type = FLAG_NUMBER,
     .value = "MS",
     .field = offsetof(struct trace, interval_ms),
     .max = 86400000,
     .expected = "milliseconds from 0 to 86400000",
     .fallback = "1000",
     .help = "milliseconds between samples of host and GPU metrics; 0 takes none"},
    UPLOAD_RECORDED_FLAGS(offsetof(struct trace, send),
                          "send all sessions when the command has ended"),
    {.name = "quiet",
     .letter = 'q',
     .type = FLAG_ON,
     .field = offsetof(struct trace, quiet),
     .help = "print errors only"},
};

static const struct flag_table trace_table = {
    .program = "gpufl trace",
    .version = VERSION_LINE,
    .usage = "[options] [--] COMMAND [ARGUMENT]...",
    .about = "Runs a command and records what its processes do on the GPU. The command "
             "needs no change. Each process that uses CUDA becomes a session.",
    .notes =
        "Exit status: that of the command; 128 + n when signal n ended it; 126 when it "
        "cannot be run; 127 when it is not found; 2 usage error.",
    .flag = trace_flags,
    .count = sizeof trace_flags / sizeof trace_flags[0],
    .operand = "COMMAND",
    .operand_expected = "a command, as in gpufl trace -- python3 train.py",
    .operands_min = 1,
    .operands_max = -1,
    .stop_at_operand = true,
};

static int trace_arguments(struct flag_words *words, struct trace *t,
                           char default_output[PATH_MAX])
{
    int rc = flags_read(&trace_table, words, t);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!t->output) {
        if (!output_default("trace", default_output)) {
            return flags_wrong(&trace_table, "--output",
                               "missing (HOME is not set; give a directory)");
        }
        t->output = default_output;
    }
    if (!t->name) {
        const char *slash = strrchr(words->word[0], '/');
        t->name = slash ? slash + 1 : words->word[0];
    }
    if (!output_is_writable(t->output)) {
        return flags_wrong(&trace_table, "--output",
                           "'%.*s%s': %s (expected a directory that can be written to)",
                           MESSAGE_VALUE(t->output, 300), strerror(errno));
    }
    return upload_recorded_open(&t->send, &trace_table, t, t->output, &t->module);
}

/* What the injected library reads, in the environment that the command inherits. */
static void set_variables(const struct trace *t, const char *inject)
{
    char here[PATH_MAX], output[2 * PATH_MAX], interval[16];
    bool relative = t->output[0] != '/' && getcwd(here, sizeof here);
    snprintf(output, sizeof output, "%s%s%s", relative ? here : "", relative ? "/" : "",
             t->output); /* absolute, since the command may change directory */
    snprintf(interval, sizeof interval, "%d", t->interval_ms);
    setenv("CUDA_INJECTION64_PATH", inject, 1);
    setenv("GPUFL_TRACE_LOG_PATH", output, 1);
    setenv("GPUFL_TRACE_NAME", t->name, 1);
    setenv("GPUFL_TRACE_INTERVAL_MS", interval, 1);
    setenv("GPUFL_PROFILING_ENGINE", engines[t->engine], 1);
}

static void send_traced(const struct trace *t)
{
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    struct gpufl_upload_options options = upload_recorded_options(&t->send, t->output);
    options.all_sessions = true; /* one of each process of the command */
    if (t->module.upload_logs(&options, &result) != GPUFL_OK) {
        upload_recorded_failed("gpufl trace", t->output, result.message);
    }
}

static void say_recorded(const struct trace *t, unsigned sessions)
{
    if (sessions && !t->quiet) {
        message_line("gpufl trace", "%u %s in %s", sessions,
                     plural(sessions, "session", "sessions"), t->output);
    } else if (sessions) {
        return;
    } else if (parse_bool(getenv("GPUFL_DISABLED"))) {
        message_line("gpufl trace", "nothing was recorded: GPUFL_DISABLED is set (unset "
                                    "it to record)");
    } else {
        message_line(
            "gpufl trace",
            "nothing was recorded in %s: either no process used CUDA, "
            "or the program records elsewhere (its own log_path counts) or switches "
            "gpufl off",
            t->output);
    }
}

int verb_trace(int argc, char **argv)
{
    char inject[PATH_MAX], default_output[PATH_MAX];
    struct flag_words words = {argv, argc};
    struct trace t = {0};
    int rc = trace_arguments(&words, &t, default_output);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!installed_find(INJECT, inject)) {
        return flags_wrong(&trace_table, INJECT,
                           "not found " INSTALLED_PLACES " (install libgpufl)");
    }
    struct output_sessions before = output_sessions(t.output);
    set_variables(&t, inject);
    bool began;
    rc = child_run("gpufl trace", words.word, &began);
    unsigned sessions = output_sessions_new(t.output, &before);
    output_sessions_free(&before);
    if (began) {
        say_recorded(&t, sessions);
    }
    if (sessions && t.send.wanted) {
        send_traced(&t);
    }
    return rc;
}
