/* SPDX-License-Identifier: Apache-2.0 */
/* From the journal's records to sessions and streams, and back. */
#include <stdlib.h>
#include <string.h>

#include "upload/engine_internal.h"

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

static void replay_stream(struct replay *replay, const struct journal_record *record)
{
    struct fact_stream fact;
    if (!fact_read_stream(record, &fact) || !reserve_id(replay, fact.stream)) {
        return;
    }
    struct shelved *before = shelf_find(replay->root, fact.path);
    if (before) {
        shelf_drop(replay->root,
                   before); /* it came again: that it had gone was damaged */
    }
    struct session *session = root_session(replay->root, fact.path, true);
    struct stream *st = session ? session_stream(session, fact.channel) : NULL;
    if (!st) {
        return; /* more channels than are followed at once */
    }
    st->id = fact.stream;
    st->kind = fact.kind;
    st->file = st->journal_file = fact.file ? fact.file : 1;
    st->offset = fact.offset;
    st->head = fact.head;
    st->sequence = fact.sequence;
    st->lines = fact.lines;
    st->refused_lines = fact.refused_lines;
    st->keep = fact.marks & MARK_KEEP;
    st->gap = fact.marks & MARK_GAP;
    replay->stream[fact.stream] = st;
    if (fact.stream > replay->root->last_stream_id) {
        replay->root->last_stream_id = fact.stream;
    }
}

static void replay_settled(struct replay *replay, const struct journal_record *record)
{
    struct fact_settled fact;
    struct stream *st;
    if (!fact_read_settled(record, &fact) || !(st = known(replay, fact.stream))) {
        return;
    }
    st->file = st->journal_file = fact.file;
    st->offset = fact.end;
    st->head = fact.head;
    st->sequence = fact.sequence > st->sequence ? fact.sequence : st->sequence;
    st->keep = st->keep || fact.how >= SETTLED_REFUSED_FINAL;
    if (fact.how == SETTLED_ACKED || fact.how == SETTLED_UNPROVEN) {
        st->lines += fact.lines;
    } else {
        st->refused_lines += fact.lines;
    }
    if (st->offer) {
        offer_free(replay->root->engine, st->offer);
    }
}

static void replay_quarantine(struct replay *replay, const struct journal_record *record)
{
    struct fact_quarantine fact;
    struct stream *st;
    struct root *root = replay->root;
    if (!fact_read_quarantine(record, &fact) || !(st = known(replay, fact.stream))) {
        return;
    }
    struct fact_quarantine *more =
        realloc(root->quarantine, (root->quarantines + 1) * sizeof *more);
    if (more) {
        root->quarantine = more;
        root->quarantine[root->quarantines++] = fact;
        st->session->quarantined++;
    }
}

/* It is done, or its directory is gone. */
static void replay_session(struct replay *replay, const struct journal_record *record)
{
    struct fact_session fact;
    if (!fact_read_session(record, &fact)) {
        return;
    }
    struct session *session = root_session(replay->root, fact.path, false);
    struct shelved *shelved = shelf_find(replay->root, fact.path);
    if (shelved && record->type == FACT_FORGET) {
        shelf_drop(replay->root, shelved);
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
    if (session && record->type == FACT_DONE) {
        session->state = SESSION_DONE;
        shelf_complete(session);
    } else if (session) {
        root_drop_session(session);
    }
}

void replay_record(void *arg, const struct journal_record *record)
{
    struct replay *replay = arg;
    struct fact_offer offer;
    struct fact_released released;
    struct stream *st;
    switch (record->type) {
    case FACT_STREAM:
        replay_stream(replay, record);
        break;
    case FACT_OFFER:
        if (fact_read_offer(record, &offer) && (st = known(replay, offer.stream))) {
            offer_restore(st, &offer);
        }
        break;
    case FACT_SETTLED:
        replay_settled(replay, record);
        break;
    case FACT_QUARANTINE:
        replay_quarantine(replay, record);
        break;
    case FACT_RELEASED:
        if (fact_read_released(record, &released) &&
            (st = known(replay, released.stream))) {
            quarantine_let_go(st, &released);
        }
        break;
    case FACT_DONE:
    case FACT_FORGET:
        replay_session(replay, record);
        break;
    default:
        break; /* a later minor addition: what it says is not needed to be safe */
    }
}

struct fact_stream stream_fact(const struct stream *st)
{
    struct fact_stream fact = {
        .stream = st->id,
        .kind = st->kind,
        .file = st->file,
        .offset = st->offset,
        .head = st->head,
        .sequence = st->sequence,
        .lines = st->lines,
        .refused_lines = st->refused_lines,
        .marks = (uint8_t)((st->keep ? MARK_KEEP : 0) | (st->gap ? MARK_GAP : 0))};
    strcpy(fact.path, st->session->path);
    strcpy(fact.channel, st->session->root->channel_name[st->channel]);
    return fact;
}

static void write_stream(struct root *root, const struct stream *st)
{
    struct fact_stream fact = stream_fact(st);
    fact_append_stream(root->journal, &fact);
    if (st->offer && st->offer->state == OFFER_IN_FLIGHT) {
        fact_append_offer(root->journal, &st->offer->fact); /* it was durable before */
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
            fact_append_session(root->journal, FACT_DONE, s->path);
        }
    }
    shelf_write_state(root);
    for (size_t i = 0; i < root->quarantines; i++) {
        fact_append_quarantine(root->journal, &root->quarantine[i]);
    }
}
