/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the history of a world. */
#include "tests/sim/history.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "tests/sim/kernel.h"

static struct {
    enum history_use use;
    uint64_t hash;
    const char *kind;
    char detail[1000];
} history;

void history_begin(enum history_use use)
{
    memset(&history, 0, sizeof history);
    history.use = use;
    history.hash = HASH64_BASIS;
}

uint64_t history_hash(void)
{
    return history.hash;
}

static void note(const char *line, size_t len)
{
    history.hash = hash64_bytes(history.hash, line, len);
    history.hash = hash64_bytes(history.hash, &kernel.now_ms, sizeof kernel.now_ms);
    if (history.use == HISTORY_SHOWN) {
        fprintf(stderr, "%9.3f %s\n", (double)kernel.now_ms / 1000, line);
    }
}

void history_say(const char *format, ...)
{
    char line[1000];
    va_list list;
    if (history.use == HISTORY_NONE) {
        return;
    }
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    note(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void history_fail(const char *kind, const char *format, ...)
{
    va_list list;
    if (history.kind) {
        return;
    }
    history.kind = kind;
    va_start(list, format);
    vsnprintf(history.detail, sizeof history.detail, format, list);
    va_end(list);
    history_say("FAILED: %s: %s", kind, history.detail);
}

const char *history_failure(const char **detail)
{
    *detail = history.detail;
    return history.kind;
}
