/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes what the kernel says of a directory: device, inode, birth, owner and boot. */
#include "upload/source/directory_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/hash.h"

/* 0 = not known. */
static uint64_t directory_boot(void)
{
    char boot[BOOT_ID_TEXT];
    boot_id_get(boot);
    return boot[0] ? hash64_bytes(HASH64_BASIS, boot, strlen(boot)) : 0;
}

uint32_t directory_this_boot(void)
{
    return (uint32_t)directory_boot();
}

/* As if \p uid owned it. */
static uint64_t directory_hash(const struct statx *st, uint32_t uid)
{
    const unsigned needed = STATX_INO | STATX_BTIME;
    const uint64_t words[] = {st->stx_dev_major,     st->stx_dev_minor,
                              st->stx_ino,           (uint64_t)st->stx_btime.tv_sec,
                              st->stx_btime.tv_nsec, uid};
    uint64_t boot = directory_boot();
    return boot && (st->stx_mask & needed) == needed
               ? hash64_bytes(boot, words, sizeof words)
               : 0;
}

static bool directory_stat(int dir, const char *path, int flags, struct statx *st)
{
    const unsigned needed = STATX_TYPE | STATX_UID;
    return statx(dir, path, flags, needed | STATX_INO | STATX_BTIME | STATX_CTIME, st) ==
               0 &&
           (st->stx_mask & needed) == needed && S_ISDIR(st->stx_mode);
}

bool directory_see(int dir, struct statx *out)
{
    return directory_stat(dir, "", AT_EMPTY_PATH, out);
}

struct directory_id directory_id_of(const struct statx *st)
{
    return (struct directory_id){.mark = directory_hash(st, st->stx_uid),
                                 .boot = directory_this_boot(),
                                 .user = st->stx_uid + 1};
}

/* \return false if it lies in the root itself, or nothing is there. */
static bool directory_stat_above(int root, const char *path, struct statx *st)
{
    const char *slash = strchr(path, '/');
    char group[JOURNAL_PATH_MAX];
    if (!slash) {
        return false;
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - path), path);
    return directory_stat(root, group, AT_SYMLINK_NOFOLLOW, st);
}

/* Many are kept: half of it has to do. Whoever owns it: only root could give it to
 * somebody else. 0 = not known. */
static uint32_t directory_half_hash(const struct statx *st)
{
    uint64_t hash = directory_hash(st, 0);
    uint32_t half = (uint32_t)(hash ^ hash >> 32);
    return hash ? half + !half : 0;
}

void directory_note_above(int root, const char *path, struct directory_id *id)
{
    struct statx st;
    bool seen = directory_stat_above(root, path, &st);
    id->above = seen ? directory_half_hash(&st) : 0;
    id->above_own = seen && st.stx_uid + 1 == id->user;
}

struct directory_id directory_look(int root, const char *path)
{
    struct statx st;
    struct directory_id id = {0};
    if (directory_stat(root, path, AT_SYMLINK_NOFOLLOW, &st)) {
        id = directory_id_of(&st);
        directory_note_above(root, path, &id);
    }
    return id;
}

static bool directory_user_is_unknown(uint32_t uid)
{
    return uid == DIRECTORY_USER_UNKNOWN && geteuid() != uid;
}

enum directory_change directory_compare_seen(const struct statx *st,
                                             const struct directory_id *known)
{
    struct directory_id now = directory_id_of(st);
    bool comparable = known->mark && now.mark && known->boot && known->boot == now.boot;
    /* Only root could give it to somebody else. */
    if (comparable && known->user && known->mark == directory_hash(st, known->user - 1)) {
        return DIRECTORY_SAME;
    }
    bool unsure = directory_user_is_unknown(st->stx_uid) ||
                  directory_user_is_unknown(known->user - 1);
    if (known->user && (unsure ? comparable : known->user != now.user)) {
        return DIRECTORY_FOREIGN;
    }
    return comparable ? DIRECTORY_OTHER : DIRECTORY_SAME;
}

enum directory_change directory_compare(int root, const char *path,
                                        const struct directory_id *known)
{
    struct statx st;
    return directory_stat(root, path, AT_SYMLINK_NOFOLLOW, &st)
               ? directory_compare_seen(&st, known)
               : DIRECTORY_AWAY;
}

bool directory_is_closed(int root, const char *path)
{
    struct stat st;
    char group[JOURNAL_PATH_MAX];
    snprintf(group, sizeof group, "%.*s", (int)strcspn(path, "/"), path);
    return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == EACCES &&
           (fstatat(root, group, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode));
}

static bool directory_above_may_be(const struct statx *st,
                                   const struct directory_id *known)
{
    uint32_t now = directory_half_hash(st);
    bool comparable =
        known->above && now && known->boot && known->boot == directory_this_boot();
    bool other = known->above_own && st->stx_uid != known->user - 1 &&
                 !directory_user_is_unknown(st->stx_uid);
    return comparable ? known->above == now : !other;
}

bool directory_is_closed_own(int root, const char *path, const struct directory_id *known)
{
    struct statx st;
    return known && known->user == (uint32_t)geteuid() + 1 &&
           directory_is_closed(root, path) &&
           (!directory_stat_above(root, path, &st) || directory_above_may_be(&st, known));
}

int directory_open(const struct sys *sys, int root, const char *path,
                   const struct directory_id *known)
{
    struct statx st;
    int dir = sys->open_beneath(root, path, O_PATH | O_DIRECTORY, 0);
    if (dir >= 0 && (!directory_see(dir, &st) ||
                     directory_compare_seen(&st, known) != DIRECTORY_SAME)) {
        close(dir);
        errno = ESTALE;
        return -1;
    }
    return dir;
}
