/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/api_about.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/metrics.h"
#include "backend/store_digest.h"
#include "schema/records.h"

#define GAPS_SHOWN 100u

/* ---- what it says of itself ---- */

static void print_text(struct store *store, int64_t session, struct answer *answer,
                       const char *key, enum digest_text which)
{
    char *text = store_text(store, session, which);
    answer_printf(answer, ",\"%s\":", key);
    answer_text(answer, text ? text : "null");
    free(text);
}

int api_about(struct store *store, int64_t session, struct answer *answer)
{
    struct store_series series;
    unsigned count = 0;
    if (store_series(store, session, &series) != GPUFL_OK) {
        return 500;
    }
    answer_printf(answer, "\"from_ns\":%" PRId64 ",\"to_ns\":%" PRId64 ",\"metrics\":[",
                  series.first_ns, series.last_ns);
    for (unsigned i = 0; i < metrics_count; i++) {
        if (series.metrics & (UINT64_C(1) << i)) {
            answer_printf(answer, "%s{\"metric\":\"%s\",\"unit\":\"%s\",\"host\":%s}",
                          count++ ? "," : "", metrics[i].name, metrics[i].unit,
                          metrics[i].host ? "true" : "false");
        }
    }
    answer_printf(answer, "]");
    print_text(store, session, answer, RECORD_JOB_START, TEXT_START);
    print_text(store, session, answer, RECORD_CAPABILITIES, TEXT_CAPABILITIES);
    answer_printf(answer, "}\n");
    return 200;
}

/* ---- how it came ---- */

static const int64_t edges_ms[] = {10,   20,   50,    100,   200,   500,    1000,
                                   2000, 5000, 10000, 30000, 60000, 600000, INT64_MAX};
#define EDGES (sizeof edges_ms / sizeof *edges_ms)

struct delivery {
    struct answer *answer;
    char channel[LAYOUT_CHANNEL_MAX + 1];
    bool any;
    uint64_t bodies, lines, missing;
    uint32_t first, last;
    unsigned gaps;
    uint64_t latency[EDGES]; /* bodies by the age of their newest row */
};

static void end_channel(struct delivery *d)
{
    if (d->any) {
        answer_printf(d->answer,
                      "],\"bodies\":%" PRIu64 ",\"lines\":%" PRIu64
                      ",\"first_sequence\":%u,\"last_sequence\":%u,\"missing\":%" PRIu64
                      "}",
                      d->bodies, d->lines, d->first, d->last, d->missing);
    }
}

static void begin_channel(struct delivery *d, const struct store_arrival *a)
{
    end_channel(d);
    answer_printf(d->answer, "%s{\"channel\":\"%s\",\"gaps\":[", d->any ? "," : "",
                  a->channel);
    strncpy(d->channel, a->channel, sizeof d->channel - 1);
    d->any = true;
    d->bodies = d->lines = d->missing = 0;
    d->first = d->last = 0;
    d->gaps = 0;
}

/* Numbers count from 1; 0 is a body without one. */
static void note_sequence(struct delivery *d, uint32_t sequence)
{
    uint32_t expected = d->last + 1;
    if (sequence > expected) {
        d->missing += sequence - expected;
        if (d->gaps < GAPS_SHOWN) {
            answer_printf(d->answer, "%s[%u,%u]", d->gaps++ ? "," : "", expected,
                          sequence - 1);
        }
    }
    d->first = d->first ? d->first : sequence;
    d->last = sequence;
}

static void note_latency(struct delivery *d, const struct store_arrival *a)
{
    int64_t late_ms = a->received_ms - a->newest_ns / 1000000;
    unsigned i = 0;
    while (late_ms > edges_ms[i]) {
        i++;
    }
    d->latency[i] += a->newest_ns > 0;
}

static void arrival(void *arg, const struct store_arrival *a)
{
    struct delivery *d = arg;
    if (!d->any || strcmp(d->channel, a->channel) != 0) {
        begin_channel(d, a);
    }
    d->bodies++;
    d->lines += a->lines;
    if (a->sequence) {
        note_sequence(d, a->sequence);
    }
    note_latency(d, a);
}

int api_delivery(struct store *store, int64_t session, struct answer *answer)
{
    struct delivery d = {.answer = answer};
    answer_printf(answer, "{\"channels\":[");
    gpufl_status status = store_delivery(store, session, arrival, &d);
    end_channel(&d);
    answer_printf(answer, "],\"latency\":[");
    for (unsigned i = 0; i < EDGES; i++) {
        answer_printf(answer, "%s{\"up_to_ms\":", i ? "," : "");
        answer_printf(answer, i + 1 < EDGES ? "%" PRId64 : "null", edges_ms[i]);
        answer_printf(answer, ",\"bodies\":%" PRIu64 "}", d.latency[i]);
    }
    answer_printf(answer, "]}\n");
    return status == GPUFL_OK ? 200 : 500;
}
