/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the rows of the reasons for holds. */
#include "upload/core/held.h"

#include <string.h>

#define HELD_ROW_(id, key, exit, text) [HELD_##id] = {(key), (text), HELD_EXIT_##exit},

static const struct {
    const char *key;
    const char *text;
    enum held_exit exit;
} held_rows[HELD_REASONS_COUNT] = {[HELD_NOT] = {"not", "", HELD_EXIT_MEND},
                                   HELD_REASONS(HELD_ROW_)};

_Static_assert(HELD_REASONS_COUNT <= 64, "each reason has a bit");

static uint64_t held_bits(uint64_t said, enum held_reason last)
{
    return last == HELD_NOT ? 0 : said | UINT64_C(1) << last;
}

bool held_was_said(uint64_t said, enum held_reason last, enum held_reason reason)
{
    return (held_bits(said, last) >> reason & 1) != 0;
}

uint64_t held_say(uint64_t said, enum held_reason last, enum held_reason reason)
{
    return held_bits(said, last) | UINT64_C(1) << reason;
}

const char *held_key(enum held_reason reason)
{
    return held_rows[reason].key;
}

const char *held_text(enum held_reason reason)
{
    return held_rows[reason].text;
}

enum held_exit held_exit(enum held_reason reason)
{
    return held_rows[reason].exit;
}

static bool held_is_text_of(int reason, const char *text)
{
    size_t len = strlen(held_rows[reason].text);
    return strncmp(held_rows[reason].text, text, len) == 0 &&
           (text[len] == '\0' || strncmp(text + len, " (", 2) == 0);
}

enum held_reason held_by_text(const char *text)
{
    int i = HELD_REASONS_COUNT - 1;
    while (i > HELD_NOT && !held_is_text_of(i, text)) {
        i--;
    }
    return (enum held_reason)i;
}
