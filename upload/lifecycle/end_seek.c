/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the ends of a session's streams at once, and applies what own bytes prove. */
#include "upload/lifecycle/end_seek.h"

#include "base/log.h"
#include "upload/core/expired.h"
#include "upload/core/owner_standing.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/end_parting.h"
#include "upload/lifecycle/end_proof.h"
#include "upload/lifecycle/sealed_file.h"
#include "upload/lifecycle/shifted_stream.h"

#define SEEK_SLOT_MS  20u
#define SEEK_AGAIN_MS 600000u /* until a stream that is held is compared again */
/* Whatever follows from an end that was told, it may change nothing, and the same be told
 * again: it is compared a few times in a row, and then once for each of these. */
#define SEEK_EACH_MS 10000u
#define SEEK_ROW_MS  (16 * SEEK_EACH_MS)

static void seek_wait(struct stream *st, uint64_t due_ms)
{
    st->rest = STREAM_PENDING;
    stream_enqueue(st, false, due_ms);
}

static enum made seek_later(struct stream *st, uint64_t ms)
{
    seek_wait(st, st->session->root->engine->config.sys->now_ms() + ms);
    return MADE_NOTHING;
}

/* Of all streams, or, with \p place, of one. */
static enum made seek_ask(struct stream *st, const struct stream_place *place)
{
    struct session *session = st->session;
    struct engine *engine = session->root->engine;
    uint64_t now_ms = engine->config.sys->now_ms();
    struct transport_request request = {.kind = place ? TRANSPORT_PLACE : TRANSPORT_ENDS,
                                        .session = session->id,
                                        .channel = stream_channel(st),
                                        .file = place ? place->file : 0,
                                        .offset = place ? place->offset : 0,
                                        .fd = -1,
                                        .tag = session};
    if (session->ends_in_flight) {
        return MADE_NOTHING; /* the answer queues all of its streams */
    }
    if (now_ms < session->ends_at_ms || !owner_may_go(session, now_ms)) {
        return seek_later(st, now_ms < session->ends_at_ms ? session->ends_at_ms - now_ms
                                                           : SEEK_SLOT_MS);
    }
    if (engine->config.transport.submit(engine->config.transport.self, &request) !=
        GPUFL_OK) {
        return seek_later(st, SEEK_SLOT_MS);
    }
    session->ends_in_flight = true;
    if (place) {
        end_parting_asked(st);
    }
    engine->origin.in_flight++;
    engine->counters.requests++;
    return MADE_NOTHING;
}

/* A person may say later, to another process, to go on nevertheless. */
static void seek_note_state(struct stream *st, enum held_reason reason)
{
    enum end_state was = (enum end_state)st->end.state;
    bool parts = reason == HELD_BACKEND_OTHER || reason == HELD_BACKEND_LONGER;
    enum end_state state = reason == HELD_BACKEND_OTHER      ? END_DISPUTED
                           : reason == HELD_BACKEND_LONGER   ? END_LONGER
                           : reason == HELD_BACKEND_UNPROVED ? END_UNPROVED
                                                             : was;
    if (!parts || was != END_PARTING) { /* who said so is not asked again */
        (void)!position_note_end(st, state);
    }
}

static enum made seek_hold(struct stream *st, enum held_reason reason)
{
    bool known = st->end.state == END_LONGER || st->end.state == END_DISPUTED ||
                 st->end.state == END_UNPROVED;
    reason = st->asked_for ? (enum held_reason)st->asked_for : reason;
    reason = known ? reason : sealed_file_or_copy(st, reason);
    if (st->session->root->engine->gz.busy) {
        stream_decode_on(st); /* whether it is a copy is not known yet */
        return MADE_NOTHING;
    }
    stream_hold(st, reason);
    seek_note_state(st, (enum held_reason)st->hold_reason);
    end_parting_drop(st);
    st->seek_at_ms = st->session->root->engine->config.sys->now_ms() + SEEK_AGAIN_MS;
    end_proof_drop(st);
    return MADE_NOTHING;
}

/* Likewise; a person may go by \p state, whatever reason was to be asked for. */
static enum made seek_hold_as(struct stream *st, enum held_reason reason, uint8_t state)
{
    (void)!position_note_end(st, (enum end_state)state);
    return seek_hold(st, reason);
}

/* The next inspection tries again; what the backend told is still to be compared. */
static enum made seek_unreadable(struct stream *st)
{
    struct reply_end told;
    stream_hold(st, HELD_UNREADABLE);
    end_parting_drop(st);
    if (end_proof_told(st, &told)) {
        (void)!end_proof_begin(st, &told); /* without memory it is asked for again */
    }
    st->seek_at_ms = 0;
    return MADE_NOTHING;
}

