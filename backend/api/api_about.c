/* SPDX-License-Identifier: Apache-2.0 */
/* Renders what a session says about itself. */
#include "backend/api/api_about.h"

#include <inttypes.h>
#include <stdlib.h>

#include "backend/digest/metric_columns.h"
#include "backend/store/store_query.h"
#include "schema/records.h"

static void render_text(struct store *store, int64_t session, struct text *answer,
                        const char *key, enum digest_text which)
{
    char *text = store_text(store, session, which);
    text_printf(answer, ",\"%s\":", key);
    text_utf8(answer, text ? text : "null");
    free(text);
}

int api_about(struct store *store, int64_t session, struct text *answer)
{
    struct store_series series;
    unsigned count = 0;
    if (store_series(store, session, &series) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 ",\"metrics\":[",
                series.first_ns, series.last_ns);
    for (unsigned i = 0; i < metrics_count; i++) {
        if (series.metrics & (UINT64_C(1) << i)) {
            text_printf(answer, "%s{\"metric\":\"%s\",\"unit\":\"%s\",\"host\":%s}",
                        count++ ? "," : "", metrics[i].name, metrics[i].unit,
                        metrics[i].host ? "true" : "false");
        }
    }
    text_printf(answer, "]");
    render_text(store, session, answer, RECORD_JOB_START, TEXT_START);
    render_text(store, session, answer, RECORD_CAPABILITIES, TEXT_CAPABILITIES);
    text_printf(answer, "}\n");
    return 200;
}
