/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a directory with what is known of its session. */
#include "upload/lifecycle/inspect.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/cleanup.h"
#include "upload/lifecycle/completion.h"
#include "upload/lifecycle/inspect_channel.h"
#include "upload/lifecycle/inspect_layout.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/replaced.h"
#include "upload/lifecycle/returned.h"
#include "upload/owners/owners.h"

#define INSPECTED_AT_ONCE 32u
#define NAMES_AT_ONCE     (4 * VISITS_STEP_NAMES)

#define LONG_SILENCE_S 120

/* Nothing of it can be sent before somebody acts. */
static bool inspect_is_stuck(const struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if ((st->rest != STREAM_DRAINED || st->offer) && !stream_hold_stands(st)) {
            return false;
        }
    }
    return session->streams > 0;
}

/* The shutdown of a file that cannot be read is not seen: silence has to do. */
static bool inspect_hides_end(const struct stream *st, uint64_t now_ms)
{
    return st->session->layout == SESSION_SHIFTING && stream_hold_stands(st) &&
           session_silent(st->session, now_ms);
}

/* For a writer that cannot be probed: every channel ends in its shutdown, or all have
 * been silent for long. */
static bool inspect_has_ended(const struct session *session, uint64_t now_ms)
{
    uint64_t orphan_ms = session->root->engine->config.orphan_timeout_ms;
    if (session->layout == SESSION_WINDOWS && session_silent(session, now_ms)) {
        return true; /* its writer removes `.tmp` at its end */
    }
    if (orphan_ms && now_ms - session->last_growth_ms >= orphan_ms) {
        return true;
    }
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (!inspect_hides_end(st, now_ms) && !shutdown_is_last(st)) {
            return false;
        }
    }
    return session->streams > 0;
}

void inspect_failed(struct session *session, gpufl_status why)
{
    session->inspected = true;
    session_hold(session, why == GPUFL_ERR_USAGE ? HELD_OWNER : HELD_DIRECTORY);
}

/* What is missing at the end of a file does not come any more. */
static void inspect_seek_again(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        session->stream[i]->seek_at_ms = 0;
    }
}

static void inspect_apply_writer(struct session *session, enum liveness writer)
{
    bool was_gone = session_writer_is_gone(session);
    session->writer = writer == WRITER_GONE      ? SESSION_WRITER_GONE
                      : writer == WRITER_UNKNOWN ? SESSION_WRITER_UNKNOWN
                                                 : SESSION_WRITER_LIVES;
    session->root->change_stamp += was_gone != session_writer_is_gone(session);
    if (!was_gone && session_writer_is_gone(session)) {
        inspect_seek_again(session);
    }
}

static bool inspect_waits_for_flush(const struct session *session, uint64_t now_ms)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (session->stream[i]->queued && session->stream[i]->due_ms > now_ms) {
            return true;
        }
    }
    return false;
}

/* A run on demand does not wait for the silence of what has been silent for long, also by
 * a clock of another host that is somewhat behind. */
static uint64_t inspect_first_growth(const struct session *session,
                                     const struct scan *scan, uint64_t now_ms)
{
    const struct engine_config *config = &session->root->engine->config;
    bool silent = config->once && scan->last_write_s &&
                  config->sys->wall_s() - scan->last_write_s > LONG_SILENCE_S &&
                  now_ms > SESSION_SILENCE_MS;
    return silent ? now_ms - SESSION_SILENCE_MS : now_ms;
}

static void inspect_channels(struct session *session, const struct scan *scan,
                             uint64_t now_ms)
{
    uint64_t seen_before = session->seen_bytes;
    session->seen_bytes = 0;
    for (unsigned i = 0; i < scan->channels; i++) {
        inspect_channel(session, &scan->channel[i], now_ms);
    }
    if (!session->last_growth_ms) {
        session->last_growth_ms = inspect_first_growth(session, scan, now_ms);
    } else if (session->seen_bytes != seen_before) {
        session->last_growth_ms = now_ms;
        session->grew_after_ms = session->seen_at_ms;
    }
    session->seen_at_ms = now_ms;
    missing_channels(session, scan);
    session->overdue = false;
    session->quiet_until_ms =
        inspect_waits_for_flush(session, now_ms)
            ? engine_config_next_flush(&session->root->engine->config, now_ms)
            : 0;
}

