/* SPDX-License-Identifier: Apache-2.0 */
/* The scope_event_batch record. */
#ifndef GPUFL_COLLECTOR_WRITER_SCOPE_RECORDS_H
#define GPUFL_COLLECTOR_WRITER_SCOPE_RECORDS_H

#include "collector-lib/core/record_parts.h"
#include "collector-lib/core/ring.h"

/** The scope rows among \p rows, at most RECORD_MAX_ROWS a batch; \p batch_id counts on.
 */
void record_scopes(struct text *out, const struct record_context *context,
                   const struct row_list *rows, uint64_t *batch_id);

#endif
