/* SPDX-License-Identifier: Apache-2.0 */
/* Tells sessions of this user from those that others leave in the same directory. */
#include "cli/transfer/status_concern.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "upload/core/other_uploader.h"
#include "upload/source/directory_mark.h"
#include "upload/source/scan_session.h"

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

static const char *concern_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool status_concern_open(struct status_concern *in)
{
    bool ok = true;
    for (size_t i = 0; ok && i < in->journal->sessions; i++) {
        const char *id = concern_id(in->journal->session[i].done.path);
        ok = lookup_add(&in->ids, hash_text(in->journal->seed, id));
    }
    for (size_t i = 0; ok && i < in->sessions->count; i++) {
        const char *id = in->sessions->session[i].id;
        ok = lookup_add(&in->ids, hash_text(in->journal->seed, id));
    }
    return ok;
}

void status_concern_close(struct status_concern *in)
{
    lookup_close(&in->ids);
}

/* Whether number \p at of in->ids has the id of \p session, and was sent or is ours. */
static bool concern_is_rival(const struct status_concern *in, size_t at,
                             const struct selected *session)
{
    size_t listed = at - in->journal->sessions;
    if (at >= in->journal->sessions) {
        const struct selected *other = &in->sessions->session[listed];
        return geteuid() != 0 && other->own_user && strcmp(other->id, session->id) == 0;
    }
    const struct journal_read_session *known = &in->journal->session[at];
    const char *path = known->done.path;
    return known->is_done && strcmp(concern_id(path), session->id) == 0 &&
           strcmp(path, session->path) != 0;
}

static bool concern_has_rival(const struct status_concern *in,
                              const struct selected *session)
{
    size_t at = lookup_first(&in->ids, hash_text(in->journal->seed, session->id));
    while (at != LOOKUP_NONE && !concern_is_rival(in, at, session)) {
        at = lookup_next(&in->ids, at);
    }
    return at != LOOKUP_NONE;
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