/* The next inspection tells which directory is the session's. */
static enum made seek_away(struct stream *st)
{
    st->rest = STREAM_PENDING;
    session_mark_later(st->session, st->session->root->engine->config.sys->now_ms());
    return MADE_NOTHING;
}

/* What lies between its end and its position is lost; the file has bytes before it. */
static bool seek_jumps(const struct stream *st)
{
    return st->jump && !st->jump_measured && sealed_file_jump_to(st);
}

bool end_seek_is_over(const struct stream *st)
{
    return stream_knows_end(st) && !seek_jumps(st);
}

void end_seek_forget(struct stream *st)
{
    if (!st->positions) {
        end_proof_drop(st);
        end_parting_drop(st);
    }
}

static enum made seek_jump(struct stream *st)
{
    struct file_run run = {0};
    enum proof_result result = end_proof_jump(st, sealed_file_jump_to(st), &run);
    bool other = !st->offset && (result == PROOF_SHORTER || result == PROOF_GONE);
    if (result == PROOF_EQUAL || other) {
        sealed_file_jumped(st, &run);
        return MADE_STEP;
    }
    return result == PROOF_AWAY      ? seek_away(st)
           : result == PROOF_GOES_ON ? MADE_STEP
                                     : seek_unreadable(st);
}

static enum made seek_pass(struct stream *st)
{
    log_warn(st->session->root->engine->config.log, "session.cut",
             "session=%s channel=%s file=%u note=\"it is shorter than what was sent of "
             "it: the backend has the rest\"",
             st->session->id, stream_channel(st), st->end.at.file);
    end_proof_drop(st);
    st->unproved = st->voided = false;
    if (st->asked_for == HELD_SHORTER || st->asked_for == HELD_BACKEND_OTHER) {
        st->asked_for = HELD_NOT; /* any other reason is one of the next file */
    }
    st->checked = true; /* its bytes are gone: a claim has to do without them */
    position_begin_at(st, st->end.at.file + 1, 0, 0);
    return MADE_STEP;
}

static enum made seek_follow(struct stream *st, enum parting_result result,
                             const struct stream_place *place)
{
    bool cut = st->end.state == END_CUT || st->end.state == END_COPY;
    switch (result) {
    case PARTING_ASKS:
        return seek_ask(st, place);
    case PARTING_WAITS:
        return seek_later(st, JOURNAL_RETRY_MS);
    case PARTING_TURN:
        return seek_later(st, SEEK_SLOT_MS);
    case PARTING_OTHER:
        return seek_hold_as(st, HELD_BACKEND_OTHER, cut ? END_DISPUTED : st->end.state);
    case PARTING_EARLIER:
        return seek_hold_as(st, HELD_BACKEND_LONGER, END_LONGER);
    case PARTING_LONGER:
        return seek_hold_as(st, HELD_BACKEND_LONGER, cut ? END_LONGER : st->end.state);
    case PARTING_GONE: /* where the bytes part is not known: by the end that was told */
        return seek_hold_as(st, HELD_BACKEND_UNPROVED, END_UNPROVED);
    case PARTING_FAILED:
        return seek_unreadable(st);
    case PARTING_AWAY:
        return seek_away(st);
    case PARTING_PASSES: /* what follows is no file that was cut */
        return position_note_end(st, END_PROVED) ? seek_pass(st)
                                                 : seek_later(st, JOURNAL_RETRY_MS);
    case PARTING_NONE:
    case PARTING_GOES_ON:
    case PARTING_CUT:
    case PARTING_THERE:
        break;
    }
    return MADE_STEP;
}

/* Its file is not there, or cannot be read. */
static enum made seek_unproved(struct stream *st, bool gone)
{
    if (st->end.state == END_BELIEVED) {
        return end_parting_believe(st) ? MADE_STEP : seek_follow(st, PARTING_WAITS, NULL);
    }
    if (gone) {
        return seek_hold(st, HELD_BACKEND_UNPROVED);
    }
    if (st->end.state != END_PARTING) {
        (void)!position_note_end(st, END_UNPROVED);
    }
    return seek_unreadable(st);
}

