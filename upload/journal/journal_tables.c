/* SPDX-License-Identifier: Apache-2.0 */
/* Streams in the order of their records, each in the list of its session. */
#include "upload/journal/journal_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct journal_read_stream *journal_tables_stream(const struct journal_read *r,
                                                  uint32_t id)
{
    for (size_t at = lookup_first(&r->by_number, id); at != LOOKUP_NONE;
         at = lookup_next(&r->by_number, at)) {
        if (r->stream[at].session != LOOKUP_NONE) {
            return &r->stream[at];
        }
    }
    return NULL;
}

struct journal_read_session *journal_tables_session(const struct journal_read *r,
                                                    const char *path)
{
    for (size_t at = lookup_first(&r->by_path, hash_text(r->seed, path));
         at != LOOKUP_NONE; at = lookup_next(&r->by_path, at)) {
        if (strcmp(r->session[at].done.path, path) == 0) {
            return &r->session[at];
        }
    }
    return NULL;
}

struct journal_read_session *journal_tables_make(struct journal_read *r, const char *path)
{
    struct journal_read_session *session = journal_tables_session(r, path);
    if (session) {
        return session;
    }
    struct journal_read_session *more =
        array_grown(r->session, r->sessions, &r->session_cap, sizeof *more);
    r->session = more ? more : r->session;
    if (!more || !lookup_add(&r->by_path, hash_text(r->seed, path))) {
        r->no_memory = true;
        return NULL;
    }
    session = &more[r->sessions++];
    *session = (struct journal_read_session){.first = LOOKUP_NONE};
    snprintf(session->done.path, sizeof session->done.path, "%s", path);
    return session;
}

/* Where the number of stream \p at is, or would be, in the list of its session: few are
 * in one. */
static size_t *tables_place(struct journal_read *r, size_t session, size_t at)
{
    size_t *place = &r->session[session].first;
    while (*place != LOOKUP_NONE && *place != at) {
        place = &r->stream[*place].next;
    }
    return place;
}

static void tables_link(struct journal_read *r, size_t session, size_t at)
{
    *tables_place(r, session, at) = at;
    r->stream[at].session = session;
    r->stream[at].next = LOOKUP_NONE;
}

/* \return the place of a new stream; NULL without memory. */
static struct journal_read_stream *tables_add(struct journal_read *r, uint32_t id)
{
    struct journal_read_stream *more =
        array_grown(r->stream, r->streams, &r->stream_cap, sizeof *more);
    r->stream = more ? more : r->stream;
    if (!more || !lookup_add(&r->by_number, id)) {
        r->no_memory = true;
        return NULL;
    }
    return &more[r->streams++];
}

void journal_tables_put(struct journal_read *r, const struct record_stream *record)
{
    struct journal_read_session *session = journal_tables_make(r, record->path);
    struct journal_read_stream *known = journal_tables_stream(r, record->stream);
    if (session && known) {
        *tables_place(r, known->session, (size_t)(known - r->stream)) = known->next;
    } else if (session) {
        known = tables_add(r, record->stream);
    }
    if (!session || !known) {
        return;
    }
    *known = (struct journal_read_stream){.record = *record};
    tables_link(r, (size_t)(session - r->session), (size_t)(known - r->stream));
    session->is_done = false; /* a complete session that grew is open again */
}

void journal_tables_forget(struct journal_read *r, const char *path)
{
    struct journal_read_session *session = journal_tables_session(r, path);
    if (!session) {
        return;
    }
    for (size_t at = session->first; at != LOOKUP_NONE; at = r->stream[at].next) {
        r->stream[at].session = LOOKUP_NONE;
    }
    session->first = LOOKUP_NONE;
    session->is_done = session->has_directory = false;
    session->unread = session->no_manifest = 0;
}

void journal_tables_move(struct journal_read *r, const char *from, const char *path)
{
    struct journal_read_session *to =
        journal_tables_session(r, from) ? journal_tables_make(r, path) : NULL;
    struct journal_read_session *old = journal_tables_session(r, from);
    if (!to || to == old) {
        return;
    }
    for (size_t at = old->first, next; at != LOOKUP_NONE; at = next) {
        next = r->stream[at].next;
        memcpy(r->stream[at].record.path, to->done.path, sizeof to->done.path);
        tables_link(r, (size_t)(to - r->session), at);
    }
    to->is_done = old->is_done;
    to->done.outcome = old->done.outcome;
    to->unread = old->unread;
    to->no_manifest = old->no_manifest;
    old->first = LOOKUP_NONE;
    journal_tables_forget(r, from);
}

void journal_tables_tidy(struct journal_read *r)
{
    size_t kept = 0;
    lookup_close(&r->by_number);
    for (size_t i = 0; i < r->sessions; i++) {
        r->session[i].first = LOOKUP_NONE;
    }
    for (size_t i = 0; i < r->streams; i++) {
        size_t session = r->stream[i].session;
        if (session == LOOKUP_NONE) {
            continue;
        }
        r->stream[kept] = r->stream[i];
        tables_link(r, session, kept);
        r->no_memory =
            r->no_memory || !lookup_add(&r->by_number, r->stream[kept++].record.stream);
    }
    r->streams = kept;
}

void journal_tables_close(struct journal_read *r)
{
    free(r->stream);
    free(r->session);
    range_list_close(&r->quarantine);
    lookup_close(&r->by_number);
    lookup_close(&r->by_path);
    origin_history_fini(&r->origin);
}
