/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of the running kernel. */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define UNCHANGED_S 60

static uint64_t real_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int64_t real_wall_s(void)
{
    return (int64_t)time(NULL);
}

static void real_random(void *out, size_t len)
{
    unsigned char *at = out;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno != EINTR) {
            abort(); /* getrandom without flags fails only before Linux 3.17 */
        }
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
}

/* For kernels before 5.6: walks the components and follows no symlink. */
static int open_by_walk(int dir, const char *path, int flags, mode_t mode)
{
    char part[256];
    int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    while (at >= 0) {
        size_t len = strcspn(path, "/");
        if (len == 0 || len >= sizeof part ||
            strncmp(path, "..", len < 2 ? 2 : len) == 0) {
            close(at);
            errno = EXDEV;
            return -1;
        }
        memcpy(part, path, len);
        part[len] = '\0';
        bool last = path[len] == '\0';
        int next = openat(at, part,
                          last ? flags | O_NOFOLLOW | O_CLOEXEC
                               : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                          mode);
        int saved = errno;
        close(at);
        errno = saved;
        if (last) {
            return next;
        }
        at = next;
        path += len + 1;
    }
    return -1;
}

static int real_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)flags | O_CLOEXEC,
        .mode = (flags & O_CREAT) ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
        return open_by_walk(dir, path, flags, mode);
    }
    return (int)fd;
}

/* Others have clocks of their own, do without time where a file is mapped, or are what a
 * server says. */
static bool time_is_kept(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 &&
           (st.f_type == EXT4_SUPER_MAGIC || st.f_type == XFS_SUPER_MAGIC ||
            st.f_type == BTRFS_SUPER_MAGIC);
}

/* The time may be two seconds coarse. A page that is written to through a mapping has the
 * time of its first change until it is on disk, half a minute later. A call that writes
 * much has that of its begin. */
static int64_t real_unchanged_since(int fd)
{
    struct stat st;
    struct timespec now;
    if (!time_is_kept(fd) || fstat(fd, &st) < 0 ||
        clock_gettime(CLOCK_REALTIME, &now) < 0 || st.st_ctim.tv_sec <= 0 ||
        st.st_ctim.tv_sec >= now.tv_sec - UNCHANGED_S) {
        return 0;
    }
    return st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

const struct sys sys_real = {
    .now_ms = real_now_ms,
    .wall_s = real_wall_s,
    .random = real_random,
    .open_beneath = real_open_beneath,
    .pread = pread,
    .pwrite = pwrite,
    .fdatasync = fdatasync,
    .fsync = fsync,
    .renameat = renameat,
    .unlinkat = unlinkat,
    .fstatfs = fstatfs,
    .unchanged_since = real_unchanged_since,
};
