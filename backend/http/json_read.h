/* SPDX-License-Identifier: Apache-2.0 */
/* What senders say in JSON: objects, counts, names. */
#ifndef GPUFL_BACKEND_HTTP_JSON_READ_H
#define GPUFL_BACKEND_HTTP_JSON_READ_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Parses one whole object of at most PROTOCOL_MAX_LIST_BYTES; json_object_put it.
 * \return NULL if \p text is anything else. */
struct json_object *json_read_object(const char *text, size_t len);

/** Reads a whole number from 0 to \p max. \return false if there is none. */
bool json_read_count(struct json_object *from, const char *key, int64_t max,
                     int64_t *out);

/** Reads true or false; a missing one is false. \return false if it is something else. */
bool json_read_truth(struct json_object *from, const char *key, bool *out);

/** Reads a string shorter than \p size. \return false if there is none. */
bool json_read_name(struct json_object *from, const char *key, char *out, size_t size);

#endif
