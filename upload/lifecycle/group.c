/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the directories below a root that contain sessions, be they sessions, too. */
#include "upload/lifecycle/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "upload/core/kept.h"
#include "upload/core/room.h"
#include "upload/core/session.h"
#include "upload/lifecycle/other_root.h"
#include "upload/owners/owners.h"

static void group_skip(struct root *root, const char *name)
{
    const struct log *log = root->engine->config.log;
    uint32_t about = log_about(log, room_account_at(root, name, root->fd));
    log_warn(log, "scan.skipped", "root=%s dir=%s", root->path, name);
    log_about(log, about);
    kept_directory(root, name);
}

/* Before it is listed: the watcher tells what comes from then on. One that it has
 * reported is watched. */
static void group_tell(const struct root *root)
{
    const struct engine_config *config = &root->engine->config;
    if (config->group_listed && !root->group.reported) {
        config->group_listed(config->group_listed_arg, root->index, root->path,
                             root->group.name);
    }
}

void group_open(struct root *root, const char *name)
{
    struct group *group = &root->group;
    struct stat st = {.st_uid = geteuid()};
    group->listing = malloc(sizeof *group->listing);
    gpufl_status status =
        group->listing
            ? listing_open(group->listing, root->engine->config.sys, root->fd, name)
            : GPUFL_ERR_IO;
    if (status == GPUFL_OK) {
        (void)fstat(group->listing->fd, &st);
        group->owner = owners_account(&root->engine->owners, st.st_uid);
        group->names = 0;
        snprintf(group->name, sizeof group->name, "%s", name);
        group_tell(root);
        return;
    }
    free(group->listing);
    group->listing = NULL;
    if (status == GPUFL_ERR_IO) {
        group_skip(root, name);
    }
}

void group_end(struct root *root)
{
    if (root->group.listing->error) {
        group_skip(root, root->group.name);
    }
    listing_delete(root->group.listing);
    root->group.listing = NULL;
}

struct group group_set_aside(struct root *root)
{
    struct group aside = root->group;
    root->group = (struct group){.reported = true};
    return aside;
}

void group_resume(struct root *root, const struct group *aside)
{
    if (root->group.listing) {
        group_end(root);
        root->list_soon = true;
    }
    root->group = *aside;
}

/* Anybody who may write to a group can make it look like a session. */
void group_say_beside(const struct root *root, const char *group)
{
    struct session *session = group[0] ? session_find(root, group) : NULL;
    if (session && !session->beside_said) {
        session->beside_said = true;
        uint32_t about = session_log_about(session);
        log_warn(
            root->engine->config.log, "session.beside",
            "session=%s note=\"sessions lie in its directory: they are sent as such, "
            "and the files beside them as session %s\"",
            session->id, session->id);
        log_about(root->engine->config.log, about);
    }
}

/* Most file systems count the directories in one, "." and "..", too, as its links; the
 * others say 1. Behind very many other names there may be some. */
static bool group_has_directories(struct root *root, const char *name)
{
    struct stat st;
    struct listing listing;
    int found = fstatat(root->fd, name, &st, AT_SYMLINK_NOFOLLOW);
    if (found == 0 && st.st_nlink == 2) {
        return false;
    }
    gpufl_status status =
        found == 0 ? listing_open(&listing, root->engine->config.sys, root->fd, name)
        : errno == ENOENT ? GPUFL_ERR_NOT_FOUND
                          : GPUFL_ERR_IO;
    if (status != GPUFL_OK) {
        if (status == GPUFL_ERR_IO) {
            kept_directory(root, name); /* those in it may be there */
        }
        return false;
    }
    bool any = false;
    bool over = false;
    for (unsigned i = 0; i < VISITS_STEP_NAMES && !any && !over; i++) {
        const struct dirent64 *entry = listing_next(&listing);
        over = entry == NULL;
        any = entry && listing_is_dir(entry);
    }
    any = any || !over || listing.error;
    listing_close(&listing);
    return any;
}

void group_look_later(struct root *root, const char *name)
{
    root->list_soon = root->list_soon || group_has_directories(root, name);
}

/* Whatever lies beside them, the directories in it may be sessions of their own. */
void group_look_below(struct root *root, const char *name)
{
    if (group_has_directories(root, name) && !other_root_is(root, name)) {
        root->only_sessions = false;
        group_open(root, name);
    }
}
