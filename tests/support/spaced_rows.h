/* SPDX-License-Identifier: Apache-2.0 */
/* The straightforward way to read rows, to compare the fast one with: a space behind each
 * bracket changes no value, but such a row is read byte by byte. */
#ifndef GPUFL_TESTS_SUPPORT_SPACED_ROWS_H
#define GPUFL_TESTS_SUPPORT_SPACED_ROWS_H

#include <stdlib.h>
#include <string.h>

#include "backend/digest/rows.h"

/** Both ends of a comparison: the line, and the same with spaces. As many bytes each, as
 * a line may have as many cells as it has bytes. */
struct spaced_rows {
    char *line, *spaced;
    size_t len;
};

static inline struct spaced_rows spaced_rows_of(const char *line, size_t len)
{
    struct spaced_rows both = {malloc(2 * len + 1), malloc(2 * len + 1), 0};
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        both.spaced[both.len++] = line[i];
        if (line[i] == '[' && !quoted) {
            both.spaced[both.len++] = ' ';
        }
        if (line[i] == '\\' && quoted && i + 1 < len) {
            both.spaced[both.len++] = line[++i];
        } else if (line[i] == '"') {
            quoted = !quoted;
        }
    }
    memset(both.line, ' ', both.len);
    memcpy(both.line, line, len);
    return both;
}

/** Whether both are read alike. */
static inline bool spaced_rows_agree(const struct spaced_rows *both)
{
    struct rows fast = {0}, plain = {0};
    bool read = rows_read(&fast, both->line, both->len);
    bool same = read == rows_read(&plain, both->spaced, both->len) &&
                fast.base_ns == plain.base_ns && fast.columns == plain.columns &&
                fast.count == plain.count;
    for (size_t i = 0; same && i < fast.count * fast.columns; i++) {
        same = fast.cell[i] == plain.cell[i];
    }
    for (unsigned i = 0; same && i < fast.columns; i++) {
        same = strcmp(fast.name[i], plain.name[i]) == 0;
    }
    rows_fini(&fast);
    rows_fini(&plain);
    return same;
}

static inline void spaced_rows_fini(struct spaced_rows *both)
{
    free(both->line);
    free(both->spaced);
}

#endif
