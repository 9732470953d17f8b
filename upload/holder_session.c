/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a session by what its uploader tells, as that itself would. */
#include "upload/holder_session.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/plural.h"
#include "schema/channels.h"
#include "upload/source/liveness.h"
#include "upload/source/scan_session.h"

/* Sealed files that were delivered may have been deleted: the first ones. */
static bool holder_session_channel_lacks(const struct scan_channel *c)
{
    bool numbers = c->payloads && c->highest - c->lowest + 1 != c->payloads;
    bool active =
        c->told_active && !c->has_active_gz && c->told_bytes > (int64_t)c->active_bytes;
    return numbers || active || c->told_fit != TOLD_FITS;
}

static bool holder_session_lacks_files(const struct scan *scan)
{
    bool lacks = false;
    for (unsigned i = 0; i < scan->channels; i++) {
        lacks = lacks || holder_session_channel_lacks(&scan->channel[i]);
    }
    for (unsigned i = 0; i < scan->manifest.channels; i++) {
        const char *name = scan->manifest.channel[i];
        lacks = lacks || (channel_is_known(name) && !scan_find_channel(scan, name));
    }
    return lacks;
}

void holder_session_open(struct holder_session *session, const struct selected *selected,
                         const struct scan *scan)
{
    *session = (struct holder_session){.selected = selected,
                                       .lossy = scan->has_loss,
                                       .unread = scan->unread.names,
                                       .uploaded = scan->has_uploaded,
                                       .doubtful = scan->layout == SESSION_LIVE &&
                                                   holder_session_lacks_files(scan)};
    for (unsigned i = 0; i < UNREAD_REASONS_COUNT && !session->unread_name[0]; i++) {
        snprintf(session->unread_name, sizeof session->unread_name, "%s",
                 scan->unread.reason[i].example);
    }
}

void holder_session_forget(struct holder_session *session)
{
    session->told = session->complete = session->gap = false;
    session->refused_lines = 0;
    session->channel[0] = session->hold[0] = '\0';
}

void holder_session_note_line(struct holder_session *session,
                              const struct progress_line *line)
{
    session->told = session->told || line->told;
    session->complete = session->complete || line->complete;
    session->gap = session->gap || line->marks & MARK_GAP;
    session->refused_lines += line->refused_lines;
}

void holder_session_note_hold(struct holder_session *session,
                              const struct progress_note *note)
{
    if (!session->hold[0] || strcmp(note->channel, "*") == 0) {
        snprintf(session->channel, sizeof session->channel, "%s", note->channel);
        snprintf(session->hold, sizeof session->hold, "%.159s", note->text);
    }
}

/* A complete one is held by nothing but a directory that has its name: the note is of
 * before it was complete. */
bool holder_session_is_held(const struct holder_session *session)
{
    return session->hold[0] &&
           (!session->complete || held_by_text(session->hold) == HELD_REPLACED);
}

bool holder_session_needs_person(const struct holder_session *session)
{
    return holder_session_is_held(session) && held_by_text(session->hold) != HELD_NOT;
}

static enum liveness holder_session_writer(const struct sys *sys, int root,
                                           const struct holder_session *session)
{
    const struct selected *s = session->selected;
    char lock[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX];
    struct scan scan;
    snprintf(lock, sizeof lock, "%s/%s", s->path, LAYOUT_LOCK);
    if (liveness_is_open_here(root, lock)) {
        return WRITER_LIVE;
    }
    if (scan_session(sys, root, s->path, s->id, &scan) != GPUFL_OK) {
        return WRITER_UNKNOWN;
    }
    return liveness_probe(sys, root, lock,
                          scan.manifest_state == SCAN_MANIFEST_VALID ? &scan.manifest
                                                                     : NULL,
                          scan.last_write_s);
}

static bool holder_session_is_blocked(const struct holder_session *session)
{
    return session->unread || session->gap || session->refused_lines ||
           holder_session_is_held(session);
}

/* Earlier versions tell late that a session is complete, and do not tell what keeps it
 * from that. */
bool holder_session_is_over(const struct sys *sys, int root,
                            const struct holder_session *session)
{
    bool waits = session->told || (session->doubtful && !session->uploaded);
    return session->complete || session->lossy || holder_session_is_blocked(session) ||
           !waits || holder_session_writer(sys, root, session) != WRITER_GONE;
}

/* The user is named if that is another one. */
static void holder_session_name(int root, const struct selected *s, char out[256])
{
    char user[32] = "";
    struct stat st;
    if (!s->own_user && fstatat(root, s->path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        snprintf(user, sizeof user, " of user %u", st.st_uid);
    }
    snprintf(out, 256, "session %.200s%s", s->path, user);
}

static void holder_session_say_kept(int root, const struct holder_session *session,
                                    struct engine_summary *out)
{
    char name[256];
    bool one = session->channel[0] && strcmp(session->channel, "*") != 0;
    holder_session_name(root, session->selected, name);
    if (holder_session_is_held(session)) {
        enum held_reason reason = held_by_text(session->hold);
        snprintf(out->held, sizeof out->held, "%s%s%s waits: %s", name,
                 one ? ", channel " : "", one ? session->channel : "", session->hold);
        out->held_exit = reason == HELD_NOT ? HELD_EXIT_MEND : held_exit(reason);
    } else {
        snprintf(out->held, sizeof out->held, "%s: %u %s not read, for example %s", name,
                 session->unread, plural(session->unread, "file is", "files are"),
                 session->unread_name);
        out->held_exit = HELD_EXIT_RESOLVE;
    }
}

void holder_session_count(const struct sys *sys, int root,
                          const struct holder_session *session,
                          struct engine_summary *out)
{
    char name[256];
    bool held = holder_session_is_held(session);
    bool kept = held || (session->unread && !session->complete);
    out->sessions++;
    out->sessions_blocked +=
        held || (!session->complete && holder_session_is_blocked(session));
    if (session->complete) {
        out->sessions_done++;
    } else {
        out->sessions_live += holder_session_writer(sys, root, session) != WRITER_GONE;
        out->lines_refused_final += session->refused_lines;
    }
    if (kept && out->sessions_kept_back++ == 0) {
        holder_session_say_kept(root, session, out);
    }
    if (!session->complete && session->refused_lines && !out->last_problem[0]) {
        holder_session_name(root, session->selected, name);
        snprintf(out->last_problem, sizeof out->last_problem,
                 "%.200s: %" PRIu64 " %s rejected", name, session->refused_lines,
                 plural(session->refused_lines, "line was", "lines were"));
    }
    if (session->lossy) {
        out->sessions_lossy++;
        snprintf(out->lossy, sizeof out->lossy, "%.255s", session->selected->path);
    }
}
