/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what is known of a session from the journal of one root to that of another, or
 * to where another uploader has gone on with it. */
#include "upload/lifecycle/moved_root.h"

#include <string.h>

#include "base/log.h"
#include "upload/core/claims.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/away.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/parking.h"

/* It may have been sent: it is asked for again with the same id. A part has none, as the
 * backend knows its place. */
static bool moved_copy_offer(const struct stream *from, struct stream *to)
{
    const struct offer *offer = from->offer;
    if (!offer || to->offer || offer->part.begin.file) {
        return true;
    }
    struct record_offer record = offer->record;
    record.stream = to->id;
    return offer_restore(to, &record) &&
           record_append_offer(to->session->root->journal, &record) != 0;
}

static bool moved_journal_stream(struct stream *st)
{
    struct journal *journal = st->session->root->journal;
    struct record_stream record = stream_record(st);
    if (!st->id) {
        return offer_journal_stream(st);
    }
    st->sealed.stream = st->id;
    return record_append_stream(journal, &record) &&
           (!st->sealed.file || record_append_sealed(journal, &st->sealed));
}

/* Unless \p to knows more. \return false if the journal cannot be written now. */
static bool moved_copy_stream(const struct stream *from, struct session *to, bool *any)
{
    struct stream *st = session_stream(to, stream_channel(from));
    struct record_stream record = stream_record(from);
    struct record_reached reached = {.file = from->reached_file,
                                     .offset = from->reached_offset};
    if (!st) {
        return false;
    }
    if (st->id && !position_is_behind(st, from)) {
        return position_is_behind(from, st) || moved_copy_offer(from, st);
    }
    if (st->offer) {
        offer_return(to->root->engine, st->offer);
    }
    *any = true;
    record.stream = st->id;
    position_restore(st, &record);
    st->sealed = from->sealed;
    st->reached_file = from->reached_file;
    st->reached_offset = from->reached_offset;
    if (!moved_journal_stream(st)) {
        return false;
    }
    reached.stream = st->id;
    if (stream_falls_short(st) && !record_append_reached(to->root->journal, &reached)) {
        return false;
    }
    st->journal_file_ticket = journal_last(to->root->journal);
    return moved_copy_offer(from, st);
}

/* Ranges in quarantine, unless the stream has gone on since, when they may have been
 * released. */
static bool moved_copy_ranges(const struct stream *from, struct session *to, bool *any)
{
    struct stream *st = session_stream(to, stream_channel(from));
    const struct range_list *list = &from->session->root->quarantine;
    size_t at = range_list_first(list, from->id, 0);
    bool copied = st != NULL;
    for (; copied && range_list_is_of(list, at, from->id); at++) {
        struct record_quarantine range = *list->range[at];
        range.stream = st->id;
        if (!position_is_behind(from, st) &&
            !range_list_has(&to->root->quarantine, &range)) {
            copied = ranges_add(st, &range);
            to->quarantined += copied;
            *any = true;
        }
    }
    return copied;
}

/* A journal that ends here knows the directory, but no session that was begun. */
static bool moved_copy_session(const struct session *from, struct session *to)
{
    to->live = to->live || from->live;
    to->loss = from->loss;
    to->no_manifest = from->no_manifest;
    to->unread_given_up = from->unread_given_up;
    to->in_cursor = from->in_cursor;
    to->directory = to->seen;
    to->directory_noted = false;
    struct record_resolved record = session_resolved(to);
    if (!record_append_resolved(to->root->journal, &record)) {
        return false;
    }
    session_note_directory(to);
    return to->directory_noted;
}

/* Another uploader has gone on with \p to since. */
static bool moved_has_grown(const struct session *from, const struct session *to)
{
    bool grown = false;
    for (unsigned i = 0; i < to->streams; i++) {
        const struct stream *st = to->stream[i];
        const struct stream *known = NULL;
        for (unsigned n = 0; n < from->streams; n++) {
            bool same = strcmp(stream_channel(from->stream[n]), stream_channel(st)) == 0;
            known = same ? from->stream[n] : known;
        }
        grown = grown || (st->id && (!known || position_is_behind(known, st)));
    }
    return grown;
}

/* All that was sent of \p from, so that \p to goes on there. What a crash leaves of it is
 * completed at the next look. */
