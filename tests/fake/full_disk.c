/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: while the file $FAKE_FULL_DISK exists, writes to *.log fail with the number
 * in $FAKE_ERRNO, after half of the bytes. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_log(int fd)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    return len > 4 && memcmp(path + len - 4, ".log", 4) == 0;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const char *flag = getenv("FAKE_FULL_DISK");
    if (!flag || access(flag, F_OK) != 0 || !is_log(fd)) {
        return real(fd, bytes, size);
    }
    if (size > 100) {
        return real(fd, bytes, size / 2);
    }
    errno = atoi(getenv("FAKE_ERRNO"));
    return -1;
}
