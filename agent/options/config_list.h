/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of strings in the JSON file. */
#ifndef GPUFL_AGENT_OPTIONS_CONFIG_LIST_H
#define GPUFL_AGENT_OPTIONS_CONFIG_LIST_H

#include <stdbool.h>

struct json_object;

/** Whether \p value is an array of nothing but strings. */
bool config_list_is_of_strings(struct json_object *value);

/** \return what is wrong with an element of \p value, which would be none or several once
 * they are joined; NULL = nothing, or \p value is no array. */
const char *config_list_fault(struct json_object *value);

/** \return the elements of the array \p value as the flags take a list, with commas in
 * between; the caller frees. NULL = out of memory. */
char *config_list_joined(struct json_object *value);

#endif
