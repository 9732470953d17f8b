/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a session by what is stored of it, not by what was announced alone. */
#include "backend/api/api_state.h"

/* What is from the future is not recent: a clock was set. */
static bool is_within(int64_t at_ms, int64_t now_ms, int64_t limit_ms)
{
    return now_ms - at_ms < limit_ms && at_ms - now_ms < limit_ms;
}

static bool is_live(const struct store_session *session, int64_t now_ms)
{
    return !session->complete && !session->ended &&
           (is_within(session->last_seen_ms, now_ms, STORE_LIVE_MS) ||
            is_within(session->told_ms, now_ms, STORE_LIVE_MS));
}

const char *api_state(const struct store_session *session, int64_t now_ms)
{
    bool ended = session->shutdown_ns > 0;
    if (is_live(session, now_ms)) {
        return "live";
    }
    if (session->missing > 0) {
        return "gap";
    }
    if (session->ended) {
        return "ended_with_losses";
    }
    if (session->complete) {
        return ended ? "complete" : "ended_without_shutdown";
    }
    return ended ? "not_complete" : "silent";
}

int64_t api_silent_since_ms(const struct store_session *session, int64_t now_ms)
{
    if (!is_live(session, now_ms) ||
        is_within(session->last_seen_ms, now_ms, API_SILENT_MS)) {
        return 0;
    }
    return session->told_ms > session->last_seen_ms ? session->last_byte_ms
                                                    : session->last_seen_ms;
}
