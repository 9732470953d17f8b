/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a channel has something to send, or an end to ask the backend for. */
#include "upload/lifecycle/inspect_channel.h"

#include "upload/core/expired.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/lifecycle/import_position.h"
#include "upload/lifecycle/rewritten.h"
#include "upload/lifecycle/sealed_file.h"

/* A turn's decoding counts like as many names as are listed at once. */
#define NAME_BYTES (GZ_CACHE_STEP_BYTES / (4 * VISITS_STEP_NAMES))

/* Its writer has not begun the next file, which was waited for, though another program
 * may have made one. One that could not take the seal back either may write on in the
 * file. */
static bool inspect_is_between_files(const struct stream *st)
{
    const struct sys *sys = st->session->root->engine->config.sys;
    const struct tail_where where = stream_where(st);
    return stream_is_between_files(st) && !session_writer_is_gone(st->session) &&
           !tail_has_more(sys, &where) && !tail_where_has_next(sys, &where);
}

/* The size of its active file if nothing new is in it. */
static uint64_t inspect_expects_bytes(const struct stream *st)
{
    return stream_is_cut(st) ? st->cut_at - 1 : st->offset;
}

/* What is in its active file differs from what was sent of it, unless a person gave that
 * up, as it cannot be read. A file smaller than what was sent from it has changed, too:
 * reading shows how. */
static bool inspect_is_active_pending(const struct stream *st,
                                      const struct scan_channel *seen)
{
    bool given_up = st->ended_file == st->file && st->all_read;
    return seen->has_active ? seen->active_bytes != inspect_expects_bytes(st) && !given_up
                            : seen->has_active_gz && !st->all_read && !stream_is_cut(st);
}

/* In an earlier copy, sealed files that the journal knows are not there: all of it was
 * sent, or is lost. */
static uint32_t inspect_newest_sealed(const struct stream *st,
                                      const struct scan_channel *seen)
{
    return stream_is_cut(st) ? seen->highest : st->highest;
}

/* Whether something of this channel is not settled yet. */
static bool inspect_is_pending(const struct session *session, const struct stream *st,
                               const struct scan_channel *seen)
{
    uint32_t sealed = inspect_newest_sealed(st, seen);
    switch ((enum session_layout)session->layout) {
    case SESSION_WINDOWS: /* a sidecar is there before its payload */
        return st->file <= st->highest && !st->all_read;
    case SESSION_SHIFTING: /* only reading shows how much */
        return !st->all_read;
    case SESSION_LIVE:
        return st->file < sealed ||
               (st->file == sealed ? !inspect_is_between_files(st)
                                   : inspect_is_active_pending(st, seen));
    }
    return true;
}

static uint64_t inspect_behind_bytes(const struct stream *st,
                                     const struct scan_channel *seen)
{
    bool sealed =
        st->session->layout == SESSION_SHIFTING ? st->index > 0 : st->file <= st->highest;
    if (sealed) {
        return UINT64_MAX; /* never live data */
    }
    return seen->active_bytes > st->offset ? seen->active_bytes - st->offset : 0;
}

/* A number that changes as soon as there may be something new to read. */
static uint64_t inspect_seen(const struct session *session,
                             const struct scan_channel *seen)
{
    if (session->layout == SESSION_WINDOWS) {
        return (uint64_t)seen->highest << 33 | (uint64_t)seen->payloads << 2 |
               (unsigned)(session->salvage != SESSION_SALVAGE_NONE) << 1 |
               (unsigned)session_writer_is_gone(session);
    }
    return seen->active_bytes << STREAM_SEEN_SHIFT | seen->highest << 2 |
           (unsigned)seen->has_active << 1 | (unsigned)seen->has_active_gz;
}

/* All of it was sent, as a journal of its own or of an earlier process says, but not
 * under which places; or its end was proved in another epoch of the backend, which may
 * have gone back since. One that sends more, or claims to be complete, learns it by that;
 * one that is blocked does neither. */
static bool inspect_is_to_be_asked(const struct stream *st)
{
    const struct origin *origin = &st->session->root->engine->origin;
    bool quiet = !session_writer_is_gone(st->session) || session_blocked(st->session);
    bool old = quiet && st->end.epoch != origin->epoch;
    return stream_takes_positions(st) && !st->offer && origin->positions &&
           (st->unproved || !stream_knows_end(st) || (st->positions && old));
}

/* The size of a compressed file is not known here: its time of change tells. */
static bool inspect_cut_changed(const struct stream *st, const struct scan_channel *seen)
{
    bool gz = seen->has_active_gz && !seen->has_active;
    return gz ? !st->cut_at || seen->active_changed_ns != st->active_changed_ns
              : seen->active_bytes + 1 != st->cut_at;
}

/* Its file was cut, and is another one now, or it was found by an earlier run. */
static void inspect_cut_again(struct stream *st, const struct scan_channel *seen)
{
    bool cut = st->end.state == END_CUT || st->end.state == END_COPY;
    if (cut && !st->positions) {
        bool copy = sealed_file_copy(st) == SEALED_COPY;
        bool busy = st->session->root->engine->gz.busy;
        st->cut_at = copy ? seen->active_bytes + 1 : busy ? st->cut_at : 0;
    } else if (cut && inspect_cut_changed(st, seen)) {
        st->cut_at = 0;
        st->unproved = st->voided = true;
    }
}

/* The backend has something else: the files, which may be large, are compared again when
 * they change, and now and then. */
static bool inspect_still_differs(const struct stream *st,
                                  const struct scan_channel *seen, uint64_t now_ms)
{
    return st->held && st->unproved && now_ms < st->seek_at_ms &&
           st->seen == inspect_seen(st->session, seen);
}

