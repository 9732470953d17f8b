/* SPDX-License-Identifier: Apache-2.0 */
/* Moves the position of each stream behind what is wrong with it. Nothing that can be
 * read is given up, except a file whose place in the order is taken by a later one that
 * was sent; and nothing is sent twice. */
#include "upload/resolve/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "upload/core/offer.h"
#include "upload/core/position.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/lifecycle/replaced.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/resolve/resolve_away.h"
#include "upload/resolve/resolve_find.h"
#include "upload/resolve/resolve_text.h"

static void resolve_say(struct resolve_result *out, struct session *session,
                        const char *channel, enum held_reason reason)
{
    struct engine *engine = session->root->engine;
    out->given_up++;
    engine->counters.lost[reason]++;
    log_warn(engine->config.log, "session.given_up",
             "session=%s channel=%s reason=\"%s\"", session->id, channel,
             held_text(reason));
}

/* What an earlier backend got does not count any more. */
static bool resolve_forget_reached(struct stream *st)
{
    struct record_reached record = {.stream = st->id};
    if (!record_append_reached(st->session->root->journal, &record)) {
        return false;
    }
    st->reached_file = 0;
    st->reached_offset = 0;
    return true;
}

/* A person has spoken, or its disk has lost what is not there: the uploader asks the
 * backend whether it has all of the files. */
static bool resolve_is_to_be_asked(const struct stream *st)
{
    return st->positions && st->unproved &&
           (st->end.state == END_PARTING || st->end.state == END_COPY ||
            st->end.state == END_CUT);
}

/* What was sent is not in the file of its name, or not all of it: the backend knows how
 * much is. */
static bool resolve_parts(const struct resolving *r)
{
    const struct stream *st = r->stream;
    const struct stream_place *end = &st->end.at;
    bool active = st->file > st->highest;
    bool sent = st->positions && st->offset && st->session->layout == SESSION_LIVE &&
                end->file == st->file && end->offset == st->offset;
    return sent && ((r->reason == HELD_OTHER && r->to.file == st->file + active) ||
                    (r->reason == HELD_SHORTER && active && r->to.file == st->file));
}

/* The backend has other bytes, or more, or nothing shows whose they are, as this process
 * or one before has found. Where the channel goes on, the uploader asks the backend. */
static bool resolve_told(const struct resolving *r)
{
    struct stream *st = r->stream;
    enum held_reason reason = st->end.state == END_DISPUTED   ? HELD_BACKEND_OTHER
                              : st->end.state == END_LONGER   ? HELD_BACKEND_LONGER
                              : st->end.state == END_UNPROVED ? HELD_BACKEND_UNPROVED
                              : resolve_parts(r) && !resolve_is_to_be_asked(st)
                                  ? r->reason
                                  : HELD_NOT;
    if (r->reason != HELD_NOT && stream_is_earlier_copy(st) && !r->has_all &&
        st->positions && !resolve_is_to_be_asked(st)) {
        reason = HELD_BACKEND_LONGER; /* what the last answer found may have changed */
    }
    bool believes = reason == HELD_BACKEND_UNPROVED;
    if (reason == HELD_NOT || st->offer ||
        !position_note_end(st, believes ? END_BELIEVED : END_PARTING)) {
        return false;
    }
    st->held = false;
    st->hold_reason = HELD_NOT;
    st->unproved = true;
    st->voided = st->voided || !believes;
    st->seek_at_ms = 0;
    st->rest = STREAM_PENDING;
    r->out->compared = true;
    resolve_text_channel(r, reason);
    resolve_say(r->out, st->session, stream_channel(st), reason);
    return true;
}

/* A backend that knows positions has told what it has of that copy; else the numbers in
 * it show that all of it was sent. One that can be read on is none: its writer tells
 * nothing of another file that was taken for its own. Nor is one whose lock file alone is
 * earlier, as it was copied first. \return true if that was all. */
