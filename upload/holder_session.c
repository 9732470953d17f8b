/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a session by what its uploader tells, as that itself would. */
#include "upload/holder_session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plural.h"
#include "schema/channels.h"
#include "upload/source/liveness.h"
#include "upload/source/scan_session.h"

/* Sealed files that were delivered may have been deleted: the first ones. */
static bool holder_session_channel_lacks(const struct scan_channel *c)
{
    bool numbers = c->payloads && c->highest - c->lowest + 1 != c->payloads;
    bool active = c->told_active && !c->has_active && !c->has_active_gz;
    return numbers || active || c->told_fit == TOLD_LESS;
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

static bool holder_session_lacks_bytes(const struct scan *scan)
{
    bool lacks = false;
    for (unsigned i = 0; i < scan->channels; i++) {
        const struct scan_channel *c = &scan->channel[i];
        lacks = lacks || c->told_fit != TOLD_FITS ||
                (c->told_active && !c->has_active_gz &&
                 c->told_bytes > (int64_t)c->active_bytes);
    }
    return lacks;
}

/* \return how many files are not read that nobody gave up. */
static unsigned holder_session_unread(const struct journal_read *journal,
                                      const struct selected *selected,
                                      const struct scan *scan)
{
    const struct journal_read_session *known =
        journal ? journal_read_resolved(journal, selected->path) : NULL;
    return known && known->unread == scan->unread.mark ? 0 : scan->unread.names;
}

static uint64_t holder_session_bytes(const struct scan *scan)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < scan->channels; i++) {
        bytes += scan->channel[i].active_bytes + scan->channel[i].numbered_bytes;
    }
    return bytes;
}

void holder_session_open(struct holder_session *session, const struct selected *selected,
                         const struct scan *scan, const struct journal_read *journal)
{
    bool live = scan->layout == SESSION_LIVE;
    bool lacks = live && holder_session_lacks_files(scan);
    *session = (struct holder_session){
        .selected = selected,
        .tmp = scan->has_tmp,
        .lossy = scan->has_loss,
        .lacks_file = lacks,
        .unread = holder_session_unread(journal, selected, scan),
        .layout = scan->layout,
        .hides_end = scan_hides_end(scan),
        .stamp = scan_stamp(scan),
        .bytes = holder_session_bytes(scan),
        .uploaded = scan->has_uploaded,
        .passed = scan->has_uploaded && scan->layout == SESSION_WINDOWS,
        .doubtful =
            lacks || (live && (scan->is_copy || holder_session_lacks_bytes(scan)))};
    for (unsigned i = 0; i < UNREAD_REASONS_COUNT && !session->unread_name[0]; i++) {
        snprintf(session->unread_name, sizeof session->unread_name, "%s",
                 scan->unread.reason[i].example);
    }
}

void holder_session_open_unreadable(struct holder_session *session,
                                    const struct selected *selected)
{
    *session = (struct holder_session){.selected = selected, .unreadable = true};
}

static void holder_session_hold(struct holder_session *session, const char *channel,
                                const char *why)
{
    snprintf(session->channel, sizeof session->channel, "%s", channel);
    snprintf(session->hold, sizeof session->hold, "%.159s", why);
}

void holder_session_forget(struct holder_session *session)
{
    session->told = session->told_complete;
    session->left = false;
    session->channel[0] = session->hold[0] = '\0';
    if (session->unreadable) {
        holder_session_hold(session, "*", held_text(HELD_DIRECTORY));
    }
}

void holder_session_note_line(struct holder_session *session,
                              const struct progress_line *line, uint64_t epoch)
{
    struct holder_told *told = &session->told;
    told->any = told->any || line->told;
    told->complete = told->complete || line->complete;
    told->lacks = line->complete ? line->outcome == SESSION_LACKS : told->lacks;
    told->tells = told->tells || line->tells_stamp;
    told->stamp = line->tells_stamp ? line->stamp : told->stamp;
    told->ends = told->ends || line->ends;
    told->doubted = told->doubted || (epoch && line->epoch && line->epoch != epoch &&
                                      session->compared != epoch);
    told->gap = told->gap || line->marks & MARK_GAP ||
                (line->losses && !(line->marks & MARK_LOST));
    told->refused_lines += line->refused_lines;
}

void holder_session_note_hold(struct holder_session *session,
                              const struct progress_note *note)
{
    session->left = session->left || strcmp(note->path, session->selected->path) != 0;
    if (!session->hold[0] || strcmp(note->channel, "*") == 0) {
        holder_session_hold(session, note->channel, note->text);
    }
}

/* A complete one is held by nothing but a directory that has its name: the note is of
 * before it was complete. */
bool holder_session_is_held(const struct holder_session *session)
{
    return session->hold[0] &&
           (!session->told.complete || held_by_text(session->hold) == HELD_REPLACED);
}

/* What keeps windows from being published has no reason of its own. */
bool holder_session_needs_person(const struct holder_session *session)
{
    return holder_session_is_held(session) &&
           (session->left || session->tmp || held_by_text(session->hold) != HELD_NOT);
}

