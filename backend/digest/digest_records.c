/* SPDX-License-Identifier: Apache-2.0 */
/* Digests single records, which are few enough to parse with json-c. */
#include "backend/digest/digest_records.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/digest/wrap.h"
#include "schema/column_names.h"

#define JSON_DEPTH       16
#define NAME_BYTES_MAX   65536u
#define TEXT_BYTES_MAX   (1u << 20)
#define SOURCE_BYTES_MAX (4u << 20)

/* NULL when the line is not a JSON object. */
static struct json_object *parse_root(const char *line, size_t len)
{
    struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
    struct json_object *root = NULL;
    if (tokener) {
        root = json_tokener_parse_ex(tokener, line, (int)len);
        json_tokener_free(tokener);
    }
    if (!json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        root = NULL;
    }
    return root;
}

static int64_t number(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) ? json_object_get_int64(value)
                                                        : 0;
}

static void copy_text(struct json_object *root, const char *key, char *out, size_t size)
{
    struct json_object *value;
    if (json_object_object_get_ex(root, key, &value) &&
        json_object_is_type(value, json_type_string)) {
        snprintf(out, size, "%s", json_object_get_string(value));
    }
}

bool digest_names(struct digest *d, const char *line, size_t len)
{
    static const struct {
        const char *key;
        enum digest_dictionary dictionary;
    } dictionaries[] = {{RECORD_KERNEL_DICT, NAMES_KERNEL},
                        {RECORD_SCOPE_NAME_DICT, NAMES_SCOPE},
                        {RECORD_FUNCTION_DICT, NAMES_FUNCTION},
                        {RECORD_METRIC_DICT, NAMES_METRIC},
                        {RECORD_SOURCE_FILE_DICT, NAMES_SOURCE_FILE}};
    struct json_object *root = parse_root(line, len);
    struct json_object *entries;
    bool ok = true;
    for (size_t i = 0; i < sizeof dictionaries / sizeof *dictionaries; i++) {
        if (!json_object_object_get_ex(root, dictionaries[i].key, &entries) ||
            !json_object_is_type(entries, json_type_object)) {
            continue;
        }
        json_object_object_foreach(entries, key, value)
        {
            if (json_object_is_type(value, json_type_string)) {
                ok = ok && digest_add_name(
                               d, dictionaries[i].dictionary, strtoll(key, NULL, 10),
                               strndup(json_object_get_string(value), NAME_BYTES_MAX));
            }
        }
    }
    json_object_put(root);
    return ok;
}

static size_t joined_bytes(struct json_object *lines)
{
    size_t bytes = 1;
    for (size_t i = 0; i < json_object_array_length(lines); i++) {
        const char *line = json_object_get_string(json_object_array_get_idx(lines, i));
        bytes += (line ? strlen(line) : 0) + 1;
    }
    return bytes;
}

/* Its lines as one text. */
static char *joined(struct json_object *lines, size_t bytes)
{
    char *text = malloc(bytes);
    char *at = text;
    for (size_t i = 0; text && i < json_object_array_length(lines); i++) {
        const char *line = json_object_get_string(json_object_array_get_idx(lines, i));
        size_t len = line ? strlen(line) : 0;
        memcpy(at, line ? line : "", len);
        at[len] = '\n';
        at += len + 1;
    }
    if (text) {
        *at = '\0';
    }
    return text;
}

bool digest_source(struct digest *d, const char *line, size_t len)
{
    struct json_object *root = parse_root(line, len);
    struct json_object *lines;
    bool ok = true;
    if (json_object_object_get_ex(root, "lines", &lines) &&
        json_object_is_type(lines, json_type_array)) {
        size_t bytes =
            joined_bytes(lines); /* a source file that is too long is not shown */
        ok = bytes > SOURCE_BYTES_MAX ||
             digest_add_name(d, NAMES_SOURCE_TEXT,
                             number(root, COLUMN(SAMPLE, source_file_id)),
                             joined(lines, bytes));
    }
    json_object_put(root);
    return ok;
}

