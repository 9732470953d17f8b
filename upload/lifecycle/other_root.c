/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the lock and the state directory of a directory, and names those it finds. */
#include "upload/lifecycle/other_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/claims.h"
#include "upload/core/engine_state.h"
#include "upload/core/kept.h"
#include "upload/published/other_uploader.h"
#include "upload/source/listing.h"

/* So many are named, in the log and in the progress file: anybody can make more. */
#define NAMED_MAX    64u
#define NAMED_OF_ONE 16u /* … of the same owner, whose places nobody takes for ours */

struct other_root {
    char name[LAYOUT_NAME_MAX + 1];
    uid_t owner;
    uint32_t listed; /* number of the listing that found it last */
};

struct other_roots {
    struct other_root named[NAMED_MAX];
    const struct other_root *left; /**< one with a session that is to be sent */
    unsigned names;
    unsigned found;   /* by the last whole listing */
    unsigned finding; /* by the one under way */
    bool more_said;
};

static enum lock_viewer other_root_viewer(const struct engine *engine)
{
    return !engine->config.service   ? LOCK_SEEN_BY_USER
           : !engine->config.run_dir ? LOCK_SEEN_BY_SERVICE
                                     : LOCK_SEEN_BY_PUBLISHER;
}

static bool other_root_has_group(const struct engine *engine, int dir)
{
    return other_uploader_has_group(dir, other_root_viewer(engine));
}

bool other_root_lock_counts(const struct engine *engine, int dir)
{
    uid_t user;
    enum lock_viewer viewer = other_root_viewer(engine);
    return other_uploader_has_say(dir, viewer) ||
           (engine->config.service && lock_holder_is_seen(dir, viewer)) ||
           (engine->config.force_name && lock_holder_uploader(dir, &user));
}

bool other_root_serves(const struct engine *engine, int dir)
{
    return other_uploader_locks(dir) && other_root_lock_counts(engine, dir);
}

static void other_root_say_more(const struct root *root)
{
    if (!root->others->more_said) {
        root->others->more_said = true;
        log_warn(root->engine->config.log, "scan.other_roots",
                 "root=%s note=\"more directories are skipped than are named; "
                 "gpufl_agent_directories_skipped counts them\"",
                 root->path);
    }
}

static void other_root_say(const struct root *root, const struct other_root *other)
{
    log_warn(root->engine->config.log, "scan.other_root",
             "root=%s dir=%s owner=%u note=\"skipped: it has an uploader or a journal of "
             "its own; serve it with that uploader\"",
             root->path, other->name, other->owner);
    root->engine->trouble.stamp++;
}

static void other_root_note(struct root *root, const char *name, uid_t owner)
{
    struct other_roots *others = root->others;
    unsigned of_owner = 0;
    if (!others && !(others = root->others = calloc(1, sizeof *others))) {
        return; /* in the next listing */
    }
    for (unsigned i = 0; i < others->names; i++) {
        if (strcmp(others->named[i].name, name) == 0) {
            bool again = others->named[i].listed == root->listing_number;
            others->finding += root->listing && !again;
            others->named[i].owner = owner;
            others->named[i].listed = root->listing_number;
            return;
        }
        of_owner += others->named[i].owner == owner;
    }
    others->finding += root->listing != NULL; /* again in the next round of the listing */
    unsigned places = owner == geteuid() ? NAMED_MAX : NAMED_MAX - NAMED_OF_ONE;
    if (others->names >= places || of_owner == NAMED_OF_ONE) {
        other_root_say_more(root);
        return;
    }
    struct other_root *other = &others->named[others->names++];
    *other = (struct other_root){.owner = owner, .listed = root->listing_number};
    snprintf(other->name, sizeof other->name, "%s", name);
    other_root_say(root, other);
}

/* A group directory may be, or have been, the root of another uploader, whose journal
 * then says what was sent of it. */
bool other_root_is(struct root *root, const char *name)
{
    const struct sys *sys = root->engine->config.sys;
    struct stat st = {0};
    int dir = sys->open_beneath(root->fd, name, O_RDONLY | O_DIRECTORY, 0);
    bool other = dir >= 0 && other_root_has_group(root->engine, dir);
    if (other && fstat(dir, &st) == 0) {
        other_root_note(root, name, st.st_uid);
    }
    if (dir >= 0) {
        close(dir);
    }
    if (other) {
        kept_directory(root, name);
    }
    return other;
}

/* Anybody can leave to another uploader what is in a directory of theirs: that is no
 * failure of ours, unless the session was named, or is ours. */
static bool other_root_concerns(const struct root *root, const struct other_root *other,
                                const char *path)
{
    struct stat st;
    uid_t self = geteuid();
    return root->engine->config.named || other->owner == self ||
           (fstatat(root->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == self);
}

/* Whether it is chosen. One of which another directory has the id is not missed: anybody
 * can make such ones. */
static bool other_root_misses(const struct root *root, const struct other_root *other,
                              const char *id)
{
    const struct engine_config *config = &root->engine->config;
    char path[JOURNAL_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", other->name, id);
    return config->wanted(config->wanted_arg, id) && !claims_find(root->engine, id) &&
           !claims_root_of(root, path) && other_root_concerns(root, other, path);
}

/* Whether a session in it was to be sent, as an upload chose its sessions before. */
static bool other_root_is_wanted(const struct root *root, const struct other_root *other)
{
    const struct sys *sys = root->engine->config.sys;
    struct listing *listing = malloc(sizeof *listing);
    const char *id = NULL;
    if (!listing || listing_open(listing, sys, root->fd, other->name) != GPUFL_OK) {
        free(listing);
        return false;
    }
    do {
        id = listing_next_dir(listing);
    } while (id && !other_root_misses(root, other, id));
    listing_delete(listing);
    return id != NULL;
}

static const struct other_root *other_root_find_left(const struct root *root)
{
    const struct other_roots *others = root->others;
    for (unsigned i = 0; root->engine->config.wanted && i < others->names; i++) {
        if (other_root_is_wanted(root, &others->named[i])) {
            return &others->named[i];
        }
    }
    return NULL;
}

void other_root_listed(struct root *root)
{
    struct other_roots *others = root->others;
    unsigned kept = 0;
    for (unsigned i = 0; others && i < others->names; i++) {
        if (others->named[i].listed == root->listing_number) {
            others->named[kept++] = others->named[i];
        }
    }
    if (others) {
        root->engine->trouble.stamp +=
            kept != others->names || others->found != others->finding;
        others->names = kept;
        others->found = others->finding;
        others->finding = 0;
        others->more_said = others->more_said && others->found > kept;
        others->left = other_root_find_left(root);
    }
}

unsigned other_root_count(const struct root *root)
{
    const struct other_roots *others = root->others;
    return !others                           ? 0
           : others->finding > others->found ? others->finding
                                             : others->found;
}

const char *other_root_left(const struct root *root, uint32_t *owner)
{
    const struct other_root *left = root->others ? root->others->left : NULL;
    *owner = left ? left->owner : 0;
    return left ? left->name : NULL;
}

const char *other_root_name(const struct root *root, unsigned index)
{
    const struct other_roots *others = root->others;
    return others && index < others->names ? others->named[index].name : NULL;
}

void other_root_close(struct root *root)
{
    free(root->others);
    root->others = NULL;
}
