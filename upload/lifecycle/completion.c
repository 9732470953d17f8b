/* SPDX-License-Identifier: Apache-2.0 */
/* Sends session-complete, and marks a session as done. */
#include "upload/lifecycle/completion.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "upload/core/origin_proof.h"
#include "upload/core/owner_standing.h"
#include "upload/core/session_streams.h"
#include "upload/http/reply.h"
#include "upload/http/reply_positions.h"
#include "upload/lifecycle/cleanup.h"
#include "upload/lifecycle/end_claim.h"
#include "upload/lifecycle/end_seek.h"
#include "upload/lifecycle/rewritten.h"
#include "upload/pace/backoff.h"
#include "upload/published/uploaded_mark.h"

#define COMPLETE_BASE_MS 1000u
#define COMPLETE_CAP_MS  60000u
#define COMPLETE_ASKS_MS 100u
/* Where the backend has said so often that there is no such session, or that the claim is
 * wrong, it may have deleted what was sent. */
#define COMPLETE_UNKNOWN_OFTEN 30u
#define COMPLETE_REST_MS       3600000u

bool completion_waits_for_disk(const struct session *session)
{
    return session->state == SESSION_COMPLETING &&
           journal_durable(session->root->journal) < session->complete_ticket;
}

bool completion_may_go(const struct session *session)
{
    return session->state == SESSION_COMPLETING && !session->complete_in_flight &&
           !completion_waits_for_disk(session) && !session->root->away &&
           !journal_broken(session->root->journal);
}

void completion_begin(struct session *session, uint64_t now_ms)
{
    session_set_state(session, SESSION_COMPLETING);
    if (session->complete_at_ms < now_ms) {
        session->complete_at_ms = now_ms;
    }
}

static uint64_t completion_turn(const struct session *session)
{
    return turns_last(&session->root->engine->complete_turns, session_lane(session));
}

/* Of those that are due, the first of the owner who has waited longest for a turn. */
static struct session *completion_next(const struct engine *engine, uint64_t now_ms)
{
    struct session *next = NULL;
    uint64_t first = UINT64_MAX;
    for (struct session *s = engine->completing; s; s = s->next_completing) {
        if (!completion_may_go(s) || now_ms < s->complete_at_ms ||
            !owner_may_go(s, now_ms)) {
            continue;
        }
        uint64_t turn = completion_turn(s);
        bool before = next && turn == first && s->complete_at_ms < next->complete_at_ms;
        if (!next || turn < first || before) {
            next = s;
            first = turn;
        }
    }
    return next;
}

/* Windows go by no positions, so their ends are not claimed: what the backend took of
 * them, it has if it was not put back since. \return true if that is so. */
static bool completion_windows_stand(struct session *session, uint64_t now_ms)
{
    struct origin *origin = &session->root->engine->origin;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (st->kind != STREAM_VERBATIM || !st->id) {
            continue;
        }
        if (!origin_told_since(origin, session->heard_ms, now_ms)) {
            session->complete_at_ms = now_ms + COMPLETE_ASKS_MS;
            return false;
        }
        bool there = st->lowest && st->lowest < st->file;
        if (there && origin->epoch && st->end.epoch != origin->epoch &&
            session->root->backend < BACKEND_ASKED) {
            session->complete_at_ms = now_ms + COMPLETE_ASKS_MS;
            session_set_state(session, SESSION_OPEN);
            session_mark(session);
            return false;
        }
    }
    return true;
}

bool completion_step(struct engine *engine, uint64_t now_ms)
{
    bool may = bucket_wait(&engine->bucket, now_ms) == 0;
    struct session *session = may ? completion_next(engine, now_ms) : NULL;
    if (!session) {
        return false;
    }
    if (!completion_windows_stand(session, now_ms)) {
        return session->state == SESSION_OPEN;
    }
    turns_take(&engine->complete_turns, session_lane(session));
    gz_cache_turn(&engine->gz, now_ms);
    if (rewritten_session(session)) {
        session_set_state(session, SESSION_OPEN);
        session_mark(session);
        return true;
    }
    if (engine->gz.busy || !end_claim_is_proved(session)) {
        uint64_t decoded = gz_cache_spent(&engine->gz);
        engine->made_bytes += decoded;
        session_note_compared(session, decoded);
        return session->state == SESSION_OPEN;
    }
    (void)bucket_take(&engine->bucket, now_ms);
    cleanup_session(session); /* the last chance: it is not inspected again */
    free(session->claim);
    session->outcome = SESSION_TOLD;
    session->claim = end_claim_write(session);
    struct transport_request request = {.kind = TRANSPORT_COMPLETE,
                                        .session = session->id,
                                        .body = session->claim,
                                        .body_len =
                                            session->claim ? strlen(session->claim) : 0,
                                        .fd = -1,
                                        .tag = session};
    session->claim_epoch = engine->origin.epoch;
    if (engine->config.transport.submit(engine->config.transport.self, &request) !=
        GPUFL_OK) {
        return false;
    }
    end_claim_forget(session);
    session->complete_in_flight = true;
    engine->origin.in_flight++;
    engine->counters.requests++;
    return true;
}

