/* SPDX-License-Identifier: Apache-2.0 */
/* Turns records into sessions, streams and offers, and writes these as records. */
#include "upload/engine/replay.h"

#include <stdlib.h>
#include <string.h>

#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/engine/parking.h"

struct replay {
    struct root *root;
    struct stream **stream; /* by number */
    size_t cap;
};

struct replay *replay_open(struct root *root)
{
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay) {
        replay->root = root;
    }
    return replay;
}

void replay_close(struct replay *replay)
{
    if (replay) {
        free(replay->stream);
        free(replay);
    }
}

static struct stream *replay_known(const struct replay *replay, uint32_t id)
{
    return id < replay->cap ? replay->stream[id] : NULL;
}

static bool replay_reserve(struct replay *replay, uint32_t id)
{
    if (id < replay->cap) {
        return true;
    }
    size_t cap = replay->cap ? replay->cap : 64;
    while (cap <= id && cap < (1u << 28)) {
        cap *= 2;
    }
    struct stream **more = cap > id ? realloc(replay->stream, cap * sizeof *more) : NULL;
    if (!more) {
        return false;
    }
    memset(more + replay->cap, 0, (cap - replay->cap) * sizeof *more);
    replay->stream = more;
    replay->cap = cap;
    return true;
}

static void replay_stream(struct replay *replay, const struct journal_record *raw)
{
    struct record_stream record;
    if (!record_parse_stream(raw, &record) || !replay_reserve(replay, record.stream)) {
        return;
    }
    struct parked_session *before = parked_find(&replay->root->parked, record.path);
    if (before) {
        parked_drop(&replay->root->parked,
                    before); /* it came back: the record that it had gone was damaged */
    }
    struct session *session = session_make(replay->root, record.path);
    struct stream *st = session ? session_stream(session, record.channel) : NULL;
    if (!st) {
        return; /* more channels than are followed at once */
    }
    position_restore(st, &record);
    replay->stream[record.stream] = st;
    if (record.stream > replay->root->last_stream_id) {
        replay->root->last_stream_id = record.stream;
    }
}

static void replay_settled(struct replay *replay, const struct journal_record *raw)
{
    struct record_settled record;
    struct stream *st;
    if (!record_parse_settled(raw, &record) ||
        !(st = replay_known(replay, record.stream))) {
        return;
    }
    position_apply(st, &record);
    st->journal_file = record.file;
    if (st->offer) {
        offer_free(replay->root->engine, st->offer);
    }
}

static void replay_quarantine(struct replay *replay, const struct journal_record *raw)
{
    struct record_quarantine record;
    struct stream *st;
    if (!record_parse_quarantine(raw, &record) ||
        !(st = replay_known(replay, record.stream))) {
        return;
    }
    if (registry_list_quarantine(replay->root, &record)) {
        st->session->quarantined++;
    }
}

static void replay_attempt(struct replay *replay, const struct journal_record *raw)
{
    struct record_attempt record;
    struct stream *st =
        record_parse_attempt(raw, &record) ? replay_known(replay, record.stream) : NULL;
    if (st && st->offer && st->offer->record.sequence == record.sequence) {
        st->offer->record.sent = record.sent;
        st->offer->maybe_stored = record.sent != OFFER_NOT_SENT;
    }
}

static void replay_resolved(struct replay *replay, const struct journal_record *raw)
{
    struct record_resolved record;
    struct session *session = record_parse_resolved(raw, &record)
                                  ? session_make(replay->root, record.path)
                                  : NULL;
    if (session) {
        session->unread_given_up = record.unread;
        session->no_manifest = record.no_manifest;
        session->live = session->live || record.no_manifest;
    }
}

/* It is done, or its directory is gone. */
static void replay_session(struct replay *replay, const struct journal_record *raw)
{
    struct record_session record;
    if (!record_parse_session(raw, &record)) {
        return;
    }
    struct session *session = session_find(replay->root, record.path);
    struct parked_session *parked_session =
        parked_find(&replay->root->parked, record.path);
    if (parked_session && raw->type == JOURNAL_FORGET) {
        parked_drop(&replay->root->parked, parked_session);
    }
    for (unsigned i = 0; session && i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (st->offer) {
            offer_free(replay->root->engine, st->offer);
        }
        if (st->id < replay->cap) {
            replay->stream[st->id] = NULL;
        }
    }
    if (session && raw->type == JOURNAL_DONE) {
        session->state = SESSION_DONE;
        parking_complete(session);
    } else if (session) {
        session_drop(session);
    }
}

void replay_record(void *arg, const struct journal_record *raw)
{
    struct replay *replay = arg;
    struct record_offer offer;
    struct record_released released;
    struct stream *st;
    switch (raw->type) {
    case JOURNAL_STREAM:
        replay_stream(replay, raw);
        break;
    case JOURNAL_OFFER:
        if (record_parse_offer(raw, &offer) &&
            (st = replay_known(replay, offer.stream))) {
            offer_restore(st, &offer);
        }
        break;
    case JOURNAL_ATTEMPT:
        replay_attempt(replay, raw);
        break;
    case JOURNAL_SETTLED:
        replay_settled(replay, raw);
        break;
    case JOURNAL_QUARANTINE:
        replay_quarantine(replay, raw);
        break;
    case JOURNAL_RELEASED:
        if (record_parse_released(raw, &released) &&
            (st = replay_known(replay, released.stream))) {
            position_release(st, &released);
        }
        break;
    case JOURNAL_RESOLVED:
        replay_resolved(replay, raw);
        break;
    case JOURNAL_DONE:
    case JOURNAL_FORGET:
        replay_session(replay, raw);
        break;
    default:
        break; /* a later minor addition, which is not needed for safety */
    }
}

static void replay_write_stream(struct root *root, const struct stream *st)
{
    struct record_stream record = stream_record(st);
    record_append_stream(root->journal, &record);
    if (st->offer && st->offer->state == OFFER_IN_FLIGHT) {
        record_append_offer(root->journal,
                            &st->offer->record); /* it was durable before */
    } else if (st->offer) {
        offer_journal(st->offer);
    }
}

void replay_write_state(void *arg)
{
    struct root *root = arg;
    for (struct session *s = root->sessions; s; s = s->next) {
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->id) {
                replay_write_stream(root, s->stream[i]);
            }
        }
        if (s->unread_given_up || s->no_manifest) {
            struct record_resolved record = session_resolved(s);
            record_append_resolved(root->journal, &record);
        }
        if (s->state == SESSION_DONE) {
            record_append_session(root->journal, JOURNAL_DONE, s->path);
        }
    }
    parking_write_state(root);
    for (size_t i = 0; i < root->quarantines; i++) {
        record_append_quarantine(root->journal, &root->quarantine[i]);
    }
}
