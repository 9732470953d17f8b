/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for another directory with the id in all roots: it goes on with what is known.
 * Otherwise that is forgotten. */
#include "upload/resolve/resolve_away.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "upload/core/claims.h"
#include "upload/core/room.h"
#include "upload/lifecycle/away.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/moved.h"
#include "upload/lifecycle/moved_root.h"
#include "upload/lifecycle/parking.h"
#include "upload/source/directory_mark.h"
#include "upload/source/listing.h"

/* If there is a session at that path, it is compared with what is known. */
static void heirs_look_at(struct root *root, const char *group, const char *id)
{
    char path[JOURNAL_PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s%s%s", group, *group ? "/" : "", id);
    if (fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
        parked_find(&root->parked, path)) {
        return;
    }
    struct session *session = session_make(root, path);
    if (session && session->streams == 0) {
        session->listed = root->listing_number;
        session->presence = SESSION_PRESENT;
        room_charge(session);
        inspect_session(session, root->engine->config.sys->now_ms());
    }
}

/* While no uploader runs, nothing has listed the root. */
static void heirs_look(struct root *root, const char *id)
{
    const struct sys *sys = root->engine->config.sys;
    struct listing listing;
    heirs_look_at(root, "", id);
    if (listing_open(&listing, sys, root->fd, ".") != GPUFL_OK) {
        return;
    }
    for (const char *group; (group = listing_next_dir(&listing));) {
        heirs_look_at(root, group, id);
    }
    listing_close(&listing);
}

/* The directory that waits for the id of \p session in any root; NULL = none. */
static struct session *resolve_heir_find(const struct session *session)
{
    const struct engine *engine = session->root->engine;
    struct session *heir = NULL;
    heirs_look(session->root, session->id);
    for (unsigned i = 0; i < engine->roots; i++) {
        struct session *s = session_of_id(engine->root[i], session->id);
        for (; s && !heir; s = session_next_of_id(s)) {
            heir = s->held && s->hold_reason == HELD_MOVED ? s : NULL;
        }
    }
    return heir;
}

/* Another directory goes on with what was sent of it, by the word of a person. */
static void resolve_heir_take(struct root *root, const char *path, struct session *to,
                              struct resolve_result *out)
{
    if (moved_hand_over(root, path, to)) {
        out->given_up++;
        snprintf(out->text, sizeof out->text,
                 "goes on in %s/%s; what was sent of it is not sent again",
                 to->root->path, to->path);
        session_mark(to);
    } else {
        out->busy++;
    }
}

bool resolve_away_moved(struct session *session, const char *channel,
                        struct resolve_result *out)
{
    const struct claim *claim = claims_find(session->root->engine, session->id);
    if (!session->held || session->hold_reason != HELD_MOVED || channel || !claim) {
        return false;
    }
    char path[JOURNAL_PATH_MAX];
    snprintf(path, sizeof path, "%s", claim->path);
    resolve_heir_take(claim->root, path, session, out);
    return true;
}

void resolve_away(struct session *session, const char *channel,
                  struct resolve_result *out)
{
    struct stat st;
    const char *why = NULL;
    bool there = fstatat(session->root->fd, session->path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (session->root->away) {
        why = "the log directory itself is not there";
    } else if (session->streams == 0 || (!there && errno != ENOENT)) {
        why = there ? "it holds no session" : "no such session";
    } else if (channel) {
        why = "no file of it is there: only the whole session can be given up";
    }
    if (why) {
        snprintf(out->why, sizeof out->why, "%s", why);
        return;
    }
    struct session *heir = resolve_heir_find(session);
    if (heir) {
        resolve_heir_take(session->root, session->path, heir, out);
    } else if (away_give_up(session)) {
        out->given_up++;
        snprintf(out->text, sizeof out->text,
                 "forgotten; if its directory comes back, all of it is sent again");
    } else {
        out->busy++;
    }
}

bool resolve_away_closed(struct root *root, const char *path, const char *channel,
                         struct resolve_result *out)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    if (channel || !parked || !parked->complete || !directory_is_closed(root->fd, path)) {
        return false;
    }
    if (parking_forget(root, parked)) {
        out->given_up++;
        root->change_stamp++;
        root->engine->trouble.stamp++;
        snprintf(out->text, sizeof out->text,
                 "forgotten; if it can be looked at again, all of it is sent again");
    } else {
        out->busy++;
    }
    return true;
}
