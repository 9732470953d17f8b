/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one flat JSON object (RFC 8259) in place: enough for a configuration file, and no
 * library in the user's process. */
#ifndef GPUFL_COLLECTOR_CORE_FLAT_JSON_H
#define GPUFL_COLLECTOR_CORE_FLAT_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum flat_json_kind {
    FLAT_STRING,
    FLAT_NUMBER, /**< text as written */
    FLAT_TRUE,
    FLAT_FALSE,
    FLAT_NULL,
    FLAT_NESTED, /**< an object or array, skipped */
};

/** Gets a member; key and value are NUL-terminated and live as long as the text. */
typedef void flat_json_visit(void *arg, const char *key, enum flat_json_kind kind,
                             const char *value);

/** Counted from 1; the column in bytes. */
struct flat_json_place {
    unsigned line, column;
};

/** Parses \p text, which is changed and must be NUL-terminated at \p len, and visits its
 * members. \return false when it is not one object; *stopped is where that shows. */
bool flat_json_parse(char *text, size_t len, flat_json_visit *visit, void *arg,
                     struct flat_json_place *stopped);

#endif
