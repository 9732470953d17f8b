/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the names in the roots, and asks in each directory for the ids of some
 * sessions that wait. */
#include "upload/engine/claim_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/core/registry.h"
#include "upload/core/session_streams.h"
#include "upload/lifecycle/parking.h"

#define SOUGHT_MAX   1024u
#define SOUGHT_OWNER 64u  /* … of one owner */
#define NAMES_BELOW  256u /* … that are read of one directory */
#define COST_A_STEP  512u /* directories, or ids that are asked for in a larger one */

struct claim_sought {
    struct root *root;
    bool elsewhere;
    char path[JOURNAL_PATH_MAX];
    size_t id; /* where its last component begins */
};

static const char *sought_id(const struct claim_sought *sought)
{
    return sought->path + sought->id;
}

static void search_seek(struct claim_search *search, struct root *root, const char *path,
                        uint32_t owner)
{
    struct claim_sought *sought = &search->sought[search->count];
    if (search->count == SOUGHT_MAX ||
        shares_of(&search->owners, owner) == SOUGHT_OWNER) {
        return;
    }
    shares_add(&search->owners, owner, 1);
    snprintf(sought->path, sizeof sought->path, "%s", path);
    const char *slash = strrchr(sought->path, '/');
    sought->root = root;
    sought->elsewhere = false;
    sought->id = slash ? (size_t)(slash + 1 - sought->path) : 0;
    search->count++;
}

static void search_seek_parked(void *arg, struct parked_held *held)
{
    struct claim_search *search = arg;
    const struct parked_session *parked = parked_held_session(held);
    if (!parked_held_counts(held)) {
        search_seek(search, search->of, parked->node.path, parked->owner);
    }
}

static int search_compare(const void *a, const void *b)
{
    return strcmp(sought_id(a), sought_id(b));
}

static void search_seek_all(struct engine *engine)
{
    struct claim_search *search = &engine->search;
    for (unsigned i = 0; i < engine->roots; i++) {
        search->of = engine->root[i];
        for (const struct session *s = search->of->sessions; s; s = s->next) {
            if (s->held && !s->hold_reason && !s->alone && !session_begun(s)) {
                search_seek(search, search->of, s->path, session_lane(s));
            }
        }
        parked_each_held(&search->of->parked, search_seek_parked, search);
    }
    qsort(search->sought, search->count, sizeof *search->sought, search_compare);
}

/* Of those that were listed, all is known. */
static bool search_next_root(struct engine *engine)
{
    struct claim_search *search = &engine->search;
    listing_delete(search->listing);
    search->listing = NULL;
    while (search->roots < engine->roots && !search->listing) {
        struct root *root = engine->root[search->roots++];
        struct listing *listing =
            root->listed || root->away ? NULL : malloc(sizeof *listing);
        if (listing &&
            listing_open(listing, engine->config.sys, root->fd, ".") == GPUFL_OK) {
            search->of = root;
            search->listing = listing;
        } else {
            free(listing);
        }
    }
    return search->listing;
}

/* In the first round of a listing, few are before the end of the wait. */
static bool search_is_due(const struct engine *engine)
{
    bool due = false;
    for (unsigned i = 0; i < engine->roots; i++) {
        const struct root *root = engine->root[i];
        due = due || (root->listing && !root->listed && root->portions.before);
    }
    return due && engine->search.wanted;
}

static bool search_begin(struct engine *engine)
{
    struct claim_search *search = &engine->search;
    if (!search_is_due(engine)) {
        return false;
    }
    search->wanted = false;
    search->sought = malloc(SOUGHT_MAX * sizeof *search->sought);
    search->below = malloc(sizeof *search->below);
    if (search->sought && search->below) {
        search_seek_all(engine);
    }
    if (!search->count || !search_next_root(engine)) {
        claim_search_end(search);
    }
    return search->listing;
}

/* Whether the directory of that name in \p above is the session itself. */
static bool search_is_itself(const struct claim_sought *sought, const struct root *root,
                             const char *above)
{
    size_t len = sought->id - (sought->id > 0); /* without the slash */
    return sought->root == root && strlen(above) == len &&
           memcmp(sought->path, above, len) == 0;
}

