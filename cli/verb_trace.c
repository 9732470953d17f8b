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
#include "schema/layout.h"

#define INJECT              "libgpufl-inject.so"
#define DEFAULT_ENGINE      "Trace"
#define DEFAULT_INTERVAL_MS "1000"

enum trace_engine { TRACE_NOT_GIVEN = -1, TRACE_MONITOR, TRACE_TRACE, TRACE_PC_SAMPLING };
static const char *const engines[] = {"Monitor", "Trace", "PcSampling", NULL};

struct trace {
    const char *output; /* not only where it is given */
    const char *name;
    enum trace_engine engine;
    int interval_ms; /* -1 = not given */
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
     .help = "what to record: Monitor has host and GPU metrics; Trace adds kernels, "
             "memory copies and synchronisation; PcSampling adds warp stall reasons; it "
             "is experimental beside other tools that sample the GPU (default: "
             "$GPUFL_PROFILING_ENGINE, else " DEFAULT_ENGINE ")"},
    {.name = "output",
     .letter = 'o',
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct trace, output),
     .help = "directory of the sessions (default: $GPUFL_LOG_DIR, else "
             "~/.gpufl/trace/<time>_<random>); the log_path of a program that calls "
             "gpufl itself takes precedence"},
    {.name = "name",
     .letter = 'n',
     .type = FLAG_TEXT,
     .value = "NAME",
     .field = offsetof(struct trace, name),
     .max = OUTPUT_NAME_MAX_BYTES,
     .help = "name that dashboards show (default: $GPUFL_APP_NAME, else the command's "
             "name)"},
    {.name = "interval",
     .type = FLAG_NUMBER,
     .value = "MS",
     .field = offsetof(struct trace, interval_ms),
     .max = 86400000,
     .expected = "milliseconds from 0 to 86400000",
     .help = "milliseconds between samples of host and GPU metrics; 0 takes none "
             "(default: $GPUFL_SYSTEM_SAMPLE_RATE_MS, else " DEFAULT_INTERVAL_MS ")"},
    UPLOAD_RECORDED_FLAGS(offsetof(struct trace, send),
                          "send all sessions when the command has ended"),
    {.name = "quiet",
     .letter = 'q',
     .type = FLAG_ON,
     .field = offsetof(struct trace, quiet),
     .help = "print errors only"},
};

/* The recorder knows more: those that it has not are told there, and a lower one runs. */
static const char *const known_engines[] = {"Monitor",
                                            "Trace",
                                            "PcSampling",
                                            "SassMetrics",
                                            "RangeProfiler",
                                            "Deep",
                                            "PmSampling",
                                            "RangeProfilerKernelReplay",
                                            NULL};

/* The variables of the recorder for which gpufl trace has defaults of its own. */
static const struct flag engine_variable = {.name = "GPUFL_PROFILING_ENGINE",
                                            .type = FLAG_CHOICE,
                                            .choices = known_engines,
                                            .field = offsetof(struct trace, engine)};
static const struct flag interval_variable = {.name = "GPUFL_SYSTEM_SAMPLE_RATE_MS",
                                              .type = FLAG_NUMBER,
                                              .field =
                                                  offsetof(struct trace, interval_ms),
                                              .max = 86400000};
static const struct flag name_variable = {.name = "GPUFL_APP_NAME",
                                          .type = FLAG_TEXT,
                                          .value = "a name",
                                          .field = offsetof(struct trace, name),
                                          .max = OUTPUT_NAME_MAX_BYTES};

