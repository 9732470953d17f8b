/* SPDX-License-Identifier: Apache-2.0 */
/* Renders PC samples by function, with stall reasons. */
#include "backend/api/api_hotspots.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/api/api_rows.h"
#include "backend/store/store_query.h"
#include "base/array.h"

#define ALL_ROWS      100000u
#define FUNCTIONS_MAX 4096u

struct reason {
    int64_t id;
    int64_t samples;
};

#define REASONS_MAX 64u

/* One function, over all its instructions. */
struct function {
    int64_t id;
    int64_t samples;
    unsigned reasons;
    struct reason reason[REASONS_MAX];
};

struct functions {
    struct function *function;
    unsigned count;
    size_t cap;
    bool failed;
};

static void add_reason(struct function *f, int64_t id, int64_t samples)
{
    unsigned i = 0;
    while (i < f->reasons && f->reason[i].id != id) {
        i++;
    }
    if (i == f->reasons && i < REASONS_MAX) {
        f->reason[f->reasons++] = (struct reason){.id = id};
    }
    if (i < REASONS_MAX) {
        f->reason[i].samples += samples;
    }
    f->samples += samples;
}

static void add_function_samples(void *arg, const struct store_tally *row)
{
    struct functions *all = arg;
    const struct tally_key *key = &row->tally.key;
    unsigned i = 0;
    while (i < all->count && all->function[i].id != key->a) {
        i++;
    }
    if (i == all->count) {
        struct function *more =
            i < FUNCTIONS_MAX ? array_grown(all->function, i, &all->cap, sizeof *more)
                              : NULL;
        if (!more) {
            all->failed = all->failed || i < FUNCTIONS_MAX;
            return;
        }
        all->function = more;
        more[i] = (struct function){.id = key->a};
        all->count++;
    }
    add_reason(&all->function[i], key->c, row->tally.total);
}

static int by_samples(const void *x, const void *y)
{
    const struct function *a = x;
    const struct function *b = y;
    return a->samples < b->samples ? 1 : a->samples > b->samples ? -1 : 0;
}

static int reasons_by_samples(const void *x, const void *y)
{
    const struct reason *a = x;
    const struct reason *b = y;
    return a->samples < b->samples ? 1 : a->samples > b->samples ? -1 : 0;
}

static void print_name(struct store *store, int64_t session, struct text *answer,
                       enum digest_dictionary dictionary, int64_t id)
{
    char *name = store_name(store, session, dictionary, id);
    text_json_string(answer, name ? name : "");
    free(name);
}

static void print_function(struct store *store, int64_t session, struct function *f,
                           struct api_rows *r)
{
    text_printf(r->answer, "%s{\"function\":", api_rows_comma(r));
    print_name(store, session, r->answer, NAMES_FUNCTION, f->id);
    text_printf(r->answer, ",\"samples\":%" PRId64 ",\"share\":%.6f,\"reasons\":[",
                f->samples, api_rows_share(r, f->samples));
    qsort(f->reason, f->reasons, sizeof f->reason[0], reasons_by_samples);
    for (unsigned i = 0; i < f->reasons; i++) {
        text_printf(r->answer, "%s{\"reason\":", i ? "," : "");
        print_name(store, session, r->answer, NAMES_METRIC, f->reason[i].id);
        text_printf(r->answer, ",\"samples\":%" PRId64 "}", f->reason[i].samples);
    }
    text_printf(r->answer, "]}");
}

int api_hotspots(struct store *store, int64_t session, const struct query_page *page,
                 struct text *answer)
{
    struct functions all = {0};
    struct store_tally_query query = {.kind = TALLY_SAMPLE, .limit = ALL_ROWS};
    struct store_tally_sum sum;
    gpufl_status status = store_tally_sum(store, session, TALLY_SAMPLE, &sum);
    if (status == GPUFL_OK) {
        status = store_tallies(store, session, &query, add_function_samples, &all);
    }
    if (status == GPUFL_OK && !all.failed) {
        struct api_rows r = {.answer = answer, .total = (double)sum.total};
        if (all.count > 0) {
            qsort(all.function, all.count, sizeof *all.function, by_samples);
        }
        text_printf(answer, "{\"functions\":%u,\"samples\":%" PRId64 ",\"rows\":[",
                    all.count, sum.total);
        for (unsigned i = page->offset; i < all.count && r.count < page->limit; i++) {
            print_function(store, session, &all.function[i], &r);
        }
        text_printf(answer, "]}\n");
    }
    free(all.function);
    return status == GPUFL_OK && !all.failed ? 200 : 500;
}
