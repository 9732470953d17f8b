/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags of `gpufl status`. */
#include "cli/status_arguments.h"

#include <stddef.h>

#include "base/flags.h"
#include "cli/version_line.h"

static const struct flag status_flags[] = {
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct status_arguments, json),
     .help = "print one JSON object"},
    {.name = "all",
     .type = FLAG_ON,
     .field = offsetof(struct status_arguments, all),
     .help = "show all sessions of other users, too, and not 100 at most, and count them "
             "for the exit status (default for root and the owner of DIR)"},
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct status_arguments, state_dir),
     .help = "directory of the journal (default: next to the logs)"},
};

static const struct flag_table status_table = {
    .program = "gpufl status",
    .version = VERSION_LINE,
    .usage = "DIR [options]",
    .about = "Shows, per session in DIR, what the backend has acknowledged and what is "
             "pending. Reads the journal of gpufl-agent or gpufl upload, or what a "
             "service publishes that serves DIR, and changes nothing.",
    .notes = "Exit status: 0 everything is sent; 1 something waits or was rejected, or "
             "the end of a session is not reported yet; 2 usage error. Sessions of other "
             "users are shown and do not count, unless with --all, by root or by the "
             "owner of DIR, or if there is none of this user.",
    .flag = status_flags,
    .count = sizeof status_flags / sizeof status_flags[0],
    .operand = "DIR",
    .operand_expected = "the directory that holds the sessions",
    .operands_min = 1,
    .operands_max = 1,
};

int status_arguments_read(int argc, char **argv, struct status_arguments *out)
{
    struct flag_words words = {argv, argc};
    *out = (struct status_arguments){0};
    int rc = flags_read(&status_table, &words, out);
    if (rc == FLAGS_GO_ON) {
        out->directory = words.word[0];
    }
    return rc;
}
