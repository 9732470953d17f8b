/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the begins and ends of scopes as batches of rows. */
#include "collector-lib/writer/scope_records.h"

#include "collector-lib/core/record_row.h"
#include "schema/records.h"

static void scope_row(struct text *out, const struct record_context *context,
                      const struct row *row, int64_t base_ns)
{
    const int64_t dt_ns = row->mono_ns - base_ns;
    const int64_t scope_instance_id = (int64_t)row->instance;
    const uint64_t name_id = row->name_id;
    const uint64_t event_type = row->kind == ROW_SCOPE_BEGIN ? 0 : 1;
    const uint64_t depth = row->depth;
    const uint64_t repeat = row->kind == ROW_SCOPE_BEGIN ? row->repeat : 0;
    const uint64_t warmup = row->kind == ROW_SCOPE_BEGIN ? row->warmup : 0;
    const int64_t original_start_ns = row->mono_ns + context->anchor_ns;
    RECORD_ROW(RECORD_SCOPE_COLUMNS);
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
            text_char(out, ',');
        }
        scope_row(out, context, row, base_ns);
    }
    if (in_batch) {
        text_puts(out, "]}\n");
    }
}
