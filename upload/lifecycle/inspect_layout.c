/* SPDX-License-Identifier: Apache-2.0 */
/* In which layout a session is read, and what keeps it from being read. */
#include "upload/lifecycle/inspect_layout.h"

#include <string.h>

#include "base/log.h"
#include "base/plural.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/completion.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/session_salvage.h"
#include "upload/published/uploaded_mark.h"
#include "upload/source/named_session.h"
#include "upload/source/scan_session.h"

#define COMPRESSES_FOR_S 10

/* The layout in which something of the session was sent, or that a manifest told. */
static enum session_layout inspect_settled_layout(const struct session *session,
                                                  enum session_layout otherwise)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *st = session->stream[i];
        if (st->id && st->layout) {
            return (enum session_layout)(st->layout - 1);
        }
        if (st->id && (st->kind == STREAM_VERBATIM || st->head)) {
            return st->head ? SESSION_SHIFTING : SESSION_WINDOWS;
        }
    }
    return session->live ? SESSION_LIVE : otherwise;
}

/* A line per reason, however often names come and go. */
static void inspect_say_unread(struct session *session, enum unread_reason reason,
                               const struct unread_group *group)
{
    struct engine *engine = session->root->engine;
    if (group->names == 0 || session->unread_said & 1u << reason) {
        return;
    }
    session->unread_said |= (uint16_t)(1u << reason);
    log_warn(engine->config.log, "session.refused",
             "session=%s names=%u example=\"%s\" reason=\"%s\" note=\"not read: the "
             "session is not complete until %s\"",
             session->id, group->names, group->example, unread_text(reason),
             reason == UNREAD_SECOND ? "one of the two is left" : "they are moved away");
    trouble_say(&engine->trouble, "session %s: %u %s not read, for example %s: %s",
                session->id, group->names, plural(group->names, "file is", "files are"),
                group->example, unread_text(reason));
}

/* A writer of 1.1 compresses a file that it has rotated while the plain one is there.
 * What lies beside its files is said once nothing was written for a while. */
static bool inspect_may_be_compressed(const struct session *session,
                                      const struct scan *scan, enum unread_reason reason)
{
    const struct engine_config *config = &session->root->engine->config;
    return scan->layout == SESSION_SHIFTING && !config->once &&
           (reason == UNREAD_LAYOUT || reason == UNREAD_SECOND ||
            reason == UNREAD_BEYOND || reason == UNREAD_DAMAGED) &&
           config->sys->wall_s() - scan->last_write_s < COMPRESSES_FOR_S;
}

static void inspect_apply_unread(struct session *session, const struct scan *scan)
{
    struct engine *engine = session->root->engine;
    const struct unread *unread = &scan->unread;
    bool given_up = unread->mark == session->unread_given_up;
    for (int i = 0; !given_up && i < UNREAD_REASONS_COUNT; i++) {
        enum unread_reason reason = (enum unread_reason)i;
        if (!inspect_may_be_compressed(session, scan, reason)) {
            inspect_say_unread(session, reason, &unread->reason[reason]);
        }
    }
    if (unread->other.names && !session->other_said) {
        session->other_said = true;
        log_info(engine->config.log, "session.other_files",
                 "session=%s names=%u example=\"%s\"", session->id, unread->other.names,
                 unread->other.example);
    }
    if (unread->names > session->unread && unread->mark != session->unread_mark) {
        engine->counters.refused_names += unread->names - session->unread;
    }
    session->unread_mark = unread->mark;
    bool was_unread = session->unread > 0;
    session->unread = unread->mark == session->unread_given_up ? 0 : unread->names;
    session->root->change_stamp += was_unread != (session->unread > 0); /* a watch */
}

/* What lies in it is of session \p of, which is \p known to be its owner's. Of a session
 * that was read under its own name, the manifest is what is wrong. */
static enum held_reason inspect_other_name(struct session *session, const char *of,
                                           bool known)
{
    enum moved_other found = moved_other(session, of);
    enum moved_other other =
        found == MOVED_OTHER_THERE && !known ? MOVED_OTHER_GONE : found;
    enum held_reason reason = other == MOVED_ITSELF        ? HELD_RENAMED
                              : session_begun(session)     ? HELD_MANIFEST_DAMAGED
                              : other == MOVED_OTHER_THERE ? HELD_COPY
                                                           : HELD_RENAMED;
    if (!held_was_said(session->holds_said, (enum held_reason)session->hold_reason,
                       reason)) {
        log_warn(session->root->engine->config.log, "session.other",
                 "session=%s of=%s there=%d", session->id, of,
                 other == MOVED_OTHER_THERE);
    }
    return reason;
}

/* In the older layouts, only the name of the directory and its files say which session it
 * is. \return whether they disagree, of one of which nothing was sent. */
static bool inspect_names_another(const struct session *session, const struct scan *scan,
                                  char of[LAYOUT_NAME_MAX + 1])
{
    const struct root *root = session->root;
    return session->layout != SESSION_LIVE && session->layout == scan->layout &&
           scan->manifest_state == SCAN_MANIFEST_NONE && !session_begun(session) &&
           named_session(root->engine->config.sys, root->fd, session->path, scan, of) &&
           strcmp(of, session->id) != 0;
}

/* Whether nothing that is listed later changes whose files they are. */
static bool inspect_is_told_apart(const struct session *session, const struct scan *scan)
{
    char of[LAYOUT_NAME_MAX + 1];
    if (claim_is_listed(session->root->engine) || session_begun(session)) {
        return true;
    }
    if (scan->manifest_state == SCAN_MANIFEST_OTHER) {
        return moved_other(session, scan->other) != MOVED_OTHER_GONE;
    }
    return !inspect_names_another(session, scan, of) || moved_other_is_known(session, of);
}