enum made end_seek(struct stream *st)
{
    struct stream_place place = {0};
    uint64_t now_ms = st->session->root->engine->config.sys->now_ms();
    if (stream_knows_end(st)) {
        return seek_jump(st);
    }
    if (st->told_until_ms > now_ms + SEEK_ROW_MS) {
        return seek_later(st, st->told_until_ms - now_ms - SEEK_ROW_MS);
    }
    enum parting_result parting = end_parting_step(st, &place);
    if (parting != PARTING_NONE) {
        return seek_follow(st, parting, &place);
    }
    switch (end_proof_step(st)) {
    case PROOF_NONE:
        return seek_ask(st, NULL);
    case PROOF_GOES_ON:
    case PROOF_EQUAL:
        return MADE_STEP;
    case PROOF_WAITS:
        return seek_follow(st, PARTING_WAITS, NULL);
    case PROOF_OTHER:
        return seek_follow(st, end_parting_begin(st, false), NULL);
    case PROOF_SHORTER:
        return seek_follow(st, end_parting_begin(st, true), NULL);
    case PROOF_GONE:
        return seek_unproved(st, true);
    case PROOF_AWAY:
        return seek_away(st);
    case PROOF_FAILED:
        break;
    }
    return seek_unproved(st, false);
}

/* Its files ended before its end. Nobody tells any more whether they are the same ones:
 * in an active file that is still shorter, nothing is new. */
static bool seek_is_still_cut(struct stream *st)
{
    bool shorter = st->session->layout == SESSION_LIVE && st->file > st->highest &&
                   stream_seen_bytes(st) < st->offset;
    if (!st->cut_at && shorter) {
        st->cut_at = stream_seen_bytes(st) + 1;
    }
    return stream_is_cut(st);
}

/* The backend had all of what was complete if it ended there. */
static bool seek_had_all(struct stream *st, const struct stream_place *end)
{
    bool cut = st->end.state == END_CUT || st->end.state == END_COPY;
    return st->session->was_done && stream_ends_at(st, end) &&
           (!cut || seek_is_still_cut(st));
}

/* Retention has deleted it. */
static void seek_told_expired(struct stream *st, const struct reply_end *end,
                              uint64_t now_ms)
{
    end_proof_drop(st);
    if (seek_had_all(st, &end->at)) {
        st->unproved = !position_choose(st, true);
        seek_wait(st, now_ms);
    } else {
        expired_note(st);
    }
}

void end_seek_told(struct stream *st, const struct reply_end *end, uint64_t now_ms)
{
    if (end->expired) {
        seek_told_expired(st, end, now_ms);
        return;
    }
    st->unproved = true;
    sealed_file_told(st, end->at.file);
    st->told_until_ms =
        (now_ms > st->told_until_ms ? now_ms : st->told_until_ms) + SEEK_EACH_MS;
    end_parting_drop(st);
    (void)!end_proof_begin(st, end); /* without memory it is asked for again */
    st->at_shutdown = false;
    seek_wait(st, now_ms);
}

void end_seek_rest(struct stream *st, enum held_reason reason, uint64_t now_ms)
{
    stream_hold(st, reason);
    st->unproved = true;
    st->seek_at_ms = now_ms + SEEK_AGAIN_MS;
}

/* Of a channel that is not followed, nothing is asked. */
static bool seek_asks(const struct stream *st)
{
    return st->positions && st->channel < st->session->root->channels.count;
}

bool end_seek_had_all(const struct session *session)
{
    uint64_t epoch = session->root->engine->origin.epoch;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (seek_asks(st) && st->end.at.file && st->end.epoch != epoch) {
            return false;
        }
    }
    return true;
}

void end_seek_expired(struct session *session, uint64_t now_ms)
{
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (session->was_done && seek_asks(st)) {
            st->unproved = true;
            seek_wait(st, now_ms);
        } else if (st->positions && !session->was_done) {
            expired_note(st);
        }
    }
}

/* A stream goes by positions or does not, for good: as it began at the backend, else by
 * what was sent of it. */
static void seek_told_one(struct stream *st, const struct reply_stream *told,
                          bool expired, uint64_t now_ms)
{
    const struct reply_end nothing = {.at = {.file = 1}, .expired = expired};
    bool imported = st->head && !st->id && !st->end.at.file; /* from another agent */
    bool windowed =
        told ? told->without_positions : (st->sequence > 0 || imported) && !st->positions;
    if (windowed && !st->end.at.file && !st->positions) {
        if (position_choose(st, false)) {
            seek_wait(st, now_ms);
        }
    } else if (windowed) {
        end_seek_rest(st, HELD_WITHOUT_POSITIONS, now_ms);
    } else {
        end_seek_told(st, told ? &told->end : &nothing, now_ms);
    }
}

void end_seek_told_all(struct session *session, const struct reply_streams *told,
                       uint64_t now_ms)
{
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (stream_takes_positions(st) && !st->offer &&
            st->channel < session->root->channels.count) {
            seek_told_one(st, reply_stream_of(told, stream_channel(st)), told->expired,
                          now_ms);
        }
    }
}