/* A directory of that name lies in \p above, "" = the root. */
static void search_found(struct claim_search *search, const char *above, const char *name)
{
    unsigned first = 0;
    for (unsigned end = search->count; first < end;) {
        unsigned middle = first + (end - first) / 2;
        bool before = strcmp(sought_id(&search->sought[middle]), name) < 0;
        first = before ? middle + 1 : first;
        end = before ? end : middle;
    }
    struct claim_sought *at = &search->sought[first];
    struct claim_sought *end = &search->sought[search->count];
    for (; at < end && strcmp(sought_id(at), name) == 0; at++) {
        at->elsewhere = at->elsewhere || !search_is_itself(at, search->of, above);
    }
}

/* \return false if it has too many names for that. */
static bool search_list(struct claim_search *search, int dir, const char *above)
{
    struct listing *listing = search->below;
    unsigned names = 0;
    const struct dirent64 *entry = NULL;
    listing_of(listing, dir);
    while (names++ < NAMES_BELOW && (entry = listing_next(listing))) {
        if (listing_is_dir(entry)) {
            search_found(search, above, entry->d_name);
        }
    }
    return !entry && !listing->error;
}

/* What cannot be looked at may be there. */
static bool search_is_there(int dir, const char *id)
{
    struct stat st;
    return fstatat(dir, id, &st, AT_SYMLINK_NOFOLLOW) == 0
               ? S_ISDIR(st.st_mode)
               : errno != ENOENT && errno != ENOTDIR && errno != EACCES;
}

static void search_ask(struct claim_search *search, int dir, const char *above)
{
    for (unsigned i = 0; i < search->count; i++) {
        struct claim_sought *sought = &search->sought[i];
        sought->elsewhere =
            sought->elsewhere || (!search_is_itself(sought, search->of, above) &&
                                  search_is_there(dir, sought_id(sought)));
    }
}

/* Most have few names. To ask for each id would take longer, and have the kernel remember
 * that it is not there. \return what it costs. */
static unsigned search_directory(const struct engine *engine, struct claim_search *search,
                                 const char *name)
{
    const struct sys *sys = engine->config.sys;
    unsigned cost = 1;
    search_found(search, "", name);
    int dir = sys->open_beneath(search->of->fd, name, O_RDONLY | O_DIRECTORY, 0);
    bool closed = dir < 0 && errno == EACCES; /* which others may search yet */
    if (closed) {
        dir = sys->open_beneath(search->of->fd, name, O_PATH | O_DIRECTORY, 0);
    }
    if (dir >= 0 && (closed || !search_list(search, dir, name))) {
        search_ask(search, dir, name);
        cost += search->count;
    }
    if (dir >= 0) {
        close(dir);
    }
    return cost;
}

static void search_release(const struct claim_sought *sought)
{
    struct root *root = sought->root;
    struct parked_session *parked = parked_find(&root->parked, sought->path);
    struct session *session = parked && parked->held ? parking_open(root, parked)
                                                     : session_find(root, sought->path);
    if (session) {
        session->alone = true;
        session_mark(session);
    }
}

static void search_end_all(struct claim_search *search)
{
    bool any = false;
    for (unsigned i = 0; i < search->count; i++) {
        if (!search->sought[i].elsewhere) {
            search_release(&search->sought[i]);
            any = true;
        }
    }
    claim_search_end(search);
    search->wanted = search->wanted || any; /* others have not been sought yet */
}

void claim_search_step(struct engine *engine)
{
    struct claim_search *search = &engine->search;
    unsigned cost = 0;
    if (!search->listing && !search_begin(engine)) {
        return;
    }
    for (; cost < COST_A_STEP; cost++) {
        const struct dirent64 *entry = listing_next(search->listing);
        if (entry && listing_is_dir(entry)) {
            cost += search_directory(engine, search, entry->d_name);
        } else if (!entry && search->listing->error) {
            claim_search_end(search); /* the listing of the root tells */
            return;
        } else if (!entry && !search_next_root(engine)) {
            search_end_all(search);
            return;
        }
    }
}

void claim_search_end(struct claim_search *search)
{
    listing_delete(search->listing);
    shares_close(&search->owners);
    free(search->below);
    free(search->sought);
    *search = (struct claim_search){.wanted = search->wanted};
}
