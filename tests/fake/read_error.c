/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a disk that cannot read compressed active files beyond the first 16 KiB,
 * while the file $FAKE_READ_ERROR exists, if that is set; with $FAKE_READ_ERROR_BEGIN, it
 * is what tells such a file from a plain one that it cannot read. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SOUND_BYTES 16384

static int is_failing(int fd)
{
    const char *while_there = getenv("FAKE_READ_ERROR");
    static const char end[] = ".log.gz";
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return (!while_there || access(while_there, F_OK) == 0) && n > (ssize_t)sizeof end &&
           memcmp(path + n - (sizeof end - 1), end, sizeof end - 1) == 0;
}

static int is_bad(size_t len, off64_t at)
{
    return getenv("FAKE_READ_ERROR_BEGIN") ? at == 0 && len == 2 : at >= SOUND_BYTES;
}

static ssize_t with_error(const char *name, int fd, void *buf, size_t len, off64_t at)
{
    ssize_t (*real)(int, void *, size_t, off64_t) =
        (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, name);
    if (is_bad(len, at) && is_failing(fd)) {
        errno = EIO;
        return -1;
    }
    return real(fd, buf, len, at);
}

#define WITH_ERROR(name)                                                                 \
    ssize_t name(int fd, void *buf, size_t len, off64_t at)                              \
    {                                                                                    \
        return with_error(#name, fd, buf, len, at);                                      \
    }
WITH_ERROR(pread)
WITH_ERROR(pread64)
