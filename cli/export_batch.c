/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are lists of whole numbers; the columns that change are found by name. */
#include "cli/export_batch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/column_names.h"
#include "schema/record_field.h"
#include "schema/records.h"

#define NONE SIZE_MAX

struct columns {
    size_t correlation, has_details, shared;
};

/* \return where the list that \p key holds begins, behind its bracket; NULL if none. */
static const char *list_of(const char *line, size_t len, const char *key)
{
    const char *at = memmem(line, len, key, strlen(key));
    return at ? at + strlen(key) : NULL;
}

static size_t column_at(const char *list, const char *end, const char *name)
{
    size_t len = strlen(name);
    size_t n = 0;
    for (const char *at = list; at < end && *at == '"'; n++) {
        const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (!close) {
            return NONE;
        }
        if ((size_t)(close - at - 1) == len && memcmp(at + 1, name, len) == 0) {
            return n;
        }
        at = close + 1 + (close + 1 < end && close[1] == ',');
    }
    return NONE;
}

static bool find_columns(const char *line, size_t len, struct columns *c)
{
    const char *list = list_of(line, len, "\"columns\":[");
    if (!list) {
        return false;
    }
    c->correlation = column_at(list, line + len, COLUMN(KERNEL, corr_id));
    c->has_details = column_at(list, line + len, COLUMN(KERNEL, has_details));
    c->shared = column_at(list, line + len, COLUMN(KERNEL, detail_corr_id));
    return c->correlation != NONE && c->has_details != NONE && c->shared != NONE;
}

/* The numbers of a row that decide. \return its end, NULL if it is none. */
static const char *read_row(const char *row, const char *end, const struct columns *c,
                            uint64_t *correlation, uint64_t *shared)
{
    size_t n = 0;
    *correlation = *shared = 0;
    for (const char *at = row; at < end; n++) {
        char *behind;
        uint64_t value = strtoull(at, &behind, 10);
        if (behind == at) {
            return NULL;
        }
        *correlation = n == c->correlation ? value : *correlation;
        *shared = n == c->shared ? value : *shared;
        if (*behind == ']') {
            return behind;
        }
        at = behind + 1;
    }
    return NULL;
}

/* With its own detail. */
static void export_put_row(const char *row, const char *end, const struct columns *c,
                           uint64_t correlation, struct text *out)
{
    size_t n = 0;
    for (const char *at = row; at < end; n++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *behind = comma ? comma : end;
        if (n == c->has_details) {
            text_puts(out, "1");
        } else if (n == c->shared) {
            text_u64(out, correlation);
        } else {
            text_append(out, at, (size_t)(behind - at));
        }
        text_puts(out, comma ? "," : "");
        at = behind + 1;
    }
}

static const char *first_row(const char *line, size_t len, struct columns *c)
{
    return find_columns(line, len, c) ? list_of(line, len, "\"rows\":[") : NULL;
}

/* \return whether the line is as the recorder writes it. */
static bool rows_are_whole(const char *line, size_t len)
{
    struct columns c;
    const char *end = line + len;
    const char *row = first_row(line, len, &c);
    uint64_t correlation, shared;
    while (row && row < end && *row == '[') {
        const char *close = read_row(row + 1, end, &c, &correlation, &shared);
        if (!close) {
            return false;
        }
        row = close + 1 + (close + 1 < end && close[1] == ',');
    }
    return row != NULL;
}

static void write_text(struct text *text, FILE *out)
{
    if (!text->failed) {
        (void)!fwrite(text->data, 1, text->len, out); /* ferror() tells */
        text_clear(text);
    }
}

/* \return how many lack their detail. */
static uint64_t export_put_rows(struct export_details *details, const char *line,
                                size_t len, struct text *text, FILE *out)
{
    struct columns c;
    struct text batch = {0};
    const char *end = line + len;
    const char *done = line;
    const char *row = first_row(line, len, &c);
    uint64_t correlation, shared;
    uint64_t missing = 0;
    while (row < end && *row == '[') {
        const char *close = read_row(row + 1, end, &c, &correlation, &shared);
        bool alike = shared && shared != correlation;
        bool found = alike && export_details_put(details, shared, correlation, text);
        text_append(&batch, done, (size_t)(row + 1 - done));
        if (found) {
            text_puts(text, "\n");
            write_text(text, out);
            export_put_row(row + 1, close, &c, correlation, &batch);
        } else {
            text_append(&batch, row + 1, (size_t)(close - row - 1));
        }
        missing += alike && !found;
        done = close;
        row = close + 1 + (close + 1 < end && close[1] == ',');
    }
    text_append(&batch, done, (size_t)(end - done));
    text_append(text, batch.data, batch.len);
    text->failed = text->failed || batch.failed;
    text_fini(&batch);
    return missing;
}

/* A detail is that of its own launch alone. */
static void put_other(struct export_details *details, const char *line, size_t len,
                      struct text *text)
{
    int64_t own;
    if (!record_field_is(line, len, "type", RECORD_KERNEL_DETAIL) ||
        !record_field_int64(line, len, COLUMN(KERNEL, corr_id), &own) ||
        !export_details_put(details, (uint64_t)own, (uint64_t)own, text)) {
        text_append(text, line, len);
    }
}

uint64_t export_batch(struct export_details *details, const char *line, size_t len,
                      struct text *text, FILE *out)
{
    uint64_t missing = 0;
    if (record_field_is(line, len, "type", RECORD_KERNELS) && rows_are_whole(line, len)) {
        missing = export_put_rows(details, line, len, text, out);
    } else {
        put_other(details, line, len, text);
    }
    text_puts(text, "\n");
    write_text(text, out);
    return missing;
}
