/* SPDX-License-Identifier: Apache-2.0 */
/* Compares directories by their marks, and moves streams from one session to another. */
#include "upload/lifecycle/moved.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/claims.h"
#include "upload/core/position.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/parking.h"
#include "upload/source/directory_mark.h"

static bool moved_same_id(const struct directory_id *a, const struct directory_id *b)
{
    return a->mark == b->mark && a->user == b->user && a->boot == b->boot &&
           a->above == b->above && a->above_own == b->above_own;
}

void moved_note(struct session *session, struct directory_id seen)
{
    session->directory_noted =
        session->directory_noted && moved_same_id(&seen, &session->directory);
    session->directory = seen;
    if (session_begun(session)) {
        session_note_directory(session);
    }
}

/* What lies in a group of another user, that one can replace at any time. */
static bool moved_group_is_safe(const struct session *session)
{
    const char *slash = strchr(session->path, '/');
    char group[LAYOUT_NAME_MAX + 1];
    struct stat st;
    if (!slash) {
        return true;
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - session->path), session->path);
    return fstatat(session->root->fd, group, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (st.st_uid == session->owner || st.st_uid == 0 || st.st_uid == geteuid());
}

/* Offers and queues refer to the streams, which stay where they are in memory. */
static void moved_take_streams(struct session *from, struct session *to)
{
    for (unsigned i = 0; i < SCAN_CHANNELS_MAX; i++) {
        struct stream *st = from->stream[i];
        from->stream[i] = to->stream[i];
        to->stream[i] = st;
        if (i < from->streams) {
            st->session = to;
        }
    }
    to->streams = from->streams;
    from->streams = 0;
}

/* Nothing is known of \p from any more: the next listing forgets it. */
static void moved_take(struct session *from, struct session *to)
{
    moved_take_streams(from, to);
    to->live = from->live;
    to->loss = from->loss;
    to->no_manifest = from->no_manifest;
    to->unread_given_up = from->unread_given_up;
    to->quarantined = from->quarantined;
    to->in_cursor = from->in_cursor;
    to->last_growth_ms = from->last_growth_ms;
    to->hold_until_ms = from->hold_until_ms;
    to->directory = from->directory;
    to->directory_noted = true;
    from->directory = (struct directory_id){0};
    from->stray = from->elsewhere = 0;
    from->live = from->no_manifest = from->held = from->inspected = false;
    from->unread_given_up = from->quarantined = 0;
    from->hold_reason = HELD_NOT;
    from->presence = SESSION_UNSEEN;
    session_set_state(from, SESSION_OPEN);
    session_charge_streams(from);
    session_charge_streams(to);
}

static bool moved_journal(const struct session *to, const char *from)
{
    struct record_directory record = {.id = to->seen};
    snprintf(record.path, sizeof record.path, "%s", to->path);
    snprintf(record.from, sizeof record.from, "%s", from);
    return record_append_directory(to->root->journal, &record) != 0;
}

/* \return what was known at \p path, NULL if there is nothing. */
static struct session *moved_open(struct root *root, const char *path, bool *complete)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    *complete = parked && parked->complete;
    struct session *session =
        parked ? parking_open(root, parked) : session_find(root, path);
    *complete = *complete || (session && session->state == SESSION_DONE);
    return session;
}

static uint64_t moved_mark_at(const struct root *root, const char *path)
{
    const struct session *session = session_find(root, path);
    const struct parked_session *parked = parked_find(&root->parked, path);
    return session && !session->complete_in_flight ? session->directory.mark
           : parked                                ? parked->mark
                                                   : 0;
}

/* The same one may be mounted at both. */
bool moved_is_it(const struct session *session, const struct root *root, const char *from)
{
    uint64_t mark = moved_mark_at(root, from);
    return mark && mark == session->seen.mark &&
           mark != directory_look(root->fd, from).mark && moved_group_is_safe(session);
}

bool moved_follow(struct session *session, const char *from)
{
    struct root *root = session->root;
    const struct engine_config *config = &root->engine->config;
    bool complete;
    if (session->streams > 0 || session->state == SESSION_DONE ||
        !moved_is_it(session, root, from) || !moved_journal(session, from)) {
        return false;
    }
    struct session *before = moved_open(root, from, &complete);
    if (!before) {
        return false; /* no memory: what the journal says is true after a restart */
    }
    log_info(config->log, "session.moved", "session=%s from=%s/%s to=%s/%s", session->id,
             root->path, from, root->path, session->path);
    moved_take(before, session);
    session->held = false;
    if (complete) {
        session_set_state(session, SESSION_DONE);
    }
    root->change_stamp++;
    root->engine->trouble.stamp++;
    return true;
}

