/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the files of accounts again, and finds the account of a user id. */
#include "upload/owners/owners.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/named_file.h"

#define LOOK_AGAIN_MS  60000u
#define FILE_BYTES_MAX (4u << 20)
/* As many as useradd(8) gives a user by default, and from where. A container has as many,
 * too. */
#define BLOCK_IDS         65536u
#define SUBORDINATE_FIRST 100000u
/* Nobody's own id: what directories like FreeIPA give as subordinate ids, which are in no
 * file. */
#define REMOTE_FIRST (1u << 31)
/* Accounts below are of the system, and so is nobody. Their ranges are not one user's:
 * the programs that have them start containers, each in a block of its own. */
#define USERS_FIRST  1000u
#define USERS_NOBODY 65534u

struct owners_file {
    char *text;
    size_t len;
};

static uint64_t owners_mark(uint64_t mark, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        return hash64_word(mark, 0);
    }
    mark = hash64_word(mark, (uint64_t)st.st_dev);
    mark = hash64_word(mark, (uint64_t)st.st_ino);
    mark = hash64_word(mark, (uint64_t)st.st_size);
    mark = hash64_word(mark, (uint64_t)st.st_mtim.tv_sec);
    mark = hash64_word(mark, (uint64_t)st.st_mtim.tv_nsec);
    mark = hash64_word(mark, (uint64_t)st.st_ctim.tv_sec);
    return hash64_word(mark, (uint64_t)st.st_ctim.tv_nsec);
}

/* A file that is not there is an empty one. \return NULL, or why it was not read. */
static const char *owners_read_file(const char *path, struct owners_file *out)
{
    const char *fault;
    struct stat st;
    int fd = named_file_open(path, &fault);
    *out = (struct owners_file){0};
    if (fd < 0) {
        return errno == ENOENT ? NULL : fault;
    }
    if (fstat(fd, &st) < 0) {
        fault = strerror(errno);
    } else if (st.st_size > (off_t)FILE_BYTES_MAX) {
        fault = "larger than 4 MiB";
    } else if (st.st_size > 0 && !(out->text = malloc((size_t)st.st_size))) {
        fault = strerror(ENOMEM);
    } else if (st.st_size > 0) {
        ssize_t got = file_pread_full(&sys_real, fd, out->text, (size_t)st.st_size, 0);
        fault = got < 0 ? strerror(errno) : NULL;
        out->len = got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return fault;
}

static void owners_say(const struct log *log, const char *path, const char *fault)
{
    log_warn(log, "owners.unread",
             "file=%s reason=\"%s\" note=\"user ids from 100000 on that it did not "
             "have share turns, 65536 each; restart to read it\"",
             path, fault);
}

/* Ranges that were read before stay if the new ones cannot be read: Landlock may refuse a
 * file that replaced the one that was there at the start. */
static void owners_read(struct owners *owners, const char *ranges, const char *accounts,
                        const struct log *log)
{
    struct owners_file text;
    struct owners_file names;
    const char *fault = owners_read_file(ranges, &text);
    const char *names_fault = owners_read_file(accounts, &names);
    owners->stale = fault != NULL;
    if (!fault) {
        subordinate_free(&owners->ranges);
        subordinate_read(text.text, text.len, names.text, names.len, &owners->ranges);
    } else {
        owners_say(log, ranges, fault);
    }
    if (!fault && names_fault && owners->ranges.count > 0) {
        log_warn(log, "owners.unread", "file=%s reason=\"%s\"", accounts, names_fault);
    }
    free(text.text);
    free(names.text);
}

void owners_refresh(struct owners *owners, const char *dir, const struct log *log,
                    uint64_t now_ms)
{
    char ranges[PATH_MAX];
    char accounts[PATH_MAX];
    if (!dir || now_ms < owners->next_ms) {
        return;
    }
    owners->next_ms = now_ms + LOOK_AGAIN_MS;
    snprintf(ranges, sizeof ranges, "%s/subuid", dir);
    snprintf(accounts, sizeof accounts, "%s/passwd", dir);
    uint64_t mark = owners_mark(owners_mark(HASH64_BASIS, ranges), accounts);
    if (mark != owners->mark) {
        owners->mark = mark;
        owners_read(owners, ranges, accounts, log);
    }
}

/* The first id of the block in which \p uid lies, of those from \p first on. */
static uint32_t owners_block(uint32_t uid, uint32_t first)
{
    return uid - (uid - first) % BLOCK_IDS;
}

static bool owners_is_user(uint32_t owner)
{
    return owner >= USERS_FIRST && owner != USERS_NOBODY &&
           owner != SUBORDINATE_OWNER_NONE;
}

/* Ids below 65,536 that the system hands to a container are those of users there, as in
 * `root:1000:1`. */
uint32_t owners_account(const struct owners *owners, uint32_t uid)
{
    const struct subordinate_range *range = subordinate_find(&owners->ranges, uid);
    if (uid == USERS_NOBODY || uid == UINT32_MAX) {
        return uid; /* not a user's */
    }
    if (range && owners_is_user(range->owner)) {
        return range->owner;
    }
    if (range) {
        return uid < BLOCK_IDS ? uid : owners_block(uid, range->first);
    }
    return uid >= REMOTE_FIRST ? owners_block(uid, REMOTE_FIRST)
           : owners->stale && uid >= SUBORDINATE_FIRST
               ? owners_block(uid, SUBORDINATE_FIRST)
               : uid;
}

void owners_close(struct owners *owners)
{
    subordinate_free(&owners->ranges);
}
