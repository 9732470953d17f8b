/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises a file by its device and inode. */
#include "collector-lib/core/own_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOWEST 500

static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
    if (high < 0) { /* beyond the limit of the process */
        return fd;
    }
    close(fd);
    return high;
}

bool own_fd_take(struct own_fd *own, int fd)
{
    struct stat st;
    int saved = errno;
    *own = (struct own_fd)OWN_FD_NONE;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *own =
            (struct own_fd){.fd = move_up(fd), .device = st.st_dev, .inode = st.st_ino};
        errno = saved;
    } else if (fd >= 0) {
        saved = errno;
        close(fd);
        errno = saved;
    }
    return own->fd >= 0;
}

static bool names(const struct own_fd *own, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == own->device &&
           st.st_ino == own->inode;
}

bool own_fd_is_ours(const struct own_fd *own)
{
    return names(own, own->fd);
}

ssize_t own_fd_write(const struct own_fd *own, const char *bytes, size_t len)
{
    if (!own_fd_is_ours(own)) {
        errno = EBADF;
        return -1;
    }
    return write(own->fd, bytes, len);
}

bool own_fd_replace(struct own_fd *own, int fd)
{
    bool same = names(own, fd);
    if (same) {
        own->fd = move_up(fd);
    } else if (fd >= 0) {
        close(fd);
    }
    return same;
}

void own_fd_close(struct own_fd *own)
{
    if (own_fd_is_ours(own)) {
        close(own->fd);
    }
    own->fd = -1;
}