static const struct flag_table trace_table = {
    .program = "gpufl trace",
    .version = VERSION_LINE,
    .usage = "[options] [--] COMMAND [ARGUMENT]...",
    .about = "Runs a command and records what its processes do on the GPU. The command "
             "needs no change. Each process that uses CUDA becomes a session.",
    .notes =
        "PcSampling takes memory for each CUDA context: some of the GPU's (12 MiB on an "
        "H100), and of the host's at most 64 MiB for a buffer "
        "(GPUFL_PC_SAMPLING_BUFFER_MIB) and 94 MiB besides. With less than 512 MiB free "
        "of either, a context is not sampled. It is experimental where a tool of other "
        "makers samples the GPU, too: CUPTI may then end the command by SIGSEGV.\n\n"
        "An option goes before its variable. GPUFL_MAX_ENGINE limits the engine; "
        "GPUFL_TRACE_BUFFER_KIB is the size of each buffer that CUPTI fills (64 to "
        "16384, "
        "default: 1024). gpufl(1) lists the other variables.\n\n"
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

/* NULL where it is blank. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && !flag_is_blank(value) ? value : NULL;
}

/* Where the recorder will make the sessions. */
static int choose_output(struct trace *t, char output[PATH_MAX])
{
    const char *name = t->output ? "--output" : "GPUFL_LOG_DIR";
    const char *given = t->output ? t->output : variable("GPUFL_LOG_DIR");
    const char *fault = given ? flag_path_fault(given) : NULL;
    if (fault) {
        return flags_wrong(&trace_table, name, "'%.*s%s': %s", MESSAGE_VALUE(given, 300),
                           fault);
    }
    if (given) {
        snprintf(output, PATH_MAX, "%.*s", (int)layout_log_dir_len(given), given);
    } else if (!output_default("trace", output)) {
        return flags_wrong(&trace_table, "--output",
                           "missing (HOME is not set; give a directory)");
    }
    t->output = output;
    if (!output_is_writable(output)) {
        return flags_wrong(&trace_table, given ? name : "--output",
                           "'%.*s%s': %s (expected a directory that can be written to)",
                           MESSAGE_VALUE(output, 300), strerror(errno));
    }
    return FLAGS_GO_ON;
}

static int trace_arguments(struct flag_words *words, struct trace *t,
                           char output[PATH_MAX])
{
    int rc = flags_read(&trace_table, words, t);
    if (rc == FLAGS_GO_ON && !*words->word[0]) {
        rc = flags_wrong(&trace_table, trace_table.operand, "empty (expected %s)",
                         trace_table.operand_expected);
    }
    if (rc == FLAGS_GO_ON) {
        rc = choose_output(t, output);
    }
    return rc == FLAGS_GO_ON
               ? upload_recorded_open(&t->send, &trace_table, t, t->output, &t->module)
               : rc;
}

/* What is set for every job keeps none from being traced. */
static bool is_usable(const struct flag *row)
{
    struct trace unused;
    char expected[160];
    const char *value = variable(row->name);
    bool usable = value && flag_store(row, value, &unused);
    if (value && !usable) {
        flag_expected(row, expected, sizeof expected);
        message_line("gpufl trace", "%s: invalid value '%.*s%s': ignored (expected %s)",
                     row->name, MESSAGE_VALUE(value, 100), expected);
    }
    return usable;
}

/* What is neither given nor in the environment is as usual for gpufl trace. */
static void set_option(const struct flag *row, const char *given, const char *usual)
{
    if (given || !is_usable(row)) {
        setenv(row->name, given ? given : usual, 1);
    }
}

static void set_injection(const char *inject)
{
    const char *other = variable("CUDA_INJECTION64_PATH");
    if (other && strcmp(other, inject) != 0) {
        message_line("gpufl trace",
                     "CUDA_INJECTION64_PATH: '%.*s%s': replaced: this tool does not run "
                     "(CUDA loads one)",
                     MESSAGE_VALUE(other, 300));
    }
    setenv("CUDA_INJECTION64_PATH", inject, 1);
}

/* What the recorder reads, in the environment that \p command inherits. */
static void set_variables(const struct trace *t, const char *inject, const char *command)
{
    char here[PATH_MAX], output[2 * PATH_MAX], interval[16];
    const char *slash = strrchr(command, '/');
    bool relative = t->output[0] != '/' && getcwd(here, sizeof here);
    snprintf(output, sizeof output, "%s%s%s", relative ? here : "", relative ? "/" : "",
             t->output); /* absolute, since the command may change directory */
    snprintf(interval, sizeof interval, "%d", t->interval_ms);
    set_injection(inject);
    setenv("GPUFL_LOG_DIR", output, 1);
    set_option(&name_variable, t->name, slash ? slash + 1 : command);
    set_option(&interval_variable, t->interval_ms >= 0 ? interval : NULL,
               DEFAULT_INTERVAL_MS);
    set_option(&engine_variable, t->engine != TRACE_NOT_GIVEN ? engines[t->engine] : NULL,
               DEFAULT_ENGINE);
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
    char inject[PATH_MAX], output[PATH_MAX];
    struct flag_words words = {argv, argc};
    struct trace t = {.engine = TRACE_NOT_GIVEN, .interval_ms = -1};
    int rc = trace_arguments(&words, &t, output);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    if (!installed_find(INJECT, inject)) {
        return flags_wrong(&trace_table, INJECT,
                           "not found " INSTALLED_PLACES " (install libgpufl)");
    }
    struct output_sessions before = output_sessions(t.output);
    set_variables(&t, inject, words.word[0]);
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