/* As an upload alone has it, see other_root_concerns(). */
bool holder_session_is_left_to_another(const struct holder_session *session, int root)
{
    const struct selected *s = session->selected;
    struct stat group;
    char path[JOURNAL_PATH_MAX];
    if (!session->left || s->own_user || s->named) {
        return false;
    }
    snprintf(path, sizeof path, "%.*s", (int)strcspn(s->path, "/"), s->path);
    return fstatat(root, path, &group, AT_SYMLINK_NOFOLLOW) < 0 ||
           group.st_uid != geteuid();
}

bool holder_session_is_gone(struct holder_session *session, int root)
{
    struct stat st;
    session->gone = session->gone || (fstatat(root, session->selected->path, &st,
                                              AT_SYMLINK_NOFOLLOW) < 0 &&
                                      errno == ENOENT);
    return session->gone;
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
    return session->unread || session->told.gap || session->told.refused_lines ||
           holder_session_is_held(session);
}

/* Such a one is never complete. What its writer left unsent, its uploader sees late. */
static bool holder_session_is_just_lossy(const struct holder_session *session)
{
    return session->lossy && !session->lacks_file && !session->told.elsewhere;
}

/* What is settled of its files is told of those that were there at the call, or that are
 * there now: *settled. \return true if it has grown since the call: its writer lives. */
static bool holder_session_grew(const struct sys *sys, int root,
                                const struct holder_session *session, bool *settled)
{
    const struct selected *s = session->selected;
    struct scan scan;
    uint32_t told = session->told.stamp;
    *settled = told && told == session->stamp;
    if (*settled || scan_session(sys, root, s->path, s->id, &scan) != GPUFL_OK) {
        return false;
    }
    *settled = told && told == scan_stamp(&scan);
    return holder_session_bytes(&scan) > session->bytes;
}

/* Of its lock nothing is known in the layout of 1.1. */
static bool holder_session_lives(const struct sys *sys, int root,
                                 const struct holder_session *session)
{
    return session->layout == SESSION_SHIFTING ||
           holder_session_writer(sys, root, session) != WRITER_GONE;
}

/* Earlier versions tell late that a session is complete, and do not tell what keeps it
 * from that, nor what it is complete with. */
bool holder_session_is_over(const struct sys *sys, int root,
                            const struct holder_session *session)
{
    const struct holder_told *told = &session->told;
    bool older = session->layout != SESSION_LIVE && told->tells;
    bool waits = told->any || (session->doubtful && !session->uploaded);
    if (holder_session_is_blocked(session)) {
        return true;
    }
    if (told->doubted) {
        return false;
    }
    if (told->complete && !session->hides_end) {
        return true;
    }
    if (session->hides_end || older) {
        bool settled;
        bool grew = holder_session_grew(sys, root, session, &settled);
        if (!settled) {
            return grew && !session->hides_end;
        }
    }
    return told->complete || holder_session_is_just_lossy(session) || !waits ||
           (!(older && told->ends) && holder_session_lives(sys, root, session));
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

/* It was there at the call, and is not complete for all that is known. */
static void holder_session_count_gone(const struct holder_session *session,
                                      struct engine_summary *out)
{
    bool complete =
        session->told.complete || session->told.complete_elsewhere || session->uploaded;
    out->sessions++;
    out->sessions_done += complete;
    out->sessions_lacking += complete && session->told.lacks;
    if (!complete && out->sessions_away++ == 0) {
        snprintf(out->away_session, sizeof out->away_session, "%.255s",
                 session->selected->path);
    }
}

/* They may have been moved away since the call. */
static bool holder_session_came_late(const struct holder_look *look,
                                     const struct holder_session *session)
{
    const struct selected *s = session->selected;
    struct scan scan;
    return session->told.complete && session->unread &&
           scan_session(look->sys, look->root, s->path, s->id, &scan) == GPUFL_OK &&
           holder_session_unread(look->journal, s, &scan);
}

void holder_session_count(const struct holder_look *look,
                          const struct holder_session *session,
                          struct engine_summary *out)
{
    char name[256];
    if (session->gone) {
        holder_session_count_gone(session, out);
        return;
    }
    bool held = holder_session_is_held(session);
    bool late = holder_session_came_late(look, session);
    bool passed = session->passed && !session->told.any;
    bool complete = (session->told.complete && !late) || passed;
    bool kept = held || (session->unread && !complete);
    out->sessions++;
    out->sessions_blocked +=
        held || late || (!complete && holder_session_is_blocked(session));
    if (session->told.complete || passed) {
        out->sessions_done += complete;
        out->sessions_lacking += complete && session->told.lacks;
    } else {
        out->sessions_live +=
            holder_session_writer(look->sys, look->root, session) != WRITER_GONE;
        out->lines_refused_final += session->told.refused_lines;
    }
    if (kept && out->sessions_kept_back++ == 0) {
        holder_session_say_kept(look->root, session, out);
    }
    if (!session->told.complete && session->told.refused_lines && !out->last_problem[0]) {
        holder_session_name(look->root, session->selected, name);
        snprintf(out->last_problem, sizeof out->last_problem,
                 "%.200s: %" PRIu64 " %s rejected", name, session->told.refused_lines,
                 plural(session->told.refused_lines, "line was", "lines were"));
    }
    if (session->lossy) {
        out->sessions_lossy++;
        snprintf(out->lossy, sizeof out->lossy, "%.255s", session->selected->path);
    }
}