static bool add_text_of(struct digest *d, enum digest_dictionary dictionary, int64_t id,
                        struct json_object *root, const char *key)
{
    struct json_object *value;
    if (!json_object_object_get_ex(root, key, &value) ||
        !json_object_is_type(value, json_type_string) ||
        json_object_get_string_len(value) == 0) {
        return true;
    }
    return digest_add_name(d, dictionary, id,
                           strndup(json_object_get_string(value), NAME_BYTES_MAX));
}

/* Older writers make one for each launch, which is too many to keep. */
bool digest_detail(struct digest *d, const char *line, size_t len)
{
    static const char key[] = "\"per_launch\"";
    struct json_object *root =
        memmem(line, len, key, sizeof key - 1) ? parse_root(line, len) : NULL;
    struct json_object *per_launch;
    bool ok = true;
    if (json_object_object_get_ex(root, "per_launch", &per_launch) &&
        json_object_is_type(per_launch, json_type_boolean) &&
        !json_object_get_boolean(per_launch)) {
        int64_t id = number(root, COLUMN(KERNEL, corr_id));
        ok = add_text_of(d, NAMES_LAUNCH_SCOPE, id, root, "user_scope") &&
             add_text_of(d, NAMES_LAUNCH_STACK, id, root, "stack_trace");
    }
    json_object_put(root);
    return ok;
}

bool digest_set(struct digest *d, const char *line, size_t len)
{
    struct json_object *root = parse_root(line, len);
    struct tally_key key = {.kind = TALLY_SET};
    int64_t end_ns = number(root, "end_ns");
    int64_t ns = wrap_sub(end_ns, number(root, "start_ns"));
    bool ok = !root || tally_add(&d->tallies, &key, ns, number(root, "bytes"));
    d->newest_ns = end_ns > d->newest_ns ? end_ns : d->newest_ns;
    json_object_put(root);
    return ok;
}

/* Written by json-c, because it accepts more than JSON. */
static bool keep_text(struct digest *d, enum digest_text which, struct json_object *root)
{
    const char *text = json_object_to_json_string_ext(root, JSON_C_TO_STRING_PLAIN);
    char *copy = text && strlen(text) <= TEXT_BYTES_MAX ? strdup(text) : NULL;
    bool ok = copy || (text && strlen(text) > TEXT_BYTES_MAX);
    free(d->text[which]);
    d->text[which] = copy;
    return ok;
}

/* The names of the devices in job_start, as one text. \return how many devices it has. */
static size_t copy_gpus(struct json_object *root, char *out, size_t size)
{
    struct json_object *devices;
    if (!json_object_object_get_ex(root, "devices", &devices) ||
        !json_object_is_type(devices, json_type_array)) {
        return 0;
    }
    size_t count = json_object_array_length(devices);
    for (size_t i = 0; i < count; i++) {
        char name[96] = "";
        size_t used = strlen(out);
        copy_text(json_object_array_get_idx(devices, i), "name", name, sizeof name);
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
    return count;
}

bool digest_start(struct digest *d, const char *line, size_t len)
{
    struct json_object *root = parse_root(line, len);
    struct digest_session *session = &d->session;
    if (!root) {
        return true;
    }
    copy_text(root, "app", session->app, sizeof session->app);
    copy_text(root, "hostname", session->hostname, sizeof session->hostname);
    copy_text(root, "session_kind", session->kind, sizeof session->kind);
    session->gpus[0] = '\0';
    session->devices = copy_gpus(root, session->gpus, sizeof session->gpus);
    session->start_ns = number(root, "ts_ns");
    bool ok = keep_text(d, TEXT_START, root);
    json_object_put(root);
    return ok;
}

static bool is_true(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) && json_object_get_boolean(value);
}

/* What a launcher writes for a process that was killed is no shutdown; one without a time
 * is. */
bool digest_shutdown(struct digest *d, const char *line, size_t len)
{
    struct json_object *root = parse_root(line, len);
    if (root && !is_true(root, "signaled") && !is_true(root, "crashed")) {
        int64_t ts_ns = number(root, "ts_ns");
        d->session.shutdown_ns = ts_ns > 0 ? ts_ns : 1;
    }
    json_object_put(root);
    return true;
}

bool digest_capabilities(struct digest *d, const char *line, size_t len)
{
    struct json_object *root = parse_root(line, len);
    bool ok = !root || keep_text(d, TEXT_CAPABILITIES, root);
    json_object_put(root);
    return ok;
}
