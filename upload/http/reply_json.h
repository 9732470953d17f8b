/* SPDX-License-Identifier: Apache-2.0 */
/* Values in the JSON of a reply, which may be anything. */
#ifndef GPUFL_UPLOAD_HTTP_REPLY_JSON_H
#define GPUFL_UPLOAD_HTTP_REPLY_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/** \return the object that \p body is, to be released with json_object_put; NULL for
 * anything else. */
struct json_object *reply_json_parse(const char *body, size_t len);

/** \return true if \p key is there, and true. */
bool reply_json_bool(struct json_object *root, const char *key);

/** \return the value of \p key; \p missing if it is no number from 0 on. */
int64_t reply_json_count(struct json_object *root, const char *key, int64_t missing);

/** \return the text of \p key, borrowed; NULL if it is none. */
const char *reply_json_text(struct json_object *root, const char *key);

/** \return the array of \p key, borrowed; NULL if it is none. */
struct json_object *reply_json_array(struct json_object *root, const char *key);

/** \return true if \p key is an array that has \p word. */
bool reply_json_has(struct json_object *root, const char *key, const char *word);

/** \return a number that stands for the epoch that \p root names, 0 if it names none. */
uint64_t reply_json_epoch(struct json_object *root);

/** \return the same for the database that the epoch names, which is the text before its
 * first '.'; 0 if it names none. */
uint64_t reply_json_database(struct json_object *root);

#endif
