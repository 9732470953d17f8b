/* SPDX-License-Identifier: Apache-2.0 */
/* Leads requests to the backend's code. */
#include "tests/sim/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/api/api_streams.h"
#include "backend/http/ingest.h"
#include "backend/http/parts.h"
#include "backend/http/session_claim.h"
#include "backend/store/store_epoch.h"
#include "backend/store/store_ingest.h"
#include "backend/store/store_retention.h"
#include "backend/store/store_sessions.h"
#include "backend/store/store_statement.h"
#include "backend/store/store_streams.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"

#define TABLES_MAX 32

static const struct retention forever = {0};

/* Of all worlds: to make the tables and to prepare the statements takes as long as a
 * small world does. */
static struct {
    struct store *store;
    sqlite3_stmt *empty[TABLES_MAX];
    unsigned tables;
} kept;

static void must(bool done)
{
    if (!done) {
        fprintf(stderr, "sim: the origin's database: %s\n",
                sqlite3_errmsg(kept.store->db));
        abort();
    }
}

static void prepare_emptying(void)
{
    sqlite3_stmt *names;
    must(sqlite3_prepare_v2(kept.store->db,
                            "SELECT 'DELETE FROM ' || name FROM sqlite_master"
                            " WHERE type = 'table'",
                            -1, &names, NULL) == SQLITE_OK);
    while (sqlite3_step(names) == SQLITE_ROW) {
        must(kept.tables < TABLES_MAX);
        must(sqlite3_prepare_v2(kept.store->db,
                                (const char *)sqlite3_column_text(names, 0), -1,
                                &kept.empty[kept.tables++], NULL) == SQLITE_OK);
    }
    sqlite3_finalize(names);
}

static void open_kept(void)
{
    char why[256];
    uint64_t random = kernel.random; /* the first world is like the others */
    if (store_open(":memory:", &kept.store, why) != GPUFL_OK) {
        fprintf(stderr, "sim: %s\n", why);
        abort();
    }
    prepare_emptying();
    kernel.random = random;
}

static void empty_tables(void)
{
    struct store *store = kept.store;
    must(statement_run(statement_use(store, S_BEGIN)));
    for (unsigned i = 0; i < kept.tables; i++) {
        must(statement_run(kept.empty[i]));
    }
    must(statement_run(statement_use(store, S_COMMIT)));
}

/* What store_open() does with a database that is there. */
static void server_start(struct server *server)
{
    memset(&server->store->health, 0, sizeof server->store->health);
    must(store_epoch_begin(server->store));
}

static void server_move(sqlite3 *to, sqlite3 *from)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup || sqlite3_backup_step(backup, -1) != SQLITE_DONE) {
        abort();
    }
    sqlite3_backup_finish(backup);
}

void server_begin(struct server *server, enum server_kind kind)
{
    *server = (struct server){.kind = kind};
    if (!kept.store) {
        open_kept();
    }
    server->store = kept.store;
    empty_tables();
    server_start(server);
}

void server_end(struct server *server)
{
    sqlite3_close(server->copy);
    text_fini(&server->again);
    text_fini(&server->refused_ids);
}

void server_copy(struct server *server)
{
    sqlite3 *copy;
    sqlite3_close(server->copy);
    if (sqlite3_open(":memory:", &copy) != SQLITE_OK) {
        abort();
    }
    server_move(copy, server->store->db);
    server->copy = copy;
    memcpy(server->copy_expiring, server->expiring, sizeof server->copy_expiring);
}

void server_restart(struct server *server, bool back)
{
    if (back) {
        server_move(server->store->db, server->copy); /* retention goes on there */
    }
    server_start(server);
    if (back && server->copy_expiring[0]) {
        server_finish_expiring(server);
        memcpy(server->expiring, server->copy_expiring, sizeof server->expiring);
    }
    server->went_back |= back;
}

static bool find_oldest(struct server *server, struct store_session *oldest)
{
    unsigned sessions;
    must(store_oldest(server->store, oldest, &sessions) == GPUFL_OK);
    return sessions > 0;
}

bool server_oldest(struct server *server, char session[129])
{
    struct store_session oldest;
    bool found = find_oldest(server, &oldest);
    snprintf(session, 129, "%s", oldest.session);
    return found;
}

static void server_note_id(void *arg, const struct store_session *session)
{
    *(int64_t *)arg = session->id;
}

/* It goes on where the clock was put back and another one is the oldest now. */
static void expire_step(struct server *server)
{
    int64_t id = 0;
    if (server->expiring[0]) {
        must(store_sessions(server->store, server->expiring, 1, 0, server_note_id, &id) ==
             GPUFL_OK);
    }
    if (!id) {
        server->expiring[0] = '\0';
    } else {
        must(store_delete(server->store, id, server->expiring_bodies) == GPUFL_OK);
    }
}

void server_finish_expiring(struct server *server)
{
    while (server->expiring[0]) {
        expire_step(server);
    }
}

void server_expire(struct server *server, unsigned bodies)
{
    server_finish_expiring(server);
    if (server_oldest(server, server->expiring)) {
        server->expiring_bodies = bodies;
        expire_step(server);
    }
}

static void server_version(const struct server *server, struct text *answer)
{
    bool knows = !server->hides;
    text_printf(answer, "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"]");
    if (server->kind != SERVER_NOTHING) {
        text_printf(answer, ",\"live_windows\":true,\"window_registry\":true");
    }
    if (server->kind == SERVER_POSITIONS && knows) {
        text_printf(answer, ",\"positions\":true,\"epoch\":\"%s\"",
                    store_epoch(server->store));
    }
    text_printf(answer, "}");
}

