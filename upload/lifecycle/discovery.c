/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the directories below a root, a limited number per step, and adds the sessions
 * that are new. */
#include "upload/lifecycle/discovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/away.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/group.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/kept.h"
#include "upload/lifecycle/other_root.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/lifecycle/replaced.h"

#define QUIET_LISTINGS      6u
#define NAMES_A_STEP        1024u
#define INSPECTIONS_A_STEP  32u /* … of so many names: */
#define NAMES_AN_INSPECTION 128u

/* \p owner: of its directory, if nothing was known of it. */
static struct session *discovery_found(struct root *root, const char *path,
                                       uint32_t owner)
{
    struct parked_session *parked = parked_find(&root->parked, path);
    struct session *session =
        parked ? parking_open(root, parked) : session_make(root, path);
    if (session) {
        if (session->charged_to == SHARES_NOBODY) {
            session_charge(session, owner, session->charged_bytes);
        }
        root->change_stamp += !session->watched;
        session->listed = root->listing_number;
        away_session_back(session);
    }
    return session;
}

struct visit {
    struct root *root;
    const char *group; /* "" at the top level */
    int above;         /* the group, or the root */
    uint64_t now_ms;
    bool listed; /* a listing has named it */
};

/* Watched sessions report changes, and settled sessions without a writer do not change:
 * both are inspected rarely, in case an event was lost. */
static bool discovery_inspection_is_due(const struct session *session, uint64_t now_ms)
{
    bool over = session_writer_is_gone(session) && session_settled(session);
    if (session->root->inspects_all || session->salvage == SESSION_SALVAGE_RUNS ||
        session_any_held(session) || !(over || session_tells(session))) {
        return true;
    }
    return now_ms - session->looked_at_ms >=
           QUIET_LISTINGS * session->root->engine->config.rescan_interval_ms;
}

/* \p name is below the root or a group: only the former may be a group. */
static void discovery_not_a_session(const struct visit *visit, const char *path,
                                    const char *name)
{
    struct root *root = visit->root;
    struct parked_session *parked = parked_find(&root->parked, path);
    if (parked) {
        parked_drop(&root->parked, parked); /* it was one, and nothing was sent of it */
    }
    if (!visit->group[0] && !other_root_is(root, name)) {
        group_open(root, name); /* a multi-pass run */
    }
}

/* It is inspected in steps, in the turn of its owner. */
static bool discovery_found_many(struct root *root, const char *path, uint32_t owner,
                                 const struct inspection *seen)
{
    bool known = session_find(root, path) || parked_find(&root->parked, path);
    struct session *session = discovery_found(root, path, owner);
    root->only_sessions = false;
    if (session) {
        inspect_many(session, known, seen);
    }
    return session != NULL; /* without memory: in the next listing */
}

/* \return true if it is parked, and stays so. */
static bool discovery_stays_parked(struct root *root, struct parked_session *s)
{
    root->known_named++;
    if (s->held) {
        s->listed = root->listing_number;
        return !parking_held_is_due(root, s);
    }
    away_parked_seen(root, s);
    if (s->complete && root->inspects_complete) {
        parking_reopen_grown(root, s);
    }
    return true;
}

/* \return true if it is known, and a later inspection tells what is new in it. */
static bool discovery_knows(struct session *old, uint64_t now_ms)
{
    struct root *root = old->root;
    root->known_named += session_is_one(old);
    bool done = old->state == SESSION_DONE;
    bool knows = done || old->presence == SESSION_PRESENT;
    old->listed = knows ? root->listing_number : old->listed;
    if (done) {
        away_session_back(old);
    } else if (knows && discovery_inspection_is_due(old, now_ms)) {
        session_mark(old);
    }
    return knows;
}

