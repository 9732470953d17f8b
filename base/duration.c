/* SPDX-License-Identifier: Apache-2.0 */
/* Parses durations and counts. */
#include "base/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool duration_parse_count(const char *text, uint64_t *out, const char **end)
{
    char *stop;
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *out = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0 && *out <= UINT32_MAX;
}

static const struct {
    const char *unit;
    uint64_t ms;
} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};

#define UNITS (sizeof units / sizeof units[0])

bool duration_parse(const char *text, uint64_t *out_ms)
{
    const char *end;
    uint64_t number;
    if (!duration_parse_count(text, &number, &end)) {
        return false;
    }
    for (size_t i = 0; i < UNITS; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            *out_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

void duration_text(uint64_t ms, char out[DURATION_TEXT])
{
    size_t i = UNITS - 1;
    while (ms % units[i].ms) {
        i--;
    }
    snprintf(out, DURATION_TEXT, "%" PRIu64 "%s", ms / units[i].ms, units[i].unit);
}
