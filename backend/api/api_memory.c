/* SPDX-License-Identifier: Apache-2.0 */
/* Renders memory copies, memory sets, synchronisation and allocations. */
#include "backend/api/api_memory.h"

#include <inttypes.h>

#include "backend/api/api_rows.h"
#include "backend/store/store_query.h"

#define ALL_ROWS 100000u

static const char *named(const char *const *names, size_t count, int64_t at)
{
    return at >= 0 && (size_t)at < count ? names[at] : "unknown";
}

#define NAMED(names, at) named(names, sizeof(names) / sizeof *(names), at)

/* CUPTI's numbers, as the records carry them. */
static const char *const copies[] = {
    "unknown",          "host to device", "device to host",  "host to array",
    "array to host",    "array to array", "array to device", "device to array",
    "device to device", "host to host",   "peer to peer"};
static const char *const syncs[] = {"unknown", "event", "stream wait event", "stream",
                                    "context"};
static const char *const operations[] = {"unknown", "alloc", "free"};
static const char *const kinds[] = {"unknown",       "pageable",      "pinned",
                                    "device",        "array",         "managed",
                                    "device static", "managed static"};

static void render_counted(struct api_rows *r, const char *key, const char *name,
                           const struct tally *t)
{
    text_printf(r->answer,
                "%s{\"%s\":\"%s\",\"count\":%" PRIu64 ",\"bytes\":%" PRId64
                ",\"total_ns\":%" PRId64 ",\"max_ns\":%" PRId64,
                api_rows_comma(r), key, name, t->count, t->bytes, t->total, t->max);
}

static void render_copy(void *arg, const struct store_tally *row)
{
    struct api_rows *r = arg;
    const struct tally *t = &row->tally;
    render_counted(r, "direction", NAMED(copies, t->key.a), t);
    text_printf(r->answer, ",\"bytes_per_s\":%.0f}",
                t->total > 0 ? (double)t->bytes * 1e9 / (double)t->total : 0.0);
}

static void render_set(void *arg, const struct store_tally *row)
{
    render_counted(arg, "direction", "set", &row->tally);
    text_printf(((struct api_rows *)arg)->answer, "}");
}

static void render_wait(void *arg, const struct store_tally *row)
{
    struct api_rows *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer,
                "%s{\"waits_for\":\"%s\",\"count\":%" PRIu64 ",\"total_ns\":%" PRId64
                ",\"max_ns\":%" PRId64 "}",
                api_rows_comma(r), NAMED(syncs, t->key.a), t->count, t->total, t->max);
}

static void render_allocation(void *arg, const struct store_tally *row)
{
    struct api_rows *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer,
                "%s{\"operation\":\"%s\",\"memory\":\"%s\",\"count\":%" PRIu64
                ",\"bytes\":%" PRId64 "}",
                api_rows_comma(r), NAMED(operations, t->key.a), NAMED(kinds, t->key.b),
                t->count, t->bytes);
}

int api_memory(struct store *store, int64_t session, struct text *answer)
{
    static const struct {
        const char *key;
        enum tally_kind kind;
        void (*visit)(void *arg, const struct store_tally *row);
    } parts[] = {{"copies", TALLY_COPY, render_copy},
                 {"sets", TALLY_SET, render_set},
                 {"synchronisation", TALLY_SYNC, render_wait},
                 {"allocations", TALLY_MEMORY, render_allocation}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct api_rows r = {.answer = answer};
        struct store_tally_query query = {.kind = parts[i].kind, .limit = ALL_ROWS};
        text_printf(answer, "%s\"%s\":[", i ? "]," : "{", parts[i].key);
        if (store_tallies(store, session, &query, parts[i].visit, &r) != GPUFL_OK) {
            return 500;
        }
    }
    text_printf(answer, "]}\n");
    return 200;
}
