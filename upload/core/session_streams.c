/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and walks the streams of a session. */
#include "upload/core/session_streams.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "schema/layout.h"
#include "upload/core/kept_bytes.h"
#include "upload/core/passed.h"
#include "upload/core/ranges.h"
#include "upload/core/stream_numbers.h"
#include "upload/source/salvage_readings.h"

void session_charge_streams(struct session *session)
{
    uint64_t bytes = sizeof *session + kept_bytes_of_path(session->path);
    for (unsigned i = 0; i < SCAN_CHANNELS_MAX; i++) {
        bytes += session->stream[i] ? sizeof *session->stream[i] : 0;
    }
    session_charge(session, session->charged_to, bytes);
}

void session_drop(struct session *session)
{
    path_table_remove(&session->root->by_path, &session->node);
    path_table_remove(&session->root->by_id, &session->by_id);
    session_end_turn(session);
    shares_remove(&session->root->engine->shares, session->charged_to,
                  session->charged_bytes);
    *session->link = session->next;
    if (session->next) {
        session->next->link = session->link;
    }
    for (unsigned i = 0; i < SCAN_CHANNELS_MAX; i++) {
        struct stream *st = session->stream[i];
        if (st) {
            stream_set_number(st, 0);
            free(st->sought.among);
        }
        free(st);
    }
    salvage_readings_free(session->readings);
    free(session->proof);
    free(session->parting);
    free(session->claim);
    free(session);
}

struct stream *session_stream(struct session *session, const char *channel)
{
    int index = registry_channel(session->root, channel);
    if (index < 0) {
        return NULL;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->channel == index) {
            return session->stream[i];
        }
    }
    struct stream **slot = &session->stream[session->streams];
    struct stream *st =
        *slot ? *slot : malloc(sizeof *st); /* the memory of a forgotten one is reused */
    if (!st) {
        return NULL;
    }
    bool more = !*slot;
    *slot = st;
    session->streams++;
    if (more) {
        session_charge_streams(session);
    }
    *st = (struct stream){.session = session, .channel = (uint8_t)index, .file = 1};
    /* A channel that is not followed this time keeps its place and blocks nothing. */
    if (st->channel >= session->root->channels.count) {
        st->at_shutdown = true;
        st->rest = STREAM_DRAINED;
    }
    return st;
}

void session_unlist_ranges(struct session *session)
{
    session->quarantined = 0;
    for (unsigned i = 0; i < session->streams; i++) {
        ranges_forget(session->root, session->stream[i]->id);
        passed_forget(session->root, session->stream[i]->id);
    }
}

bool session_any_held(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->held) {
            return true;
        }
    }
    return session->held;
}

bool session_hold_stands(const struct session *session)
{
    bool stands = session->held;
    for (unsigned i = 0; i < session->streams; i++) {
        stands = stands || stream_hold_stands(session->stream[i]);
    }
    return stands;
}

bool session_hides_end(const struct session *session)
{
    bool hides = session->hides_end;
    for (unsigned i = 0; i < session->streams; i++) {
        hides = hides || session->stream[i]->layout != 1 + SESSION_LIVE;
    }
    return hides;
}

uint32_t session_settled_stamp(const struct session *session)
{
    bool settled = session->state == SESSION_DONE || session_settled(session);
    bool lives = session->writer == SESSION_WRITER_LIVES; /* there is nothing to judge */
    return session->held || !settled ? 0
           : lives                   ? session->stamp
                                     : session->settled_stamp;
}

void session_note_holds(struct session *session)
{
    uint64_t holds = session->held ? session->hold_reason : HELD_NOT;
    if (session_settled(session) && !session->held) {
        session->settled_stamp = session->stamp;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        holds = holds * HELD_REASONS_COUNT +
                (stream_hold_stands(st) ? st->hold_reason : HELD_NOT);
    }
    holds = hash64_word(holds, session_settled_stamp(session));
    session->root->engine->trouble.stamp += holds != session->holds_noted;
    session->holds_noted = holds;
}

bool session_begun(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->id) {
            return true;
        }
    }
    return session->state == SESSION_DONE;
}

bool session_is_foreign(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->hold_reason == HELD_FOREIGN) {
            return true;
        }
    }
    return false;
}

bool session_falls_short(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (stream_falls_short(session->stream[i])) {
            return true;
        }
    }
    return false;
}

bool session_is_lost_elsewhere(const struct session *session)
{
    bool lost = false;
    for (unsigned i = 0; i < session->streams; i++) {
        lost = lost || stream_is_lost_elsewhere(session->stream[i]);
    }
    return lost;
}

bool session_is_lost(const struct session *session)
{
    bool lost = false;
    for (unsigned i = 0; i < session->streams; i++) {
        lost = lost || stream_lost_reason(session->stream[i]) != HELD_NOT;
    }
    return lost;
}

bool session_blocked(const struct session *session)
{
    return session->loss || session_blocked_otherwise(session);
}

bool session_blocked_otherwise(const struct session *session)
{
    if (session->unread || session->salvage != SESSION_SALVAGE_NONE ||
        session_any_held(session) || session->quarantined ||
        session_falls_short(session) || session_is_lost(session)) {
        return true;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->refused_lines || session->stream[i]->gap) {
            return true;
        }
    }
    return false;
}

bool session_settled(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (st->rest != STREAM_DRAINED || st->offer) {
            return false;
        }
    }
    return session->streams > 0;
}

bool session_queued(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->queued) {
            return true;
        }
    }
    return false;
}

bool session_is_referenced(const struct session *session)
{
    return session_queued(session) || session->dirty || session->later ||
           session->in_completing || session->watched || session->complete_in_flight ||
           session->ends_in_flight;
}

bool session_idle(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->offer) {
            return false;
        }
    }
    return !session_is_referenced(session);
}

static bool session_reads_appended(const struct session *session)
{
    return session->inspected && !session->held && session->layout == SESSION_LIVE &&
           session->state == SESSION_OPEN && session_tells(session);
}

/* \return false if reading alone does not do. */
static bool session_stream_grew(struct stream *st, uint64_t now_ms)
{
    const struct root *root = st->session->root;
    if (st->held || st->at_shutdown || st->kind != STREAM_BATCHED) {
        return st->channel >= root->channels.count; /* it is not followed */
    }
    st->session->last_growth_ms = now_ms;
    stream_note_growth(st);
    if (!st->offer) {
        stream_enqueue(st, true, engine_config_next_flush(&root->engine->config, now_ms));
    }
    return true;
}

/* Its lock file may tell next that another file is written. */
static bool session_is_between_files(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (stream_is_between_files(session->stream[i])) {
            return true;
        }
    }
    return false;
}

bool session_grew(struct session *session, const char *file, uint64_t now_ms)
{
    struct layout_name name = layout_parse(file);
    bool several = !*file;
    bool active = name.kind == LAYOUT_ACTIVE && !name.gz;
    bool known = name.kind == LAYOUT_IS_LOCK && !session_is_between_files(session);
    if (!session_reads_appended(session)) {
        return false;
    }
    for (unsigned i = 0; (several || active) && i < session->streams; i++) {
        struct stream *st = session->stream[i];
        if (several || strcmp(stream_channel(st), name.channel) == 0) {
            known = session_stream_grew(st, now_ms);
            if (!known) {
                return false;
            }
        }
    }
    return known;
}