void completion_first(struct engine *engine, uint64_t now_ms)
{
    if (origin_probing(&engine->origin)) {
        return;
    }
    for (const struct session *s = engine->completing; s; s = s->next_completing) {
        if (s->complete_in_flight) {
            return;
        }
    }
    completion_step(engine, now_ms);
}

struct progress_origin completion_origin(const struct engine *engine)
{
    const struct origin_identity *backend = engine->config.backend;
    return (struct progress_origin){backend ? backend->url : "", engine->origin.database};
}

static void completion_leave_mark(const struct session *session)
{
    const struct root *root = session->root;
    const struct progress_origin here = completion_origin(root->engine);
    uploaded_mark_leave(root->engine->config.sys, root->fd, session->path, &here);
}

/* What another uploader has delivered of a channel of windows has no record yet: without
 * one, it would count as new after a restart. */
static bool completion_note_streams(const struct session *session)
{
    bool noted = true;
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        bool due = st->kind == STREAM_VERBATIM && st->file > 1;
        noted = noted && (!due || offer_journal_stream(st));
    }
    return noted;
}

bool completion_done(struct session *session)
{
    struct root *root = session->root;
    if (!completion_note_streams(session) ||
        !record_append_done(root->journal, session->path,
                            (enum session_outcome)session->outcome)) {
        session->complete_at_ms = root->engine->config.sys->now_ms() + JOURNAL_RETRY_MS;
        return false;
    }
    completion_leave_mark(session);
    session_set_state(session, SESSION_DONE);
    root->cursor_stale = true;
    root->change_stamp++;
    if (session->outcome == SESSION_LACKS) {
        log_error(root->engine->config.log, "session.ended",
                  "session=%s note=\"the backend lacks lines of it\"", session->id);
    } else {
        log_info(root->engine->config.log, "session.complete", "session=%s", session->id);
    }
    return true;
}

/* The session waits by itself: the origin has answered, and serves others. */
static void completion_refused(struct session *session,
                               const struct transport_reply *reply)
{
    struct engine *engine = session->root->engine;
    int status = reply->status;
    char said[120];
    session_end_turn(session);
    reply_message(reply->body, reply->body_len, said, sizeof said);
    const char *why = status <= 299 ? "without telling whether lines are missing" : said;
    if (status <= 299 || status == 400 || status == 402 || status == 413 ||
        status == 422) {
        owner_ok(session); /* as after a batch */
    }
    if (session->complete_refused != status) {
        session->complete_refused = status;
        engine->trouble.stamp++;
        log_warn(engine->config.log, "session.not_completed",
                 "session=%s status=%d reason=\"%s\"", session->id, status, why);
    }
    trouble_say(&engine->trouble,
                "session %s is sent, but the backend does not take its end: HTTP %d %s",
                session->id, status, why);
}

/* No answer, or one by which an origin or its gateway says that it is busy: unless others
 * succeed meanwhile. */
static bool completion_origin_fails(const struct session *session, int status)
{
    const struct origin *origin = &session->root->engine->origin;
    bool busy = status == 408 || status == 425 || status == 429 || status == 502 ||
                status == 503 || status == 504;
    bool alone =
        session->complete_failures > 1 && origin->successes > session->successes_before;
    return status == 0 || (busy && !alone);
}

static void completion_failed(struct session *session,
                              const struct transport_reply *reply, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    if (session->complete_failures++ == 0) {
        session->successes_before = engine->origin.successes;
    }
    bool own = owner_failed(session, now_ms) && reply->status >= 500;
    bool fails = !own && completion_origin_fails(session, reply->status);
    bool unknown = reply->status == 404 || reply->status == 409 || reply->status == 410;
    bool rests = unknown && session->complete_failures > COMPLETE_UNKNOWN_OFTEN;
    session->complete_at_ms =
        now_ms + (rests ? COMPLETE_REST_MS / 2 : 0) +
        backoff_ms(engine->config.sys, session->complete_failures, COMPLETE_BASE_MS,
                   rests ? COMPLETE_REST_MS : COMPLETE_CAP_MS, reply->retry_after_ms);
    if (fails) {
        origin_failed(&engine->origin, reply, now_ms);
    } else {
        completion_refused(session, reply);
    }
}