static void inspect_note_owner(struct session *session, const struct inspection *seen)
{
    const struct owners *owners = &session->root->engine->owners;
    if (seen->whole) {
        session->owner = seen->owner;
        session_charge(session, owners_account(owners, seen->owner),
                       session->charged_bytes);
    }
}

void inspect_apply(struct session *session, const struct inspection *seen,
                   uint64_t now_ms)
{
    bool was_held = session_any_held(session);
    if (session->state == SESSION_DONE || !session->wanted) {
        return;
    }
    session->looked_at_ms = now_ms;
    session->seems_over = false;
    inspect_note_owner(session, seen);
    session->changed = seen->changed;
    session->seen = directory_id_of(&seen->directory);
    directory_note_above(session->root->fd, session->path, &session->seen);
    memcpy(session->second, seen->second, sizeof session->second);
    inspect_apply_writer(session, seen->writer);
    if (!replaced_admit(session, &seen->directory,
                        seen->scan.manifest_state == SCAN_MANIFEST_OTHER)) {
        return;
    }
    if (!claim_check(session, &seen->scan, seen->writer) ||
        session->state == SESSION_DONE) {
        return;
    }
    if (inspect_layout_is_marked(session, &seen->scan, now_ms)) {
        return;
    }
    if (inspect_layout_waits(session, &seen->scan)) {
        return;
    }
    inspect_layout_apply(session, &seen->scan);
    if (session->held && !session_begun(session) &&
        (session->hold_reason == HELD_RENAMED || session->hold_reason == HELD_COPY)) {
        return; /* what lies in it is another session's */
    }
    if (seen->whole && !session->held) {
        moved_note(session, session->seen);
    }
    inspect_channels(session, &seen->scan, now_ms);
    returned_session(session);
    if (!was_held && !session->held) {
        session->hold_reason = HELD_NOT;
    }
    cleanup_session(session);
    session->seems_over = session->writer == SESSION_WRITER_UNKNOWN &&
                          !seen->scan.has_tmp && inspect_is_stuck(session) &&
                          inspect_has_ended(session, now_ms);
    if (session->root->engine->gz.busy || !session_settled(session)) {
        session_set_state(session, SESSION_OPEN);
        return;
    }
    if (session->seems_over) {
        missing_ended(session, &seen->scan);
    }
    if (session_writer_is_gone(session)) {
        missing_at_end(session);
    }
    if (session->root->engine->gz.busy || session_blocked(session)) {
        session_set_state(session, SESSION_OPEN);
    } else if (session_writer_is_gone(session) &&
               !session->root->engine->config.ack_only &&
               session->state == SESSION_OPEN) {
        completion_begin(session, now_ms);
    }
}

static bool inspect_is_due(const struct session *session)
{
    return session->state != SESSION_DONE && session->wanted &&
           session->presence != SESSION_AWAY;
}

static const struct session *inspect_known_live(const struct session *session)
{
    bool known = session->inspected && session->layout == SESSION_LIVE && !session->held;
    return known ? session : NULL;
}

/* If it took steps to find that there is no session, that is known until something comes
 * or goes; else a listing shows it. */
static void inspect_found_none(struct session *session, const struct inspection *seen)
{
    session->crowd = session->turn.names > VISITS_STEP_NAMES;
    session->changed = seen->changed;
    if (session->presence == SESSION_PRESENT) { /* one that is kept is not listed anew */
        session->presence = SESSION_ABSENT;
        session->root->list_soon = true;
    }
}

static void inspect_found(struct session *session, gpufl_status status,
                          const struct inspection *seen, uint64_t now_ms)
{
    session->turn.names = seen->names;
    session->turn.known = true;
    if (status == GPUFL_OK) {
        session->crowd = false;
        inspect_apply(session, seen, now_ms);
    } else if (status == GPUFL_ERR_NOT_FOUND) {
        inspect_found_none(session, seen);
    } else {
        session->crowd = false;
        inspect_failed(session, status);
    }
}

void inspect_session(struct session *session, uint64_t now_ms)
{
    struct inspection seen;
    gz_cache_turn(&session->root->engine->gz, now_ms);
    inspect_stop(session);
    if (inspect_is_due(session)) {
        gpufl_status status = inspect_directory(
            session->root, session->path, inspect_known_live(session), UINT_MAX, &seen);
        inspect_found(session, status, &seen, now_ms);
    }
}

