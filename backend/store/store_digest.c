/* SPDX-License-Identifier: Apache-2.0 */
/* Puts digests into the database: sums are added up, names and texts kept once, tables as
 * they came. */
#include "backend/store/store_digest.h"

#include <stdlib.h>

#include "backend/store/store_statement.h"
#include "backend/store/store_table.h"

static bool insert_names(struct store *store, int64_t session, const struct digest *d)
{
    for (size_t i = 0; i < d->names; i++) {
        sqlite3_stmt *s = statement_use(store, S_NAME);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, d->name[i].dictionary);
        sqlite3_bind_int64(s, 3, d->name[i].id);
        statement_bind_text(s, 4, d->name[i].text);
        if (!statement_run(s)) {
            return false;
        }
    }
    return true;
}

static bool insert_tallies(struct store *store, int64_t session, const struct tallies *t)
{
    for (size_t i = 0; i < t->cap; i++) {
        const struct tally *tally = &t->slot[i];
        if (tally->count == 0) {
            continue;
        }
        sqlite3_stmt *s = statement_use(store, S_TALLY);
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
        if (!statement_run(s)) {
            return false;
        }
    }
    return true;
}

static bool insert_tables(struct store *store, int64_t session, const struct digest *d)
{
    for (size_t i = 0; i < d->tables; i++) {
        const struct digest_table *table = &d->table[i];
        struct text blob;
        char *made;
        if (!store_table_encode(&table->packed, &made, &blob)) {
            return false;
        }
        sqlite3_stmt *s = statement_use(store, S_TABLE);
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, table->kind);
        sqlite3_bind_int64(s, 3, table->device);
        sqlite3_bind_int64(s, 4, table->first_ns);
        sqlite3_bind_int64(s, 5, table->last_ns);
        sqlite3_bind_int64(s, 6, (int64_t)table->rows);
        sqlite3_bind_int64(s, 7, (int64_t)table->metrics);
        sqlite3_bind_blob64(s, 8, blob.data, blob.len, SQLITE_STATIC);
        bool stored = statement_run(s);
        free(made);
        if (!stored) {
            return false;
        }
    }
    return true;
}

/* A channel may begin without devices, which another one has told already. */
static enum statement insert_text_by(const struct digest *d, unsigned which)
{
    return which == TEXT_START && !d->session.devices ? S_TEXT_FIRST : S_TEXT;
}

static bool insert_texts(struct store *store, int64_t session, const struct digest *d)
{
    for (unsigned i = 0; i < TEXT_COUNT; i++) {
        sqlite3_stmt *s = statement_use(store, insert_text_by(d, i));
        sqlite3_bind_int64(s, 1, session);
        sqlite3_bind_int(s, 2, (int)i);
        statement_bind_text(s, 3, d->text[i]);
        if (d->text[i] && !statement_run(s)) {
            return false;
        }
    }
    return true;
}

bool store_digest_add(struct store *store, int64_t session, const struct digest *d)
{
    return insert_names(store, session, d) &&
           insert_tallies(store, session, &d->tallies) &&
           insert_tables(store, session, d) && insert_texts(store, session, d);
}
