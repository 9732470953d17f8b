/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: while the file $FAKE_SLOW_SYNC exists, a sync takes five seconds, as on a
 * disk that is about to fail; and while $FAKE_SLOW_READ does, a large read takes one, or
 * one of 30,000 bytes a tenth if $FAKE_SLOW_READS is set. The names of files that were
 * synced are appended to $FAKE_SYNCED. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LARGE_BYTES 200000
#define SOME_BYTES  30000

static void note_synced(int fd, const char *to)
{
    char link[64];
    char path[4096];
    snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    int file = open(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    path[n > 0 ? n++ : 0] = '\n';
    if (n <= 0 || write(file, path, (size_t)n) != n) {
        abort();
    }
    close(file);
}

static int slow(int fd, const char *name)
{
    const char *flag = getenv("FAKE_SLOW_SYNC");
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (flag && access(flag, F_OK) == 0) {
        sleep(5);
    }
    int failed = real(fd);
    const char *synced = getenv("FAKE_SYNCED");
    if (!failed && synced) {
        note_synced(fd, synced);
    }
    return failed;
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