/* The backend has other ends, or more streams: own bytes tell who is right. */
static void completion_contested(struct session *session,
                                 const struct transport_reply *reply, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    struct reply_streams told = {0};
    reply_read_streams(reply->body, reply->body_len, &told);
    if (end_claim_may_reopen(session, told.owner)) {
        return; /* it is claimed again, and says so */
    }
    completion_failed(session, reply, now_ms);
    if (!told.readable || told.owner) {
        return;
    }
    origin_note_epoch(&engine->origin, told.epoch, told.database);
    session_set_state(session, SESSION_OPEN);
    for (unsigned i = 0; i < told.count; i++) {
        struct stream *st = session_stream(session, told.stream[i].channel);
        if (st && st->kind == STREAM_UNSET) {
            st->kind = STREAM_BATCHED; /* its files are not there */
        }
    }
    end_seek_told_all(session, &told, now_ms);
}

/* \return false if the answer to a claim does not say what became of it. */
static bool completion_note_outcome(struct session *session,
                                    const struct transport_reply *reply)
{
    bool complete = false;
    bool all = session->claim != NULL; /* go by positions */
    if (all && !reply_says_complete(reply->body, reply->body_len, &complete)) {
        return false;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        all = all && (session->stream[i]->positions || !session->stream[i]->lines);
    }
    session->outcome = session->claim && !complete ? SESSION_LACKS
                       : all                       ? SESSION_VERIFIED
                                                   : SESSION_TOLD;
    return true;
}

static void completion_accepted(struct session *session,
                                const struct transport_reply *reply, uint64_t now_ms)
{
    if (!completion_note_outcome(session, reply)) {
        completion_failed(session, reply, now_ms);
        return;
    }
    owner_ok(session);
    session->complete_failures = 0;
    end_claim_note_epoch(session);
    (void)completion_done(session);
}

/* Retention has deleted the session. If it was complete before, it stays so where the
 * backend had all of it. */
static void completion_expired(struct session *session,
                               const struct transport_reply *reply, uint64_t now_ms)
{
    owner_ok(session);
    if (session->was_done && end_seek_had_all(session)) {
        session->outcome = session->outcome_before;
        end_claim_note_epoch(session);
        (void)completion_done(session);
    } else if (session->was_done && !session->root->engine->origin.positions) {
        completion_failed(session, reply, now_ms); /* it tells no ends now */
    } else {
        session_set_state(session, SESSION_OPEN);
        end_seek_expired(session, now_ms);
        session_mark(session);
    }
}

/* By an answer that says that there is no such endpoint or session, or that the origin
 * had closed it itself. One that compares ends has not done so: perhaps it was a gateway.
 * But it cannot know a session of which it was sent nothing. */
static bool completion_is_moot(const struct session *session, int status)
{
    bool proves = session->claim || session->root->engine->origin.positions;
    bool sent = session->claim != NULL;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        sent = sent || st->file > 1 || st->offset;
    }
    return status == 404 ? !proves || !sent
                         : !proves && (status == 405 || status == 409 || status == 501);
}

void completion_on_reply(struct session *session, const struct transport_reply *reply,
                         uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    int status = reply->status;
    session->complete_in_flight = false;
    engine->origin.answered = engine->origin.answered || status != 0;
    if (session->state != SESSION_COMPLETING) {
        return; /* it grew meanwhile */
    }
    if (status >= 200 && status <= 299 && reply->web_page) {
        (void)owner_failed(session, now_ms);
        origin_hold(&engine->origin, status, "it sent a web page (text/html)", now_ms);
        session->complete_at_ms = now_ms;
    } else if (status >= 200 && status <= 299) {
        completion_accepted(session, reply, now_ms);
    } else if (session->claim &&
               reply_says_expired(status, reply->body, reply->body_len)) {
        completion_expired(session, reply, now_ms);
    } else if (status == 409 && (session->claim || engine->origin.positions)) {
        completion_contested(session, reply, now_ms);
    } else if (completion_is_moot(session, status)) {
        completion_done(session);
    } else if (status == 401 || status == 403) {
        (void)owner_failed(session, now_ms);
        origin_hold(&engine->origin, status, "", now_ms);
        session->complete_at_ms = now_ms;
    } else {
        completion_failed(session, reply, now_ms);
    }
}
