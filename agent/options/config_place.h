/* SPDX-License-Identifier: Apache-2.0 */
/* Where something stands in the text of a configuration file, for error messages: json-c
 * does not keep it. */
#ifndef GPUFL_AGENT_OPTIONS_CONFIG_PLACE_H
#define GPUFL_AGENT_OPTIONS_CONFIG_PLACE_H

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

/** The line and column, from 1, of the byte at \p offset. A column is a character. */
void config_place_line(const char *text, size_t len, size_t offset, unsigned *line,
                       unsigned *column);

#endif
