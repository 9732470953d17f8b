/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionary_update record: texts by id, of one or more dictionaries. */
#ifndef GPUFL_COLLECTOR_CORE_RECORD_DICTIONARY_H
#define GPUFL_COLLECTOR_CORE_RECORD_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "collector-lib/core/record_parts.h"

/** Texts with ids in (`from`, `to`] of one dictionary. */
struct dictionary_part {
    const char *key;         /**< `kernel_dict`… */
    const char *const *text; /**< by id */
    uint32_t from, to;
};

/** Appends one line with the parts that are not empty; nothing if all are empty. */
void record_dictionary(struct text *out, const struct record_context *context,
                       const struct dictionary_part *part, size_t parts);

#endif
