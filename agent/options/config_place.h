/* SPDX-License-Identifier: Apache-2.0 */
/* Where something stands in the text of a configuration file, for error messages: json-c
 * does not keep it. */
#ifndef GPUFL_AGENT_OPTIONS_CONFIG_PLACE_H
#define GPUFL_AGENT_OPTIONS_CONFIG_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/** A key of the file: `group`, `group.key` or `group[element].key`. */
struct config_key {
    const char *group; /**< NULL = the file itself */
    int element;       /**< of the array that the group is; -1 = it is an object */
    const char *key;   /**< NULL = the group itself */
};

/** The offset of \p key in JSON text that has been parsed; of its group where it is not
 * found, 0 where that is not found either. */
size_t config_place_of(const char *text, size_t len, const struct config_key *key);

/** A name that an object has twice. */
struct config_twice {
    const char *first; /**< in the text, with its quotes */
    const char *again;
    size_t len;
};

/** Finds the first such name in JSON text that has been parsed. json-c would keep the
 * last value. \return false if there is none. */
bool config_place_twice(const char *text, size_t len, struct config_twice *out);

/** The line and column, from 1, of the byte at \p offset. A column is a character. */
void config_place_line(const char *text, size_t len, size_t offset, unsigned *line,
                       unsigned *column);

#endif
