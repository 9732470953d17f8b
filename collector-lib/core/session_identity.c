/* SPDX-License-Identifier: Apache-2.0 */
/* Writes who records a session, so that a reader can tell it from a copy or a forgery. */
#include "collector-lib/core/session_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process_identity.h"
#include "collector-lib/core/own_fd.h"
#include "schema/layout.h"

#define IDS_TRIED 32

/* Not by uuid_make, which ends the process where getrandom(2) is refused. */
int session_identity_nonce(char out[SESSION_NONCE_TEXT])
{
    unsigned char nonce[SESSION_NONCE_BYTES];
    if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) {
        return -1;
    }
    session_nonce_format(nonce, out);
    return 0;
}

/* When the lock file was made, in ns since the epoch: its inode may be another file's
 * later. 0 where the file system does not tell. */
static int64_t lock_born_ns(int dir)
{
    struct statx st;
    bool told = statx(dir, LAYOUT_LOCK, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) == 0 &&
                st.stx_mask & STATX_BTIME;
    return told ? st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec : 0;
}

bool session_identity_lists(bool with_sass, enum channel channel)
{
    return channel != CHANNEL_SASS || with_sass;
}

/* The names of the session's channels, as elements of a JSON array. The file of each is
 * made before the manifest, so a reader misses one that is not there. */
static void list_channels(bool with_sass, char *out, size_t cap)
{
    size_t len = 0;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_identity_lists(with_sass, (enum channel)c)) {
            len += (size_t)snprintf(out + len, cap - len, "%s\"%s\"", len ? "," : "",
                                    channel_name((enum channel)c));
        }
    }
}

static int write_manifest(int dir, const struct session_lock *lock, bool with_sass,
                          const char *id, const char *nonce)
{
    char channels[CHANNEL_COUNT * (LAYOUT_CHANNEL_MAX + sizeof "\"\",")];
    list_channels(with_sass, channels, sizeof channels);
    struct process_identity self;
    process_identity_read(&self);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char lock_file[LAYOUT_LOCK_FILE_TEXT];
    char held[2 * LAYOUT_LOCK_FILE_TEXT + 64] = "";
    layout_lock_file(lock_file, lock->file.device, lock->file.inode);
    if (lock->held) {
        snprintf(held, sizeof held, "\"lock_file\":\"%s\",\"lock_born_ns\":%lld,",
                 lock_file, (long long)lock_born_ns(dir));
    }
    char text[1024];
    int len = snprintf(
        text, sizeof text,
        "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
        "\"session_id\":\"%s\",\"id_nonce\":\"%s\",\"pid\":%lld,\"boot_id\":\"%s\","
        "\"pid_namespace\":%llu,\"pid_start_ticks\":%llu,"
        "%s\"start_ns\":%lld,\"channels\":[%s]}\n",
        id, nonce, (long long)self.pid, self.boot_id,
        (unsigned long long)self.pid_namespace, (unsigned long long)self.start_ticks,
        held, (long long)now.tv_sec * 1000000000 + now.tv_nsec, channels);
    struct own_fd file;
    int fd = openat(dir, LAYOUT_MANIFEST, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!own_fd_take_named_briefly(&file, fd, dir, LAYOUT_MANIFEST)) {
        return -1;
    }
    errno = ENOSPC; /* of a write that is cut short */
    bool whole = own_fd_write(&file, text, (size_t)len) == len;
    int reason = errno;
    own_fd_close(&file);
    errno = reason;
    return whole ? 0 : -1;
}

/* The owner of the directory, as others see it, is in the id. */
static int session_identity_write(int dir, const struct session_lock *lock,
                                  bool with_sass, char id[UUID_TEXT])
{
    char nonce[SESSION_NONCE_TEXT];
    struct stat st;
    if (session_identity_nonce(nonce) < 0 || fstat(dir, &st) < 0) {
        return -1;
    }
    session_id_of(st.st_uid, nonce, id);
    return write_manifest(dir, lock, with_sass, id, nonce);
}

static int rename_to_id(int root, const char *staging, const char *id)
{
    int rc = renameat2(root, staging, root, id, RENAME_NOREPLACE);
    if (rc < 0 && errno == EINVAL) { /* a file system without RENAME_NOREPLACE */
        rc = renameat(root, staging, root, id);
    }
    return rc;
}

int session_identity_publish(int dir, const struct session_lock *lock, bool with_sass,
                             int root, const char *staging, char id[UUID_TEXT])
{
    for (int tries = 1;; tries++) {
        if (session_identity_write(dir, lock, with_sass, id) < 0) {
            return -1;
        }
        if (rename_to_id(root, staging, id) == 0) {
            return 0;
        }
        int saved = errno;
        bool taken = saved == EEXIST || saved == ENOTEMPTY || saved == ENOTDIR ||
                     saved == EPERM; /* of another user, in a sticky directory */
        if (!taken || tries == IDS_TRIED || unlinkat(dir, LAYOUT_MANIFEST, 0) < 0) {
            errno = saved;
            return -1;
        }
    }
}
