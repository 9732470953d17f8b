/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/api_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "backend/store_query.h"

#define ALL_ROWS      100000u
#define FUNCTIONS_MAX 4096u

struct rendering {
    struct text *answer;
    unsigned count;
    double total; /**< of all rows, for shares */
};

static const char *comma(struct rendering *r)
{
    return r->count++ ? "," : "";
}

/* ---- kernels ---- */

static void kernel(void *arg, const struct store_tally *row)
{
    struct rendering *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer, "%s{\"kernel_id\":%" PRId64 ",\"name\":", comma(r), t->key.a);
    text_json_string(r->answer, row->name);
    text_printf(r->answer,
                ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"mean_ns\":%" PRId64
                ",\"min_ns\":%" PRId64 ",\"max_ns\":%" PRId64 ",\"share\":%.6f}",
                t->count, t->total, t->total / (int64_t)t->count, t->min, t->max,
                r->total > 0 ? (double)t->total / r->total : 0.0);
}

int api_kernels(struct store *store, int64_t session, const struct api_part *part,
                struct text *answer)
{
    struct store_tally_sum sum;
    struct store_tally_query query = {TALLY_KERNEL, NAMES_KERNEL, part->limit,
                                      part->offset};
    if (store_tally_sum(store, session, TALLY_KERNEL, &sum) != GPUFL_OK) {
        return 500;
    }
    struct rendering r = {.answer = answer, .total = (double)sum.total};
    text_printf(answer,
                "{\"kernels\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64
                ",\"rows\":[",
                sum.keys, sum.count, sum.total);
    if (store_tallies(store, session, &query, kernel, &r) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "]}\n");
    return 200;
}

/* ---- where kernels were launched ---- */

static void launch(void *arg, const struct store_tally *row)
{
    struct rendering *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer, "%s{\"from\":", comma(r));
    text_json_string(r->answer, row->name);
    text_printf(r->answer,
                ",\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"max_ns\":%" PRId64
                ",\"share\":%.6f}",
                t->count, t->total, t->max,
                r->total > 0 ? (double)t->total / r->total : 0.0);
}

int api_launches(struct store *store, int64_t session, const char *by,
                 const struct api_part *part, struct text *answer)
{
    bool stack = strcmp(by, "stack") == 0;
    struct store_tally_sum sum;
    struct store_tally_query query = {TALLY_LAUNCH,
                                      stack ? NAMES_LAUNCH_STACK : NAMES_LAUNCH_SCOPE,
                                      part->limit, part->offset};
    if (!stack && strcmp(by, "scope") != 0) {
        text_printf(answer,
                    "{\"error\":\"bad_request\",\"message\":\"by is scope or stack\"}\n");
        return 400;
    }
    if (store_tally_sum(store, session, TALLY_LAUNCH, &sum) != GPUFL_OK) {
        return 500;
    }
    struct rendering r = {.answer = answer, .total = (double)sum.total};
    text_printf(answer, "{\"calls\":%" PRIu64 ",\"total_ns\":%" PRId64 ",\"rows\":[",
                sum.count, sum.total);
    if (store_tallies_by_name(store, session, &query, launch, &r) != GPUFL_OK) {
        return 500;
    }
    text_printf(answer, "]}\n");
    return 200;
}

/* ---- memory ---- */

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

static void counted(struct rendering *r, const char *key, const char *name,
                    const struct tally *t)
{
    text_printf(r->answer,
                "%s{\"%s\":\"%s\",\"count\":%" PRIu64 ",\"bytes\":%" PRId64
                ",\"total_ns\":%" PRId64 ",\"max_ns\":%" PRId64,
                comma(r), key, name, t->count, t->bytes, t->total, t->max);
}

static void copy(void *arg, const struct store_tally *row)
{
    struct rendering *r = arg;
    const struct tally *t = &row->tally;
    counted(r, "direction", NAMED(copies, t->key.a), t);
    text_printf(r->answer, ",\"bytes_per_s\":%.0f}",
                t->total > 0 ? (double)t->bytes * 1e9 / (double)t->total : 0.0);
}

static void set(void *arg, const struct store_tally *row)
{
    counted(arg, "direction", "set", &row->tally);
    text_printf(((struct rendering *)arg)->answer, "}");
}

