/* SPDX-License-Identifier: Apache-2.0 */
/* Judges claims: a session is complete when the claim names the streams that are stored,
 * no more and no less, each with its end. */
#include "backend/store/store_completion.h"

#include <string.h>

#include "backend/store/store_health.h"
#include "backend/store/store_sessions.h"
#include "backend/store/store_statement.h"

struct comparison {
    const struct store_claim *claim;
    size_t equal, stored;
    size_t
        nothing; /* channels of which, says the claim, all is lost, and none is stored */
    bool expired, lacks, windowed;
    bool adds; /* a loss that is not noted yet */
};

static const struct claim_channel *claimed(const struct store_claim *claim,
                                           const char *channel)
{
    for (size_t i = 0; i < claim->channels; i++) {
        if (strcmp(claim->channel[i].channel, channel) == 0) {
            return &claim->channel[i];
        }
    }
    return NULL;
}

static bool is_begin(const struct stream_place *place)
{
    static const struct stream_place begin = {.file = 1};
    return stream_place_is(place, &begin);
}

bool claim_is_of_nothing(const struct claim_channel *claimed)
{
    return claimed->lost_after && is_begin(&claimed->end);
}

static void compare_stream(void *arg, const char *channel, const struct stored_end *end)
{
    struct comparison *c = arg;
    const struct claim_channel *own = claimed(c->claim, channel);
    c->expired |= end->expired;
    if (!own && end->lost_after && is_begin(&end->at)) {
        c->lacks = true; /* another sender declared that, and this one knows nothing */
        return;
    }
    c->stored++;
    c->nothing -= own && claim_is_of_nothing(own);
    if (own && stream_place_is(&own->end, &end->at)) {
        c->equal++;
        c->lacks |= end->losses || end->skips || end->lost_after || own->lost_after;
        c->adds |= own->lost_after && !end->lost_after;
    }
}

static void note_windowed(void *arg, const char *channel)
{
    struct comparison *c = arg;
    (void)channel;
    c->windowed = true;
}

static enum claim_verdict judge_claim(const struct comparison *c)
{
    if (c->expired) {
        return CLAIM_EXPIRED;
    }
    bool lacks_windows = c->claim->without_positions && !c->windowed;
    if (c->equal != c->stored || c->equal + c->nothing != c->claim->channels ||
        lacks_windows) {
        return CLAIM_CONFLICT;
    }
    return c->lacks || c->nothing ? CLAIM_ENDED : CLAIM_COMPLETE;
}

static bool set_completeness(struct store *store, const char *session,
                             enum store_completeness state)
{
    sqlite3_stmt *s = statement_use(store, S_COMPLETE);
    statement_bind_text(s, 1, session);
    sqlite3_bind_int(s, 2, (int)state);
    return statement_run(s);
}

/* None is taken back: another sender may not know of it. */
static bool note_losses(struct store *store, const struct store_claim *claim)
{
    for (size_t i = 0; i < claim->channels; i++) {
        sqlite3_stmt *s = statement_use(store, S_LOST_AFTER);
        statement_bind_text(s, 1, claim->session);
        statement_bind_text(s, 2, claim->channel[i].channel);
        if (claim->channel[i].lost_after && !statement_run(s)) {
            return false;
        }
    }
    return true;
}

/* Anybody can copy the files of a session, and give up a part of the copy. */
static gpufl_status may_change(struct store *store, const struct store_claim *claim,
                               bool *out)
{
    uint32_t owner;
    gpufl_status status = store_claimant(store, claim->session, &owner);
    *out = !owner || owner == claim->owner || claim->reopens;
    return status;
}

static bool note_claimant(struct store *store, const struct store_claim *claim)
{
    sqlite3_stmt *s = statement_use(store, S_CLAIMANT_NOTE);
    statement_bind_text(s, 1, claim->session);
    sqlite3_bind_int64(s, 2, claim->owner);
    return !claim->owner || statement_run(s);
}

/* Within the transaction. */
static gpufl_status settle_claim(struct store *store, const struct store_claim *claim,
                                 enum claim_verdict *verdict)
{
    struct comparison c = {.claim = claim};
    enum store_completeness before;
    for (size_t i = 0; i < claim->channels; i++) {
        c.nothing += claim_is_of_nothing(&claim->channel[i]);
    }
    gpufl_status status = store_streams_visit(store, claim->session, compare_stream, &c);
    if (status == GPUFL_OK) {
        status = store_streams_windows(store, claim->session, note_windowed, &c);
    }
    if (status == GPUFL_OK) {
        status = store_session_state(store, claim->session, &before);
    }
    if (status != GPUFL_OK) {
        return status;
    }
    c.lacks |= before == STORE_ENDED; /* and nothing was stored since */
    *verdict = judge_claim(&c);
    if (*verdict != CLAIM_COMPLETE && *verdict != CLAIM_ENDED) {
        return GPUFL_OK;
    }
    enum store_completeness state = *verdict == CLAIM_ENDED       ? STORE_ENDED
                                    : c.windowed || c.stored == 0 ? STORE_COMPLETE
                                                                  : STORE_VERIFIED;
    bool may = true;
    if (state != before || c.adds || c.nothing) {
        status = may_change(store, claim, &may);
    }
    if (status != GPUFL_OK || !may) {
        *verdict = CLAIM_OWNED;
        return status;
    }
    if (!note_losses(store, claim) || !set_completeness(store, claim->session, state)) {
        return GPUFL_ERR_IO;
    }
    *verdict = sqlite3_changes(store->db) ? *verdict : CLAIM_UNKNOWN;
    return note_claimant(store, claim) ? GPUFL_OK : GPUFL_ERR_IO;
}

gpufl_status store_claim(struct store *store, const struct store_claim *claim,
                         enum claim_verdict *verdict)
{
    gpufl_status status = store_streams_begin(store);
    if (status != GPUFL_OK) {
        return status;
    }
    status = settle_claim(store, claim, verdict);
    if (status == GPUFL_OK) {
        return store_streams_commit(store, 0);
    }
    store_health_failed(store, 0);
    store_streams_rollback(store);
    return status;
}