static bool moved_copy(const struct session *from, struct session *to)
{
    struct journal *journal = to->root->journal;
    bool any = to->moved_ticket == 0;
    bool copied = !any || moved_copy_session(from, to);
    for (unsigned i = 0; copied && i < from->streams; i++) {
        copied =
            from->stream[i]->id == 0 || (moved_copy_stream(from->stream[i], to, &any) &&
                                         moved_copy_ranges(from->stream[i], to, &any));
    }
    if (copied && any && from->state == SESSION_DONE && !moved_has_grown(from, to)) {
        copied = record_append_done(journal, to->path,
                                    (enum session_outcome)from->outcome) != 0;
    }
    to->moved_ticket = !copied ? 0 : any ? journal_last(journal) : to->moved_ticket;
    return copied;
}

/* What is under way, or is in memory to be sent, stays with the one that reads it. */
static bool moved_is_quiet(const struct session *session)
{
    bool quiet = !session_is_referenced(session);
    for (unsigned i = 0; i < session->streams; i++) {
        const struct offer *offer = session->stream[i]->offer;
        quiet =
            quiet &&
            (!offer || (offer->state == OFFER_WAITING && !offer->frame && offer->fd < 0));
    }
    return quiet;
}

/* \p to has all of it: nothing more is known of \p from. */
static bool moved_finish(struct session *from, struct session *to)
{
    struct engine *engine = to->root->engine;
    struct claim *claim = claims_find(engine, to->id);
    bool complete = from->state == SESSION_DONE && !moved_has_grown(from, to);
    uint8_t outcome = from->outcome;
    log_info(engine->config.log, "session.moved", "session=%s from=%s/%s to=%s/%s",
             to->id, from->root->path, from->path, to->root->path, to->path);
    for (unsigned i = 0; i < from->streams; i++) {
        if (from->stream[i]->offer) {
            offer_return(engine, from->stream[i]->offer); /* it is read there */
        }
    }
    if (!away_hand_over(from)) {
        return false;
    }
    if (claim && claims_move(claim, to->root, to->path) && claim->disputed) {
        (void)claims_journal(claim); /* a journal that fails is rewritten with it */
    }
    to->root->change_stamp++;
    engine->trouble.stamp++;
    to->held = false;
    to->moved_ticket = 0;
    if (complete &&
        record_append_done(to->root->journal, to->path, (enum session_outcome)outcome)) {
        to->outcome = outcome;
        session_set_state(to, SESSION_DONE);
    }
    return true;
}

/* One that is complete stays so in its journal. \return what is to be copied from \p
 * path, NULL = nothing. */
static struct session *moved_source(struct root *root, const char *path)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    bool complete = parked && parked->complete;
    struct session *session =
        complete ? parking_open(root, parked) : session_find(root, path);
    if (session && complete) {
        session->state = SESSION_DONE;
        session->outcome = session->outcome_before;
    }
    return session;
}

enum moved_root moved_follow_root(struct session *session, struct root *from,
                                  const char *path)
{
    struct root *to = session->root;
    bool itself = from == to && strcmp(path, session->path) == 0;
    bool taken = from == to && session->streams == 0; /* by moved_follow() */
    if (itself || taken || from->away || journal_broken(from->journal) ||
        journal_broken(to->journal) || !moved_is_it(session, from, path)) {
        return MOVED_ROOT_NOT;
    }
    struct session *before = moved_source(from, path);
    if (!before) {
        return MOVED_ROOT_NOT;
    }
    if (moved_is_quiet(before) && moved_copy(before, session) &&
        session->moved_ticket <= journal_durable(to->journal) &&
        moved_finish(before, session)) {
        return MOVED_ROOT_DONE;
    }
    journal_want(to->journal);
    session_mark_later(session, to->engine->config.sys->now_ms());
    return MOVED_ROOT_WAITS;
}

static bool moved_waits_for(struct session *session, struct root *from, const char *path)
{
    return moved_follow_root(session, from, path) == MOVED_ROOT_WAITS;
}

bool moved_waits_for_roots(struct session *session)
{
    const struct engine *engine = session->root->engine;
    bool waits = false;
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *root = engine->root[i];
        waits = moved_waits_for(session, root, session->id) || waits;
        waits = (strcmp(session->id, session->path) != 0 &&
                 moved_waits_for(session, root, session->path)) ||
                waits;
    }
    return waits;
}

bool moved_hand_over(struct root *root, const char *path, struct session *to)
{
    struct session *from = moved_source(root, path);
    return from && moved_is_quiet(from) && moved_copy(from, to) &&
           journal_rewrite(to->root->journal) == GPUFL_OK && moved_finish(from, to);
}
