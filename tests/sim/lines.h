/* SPDX-License-Identifier: Apache-2.0 */
/* Compares lines that were written with those that are stored. */
#ifndef GPUFL_TESTS_SIM_LINES_H
#define GPUFL_TESTS_SIM_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct lines_compared {
    unsigned stored;
    bool gap;         /**< one that is missing comes before one that is stored */
    unsigned missing; /**< written, and not stored in the order in which they were */
    unsigned twice;   /**< stored, and not in this order, or once more */
    unsigned foreign; /**< stored, and never written */
    char first[160];  /**< line of whatever is wrong first */
};

/** \return how many bytes the first line of \p text has, with its end; 0 if it has none.
 */
size_t lines_length(const char *text);

/** \return where \p line, of \p len bytes, is in \p text; NULL = nowhere. */
const char *lines_find(const char *text, const char *line, size_t len);

/** Appends \p text to \p out, but for the last ones of its lines that are in \p left: of
 * each, as many as there. */
void lines_without(struct text *out, const char *text, const char *left);

/** The last line of \p written may have no end: it is stored with one, or missing. */
void lines_compare(struct lines_compared *c, const char *written, const char *stored);

#endif