static bool moved_parked_knows(const struct root *root,
                               const struct parked_session *parked,
                               const struct stream *st)
{
    struct packed_stream stream[SCAN_CHANNELS_MAX];
    parked_streams(parked, stream);
    for (unsigned i = 0; i < parked->streams; i++) {
        const struct packed_stream *p = &stream[i];
        struct stream known = {
            .sequence = p->sequence, .file = p->file, .offset = p->offset};
        if (strcmp(root->channel_name[p->channel], stream_channel(st)) == 0) {
            return !position_is_behind(&known, st);
        }
    }
    return false;
}

static bool moved_session_knows(const struct session *session, const struct stream *st)
{
    for (unsigned i = 0; i < session->streams; i++) {
        const struct stream *known = session->stream[i];
        if (strcmp(stream_channel(known), stream_channel(st)) == 0) {
            return known->id && !position_is_behind(known, st);
        }
    }
    return false;
}

/* Whether the directory is at \p path, and all that is known of \p left is known there.
 */
static bool moved_knows_all(const struct root *root, const char *path,
                            const struct session *left)
{
    const struct session *s = session_find(root, path);
    const struct parked_session *parked = parked_find(&root->parked, path);
    uint64_t mark = left->directory.mark;
    bool there = s ? s->presence == SESSION_PRESENT && !s->held && s->seen.mark == mark
                   : parked && parked->complete && !parked->away && root->listed;
    bool all =
        there && s != left && mark && (s ? s->directory.mark : parked->mark) == mark;
    for (unsigned i = 0; all && i < left->streams; i++) {
        all = s ? moved_session_knows(s, left->stream[i])
                : moved_parked_knows(root, parked, left->stream[i]);
    }
    return all;
}

bool moved_is_left_over(const struct session *session)
{
    const struct engine *engine = session->root->engine;
    const struct claim *claim = claims_find(engine, session->id);
    bool found = claim && moved_knows_all(claim->root, claim->path, session);
    for (unsigned i = 0; i < engine->roots && !found; i++) {
        found = moved_knows_all(engine->root[i], session->id, session) ||
                moved_knows_all(engine->root[i], session->path, session);
    }
    return found;
}

static enum moved_other moved_other_at(const struct session *session,
                                       const struct root *root, const char *path)
{
    uint64_t known = moved_mark_at(root, path);
    struct stat st;
    if (known && known == session->seen.mark) {
        return MOVED_ITSELF;
    }
    return fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
               ? MOVED_OTHER_THERE
               : MOVED_OTHER_GONE;
}

enum moved_other moved_other(const struct session *session, const char *id)
{
    const struct engine *engine = session->root->engine;
    const struct claim *claim = claims_find(engine, id);
    char beside[LAYOUT_SESSION_PATH_MAX];
    layout_beside(beside, session->path, id);
    enum moved_other found =
        claim ? moved_other_at(session, claim->root, claim->path) : MOVED_OTHER_GONE;
    if (found == MOVED_OTHER_GONE) {
        found = moved_other_at(session, session->root, beside);
    }
    for (unsigned i = 0; i < engine->roots && found == MOVED_OTHER_GONE; i++) {
        found = moved_other_at(session, engine->root[i], id);
    }
    return found;
}

static bool moved_other_known_at(uint32_t user, const struct root *root, const char *path)
{
    const struct session *session = session_find(root, path);
    const struct parked_session *parked = parked_find(&root->parked, path);
    bool begun = session ? session_begun(session) : parked && parked->complete;
    uint32_t known = !begun ? 0 : session ? session->directory.user : parked->user;
    return (begun && (!known || known == user)) ||
           directory_look(root->fd, path).user == user;
}

bool moved_other_is_known(const struct session *session, const char *id)
{
    const struct engine *engine = session->root->engine;
    const struct claim *claim = claims_find(engine, id);
    uint32_t user = session->seen.user;
    char beside[LAYOUT_SESSION_PATH_MAX];
    layout_beside(beside, session->path, id);
    bool known = (claim && moved_other_known_at(user, claim->root, claim->path)) ||
                 moved_other_known_at(user, session->root, beside);
    for (unsigned i = 0; i < engine->roots && !known; i++) {
        known = moved_other_known_at(user, engine->root[i], id);
    }
    return known;
}

/* As moved_follow() did it. */
static void moved_replay_path(struct root *root, const struct record_directory *record)
{
    bool complete;
    struct session *before = moved_open(root, record->from, &complete);
    struct session *session = before ? session_make(root, record->path) : NULL;
    if (!session || session->streams > 0) {
        return;
    }
    moved_take(before, session);
    session_drop(before);
    if (complete) {
        session->state = SESSION_DONE;
        parking_complete(session);
    }
}

void moved_replay(struct root *root, const struct record_directory *record)
{
    if (record->from[0]) {
        moved_replay_path(root, record);
    }
    struct session *session = session_find(root, record->path);
    struct parked_session *parked = parked_find(&root->parked, record->path);
    if (session) {
        session->directory = record->id;
    } else if (parked) {
        parked_set_directory(parked, &record->id);
    }
}
