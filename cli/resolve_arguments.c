/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags of `gpufl resolve`. */
#include "cli/resolve_arguments.h"

#include <stddef.h>

#include "base/flags.h"
#include "cli/version_line.h"

#define TIMEOUT_MAX_MS 3600000

static const struct flag resolve_flags[] = {
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct resolve_arguments, state_dir),
     .help = "directory of the journal (default: next to the logs)"},
    {.name = "timeout",
     .type = FLAG_DURATION,
     .value = "TIME",
     .field = offsetof(struct resolve_arguments, timeout_ms),
     .min = 1,
     .max = TIMEOUT_MAX_MS,
     .fallback = "30s",
     .help = "how long to wait for a running gpufl-agent to do it"},
};

static const struct flag_table resolve_table = {
    .program = "gpufl resolve",
    .version = VERSION_LINE,
    .usage = "DIR SESSION[/CHANNEL] [options]",
    .about =
        "Gives up what is gone or cannot be read of a session in DIR, so that the rest "
        "of it is sent and it can complete. gpufl status shows what is held, and the "
        "command. What can be read is not given up; the loss is recorded. If the "
        "backend has other bytes than the files, those of the files are sent from where "
        "they differ. A session of which the directory is gone is forgotten: if it comes "
        "back, all of it is sent. If a copy of it is held elsewhere, that one goes on in "
        "its place. No file is removed. A running gpufl-agent is asked to do it. What "
        "was "
        "given up is printed, and what follows.",
    .notes = "Exit status: 0 given up; 1 there was nothing to give up, or the agent has "
             "not done it yet; 2 usage error, no such session, or no journal.",
    .flag = resolve_flags,
    .count = sizeof resolve_flags / sizeof resolve_flags[0],
    .operand = "DIR SESSION",
    .operand_expected = "the directory that holds the sessions, and what is held in it",
    .operands_min = 2,
    .operands_max = 2,
};

int resolve_arguments_read(int argc, char **argv, struct resolve_arguments *out)
{
    struct flag_words words = {argv, argc};
    *out = (struct resolve_arguments){0};
    int rc = flags_read(&resolve_table, &words, out);
    if (rc == FLAGS_GO_ON) {
        out->directory = words.word[0];
        out->what = words.word[1];
    }
    return rc;
}
