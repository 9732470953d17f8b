/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags of `gpufl verify`. */
#include "cli/verify_arguments.h"

#include <stddef.h>

#include "base/flags.h"
#include "cli/version_line.h"

static const struct flag verify_flags[] = {
    {.name = "session-id",
     .type = FLAG_TEXT,
     .value = "ID",
     .field = offsetof(struct verify_arguments, to.session_id),
     .help = "compare this session only"},
    {.name = "resend",
     .type = FLAG_ON,
     .field = offsetof(struct verify_arguments, resend),
     .help = "send what the backend lacks, and compare again"},
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct verify_arguments, to.state_dir),
     .help =
         "directory of the journal (default: next to the logs): sessions of this user "
         "that it names and nobody can look at count, and --resend keeps it"},
    {.name = "all",
     .type = FLAG_ON,
     .field = offsetof(struct verify_arguments, all),
     .help = "compare sessions of other users, too"},
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct verify_arguments, json),
     .help = "print one JSON object"},
    BACKEND_ARGUMENTS_FLAGS(offsetof(struct verify_arguments, backend)),
};

static const struct flag_table verify_table = {
    .program = "gpufl verify",
    .version = VERSION_LINE,
    .usage = "DIR [options]",
    .about =
        "Compares the files of the sessions in DIR with what the backend has of them: "
        "for "
        "each channel, where it ends, the number of lines and the checksum. Nothing is "
        "sent or changed, and no journal is needed, so it can run beside gpufl-agent. "
        "--resend sends what is missing at a backend that was restored from an older "
        "backup; stop gpufl-agent first. Sessions of other users are only named, unless "
        "with --all or --session-id, by root or by the owner of DIR.",
    .notes = "Exit status: 0 all files that were compared are equal to what the backend "
             "has; 1 some are not, or cannot be compared; 2 usage error, or the backend "
             "cannot be reached, refuses the key or does not know positions.",
    .flag = verify_flags,
    .count = sizeof verify_flags / sizeof verify_flags[0],
    .operand = "DIR",
    .operand_expected = "the directory that holds the sessions",
    .operands_min = 1,
    .operands_max = 1,
};

int verify_arguments_read(int argc, char **argv, struct verify_arguments *out)
{
    struct flag_words words = {argv, argc};
    *out = (struct verify_arguments){.to = GPUFL_UPLOAD_OPTIONS_DEFAULT};
    int rc = flags_read(&verify_table, &words, out);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    out->directory = words.word[0];
    out->to.log_path = words.word[0];
    backend_arguments_apply(&out->backend, &out->to);
    if (out->all && *out->to.session_id) {
        return flags_wrong(&verify_table, "--all",
                           "has no effect with --session-id (leave it out)");
    }
    if (out->backend.same_origin && !out->resend) {
        return flags_wrong(&verify_table, "--same-origin",
                           "has no effect without --resend (give both)");
    }
    if (!out->backend.backend_url) {
        return flags_wrong(&verify_table, "--backend-url",
                           "missing (give it, or set GPUFL_BACKEND_URL)");
    }
    return FLAGS_GO_ON;
}
