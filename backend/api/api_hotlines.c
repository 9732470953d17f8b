/* SPDX-License-Identifier: Apache-2.0 */
/* Renders PC samples by source line. */
#include "backend/api/api_hotlines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/api/api_rows.h"
#include "backend/store/store_query.h"

#define SHOWN_BYTES 400u

struct hotlines {
    struct store *store;
    int64_t session;
    struct api_rows rows;
    int64_t file; /* whose text is in `text`; 0 = none */
    char *text;
};

/* Line \p number of the text, from 1, as a string of its own; NULL = it has none. */
static char *line_of(const char *text, int64_t number)
{
    for (; text && number > 1; number--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    size_t len = text ? strcspn(text, "\n") : 0;
    return text && *text ? strndup(text, len < SHOWN_BYTES ? len : SHOWN_BYTES) : NULL;
}

static void render_line(void *arg, const struct store_tally *row)
{
    struct hotlines *h = arg;
    const struct tally *t = &row->tally;
    if (t->key.a != h->file) {
        free(h->text);
        h->text = store_name(h->store, h->session, NAMES_SOURCE_TEXT, t->key.a);
        h->file = t->key.a;
    }
    char *line = line_of(h->text, t->key.b);
    text_printf(h->rows.answer, "%s{\"file\":", api_rows_comma(&h->rows));
    text_json_string(h->rows.answer, row->name);
    text_printf(h->rows.answer,
                ",\"line\":%" PRId64 ",\"samples\":%" PRId64 ",\"share\":%.6f,\"text\":",
                t->key.b, t->total, api_rows_share(&h->rows, t->total));
    if (line) {
        text_json_string(h->rows.answer, line);
    } else {
        text_printf(h->rows.answer, "null");
    }
    text_printf(h->rows.answer, "}");
    free(line);
}

int api_hotlines(struct store *store, int64_t session, const struct query_page *page,
                 struct text *answer)
{
    struct store_tally_sum sum;
    struct store_tally_query query = {TALLY_LINE, NAMES_SOURCE_FILE, page->limit,
                                      page->offset};
    if (store_tally_sum(store, session, TALLY_LINE, &sum) != GPUFL_OK) {
        return 500;
    }
    struct hotlines h = {.store = store,
                         .session = session,
                         .rows = {.answer = answer, .total = (double)sum.total}};
    text_printf(answer, "{\"lines\":%" PRIu64 ",\"samples\":%" PRId64 ",\"rows\":[",
                sum.keys, sum.total);
    gpufl_status status = store_tallies(store, session, &query, render_line, &h);
    text_printf(answer, "]}\n");
    free(h.text);
    return status == GPUFL_OK ? 200 : 500;
}
