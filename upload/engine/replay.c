/* SPDX-License-Identifier: Apache-2.0 */
/* From the journal's records to sessions and streams, and back. */
#include <stdlib.h>
#include <string.h>

#include "upload/engine/engine_internal.h"

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

static struct stream *known(const struct replay *replay, uint32_t id)
{
    return id < replay->cap ? replay->stream[id] : NULL;
}

static bool reserve_id(struct replay *replay, uint32_t id)
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
    if (!record_parse_stream(raw, &record) || !reserve_id(replay, record.stream)) {
        return;
    }
    struct parked_session *before = parked_find(replay->root, record.path);
    if (before) {
        parked_drop(replay->root,
                    before); /* it came again: that it had gone was damaged */
    }
    struct session *session = root_session(replay->root, record.path, true);
    struct stream *st = session ? session_stream(session, record.channel) : NULL;
    if (!st) {
        return; /* more channels than are followed at once */
    }
    st->id = record.stream;
    st->kind = record.kind;
    st->file = st->journal_file = record.file ? record.file : 1;
    st->offset = record.offset;
    st->head = record.head;
    st->sequence = record.sequence;
    st->lines = record.lines;
    st->refused_lines = record.refused_lines;
    st->keep = record.marks & MARK_KEEP;
    st->gap = record.marks & MARK_GAP;
    replay->stream[record.stream] = st;
    if (record.stream > replay->root->last_stream_id) {
        replay->root->last_stream_id = record.stream;
    }
}

static void replay_settled(struct replay *replay, const struct journal_record *raw)
{
    struct record_settled record;
    struct stream *st;
    if (!record_parse_settled(raw, &record) || !(st = known(replay, record.stream))) {
        return;
    }
    st->file = st->journal_file = record.file;
    st->offset = record.end;
    st->head = record.head;
    st->sequence = record.sequence > st->sequence ? record.sequence : st->sequence;
    st->keep = st->keep || record.how >= SETTLED_REFUSED_FINAL;
    if (record.how == SETTLED_ACKED || record.how == SETTLED_UNPROVEN) {
        st->lines += record.lines;
    } else {
        st->refused_lines += record.lines;
    }
    if (st->offer) {
        offer_free(replay->root->engine, st->offer);
    }
}

static void replay_quarantine(struct replay *replay, const struct journal_record *raw)
{
    struct record_quarantine record;
    struct stream *st;
    struct root *root = replay->root;
    if (!record_parse_quarantine(raw, &record) || !(st = known(replay, record.stream))) {
        return;
    }
    struct record_quarantine *more =
        realloc(root->quarantine, (root->quarantines + 1) * sizeof *more);
    if (more) {
        root->quarantine = more;
        root->quarantine[root->quarantines++] = record;
        st->session->quarantined++;
    }
}

/* It is done, or its directory is gone. */
static void replay_session(struct replay *replay, const struct journal_record *raw)
{
    struct record_session record;
    if (!record_parse_session(raw, &record)) {
        return;
    }
    struct session *session = root_session(replay->root, record.path, false);
    struct parked_session *parked_session = parked_find(replay->root, record.path);
    if (parked_session && raw->type == JOURNAL_FORGET) {
        parked_drop(replay->root, parked_session);
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
        parked_complete(session);
    } else if (session) {
        root_drop_session(session);
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
        if (record_parse_offer(raw, &offer) && (st = known(replay, offer.stream))) {
            offer_restore(st, &offer);
        }
        break;
    case JOURNAL_SETTLED:
        replay_settled(replay, raw);
        break;
    case JOURNAL_QUARANTINE:
        replay_quarantine(replay, raw);
        break;
    case JOURNAL_RELEASED:
        if (record_parse_released(raw, &released) &&
            (st = known(replay, released.stream))) {
            quarantine_let_go(st, &released);
        }
        break;
    case JOURNAL_DONE:
    case JOURNAL_FORGET:
        replay_session(replay, raw);
        break;
    default:
        break; /* a later minor addition: what it says is not needed to be safe */
    }
}

struct record_stream stream_record(const struct stream *st)
{
    struct record_stream record = {
        .stream = st->id,
        .kind = st->kind,
        .file = st->file,
        .offset = st->offset,
        .head = st->head,
        .sequence = st->sequence,
        .lines = st->lines,
        .refused_lines = st->refused_lines,
        .marks = (uint8_t)((st->keep ? MARK_KEEP : 0) | (st->gap ? MARK_GAP : 0))};
    strcpy(record.path, st->session->path);
    strcpy(record.channel, st->session->root->channel_name[st->channel]);
    return record;
}

static void write_stream(struct root *root, const struct stream *st)
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
                write_stream(root, s->stream[i]);
            }
        }
        if (s->state == SESSION_DONE) {
            record_append_session(root->journal, JOURNAL_DONE, s->path);
        }
    }
    parked_write_state(root);
    for (size_t i = 0; i < root->quarantines; i++) {
        record_append_quarantine(root->journal, &root->quarantine[i]);
    }
}
