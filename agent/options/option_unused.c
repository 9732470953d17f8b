/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for options without effect, and for values that do what nobody wants: whoever
 * gave one expects something else of it. */
#include "agent/options/option_unused.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "agent/options/option_find.h"
#include "agent/options/option_value.h"

/* For so long, NFS may show the size that a file had (acregmax, acdirmax). */
#define ORPHAN_SHORT_MS 60000u

static bool unused_is_given(const struct options *o, size_t field)
{
    return o->source[option_of_field(field) - option_rows] != SOURCE_DEFAULT;
}

static bool unused_text(const char *text)
{
    return text && *text;
}

void option_unused_each(const struct options *o, option_unused_say *say, void *arg)
{
    bool plain = o->host && strncasecmp(o->host, "https://", 8) != 0;
    bool memory = o->state == STATE_IN_MEMORY;
    const struct {
        size_t field;
        bool unused;
        const char *why;
    } row[] = {
        {offsetof(struct options, token), unused_text(o->token_file),
         "the file with the API key takes precedence"},
        {offsetof(struct options, exit_if_empty),
         o->exit_if_empty && !o->exit_when_drained, "it needs --exit-when-drained"},
        {offsetof(struct options, state_dir), memory && unused_text(o->state_dir),
         "--state=memory keeps no journal"},
        {offsetof(struct options, same_origin), memory && o->same_origin,
         "--state=memory keeps no journal"},
        {offsetof(struct options, zstd_level),
         o->compression == COMPRESS_GZIP || o->compression == COMPRESS_NONE,
         "nothing is compressed by zstd"},
        {offsetof(struct options, delete_acked),
         o->retain_acked_payloads && o->delete_acked != DELETE_ACKED_NEVER,
         "--retain-acked-payloads takes precedence"},
        {offsetof(struct options, ca_file), plain && unused_text(o->ca_file),
         "the host is an http:// address"},
        {offsetof(struct options, client_cert), plain && unused_text(o->client_cert),
         "the host is an http:// address"},
        {offsetof(struct options, client_key), plain && unused_text(o->client_key),
         "the host is an http:// address"},
        {offsetof(struct options, allow_insecure_http), !plain && o->allow_insecure_http,
         "the host is no http:// address"},
    };
    if (o->folder_unused) {
        say(arg, "source.folder", "sources takes precedence");
    }
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char name[OPTION_NAME_MAX];
        if (row[i].unused && unused_is_given(o, row[i].field)) {
            say(arg, option_name_used(o, option_of_field(row[i].field), name),
                row[i].why);
        }
    }
}

void option_doubtful_each(const struct options *o, option_unused_say *say, void *arg)
{
    char name[OPTION_NAME_MAX];
    if (o->orphan_timeout_ms && o->orphan_timeout_ms < ORPHAN_SHORT_MS) {
        say(arg,
            option_name_used(
                o, option_of_field(offsetof(struct options, orphan_timeout_ms)), name),
            "less than a minute: jobs that run may be taken for ended, since NFS shows "
            "what they write that late (give 1m or more; a number without a unit is "
            "seconds)");
    }
}

static void warn_doubtful(void *log, const char *name, const char *why)
{
    log_warn(log, "option.doubtful", "option=%s note=\"%s\"", name, why);
}

static void warn_unused(void *log, const char *name, const char *why)
{
    log_warn(log, "option.unused", "option=%s note=\"it changes nothing: %s\"", name,
             why);
}

void option_unused_warn(const struct log *log, const struct options *options)
{
    struct log copy = *log;
    option_unused_each(options, warn_unused, &copy);
    option_doubtful_each(options, warn_doubtful, &copy);
}
