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

static void ack_accept(struct offer *offer, const struct transport_reply *reply,
                       const struct reply_batch *said, uint64_t now_ms)
{
    struct stream *st = offer->stream;
    struct engine *engine = st->session->root->engine;
    uint64_t raw = offer->record.end - offer->record.begin;
    uint32_t lines = offer->record.lines;
    if (st->kind == STREAM_VERBATIM && said->accepted >= 0 &&
        said->accepted <= UINT32_MAX) {
        lines = (uint32_t)said->accepted;
    }
    if (said->rejected > 0) {
        engine->counters.lines_rejected += (uint64_t)said->rejected;
        log_warn(engine->config.log, "upload.rejected",
                 "session=%s channel=%s lines=%lld status=%d", st->session->id,
                 stream_channel(st), (long long)said->rejected, reply->status);
        trouble_say(&engine->trouble, "the backend rejected %lld %s of session %s",
                    (long long)said->rejected,
                    plural((uint64_t)said->rejected, "line", "lines"), st->session->id);
    }
    if (!position_settle(offer, lines,
                         said->acknowledged ? SETTLED_ACKED : SETTLED_UNPROVEN)) {
        offer->maybe_stored = true; /* it is */
        offer_keep(offer, now_ms);
        return;
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
            retry_at_quota(offer, now_ms);
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
