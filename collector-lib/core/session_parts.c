/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up lines, bytes and rows, of lines as they are written and of files as they are.
 */
#include "collector-lib/core/session_parts.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define LINE_BEGIN "{\"version\":"

void session_amount_add(struct session_amount *to, const struct session_amount *more)
{
    to->lines += more->lines;
    to->bytes += more->bytes;
    to->pairs += more->pairs;
    row_counts_join(&to->rows, &more->rows);
}

void session_amount_subtract(struct session_amount *from,
                             const struct session_amount *part)
{
    from->lines -= part->lines < from->lines ? part->lines : from->lines;
    from->bytes -= part->bytes < from->bytes ? part->bytes : from->bytes;
    from->pairs -= part->pairs < from->pairs ? part->pairs : from->pairs;
    row_counts_subtract(&from->rows, &part->rows);
}

static void session_parts_count(struct session_parts *parts,
                                const struct session_amount *more)
{
    session_amount_add(&parts->written, more);
    session_amount_add(&parts->active, more);
}

uint64_t session_parts_lines(const char *bytes, size_t len)
{
    uint64_t lines = 0;
    for (const char *at = bytes, *end = bytes + len;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++) {
        lines++;
    }
    return lines;
}

void session_parts_write(struct session_parts *parts, const char *lines, size_t len)
{
    struct session_amount more = {.lines = session_parts_lines(lines, len), .bytes = len};
    row_counts_add(&more.rows, lines, len);
    session_parts_count(parts, &more);
}

void session_parts_note_pairs(struct session_parts *parts, uint64_t number)
{
    session_parts_count(parts, &(struct session_amount){.pairs = number});
}

void session_parts_lose(struct session_parts *parts, const struct session_amount *lost,
                        bool for_good)
{
    struct session_amount part = *lost;
    if (part.pairs > parts->active.pairs) { /* some ends have no begin */
        part.pairs = parts->active.pairs;
    }
    if (for_good) {
        uint64_t rows = part.rows.count[ROWS_SCOPES];
        parts->lost_to = parts->written.rows.count[ROWS_SCOPES];
        parts->lost_from =
            parts->lost_to - (rows < parts->lost_to ? rows : parts->lost_to);
        session_amount_add(&parts->lost, &part);
        session_amount_subtract(&parts->active, &part);
        part = (struct session_amount){0};
    }
    parts->unnamed = part;
}

/* What was written behind half a line that others have left has become part of it. */
static bool session_line_is_broken(const struct text *line)
{
    const char *end = line->data + line->len;
    const char *second = line->data + 1;
    return memmem(second, (size_t)(end - second), LINE_BEGIN, sizeof LINE_BEGIN - 1);
}

static void session_amount_line(struct session_amount *amount, struct text *line)
{
    bool whole = !line->failed && !session_line_is_broken(line);
    if (whole) {
        row_counts_add(&amount->rows, line->data, line->len);
        amount->pairs += row_counts_scope_ends(line->data, line->len);
    }
    amount->lines += whole || line->failed;
}

struct session_amount session_amount_read(int fd, uint64_t from)
{
    char bytes[16384];
    struct text line = {0};
    struct session_amount amount = {0};
    uint64_t at = 0;
    for (ssize_t n; (n = pread(fd, bytes, sizeof bytes, (off_t)at)) > 0;) {
        const char *end = bytes + n;
        const char *newline;
        for (const char *next = bytes; next < end; next = newline) {
            newline = memchr(next, '\n', (size_t)(end - next));
            bool ends = newline != NULL;
            newline = ends ? newline + 1 : end;
            text_append(&line, next, (size_t)(newline - next));
            at += (uint64_t)(newline - next);
            if (ends && at > from) {
                session_amount_line(&amount, &line);
                amount.bytes = at - from;
            }
            if (ends) {
                text_clear(&line);
            }
        }
    }
    text_fini(&line);
    return amount;
}

bool session_parts_take_lost(struct session_parts *parts, uint64_t *from, uint64_t *to)
{
    *from = parts->lost_from;
    *to = parts->lost_to;
    parts->lost_from = parts->lost_to = 0;
    return *to > *from;
}

void session_parts_seal(struct session_parts *parts)
{
    parts->active = parts->unnamed = (struct session_amount){0};
}

struct session_amount session_parts_lost(const struct session_parts *parts)
{
    struct session_amount lost = parts->lost;
    session_amount_add(&lost, &parts->unnamed);
    return lost;
}