/* \return true if \p name is a session that could be looked at. */
static bool discovery_visit_session(const struct visit *visit, const char *name)
{
    struct root *root = visit->root;
    char below[JOURNAL_PATH_MAX];
    struct inspection seen;
    const char *path = name;
    if (visit->group[0]) {
        snprintf(below, sizeof below, "%s/%s", visit->group, name);
        path = below;
    }
    replaced_visit(root, path);
    struct parked_session *parked_session = parked_find(&root->parked, path);
    if (parked_session && discovery_stays_parked(root, parked_session)) {
        return true;
    }
    struct session *old = session_find(root, path);
    if (old && inspect_is_none(old)) {
        old->listed = old->streams ? old->listed : root->listing_number;
        discovery_not_a_session(visit, path, name);
        return false;
    }
    if (old && discovery_knows(old, visit->now_ms)) {
        return true;
    }
    struct room_asked asked = {
        .path = path, .id = name, .above = visit->above, .counts = visit->listed};
    if (!old && !parked_session && !room_for(root, &asked)) {
        return true; /* there may be others in it */
    }
    root->inspected++;
    if (!old && !parked_session && parking_can_wait(root, path, name) &&
        parked_wait(&root->parked, path, asked.owner, root->listing_number)) {
        claim_note(root, path);
        return true;
    }
    gpufl_status status = inspect_directory(root, path, NULL, VISITS_STEP_NAMES, &seen);
    root->inspected += seen.names / NAMES_AN_INSPECTION;
    if (status == GPUFL_BUSY) {
        return discovery_found_many(root, path, asked.owner, &seen);
    }
    root->only_sessions = root->only_sessions && status == GPUFL_OK;
    if (status == GPUFL_OK) {
        struct session *session = discovery_found(root, path, asked.owner);
        if (session) {
            inspect_apply(session, &seen, visit->now_ms);
            parking_held(session);
            group_say_beside(root, visit->group);
        } else {
            root->only_sessions = false; /* no memory */
        }
    } else if (status != GPUFL_ERR_NOT_FOUND) {
        kept_directory(root, path);
        struct session *session = discovery_found(root, path, asked.owner);
        if (session) {
            inspect_failed(session, status); /* what cannot be read may be one */
            parking_held(session);
        }
    } else {
        discovery_not_a_session(visit, path, name);
    }
    return status == GPUFL_OK;
}

static void discovery_visit(const struct visit *visit, const char *name)
{
    if (discovery_visit_session(visit, name) && !visit->group[0]) {
        group_look_below(visit->root, name);
    }
}

static void discovery_say_failed(const struct root *root, int error)
{
    log_error(root->engine->config.log, "scan.failed", "root=%s reason=\"%s\"",
              root->path, strerror(error));
}

bool discovery_lists(const struct root *root)
{
    return root->listing || root->group;
}

bool discovery_waits(const struct root *root)
{
    return !root->away &&
           (discovery_lists(root) || root->list_soon || root->rescan_at_ms == 0);
}

bool discovery_goes_on(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (discovery_lists(engine->root[i])) {
            return true;
        }
    }
    return visits_ready_ms(&engine->visits) <= engine->config.sys->now_ms();
}

/* The watcher reports what comes and goes, and so does the root's mtime. It is listed
 * every sixth time nevertheless: an event can be lost, and mtime is coarse. Parked
 * sessions that are held are not watched. */
static bool discovery_is_as_listed(struct root *root)
{
    struct stat st = {0};
    bool same = fstat(root->fd, &st) == 0 && st.st_mtim.tv_sec == root->changed.tv_sec &&
                st.st_mtim.tv_nsec == root->changed.tv_nsec;
    root->changed = st.st_mtim;
    root->same_changes = same ? root->same_changes + 1 : 0;
    return root->visited && !root->engine->polling && root->only_sessions &&
           root->parked.held_ids.count == 0 && root->same_changes % QUIET_LISTINGS != 0;
}

static void discovery_mark_due(struct root *root, uint64_t now_ms)
{
    for (struct session *s = root->sessions; s; s = s->next) {
        if (session_is_listed(s) && discovery_inspection_is_due(s, now_ms)) {
            session_mark(s);
        }
    }
}

/* A listing may take long, if somebody has made very many directories: the sessions that
 * are known do not wait for its end. What it has passed by already, the next one finds.
 */
static void discovery_go_on(struct root *root, uint64_t now_ms)
{
    if (now_ms < root->rescan_at_ms) {
        return;
    }
    root->rescan_at_ms = now_ms + root->engine->config.rescan_interval_ms;
    root->list_soon = root->list_soon || root->inspect_all;
    root->inspects_all = root->inspects_all || root->inspect_all;
    root->inspect_all = false;
    discovery_mark_due(root, now_ms);
}

bool discovery_is_due(const struct root *root, uint64_t now_ms)
{
    return !root->away && !root->listing && now_ms >= root->rescan_at_ms;
}

