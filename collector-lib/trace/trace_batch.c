/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, fills and ends batches of rows. */
#include "collector-lib/trace/trace_batch.h"

#include "schema/records.h"

void trace_batch_end(struct trace_batch *b, const struct record_context *context)
{
    if (b->count == 0) {
        return;
    }
    record_begin(b->lines, context, 1, b->type);
    record_open_rows(b->lines, context, ++b->id, b->base_ns, b->columns);
    text_join(b->lines, &b->rows);
    text_puts(b->lines, "]}\n");
    text_join(b->lines, &b->behind);
    text_clear(&b->rows);
    text_clear(&b->behind);
    b->count = 0;
}

struct text *trace_batch_row(struct trace_batch *b, const struct record_context *context,
                             int64_t at_ns)
{
    if (b->count == RECORD_MAX_ROWS) {
        trace_batch_end(b, context);
    }
    if (b->count++ == 0) {
        b->base_ns = at_ns;
    } else {
        text_char(&b->rows, ',');
    }
    return &b->rows;
}

void trace_batch_fini(struct trace_batch *b)
{
    text_fini(&b->rows);
    text_fini(&b->behind);
}
