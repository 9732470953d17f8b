/* SPDX-License-Identifier: Apache-2.0 */
/* Settles a part where the backend has it, and proves the end that it tells where not. */
#include "upload/engine/part_ack.h"

#include <stdio.h>

#include "base/log.h"
#include "upload/core/claimant.h"
#include "upload/core/expired.h"
#include "upload/core/owner_standing.h"
#include "upload/core/position.h"
#include "upload/core/ranges.h"
#include "upload/engine/refusal.h"
#include "upload/engine/retry.h"
#include "upload/http/encode.h"
#include "upload/http/verdict.h"
#include "upload/lifecycle/end_seek.h"

/* Half a record of a writer that was killed: nobody can mend it, and the backend knows of
 * it, so it keeps its session from nothing. */
static bool part_settle_torn(struct offer *offer)
{
    const struct stream *st = offer->stream;
    if (!position_settle(offer, 0, SETTLED_ACKED)) {
        return false;
    }
    offer_count_fate(offer, COUNTERS_TORN);
    log_warn(
        st->session->root->engine->config.log, "session.torn",
        "session=%s channel=%s file=%u begin=%llu end=%llu note=\"its writer did not "
        "finish the last line, which is not sent\"",
        st->session->id, stream_channel(st), offer->record.file,
        (unsigned long long)offer->record.begin, (unsigned long long)offer->record.end);
    return true;
}

/* A range in quarantine that the backend knows of. */
static bool part_settle_skip(struct offer *offer, const struct record_quarantine *skip)
{
    if (offer->part.torn) {
        return part_settle_torn(offer);
    }
    struct record_quarantine record = *skip;
    record.stream = offer->stream->id;
    record.sequence = offer->record.sequence;
    return position_quarantine(offer->stream, &record);
}

/* A person gave up what followed, and it came back: up to the last line of its writer,
 * the backend has all of it. Where that was all of the channel, it begins anew. */
static bool part_lost_nothing_after(const struct offer *offer,
                                    const struct reply_end *end)
{
    const struct stream *st = offer->stream;
    const struct session *session = st->session;
    const struct tail_where where = stream_where(st);
    bool nothing_else =
        !st->gap && !st->lost_after && !end->losses && !end->skips && !end->lost_after;
    if (!st->lost || !nothing_else) {
        return false;
    }
    return offer->part.returns ||
           (st->rest_lost &&
            (offer->is_shutdown ||
             (session_writer_is_gone(session) &&
              tail_where_reaches_told(session->root->engine->config.sys, &where))));
}

static void part_settle(struct offer *offer, const struct reply_end *end, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    const struct engine *engine = st->session->root->engine;
    struct record_quarantine unheard;
    bool before = !offer->part.skip && stream_place_is(&end->at, &offer->part.end) &&
                  ranges_skipped(st, end, &unheard);
    const struct record_quarantine *skip = before ? &unheard : offer->part.skip;
    /* The backend had it, and what lies before it, by then. */
    bool lost_nothing = offer->part.start.given && end->losses == 0;
    offer->part.losses = end->losses;
    offer->part.skips = end->skips;
    if (skip ? !part_settle_skip(offer, skip)
             : !position_settle(offer, offer->record.lines, SETTLED_ACKED)) {
        offer_keep(offer, now_ms);
        return;
    }
    if (offer->part.start.given) {
        stream_say_lost_elsewhere(st);
    }
    if (lost_nothing || part_lost_nothing_after(offer, end)) {
        position_note_whole(st);
    }
    st->reopens = st->owned;
    st->hold_reason = st->hold_reason == HELD_FOREIGN ? HELD_NOT : st->hold_reason;
    if (!skip) {
        log_debug(engine->config.log, "upload.acked",
                  "session=%s channel=%s file=%u end=%llu lines=%u", st->session->id,
                  stream_channel(st), offer->record.file,
                  (unsigned long long)offer->record.end, offer->record.lines);
        offer_count_acked(offer, offer->record.lines, now_ms);
    }
    offer_finish(offer, now_ms);
}

/* \return whether the session, which is complete, may be continued from this directory.
 */
static bool part_may_reopen(const struct stream *st, const struct reply_part *said)
{
    const struct session *session = st->session;
    bool forced = session->root->engine->config.force;
    return forced || claimant_may_continue(session, said->owner);
}

/* All that the backend has is in these files, but what follows there is somebody else's.
 */
static void part_hold_foreign(struct offer *offer, const struct reply_part *said,
                              uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct session *session = st->session;
    offer_return(session->root->engine, offer);
    if (!held_was_said(st->holds_said, (enum held_reason)st->hold_reason, HELD_FOREIGN)) {
        log_warn(
            session->root->engine->config.log, "session.foreign",
            "session=%s channel=%s user=%u was=%u note=\"the backend had it complete, "
            "from the directory of another user: what this one has more is not "
            "sent\"",
            session->id, stream_channel(st), session->seen.user - 1, said->owner - 1);
    }
    end_seek_rest(st, HELD_FOREIGN, now_ms);
}

/* The backend has its say; what of it counts, own bytes tell. The request is still in
 * memory: if it ends there, it was stored. */
