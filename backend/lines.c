/* SPDX-License-Identifier: Apache-2.0 */
/* Every line is checked by bytes; only the few that are shown are parsed. */
#include "backend/lines.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/records.h"

#define TYPE_WITHIN 64u
#define JSON_DEPTH  16

static const char *const device_types[] = {"kernel_event_batch",       "kernel_detail",
                                           "memcpy_event_batch",       "memset_event",
                                           "kernel_perf_metric_event", "sass_config"};
static const char *const scope_types[] = {
    "scope_event_batch",        "profile_sample_batch",        "pm_sample_batch",
    "pm_sampling_config",       "synchronization_event_batch", "memory_alloc_event_batch",
    "nvtx_marker_event",        "graph_launch_event",          "graph_node_definition",
    "perf_metric_event",        "execution_signature",         "deep_window_event",
    "deep_window_rule_summary", "counter_data_quality_summary"};
static const char *const system_types[] = {"device_metric_batch", "host_metric_batch",
                                           "system_start", "system_stop"};
static const char *const sass_types[] = {"cubin_disassembly", "source_file_content",
                                         "ptx_disassembly"};

static const struct {
    const char *channel;
    const char *const *type;
    size_t count;
} channels[] = {
    {"device", device_types, sizeof device_types / sizeof *device_types},
    {"scope", scope_types, sizeof scope_types / sizeof *scope_types},
    {"system", system_types, sizeof system_types / sizeof *system_types},
    {"sass", sass_types, sizeof sass_types / sizeof *sass_types},
};