static bool resolve_copy(const struct resolving *r)
{
    struct stream *st = r->stream;
    bool earlier = r->reason != HELD_NOT && !r->has_all && !st->positions && !st->offer &&
                   sealed_file_copy(st) == SEALED_COPY;
    if (!earlier || !offer_journal_stream(st) || !position_note_end(st, END_COPY)) {
        return false;
    }
    st->held = false;
    st->hold_reason = HELD_NOT;
    st->rest = STREAM_PENDING;
    resolve_text_copy(r);
    resolve_say(r->out, st->session, stream_channel(st), HELD_OTHER);
    log_warn(st->session->root->engine->config.log, "session.cut",
             "session=%s channel=%s file=%u note=\"its files are an earlier copy: all of "
             "them was sent\"",
             st->session->id, stream_channel(st), st->file);
    return true;
}

/* What another uploader gave up is taken for given up here, too. */
static bool resolve_lost_elsewhere(const struct resolving *r)
{
    struct stream *st = r->stream;
    bool other = r->reason != HELD_NOT || r->may_double || st->offer;
    if (other || !stream_is_lost_elsewhere(st)) {
        return false;
    }
    st->lost = st->keep = true;
    struct record_stream record = stream_record(st);
    if (!record_append_stream(st->session->root->journal, &record)) {
        st->lost = false;
        return false;
    }
    resolve_text_add(r->out, stream_channel(st), "", HELD_LOST_ELSEWHERE);
    resolve_say(r->out, st->session, stream_channel(st), HELD_LOST_ELSEWHERE);
    return true;
}

/* A person gives up what is gone: this need only be opened, or uncovered. */
static bool resolve_is_to_be_mended(const struct resolving *r)
{
    struct stream *st = r->stream;
    char text[HELD_TEXT_MAX];
    enum held_reason why =
        stream_unreadable(st, r->pass_first ? r->pass_first : r->to.file);
    if (why != HELD_NOT) {
        stream_hold_text(st, why, text);
        snprintf(r->out->why, sizeof r->out->why, "nothing of %s can be given up: %s",
                 stream_channel(st), text);
    }
    return why != HELD_NOT;
}

static void resolve_stream(struct stream *st, struct resolve_result *out)
{
    struct gz_cache *gz = &st->session->root->engine->gz;
    struct resolving r = {.stream = st,
                          .out = out,
                          .to = {.sequence = st->sequence,
                                 .file = st->file,
                                 .end = st->offset,
                                 .head = st->head,
                                 .mark = st->mark,
                                 .how = SETTLED_GIVEN_UP}};
    if (stream_is_cut(st) && !missing_behind_cut(st)) {
        (void)resolve_lost_elsewhere(&r);
        return;
    }
    if (resolve_is_to_be_mended(&r)) {
        return;
    }
    resolve_find(&r);
    bool done = gz->busy || resolve_is_to_be_mended(&r) || resolve_told(&r) ||
                resolve_copy(&r) || resolve_lost_elsewhere(&r);
    if (done || gz->busy) {
        out->busy += gz->busy;
        return;
    }
    if (resolve_is_to_be_asked(st) &&
        (r.reason == HELD_OTHER || r.reason == HELD_SHORTER)) {
        return;
    }
    bool ended = r.to.how == SETTLED_ENDED && st->ended_file == r.to.file;
    if (r.reason == HELD_NOT || ended || !offer_journal_stream(st)) {
        return;
    }
    resolve_text_channel(&r, r.reason);
    uint32_t before = st->file;
    if (!position_advance(st, &r.to) ||
        (r.reason == HELD_FALLS_SHORT && !resolve_forget_reached(st))) {
        return;
    }
    if (st->offer) {
        offer_count_fate(st->offer, COUNTERS_GIVEN_UP);
        offer_free(st->session->root->engine, st->offer);
    }
    st->held = false;
    st->hold_reason = HELD_NOT;
    st->all_read = st->at_shutdown = false;
    st->took = STREAM_TOOK_PART;
    st->split_lines = 0;
    st->rest = STREAM_PENDING;
    resolve_note_passed(&r, before);
    resolve_say(out, st->session, stream_channel(st), r.reason);
}