/* The backend may have gone back since it took what is before the position of windows.
 * It knows by their ids which ones it has: those that are there are offered again. */
static void inspect_windows_again(struct stream *st, const struct scan_channel *seen)
{
    struct root *root = st->session->root;
    const struct origin *origin = &root->engine->origin;
    bool old = origin->state == ORIGIN_KNOWN && origin->epoch &&
               root->backend < BACKEND_ASKED && st->end.epoch != origin->epoch;
    if (st->kind != STREAM_VERBATIM || st->offer || !old) {
        return;
    }
    uint32_t before = st->file;
    if (st->id && seen->lowest && seen->lowest < before) {
        const struct record_settled back = {
            .sequence = st->sequence, .file = seen->lowest, .how = SETTLED_ACKED};
        if (!position_advance(st, &back)) {
            return;
        }
        st->journal_file = st->file; /* nothing is deleted before it was sent again */
        st->again_file = before;
        st->all_read = st->at_shutdown = false;
        st->rest = STREAM_PENDING;
        st->last = (struct stream_last){0};
    }
    st->end.epoch = origin->epoch;
    if (st->id) {
        struct record_stream record = stream_record(st);
        (void)!record_append_stream(root->journal, &record); /* or it is done again */
    }
}

/* \return false if nothing is known yet: the next inspection goes on. */
static bool inspect_compare(struct stream *st, const struct scan_channel *seen)
{
    inspect_cut_again(st, seen);
    st->active_changed_ns = seen->active_changed_ns;
    uint32_t highest = sealed_file_note(st, seen->highest);
    if (st->session->root->engine->gz.busy) {
        st->rest = STREAM_PENDING;
        return false;
    }
    st->held = false; /* the reason may be gone */
    st->rest = st->rest == STREAM_PENDING ? STREAM_PENDING : STREAM_DRAINED;
    st->highest = highest;
    st->lowest = seen->lowest;
    return true;
}

/* \return true if nothing of it is to be sent now, but the backend may be asked. Half a
 * line is not sent while its writer may go on with it. */
static bool inspect_leaves(struct stream *st, const struct scan_channel *seen, bool same,
                           uint64_t now_ms)
{
    bool pending = inspect_is_pending(st->session, st, seen);
    bool settled = !pending && !rewritten_since(st, seen);
    bool waits = pending && st->unfinished && same;
    if ((settled || waits) && inspect_is_to_be_asked(st)) {
        bool compares = st->unproved && !stream_knows_end(st);
        st->unproved = st->positions || compares; /* with what the backend has */
        stream_enqueue(st, false, now_ms);
        return true;
    }
    if (settled) {
        st->rest = st->offer ? STREAM_PENDING : STREAM_DRAINED;
    }
    return settled;
}

void inspect_channel(struct session *session, const struct scan_channel *seen,
                     uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    if (!registry_follows(session->root, seen->name)) {
        return;
    }
    struct stream *st = session_stream(session, seen->name);
    if (!st) {
        return; /* no memory: at the next inspection */
    }
    if (st->kind == STREAM_UNSET) {
        st->kind = session->layout == SESSION_WINDOWS ? STREAM_VERBATIM : STREAM_BATCHED;
        import_position(st);
    }
    st->layout = (uint8_t)(1 + session->layout);
    if (!session->last_growth_ms) { /* at its first inspection */
        session->compare_left += SESSION_COMPARED_FOR_EACH_BYTE * seen->disk_bytes;
    }
    session->seen_bytes += seen->active_bytes + seen->highest + seen->payloads;
    st->told_active = seen->told_active; /* its lock file may have come since */
    st->told_bytes = seen->told_bytes;
    st->noted = seen->noted;
    st->told_fit = seen->told_fit;
    st->told = seen->told;
    st->there_highest = seen->highest;
    st->rotated = seen->rotated;
    if (inspect_still_differs(st, seen, now_ms)) {
        return;
    }
    if (expired_for_now(session)) {
        st->rest = st->offer ? STREAM_PENDING : STREAM_DRAINED;
        stream_hold(st, HELD_EXPIRED);
        return;
    }
    if (!inspect_compare(st, seen)) {
        return;
    }
    inspect_windows_again(st, seen);
    stream_note_goal(st, seen->active_bytes,
                     session->layout != SESSION_SHIFTING && !seen->has_active_gz);
    uint64_t before = st->seen;
    st->seen = inspect_seen(session, seen);
    st->all_read = st->all_read && st->seen == before;
    if (inspect_leaves(st, seen, st->seen == before, now_ms)) {
        return;
    }
    stream_note_growth(st);
    if (st->offer || st->enough || session->held ||
        (st->at_shutdown && !shutdown_may_go(st, now_ms))) {
        return;
    }
    bool backlog = inspect_behind_bytes(st, seen) >= engine->config.max_batch_bytes ||
                   session_writer_is_gone(session);
    if (backlog || (session->overdue && !st->queued)) {
        stream_enqueue(st, !backlog, now_ms);
    } else {
        stream_enqueue(st, true, engine_config_next_flush(&engine->config, now_ms));
    }
}

unsigned inspect_channel_decoded(struct session *session, uint64_t now_ms)
{
    struct engine *engine = session->root->engine;
    unsigned names = (unsigned)(gz_cache_spent(&engine->gz) / NAME_BYTES);
    session_note_compared(session, gz_cache_spent(&engine->gz));
    if (names) {
        visits_charge(&engine->visits, session_lane(session), names, now_ms);
    }
    if (engine->gz.busy) {
        session_mark(session); /* it goes on */
    }
    return names;
}
