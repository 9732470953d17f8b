/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the verdict on an answer: acknowledged, to be retried, or refused. */
#include "upload/engine/ack.h"

#include "base/log.h"
#include "base/plural.h"
#include "upload/core/owner_standing.h"
#include "upload/core/position.h"
#include "upload/engine/part_ack.h"
#include "upload/engine/refusal.h"
#include "upload/engine/retry.h"
#include "upload/engine/sent_elsewhere.h"
#include "upload/http/encode.h"
#include "upload/http/reply.h"
#include "upload/http/verdict.h"

/* What it says is not trusted. Of a window, the number of lines is not known here. The
 * answer to a repeat, as after one that could not be noted, need not tell them. */
static void ack_note_rejected(struct offer *offer, const struct reply_batch *said)
{
    bool window = offer->stream->kind == STREAM_VERBATIM;
    int64_t most = window ? UINT32_MAX : offer->record.lines;
    int64_t rejected = said->rejected < most ? said->rejected : most;
    offer->rejected_lines =
        rejected > offer->rejected_lines ? (uint32_t)rejected : offer->rejected_lines;
}

/* They are not sent again, and keep the session from being complete, as those that are
 * refused alone do. */
static void ack_say_rejected(const struct offer *offer, int status)
{
    const struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    uint32_t lines = offer->rejected_lines;
    engine->counters.lines_rejected += lines;
    log_warn(engine->config.log, "upload.rejected",
             "session=%s channel=%s lines=%u status=%d note=\"the file is kept\"",
             st->session->id, stream_channel(st), lines, status);
    trouble_say(&engine->trouble, "the backend rejected %u %s of session %s", lines,
                plural(lines, "line", "lines"), st->session->id);
}

static void ack_accept(struct offer *offer, const struct transport_reply *reply,
                       const struct reply_batch *said, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    uint64_t raw = offer->record.end - offer->record.begin;
    uint32_t lines = offer->record.lines;
    bool window = st->kind == STREAM_VERBATIM;
    if (window && said->accepted >= 0 && said->accepted <= UINT32_MAX) {
        lines = (uint32_t)said->accepted;
    }
    ack_note_rejected(offer, said);
    bool again = window && offer->record.file < st->again_file; /* they are counted */
    uint32_t more = window ? lines : lines - offer->rejected_lines;
    if (!position_settle(offer, again ? 0 : more,
                         said->acknowledged ? SETTLED_ACKED : SETTLED_UNPROVEN)) {
        offer->maybe_stored = true; /* it is */
        offer_keep(offer, now_ms);
        return;
    }
    if (offer->rejected_lines) {
        ack_say_rejected(offer, reply->status);
    }
    log_debug(engine->config.log, "upload.acked",
              "session=%s channel=%s sequence=%u lines=%u bytes=%llu", st->session->id,
              stream_channel(st), offer->record.sequence, lines, (unsigned long long)raw);
    if (said->spool_id[0] && engine->config.spooled) {
        engine->config.spooled(engine->config.spooled_arg, said->spool_id);
    }
    offer_count_acked(offer, lines, now_ms);
    offer_finish(offer, now_ms);
}

static enum verdict ack_judge(const struct offer *offer,
                              const struct transport_reply *reply,
                              const struct reply_batch *said)
{
    bool batch = offer->stream->kind == STREAM_BATCHED;
    struct verdict_case c = {
        .status = reply->status,
        .web_page = reply->web_page,
        .identity_conflict = said->identity_conflict,
        .sequence_conflict = said->sequence_conflict,
        .maybe_stored = offer->maybe_stored,
        .encoding_changed = offer->record.encoding_changed,
        .can_split = batch && offer->record.lines > 1,
        .is_plain_codec = offer->record.codec != CODEC_ZSTD,
    };
    return verdict_of(&c);
}

static void ack_not_stored(struct offer *offer, const struct transport_reply *reply,
                           const struct reply_batch *said, uint64_t now_ms)
{
    bool done = (said->identity_conflict && refusal_rename(offer)) ||
                (said->sequence_conflict && refusal_whole_was_stored(offer, now_ms));
    if (!done) {
        refusal_quarantine(offer, reply, now_ms);
    }
}

void ack_reply(struct offer *offer, const struct transport_reply *reply, uint64_t now_ms)
{
    struct session *session = offer->stream->session;
    struct engine *engine = session->root->engine;
    struct reply_batch said;
    if (offer->part.begin.file) {
        part_ack_reply(offer, reply, now_ms);
        return;
    }
    reply_read_batch(reply->body, reply->body_len, &said);
    offer->maybe_stored = offer->maybe_stored || reply->maybe_received;
    enum verdict verdict = ack_judge(offer, reply, &said);
    engine->origin.answered = engine->origin.answered || reply->status != 0;
    offer->maybe_stored =
        offer->maybe_stored || (verdict == VERDICT_RETRY && reply->status >= 500);
    if (verdict != VERDICT_ACKED && !offer->maybe_stored) {
        offer_note_unsent(offer); /* after a restart as without one */
    }
    if (verdict != VERDICT_RETRY && verdict != VERDICT_HOLD_ORIGIN) {
        owner_ok(session);
    }
    if (verdict != VERDICT_HOLD_SESSION) {
        session->hold_until_ms = 0;
        engine->at_quota = false;
    }
    switch (verdict) {
    case VERDICT_ACKED:
        ack_accept(offer, reply, &said, now_ms);
        break;
    case VERDICT_RETRY:
        retry_after_failure(offer, reply, now_ms);
        break;
    case VERDICT_HOLD_ORIGIN:
        retry_when_mended(offer, reply, now_ms);
        break;
    case VERDICT_HOLD_SESSION:
        if (engine->config.skip_on_quota) {
            refusal_final(offer, now_ms);
        } else {
            retry_at_quota(offer, reply->status, now_ms);
        }
        break;
    case VERDICT_SPLIT:
        refusal_split(offer);
        break;
    case VERDICT_QUARANTINE:
        ack_not_stored(offer, reply, &said, now_ms);
        break;
    case VERDICT_REFUSED_FINAL:
        if (sent_elsewhere(session)) {
            refusal_was_sent(offer, now_ms);
        } else {
            refusal_final(offer, now_ms);
        }
        break;
    case VERDICT_PLAIN_CODEC:
        retry_plain_codec(offer, now_ms);
        break;
    }
}
