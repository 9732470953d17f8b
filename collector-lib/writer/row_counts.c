/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the brackets with which rows begin: their cells are numbers. */
#include "collector-lib/writer/row_counts.h"

#include <inttypes.h>
#include <string.h>

#define TYPE_KEY "\"type\":\""
#define ROWS_KEY "\"rows\":["

static const struct {
    const char *type;
    const char *text;
} counted_rows[ROW_KIND_COUNT] = {
#define ROW_NAMES_(kind, type, text) [kind] = {type "\"", text},
    ROW_KINDS(ROW_NAMES_)};

static uint64_t row_counts_rows(const char *line, size_t len)
{
    uint64_t rows = 0;
    const char *end = line + len;
    const char *at = memmem(line, len, ROWS_KEY, sizeof ROWS_KEY - 1);
    at = at ? at + sizeof ROWS_KEY - 1 : end;
    while (at < end && (at = memchr(at, '[', (size_t)(end - at)))) {
        rows++;
        at++;
    }
    return rows;
}

static void row_counts_line(struct row_counts *counts, const char *line, size_t len)
{
    const char *type = memmem(line, len, TYPE_KEY, sizeof TYPE_KEY - 1);
    type = type ? type + sizeof TYPE_KEY - 1 : line + len;
    size_t left = (size_t)(line + len - type);
    for (int kind = 0; kind < ROW_KIND_COUNT; kind++) {
        size_t name = strlen(counted_rows[kind].type);
        if (name <= left && memcmp(type, counted_rows[kind].type, name) == 0) {
            counts->count[kind] += row_counts_rows(type, left);
        }
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
