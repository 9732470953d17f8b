/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what another uploader tells with a directory as it was at the call. */
#include "upload/holder_targets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/plural.h"
#include "upload/holder_targets_state.h"
#include "upload/source/scan_session.h"

#define DOUBTED "the backend, which was started again, to be asked what it has of "

static void collect_session(struct holder_targets *t, const struct selected *s,
                            const struct scan *scan)
{
    struct holder_session *session = &t->session[t->sessions];
    holder_session_open(session, s, scan, t->journal);
    size_t first = t->count;
    bool renames = session->hides_end && scan->layout == SESSION_SHIFTING;
    for (unsigned c = 0; c < scan->channels && (renames || !session->hides_end); c++) {
        const struct scan_channel *channel = &scan->channel[c];
        struct holder_target *target = &t->target[t->count++];
        *target = renames
                      ? holder_target_of_active(t->sys, t->root, s->path, channel)
                      : holder_target_of(t->sys, t->root, s->path, scan->layout, channel);
        target->session = t->sessions;
        renames = renames && target->known.inode;
        session->hides_end = session->hides_end || target->guessed;
    }
    t->count = session->hides_end && !renames ? first : t->count;
}

/* \return false without memory. */
static bool collect_one(struct holder_targets *t, const struct selected *s)
{
    struct scan scan;
    gpufl_status status = scan_session(t->sys, t->root, s->path, s->id, &scan);
    const char *slash = strchr(s->path, '/');
    if (status == GPUFL_ERR_NOT_FOUND) {
        return true;
    }
    t->first[t->sessions] = t->count;
    if (status == GPUFL_OK) {
        collect_session(t, s, &scan);
    } else {
        holder_session_open_unreadable(&t->session[t->sessions], s);
    }
    t->first[++t->sessions] = t->count;
    char group[JOURNAL_PATH_MAX];
    snprintf(group, sizeof group, "%.*s", slash ? (int)(slash - s->path) : 0, s->path);
    return lookup_add(&t->by_path, hash_text(t->seed, s->path)) &&
           lookup_add(&t->by_group, hash_text(t->seed, group)) &&
           lookup_add(&t->by_id, hash_text(t->seed, s->id));
}

gpufl_status holder_targets_open(const struct sys *sys, int root,
                                 const struct selection *selection,
                                 const struct journal_read *journal,
                                 struct holder_targets **out)
{
    struct holder_targets *t = calloc(1, sizeof *t);
    *out = t;
    if (!t) {
        return GPUFL_ERR_NOMEM;
    }
    t->sys = sys;
    t->root = root;
    t->journal = journal;
    sys->random(&t->seed, sizeof t->seed);
    t->target = calloc(selection->count * SCAN_CHANNELS_MAX + 1, sizeof *t->target);
    t->session = calloc(selection->count + 1, sizeof *t->session);
    t->first = calloc(selection->count + 1, sizeof *t->first);
    bool ok = t->target && t->session && t->first;
    for (size_t i = 0; ok && i < selection->count; i++) {
        ok = collect_one(t, &selection->session[i]);
    }
    t->journal = NULL;
    return ok ? GPUFL_OK : GPUFL_ERR_NOMEM;
}

void holder_targets_close(struct holder_targets *t)
{
    if (t) {
        lookup_close(&t->by_path);
        lookup_close(&t->by_group);
        lookup_close(&t->by_id);
        free(t->target);
        free(t->session);
        free(t->first);
        free(t);
    }
}

static bool target_is_left(const struct holder_targets *t,
                           const struct holder_target *target)
{
    bool passed = t->session[target->session].passed && !target->told.named;
    return !target->told.reached && !passed && (target->offset > 0 || target->file > 1);
}

/* Its writer lives, and what its files held at the call is sent. */
static bool targets_session_is_passed(const struct holder_targets *t, size_t session)
{
    const struct holder_session *s = &t->session[session];
    bool passed = t->first[session] < t->first[session + 1] && s->hides_end &&
                  !s->told.doubted && !s->told.ends;
    bool grew = false;
    for (size_t i = t->first[session]; passed && i < t->first[session + 1]; i++) {
        passed = holder_target_is_passed(t->sys, t->root, s->selected->path,
                                         &t->target[i], &grew);
    }
    return passed && grew;
}