void inspect_stop(struct session *session)
{
    if (session->look) {
        inspect_close(session->look);
        free(session->look);
        session->look = NULL;
        session->turn.begun = false;
    }
}

bool inspect_is_none(const struct session *session)
{
    struct stat st;
    return session->crowd && !session->dirty &&
           fstatat(session->root->fd, session->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           session->changed == session_changed(&st);
}

/* What does not look like a session claims no id: anybody can make very many names. */
void inspect_many(struct session *session, bool known, const struct inspection *seen)
{
    session->crowd = !seen->shows_session && (session->crowd || !known);
    if (!session->crowd) {
        claim_note(session->root, session->path);
    }
    session->turn.names = seen->names;
    session->owner = seen->whole ? seen->owner : session->owner;
    session_mark(session);
}

/* \return how many names were listed. */
static unsigned inspect_at_once(struct session *session, uint64_t now_ms)
{
    struct inspection seen;
    gpufl_status status =
        inspect_directory(session->root, session->path, inspect_known_live(session),
                          VISITS_STEP_NAMES, &seen);
    if (status == GPUFL_BUSY) {
        inspect_many(session, true, &seen);
    } else {
        inspect_found(session, status, &seen, now_ms);
    }
    return seen.names;
}

/* Until it is over, nothing is read of the session: what it finds is never older than
 * what is known. */
static unsigned inspect_go_on(struct session *session, uint64_t now_ms)
{
    struct visit_queue *visits = &session->root->engine->visits;
    struct inspect_look *look = session->look;
    unsigned before = inspect_cost(look);
    bool listed = look->scanned || scan_some(&look->scanning, VISITS_STEP_NAMES);
    gpufl_status status =
        listed ? inspect_end(session->root, session->id, look, SECOND_FORM_STEP_BYTES)
               : GPUFL_BUSY;
    unsigned names = inspect_cost(look) - before;
    visits_charge(visits, session_lane(session), names, now_ms);
    if (status == GPUFL_BUSY) {
        session->dirty = true;
        visits_push(visits, session_lane(session), &session->turn, now_ms);
        return names;
    }
    session->look = NULL;
    session->turn.begun = false;
    inspect_found(session, status, &look->seen, now_ms);
    free(look);
    if (session->marked_again) {
        session->marked_again = false;
        session_mark(session);
    }
    return names;
}

static unsigned inspect_begin_steps(struct session *session, uint64_t now_ms)
{
    struct inspect_look *look = malloc(sizeof *look);
    gpufl_status status = look ? inspect_begin(session->root, session->path,
                                               inspect_known_live(session), look)
                               : GPUFL_ERR_IO;
    if (status == GPUFL_OK) {
        session->look = look;
        session->turn.begun = true;
        session->marked_again = false;
        return inspect_go_on(session, now_ms);
    }
    if (look) {
        inspect_found(session, status, &look->seen, now_ms);
        free(look);
    }
    return 0; /* without memory: at the next mark */
}

static unsigned inspect_step(struct session *session, uint64_t now_ms)
{
    if (!inspect_is_due(session)) {
        inspect_stop(session);
        return 0;
    }
    return session->look ? inspect_go_on(session, now_ms)
           : session->turn.names <= VISITS_STEP_NAMES
               ? inspect_at_once(session, now_ms)
               : inspect_begin_steps(session, now_ms);
}

void inspect_turns(struct engine *engine, uint64_t now_ms)
{
    unsigned names = 0;
    for (unsigned i = 0; i < INSPECTED_AT_ONCE && names < NAMES_AT_ONCE; i++) {
        struct session *session = session_of_turn(visits_take(&engine->visits, now_ms));
        if (!session) {
            return;
        }
        session->dirty = false;
        uint32_t about = session_log_about(session);
        gz_cache_turn(&engine->gz, now_ms);
        names += inspect_step(session, now_ms) + inspect_channel_decoded(session, now_ms);
        session_note_holds(session);
        parking_end_turn(session, now_ms);
        parking_held(session);
        log_about(engine->config.log, about);
    }
}
