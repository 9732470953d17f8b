/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary_update record: texts by id, of one or more dictionaries. */
#ifndef GPUFL_COLLECTOR_CORE_RECORD_DICTIONARY_H
#define GPUFL_COLLECTOR_CORE_RECORD_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/record_parts.h"

/** Of a text, at most so many bytes are in a dictionary, and an ellipsis behind them. */
#define RECORD_DICTIONARY_TEXT_BYTES (64u << 10)

/** The texts of the entries behind `from` up to `to` of one dictionary. */
struct dictionary_part {
    const char *key;         /**< `kernel_dict`… */
    const char *const *text; /**< by id */
    uint32_t from, to;
    const uint32_t *id; /**< of the first entry and so on; NULL: each is its own id */
};

/** Appends the parts that are not empty, in lines below 1 MiB; nothing if all are empty.
 */
void record_dictionary(struct text *out, const struct record_context *context,
                       const struct dictionary_part *part, size_t parts);

#endif
