/* SPDX-License-Identifier: Apache-2.0 */
/* Digests in the database: sums are added up, names and texts kept once, tables as they
 * came. */
#include "backend/store_digest.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store_internal.h"

/* ---- adding ---- */

static bool add_names(struct store *store, int64_t session, const struct digest *d)
{
    for (size_t i = 0; i < d->names; i++) {
        sqlite3_stmt *s = store_use(store, S_NAME);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, d->name[i].dictionary);
        sqlite3_bind_int64(s, 3, d->name[i].id);
        store_bind_text(s, 4, d->name[i].text);
        if (!store_run(s)) {
            return false;
        }
    }
    return true;
}

static bool add_tallies(struct store *store, int64_t session, const struct tallies *t)
{
    for (size_t i = 0; i < t->cap; i++) {
        const struct tally *tally = &t->slot[i];
        if (tally->count == 0) {
            continue;
        }
        sqlite3_stmt *s = store_use(store, S_TALLY);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, tally->key.kind);
        sqlite3_bind_int64(s, 3, tally->key.a);
        sqlite3_bind_int64(s, 4, tally->key.b);
        sqlite3_bind_int64(s, 5, tally->key.c);
        sqlite3_bind_int64(s, 6, (int64_t)tally->count);
        sqlite3_bind_int64(s, 7, tally->total);
        sqlite3_bind_int64(s, 8, tally->min);
        sqlite3_bind_int64(s, 9, tally->max);
        sqlite3_bind_int64(s, 10, tally->bytes);
        if (!store_run(s)) {
            return false;
        }
    }
    return true;
}

static bool add_tables(struct store *store, int64_t session, const struct digest *d)
{
    for (size_t i = 0; i < d->tables; i++) {
        const struct digest_table *table = &d->table[i];
        sqlite3_stmt *s = store_use(store, S_TABLE);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, table->kind);
        sqlite3_bind_int64(s, 3, table->device);
        sqlite3_bind_int64(s, 4, table->first_ns);
        sqlite3_bind_int64(s, 5, table->last_ns);
        sqlite3_bind_int64(s, 6, (int64_t)table->rows);
        sqlite3_bind_int64(s, 7, (int64_t)table->metrics);
        sqlite3_bind_blob64(s, 8, table->packed.data, table->packed.len, SQLITE_STATIC);
        if (!store_run(s)) {
            return false;
        }
    }
    return true;
}

static bool add_texts(struct store *store, int64_t session, const struct digest *d)
{
    for (unsigned i = 0; i < TEXT_COUNT; i++) {
        sqlite3_stmt *s = store_use(store, S_TEXT);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, (int)i);
        store_bind_text(s, 3, d->text[i]);
        if (d->text[i] && !store_run(s)) {
            return false;
        }
    }
    return true;
}

bool store_digest(struct store *store, int64_t session, const struct digest *d)
{
    return add_names(store, session, d) && add_tallies(store, session, &d->tallies) &&
           add_tables(store, session, d) && add_texts(store, session, d);
}

/* ---- asking ---- */

static gpufl_status ended(sqlite3_stmt *s, int rc)
{
    sqlite3_reset(s);
    return rc == SQLITE_DONE ? GPUFL_OK : GPUFL_ERR_IO;
}

static void bind_query(sqlite3_stmt *s, int64_t session,
                       const struct store_tally_query *query)
{
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, query->kind);
    sqlite3_bind_int(s, 3, query->names);
    sqlite3_bind_int64(s, 4, query->limit);
    sqlite3_bind_int64(s, 5, query->offset);
}

gpufl_status store_tallies(struct store *store, int64_t session,
                           const struct store_tally_query *query,
                           void (*visit)(void *arg, const struct store_tally *tally),
                           void *arg)
{
    sqlite3_stmt *s = store_use(store, S_TALLIES);
    int rc;
    bind_query(s, session, query);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        const unsigned char *name = sqlite3_column_text(s, 8);
        struct store_tally row = {.tally = {.key = {.a = sqlite3_column_int64(s, 0),
                                                    .b = sqlite3_column_int64(s, 1),
                                                    .c = sqlite3_column_int64(s, 2),
                                                    .kind = query->kind},
                                            .count = (uint64_t)sqlite3_column_int64(s, 3),
                                            .total = sqlite3_column_int64(s, 4),
                                            .min = sqlite3_column_int64(s, 5),
                                            .max = sqlite3_column_int64(s, 6),
                                            .bytes = sqlite3_column_int64(s, 7)},
                                  .name = name ? (const char *)name : ""};
        visit(arg, &row);
    }
    return ended(s, rc);
}

