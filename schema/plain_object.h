/* SPDX-License-Identifier: Apache-2.0 */
/* Small JSON objects of the directory protocol, read without a tree: they are read at
 * each look at a session. None is trusted. */
#ifndef GPUFL_SCHEMA_PLAIN_OBJECT_H
#define GPUFL_SCHEMA_PLAIN_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/record_field.h"

/** Most members of one. */
#define PLAIN_OBJECT_MEMBERS_MAX 128u

/** Reads the values of the \p count members \p keys, as they stand in \p text; all zero
 * if one is not there. \p text is one JSON object, as base/json_text.h tells. \return
 * false if a key is there twice or with escapes, as other readers may take another one
 * then, or if it has too many. */
bool plain_object_read(const char *text, size_t len, const char *const *keys,
                       unsigned count, struct record_text *out);

/** \return true if \p text is spelled so. */
bool plain_object_is(struct record_text text, const char *as);

/** \return true if the value is an object. */
bool plain_object_has_object(struct record_text value);

/** \return the value if it is an integer in [0, max]; -1 otherwise. */
int64_t plain_object_int(struct record_text value, int64_t max);

/** \return the string that the value is, escapes as they are; empty for any other. */
struct record_text plain_object_string(struct record_text value);

/** Copies it, cut where \p size ends. */
void plain_object_copy(struct record_text value, char *out, size_t size);

#endif
