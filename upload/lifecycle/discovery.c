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
#include <unistd.h>

#include "base/log.h"
#include "upload/core/kept.h"
#include "upload/core/room.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/away.h"
#include "upload/lifecycle/claim.h"
#include "upload/lifecycle/group.h"
#include "upload/lifecycle/inspect.h"
#include "upload/lifecycle/inspect_directory.h"
#include "upload/lifecycle/other_root.h"
#include "upload/lifecycle/parking.h"
#include "upload/lifecycle/parking_grown.h"
#include "upload/lifecycle/replaced.h"
#include "upload/lifecycle/visit.h"

#define NAMES_A_STEP       1024u
#define INSPECTIONS_A_STEP 32u /* … of so many names: */
/* Directories in groups of one owner. */
#define TOUCHED_A_TURN 256u
/* Directories of one owner. */
#define BRIEF_PORTION 256u
/* Passes take a fifth of the time, and are no more than one in a second. */
#define BRIEF_PAUSES   4u
#define BRIEF_EVERY_MS 1000u

static void discovery_say_failed(const struct root *root, int error)
{
    log_error(root->engine->config.log, "scan.failed", "root=%s reason=\"%s\"",
              root->path, strerror(error));
}

bool discovery_lists(const struct root *root)
{
    return root->listing != NULL;
}

bool discovery_waits(const struct root *root)
{
    return !root->away &&
           (discovery_lists(root) || root->list_soon || root->rescan_at_ms == 0);
}

