/* SPDX-License-Identifier: Apache-2.0 */
/* The table of flags of `gpufl quarantine`, and its verbs. */
#include "cli/quarantine_arguments.h"

#include <stddef.h>
#include <stdio.h>

#include "base/flags.h"
#include "cli/version_line.h"

static const struct flag quarantine_flags[] = {
    {.name = "all",
     .type = FLAG_ON,
     .field = offsetof(struct quarantine_arguments, all),
     .help = "every range of the directory"},
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct quarantine_arguments, json),
     .help = "for list, print one JSON array"},
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct quarantine_arguments, state_dir),
     .help = "directory of the journal (default: next to the logs)"},
    BACKEND_ARGUMENTS_FLAGS(offsetof(struct quarantine_arguments, backend)),
};

static const struct flag_verb actions[] = {
    [QUARANTINE_LIST] = {"list", NULL, "list the ranges"},
    [QUARANTINE_SHOW] = {"show", NULL, "print the lines of the named ranges"},
    [QUARANTINE_RETRY] = {"retry", NULL, "send them again under the same identity"},
    [QUARANTINE_DROP] = {"drop", NULL, "give them up"},
};

static const struct flag_table quarantine_table = {
    .program = "gpufl quarantine",
    .version = VERSION_LINE,
    .usage = "list DIR [--json]\nshow DIR NAME... | --all\nretry DIR NAME... | --all\n"
             "drop DIR NAME... | --all",
    .about =
        "Lines that the backend rejects permanently stay in their files; their session "
        "cannot complete until they are retried or dropped. retry and drop need the "
        "directory for themselves: stop gpufl-agent first, and start it again "
        "afterwards. The options from --backend-url on are for retry.",
    .notes =
        "Exit status: 0 done; 1 something is still rejected, or there is no such range; "
        "2 usage error, another uploader serves the directory, or the backend cannot be "
        "reached, refuses the key or takes nothing now.",
    .verb = actions,
    .verbs = sizeof actions / sizeof actions[0],
    .flag = quarantine_flags,
    .count = sizeof quarantine_flags / sizeof quarantine_flags[0],
    .operand = "VERB",
    .operand_expected = "list, show, retry or drop",
    .operands_min = 1,
    .operands_max = -1,
};

static int check_backend(const struct quarantine_arguments *out,
                         const struct flag_verb *verb)
{
    const struct flag *given =
        backend_arguments_given(&quarantine_table, out, &out->backend);
    char name[80];
    if (out->action != QUARANTINE_RETRY && given) {
        snprintf(name, sizeof name, "--%s", given->name);
        return flags_wrong(&quarantine_table, name,
                           "has no effect with %s (leave it out)", verb->name);
    }
    if (out->action == QUARANTINE_RETRY && !out->backend.backend_url) {
        return flags_wrong(&quarantine_table, "--backend-url",
                           "missing (give it, or set GPUFL_BACKEND_URL)");
    }
    return FLAGS_GO_ON;
}

static int read_words(const struct flag_words *words, struct quarantine_arguments *out)
{
    const struct flag_verb *verb = flags_verb(&quarantine_table, words->word[0]);
    if (!verb) {
        return FLAGS_WRONG;
    }
    if (words->count < 2) {
        return flags_wrong(&quarantine_table, "DIR",
                           "missing (expected the directory that holds the sessions)");
    }
    backend_arguments_apply(&out->backend, &out->to);
    out->action = (enum quarantine_action)(verb - actions);
    out->directory = words->word[1];
    out->names = words->word + 2;
    out->count = words->count - 2;
    if (out->action == QUARANTINE_LIST && out->count) {
        return flags_unexpected(&quarantine_table, out->names[0]);
    }
    if (out->action == QUARANTINE_LIST && out->all) {
        return flags_wrong(&quarantine_table, "--all",
                           "has no effect with list, which lists all (leave it out)");
    }
    if (out->action != QUARANTINE_LIST && !out->count && !out->all) {
        return flags_wrong(
            &quarantine_table, "NAME",
            "missing (expected names that gpufl quarantine list shows, or --all)");
    }
    if (out->action != QUARANTINE_LIST && out->count && out->all) {
        return flags_wrong(&quarantine_table, "--all",
                           "conflicts with NAME '%s' (give only one)", out->names[0]);
    }
    if (out->action != QUARANTINE_LIST && out->json) {
        return flags_wrong(&quarantine_table, "--json",
                           "has no effect with %s (leave it out)", verb->name);
    }
    return check_backend(out, verb);
}

int quarantine_arguments_read(int argc, char **argv, struct quarantine_arguments *out)
{
    struct flag_words words = {argv, argc};
    *out = (struct quarantine_arguments){.to = GPUFL_UPLOAD_OPTIONS_DEFAULT};
    int rc = flags_read(&quarantine_table, &words, out);
    return rc == FLAGS_GO_ON ? read_words(&words, out) : rc;
}