/* \return true if all of it is settled that can be before somebody acts. */
static bool targets_session_is_over(const struct holder_targets *t, size_t session,
                                    bool holds_may_pass)
{
    const struct holder_session *s = &t->session[session];
    bool held = holder_session_is_held(s);
    if (holder_session_is_left_to_another(s, t->root)) {
        return true;
    }
    if (held && (holds_may_pass || !holder_session_needs_person(s))) {
        return false;
    }
    for (size_t i = t->first[session]; i < t->first[session + 1]; i++) {
        const struct holder_target *target = &t->target[i];
        if (!s->hides_end && target_is_left(t, target) &&
            !(held && (target->held || target->told.nearly))) {
            return false;
        }
    }
    return holder_session_is_over(t->sys, t->root, s) ||
           targets_session_is_passed(t, session);
}

bool holder_targets_over(struct holder_targets *t, bool holds_may_pass)
{
    bool over = true;
    for (size_t i = 0; i < t->sessions && over; i++) {
        over = targets_session_is_over(t, i, holds_may_pass) ||
               holder_session_is_gone(&t->session[i], t->root);
    }
    return over;
}

bool holder_targets_of_others(struct holder_targets *t, uint64_t *moved, char which[256])
{
    const struct selected *left = NULL;
    struct stat st = {0};
    *moved = t->moved;
    for (size_t i = 0; i < t->sessions; i++) {
        const struct selected *s = t->session[i].selected;
        bool waits = (s->own_user || !left) && !t->session[i].gone &&
                     !targets_session_is_over(t, i, false);
        if (waits && s->own_user) {
            return false;
        }
        left = waits ? s : left;
    }
    if (left) {
        (void)fstatat(t->root, left->path, &st, AT_SYMLINK_NOFOLLOW);
        snprintf(which, 256, "session %.200s of user %u", left->path, st.st_uid);
    }
    return left != NULL;
}

bool holder_targets_left(struct holder_targets *t, char which[300])
{
    const struct holder_session *first = NULL;
    const char *channel = NULL;
    unsigned more = 0;
    for (size_t i = 0; i < t->sessions; i++) {
        if (t->session[i].gone || targets_session_is_over(t, i, false)) {
            continue;
        }
        for (size_t k = t->first[i]; !first && !channel && k < t->first[i + 1]; k++) {
            channel = target_is_left(t, &t->target[k]) ? t->target[k].channel : NULL;
        }
        more += first != NULL;
        first = first ? first : &t->session[i];
    }
    if (first) {
        int len = snprintf(which, 300, "%ssession %.150s%s%s",
                           channel               ? ""
                           : first->told.doubted ? DOUBTED
                                                 : "the end of ",
                           first->selected->path, channel ? ", channel " : "",
                           channel ? channel : "");
        snprintf(which + len, 300 - (size_t)len, more ? " (and %u more %s)" : "%.0u%s",
                 more, more ? plural(more, "session", "sessions") : "");
    }
    return first != NULL;
}

struct room_look {
    const struct holder_targets *targets;
    struct holder_room room;
};

/* A directory for which there is no room is not looked into: nothing is told of it. */
static void note_room(void *arg, const struct progress_note *note)
{
    struct room_look *look = arg;
    const struct holder_targets *t = look->targets;
    struct stat st;
    for (size_t i = 0; note->waits && !look->room.waits && i < t->count; i++) {
        const struct holder_target *target = &t->target[i];
        const char *path = t->session[target->session].selected->path;
        if (target_is_left(t, target) && !target->told.named &&
            fstatat(t->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_uid == note->owner) {
            look->room = (struct holder_room){note->waits, note->owner};
        }
    }
}

struct holder_room holder_targets_room(const struct holder_targets *t)
{
    struct room_look look = {.targets = t};
    progress_notes(t->sys, t->root, note_room, &look);
    return look.room;
}

void holder_targets_count(const struct holder_targets *t,
                          const struct journal_read *journal, struct engine_summary *out)
{
    for (size_t i = 0; i < t->sessions; i++) {
        const struct holder_session *s = &t->session[i];
        if (!holder_session_is_left_to_another(s, t->root)) {
            const struct holder_look look = {t->sys, t->root, journal};
            holder_session_count(&look, s, out);
        }
    }
}