bool discovery_goes_on(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->roots; i++) {
        if (discovery_lists(engine->root[i]) || engine->root[i]->brief.listing) {
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
    root->brief.wanted = root->brief.wanted || root->inspect_all;
    root->inspects_all = root->inspects_all || root->inspect_all;
    root->inspect_all = false;
    visit_mark_due(root, now_ms);
}

void discovery_list_soon(struct root *root)
{
    root->list_soon = true;
    root->brief.wanted = true;
}

static struct listing *discovery_open(struct root *root)
{
    struct listing *listing = malloc(sizeof *listing);
    if (listing &&
        listing_open(listing, root->engine->config.sys, root->fd, ".") != GPUFL_OK) {
        discovery_say_failed(root, errno);
        free(listing);
        listing = NULL;
    }
    return listing;
}

static void discovery_begin_brief(struct root *root, uint64_t now_ms)
{
    struct brief *brief = &root->brief;
    if (brief->wanted && !brief->listing && now_ms >= brief->next_ms) {
        brief->wanted = false;
        brief->begun_ms = now_ms;
        brief->listing = discovery_open(root);
    }
}

bool discovery_is_due(const struct root *root, uint64_t now_ms)
{
    return !root->away && !root->listing && now_ms >= root->rescan_at_ms;
}

void discovery_begin(struct root *root, uint64_t now_ms)
{
    bool due = now_ms >= root->rescan_at_ms;
    shares_close(&root->touched);
    if (root->away) {
        root->list_soon = false;
        return;
    }
    if (root->listing) {
        discovery_go_on(root, now_ms);
        discovery_begin_brief(root, now_ms);
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
        visit_mark_due(root, now_ms);
        return;
    }
    root->list_soon = parking_look_waits(root);
    root->brief.wanted = false;
    root->listing = discovery_open(root);
    if (!root->listing) {
        claim_listed(root); /* others need not wait for it */
    }
    /* In a later round, what has come since the first one cannot be told from what that
     * has looked into, and waits for the next listing. Nobody waits for the end of that
     * one as for the end of the first. */
    portions_begin(&root->portions, root->listed ? PORTIONS_ALL : PORTIONS_FIRST);
    root->only_sessions = root->listing != NULL;
    root->known_named = 0;
    parking_begin_listing(root, now_ms);
    root->listing_number++;
}

/* \return true if the listing goes on with what it has left so far. */
static bool discovery_goes_round(struct root *root)
{
    if (root->listing->error || !portions_next(&root->portions)) {
        return false;
    }
    listing_rewind(root->listing);
    room_next_round(root);
    claim_served(root);
    return true;
}

static void discovery_end(struct root *root, uint64_t now_ms)
{
    parking_end_listing(root, now_ms);
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

/* Who has made a group of very many names waits for them. */
static void discovery_count_name(struct root *root)
{
    struct group *group = &root->group;
    if (++group->names % INSPECTION_NAMES != 0) {
        return;
    }
    if (group->reported) {
        root->inspected++;
        return;
    }
    portions_spend(&root->portions, group->owner, 1);
    if (portions_turn(&root->portions, group->owner) == PORTION_LATER) {
        group_end(root);
    }
}

static void discovery_next(struct root *root, uint64_t now_ms)
{
    const struct group *group = &root->group;
    bool in_group = group->listing != NULL;
    struct visit visit = {.root = root,
                          .group = in_group ? group->name : "",
                          .above = in_group ? group->listing->fd : root->fd,
                          .now_ms = now_ms,
                          .listed = !group->reported};
    const struct dirent64 *entry =
        listing_next(in_group ? group->listing : root->listing);
    if (entry && listing_is_dir(entry)) {
        visit_directory(&visit, entry->d_name);
    } else if (!entry && in_group) {
        group_end(root);
    } else if (!entry && !discovery_goes_round(root)) {
        discovery_end(root, now_ms);
    }
    if (entry && in_group) {
        discovery_count_name(root);
    }
}

static void discovery_some(struct root *root, bool group_only, unsigned most,
                           uint64_t now_ms)
{
    unsigned names = 0;
    while ((group_only ? root->group.listing != NULL : discovery_lists(root)) &&
           names++ < NAMES_A_STEP && root->inspected < most) {
        discovery_next(root, now_ms);
    }
}

/* A small group is listed at once, whatever listing is under way; a large one, or many of
 * one owner, in a listing that is fair to the others: \p most is what may be looked into
 * of those that count in \p spent. */
static void discovery_list_reported(struct root *root, struct shares *spent,
                                    unsigned most, uint64_t now_ms)
{
    const struct group *group = &root->group;
    if (!group->listing) {
        return;
    }
    unsigned inspected = root->inspected;
    unsigned before = (unsigned)shares_of(spent, group->owner);
    root->inspected = before;
    discovery_some(root, true, most, now_ms);
    shares_add(spent, group->owner, 1 + root->inspected - before);
    root->inspected = inspected;
}

/* What is known tells of itself, or is looked at in a listing. */
static void discovery_brief_visit(struct root *root, const char *name, uint64_t now_ms)
{
    struct visit visit = {.root = root, .group = "", .above = root->fd, .now_ms = now_ms};
    struct shares *spent = &root->brief.spent;
    if (session_find(root, name) || parked_find(&root->parked, name)) {
        return;
    }
    uint32_t owner = room_account_at(root, name, root->fd);
    if (shares_of(spent, owner) < BRIEF_PORTION) {
        struct group aside = group_set_aside(root);
        unsigned inspected = root->inspected;
        visit_directory(&visit, name);
        shares_add(spent, owner, 1 + (root->inspected - inspected));
        discovery_list_reported(root, spent, BRIEF_PORTION, now_ms);
        group_resume(root, &aside);
    }
}

static void discovery_end_brief(struct root *root, uint64_t now_ms)
{
    struct brief *brief = &root->brief;
    uint64_t pause_ms = BRIEF_PAUSES * (now_ms - brief->begun_ms);
    brief->next_ms = now_ms + (pause_ms < BRIEF_EVERY_MS ? BRIEF_EVERY_MS : pause_ms);
    shares_close(&brief->spent);
    brief->spent.amount = 0;
    listing_delete(brief->listing);
    brief->listing = NULL;
}

static void discovery_brief_some(struct root *root, uint64_t now_ms)
{
    struct brief *brief = &root->brief;
    uint64_t before = brief->spent.amount;
    for (unsigned names = 0; brief->listing && names < NAMES_A_STEP &&
                             brief->spent.amount - before < INSPECTIONS_A_STEP;
         names++) {
        const struct dirent64 *entry = listing_next(brief->listing);
        if (!entry) {
            discovery_end_brief(root, now_ms);
            return;
        }
        if (listing_is_dir(entry)) {
            discovery_brief_visit(root, entry->d_name, now_ms);
        }
    }
}

void discovery_step(struct root *root, uint64_t now_ms)
{
    root->inspected = 0;
    discovery_some(root, false, INSPECTIONS_A_STEP, now_ms);
    discovery_brief_some(root, now_ms);
}

static void discovery_touch_top(struct root *root, const char *name,
                                const struct session *session, uint64_t now_ms)
{
    struct visit visit = {.root = root, .group = "", .above = root->fd, .now_ms = now_ms};
    struct group aside = group_set_aside(root);
    if (!session) {
        visit_directory(&visit, name);
    } else if (session->turn.names <= VISITS_STEP_NAMES) {
        group_look_below(root, name);
    } else {
        group_look_later(root, name); /* others are listed, too */
    }
    discovery_list_reported(root, &root->touched, INSPECTIONS_A_STEP, now_ms);
    group_resume(root, &aside);
}

/* What a group holds besides is not listed for it, unless very many of one owner come. */
static void discovery_touch_below(struct root *root, const char *path, uint64_t now_ms)
{
    char group[LAYOUT_NAME_MAX + 1];
    const char *slash = strchr(path, '/');
    snprintf(group, sizeof group, "%.*s", (int)(slash - path), path);
    int above = openat(root->fd, group, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    uint32_t owner = room_account_at(root, path, above);
    if (above < 0 || shares_of(&root->touched, owner) >= TOUCHED_A_TURN) {
        discovery_list_soon(root);
    } else {
        struct visit visit = {
            .root = root, .group = group, .above = above, .now_ms = now_ms};
        visit_directory(&visit, slash + 1);
        shares_add(&root->touched, owner, 1);
    }
    if (above >= 0) {
        close(above);
    }
}

/* Something happened in a directory, which may be new, or gone. */
void discovery_touch(struct root *root, const char *path, uint64_t now_ms)
{
    struct parked_session *parked_session = parked_find(&root->parked, path);
    bool top = !strchr(path, '/');
    if (parked_session && parked_session->complete) {
        parking_reopen_grown(root, parked_session);
        return;
    }
    struct session *session =
        parked_session ? parking_open(root, parked_session) : session_find(root, path);
    bool present = session && session->presence == SESSION_PRESENT;
    if (present) {
        session_mark(session);
        /* And once more later: files are closed just before the lock is released. */
        session_mark_later(session, now_ms);
    }
    if (top) {
        discovery_touch_top(root, path, present ? session : NULL, now_ms);
    } else if (!session && !parked_session) {
        discovery_touch_below(root, path, now_ms);
    } else if (!present) {
        discovery_list_soon(root);
    }
}
