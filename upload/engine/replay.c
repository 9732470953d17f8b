/* SPDX-License-Identifier: Apache-2.0 */
/* Turns records into sessions, streams and offers, and writes these as records. */
#include "upload/engine/replay.h"

#include "upload/core/claims.h"
#include "upload/core/passed.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/core/stream_numbers.h"
#include "upload/engine/origin_change.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/parking.h"

/* One in turn is less: this one was not written by an uploader. */
#define STREAM_NUMBER_MAX (1u << 28)

static void replay_stream(struct root *root, const struct journal_record *raw)
{
    struct record_stream record;
    if (!record_parse_stream(raw, &record) || record.stream > STREAM_NUMBER_MAX) {
        return;
    }
    struct parked_session *before = parked_find(&root->parked, record.path);
    if (before) {
        parking_open(root, before); /* it grew, or came back */
    }
    struct session *session = session_make(root, record.path);
    if (session && before) {
        session->presence = SESSION_UNSEEN;
    }
    struct stream *st = session ? session_stream(session, record.channel) : NULL;
    if (!st) {
        return; /* more channels than are followed at once */
    }
    position_restore(st, &record);
    if (record.stream > root->last_stream_id) {
        root->last_stream_id = record.stream;
    }
}

static void replay_settled(struct root *root, const struct journal_record *raw)
{
    struct record_settled record;
    struct stream *st;
    if (!record_parse_settled(raw, &record) ||
        !(st = stream_numbered(root, record.stream))) {
        return;
    }
    position_apply(st, &record);
    st->journal_file = record.file;
    if (st->offer) {
        offer_return(root->engine, st->offer);
    }
}

static void replay_sealed(struct root *root, const struct journal_record *raw)
{
    struct record_sealed record;
    struct stream *st =
        record_parse_sealed(raw, &record) ? stream_numbered(root, record.stream) : NULL;
    if (st) {
        st->sealed = record;
    }
}

static void replay_quarantine(struct root *root, const struct journal_record *raw)
{
    struct record_quarantine record;
    struct stream *st;
    if (!record_parse_quarantine(raw, &record) ||
        !(st = stream_numbered(root, record.stream))) {
        return;
    }
    if (ranges_restore(root, &record)) {
        st->session->quarantined++;
    }
}

static void replay_attempt(struct root *root, const struct journal_record *raw)
{
    struct record_attempt record;
    struct stream *st =
        record_parse_attempt(raw, &record) ? stream_numbered(root, record.stream) : NULL;
    if (st && st->offer && st->offer->record.sequence == record.sequence) {
        st->offer->record.sent = record.sent;
        st->offer->maybe_stored = record.sent != OFFER_NOT_SENT;
    }
}

static void replay_away(struct root *root, const struct journal_record *raw)
{
    struct record_away record;
    if (!record_parse_away(raw, &record)) {
        return;
    }
    struct session *session = session_find(root, record.path);
    struct parked_session *parked = parked_find(&root->parked, record.path);
    struct absence absence = {record.days < UINT16_MAX ? (uint16_t)record.days
                                                       : UINT16_MAX,
                              (uint16_t)record.last};
    if (session) {
        session->absence = absence;
    } else if (parked) {
        parked->absence = absence;
    }
}

static void replay_origin(struct root *root, const struct journal_record *raw)
{
    struct record_origin record;
    if (!record_parse_origin(raw, &record)) {
        return;
    }
    origin_change_replay(root, &record);
}

static void replay_reached(struct root *root, const struct journal_record *raw)
{
    struct record_reached record;
    struct stream *st =
        record_parse_reached(raw, &record) ? stream_numbered(root, record.stream) : NULL;
    if (st) {
        st->reached_file = record.file;
        st->reached_offset = record.offset;
    }
}

static void replay_directory(struct root *root, const struct journal_record *raw)
{
    struct record_directory record;
    if (record_parse_directory(raw, &record)) {
        moved_replay(root, &record);
    }
}

static void replay_resolved(struct root *root, const struct journal_record *raw)
{
    struct record_resolved record;
    struct session *session =
        record_parse_resolved(raw, &record) ? session_make(root, record.path) : NULL;
    if (session) {
        session->unread_given_up = record.unread;
        session->no_manifest = record.no_manifest;
        session->live = session->live || record.no_manifest;
    }
}

