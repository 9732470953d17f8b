/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes what the kernel says of a directory: device, inode, birth, owner and boot. */
#include "upload/source/directory_mark.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/process_identity.h"

static uint64_t directory_hash(const struct statx *st)
{
    char boot[BOOT_ID_TEXT];
    process_boot_id(boot);
    const uint64_t words[] = {st->stx_dev_major,     st->stx_dev_minor,
                              st->stx_ino,           (uint64_t)st->stx_btime.tv_sec,
                              st->stx_btime.tv_nsec, st->stx_uid};
    uint64_t hash = hash64_bytes(HASH64_BASIS, boot, strlen(boot));
    return boot[0] ? hash64_bytes(hash, words, sizeof words) : 0;
}

uint64_t directory_mark(int root, const char *path)
{
    const unsigned needed = STATX_TYPE | STATX_INO | STATX_UID | STATX_BTIME;
    struct statx st;
    bool known = statx(root, path, AT_SYMLINK_NOFOLLOW, needed, &st) == 0 &&
                 (st.stx_mask & needed) == needed && S_ISDIR(st.stx_mode);
    return known ? directory_hash(&st) : 0;
}
