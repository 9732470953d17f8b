/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of losses, for the closing record and for people. */
#ifndef GPUFL_COLLECTOR_WRITER_LOSSES_TEXT_H
#define GPUFL_COLLECTOR_WRITER_LOSSES_TEXT_H

#include "base/text.h"
#include "schema/losses.h"

/** Appends an object with every kind, in the order of the list. */
void losses_json(const struct losses *losses, struct text *out);

/** Appends a line for each kind that is not 0: \p before, the number, what it is. */
void losses_lines(const struct losses *losses, const char *before, struct text *out);

#endif
