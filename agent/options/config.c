/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the JSON file and hands each value to the option table. */
#include "agent/options/config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/options/config_list.h"
#include "agent/options/config_place.h"
#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/flag.h"
#include "base/message.h"
#include "base/named_file.h"
#include "base/nearest.h"
#include "base/text.h"

#define CONFIG_MAX_BYTES 65536u
#define CONFIG_MAX_DEPTH 8
#define CONFIG_NAME_MAX  128

static const char *const groups[] = {"source", "sources", "publisher", "archiver",
                                     "agent"};
#define GROUPS (sizeof groups / sizeof groups[0])

/* `FILE:LINE:COLUMN: what`. */
static gpufl_status config_fail_at(const struct config_text *file, size_t offset,
                                   const char *what, char why[512])
{
    unsigned line;
    unsigned column;
    config_place_line(file->text, file->len, offset, &line, &column);
    snprintf(why, 512, "%.180s:%u:%u: %.300s", file->path, line, column, what);
    return GPUFL_ERR_USAGE;
}

static gpufl_status config_fail(const struct config_text *file,
                                const struct config_key *key, const char *what,
                                char why[512])
{
    return config_fail_at(file, config_place_of(file->text, file->len, key), what, why);
}

static gpufl_status refuse_unknown(const struct config_text *file,
                                   const struct config_key *key, const char *name,
                                   char why[512])
{
    char what[300];
    const char *group = key->element < 0 ? key->group : "source";
    const char *near = key->key ? option_nearest_key(group, key->key)
                                : nearest_name(name, groups, GROUPS);
    near = near || key->key ? near : option_nearest_key(NULL, name);
    snprintf(what, sizeof what, "%.100s: unknown key%s%s%s", name,
             near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return config_fail(file, key, what, why);
}

static bool option_takes_list(const struct option_row *row)
{
    return row->adds || row == option_of_field(offsetof(struct options, log_types));
}

/* A number or a switch may be written as a string, as in the environment, and an id as a
 * number. What its words do not fit is said by option_set(). */
static bool config_type_fits(const struct option_row *row, struct json_object *value)
{
    enum json_type type = json_object_get_type(value);
    bool is_id = row == option_of_field(offsetof(struct options, require_owner_uid));
    if (type == json_type_array) {
        return option_takes_list(row) && config_list_is_of_strings(value);
    }
    return type != json_type_object &&
           (row->kind != KIND_TEXT || is_id || type == json_type_string);
}

static const char *config_found(struct json_object *value)
{
    return json_object_is_type(value, json_type_object)  ? "an object"
           : json_object_is_type(value, json_type_array) ? "an array"
           : value                                       ? json_object_get_string(value)
                                                         : "null";
}

static gpufl_status set_value(struct options *out, const struct config_text *file,
                              const struct config_key *key, struct json_object *value,
                              char why[512])
{
    char name[CONFIG_NAME_MAX];
    char detail[512];
    snprintf(name, sizeof name, "%s.%s", key->element < 0 ? key->group : "source",
             key->key);
    const struct option_row *row = option_of_key(name);
    if (!row) {
        return refuse_unknown(file, key, name, why);
    }
    if (option_is_built(row) && !config_type_fits(row, value)) {
        bool list = option_takes_list(row);
        snprintf(detail, sizeof detail, "%s: expected a %s%s, found %.100s", name,
                 row->kind == KIND_SWITCH ? "boolean" : "string",
                 list ? " or an array of strings" : "", config_found(value));
        return config_fail(file, key, detail, why);
    }
    const char *text = json_object_get_string(value);
    bool blank =
        row->kind == KIND_TEXT && key->element < 0 && text && flag_is_blank(text);
    const char *fault = option_is_built(row) ? config_list_fault(value) : NULL;
    if (fault || blank) {
        snprintf(detail, sizeof detail, "%s: %s (give %s%s)", name,
                 fault ? fault : "empty", fault ? "each" : row->value,
                 fault ? " an element of its own" : ", or leave it out");
        return config_fail(file, key, detail, why);
    }
    char *list =
        json_object_is_type(value, json_type_array) ? config_list_joined(value) : NULL;
    text = list ? list : text;
    struct option_setter by = {.source = SOURCE_FILE, .name = name};
    gpufl_status status = option_set(out, row, by, text ? text : "", detail);
    free(list);
    return status == GPUFL_OK ? GPUFL_OK : config_fail(file, key, detail, why);
}

static gpufl_status read_group(struct options *out, const struct config_text *file,
                               const struct config_key *group, struct json_object *object,
                               char why[512])
{
    gpufl_status status = GPUFL_OK;
    if (!json_object_is_type(object, json_type_object)) {
        char detail[CONFIG_NAME_MAX];
        snprintf(detail, sizeof detail, "%s: expected an object", group->group);
        return config_fail(file, group, detail, why);
    }
    json_object_object_foreach(object, name, value)
    {
        struct config_key key = *group;
        key.key = name;
        if (status == GPUFL_OK) {
            status = set_value(out, file, &key, value, why);
        }
    }
    return status;
}

/* \return the log types of an element, malloc'd; NULL = it has none. */
static char *types_of(struct json_object *element)
{
    struct json_object *types;
    if (!json_object_object_get_ex(element, "logTypes", &types)) {
        return NULL;
    }
    if (json_object_is_type(types, json_type_array)) {
        return config_list_joined(types);
    }
    const char *text = json_object_get_string(types);
    return text ? strdup(text) : NULL;
}

/* One set of channels holds for all folders: the last one would win. */
static gpufl_status check_types(const struct config_text *file, struct json_object *array,
                                const struct config_key *group, char why[512])
{
    struct json_object *element =
        json_object_array_get_idx(array, (size_t)group->element);
    char *first = types_of(json_object_array_get_idx(array, 0));
    char *types = types_of(element);
    bool same = first && types ? strcmp(first, types) == 0 : first == types;
    gpufl_status status = GPUFL_OK;
    if (!same) {
        struct config_key key = *group;
        char detail[400];
        key.key = types ? "logTypes" : NULL;
        snprintf(detail, sizeof detail,
                 "sources.logTypes: '%.100s': the first source has '%.100s' (give all of "
                 "them the same, or start a second agent)",
                 types ? types : "", first ? first : "");
        status = config_fail(file, &key, detail, why);
    }
    free(first);
    free(types);
    return status;
}

/* What was set before has no say beside `sources`. */
static void config_forget_folder(struct options *out)
{
    free(out->folder);
    out->folder = NULL;
    out->source[option_of_field(offsetof(struct options, folder)) - option_rows] =
        SOURCE_DEFAULT;
}

/* Several sources become one list of folders. */
static gpufl_status read_sources(struct options *out, const struct config_text *file,
                                 struct json_object *array, char why[512])
{
    gpufl_status status = GPUFL_OK;
    struct text folders = {0};
    for (size_t i = 0; status == GPUFL_OK && i < json_object_array_length(array); i++) {
        struct config_key group = {.group = "sources", .element = (int)i};
        config_forget_folder(out);
        status = read_group(out, file, &group, json_object_array_get_idx(array, i), why);
        status = status == GPUFL_OK ? check_types(file, array, &group, why) : status;
        bool blank = out->folder && flag_is_blank(out->folder);
        bool several = out->folder && strchr(out->folder, ',');
        if (status == GPUFL_OK && (blank || several)) {
            group.key = "folder";
            status =
                config_fail(file, &group,
                            blank ? "sources.folder: empty (give DIR)"
                                  : "sources.folder: several directories (give each a "
                                    "source of its own)",
                            why);
        } else if (status == GPUFL_OK && out->folder) {
            text_printf(&folders, "%s%s", folders.len ? "," : "", out->folder);
        }
    }
    text_append(&folders, "", 1);
    if (status == GPUFL_OK && folders.failed) {
        snprintf(why, 512, "%.180s: out of memory", file->path);
        status = GPUFL_ERR_NOMEM;
    }
    if (status == GPUFL_OK) {
        const struct option_row *row = option_of_field(offsetof(struct options, folders));
        struct option_setter by = {.source = SOURCE_FILE, .name = "sources"};
        status = option_set(out, row, by, folders.data, why);
    }
    text_fini(&folders);
    config_forget_folder(out);
    return status;
}

static bool is_group(const char *name)
{
    for (size_t i = 0; i < GROUPS; i++) {
        if (strcmp(groups[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static gpufl_status read_root(struct options *out, const struct config_text *file,
                              struct json_object *root, char why[512])
{
    gpufl_status status = GPUFL_OK;
    json_object_object_foreach(root, name, value)
    {
        struct config_key key = {.group = name, .element = -1};
        if (status != GPUFL_OK) {
            break;
        }
        if (strcmp(name, "sources") != 0) {
            status = is_group(name) ? read_group(out, file, &key, value, why)
                                    : refuse_unknown(file, &key, name, why);
        } else if (json_object_is_type(value, json_type_array)) {
            status = read_sources(out, file, value, why);
        } else {
            status = config_fail(file, &key, "sources: expected an array", why);
        }
    }
    if (json_object_object_get_ex(root, "sources", NULL)) {
        out->folder_unused = out->folder_unused || out->folder;
        config_forget_folder(out); /* also behind it */
    }
    return status;
}

/* Whether there is text at \p at that is no comment, which json-c takes. */
static bool config_has_text(const struct config_text *file, size_t at)
{
    return at < file->len && file->text[at] != '/';
}

static size_t config_skip_blanks(const struct config_text *file, size_t at)
{
    while (at < file->len && strchr(" \t\r\n", file->text[at]) && file->text[at]) {
        at++;
    }
    return at;
}

/* json-c asks for more where `null` or a number ends, since a digit could follow. */
static gpufl_status config_fail_to_parse(const struct config_text *file,
                                         enum json_tokener_error error, size_t end,
                                         char why[512])
{
    size_t first = config_skip_blanks(file, 0);
    if (file->len >= 3 && memcmp(file->text, "\xef\xbb\xbf", 3) == 0) {
        return config_fail_at(file, 0, "a byte order mark (save it without one)", why);
    }
    if (error != json_tokener_continue) {
        return config_fail_at(file, end, json_tokener_error_desc(error), why);
    }
    if (config_has_text(file, first) && file->text[first] != '{') {
        return config_fail_at(file, first, "expected a JSON object", why);
    }
    return config_fail_at(file, end, "unexpected end of file", why);
}

/* For json-c, a string ends there: the rest of a name or a value would be lost. */
static gpufl_status config_refuse_nul(const struct config_text *file, char why[512])
{
    for (size_t at = 0; at < file->len; at++) {
        bool escape = file->text[at] == '\\' && at + 1 < file->len;
        if (file->text[at] == '\0' ||
            (escape && file->len - at >= 6 && !memcmp(&file->text[at], "\\u0000", 6))) {
            return config_fail_at(file, at, "contains a NUL character (remove it)", why);
        }
        at += escape;
    }
    return GPUFL_OK;
}

/* json-c has kept the last value of such a name. */
static gpufl_status config_refuse_twice(const struct config_text *file, char why[512])
{
    struct config_twice twice;
    char what[200];
    unsigned line;
    unsigned column;
    if (!config_place_twice(file->text, file->len, &twice)) {
        return GPUFL_OK;
    }
    config_place_line(file->text, file->len, (size_t)(twice.first - file->text), &line,
                      &column);
    snprintf(what, sizeof what, "%.*s: given twice (remove it here or at %u:%u)",
             (int)(twice.len > 102 ? 100 : twice.len - 2), twice.first + 1, line, column);
    return config_fail_at(file, (size_t)(twice.again - file->text), what, why);
}

gpufl_status config_parse(const struct config_text *file, struct options *out,
                          char why[512])
{
    struct json_tokener *tokener = json_tokener_new_ex(CONFIG_MAX_DEPTH);
    if (!tokener) {
        snprintf(why, 512, "%.180s: out of memory", file->path);
        return GPUFL_ERR_NOMEM;
    }
    struct json_object *root = json_tokener_parse_ex(tokener, file->text, (int)file->len);
    enum json_tokener_error error = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (error != json_tokener_success) {
        return config_fail_to_parse(file, error, end, why);
    }
    size_t rest = config_skip_blanks(file, end);
    gpufl_status status = GPUFL_ERR_USAGE;
    if (!json_object_is_type(root, json_type_object)) {
        config_fail_at(file, config_skip_blanks(file, 0), "expected a JSON object", why);
    } else if (config_has_text(file, rest)) {
        config_fail_at(file, rest, "unexpected text behind the object", why);
    } else {
        status = config_refuse_nul(file, why);
        status = status == GPUFL_OK ? read_root(out, file, root, why) : status;
        status = status == GPUFL_OK ? config_refuse_twice(file, why) : status;
    }
    json_object_put(root);
    return status;
}

gpufl_status config_read(const char *path, struct options *out, char why[512])
{
    char text[CONFIG_MAX_BYTES];
    const char *fault;
    int fd = named_file_open(path, &fault);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (n < 0 && !fault) {
        fault = strerror(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        snprintf(why, 512, "--config: cannot read %.*s%s: %s%s", MESSAGE_VALUE(path, 300),
                 fault, message_way_out(fault, " (give a JSON file that can be read)"));
        return GPUFL_ERR_USAGE;
    }
    if ((size_t)n == sizeof text) {
        snprintf(why, 512, "--config: %.300s is too large (maximum 64 KiB)", path);
        return GPUFL_ERR_USAGE;
    }
    struct config_text file = {.path = path, .text = text, .len = (size_t)n};
    return config_parse(&file, out, why);
}
