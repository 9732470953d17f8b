/* SPDX-License-Identifier: Apache-2.0 */
/* Adds durations up by name id and sorts them by their totals. */
#include "collector-lib/core/name_times.h"

#include <stdlib.h>

#include "base/array.h"

void name_times_add(struct name_times *times, uint32_t name_id, int64_t ns)
{
    struct name_time *at =
        array_reach(times->at, name_id, &times->count, sizeof *times->at);
    if (!at) {
        return;
    }
    times->at = at;
    struct name_time *t = &at[name_id];
    t->name_id = name_id;
    t->min_ns = t->count && t->min_ns < ns ? t->min_ns : ns;
    t->count++;
    t->total_ns += ns;
    t->max_ns = ns > t->max_ns ? ns : t->max_ns;
}

static int by_total(const void *left, const void *right)
{
    const struct name_time *a = left;
    const struct name_time *b = right;
    if (!a->count || !b->count) { /* unused ids last */
        return (a->count == 0) - (b->count == 0);
    }
    return a->total_ns > b->total_ns ? -1 : a->total_ns < b->total_ns;
}

size_t name_times_sort(struct name_times *times)
{
    size_t used = 0;
    if (times->count) {
        qsort(times->at, times->count, sizeof *times->at, by_total);
    }
    while (used < times->count && times->at[used].count) {
        used++;
    }
    return used;
}

void name_times_fini(struct name_times *times)
{
    free(times->at);
    *times = (struct name_times){0};
}
