/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one record type, gathered until they are written as one line. */
#ifndef GPUFL_COLLECTOR_TRACE_TRACE_BATCH_H
#define GPUFL_COLLECTOR_TRACE_TRACE_BATCH_H

#include <stdint.h>

#include "collector-lib/core/record_parts.h"

/** Set type, columns and lines; release with trace_batch_fini. */
struct trace_batch {
    const char *type;
    const char *columns; /**< a JSON array */
    struct text *lines;  /**< where a batch goes when it ends */
    struct text rows;
    struct text behind; /**< lines that follow the batch */
    unsigned count;
    int64_t base_ns;
    uint64_t id;
};

/** Returns the text for one more row, of the time \p at_ns. Ends the batch first if it
 * is full. */
struct text *trace_batch_row(struct trace_batch *batch,
                             const struct record_context *context, int64_t at_ns);

/** Appends the rows as one line to batch->lines and empties the batch. */
void trace_batch_end(struct trace_batch *batch, const struct record_context *context);

void trace_batch_fini(struct trace_batch *batch);

#endif
