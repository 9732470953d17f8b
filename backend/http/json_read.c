/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON of a bounded size and depth from the bodies of requests. */
#include "backend/http/json_read.h"

#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "schema/protocol.h"

#define LIST_DEPTH 6
#define TREE_BYTES (32u << 20)

struct json_object *json_read_object(const char *text, size_t len)
{
    if (len > PROTOCOL_MAX_LIST_BYTES || !json_is_object(text, len, LIST_DEPTH) ||
        json_tree_bytes(text, len) > TREE_BYTES) {
        return NULL;
    }
    struct json_tokener *tokener = json_tokener_new_ex(LIST_DEPTH + 1);
    if (!tokener) {
        return NULL;
    }
    struct json_object *root = json_tokener_parse_ex(tokener, text, (int)len);
    json_tokener_free(tokener);
    if (!json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        root = NULL;
    }
    return root;
}

bool json_read_count(struct json_object *from, const char *key, int64_t max, int64_t *out)
{
    struct json_object *value;
    if (!json_object_object_get_ex(from, key, &value) ||
        !json_object_is_type(value, json_type_int)) {
        return false;
    }
    *out = json_object_get_int64(value);
    return *out >= 0 && *out <= max;
}

bool json_read_truth(struct json_object *from, const char *key, bool *out)
{
    struct json_object *value;
    *out = false;
    if (!json_object_object_get_ex(from, key, &value)) {
        return true;
    }
    *out = json_object_get_boolean(value);
    return json_object_is_type(value, json_type_boolean);
}

bool json_read_name(struct json_object *from, const char *key, char *out, size_t size)
{
    struct json_object *value;
    if (!json_object_object_get_ex(from, key, &value) ||
        !json_object_is_type(value, json_type_string)) {
        return false;
    }
    const char *text = json_object_get_string(value);
    size_t len = (size_t)json_object_get_string_len(value);
    if (len >= size || strlen(text) != len) {
        return false;
    }
    snprintf(out, size, "%s", text);
    return true;
}
