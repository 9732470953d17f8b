/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sums, tables, names and texts from the database. */
#include "backend/store/store_query.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store/store_statement.h"
#include "backend/store/store_table.h"

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
    sqlite3_stmt *s = statement_use(store, S_TALLIES);
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
    return statement_end(s, rc);
}

gpufl_status store_tallies_by_name(
    struct store *store, int64_t session, const struct store_tally_query *query,
    void (*visit)(void *arg, const struct store_tally *tally), void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_TALLIES_BY_NAME);
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
    return statement_end(s, rc);
}

gpufl_status store_tally_sum(struct store *store, int64_t session, enum tally_kind kind,
                             struct store_tally_sum *out)
{
    sqlite3_stmt *s = statement_use(store, S_TALLY_SUM);
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

gpufl_status store_tables(struct store *store, const struct store_range *range,
                          bool (*visit)(void *arg, const struct digest_table *table),
                          void *arg)
{
    sqlite3_stmt *s = statement_use(store, S_TABLES);
    int rc;
    bool more = true;
    gpufl_status status = GPUFL_OK;
    sqlite3_bind_int64(s, 1, range->session);
    sqlite3_bind_int(s, 2, range->kind);
    sqlite3_bind_int64(s, 3, range->from_ns);
    sqlite3_bind_int64(s, 4, range->to_ns);
    while (more && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        const struct text blob = {.data = (char *)(uintptr_t)sqlite3_column_blob(s, 5),
                                  .len = (size_t)sqlite3_column_bytes(s, 5)};
        char *made;
        struct digest_table table = {.kind = range->kind,
                                     .device = sqlite3_column_int64(s, 0),
                                     .first_ns = sqlite3_column_int64(s, 1),
                                     .last_ns = sqlite3_column_int64(s, 2),
                                     .rows = (size_t)sqlite3_column_int64(s, 3),
                                     .metrics = (uint64_t)sqlite3_column_int64(s, 4)};
        status = store_table_decode(&blob, table.rows, &made, &table.packed);
        if (status != GPUFL_OK) {
            sqlite3_reset(s);
            return status;
        }
        more = visit(arg, &table);
        free(made);
    }
    return statement_end(s, more ? rc : SQLITE_DONE);
}

gpufl_status store_series(struct store *store, int64_t session, struct store_series *out)
{
    sqlite3_stmt *s = statement_use(store, S_SERIES);
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
static char *first_text(sqlite3_stmt *s)
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
    sqlite3_stmt *s = statement_use(store, S_NAME_OF);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, dictionary);
    sqlite3_bind_int64(s, 3, id);
    return first_text(s);
}

char *store_text(struct store *store, int64_t session, enum digest_text which)
{
    sqlite3_stmt *s = statement_use(store, S_TEXT_OF);
    sqlite3_bind_int64(s, 1, session);
    sqlite3_bind_int(s, 2, which);
    return first_text(s);
}
