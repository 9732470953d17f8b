/* SPDX-License-Identifier: Apache-2.0 */
/* The scope_event_batch record. */
#ifndef GPUFL_COLLECTOR_WRITER_SCOPE_RECORDS_H
#define GPUFL_COLLECTOR_WRITER_SCOPE_RECORDS_H

#include "collector-lib/core/record_parts.h"
#include "collector-lib/core/ring.h"

/** Appends the scope rows among \p rows, at most RECORD_MAX_ROWS in a batch, and
 * advances \p batch_id. */
void record_scopes(struct text *out, const struct record_context *context,
                   const struct row_list *rows, uint64_t *batch_id);

#endif
