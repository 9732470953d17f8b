/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps in the journal that the backend has deleted a session. */
#include "upload/core/expired.h"

#include "upload/core/position.h"
#include "upload/core/session_streams.h"

void expired_note(struct stream *st)
{
    uint64_t epoch = st->session->root->engine->origin.epoch;
    if (st->end.state != END_EXPIRED || st->end.epoch != epoch) {
        st->positions = true;
        st->end.state = END_PROVED;
        st->end.epoch = epoch;
        (void)!position_note_end(st, END_EXPIRED); /* else it is asked for again */
    }
    stream_hold(st, HELD_EXPIRED);
}

bool expired_session(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->end.state == END_EXPIRED) {
            return true;
        }
    }
    return false;
}

bool expired_for_now(const struct session *session)
{
    uint64_t epoch = session->root->engine->origin.epoch;
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (st->end.state == END_EXPIRED && (!epoch || st->end.epoch == epoch)) {
            return true;
        }
    }
    return false;
}
