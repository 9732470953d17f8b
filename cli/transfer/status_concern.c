/* SPDX-License-Identifier: Apache-2.0 */
/* Tells sessions of this user from those that others leave in the same directory. */
#include "cli/transfer/status_concern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "upload/published/other_uploader.h"
#include "upload/source/directory_mark.h"
#include "upload/source/scan_session.h"

static bool concern_is_own(int root, const char *path)
{
    struct stat st;
    return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
}

static bool concern_is_known_own(const struct status_concern *in, const char *path)
{
    const struct directory_id *known = journal_read_directory(in->journal, path);
    return known && known->user == (uint32_t)geteuid() + 1;
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

static uint32_t concern_group_hash(const struct status_concern *in, const char *path)
{
    char group[JOURNAL_PATH_MAX];
    snprintf(group, sizeof group, "%.*s", (int)strcspn(path, "/"), path);
    return hash_text(in->journal->seed, group);
}

/* Anybody can make very many of one id: those that are no rivals are not found by it. */
static bool concern_add_id(struct status_concern *in, const char *path, bool rival)
{
    return lookup_add(&in->ids,
                      hash_text(in->journal->seed, rival ? concern_id(path) : path));
}

bool status_concern_open(struct status_concern *in)
{
    bool root = geteuid() == 0;
    bool own = false;
    bool ok = true;
    for (size_t i = 0; ok && i < in->journal->sessions; i++) {
        const struct journal_read_session *known = &in->journal->session[i];
        own = own || concern_is_known_own(in, known->done.path);
        ok = concern_add_id(in, known->done.path, known->is_done);
    }
    for (size_t i = 0; ok && i < in->sessions->count; i++) {
        const struct selected *listed = &in->sessions->session[i];
        own = own || listed->own_user;
        ok = concern_add_id(in, listed->path, listed->own_user && !root) &&
             lookup_add(&in->paths, hash_text(in->journal->seed, listed->path)) &&
             lookup_add(&in->groups, concern_group_hash(in, listed->path));
    }
    in->all = in->all || !own;
    return ok;
}

void status_concern_close(struct status_concern *in)
{
    lookup_close(&in->ids);
    lookup_close(&in->paths);
    lookup_close(&in->groups);
}

/* Whether number \p at of in->ids has the id of \p session, and was sent or is ours. */
static bool concern_is_rival(const struct status_concern *in, size_t at,
                             const struct selected *session)
{
    size_t listed = at - in->journal->sessions;
    if (at >= in->journal->sessions) {
        const struct selected *other = &in->sessions->session[listed];
        return other->own_user && strcmp(other->id, session->id) == 0 && geteuid() != 0;
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
           ((in->all || concern_is_known_own(in, session->path)) &&
            !concern_is_left(in, session->path) &&
            !concern_is_replaced(in, session->path) && !concern_has_rival(in, session));
}

bool status_concerns_known(const struct status_concern *in, const char *path)
{
    const struct directory_id *known = journal_read_directory(in->journal, path);
    struct stat st;
    if (in->all || concern_is_known_own(in, path)) {
        return true;
    }
    if (fstatat(in->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return st.st_uid == geteuid();
    }
    return !known || !known->user;
}

/* Those of others were found by their names alone. */
static bool concern_is_session(int root, const struct selected *session)
{
    struct scan scan;
    return session->own_user || scan_session(&sys_real, root, session->path, session->id,
                                             &scan) != GPUFL_ERR_NOT_FOUND;
}

/* Others can have very many listed, and many of them named. */
static const struct selected *concern_listed(const struct status_concern *in,
                                             const char *path)
{
    size_t at = lookup_first(&in->paths, hash_text(in->journal->seed, path));
    while (at != LOOKUP_NONE && strcmp(in->sessions->session[at].path, path) != 0) {
        at = lookup_next(&in->paths, at);
    }
    return at == LOOKUP_NONE ? NULL : &in->sessions->session[at];
}

static bool concern_counts_path(const struct status_concern *in, const char *path)
{
    const struct selected *session = concern_listed(in, path);
    size_t len = strlen(path);
    bool group = false;
    if (session && concern_is_session(in->root, session)) {
        return status_concerns(in, session);
    }
    size_t at = lookup_first(&in->groups, hash_text(in->journal->seed, path));
    for (; at != LOOKUP_NONE; at = lookup_next(&in->groups, at)) {
        session = &in->sessions->session[at];
        bool inside = strncmp(session->path, path, len) == 0 && session->path[len] == '/';
        if (inside && session->own_user) {
            return status_concerns(in, session);
        }
        group = group || inside;
    }
    return group ? concern_is_own(in->root, path) : status_concerns_known(in, path);
}

/* The uploader has seen it while it was there, and has not looked again. */
static bool concern_was_anothers(const struct status_concern *in,
                                 const struct progress_note *note)
{
    struct stat st;
    return note->owned && note->owner != geteuid() && !in->all &&
           !concern_is_known_own(in, note->path) &&
           fstatat(in->root, note->path, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

bool status_concerns_note(const struct status_concern *in,
                          const struct progress_note *note)
{
    return note->path[0] && !concern_was_anothers(in, note) &&
           concern_counts_path(in, note->path);
}