gpufl_status store_tallies_by_name(
    struct store *store, int64_t session, const struct store_tally_query *query,
    void (*visit)(void *arg, const struct store_tally *tally), void *arg)
{
    sqlite3_stmt *s = store_use(store, S_TALLIES_BY_NAME);
    int rc;
    bind_query(s, session, query);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        const unsigned char *name = sqlite3_column_text(s, 4);
        struct store_tally row = {.tally = {.key.kind = query->kind,
                                            .count = (uint64_t)sqlite3_column_int64(s, 0),
                                            .total = sqlite3_column_int64(s, 1),
                                            .min = sqlite3_column_int64(s, 2),
                                            .max = sqlite3_column_int64(s, 3)},
                                  .name = name ? (const char *)name : ""};
        visit(arg, &row);
    }
    return ended(s, rc);
}

gpufl_status store_tally_sum(struct store *store, int64_t session, enum tally_kind kind,
                             struct store_tally_sum *out)
{
    sqlite3_stmt *s = store_use(store, S_TALLY_SUM);
    *out = (struct store_tally_sum){0};
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, kind);
    if (sqlite3_step(s) != SQLITE_ROW) {
        sqlite3_reset(s);
        return GPUFL_ERR_IO;
    }
    out->keys = (uint64_t)sqlite3_column_int64(s, 0);
    out->count = (uint64_t)sqlite3_column_int64(s, 1);
    out->total = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    return GPUFL_OK;
}

gpufl_status store_tables(struct store *store, int64_t session,
                          enum digest_table_kind kind, int64_t from_ns, int64_t to_ns,
                          bool (*visit)(void *arg, const struct digest_table *table),
                          void *arg)
{
    sqlite3_stmt *s = store_use(store, S_TABLES);
    int rc;
    bool more = true;
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, kind);
    sqlite3_bind_int64(s, 3, from_ns);
    sqlite3_bind_int64(s, 4, to_ns);
    while (more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        struct digest_table table = {
            .kind = kind,
            .device = sqlite3_column_int64(s, 0),
            .first_ns = sqlite3_column_int64(s, 1),
            .last_ns = sqlite3_column_int64(s, 2),
            .rows = (size_t)sqlite3_column_int64(s, 3),
            .metrics = (uint64_t)sqlite3_column_int64(s, 4),
            .packed = {.data = (unsigned char *)(uintptr_t)sqlite3_column_blob(s, 5),
                       .len = (size_t)sqlite3_column_bytes(s, 5)}};
        more = visit(arg, &table);
    }
    return ended(s, more ? rc : SQLITE_DONE);
}

gpufl_status store_series(struct store *store, int64_t session, struct store_series *out)
{
    sqlite3_stmt *s = store_use(store, S_SERIES);
    sqlite3_bind_int64(s, 1, session);
    int rc = sqlite3_step(s);
    *out = (struct store_series){0};
    if (rc == SQLITE_ROW) {
        out->first_ns = sqlite3_column_int64(s, 0);
        out->last_ns = sqlite3_column_int64(s, 1);
        out->metrics = (uint64_t)sqlite3_column_int64(s, 2);
    }
    sqlite3_reset(s);
    return rc == SQLITE_ROW ? GPUFL_OK : GPUFL_ERR_IO;
}

/* The first column, copied; NULL when there is none. */
static char *text_of(sqlite3_stmt *s)
{
    char *copy = NULL;
    if (sqlite3_step(s) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(s, 0);
        copy = text ? strdup((const char *)text) : NULL;
    }
    sqlite3_reset(s);
    return copy;
}

char *store_name(struct store *store, int64_t session, enum digest_dictionary dictionary,
                 int64_t id)
{
    sqlite3_stmt *s = store_use(store, S_NAME_OF);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, dictionary);
    sqlite3_bind_int64(s, 3, id);
    return text_of(s);
}

char *store_text(struct store *store, int64_t session, enum digest_text which)
{
    sqlite3_stmt *s = store_use(store, S_TEXT_OF);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, which);
    return text_of(s);
}