/* It is done, or its directory has not been there for long. */
static void replay_session(struct root *root, const struct journal_record *raw)
{
    struct record_session record;
    if (!record_parse_session(raw, &record)) {
        return;
    }
    struct session *session = session_find(root, record.path);
    struct parked_session *parked_session = parked_find(&root->parked, record.path);
    if (parked_session && raw->type == JOURNAL_FORGET) {
        passed_forget_parked(root, parked_session);
        parked_drop(&root->parked, parked_session);
    }
    for (unsigned i = 0; session && i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (st->offer) {
            offer_return(root->engine, st->offer);
        }
    }
    if (session && raw->type == JOURNAL_DONE && !session_is_lost_elsewhere(session)) {
        session->state = SESSION_DONE;
        session->outcome = record.outcome;
        parking_complete(session);
    } else if (session && raw->type == JOURNAL_FORGET) {
        session_unlist_ranges(session);
        session_drop(session);
    }
}

static void replay_passed(struct root *root, const struct journal_record *raw)
{
    struct record_passed record;
    if (record_parse_passed(raw, &record)) {
        passed_apply(root, &record);
    }
}

static void replay_claim(struct root *root, const struct journal_record *raw)
{
    struct record_claim record;
    if (record_parse_claim(raw, &record)) {
        claims_restore(root, &record);
    }
}

void replay_record(void *arg, const struct journal_record *raw)
{
    struct root *root = arg;
    struct record_offer offer;
    struct record_released released;
    struct stream *st;
    switch (raw->type) {
    case JOURNAL_STREAM:
        replay_stream(root, raw);
        break;
    case JOURNAL_OFFER:
        if (record_parse_offer(raw, &offer) &&
            (st = stream_numbered(root, offer.stream))) {
            offer_restore(st, &offer);
        }
        break;
    case JOURNAL_ATTEMPT:
        replay_attempt(root, raw);
        break;
    case JOURNAL_SETTLED:
        replay_settled(root, raw);
        break;
    case JOURNAL_SEALED:
        replay_sealed(root, raw);
        break;
    case JOURNAL_QUARANTINE:
        replay_quarantine(root, raw);
        break;
    case JOURNAL_RELEASED:
        if (record_parse_released(raw, &released) &&
            (st = stream_numbered(root, released.stream))) {
            ranges_let_out(st, &released);
        }
        break;
    case JOURNAL_AWAY:
        replay_away(root, raw);
        break;
    case JOURNAL_DIRECTORY:
        replay_directory(root, raw);
        break;
    case JOURNAL_RESOLVED:
        replay_resolved(root, raw);
        break;
    case JOURNAL_ORIGIN:
        replay_origin(root, raw);
        break;
    case JOURNAL_REACHED:
        replay_reached(root, raw);
        break;
    case JOURNAL_PASSED:
        replay_passed(root, raw);
        break;
    case JOURNAL_DONE:
    case JOURNAL_FORGET:
        replay_session(root, raw);
        break;
    case JOURNAL_CLAIM:
        replay_claim(root, raw);
        break;
    default:
        break; /* a later minor addition, which is not needed for safety */
    }
}

static void replay_write_stream(struct root *root, const struct stream *st)
{
    struct record_stream record = stream_record(st);
    struct record_reached reached = {
        .stream = st->id, .file = st->reached_file, .offset = st->reached_offset};
    record_append_stream(root->journal, &record);
    if (st->sealed.file) {
        struct record_sealed sealed = st->sealed;
        sealed.stream = st->id;
        record_append_sealed(root->journal, &sealed);
    }
    if (stream_falls_short(st)) {
        record_append_reached(root->journal, &reached);
    }
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
    origin_change_write_state(root);
    for (struct session *s = root->sessions; s; s = s->next) {
        for (unsigned i = 0; i < s->streams; i++) {
            if (s->stream[i]->id) {
                replay_write_stream(root, s->stream[i]);
            }
        }
        if (session_begun(s)) {
            s->directory_noted = false;
            session_note_directory(s);
        }
        if (s->absence.days) {
            registry_append_absence(root, s->path, &s->absence);
        }
        if (s->unread_given_up || s->no_manifest) {
            struct record_resolved record = session_resolved(s);
            record_append_resolved(root->journal, &record);
        }
        if (s->state == SESSION_DONE) {
            record_append_done(root->journal, s->path, (enum session_outcome)s->outcome);
        }
    }
    parking_write_state(root);
    claims_write_state(root);
    passed_write_state(root);
    for (size_t i = 0; i < root->quarantine.count; i++) {
        record_append_quarantine(root->journal, root->quarantine.range[i]);
    }
}