static void synchronisation(void *arg, const struct store_tally *row)
{
    struct rendering *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer,
                "%s{\"waits_for\":\"%s\",\"count\":%" PRIu64 ",\"total_ns\":%" PRId64
                ",\"max_ns\":%" PRId64 "}",
                comma(r), NAMED(syncs, t->key.a), t->count, t->total, t->max);
}

static void allocation(void *arg, const struct store_tally *row)
{
    struct rendering *r = arg;
    const struct tally *t = &row->tally;
    text_printf(r->answer,
                "%s{\"operation\":\"%s\",\"memory\":\"%s\",\"count\":%" PRIu64
                ",\"bytes\":%" PRId64 "}",
                comma(r), NAMED(operations, t->key.a), NAMED(kinds, t->key.b), t->count,
                t->bytes);
}

int api_memory(struct store *store, int64_t session, struct text *answer)
{
    static const struct {
        const char *key;
        enum tally_kind kind;
        void (*visit)(void *arg, const struct store_tally *row);
    } parts[] = {{"copies", TALLY_COPY, copy},
                 {"sets", TALLY_SET, set},
                 {"synchronisation", TALLY_SYNC, synchronisation},
                 {"allocations", TALLY_MEMORY, allocation}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct rendering r = {.answer = answer};
        struct store_tally_query query = {.kind = parts[i].kind, .limit = ALL_ROWS};
        text_printf(answer, "%s\"%s\":[", i ? "]," : "{", parts[i].key);
        if (store_tallies(store, session, &query, parts[i].visit, &r) != GPUFL_OK) {
            return 500;
        }
    }
    text_printf(answer, "]}\n");
    return 200;
}

/* ---- PC samples ---- */

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

static void add_sample(void *arg, const struct store_tally *row)
{
    struct functions *all = arg;
    const struct tally_key *key = &row->tally.key;
    unsigned i = 0;
    while (i < all->count && all->function[i].id != key->a) {
        i++;
    }
    if (i == all->count) {
        struct function *more =
            i < FUNCTIONS_MAX ? realloc(all->function, (i + 1) * sizeof *more) : NULL;
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
                           struct rendering *r)
{
    text_printf(r->answer, "%s{\"function\":", comma(r));
    print_name(store, session, r->answer, NAMES_FUNCTION, f->id);
    text_printf(r->answer, ",\"samples\":%" PRId64 ",\"share\":%.6f,\"reasons\":[",
                f->samples, r->total > 0 ? (double)f->samples / r->total : 0.0);
    qsort(f->reason, f->reasons, sizeof f->reason[0], reasons_by_samples);
    for (unsigned i = 0; i < f->reasons; i++) {
        text_printf(r->answer, "%s{\"reason\":", i ? "," : "");
        print_name(store, session, r->answer, NAMES_METRIC, f->reason[i].id);
        text_printf(r->answer, ",\"samples\":%" PRId64 "}", f->reason[i].samples);
    }
    text_printf(r->answer, "]}");
}

int api_hotspots(struct store *store, int64_t session, const struct api_part *part,
                 struct text *answer)
{
    struct functions all = {0};
    struct store_tally_query query = {.kind = TALLY_SAMPLE, .limit = ALL_ROWS};
    struct store_tally_sum sum;
    gpufl_status status = store_tally_sum(store, session, TALLY_SAMPLE, &sum);
    if (status == GPUFL_OK) {
        status = store_tallies(store, session, &query, add_sample, &all);
    }
    if (status == GPUFL_OK && !all.failed) {
        struct rendering r = {.answer = answer, .total = (double)sum.total};
        if (all.count > 0) {
            qsort(all.function, all.count, sizeof *all.function, by_samples);
        }
        text_printf(answer, "{\"functions\":%u,\"samples\":%" PRId64 ",\"rows\":[",
                    all.count, sum.total);
        for (unsigned i = part->offset; i < all.count && r.count < part->limit; i++) {
            print_function(store, session, &all.function[i], &r);
        }
        text_printf(answer, "]}\n");
    }
    free(all.function);
    return status == GPUFL_OK && !all.failed ? 200 : 500;
}