/* The record's type, by the first `"type":"` near the line's start. */
static bool type_of(const char *line, size_t len, char out[64])
{
    static const char key[] = "\"type\":\"";
    size_t window = len < TYPE_WITHIN ? len : TYPE_WITHIN;
    const char *at = memmem(line, window, key, sizeof key - 1);
    if (!at) {
        return false;
    }
    at += sizeof key - 1;
    const char *end = memchr(at, '"', len - (size_t)(at - line));
    size_t n = end ? (size_t)(end - at) : 0;
    if (n == 0 || n >= 64) {
        return false;
    }
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

static void note_channel(struct lines *out, const char *type)
{
    for (size_t c = 0; !out->channel[0] && c < sizeof channels / sizeof *channels; c++) {
        for (size_t i = 0; i < channels[c].count; i++) {
            if (strcmp(type, channels[c].type[i]) == 0) {
                strcpy(out->channel, channels[c].channel);
            }
        }
    }
}

static struct json_object *parse(const char *line, size_t len)
{
    struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
    struct json_object *root = NULL;
    if (tokener) {
        root = json_tokener_parse_ex(tokener, line, (int)len);
        json_tokener_free(tokener);
    }
    return root;
}

static void copy_text(struct json_object *root, const char *key, char *out, size_t size)
{
    struct json_object *value;
    if (json_object_is_type(root, json_type_object) &&
        json_object_object_get_ex(root, key, &value) &&
        json_object_is_type(value, json_type_string)) {
        snprintf(out, size, "%s", json_object_get_string(value));
    }
}

/* The names of the devices in job_start, as one text. */
static void copy_gpus(struct json_object *root, char *out, size_t size)
{
    struct json_object *devices;
    if (!json_object_object_get_ex(root, "devices", &devices) ||
        !json_object_is_type(devices, json_type_array)) {
        return;
    }
    for (size_t i = 0; i < json_object_array_length(devices); i++) {
        char name[96] = "";
        size_t used = strlen(out);
        copy_text(json_object_array_get_idx(devices, i), "name", name, sizeof name);
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
}

static int64_t number(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) ? json_object_get_int64(value)
                                                        : 0;
}

static bool add_sample(struct lines *out, struct lines_sample sample)
{
    if (out->samples == out->sample_cap) {
        size_t cap = out->sample_cap ? out->sample_cap * 2 : 64;
        struct lines_sample *more = realloc(out->sample, cap * sizeof *more);
        if (!more) {
            return false;
        }
        out->sample = more;
        out->sample_cap = cap;
    }
    out->sample[out->samples++] = sample;
    return true;
}

static int column(struct json_object *columns, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(columns); i++) {
        struct json_object *item = json_object_array_get_idx(columns, i);
        if (item && strcmp(json_object_get_string(item), name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int64_t cell(struct json_object *row, int at)
{
    struct json_object *value = at >= 0 && (size_t)at < json_object_array_length(row)
                                    ? json_object_array_get_idx(row, (size_t)at)
                                    : NULL;
    return value ? json_object_get_int64(value) : 0;
}

/* Rows by column name, as all newer readers do it. */
static bool read_metrics(struct lines *out, struct json_object *root, const char *value)
{
    struct json_object *columns;
    struct json_object *rows;
    int64_t base_ns = number(root, "base_time_ns");
    if (!json_object_object_get_ex(root, "columns", &columns) ||
        !json_object_is_type(columns, json_type_array) ||
        !json_object_object_get_ex(root, "rows", &rows) ||
        !json_object_is_type(rows, json_type_array)) {
        return true;
    }
    int dt = column(columns, "dt_ns");
    int device = column(columns, "device_id");
    int at = column(columns, value);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        if (!row || !json_object_is_type(row, json_type_array)) {
            continue;
        }
        struct lines_sample sample = {
            .ts_ns = base_ns + cell(row, dt),
            .device = device >= 0 ? (int32_t)cell(row, device) : -1,
            .value = (int32_t)cell(row, at),
        };
        if (!add_sample(out, sample)) {
            return false;
        }
    }
    return true;
}

static bool read_shown(struct lines *out, const char *type, const char *line, size_t len)
{
    bool start = strcmp(type, RECORD_JOB_START) == 0;
    bool end = strcmp(type, RECORD_SHUTDOWN) == 0;
    bool device = strcmp(type, RECORD_DEVICE_METRICS) == 0;
    bool host = strcmp(type, RECORD_HOST_METRICS) == 0;
    if (!start && !end && !device && !host) {
        return true;
    }
    struct json_object *root = parse(line, len);
    bool ok = true;
    if (root && json_object_is_type(root, json_type_object)) {
        if (start) {
            copy_text(root, "app", out->app, sizeof out->app);
            copy_text(root, "hostname", out->hostname, sizeof out->hostname);
            copy_text(root, "session_kind", out->kind, sizeof out->kind);
            copy_gpus(root, out->gpus, sizeof out->gpus);
            out->start_ns = number(root, "ts_ns");
        } else if (end) {
            out->shutdown_ns = number(root, "ts_ns");
        } else {
            ok = read_metrics(out, root, device ? "gpu_util" : "cpu_pct_x100");
        }
    }
    json_object_put(root);
    return ok;
}

/* NULL when the line may be stored. */
static const char *check(const char *line, size_t len, const char *mark, size_t mark_len,
                         char type[64])
{
    if (line[0] != '{' || line[len - 1] != '}') {
        return "not a JSON object";
    }
    if (!type_of(line, len, type)) {
        return "no type";
    }
    return memmem(line, len, mark, mark_len) ? NULL
                                             : "session_id differs from the header";
}

static void reject(struct lines *out, uint64_t line, const char *reason)
{
    out->rejected++;
    if (out->errors < LINES_ERRORS_MAX) {
        out->error[out->errors].line = line;
        out->error[out->errors++].reason = reason;
    }
}

/* Starts a copy of what is kept, once the input cannot be stored as it is. */
static bool start_copy(struct lines *out, const char *raw, size_t len, size_t upto)
{
    if (out->kept) {
        return true;
    }
    out->kept = malloc(len + 1);
    if (!out->kept) {
        return false;
    }
    memcpy(out->kept, raw, upto);
    out->kept_len = upto;
    return true;
}

static void keep(struct lines *out, const char *line, size_t len)
{
    if (out->kept) {
        memcpy(out->kept + out->kept_len, line, len);
        out->kept_len += len;
        out->kept[out->kept_len++] = '\n';
    }
}

bool lines_read(const char *raw, size_t len, const char *session, struct lines *out)
{
    char mark[LAYOUT_NAME_MAX + 32];
    char type[64];
    size_t mark_len =
        (size_t)snprintf(mark, sizeof mark, "\"session_id\":\"%s\"", session);
    *out = (struct lines){0};
    uint64_t line_number = 0;
    for (size_t at = 0; at < len;) {
        const char *line = raw + at;
        const char *newline = memchr(line, '\n', len - at);
        size_t line_len = newline ? (size_t)(newline - line) : len - at;
        size_t next = at + line_len + 1;
        const char *reason =
            line_len ? check(line, line_len, mark, mark_len, type) : "empty line";
        line_number++;
        if ((reason || !newline) && !start_copy(out, raw, len, at)) {
            return false;
        }
        if (reason) {
            reject(out, line_number, reason);
        } else {
            out->accepted++;
            keep(out, line, line_len);
            note_channel(out, type);
            if (!read_shown(out, type, line, line_len)) {
                return false;
            }
        }
        at = next;
    }
    return true;
}

void lines_fini(struct lines *lines)
{
    free(lines->kept);
    free(lines->sample);
    *lines = (struct lines){0};
}
