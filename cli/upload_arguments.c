/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags of `gpufl upload`. */
#include "cli/upload_arguments.h"

#include <stdint.h>

#include "base/flags.h"
#include "cli/version_line.h"

/* In the order of enum gpufl_compression. */
static const char *const codings[] = {"auto", "zstd", "gzip", "none", NULL};

#define TIMEOUT_MAX_MS (596 * 3600000L) /* of an int */

#define OPTION(f) .field = offsetof(struct upload_arguments, options.f)
static const struct flag upload_flags[] = {
    BACKEND_ARGUMENTS_FLAGS(offsetof(struct upload_arguments, backend)),
    {.name = "session-id",
     .type = FLAG_TEXT,
     .value = "ID",
     OPTION(session_id),
     .help = "send this session only"},
    {.name = "latest",
     .type = FLAG_ON,
     .field = offsetof(struct upload_arguments, latest),
     .help = "send the newest session of this user only"},
    {.name = "all-sessions",
     .type = FLAG_ON,
     .field = offsetof(struct upload_arguments, all),
     .help = "send all sessions (default)"},
    {.name = "salvage", .type = FLAG_OFF, OPTION(leave_unpublished)},
    {.name = "no-salvage",
     .type = FLAG_ON,
     OPTION(leave_unpublished),
     .help = "do not publish what a crashed 1.3 writer left in its .tmp"},
    {.name = "force",
     .type = FLAG_ON,
     OPTION(force),
     .help = "send again what was sent already"},
    {.name = "timeout",
     .type = FLAG_DURATION,
     .value = "TIME",
     .field = offsetof(struct upload_arguments, timeout_ms),
     .min = 1,
     .max = TIMEOUT_MAX_MS,
     .fallback = FLAG_DEFAULT_MS(GPUFL_UPLOAD_TOTAL_TIMEOUT_MS),
     .help = "time limit of the whole upload: 500ms, 30s, 5m or 1h; a bare number is "
             "seconds"},
    {.name = "retries",
     .type = FLAG_NUMBER,
     .value = "N",
     OPTION(max_retries),
     .max = 1000000,
     .fallback = FLAG_DEFAULT(GPUFL_UPLOAD_MAX_RETRIES),
     .help = "give up after N consecutive failed requests; 0: only at the timeout"},
    {.name = "compression",
     .type = FLAG_CHOICE,
     .value = "C",
     OPTION(compression),
     .choices = codings,
     .fallback = "auto",
     .help = "encoding of request bodies; auto is zstd if the backend declares it, else "
             "gzip"},
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     OPTION(state_dir),
     .help = "directory of the journal (default: next to the logs)"},
    /* Of the existing client, which starts a JVM; none is needed here. */
    {.name = "agent-jar", .type = FLAG_IGNORED, .value = "FILE"},
    {.name = "quiet",
     .letter = 'q',
     .type = FLAG_ON,
     .field = offsetof(struct upload_arguments, quiet),
     .help = "print only errors and what was not sent"},
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct upload_arguments, json),
     .help = "print the result as one JSON object on stdout"},
};

static const struct flag_table upload_table = {
    .program = "gpufl upload",
    .version = VERSION_LINE,
    .usage = "DIR [options]",
    .about = "Sends all sessions in DIR and waits until the backend has them. What was "
             "sent is remembered, so it can be run again at any time, also after "
             "gpufl-agent or an interruption. No window or log is deleted.",
    .notes = "Exit status: 0 all sent, or nothing to send; 1 something is left, held, "
             "rejected or away; 2 usage error, rejected key, or the backend cannot be "
             "reached.",
    .flag = upload_flags,
    .count = sizeof upload_flags / sizeof upload_flags[0],
    .operand = "DIR",
    .operand_expected = "the directory that holds the sessions",
    .operands_min = 1,
    .operands_max = 1,
};

static int check_together(const struct upload_arguments *a)
{
    bool named = *a->options.session_id != '\0';
    if (a->latest && named) {
        return flags_wrong(&upload_table, "--latest",
                           "conflicts with --session-id '%s' (give only one)",
                           a->options.session_id);
    }
    if (a->all && (a->latest || named)) {
        return flags_wrong(&upload_table, "--all-sessions",
                           "conflicts with %s (give only one)",
                           a->latest ? "--latest" : "--session-id");
    }
    return FLAGS_GO_ON;
}

int upload_arguments_read(int argc, char **argv, struct upload_arguments *out)
{
    struct flag_words words = {argv, argc};
    *out = (struct upload_arguments){.options = GPUFL_UPLOAD_OPTIONS_DEFAULT};
    int rc = flags_read(&upload_table, &words, out);
    rc = rc == FLAGS_GO_ON ? check_together(out) : rc;
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    out->options.log_path = words.word[0];
    backend_arguments_apply(&out->backend, &out->options);
    out->options.all_sessions = !out->latest && !*out->options.session_id;
    out->options.total_timeout_ms = (int)out->timeout_ms;
    return FLAGS_GO_ON;
}