/* What is wrong with the session as a whole. */
static void resolve_whole(struct session *session, struct resolve_result *out)
{
    enum held_reason reason =
        session->held ? (enum held_reason)session->hold_reason : HELD_NOT;
    bool no_manifest = reason == HELD_MANIFEST_DAMAGED || reason == HELD_MANIFEST_GONE ||
                       reason == HELD_MANIFEST_UNREADABLE;
    struct record_resolved record = session_resolved(session);
    record.no_manifest = record.no_manifest || no_manifest;
    record.unread = session->unread ? session->unread_mark : record.unread;
    if ((!no_manifest && !session->unread) ||
        !record_append_resolved(session->root->journal, &record)) {
        return;
    }
    if (session->unread) {
        resolve_text_unread(session->unread, out);
        resolve_say(out, session, "*", HELD_NOT_READ);
    }
    if (no_manifest) {
        resolve_text_add(out, "", "its manifest", reason);
        resolve_say(out, session, "*", reason);
    }
    session->unread_given_up = record.unread;
    session->no_manifest = record.no_manifest;
    session->live = session->live || record.no_manifest;
}

/* A person says that the directory of another user is the session now. */
static bool resolve_replaced(struct session *session, const char *channel,
                             struct resolve_result *out)
{
    if (!session->held || session->hold_reason != HELD_REPLACED || channel) {
        return false;
    }
    moved_note(session, session->seen);
    resolve_say(out, session, "*", HELD_REPLACED);
    snprintf(out->text, sizeof out->text,
             "goes on in %s/%s, as it is now; what was sent of it is not sent again",
             session->root->path, session->path);
    session_mark(session);
    journal_want(session->root->journal);
    return true;
}

/* \return the session, which may be new; NULL = it is complete, or there is no memory. */
static struct session *resolve_find_session(struct root *root, const char *path)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    if (parked && parked->complete && !replaced_at(root, path)) {
        return parking_reopen_grown(root, parked) ? session_find(root, path) : NULL;
    }
    struct session *session =
        parked ? parking_open_again(root, parked) : session_find(root, path);
    if (!session && !parked && (session = session_make(root, path))) {
        session->listed = root->listing_number;
        room_charge(session);
    }
    if (session && session->presence == SESSION_UNSEEN) {
        session->presence = SESSION_PRESENT;
    }
    return session;
}

void resolve_session(struct root *root, const char *path, const char *channel,
                     struct resolve_result *out)
{
    if (resolve_away_closed(root, path, channel, out)) {
        return;
    }
    struct session *session = resolve_find_session(root, path);
    if (!session || session->state == SESSION_DONE) {
        if (out->given_up) { /* in an earlier turn */
            resolve_text_end(root, path, NULL, out);
        }
        snprintf(out->why, sizeof out->why, "nothing to resolve: it is complete");
        return;
    }
    session->looked_at_ms = 0;
    inspect_session(session, root->engine->config.sys->now_ms());
    if (root->engine->gz.busy) {
        out->busy++; /* its files are still being read */
        return;
    }
    if (session->presence != SESSION_PRESENT) {
        resolve_away(session, channel, out);
        return;
    }
    if (!session->inspected) {
        snprintf(out->why, sizeof out->why, "no such session");
        return;
    }
    if (session->held &&
        held_exit((enum held_reason)session->hold_reason) == HELD_EXIT_MEND) {
        snprintf(out->why, sizeof out->why, "nothing of it can be given up: %s",
                 held_text((enum held_reason)session->hold_reason));
        return;
    }
    if (resolve_away_moved(session, channel, out) ||
        resolve_replaced(session, channel, out)) {
        return;
    }
    out->foreign = out->foreign || session_is_foreign(session);
    if (!channel) {
        resolve_whole(session, out);
    }
    bool any = !channel;
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (!channel || strcmp(stream_channel(st), channel) == 0) {
            any = true;
            resolve_stream(st, out);
        }
    }
    journal_want(root->journal);
    session_mark(session);
    if (out->given_up && !out->busy) {
        resolve_text_end(root, session->path, session, out);
    } else if (!out->why[0]) {
        resolve_text_nothing(any, out);
    }
}

void resolve_in_first_root(struct engine *engine, const char *path, const char *channel,
                           struct resolve_result *out)
{
    *out = (struct resolve_result){0};
    engine->gz.step_bytes = 0; /* nobody else waits */
    resolve_session(engine->root[0], path, channel, out);
    engine->gz.step_bytes = GZ_CACHE_STEP_BYTES;
}
