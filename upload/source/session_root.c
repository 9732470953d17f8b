/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that a session was named where the directory of sessions is expected, or a
 * directory above that: its files are not looked for there, and nothing to send would
 * pass for everything sent. */
#include "upload/source/session_root.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/source/listing.h"
#include "upload/source/select.h"

#define DEPTH_NAMES    4096u
#define DEPTH_LEVELS   6u
#define DEPTH_EXPECTED 2u /* a session in a group */
#define DEPTH_PATH_MAX 1024

static bool is_file_of_session(const char *file)
{
    struct layout_name name = layout_parse(file);
    bool known = channel_is_known(name.channel);
    switch (name.kind) {
    case LAYOUT_IS_MANIFEST:
    case LAYOUT_IS_LOCK:
        return true;
    case LAYOUT_ACTIVE:
    case LAYOUT_NUMBERED:
    case LAYOUT_SIDECAR:
        return known;
    default:
        return false;
    }
}

/* Where others may write, they could plant a file to keep the uploader away. */
static bool is_of_owner(int dir, const char *file)
{
    struct stat own;
    struct stat st;
    return fstat(dir, &own) == 0 && fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == own.st_uid;
}

static bool has_files_of_session(const struct sys *sys, int dir)
{
    struct listing listing;
    bool found = false;
    if (listing_open(&listing, sys, dir, ".") != GPUFL_OK) {
        return false;
    }
    for (const struct dirent64 *entry; !found && (entry = listing_next(&listing));) {
        found = is_file_of_session(entry->d_name) && is_of_owner(dir, entry->d_name);
    }
    listing_close(&listing);
    return found;
}

static bool has_sessions(const struct sys *sys, int dir)
{
    struct selection sessions;
    if (select_list(sys, dir, 0, &sessions) != GPUFL_OK) {
        return false;
    }
    bool any = sessions.count > 0;
    select_free(&sessions);
    return any;
}

bool session_root_is_session(const struct sys *sys, const char *path, const char *also,
                             char why[512])
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is = dir >= 0 && has_files_of_session(sys, dir) && !has_sessions(sys, dir);
    char *real = is ? realpath(path, NULL) : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    if (is && slash) {
        snprintf(
            why, 512,
            "'%.150s': it is a session (give the directory that holds it, %.*s%s%s%s)",
            path, slash == real ? 1 : (int)(slash - real < 200 ? slash - real : 200),
            real, also[0] ? ", and " : "", also, also[0] ? slash + 1 : "");
    } else if (is) {
        snprintf(why, 512, "'%.150s': it is a session (give the directory that holds it)",
                 path);
    }
    free(real);
    if (dir >= 0) {
        close(dir);
    }
    return is;
}

/* The search for sessions level by level, among a bounded number of names. */
struct depth_search {
    const struct sys *sys;
    int root;
    uid_t owner;     /**< of the root */
    unsigned names;  /**< that may still be looked at */
    unsigned levels; /**< how deep, this time */
    unsigned level;  /**< of the session */
    char found[DEPTH_PATH_MAX];
};

/* Where no session is expected, a file may be of anything, and be planted by others. */
static bool depth_is_of_session(const struct depth_search *d, int dir, const char *file,
                                unsigned level)
{
    struct stat st;
    enum layout_kind kind = layout_parse(file).kind;
    if (level <= DEPTH_EXPECTED) {
        return is_file_of_session(file);
    }
    return (kind == LAYOUT_IS_MANIFEST || kind == LAYOUT_IS_LOCK) &&
           fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_nlink == 1 && (st.st_uid == geteuid() || st.st_uid == d->owner);
}

static bool depth_look(struct depth_search *d, const char *path, unsigned level)
{
    struct listing *listing = malloc(sizeof *listing);
    const struct dirent64 *entry;
    bool found = false;
    if (!listing || listing_open(listing, d->sys, d->root, path) != GPUFL_OK) {
        free(listing);
        return false;
    }
    while (!found && d->names && (entry = listing_next(listing))) {
        char below[DEPTH_PATH_MAX];
        const char *name = entry->d_name;
        bool dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        d->names--;
        if (level == d->levels && depth_is_of_session(d, listing->fd, name, level)) {
            snprintf(d->found, sizeof d->found, "%s", path);
            d->level = level;
            found = true;
        } else if (level < d->levels && dir && name[0] != '.' &&
                   snprintf(below, sizeof below, "%s/%s", path, name) < DEPTH_PATH_MAX) {
            found = depth_look(d, below, level + 1);
        }
    }
    listing_delete(listing);
    return found;
}

static enum session_depth depth_search_all(struct depth_search *d)
{
    bool found = false;
    while (!found && d->names && d->levels < DEPTH_LEVELS) {
        d->levels++;
        found = depth_look(d, ".", 0);
    }
    if (!found) {
        return d->names ? SESSION_DEPTH_NONE : SESSION_DEPTH_UNKNOWN;
    }
    return d->level <= DEPTH_EXPECTED ? SESSION_DEPTH_FOUND : SESSION_DEPTH_BELOW;
}

enum session_depth session_depth_of(const struct sys *sys, const char *path,
                                    char why[512])
{
    struct depth_search d = {.sys = sys, .names = DEPTH_NAMES};
    struct stat st;
    why[0] = '\0';
    d.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d.root < 0) {
        return SESSION_DEPTH_UNKNOWN;
    }
    d.owner = fstat(d.root, &st) == 0 ? st.st_uid : geteuid();
    enum session_depth depth = depth_search_all(&d);
    close(d.root);
    char *slash = strrchr(d.found, '/');
    if (depth == SESSION_DEPTH_BELOW && slash) {
        *slash = '\0';
        char deep[250];
        int len = snprintf(deep, sizeof deep, ", %s%s", path, d.found + 1);
        bool fits = len > 0 && (size_t)len < sizeof deep; /* half a path helps nobody */
        snprintf(why, 512,
                 "'%.150s': no session lies in it, or in a directory in it, but deeper "
                 "(give the directory that holds them%s)",
                 path, fits ? deep : "");
    }
    return depth;
}
