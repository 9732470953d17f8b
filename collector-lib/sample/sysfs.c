/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files of sysfs and procfs. */
#include "collector-lib/sample/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"

const char *sysfs_root(const char *set)
{
    return set && *set ? set : "/sys";
}

bool sysfs_text(int dir_fd, const char *name, char *out, size_t size)
{
    out[0] = '\0';
    struct own_fd file;
    if (!own_fd_take_briefly(&file, openat(dir_fd, name, O_RDONLY | O_CLOEXEC))) {
        return false;
    }
    ssize_t n = read(file.fd, out, size - 1);
    own_fd_close(&file);
    if (n < 0) {
        return false; /* a sensor that exists and returns EINVAL or ENODATA */
    }
    out[n] = '\0';
    if (n > 0 && out[n - 1] == '\n') {
        out[n - 1] = '\0';
    }
    return true;
}

bool sysfs_number(int dir_fd, const char *name, int64_t *out)
{
    char text[64];
    char *end;
    if (!sysfs_text(dir_fd, name, text, sizeof text)) {
        return false;
    }
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (errno || end == text) {
        return false;
    }
    *out = value;
    return true;
}

int sysfs_dir(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
