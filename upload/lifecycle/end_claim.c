/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the last file of each stream with what was sent before its end is claimed. */
#include "upload/lifecycle/end_claim.h"

#include <inttypes.h>

#include "base/text.h"
#include "upload/core/claimant.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/http/positions_text.h"
#include "upload/lifecycle/end_proof.h"

/* A loss that the backend does not know, or that follows. */
static bool end_claim_lacks_rest(const struct stream *st)
{
    return st->jump || st->lost_after || st->ended_file == st->file ||
           (st->lost && !st->end.losses);
}

/* Of one that has no bytes at the backend, only that it lacks them is told. */
static bool end_claim_lists(const struct stream *st, bool *stored)
{
    bool bytes = st->positions && (st->end.at.offset || st->end.at.file > 1);
    *stored = *stored || bytes;
    return bytes || (st->positions && end_claim_lacks_rest(st));
}

char *end_claim_write(const struct session *session)
{
    struct text text = {0};
    static const struct stream_place begin = {.file = 1};
    unsigned claimed = 0;
    bool windowed = false, stored = false, owned = false;
    text_puts(&text, "{\"channels\":[");
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        windowed = windowed || (!st->positions && st->sequence > 0);
        owned = owned || st->owned;
        if (end_claim_lists(st, &stored)) {
            positions_text_claim(&text, claimed++ == 0, stream_channel(st),
                                 st->end.at.file ? &st->end.at : &begin,
                                 end_claim_lacks_rest(st));
        }
    }
    /* An origin that was put back as it was before would not miss these. */
    text_printf(&text, "]%s%s", windowed ? ",\"without_positions\":true" : "",
                owned ? ",\"reopens\":true" : "");
    uint32_t owner = claimant_proved_user(session);
    if (owner) {
        text_printf(&text, ",\"owner\":%" PRIu32, owner - 1);
    }
    text_puts(&text, "}");
    text_append(&text, "", 1);
    if (text.failed || !stored) {
        text_fini(&text);
        return NULL;
    }
    return text.data;
}

/* Only other bytes, or none, say something of what was sent. */
static void end_claim_check_failed(struct stream *st, enum proof_result result)
{
    uint64_t now_ms = st->session->root->engine->config.sys->now_ms();
    if (result == PROOF_AWAY) {
        session_mark_later(st->session, now_ms);
    } else if (result == PROOF_FAILED) {
        stream_hold(st, HELD_UNREADABLE);
    } else {
        (void)stream_asks_first(st, HELD_BACKEND_OTHER);
        stream_enqueue(st, false, now_ms);
    }
}

/* The backend has told since that it knows positions. */
static bool end_claim_is_to_be_asked(const struct stream *st)
{
    return !stream_knows_end(st) && st->channel < st->session->root->channels.count;
}

bool end_claim_is_proved(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (end_claim_is_to_be_asked(st)) {
            session_set_state(session, SESSION_OPEN);
            stream_enqueue(st, false, session->root->engine->config.sys->now_ms());
            return false;
        }
        if (!st->positions || st->lost || st->gap || stream_is_cut(st)) {
            continue;
        }
        enum proof_result result = end_proof_check(st);
        if (result == PROOF_GOES_ON) {
            return false;
        }
        if (result != PROOF_EQUAL) {
            session_set_state(session, SESSION_OPEN);
            end_claim_check_failed(st, result);
            return false;
        }
    }
    return true;
}

bool end_claim_may_reopen(struct session *session, uint32_t owner)
{
    bool again = false;
    bool may = owner && (session->root->engine->config.force ||
                         claimant_may_continue(session, owner));
    for (unsigned i = 0; may && i < session->streams; i++) {
        again = again || !session->stream[i]->owned;
        session->stream[i]->owned = true;
    }
    session->claim_foreign = owner && !may;
    return again;
}

void end_claim_note_epoch(struct session *session)
{
    uint64_t epoch = session->root->engine->origin.epoch;
    bool same = session->claim && session->claim_epoch == epoch;
    for (unsigned i = 0; same && i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (st->positions && st->end.at.file && st->end.epoch != epoch) {
            (void)!position_choose(st, true);
        }
    }
}

void end_claim_forget(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        session->stream[i]->checked = false;
    }
}
