/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the brackets with which rows begin: their cells are numbers. */
#include "collector-lib/core/row_counts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define TYPE_KEY           "\"type\":\""
#define ROWS_KEY           "\"rows\":["
#define SCOPE_EVENT_COLUMN 3 /* event_type, in RECORD_SCOPE_COLUMNS */

static const struct {
    const char *type;
    const char *text;
} counted_rows[ROW_KIND_COUNT] = {
#define ROW_NAMES_(kind, type, text) [kind] = {type "\"", text},
    ROW_KINDS(ROW_NAMES_)};

/* \return the first row of \p line, or NULL. */
static const char *row_counts_first(const char *line, const char *end)
{
    const char *at = memmem(line, (size_t)(end - line), ROWS_KEY, sizeof ROWS_KEY - 1);
    return at ? memchr(at + sizeof ROWS_KEY - 1, '[',
                       (size_t)(end - at) - (sizeof ROWS_KEY - 1))
              : NULL;
}

static const char *row_counts_next(const char *row, const char *end)
{
    return memchr(row + 1, '[', (size_t)(end - row - 1));
}

/* \return the kind of rows that \p line has; ROW_KIND_COUNT = none. */
static enum row_count row_counts_kind(const char *line, size_t len)
{
    const char *type = memmem(line, len, TYPE_KEY, sizeof TYPE_KEY - 1);
    type = type ? type + sizeof TYPE_KEY - 1 : line + len;
    size_t left = (size_t)(line + len - type);
    int kind = 0;
    for (; kind < ROW_KIND_COUNT; kind++) {
        size_t name = strlen(counted_rows[kind].type);
        if (name <= left && memcmp(type, counted_rows[kind].type, name) == 0) {
            break;
        }
    }
    return (enum row_count)kind;
}

static void row_counts_line(struct row_counts *counts, const char *line, size_t len)
{
    enum row_count kind = row_counts_kind(line, len);
    const char *end = line + len;
    const char *row = kind < ROW_KIND_COUNT ? row_counts_first(line, end) : NULL;
    for (; row; row = row_counts_next(row, end)) {
        counts->count[kind]++;
    }
}

void row_counts_add(struct row_counts *counts, const char *lines, size_t len)
{
    const char *end = lines + len;
    const char *newline;
    for (const char *at = lines;
         at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        row_counts_line(counts, at, (size_t)(newline - at));
    }
}

uint64_t row_counts_samples(const struct row_counts *counts)
{
    return counts->count[ROWS_HOST] + counts->count[ROWS_DEVICES];
}

void row_counts_join(struct row_counts *to, const struct row_counts *more)
{
    for (int kind = 0; kind < ROW_KIND_COUNT; kind++) {
        to->count[kind] += more->count[kind];
    }
}

void row_counts_subtract(struct row_counts *from, const struct row_counts *part)
{
    for (int kind = 0; kind < ROW_KIND_COUNT; kind++) {
        uint64_t *left = &from->count[kind];
        *left -= part->count[kind] < *left ? part->count[kind] : *left;
    }
}

/* \return whether the cell event_type of \p row says that a scope ends. */
static bool row_counts_is_end(const char *row, const char *end)
{
    for (int column = 0; row && column < SCOPE_EVENT_COLUMN; column++) {
        row = memchr(row + 1, ',', (size_t)(end - row - 1));
    }
    return row && end - row > 2 && row[1] == '1' && row[2] == ',';
}

uint64_t row_counts_scope_ends(const char *line, size_t len)
{
    uint64_t ends = 0;
    const char *end = line + len;
    const char *row =
        row_counts_kind(line, len) == ROWS_SCOPES ? row_counts_first(line, end) : NULL;
    for (; row; row = row_counts_next(row, end)) {
        ends += row_counts_is_end(row, end);
    }
    return ends;
}

void row_counts_text(const struct row_counts *counts, struct text *out)
{
    const char *between = "";
    for (int kind = 0; kind < ROW_KIND_COUNT; kind++) {
        if (counts->count[kind]) {
            text_printf(out, "%s%" PRIu64 " %s", between, counts->count[kind],
                        counted_rows[kind].text);
            between = ", ";
        }
    }
}
