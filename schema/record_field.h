/* SPDX-License-Identifier: Apache-2.0 */
/* Finds single members of a record without parsing all of it: what decides where a line
 * goes is told by its `type` and `session_id`, however the writer set its spaces. */
#ifndef GPUFL_SCHEMA_RECORD_FIELD_H
#define GPUFL_SCHEMA_RECORD_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A string as it stands in its line: no quotes, escapes left as they are. Borrowed of
 * the line. */
struct record_text {
    const char *at;
    size_t len;
};

/** Whether \p line begins and ends as an object: no backend stores another. It need not
 * be JSON, which some writers do not escape what they write for. */
bool record_field_in_object(const char *line, size_t len);

/** The string that the top-level member \p key of \p line holds. Reads no further than
 * that member, so the line may be cut behind it. \return false when there is no such
 * member before the line ends or stops being JSON, or when it is not a string. */
bool record_field_text(const char *line, size_t len, const char *key,
                       struct record_text *out);

/** True when the top-level member \p key of \p line is the string \p value. */
bool record_field_is(const char *line, size_t len, const char *key, const char *value);

/** Takes the first member off \p rest, which at first is a line, or an object in it:
 * \p name without its quotes, \p value as it stands there. \return false when there is
 * none before the line ends or stops being JSON. */
bool record_field_next(struct record_text *rest, struct record_text *name,
                       struct record_text *value);

/** \return how many top-level members of \p line have \p key for their key, also spelled
 * with \\u escapes, up to where the line stops being JSON. */
unsigned record_field_times(const char *line, size_t len, const char *key);

/** \return how many top-level members \p line has whose keys contain no escapes. */
unsigned record_field_members(const char *line, size_t len);

/** The same as record_field_text for a member that is an integer in [0, INT64_MAX], with
 * a character behind its last digit: a number that is cut is none. */
bool record_field_int64(const char *line, size_t len, const char *key, int64_t *out);

#endif
