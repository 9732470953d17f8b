/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a shutdown that is not sent, as another channel has none yet. */
#include "upload/engine/awaited_end.h"

#include <stdio.h>

#include "upload/core/offer.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"

/* The backend may refuse what comes before its end. */
static const char *awaited_end_why(const struct stream *awaited)
{
    const struct offer *offer = awaited->offer;
    return offer && offer->waits_why[0] ? offer->waits_why : NULL;
}

static void awaited_end_of(const struct session *s, struct engine_summary *out)
{
    uint64_t now_ms = s->root->engine->config.sys->now_ms();
    for (unsigned i = 0; i < s->streams && !out->awaited[0]; i++) {
        const struct stream *st = s->stream[i];
        bool waits = st->at_shutdown && st->rest == STREAM_PENDING && !st->offer;
        const struct stream *awaited = waits ? shutdown_awaits(st, now_ms) : NULL;
        const char *why = awaited ? awaited_end_why(awaited) : NULL;
        if (why) {
            snprintf(out->awaited, sizeof out->awaited,
                     "session %.200s, channel %s waits: %s", s->path,
                     stream_channel(awaited), why);
        } else if (awaited) {
            snprintf(out->awaited, sizeof out->awaited,
                     "session %.200s: its channel %s has ended, and the end of %s is "
                     "waited for",
                     s->path, stream_channel(st), stream_channel(awaited));
        }
    }
}

void awaited_end_note(const struct engine *engine, struct engine_summary *out)
{
    out->awaited[0] = '\0';
    for (unsigned i = 0; i < engine->roots; i++) {
        for (const struct session *s = engine->root[i]->sessions; s; s = s->next) {
            if (s->wanted && s->state != SESSION_DONE && session_is_listed(s)) {
                awaited_end_of(s, out);
            }
        }
    }
}