void discovery_begin(struct root *root, uint64_t now_ms)
{
    bool due = now_ms >= root->rescan_at_ms;
    if (root->away) {
        root->list_soon = false;
        return;
    }
    if (root->listing) {
        discovery_go_on(root, now_ms);
        return;
    }
    if (!due && !root->list_soon) {
        return;
    }
    root->inspects_all = root->inspect_all && due;
    root->inspect_all = root->inspect_all && !due;
    if (due) {
        root->rescan_at_ms = now_ms + root->engine->config.rescan_interval_ms;
    }
    if (due && discovery_is_as_listed(root) && !root->list_soon && !root->inspects_all) {
        discovery_mark_due(root, now_ms);
        return;
    }
    root->list_soon = parking_look_waits(root);
    root->listing = malloc(sizeof *root->listing);
    if (root->listing && listing_open(root->listing, root->engine->config.sys, root->fd,
                                      ".") != GPUFL_OK) {
        discovery_say_failed(root, errno);
        free(root->listing);
        root->listing = NULL;
        claim_listed(root); /* others need not wait for it */
    }
    root->only_sessions = root->listing != NULL;
    root->known_named = 0;
    root->inspects_complete =
        now_ms >= root->complete_inspect_ms && !parking_look_waits(root);
    if (root->inspects_complete) {
        root->complete_begun_ms = now_ms;
        root->complete_inspect_ms =
            now_ms + QUIET_LISTINGS * root->engine->config.rescan_interval_ms;
    }
    root->listing_number++;
}

/* However many there are, it takes a tenth of the time at most. */
static void discovery_rest(struct root *root, uint64_t now_ms)
{
    uint64_t next_ms = now_ms + 9 * (now_ms - root->complete_begun_ms);
    if (root->inspects_complete && next_ms > root->complete_inspect_ms) {
        root->complete_inspect_ms = next_ms;
    }
}

static void discovery_end(struct root *root, uint64_t now_ms)
{
    discovery_rest(root, now_ms);
    if (root->listing->error) {
        discovery_say_failed(root, root->listing->error);
        root->only_sessions = false;
    } else {
        away_after_listing(root);
        other_root_listed(root);
    }
    replaced_listed(root, !root->listing->error);
    room_listed(root, !root->listing->error);
    listing_delete(root->listing);
    root->listing = NULL;
    kept_clear(root);
    claim_listed(root);
}

static void discovery_next(struct root *root, uint64_t now_ms)
{
    bool in_group = root->group != NULL;
    struct visit visit = {.root = root,
                          .group = in_group ? root->group_name : "",
                          .above = in_group ? root->group->fd : root->fd,
                          .now_ms = now_ms,
                          .listed = root->listing != NULL};
    const struct dirent64 *entry = listing_next(in_group ? root->group : root->listing);
    if (entry && listing_is_dir(entry)) {
        discovery_visit(&visit, entry->d_name);
    } else if (!entry && in_group) {
        group_end(root);
    } else if (!entry) {
        discovery_end(root, now_ms);
    }
}

static void discovery_some(struct root *root, bool group_only, uint64_t now_ms)
{
    unsigned names = 0;
    while ((group_only ? root->group != NULL : discovery_lists(root)) &&
           names++ < NAMES_A_STEP && root->inspected < INSPECTIONS_A_STEP) {
        discovery_next(root, now_ms);
    }
}

void discovery_step(struct root *root, uint64_t now_ms)
{
    root->inspected = 0;
    discovery_some(root, false, now_ms);
}

/* Something happened in a directory, which may be new, or gone. */
void discovery_touch(struct root *root, const char *path, uint64_t now_ms)
{
    struct visit visit = {.root = root, .group = "", .above = root->fd, .now_ms = now_ms};
    struct parked_session *parked_session = parked_find(&root->parked, path);
    if (parked_session && parked_session->complete) {
        parking_reopen_grown(root, parked_session);
        return;
    }
    struct session *session =
        parked_session ? parking_open(root, parked_session) : session_find(root, path);
    if (session && session->presence == SESSION_PRESENT) {
        session_mark(session);
        /* And once more later: files are closed just before the lock is released. */
        session_mark_later(session, now_ms);
        if (!strchr(path, '/') && session->turn.names <= VISITS_STEP_NAMES) {
            group_look_below(root, path);
            discovery_some(root, true, now_ms);
        } else if (!strchr(path, '/')) {
            group_look_later(root, path); /* others are listed, too */
        }
    } else if (strchr(path, '/')) {
        root->list_soon = true;
    } else {
        discovery_visit(&visit, path);
        discovery_some(root, true, now_ms); /* a small group has been listed now */
    }
}
