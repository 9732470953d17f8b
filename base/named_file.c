/* SPDX-License-Identifier: Apache-2.0 */
/* Opens without waiting, and says what stands there in place of a file. */
#include "base/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"

#define NO_FILE ", not a regular file (give a regular file, or a link to one)"

/* \return NULL for a regular file. */
static const char *named_file_fault(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return NULL;
    case S_IFIFO:
        return "a pipe" NO_FILE;
    case S_IFDIR:
        return "a directory" NO_FILE;
    case S_IFSOCK:
        return "a socket" NO_FILE;
    default:
        return "a device" NO_FILE;
    }
}

int named_file_open(const char *path, const char **fault)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int saved = errno;
    *fault = NULL;
    /* A socket cannot be opened, and neither can a device that is not there. */
    if (fd >= 0 ? fstat(fd, &st) == 0 : saved == ENXIO && stat(path, &st) == 0) {
        *fault = named_file_fault(st.st_mode);
        saved = *fault ? EINVAL : saved;
    } else if (fd >= 0) {
        saved = errno;
        *fault = message_reason(saved);
    }
    if (fd >= 0 && *fault) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        *fault = *fault ? *fault : message_reason(saved);
        errno = saved;
    }
    return fd;
}
