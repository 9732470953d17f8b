/* SPDX-License-Identifier: Apache-2.0 */
/* Follows scopes from their begins to their ends, and counts those that are written. */
#include "collector-lib/writer/scope_lines.h"

#include "collector-lib/writer/scope_records.h"
#include "collector-lib/writer/writer_append.h"
#include "schema/records.h"

void scope_lines_begin(struct writer *w, const struct row *row)
{
    uint32_t parent = open_scopes_path(&w->open, row->value);
    const struct open_scope scope = {
        .instance = row->instance,
        .begin_ns = row->mono_ns,
        .path_id = tracing_path(&w->tracing, parent, w->names->name[row->name_id]),
        .row = ++w->scope_row};
    if (!open_scopes_begin(&w->open, scope)) { /* its end is not known by it */
        atomic_fetch_add_explicit(&w->ends_without_memory, 1, memory_order_relaxed);
    }
}

/* Two threads may have ended the same scope: the first one has. */
void scope_lines_end(struct writer *w, struct row *row)
{
    int64_t begin_ns;
    if (open_scopes_end(&w->open, row->instance, &begin_ns)) {
        row->value = (uint64_t)begin_ns;
        w->scope_row++;
    } else {
        row->kind = ROW_NONE;
    }
}

/* \return true if both ends of its scope are in the files. */
static bool count_written(struct writer *w, const struct row *row)
{
    bool pair = row->kind == ROW_SCOPE_END && row->value;
    if (pair) {
        summary_scope(&w->summary, row->name_id, row->mono_ns - (int64_t)row->value);
    }
    return pair;
}

/* An end comes behind its begin: of rows that are written together, the begin cannot be
 * lost alone. */
static uint64_t count_pairs(struct writer *w, uint64_t written)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < w->rows.now.count; i++) {
        const struct row *row = &w->rows.now.row[i];
        if (row->kind != ROW_SCOPE_BEGIN && row->kind != ROW_SCOPE_END) {
            continue;
        }
        if (written) {
            written--;
            pairs += count_written(w, row);
        } else if (row->kind == ROW_SCOPE_BEGIN) {
            open_scopes_lose(&w->open, row->instance);
        }
    }
    return pairs;
}

void scope_lines_write(struct writer *w)
{
    text_clear(&w->text);
    record_scopes(&w->text, &w->context, &w->rows.now, &w->scope_batches);
    size_t kept = writer_append(w, CHANNEL_SCOPE, &w->text);
    uint64_t lines = session_parts_lines(w->text.data, kept);
    uint64_t pairs = count_pairs(w, lines * RECORD_MAX_ROWS);
    atomic_fetch_add_explicit(&w->pairs, pairs, memory_order_relaxed);
    session_parts_note_pairs(&w->dir->parts[CHANNEL_SCOPE], pairs);
}
