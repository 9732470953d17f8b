/* SPDX-License-Identifier: Apache-2.0 */
/* Locks the database file. An OFD lock ends with its process and asks for the right to
 * write, so nobody who may only read can keep the server out. */
#include "backend/store/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"

/* One byte far behind those that SQLite locks. */
#define LOCKED_BYTE ((off_t)1 << 62)

int store_lock(const char *path, char why[256])
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKED_BYTE};
    struct stat st;
    lock.l_len = 1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0) {
        snprintf(why, 256, "%.*s%s: cannot open: %.40s (name a file that can be written)",
                 MESSAGE_VALUE(path, 150), strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        snprintf(why, 256, "%.150s: not a regular file (name another file)", path);
        close(fd);
        return -1;
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        bool taken = errno == EAGAIN || errno == EACCES;
        snprintf(why, 256, "%.120s: %s: %.50s%s", path,
                 taken ? "in use by another gpufl-backend" : "cannot lock",
                 strerror(errno),
                 taken ? " (stop it, or name another file)" : " (name another file)");
        close(fd);
        return -1;
    }
    return fd;
}
