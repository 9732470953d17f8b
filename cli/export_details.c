/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are taken apart where the correlation id stands, as the recorder writes them. */
#include "cli/export_details.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "schema/record_field.h"
#include "schema/records.h"

#define KEY(name)   "\"" #name "\":"
#define CORRELATION KEY(corr_id)
#define SHARED      ",\"per_launch\":false"

struct export_detail {
    uint64_t correlation;
    char *line;    /* without SHARED */
    size_t number; /* where the id stands */
    size_t rest;   /* what is behind it */
};

static bool detail_parse(struct export_detail *detail, const char *line, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy) {
        return false;
    }
    memcpy(copy, line, len);
    copy[len] = '\0';
    char *at = strstr(copy, CORRELATION);
    char *shared = strstr(copy, SHARED);
    if (shared) {
        memmove(shared, shared + sizeof SHARED - 1,
                strlen(shared + sizeof SHARED - 1) + 1);
    }
    char *rest = at ? at + sizeof CORRELATION - 1 : copy;
    detail->line = copy;
    detail->number = (size_t)(rest - copy);
    detail->correlation = at ? strtoull(rest, &rest, 10) : 0;
    detail->rest = (size_t)(rest - copy);
    return true;
}

bool export_details_add(struct export_details *d, const char *line, size_t len)
{
    if (!record_field_is(line, len, "type", RECORD_KERNEL_DETAIL) ||
        memchr(line, '\0', len)) { /* not ours: it is printed as it is */
        return true;
    }
    struct export_detail *detail =
        array_grown(d->detail, d->count, &d->cap, sizeof *detail);
    if (!detail) {
        return false;
    }
    d->detail = detail;
    if (!detail_parse(&detail[d->count], line, len)) {
        return false;
    }
    d->count++;
    d->sorted = false;
    return true;
}

static int by_correlation(const void *a, const void *b)
{
    const struct export_detail *x = a;
    const struct export_detail *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

bool export_details_put(struct export_details *d, uint64_t shared, uint64_t correlation,
                        struct text *out)
{
    const struct export_detail wanted = {.correlation = shared};
    if (!d->sorted && d->count) {
        qsort(d->detail, d->count, sizeof *d->detail, by_correlation);
    }
    d->sorted = true;
    const struct export_detail *found =
        d->count
            ? bsearch(&wanted, d->detail, d->count, sizeof *d->detail, by_correlation)
            : NULL;
    if (found) {
        text_append(out, found->line, found->number);
        text_u64(out, correlation);
        text_puts(out, found->line + found->rest);
    }
    return found != NULL;
}

void export_details_fini(struct export_details *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->detail[i].line);
    }
    free(d->detail);
}
