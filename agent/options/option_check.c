/* SPDX-License-Identifier: Apache-2.0 */
/* Required options, and those that only some values of others allow. */
#include "agent/options/option_check.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/address.h"
#include "base/flag.h"
#include "base/message.h"
#include "schema/layout.h"

#define UID_DIGITS_MAX 10

static bool is_empty(const char *text)
{
    return !text || !*text;
}

static gpufl_status check_required(const struct options *o, char why[512])
{
    const struct option_row *folders = option_of_field(offsetof(struct options, folders));
    char name[OPTION_NAME_MAX];
    if (!is_empty(o->folders) && !o->folders[strspn(o->folders, ", \t")]) {
        snprintf(why, 512,
                 "%s: '%.*s%s': names no directory (give paths, with commas in between)",
                 option_name_used(o, folders, name), MESSAGE_VALUE(o->folders, 100));
        return GPUFL_ERR_USAGE;
    }
    if (is_empty(o->folder) && is_empty(o->folders)) {
        snprintf(why, 512,
                 "--folder: no directory to follow (give --folder=DIR or set "
                 "GPUFL_SOURCE_FOLDER)");
        return GPUFL_ERR_USAGE;
    }
    if (is_empty(o->host)) {
        snprintf(why, 512,
                 "--host: no backend (give --host=scheme://host[:port] or set "
                 "GPUFL_HTTP_HOST)");
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* With --type=http, as in a file that serves both, settings of Kafka mean nothing. */
static gpufl_status check_publisher(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    const struct option_row *type = option_of_field(offsetof(struct options, type));
    bool chosen = o->source[type - option_rows] != SOURCE_DEFAULT;
    if (strcmp(o->type, "http") != 0) {
        snprintf(why, 512,
                 "%s: %.*s%s is not built in (use --type=http with a backend that has "
                 "/events/stream)",
                 option_name_used(o, type, name), MESSAGE_VALUE(o->type, 100));
        return GPUFL_ERR_USAGE;
    }
    for (size_t i = 0; !chosen && i < option_rows_count; i++) {
        if (option_rows[i].kind == KIND_KAFKA && o->source[i] != SOURCE_DEFAULT) {
            snprintf(why, 512, "%s: %s", option_name_used(o, &option_rows[i], name),
                     option_rows[i].help);
            return GPUFL_ERR_USAGE;
        }
    }
    return GPUFL_OK;
}

static gpufl_status check_owner(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    const struct option_row *row =
        option_of_field(offsetof(struct options, require_owner_uid));
    const char *uid = o->require_owner_uid ? o->require_owner_uid : "";
    if (uid[strspn(uid, "0123456789")] || strlen(uid) > UID_DIGITS_MAX ||
        strtoull(uid, NULL, 10) >= UINT32_MAX) {
        snprintf(why, 512,
                 "%s: invalid value '%.*s%s' (expected a numeric user ID; see id -u)",
                 option_name_used(o, row, name), MESSAGE_VALUE(uid, 100));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

static gpufl_status check_listen(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    struct address address;
    const struct option_row *row = option_of_field(offsetof(struct options, listen));
    const char *way_out = is_empty(o->listen) ? NULL : address_parse(o->listen, &address);
    if (way_out) {
        snprintf(why, 512, "%s: invalid value '%.*s%s' (%s)",
                 option_name_used(o, row, name), MESSAGE_VALUE(o->listen, 100), way_out);
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* `--token="$KEY"` where KEY is not set would mean something else than was meant. */
static gpufl_status check_empty(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        const char *const *value = (const void *)((const char *)o + row->at);
        bool given = o->source[i] == SOURCE_FLAG || o->source[i] == SOURCE_FILE;
        if (row->kind == KIND_TEXT && given && (!*value || flag_is_blank(*value))) {
            snprintf(why, 512, "%s: empty (give %s, or leave it out)",
                     option_name_used(o, row, name), row->value);
            return GPUFL_ERR_USAGE;
        }
    }
    return GPUFL_OK;
}

static gpufl_status refuse_path(const struct options *o, const struct option_row *row,
                                const char *value, const char *fault, char why[512])
{
    char name[OPTION_NAME_MAX];
    snprintf(why, 512, "%s: '%.*s%s': %s", option_name_used(o, row, name),
             MESSAGE_VALUE(value, 200), fault);
    return GPUFL_ERR_USAGE;
}

static gpufl_status check_path(const struct options *o, const struct option_row *row,
                               const char *path, char why[512])
{
    const char *fault = flag_path_fault(path);
    return fault ? refuse_path(o, row, path, fault, why) : GPUFL_OK;
}

/* As of `a,$MORE`, where MORE is not set. */
static gpufl_status check_path_list(const struct options *o, const struct option_row *row,
                                    const char *list, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (const char *at = list; *list && status == GPUFL_OK; at++) {
        char path[PATH_MAX];
        size_t len = strcspn(at, ",");
        snprintf(path, sizeof path, "%.*s", (int)len, at);
        status = flag_is_blank(path)
                     ? refuse_path(o, row, list,
                                   "one of its elements is empty (give paths, with "
                                   "commas in between)",
                                   why)
                     : check_path(o, row, path, why);
        at += len;
        if (!*at) {
            break;
        }
    }
    return status;
}

static gpufl_status check_paths(const struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        const char *const *value = (const void *)((const char *)o + row->at);
        if (row->kind == KIND_TEXT && row->value && *value &&
            (strncmp(row->value, "DIR", 3) == 0 || strcmp(row->value, "FILE") == 0)) {
            status = row->adds ? check_path_list(o, row, *value, why)
                               : check_path(o, row, *value, why);
        }
    }
    return status;
}

static gpufl_status check_version(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    const struct option_row *row = option_of_field(offsetof(struct options, api_version));
    if (!layout_name_ok(o->api_version)) {
        snprintf(why, 512, "%s: invalid value '%.*s%s' (expected a version such as v1)",
                 option_name_used(o, row, name), MESSAGE_VALUE(o->api_version, 100));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

/* Without --exit-if-empty, it waits for the first session of this run. */
static gpufl_status check_exit(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    const struct option_row *row =
        option_of_field(offsetof(struct options, exit_if_empty));
    if (o->exit_if_empty && o->exit_when_drained && o->ignore_preexisting) {
        snprintf(why, 512,
                 "%s: with --ignore-preexisting, the agent would exit before it sends "
                 "anything (leave one of the two out)",
                 option_name_used(o, row, name));
        return GPUFL_ERR_USAGE;
    }
    return GPUFL_OK;
}

gpufl_status option_check(const struct options *o, char why[512])
{
    gpufl_status status = check_empty(o, why);
    status = status == GPUFL_OK ? check_required(o, why) : status;
    status = status == GPUFL_OK ? check_paths(o, why) : status;
    status = status == GPUFL_OK ? check_publisher(o, why) : status;
    status = status == GPUFL_OK ? check_version(o, why) : status;
    status = status == GPUFL_OK ? check_owner(o, why) : status;
    status = status == GPUFL_OK ? check_exit(o, why) : status;
    return status == GPUFL_OK ? check_listen(o, why) : status;
}
