/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: while the file $FAKE_SLOW_SYNC exists, a sync takes five seconds, as on a
 * disk that is about to fail; and while $FAKE_SLOW_READ does, a large read takes one, or
 * one of 30,000 bytes a tenth if $FAKE_SLOW_READS is set. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE_BYTES 200000
#define SOME_BYTES  30000

static int slow(int fd, const char *name)
{
    const char *flag = getenv("FAKE_SLOW_SYNC");
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (flag && access(flag, F_OK) == 0) {
        sleep(5);
    }
    return real(fd);
}

int fdatasync(int fd)
{
    return slow(fd, "fdatasync");
}

int fsync(int fd)
{
    return slow(fd, "fsync");
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    const char *flag = getenv("FAKE_SLOW_READ");
    ssize_t (*real)(int, void *, size_t, off_t) =
        (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    ssize_t n = real(fd, data, size, offset);
    bool many = getenv("FAKE_SLOW_READS") != NULL;
    if (n >= (many ? SOME_BYTES : LARGE_BYTES) && flag && access(flag, F_OK) == 0) {
        usleep(many ? 100000 : 1000000);
    }
    return n;
}

/* As a program calls it that is built for large files. */
ssize_t pread64(int fd, void *data, size_t size, off_t offset)
{
    return pread(fd, data, size, offset);
}
