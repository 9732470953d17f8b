/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a directory with what is known of its session. */
#include "upload/lifecycle/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/owners.h"
#include "upload/core/session_streams.h"
#include "upload/core/shutdown.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/cleanup.h"
#include "upload/lifecycle/completion.h"
#include "upload/lifecycle/inspect_channel.h"
#include "upload/lifecycle/inspect_layout.h"
#include "upload/lifecycle/missing.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/replaced.h"
#include "upload/lifecycle/returned.h"

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

/* \p dir: the root and the path of a session below it, or its directory and ".". */
static enum liveness inspect_probe_writer(const struct root *root, int dir,
                                          const char *path, const struct scan *scan)
{
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s/%s", path, LAYOUT_LOCK);
    bool here = root->engine->config.in_job && liveness_is_open_here(dir, lock);
    return here ? WRITER_LIVE
                : liveness_probe(root->engine->config.sys, dir, lock,
                                 scan ? &scan->manifest : NULL,
                                 scan ? scan->last_write_s : 0);
}

bool inspect_is_over(const struct root *root, const char *path)
{
    return inspect_probe_writer(root, root->fd, path, NULL) == WRITER_GONE;
}

bool inspect_is_locked(const struct root *root, const char *path)
{
    return inspect_probe_writer(root, root->fd, path, NULL) == WRITER_LIVE;
}

static bool inspect_owner_ok(const struct root *root, struct inspection *seen)
{
    const struct engine_config *config = &root->engine->config;
    const struct statx *st = &seen->directory;
    seen->owner = SESSION_OWNER_UNKNOWN;
    seen->changed = 0;
    if (!seen->whole && !config->one_owner) {
        return true;
    }
    seen->owner = st->stx_uid;
    seen->changed =
        (uint64_t)st->stx_ctime.tv_sec * 1000000000u + (uint64_t)st->stx_ctime.tv_nsec;
    return !config->one_owner || st->stx_uid == config->owner;
}

void inspect_failed(struct session *session, gpufl_status why)
{
    session->inspected = true;
    session_hold(session, why == GPUFL_ERR_USAGE ? HELD_OWNER : HELD_DIRECTORY);
}

static gpufl_status inspect_open_directory(const struct root *root, int dir,
                                           const char *id, struct inspection *out)
{
    const struct sys *sys = root->engine->config.sys;
    if (!inspect_owner_ok(root, out)) {
        return GPUFL_ERR_USAGE;
    }
    out->writer = inspect_probe_writer(root, dir, ".", NULL);
    bool again = !out->whole && out->writer == WRITER_LIVE;
    gpufl_status status = scan_directory(sys, dir, again ? NULL : id, &out->scan);
    if (status == GPUFL_OK && out->writer != WRITER_LIVE &&
        out->scan.manifest_state == SCAN_MANIFEST_VALID) {
        out->writer = inspect_probe_writer(root, dir, ".", &out->scan);
    }
    if (status == GPUFL_OK) {
        scan_note_second(sys, dir, &out->scan, out->second);
    }
    if (status == GPUFL_OK && out->scan.layout == SESSION_SHIFTING) {
        out->writer =
            WRITER_UNKNOWN; /* its writer takes no lock, and others could plant one */
    }
    return status;
}

/* Nobody else may list it, but everybody may know whose it is. */
static gpufl_status inspect_unopened(const struct root *root, const char *path, int error)
{
    const struct engine_config *config = &root->engine->config;
    struct stat st;
    bool foreign = config->one_owner &&
                   fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   st.st_uid != config->owner;
    return error == ENOENT || error == ENOTDIR ? GPUFL_ERR_NOT_FOUND
           : foreign                           ? GPUFL_ERR_USAGE
                                               : GPUFL_ERR_IO;
}

/* It is opened once: the path may lead to another directory at the next look. */
gpufl_status inspect_directory(const struct root *root, const char *path,
                               const struct session *live, struct inspection *out)
{
    const char *slash = strrchr(path, '/');
    int dir =
        root->engine->config.sys->open_beneath(root->fd, path, O_RDONLY | O_DIRECTORY, 0);
    memset(&out->directory, 0, sizeof out->directory);
    memset(out->second, 0, sizeof out->second);
    if (live) {
        memcpy(out->second, live->second, sizeof out->second);
    }
    out->owner = SESSION_OWNER_UNKNOWN;
    out->changed = 0;
    out->whole = true;
    if (dir < 0) {
        return inspect_unopened(root, path, errno);
    }
    gpufl_status status = GPUFL_ERR_IO;
    if (directory_see(dir, &out->directory)) {
        out->whole = !live || directory_compare_seen(&out->directory, &live->directory) !=
                                  DIRECTORY_SAME;
        status = inspect_open_directory(root, dir, slash ? slash + 1 : path, out);
    }
    close(dir);
    return status;
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
    }
    missing_channels(session, scan);
    session->overdue = false;
    session->quiet_until_ms =
        inspect_waits_for_flush(session, now_ms)
            ? engine_config_next_flush(&session->root->engine->config, now_ms)
            : 0;
}

/* The existing agent marks sessions that it has reported as complete. It reads all there
 * is only in the windows layout; for a session that we have begun, our own journal knows
 * better. */
static bool inspect_is_anothers(const struct session *session,
                                const struct inspection *seen)
{
    return seen->scan.has_uploaded && seen->scan.layout == SESSION_WINDOWS &&
           session->streams == 0 && !seen->scan.unread.names &&
           !session->root->engine->config.force && !session->root->origin.now.moved &&
           !session->root->origin_moves;
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
    if (inspect_is_anothers(session, seen) && completion_done(session)) {
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
    if (!session_settled(session)) {
        session_set_state(session, SESSION_OPEN);
        return;
    }
    if (session->seems_over) {
        session->writer = SESSION_WRITER_ENDED;
    }
    if (session_writer_is_gone(session) && session_falls_short(session)) {
        session_hold(session, HELD_FALLS_SHORT);
    }
    if (session_blocked(session)) {
        session_set_state(session, SESSION_OPEN);
    } else if (session_writer_is_gone(session) &&
               !session->root->engine->config.ack_only &&
               session->state == SESSION_OPEN) {
        session_set_state(session, SESSION_COMPLETING);
        session->complete_at_ms = now_ms;
    }
}

void inspect_session(struct session *session, uint64_t now_ms)
{
    struct inspection seen;
    if (session->state == SESSION_DONE || !session->wanted ||
        session->presence == SESSION_AWAY) {
        return;
    }
    bool known_live =
        session->inspected && session->layout == SESSION_LIVE && !session->held;
    gpufl_status status = inspect_directory(session->root, session->path,
                                            known_live ? session : NULL, &seen);
    if (status == GPUFL_OK) {
        inspect_apply(session, &seen, now_ms);
    } else if (status == GPUFL_ERR_NOT_FOUND) {
        session->presence =
            session->presence == SESSION_PRESENT ? SESSION_ABSENT : session->presence;
        session->root->list_soon = true;
    } else {
        inspect_failed(session, status);
    }
}
