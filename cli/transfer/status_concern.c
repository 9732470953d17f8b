/* SPDX-License-Identifier: Apache-2.0 */
/* Tells sessions of this user from those that others leave in the same directory. */
#include "cli/transfer/status_concern.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/core/other_uploader.h"
#include "upload/source/directory_mark.h"

static bool concern_is_own(int root, const char *path)
{
    struct stat st;
    return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

/* Its group has an uploader of its own. */
static bool concern_is_left(const struct status_concern *in, const char *path)
{
    const char *slash = strchr(path, '/');
    char group[JOURNAL_PATH_MAX];
    if (!slash) {
        return false;
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - path), path);
    int dir = concern_is_own(in->root, group)
                  ? -1
                  : sys_real.open_beneath(in->root, group, O_RDONLY | O_DIRECTORY, 0);
    bool left = dir >= 0 && other_uploader_has_group(dir, LOCK_SEEN_BY_USER);
    if (dir >= 0) {
        close(dir);
    }
    return left;
}

/* One that was sent and is gone. */
static bool concern_is_replaced(const struct status_concern *in, const char *path)
{
    const struct directory_id *known = journal_read_directory(in->journal, path);
    return known && journal_read_done(in->journal, path) &&
           directory_compare(in->root, path, known) == DIRECTORY_FOREIGN;
}

static bool concern_has_rival(const struct status_concern *in,
                              const struct selected *session)
{
    for (size_t i = 0; i < in->journal->sessions; i++) {
        const struct journal_read_session *known = &in->journal->session[i];
        const char *path = known->done.path;
        const char *slash = strrchr(path, '/');
        if (known->is_done && strcmp(slash ? slash + 1 : path, session->id) == 0 &&
            strcmp(path, session->path) != 0) {
            return true;
        }
    }
    for (size_t i = 0; i < in->sessions->count && geteuid() != 0; i++) {
        const struct selected *other = &in->sessions->session[i];
        if (other->own_user && strcmp(other->id, session->id) == 0) {
            return true;
        }
    }
    return false;
}

bool status_concerns(const struct status_concern *in, const struct selected *session)
{
    return session->own_user ||
           (!concern_is_left(in, session->path) &&
            !concern_is_replaced(in, session->path) && !concern_has_rival(in, session));
}

/* Those of others were found by their names alone. */
static bool concern_is_session(int root, const struct selected *session)
{
    struct scan scan;
    return session->own_user || scan_session(&sys_real, root, session->path, session->id,
                                             &scan) != GPUFL_ERR_NOT_FOUND;
}

bool status_concerns_path(const struct status_concern *in, const char *path)
{
    size_t len = strlen(path);
    bool group = false;
    for (size_t i = 0; i < in->sessions->count; i++) {
        const struct selected *session = &in->sessions->session[i];
        bool inside = strncmp(session->path, path, len) == 0 && session->path[len] == '/';
        if ((strcmp(session->path, path) == 0 && concern_is_session(in->root, session)) ||
            (inside && session->own_user)) {
            return status_concerns(in, session);
        }
        group = group || inside;
    }
    return !group || concern_is_own(in->root, path);
}
