/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON of bounded depth, and takes nothing for what it is not. */
#include "upload/http/reply_json.h"

#include <json-c/json.h>
#include <string.h>

#include "base/hash.h"

#define MAX_DEPTH 16

struct json_object *reply_json_parse(const char *body, size_t len)
{
    struct json_tokener *tokener =
        len <= INT32_MAX ? json_tokener_new_ex(MAX_DEPTH) : NULL;
    if (!tokener) {
        return NULL;
    }
    struct json_object *root = json_tokener_parse_ex(tokener, body, (int)len);
    json_tokener_free(tokener);
    if (root && !json_object_is_type(root, json_type_object)) {
        json_object_put(root);
        root = NULL;
    }
    return root;
}

bool reply_json_bool(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) &&
           json_object_is_type(value, json_type_boolean) &&
           json_object_get_boolean(value);
}

int64_t reply_json_count(struct json_object *root, const char *key, int64_t missing)
{
    struct json_object *value;
    if (!json_object_object_get_ex(root, key, &value) ||
        !json_object_is_type(value, json_type_int)) {
        return missing;
    }
    int64_t number = json_object_get_int64(value);
    return number >= 0 ? number : missing;
}

const char *reply_json_text(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

struct json_object *reply_json_array(struct json_object *root, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(root, key, &value) &&
                   json_object_is_type(value, json_type_array)
               ? value
               : NULL;
}

bool reply_json_has(struct json_object *root, const char *key, const char *word)
{
    struct json_object *array = reply_json_array(root, key);
    for (size_t i = 0; array && i < json_object_array_length(array); i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        if (json_object_is_type(item, json_type_string) &&
            strcmp(json_object_get_string(item), word) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t reply_json_hash(const char *text, size_t len)
{
    uint64_t hash = hash64_bytes(HASH64_BASIS, text, len);
    return hash ? hash : 1;
}

uint64_t reply_json_epoch(struct json_object *root)
{
    const char *text = reply_json_text(root, "epoch");
    return text ? reply_json_hash(text, strlen(text)) : 0;
}

uint64_t reply_json_database(struct json_object *root)
{
    const char *text = reply_json_text(root, "epoch");
    const char *dot = text ? strchr(text, '.') : NULL;
    return dot ? reply_json_hash(text, (size_t)(dot - text)) : 0;
}
