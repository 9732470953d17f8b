/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a session by what is stored of it, not by what was announced alone. */
#include "backend/api/api_state.h"

/* Lines from the future do not keep it alive: a clock was set. */
static bool is_recent(int64_t last_seen_ms, int64_t now_ms)
{
    return now_ms - last_seen_ms < API_LIVE_MS && last_seen_ms - now_ms < API_LIVE_MS;
}

const char *api_state(const struct store_session *session, int64_t now_ms)
{
    bool ended = session->shutdown_ns > 0;
    if (!session->complete && is_recent(session->last_seen_ms, now_ms)) {
        return "live";
    }
    if (session->missing > 0) {
        return "gap";
    }
    if (session->complete) {
        return ended ? "complete" : "ended_without_shutdown";
    }
    return ended ? "not_complete" : "silent";
}
