/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to the journal's file and reserves space ahead. */
#include "upload/journal/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

#define GROW_BYTES (256u << 10)

static int reserve_space(struct journal_file *file, size_t more)
{
    if (file->at + more <= file->reserved) {
        return 0;
    }
    /* Space is taken ahead, so that a sync writes no metadata and a full disk is met
     * here. A file system without fallocate just grows. */
    uint64_t want = file->at + more + GROW_BYTES;
    int rc = posix_fallocate(file->fd, 0, (off_t)want);
    if (rc != 0 && rc != EOPNOTSUPP && rc != EINVAL) {
        errno = rc;
        return -1;
    }
    file->reserved = want;
    return 0;
}

int journal_file_append(const struct sys *sys, struct journal_file *file,
                        const void *data, size_t len)
{
    if (file->fd < 0) {
        return 0;
    }
    if (reserve_space(file, len) < 0 ||
        file_pwrite_all(sys, file->fd, data, len, (off_t)file->at) < 0) {
        return -1;
    }
    file->at += len;
    return 0;
}

void journal_file_close(struct journal_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    *file = (struct journal_file){.fd = -1};
}
