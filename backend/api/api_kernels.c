/* SPDX-License-Identifier: Apache-2.0 */
/* Renders kernels and where they were launched. */
#include "backend/api/api_kernels.h"

#include <inttypes.h>
#include <string.h>

#include "backend/api/api_rows.h"
#include "backend/store/store_query.h"

static void render_kernel(void *arg, const struct store_tally *row)
{
    struct api_rows *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer, "%s{\"kernel_id\":%" PRId64 ",\"name\":", api_rows_comma(r),
                t->key.a);
    text_json_string(r->answer, row->name);
    text_printf(r->answer,
                ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"mean_ns\":%" PRId64
                ",\"min_ns\":%" PRId64 ",\"max_ns\":%" PRId64 ",\"share\":%.6f}",
                t->count, t->total, t->total / (int64_t)t->count, t->min, t->max,
                api_rows_share(r, t->total));
}

int api_kernels(struct store *store, int64_t session, const struct query_page *page,
                struct text *answer)
{
    struct store_tally_sum sum;
    struct store_tally_query query = {TALLY_KERNEL, NAMES_KERNEL, page->limit,
                                      page->offset};
    if (store_tally_sum(store, session, TALLY_KERNEL, &sum) != GPUFL_OK) {
        return 500;
    }
    struct api_rows r = {.answer = answer, .total = (double)sum.total};
    text_printf(answer,
                "{\"kernels\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64
                ",\"rows\":[",
                sum.keys, sum.count, sum.total);
    if (store_tallies(store, session, &query, render_kernel, &r) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "]}\n");
    return 200;
}

static void render_launch(void *arg, const struct store_tally *row)
{
    struct api_rows *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer, "%s{\"from\":", api_rows_comma(r));
    text_json_string(r->answer, row->name);
    text_printf(r->answer,
                ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"max_ns\":%" PRId64
                ",\"share\":%.6f}",
                t->count, t->total, t->max, api_rows_share(r, t->total));
}

int api_launches(struct store *store, int64_t session, const char *by,
                 const struct query_page *page, struct text *answer)
{
    bool stack = strcmp(by, "stack") == 0;
    struct store_tally_sum sum;
    struct store_tally_query query = {TALLY_LAUNCH,
                                      stack ? NAMES_LAUNCH_STACK : NAMES_LAUNCH_SCOPE,
                                      page->limit, page->offset};
    if (!stack && strcmp(by, "scope") != 0) {
        text_printf(answer, "{\"error\":\"bad_request\",\"message\":\"by: unknown value "
                            "(expected scope or stack)\"}\n");
        return 400;
    }
    if (store_tally_sum(store, session, TALLY_LAUNCH, &sum) != GPUFL_OK) {
        return 500;
    }
    struct api_rows r = {.answer = answer, .total = (double)sum.total};
    text_printf(answer, "{\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"rows\":[",
                sum.count, sum.total);
    if (store_tallies_by_name(store, session, &query, render_launch, &r) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "]}\n");
    return 200;
}
