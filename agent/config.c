/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the JSON file and hands each value to the option table. */
#include "agent/config.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BYTES 65536u
#define MAX_DEPTH 8

static gpufl_status fail(char why[512], const char *path, const char *what)
{
    snprintf(why, 512, "configuration file %.200s: %.250s", path, what);
    return GPUFL_ERR_USAGE;
}

/* A list of strings as the flags take it: joined by commas. */
static void join(struct json_object *array, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s", used ? "," : "",
                 json_object_get_string(json_object_array_get_idx(array, i)));
    }
}

static gpufl_status set_value(struct options *out, const char *group, const char *key,
                              struct json_object *value, const char *path, char why[512])
{
    char name[128];
    char text[4096];
    char detail[512];
    snprintf(name, sizeof name, "%s.%s", group, key);
    if (json_object_is_type(value, json_type_array)) {
        join(value, text, sizeof text);
    } else {
        const char *string = json_object_get_string(value);
        snprintf(text, sizeof text, "%s", string ? string : "");
    }
    gpufl_status status = options_set_json(out, name, text, detail);
    if (status == GPUFL_ERR_NOT_FOUND) {
        snprintf(detail, sizeof detail, "unknown key \"%.100s\"; remove or correct it",
                 name);
    }
    return status == GPUFL_OK ? status : fail(why, path, detail);
}

static gpufl_status read_group(struct options *out, const char *group,
                               struct json_object *object, const char *path,
                               char why[512])
{
    gpufl_status status = GPUFL_OK;
    if (!json_object_is_type(object, json_type_object)) {
        return fail(why, path, "a group is no object");
    }
    json_object_object_foreach(object, key, value)
    {
        if (status == GPUFL_OK) {
            status = set_value(out, group, key, value, path, why);
        }
    }
    return status;
}

/* Several sources become one list of folders; their log types must agree. */
static gpufl_status read_sources(struct options *out, struct json_object *array,
                                 const char *path, char why[512])
{
    gpufl_status status = GPUFL_OK;
    char folders[4096] = "";
    for (size_t i = 0; status == GPUFL_OK && i < json_object_array_length(array); i++) {
        status =
            read_group(out, "source", json_object_array_get_idx(array, i), path, why);
        size_t used = strlen(folders);
        if (status == GPUFL_OK && out->folder) {
            snprintf(folders + used, sizeof folders - used, "%s%s", used ? "," : "",
                     out->folder);
        }
    }
    free(out->folders);
    out->folders = strdup(folders);
    free(out->folder);
    out->folder = NULL;
    return status;
}

static gpufl_status read_root(struct options *out, struct json_object *root,
                              const char *path, char why[512])
{
    static const char *const groups[] = {"source", "publisher", "archiver", "agent"};
    gpufl_status status = GPUFL_OK;
    json_object_object_foreach(root, key, value)
    {
        bool known = false;
        if (status != GPUFL_OK) {
            break;
        }
        if (strcmp(key, "sources") == 0 && json_object_is_type(value, json_type_array)) {
            status = read_sources(out, value, path, why);
            continue;
        }
        for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
            known = known || strcmp(key, groups[i]) == 0;
        }
        status = known ? read_group(out, key, value, path, why)
                       : fail(why, path,
                              "it has a group that is none of source, sources, "
                              "publisher, agent");
    }
    return status;
}

gpufl_status config_parse(const char *text, size_t len, const char *path,
                          struct options *out, char why[512])
{
    struct json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
    if (!tokener) {
        return fail(why, path, "out of memory");
    }
    struct json_object *root = json_tokener_parse_ex(tokener, text, (int)len);
    char detail[200];
    snprintf(detail, sizeof detail, "%s at byte %zu",
             json_tokener_error_desc(json_tokener_get_error(tokener)),
             json_tokener_get_parse_end(tokener));
    json_tokener_free(tokener);
    gpufl_status status = json_object_is_type(root, json_type_object)
                              ? read_root(out, root, path, why)
                              : fail(why, path, root ? "it is no JSON object" : detail);
    json_object_put(root);
    return status;
}

gpufl_status config_read(const char *path, struct options *out, char why[512])
{
    char text[MAX_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    int saved = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return fail(why, path, strerror(saved));
    }
    if ((size_t)n == sizeof text) {
        return fail(why, path, "it is larger than 64 KiB");
    }
    return config_parse(text, (size_t)n, path, out, why);
}
