/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the files of a journal, and reads its beginning. */
#include "upload/journal/journal_try.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/journal/journal_format.h"

int journal_lock_open(int dir, const char *name, const char *root_path, bool make,
                      char why[512])
{
    char lock[STATE_NAME_MAX + 8];
    snprintf(lock, sizeof lock, "%s.lock", name);
    int fd = openat(dir, lock,
                    O_RDWR | (make ? O_CREAT : 0) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                        O_CLOEXEC,
                    0600);
    if (fd < 0) {
        int error = errno;
        snprintf(why, 512,
                 "state directory: '%.80s' for %.300s: %s (move it away, or choose "
                 "another state directory)",
                 lock, root_path, strerror(error));
        errno = error;
    }
    return fd;
}

void journal_say_fault(const char *path, gpufl_status status, int error, char why[512])
{
    bool io = status == GPUFL_ERR_IO && error;
    bool foreign = io && (error == EPERM || error == EACCES);
    snprintf(why, 512, "journal: '%.300s': %s%s", path,
             status == GPUFL_ERR_FORMAT ? "it was written by a newer gpufl"
             : foreign ? "it is not a regular file of this user that can be read"
             : io      ? strerror(error)
                       : gpufl_status_text(status),
             status == GPUFL_ERR_FORMAT ? " (upgrade this one)"
             : foreign ? " (change its owner, or move it away: then lines may be sent "
                         "twice)"
                       : " (free some space or choose another state directory)");
}

/* Only the beginning says what cannot be read. A damaged one is set aside. */
static gpufl_status journal_try_read(const struct sys *sys, int fd)
{
    unsigned char *bytes = malloc(JOURNAL_WINDOW_MIN);
    if (!bytes) {
        return GPUFL_ERR_NOMEM;
    }
    ssize_t n = file_pread_full(sys, fd, bytes, JOURNAL_WINDOW_MIN, 0);
    gpufl_status status = n < 0                                       ? GPUFL_ERR_IO
                          : journal_format_is_newer(bytes, (size_t)n) ? GPUFL_ERR_FORMAT
                                                                      : GPUFL_OK;
    int error = errno;
    free(bytes);
    errno = error;
    return status;
}

gpufl_status journal_try(const struct sys *sys, const struct state_place *place,
                         const char *root_path, char why[512])
{
    int fd = journal_lock_open(place->fd, place->name, root_path, false, why);
    if (fd < 0 && errno != ENOENT) {
        return GPUFL_ERR_IO;
    }
    if (fd >= 0) {
        close(fd);
    }
    fd = file_open_owned(sys, place->fd, place->name);
    if (fd < 0 && errno == ENOENT) {
        return GPUFL_OK;
    }
    gpufl_status status = fd < 0 ? GPUFL_ERR_IO : journal_try_read(sys, fd);
    if (status != GPUFL_OK) {
        journal_say_fault(place->path, status, errno, why);
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}
