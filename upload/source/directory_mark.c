/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes what the kernel says of a directory: device, inode, birth, owner and boot. */
#include "upload/source/directory_mark.h"

#include <errno.h>
#include <fcntl.h>
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
                                 .boot = (uint32_t)directory_boot(),
                                 .user = st->stx_uid + 1};
}

struct directory_id directory_look(int root, const char *path)
{
    struct statx st;
    return directory_stat(root, path, AT_SYMLINK_NOFOLLOW, &st)
               ? directory_id_of(&st)
               : (struct directory_id){0};
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
