/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the begins and ends of scopes as batches of rows. */
#include "collector-lib/writer/scope_records.h"

#include "schema/records.h"

static void scope_row(struct text *out, const struct record_context *context,
                      const struct row *row, int64_t base_ns)
{
    text_append(out, "[", 1);
    text_i64(out, row->mono_ns - base_ns);
    record_comma(out, (int64_t)row->instance);
    record_comma(out, row->name_id);
    text_puts(out, row->kind == ROW_SCOPE_BEGIN ? ",0" : ",1");
    record_comma(out, row->depth);
    text_puts(out, ",0,0");
    record_comma(out, row->mono_ns + context->anchor_ns);
    text_append(out, "]", 1);
}

void record_scopes(struct text *out, const struct record_context *context,
                   const struct row_list *rows, uint64_t *batch_id)
{
    size_t in_batch = 0;
    int64_t base_ns = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (row->kind != ROW_SCOPE_BEGIN && row->kind != ROW_SCOPE_END) {
            continue;
        }
        if (in_batch == RECORD_MAX_ROWS) {
            text_puts(out, "]}\n");
            in_batch = 0;
        }
        if (in_batch++ == 0) {
            base_ns = row->mono_ns;
            record_begin(out, context, 3, RECORD_SCOPES);
            record_open_rows(out, context, ++*batch_id, base_ns,
                             RECORD_COLUMN_TEXT(RECORD_SCOPE_COLUMNS));
        } else {
            text_append(out, ",", 1);
        }
        scope_row(out, context, row, base_ns);
    }
    if (in_batch) {
        text_puts(out, "]}\n");
    }
}
