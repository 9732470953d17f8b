/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of strings of the JSON file. */
#include "agent/options/config_list.h"

#include <json-c/json.h>
#include <string.h>

#include "base/flag.h"
#include "base/text.h"

static const char *element_text(struct json_object *array, size_t i)
{
    const char *text = json_object_get_string(json_object_array_get_idx(array, i));
    return text ? text : "";
}

bool config_list_is_of_strings(struct json_object *value)
{
    bool strings = json_object_is_type(value, json_type_array);
    for (size_t i = 0; strings && i < json_object_array_length(value); i++) {
        strings =
            json_object_is_type(json_object_array_get_idx(value, i), json_type_string);
    }
    return strings;
}

const char *config_list_fault(struct json_object *value)
{
    bool array = json_object_is_type(value, json_type_array);
    for (size_t i = 0; array && i < json_object_array_length(value); i++) {
        if (flag_is_blank(element_text(value, i))) {
            return "one of its elements is empty";
        }
        if (strchr(element_text(value, i), ',')) {
            return "one of its elements contains a comma";
        }
    }
    return NULL;
}

char *config_list_joined(struct json_object *value)
{
    struct text list = {0};
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        text_printf(&list, "%s%s", i ? "," : "", element_text(value, i));
    }
    text_append(&list, "", 1);
    if (list.failed) {
        text_fini(&list);
    }
    return list.data;
}
