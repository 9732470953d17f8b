/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, shows, retries or drops what the backend rejected permanently. */
#include "cli/transfer/verb_quarantine.h"

#include <string.h>

#include <gpufl/upload.h>

#include "base/flags.h"
#include "cli/transfer/quarantine_act.h"
#include "cli/transfer/quarantine_look.h"
#include "cli/transfer/upload_flags.h"
#include "cli/version_line.h"
#include "schema/protocol.h"

struct quarantine_arguments {
    struct quarantine_choice choice;
    struct transport_http_config backend;
    bool json;
    char key[FLAG_SECRET_BYTES];
};

#define BACKEND(f) .field = offsetof(struct quarantine_arguments, backend.f)
static const struct flag quarantine_flags[] = {
    {.name = "all",
     .type = FLAG_ON,
     .field = offsetof(struct quarantine_arguments, choice.all),
     .help = "every range of the directory"},
    {.name = "json",
     .type = FLAG_ON,
     .field = offsetof(struct quarantine_arguments, json),
     .help = "list as one JSON array"},
    {.name = "state-dir",
     .type = FLAG_TEXT,
     .value = "DIR",
     .field = offsetof(struct quarantine_arguments, choice.state_dir),
     .help = "directory of the journal (default: next to the logs)"},
    {.name = "backend-url",
     .type = FLAG_TEXT,
     .value = "URL",
     BACKEND(backend_url),
     .variable = "GPUFL_BACKEND_URL",
     .help = "URL of the backend for retry, scheme://host[:port]"},
    {.name = "api-key",
     .type = FLAG_SECRET,
     .value = "KEY",
     .field = offsetof(struct quarantine_arguments, key),
     .variable = "GPUFL_API_KEY",
     .help = "API key for retry"},
    {.name = "api-path",
     .type = FLAG_TEXT,
     .value = "PATH",
     BACKEND(api_path),
     .variable = "GPUFL_API_PATH",
     .fallback = PROTOCOL_DEFAULT_API_PATH,
     .help = "path of the API for retry"},
    {.name = "ca-file",
     .type = FLAG_TEXT,
     .value = "FILE",
     BACKEND(ca_file),
     .help = "for retry, PEM certificates to trust instead of the system's"},
    {.name = "allow-insecure-http",
     .type = FLAG_ON,
     BACKEND(allow_insecure_http),
     .help = "for retry, allow sending the key over http:// to a public address"},
};

enum action { LIST, SHOW, RETRY, DROP };
static const struct flag_verb actions[] = {
    [LIST] = {"list", NULL, "list the ranges"},
    [SHOW] = {"show", NULL, "print the lines of the named ranges"},
    [RETRY] = {"retry", NULL, "send them again under the same identity"},
    [DROP] = {"drop", NULL, "give them up"},
};

static const struct flag_table quarantine_table = {
    .program = "gpufl quarantine",
    .version = VERSION_LINE,
    .usage = "list DIR [--json]\nshow DIR NAME... | --all\nretry DIR NAME... | --all\n"
             "drop DIR NAME... | --all",
    .about =
        "Lines that the backend rejects permanently stay in their files; their session "
        "cannot complete until they are retried or dropped. retry and drop need the "
        "directory "
        "for themselves: stop gpufl-agent first, and start it again afterwards.",
    .notes =
        "Exit status: 0 done; 1 something is still rejected, or there is no such range; "
        "2 "
        "usage error, another uploader serves the directory, or the backend cannot be "
        "reached.",
    .verb = actions,
    .verbs = sizeof actions / sizeof actions[0],
    .flag = quarantine_flags,
    .count = sizeof quarantine_flags / sizeof quarantine_flags[0],
    .operand = "VERB",
    .operand_expected = "list, show, retry or drop",
    .operands_min = 1,
    .operands_max = -1,
};

static int read_words(const struct flag_words *words, struct quarantine_arguments *a,
                      enum action *action)
{
    struct quarantine_choice *choice = &a->choice;
    const struct flag_verb *verb = flags_verb(&quarantine_table, words->word[0]);
    if (!verb) {
        return FLAGS_WRONG;
    }
    if (words->count < 2) {
        return flags_wrong(&quarantine_table, "DIR",
                           "missing (expected the directory that holds the sessions)");
    }
    *action = (enum action)(verb - actions);
    choice->directory = words->word[1];
    choice->names = words->word + 2;
    choice->count = words->count - 2;
    if (*action == LIST && choice->count) {
        return flags_unexpected(&quarantine_table, choice->names[0]);
    }
    if (*action != LIST && !choice->count && !choice->all) {
        return flags_wrong(
            &quarantine_table, "NAME",
            "missing (expected names that gpufl quarantine list shows, or --all)");
    }
    return FLAGS_GO_ON;
}

static int retry_chosen(struct quarantine_arguments *a)
{
    if (!a->backend.backend_url || !*a->backend.backend_url) {
        return flags_wrong(&quarantine_table, "--backend-url",
                           "missing (give it, or set GPUFL_BACKEND_URL)");
    }
    a->backend.option_name = upload_names_of(a->backend.backend_url);
    a->backend.token = a->key;
    return quarantine_act_retry(&a->choice, &a->backend);
}

int verb_quarantine(int argc, char **argv)
{
    struct flag_words words = {argv, argc};
    struct quarantine_arguments a = {
        .backend = {.user_agent = "gpufl/" GPUFL_VERSION,
                    .connect_timeout_ms = GPUFL_UPLOAD_CONNECT_TIMEOUT_MS,
                    .read_timeout_ms = GPUFL_UPLOAD_READ_TIMEOUT_MS,
                    .total_timeout_ms = GPUFL_UPLOAD_TOTAL_TIMEOUT_MS}};
    int rc = flags_read(&quarantine_table, &words, &a);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    enum action action = LIST;
    rc = read_words(&words, &a, &action);
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    switch (action) {
    case LIST:
        return quarantine_look_list(&a.choice, a.json);
    case SHOW:
        return quarantine_look_show(&a.choice);
    case RETRY:
        return retry_chosen(&a);
    case DROP:
        break;
    }
    return quarantine_act_drop(&a.choice);
}