bool inspect_layout_waits(struct session *session, const struct scan *scan)
{
    bool waits = !inspect_is_told_apart(session, scan);
    session->held = session->held || waits;
    return waits;
}

/* It is not read under another name than its files': it would be sent twice. Plain
 * directories have any name, unless theirs is that of a session. */
static bool inspect_is_anothers_files(const struct session *session,
                                      const struct scan *scan,
                                      char of[LAYOUT_NAME_MAX + 1], bool *known)
{
    if (!inspect_names_another(session, scan, of)) {
        return false;
    }
    *known = moved_other_is_known(session, of);
    return *known || session->layout == SESSION_WINDOWS;
}

/* A manifest says how the files are to be read. One that is there and says nothing, or
 * was there, does not turn its session into one of another layout. */
static void inspect_apply_manifest(struct session *session, const struct scan *scan)
{
    static const enum held_reason held[] = {
        [SCAN_MANIFEST_NONE] = HELD_MANIFEST_GONE,
        [SCAN_MANIFEST_VALID] = HELD_NOT,
        [SCAN_MANIFEST_NEWER] = HELD_MANIFEST_NEWER,
        [SCAN_MANIFEST_DAMAGED] = HELD_MANIFEST_DAMAGED,
        [SCAN_MANIFEST_OTHER] = HELD_MANIFEST_DAMAGED,
        [SCAN_MANIFEST_UNREADABLE] = HELD_MANIFEST_UNREADABLE,
    };
    enum held_reason reason = held[scan->manifest_state];
    if (scan->manifest_state == SCAN_MANIFEST_OTHER) {
        reason = inspect_other_name(session, scan->other, true);
    }
    bool given_up = session->no_manifest && held_exit(reason) == HELD_EXIT_RESOLVE;
    bool none_needed = reason == HELD_MANIFEST_GONE && session->layout != SESSION_LIVE;
    if (reason != HELD_NOT && !given_up && !none_needed) {
        session_hold(session, reason);
    }
}

static bool inspect_follows_all(const struct session *session, const struct scan *scan)
{
    bool all = true;
    for (unsigned i = 0; i < scan->channels; i++) {
        all = all && registry_follows(session->root, scan->channel[i].name);
    }
    return all;
}

void inspect_layout_apply(struct session *session, const struct scan *scan)
{
    char of[LAYOUT_NAME_MAX + 1];
    bool known;
    session->held = false; /* the reason may be gone */
    session->live = session->live || scan->manifest_state == SCAN_MANIFEST_VALID;
    session->layout = (uint8_t)inspect_settled_layout(session, scan->layout);
    session->loss = scan->has_loss;
    session->is_copy = scan->is_copy;
    session->stamp = inspect_follows_all(session, scan) ? scan_stamp(scan) : 0;
    session->hides_end = scan_hides_end(scan);
    inspect_apply_unread(session, scan);
    session->root->change_stamp += !session->inspected; /* now it may be watched */
    session->inspected = true;
    if (session->layout != SESSION_LIVE && session->layout != scan->layout) {
        session_hold(session, HELD_LAYOUT);
    } else if (inspect_is_anothers_files(session, scan, of, &known)) {
        session_hold(session, inspect_other_name(session, of, known));
        return;
    } else {
        inspect_apply_manifest(session, scan);
    }
    bool unpublished = scan->layout == SESSION_WINDOWS && scan->has_tmp &&
                       session_writer_is_gone(session);
    const char *left = session_salvage_step(session, unpublished);
    if (left && left != session->salvage_reason) {
        session_say_hold(session, "*", left);
    }
    session->salvage_reason = left ? left : session->salvage_reason;
}

/* The existing agent marks sessions that it has reported as complete. It reads all there
 * is only in the windows layout; for a session that we have begun, our own journal knows
 * better. */
static bool inspect_mark_counts(const struct session *session, const struct scan *scan)
{
    const struct root *root = session->root;
    return scan->has_uploaded && scan->layout == SESSION_WINDOWS &&
           session->streams == 0 && !scan->unread.names && !root->engine->config.force &&
           !root->origin.now.moved && root->backend != BACKEND_MOVED_TO;
}

static enum uploaded_mark inspect_mark(const struct session *session)
{
    const struct root *root = session->root;
    const struct engine *engine = root->engine;
    const struct progress_origin here = completion_origin(engine);
    enum uploaded_mark mark =
        uploaded_mark_read(engine->config.sys, root->fd, session->path, &here);
    bool same = mark == UPLOADED_ELSEWHERE && engine->config.same_origin;
    bool told = mark == UPLOADED_UNTOLD && engine->origin.state == ORIGIN_KNOWN;
    return same || told ? UPLOADED_HERE : mark;
}

bool inspect_layout_is_marked(struct session *session, const struct scan *scan,
                              uint64_t now_ms)
{
    if (!inspect_mark_counts(session, scan)) {
        return false;
    }
    switch (inspect_mark(session)) {
    case UPLOADED_ELSEWHERE:
        return false;
    case UPLOADED_UNTOLD:
        session_mark_later(session, now_ms);
        return true;
    case UPLOADED_BY_ANOTHER:
        log_warn(session->root->engine->config.log, "session.marked",
                 "session=%s note=\"another program has left " LAYOUT_UPLOADED
                 " in it: nothing of it is sent; without that file, or with --force, it "
                 "is\"",
                 session->id);
        session->outcome = SESSION_MARKED;
        break;
    case UPLOADED_HERE:
        break;
    }
    return completion_done(session);
}
