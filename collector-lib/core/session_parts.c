/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up lines, bytes and what the writer counts. */
#include "collector-lib/core/session_parts.h"

#include <string.h>

static void session_amount_add(struct session_amount *to,
                               const struct session_amount *more)
{
    to->lines += more->lines;
    to->bytes += more->bytes;
    to->noted += more->noted;
}

static void session_amount_subtract(struct session_amount *from,
                                    const struct session_amount *part)
{
    from->lines -= part->lines < from->lines ? part->lines : from->lines;
    from->bytes -= part->bytes < from->bytes ? part->bytes : from->bytes;
    from->noted -= part->noted < from->noted ? part->noted : from->noted;
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
    session_parts_count(
        parts,
        &(struct session_amount){.lines = session_parts_lines(lines, len), .bytes = len});
}

void session_parts_note(struct session_parts *parts, uint64_t number)
{
    session_parts_count(parts, &(struct session_amount){.noted = number});
}

void session_parts_lose(struct session_parts *parts, const struct session_amount *lost,
                        bool for_good)
{
    struct session_amount part = *lost;
    part.noted = part.lines ? parts->active.noted : 0;
    if (for_good) {
        session_amount_add(&parts->lost, &part);
        session_amount_subtract(&parts->active, &part);
        part = (struct session_amount){0};
    }
    parts->unnamed = part;
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
