/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: while the file $FAKE_FULL_DISK exists, writes to *.log fail with the number
 * in $FAKE_ERRNO, after half of the bytes, and the file $FAKE_FULL_DISK_REFUSED gets a
 * byte for each. With $FAKE_FULL_DISK_TAKES nothing is created, either, with "nothing" no
 * byte is written over. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_log(int fd)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    return len > 4 && memcmp(path + len - 4, ".log", 4) == 0;
}

static bool is_full(void)
{
    const char *flag = getenv("FAKE_FULL_DISK");
    return flag && access(flag, F_OK) == 0;
}

static bool is_full_for(const char *what)
{
    const char *takes = getenv("FAKE_FULL_DISK_TAKES");
    return takes && (!what || strcmp(takes, what) == 0) && is_full();
}

static void note_refused(ssize_t (*real)(int, const void *, size_t))
{
    const char *path = getenv("FAKE_FULL_DISK_REFUSED");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        (void)!real(fd, "x", 1);
        close(fd);
    }
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!is_full() || !is_log(fd)) {
        return real(fd, bytes, size);
    }
    if (size > 100) {
        return real(fd, bytes, size / 2);
    }
    note_refused(real);
    errno = atoi(getenv("FAKE_ERRNO"));
    return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    if (!is_full_for("nothing")) {
        return real(fd, bytes, size, at);
    }
    errno = atoi(getenv("FAKE_ERRNO"));
    return -1;
}

int openat(int dir, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!(flags & O_CREAT) || !is_full_for(NULL)) {
        return real(dir, path, flags, mode);
    }
    errno = atoi(getenv("FAKE_ERRNO"));
    return -1;
}