static void ignore_change(void *arg, const char *session)
{
    (void)arg;
    (void)session;
}

static int server_ingest(struct server *server, const struct server_request *r,
                         struct text *answer)
{
    char sequence[16];
    char crc32[16];
    bool id = r->has_id && server->kind != SERVER_NOTHING;
    snprintf(sequence, sizeof sequence, "%u", r->sequence);
    snprintf(crc32, sizeof crc32, "%u", r->crc32);
    struct ingest_request request = {.session = r->session,
                                     .encoding = r->encoding[0] ? r->encoding : NULL,
                                     .window_id = id ? r->window_id : NULL,
                                     .window_channel = r->channel,
                                     .window_sequence = sequence,
                                     .window_crc32 = crc32,
                                     .body = r->body,
                                     .len = r->len};
    return r->kind == TRANSPORT_PARTS ? parts_take(server->store, &forever, &request,
                                                   answer, ignore_change, NULL)
                                      : ingest(server->store, &forever, &request, answer);
}

int server_answer(struct server *server, const struct server_request *r,
                  struct text *answer)
{
    bool knows = server->kind == SERVER_POSITIONS && !server->hides;
    struct text body = {.data = r->body, .len = r->len};
    const struct stream_place place = {.file = r->file, .offset = r->offset};
    const struct text nothing = {.data = (char[]){""}};
    expire_step(server);
    switch (r->kind) {
    case TRANSPORT_PROBE:
        server_version(server, answer);
        return 200;
    case TRANSPORT_BATCH:
        return server_ingest(server, r, answer);
    case TRANSPORT_PARTS:
        return knows ? server_ingest(server, r, answer) : 404;
    case TRANSPORT_ENDS:
        return knows ? api_streams(server->store, r->session, answer) : 404;
    case TRANSPORT_PLACE:
        return knows ? api_streams_place(server->store, r->session, &place, r->channel,
                                         answer)
                     : 404;
    case TRANSPORT_COMPLETE:
        return session_claim_judge(server->store, r->session, r->len ? &body : &nothing,
                                   answer);
    default:
        return 404;
    }
}

void server_note_refused(struct server *server, const struct server_request *r)
{
    const struct store_identity id = {.session = r->session,
                                      .channel = r->channel,
                                      .window_id = r->window_id,
                                      .sequence = r->sequence,
                                      .crc32 = r->crc32};
    const struct ingest_request request = {
        .encoding = r->encoding[0] ? r->encoding : NULL, .body = r->body, .len = r->len};
    enum registry known = REGISTRY_NEW;
    struct text ignored = {0};
    char *raw = NULL;
    size_t len;
    if (store_lookup(server->store, &id, &known) == GPUFL_OK && known == REGISTRY_KNOWN &&
        ingest_decode(&request, &raw, &len, &ignored) == 0) {
        text_append(&server->again, raw, len);
    }
    free(raw);
    text_fini(&ignored);
}

struct bodies {
    int64_t *id;
    size_t count, at;
};

static void read_bodies(const struct server *server, const char *session,
                        const char *channel, struct bodies *of)
{
    int64_t id = 0;
    must(store_sessions(server->store, session, 1, 0, server_note_id, &id) == GPUFL_OK &&
         store_bodies(server->store, id, channel, &of->id, &of->count) == GPUFL_OK);
}

/* Without a window's headers, the backend does not know of which channel a line is. */
static void append_lines_of(const char *channel, const char *data, size_t size,
                            struct text *lines)
{
    char field[64];
    snprintf(field, sizeof field, "\"c\":\"%s\"", channel);
    for (size_t len; size; data += len, size -= len) {
        const char *newline = memchr(data, '\n', size);
        len = newline ? (size_t)(newline - data) + 1 : size;
        if (memmem(data, len, field, strlen(field))) {
            text_append(lines, data, len);
        }
    }
}

/* Where a sender has believed refusals for a while, lines without headers came before,
 * between or behind the others: a body's number tells. */
char *server_stored(struct server *server, const char *session, const char *channel)
{
    struct text stored = {0};
    struct bodies all = {0}, own = {0};
    bool headers = server->kind != SERVER_NOTHING;
    if (!headers || server->doubted) {
        read_bodies(server, session, "all", &all);
    }
    if (headers) {
        read_bodies(server, session, channel, &own);
    }
    while (all.at < all.count || own.at < own.count) {
        bool is_own = own.at < own.count &&
                      (all.at == all.count || own.id[own.at] < all.id[all.at]);
        char *data;
        size_t len;
        must(store_body_lines(server->store, is_own ? own.id[own.at++] : all.id[all.at++],
                              &data, &len) == GPUFL_OK);
        if (is_own) {
            text_append(&stored, data, len);
        } else {
            append_lines_of(channel, data, len, &stored);
        }
        free(data);
    }
    text_append(&stored, "", 1);
    free(all.id);
    free(own.id);
    return stored.data;
}

int server_changes(struct server *server)
{
    return sqlite3_total_changes(server->store->db);
}

int server_state(struct server *server, const char *session)
{
    enum store_completeness state = STORE_OPEN;
    if (store_session_state(server->store, session, &state) != GPUFL_OK) {
        history_fail("origin", "its database cannot be read");
    }
    return (int)state;
}

uint64_t server_lacks(struct server *server, const char *session, const char *channel)
{
    struct stored_end end;
    if (store_streams_end(server->store, session, channel, &end) != GPUFL_OK) {
        return 0;
    }
    return end.losses + end.skips + end.lost_after;
}
