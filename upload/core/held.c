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

enum held_reason held_by_text(const char *text)
{
    int i = HELD_REASONS_COUNT - 1;
    while (i > HELD_NOT && strcmp(held_rows[i].text, text) != 0) {
        i--;
    }
    return (enum held_reason)i;
}