static void part_follow(struct offer *offer, const struct reply_part *said,
                        uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    bool complete = said->verdict == PART_COMPLETE;
    bool foreign = complete && !part_may_reopen(st, said);
    if (foreign && stream_place_is(&said->end.at, &offer->part.begin)) {
        part_hold_foreign(offer, said, now_ms);
        return;
    }
    bool again = complete && !foreign && !st->reopens;
    st->reopens = st->reopens || again;
    st->owned = st->owned || (complete && !foreign && said->owner);
    if (stream_place_is(&said->end.at, &offer->part.end) &&
        said->end.file_crc == offer->part.file_crc) {
        part_settle(offer, &said->end, now_ms);
        return;
    }
    if (stream_place_is(&said->end.at, &offer->part.begin) && !again) {
        retry_alone(offer, "the backend refuses to go on where it says that it ends",
                    now_ms);
        return;
    }
    log_info(engine->config.log, "upload.moved",
             "session=%s channel=%s file=%u offset=%llu note=\"the backend has this "
             "channel up to there: compared with the files\"",
             st->session->id, stream_channel(st), said->end.at.file,
             (unsigned long long)said->end.at.offset);
    offer_return(engine, offer);
    end_seek_told(st, &said->end, now_ms);
}

/* It began at the backend without positions: only if nothing says otherwise. */
static void part_go_without(struct offer *offer, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    offer_return(st->session->root->engine, offer);
    if (st->end.at.offset || st->end.at.file > 1) {
        end_seek_rest(st, HELD_WITHOUT_POSITIONS, now_ms);
        return;
    }
    st->end = (struct record_end){0};
    (void)!position_choose(st, false);
    stream_enqueue(st, false, now_ms);
}

static void part_refuse(struct offer *offer, const struct transport_reply *reply,
                        const char *why, uint64_t now_ms)
{
    if (offer->record.lines > 1) {
        refusal_split(offer);
    } else {
        refusal_skip(offer, reply, why, now_ms);
    }
}

static void part_unread(struct offer *offer, int status, uint64_t now_ms)
{
    char why[100];
    snprintf(why, sizeof why,
             "the backend answered %d without an epoch, a known verdict and an end",
             status);
    retry_alone(offer, why, now_ms);
}

static void part_judge(struct offer *offer, const struct transport_reply *reply,
                       const struct reply_part *said, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    origin_note_epoch(&st->session->root->engine->origin, said->epoch, said->database);
    switch (said->verdict) {
    case PART_STORED:
    case PART_KNOWN:
        part_settle(offer, &said->end, now_ms);
        break;
    case PART_CONFLICT:
    case PART_COMPLETE:
        part_follow(offer, said, now_ms);
        break;
    case PART_EXPIRED:
        offer_return(st->session->root->engine, offer);
        expired_note(st);
        break;
    case PART_WITHOUT_POSITIONS:
        part_go_without(offer, now_ms);
        break;
    case PART_REFUSED:
        part_refuse(offer, reply, said->why, now_ms);
        break;
    case PART_FULL:
        retry_at_quota(offer, reply->status, now_ms);
        break;
    case PART_DAMAGED:
        retry_alone(offer, "the request was damaged on its way", now_ms);
        break;
    case PART_UNREADABLE:
        part_unread(offer, reply->status, now_ms);
        break;
    }
}

/* None of it is stored. */
static void part_failed(struct offer *offer, const struct transport_reply *reply,
                        enum verdict verdict, uint64_t now_ms)
{
    switch (verdict) {
    case VERDICT_SPLIT:
    case VERDICT_QUARANTINE:
        part_refuse(offer, reply, "", now_ms);
        break;
    case VERDICT_HOLD_SESSION:
        retry_at_quota(offer, reply->status, now_ms);
        break;
    case VERDICT_PLAIN_CODEC:
        retry_plain_codec(offer, now_ms);
        break;
    case VERDICT_HOLD_ORIGIN:
        retry_when_mended(offer, reply, now_ms);
        break;
    default:
        retry_after_failure(offer, reply, now_ms);
        break;
    }
}

void part_ack_reply(struct offer *offer, const struct transport_reply *reply,
                    uint64_t now_ms)
{
    struct session *session = offer->stream->session;
    struct engine *engine = session->root->engine;
    struct reply_part said = {0};
    struct verdict_case c = {.status = reply->status,
                             .web_page = reply->web_page,
                             .can_split = true,
                             .is_plain_codec = offer->record.codec != CODEC_ZSTD};
    enum verdict verdict = verdict_of(&c);
    engine->origin.answered = engine->origin.answered || reply->status != 0;
    if (verdict != VERDICT_RETRY && verdict != VERDICT_HOLD_ORIGIN) {
        owner_ok(session);
    }
    if (verdict != VERDICT_HOLD_SESSION) {
        session->hold_until_ms = 0;
        engine->at_quota = false;
    }
    if (verdict == VERDICT_ACKED) {
        reply_read_part(reply->body, reply->body_len, &said);
        part_judge(offer, reply, &said, now_ms);
    } else if (reply->status == 404 || reply->status == 405 || reply->status == 409) {
        retry_alone(offer, "the backend does not support positions now", now_ms);
    } else {
        part_failed(offer, reply, verdict, now_ms);
    }
}
