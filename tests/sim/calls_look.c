/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that look: what a file is, which names a directory has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tests/sim/calls.h"
#include "tests/sim/kernel.h"

/* What a DIR of the C library is here. */
struct calls_dir {
    int fd;
    struct dirent entry;
};

static struct timespec time_of(int64_t ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

static struct statx_timestamp timestamp_of(int64_t ms)
{
    return (struct statx_timestamp){.tv_sec = ms / 1000,
                                    .tv_nsec = (uint32_t)(ms % 1000) * 1000000};
}

static int tell(const struct inode *inode, struct stat *st)
{
    if (!inode) {
        return -1;
    }
    *st = (struct stat){.st_dev = makedev(0, (unsigned)inode->device),
                        .st_ino = inode->number,
                        .st_mode = inode->mode,
                        .st_nlink = inode->links,
                        .st_uid = inode->uid,
                        .st_size = (off_t)(inode->size - inode->hidden),
                        .st_mtim = time_of(inode->modified_ms),
                        .st_ctim = time_of(inode->changed_ms)};
    return 0;
}

int __wrap_fstat(int fd, struct stat *st)
{
    const struct kernel_open *open = kernel_may() ? kernel_of(fd) : NULL;
    return open ? tell(open->inode, st) : -1;
}

/* In /proc/<pid>/fd, a name is a number, and leads to what is open. */
static const struct kernel_open *proc_fd(int dir, const char *name)
{
    const struct kernel_open *open = dir >= KERNEL_FD_FIRST ? kernel_of(dir) : NULL;
    int i = open && open->inode->proc_fds ? (int)strtol(name, NULL, 10) - KERNEL_FD_FIRST
                                          : -1;
    return i >= 0 && i < KERNEL_FDS_MAX ? kernel.fd[i] : NULL;
}

int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
    (void)flags;
    if (!kernel_may()) {
        return -1;
    }
    const struct kernel_open *open = proc_fd(dir, path);
    return tell(open ? open->inode : kernel_find(dir, path), st);
}

static int stat_proc(const char *path, struct stat *st)
{
    int pid = (int)strtol(path, NULL, 10);
    bool is = kernel_is_alive(pid) && kernel.process[pid].host == kernel_self()->host;
    if (strcmp(path, "self/ns/pid") == 0) {
        *st = (struct stat){.st_ino = 4026531836u + kernel_self()->host};
        return 0;
    }
    *st = (struct stat){.st_uid = is ? kernel.process[pid].uid : 0};
    return is ? 0 : kernel_refuse(ENOENT);
}

int __wrap_stat(const char *path, struct stat *st)
{
    if (!kernel_may()) {
        return -1;
    }
    return strncmp(path, "/proc/", 6) == 0 ? stat_proc(path + 6, st)
                                           : tell(kernel_find(AT_FDCWD, path), st);
}

int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
    (void)flags;
    if (!kernel_may()) {
        return -1;
    }
    const struct inode *inode = kernel_find(dir, path);
    if (!inode) {
        return -1;
    }
    *st = (struct statx){.stx_mask = mask | STATX_BASIC_STATS | STATX_BTIME,
                         .stx_dev_minor = (unsigned)inode->device,
                         .stx_ino = inode->number,
                         .stx_mode = (uint16_t)inode->mode,
                         .stx_nlink = inode->links,
                         .stx_uid = inode->uid,
                         .stx_size = inode->size - inode->hidden,
                         .stx_mtime = timestamp_of(inode->modified_ms),
                         .stx_ctime = timestamp_of(inode->changed_ms),
                         .stx_btime = timestamp_of(inode->born_ms)};
    return 0;
}

int __wrap_faccessat(int dir, const char *path, int mode, int flags)
{
    (void)mode;
    (void)flags;
    return kernel_may() && kernel_find(dir, path) ? 0 : -1;
}

int __wrap_access(const char *path, int mode)
{
    return __wrap_faccessat(AT_FDCWD, path, mode, 0);
}

char *__wrap_realpath(const char *path, char *out)
{
    if (!kernel_may() || !kernel_find(AT_FDCWD, path)) {
        return NULL;
    }
    return out ? memcpy(out, path, strlen(path) + 1)
               : strdup(path); /* there are no links */
}

ssize_t __wrap_readlinkat(int dir, const char *path, char *out, size_t size)
{
    const struct kernel_open *open = kernel_may() ? proc_fd(dir, path) : NULL;
    if (!open) {
        return kernel_refuse(EINVAL);
    }
    size_t len = strlen(open->path);
    len = len < size ? len : size;
    memcpy(out, open->path, len);
    return (ssize_t)len;
}

ssize_t __wrap_getdents64(int fd, void *buf, size_t size)
{
    struct kernel_open *open = kernel_may() ? kernel_of(fd) : NULL;
    size_t done = 0;
    if (!open || !S_ISDIR(open->inode->mode)) {
        return open ? kernel_refuse(ENOTDIR) : -1;
    }
    if (kernel_fails()) {
        return kernel_refuse(EIO);
    }
    for (kernel_list(open); open->at < open->names; open->at++) {
        const char *name = open->list[open->at];
        size_t len = offsetof(struct dirent64, d_name) + strlen(name) + 1;
        size_t record = (len + 7) & ~(size_t)7;
        struct dirent64 *entry = (struct dirent64 *)(void *)((char *)buf + done);
        if (done + record > size) {
            break;
        }
        const struct inode *inode = inode_look(open->inode, name);
        memset(entry, 0, record);
        entry->d_ino = inode ? inode->number : 1;
        entry->d_reclen = (unsigned short)record;
        entry->d_type = inode ? IFTODT(inode->mode) : DT_UNKNOWN;
        memcpy(entry->d_name, name, strlen(name) + 1);
        done += record;
    }
    return (ssize_t)done;
}

DIR *__wrap_fdopendir(int fd)
{
    const struct kernel_open *open = kernel_may() ? kernel_of(fd) : NULL;
    struct calls_dir *dir = open ? calloc(1, sizeof *dir) : NULL;
    if (dir) {
        dir->fd = fd;
    }
    return (DIR *)dir;
}

DIR *__wrap_opendir(const char *path)
{
    if (!kernel_may() || strncmp(path, "/proc/", 6) != 0) {
        return NULL;
    }
    int pid = (int)strtol(path + 6, NULL, 10);
    pid = pid ? pid : kernel.self;
    if (!kernel_is_alive(pid)) {
        errno = ENOENT;
        return NULL;
    }
    struct inode *inode = inode_make(S_IFDIR | 0500, kernel.process[pid].uid);
    inode->proc_fds = pid;
    return __wrap_fdopendir(kernel_open(inode, O_RDONLY | O_DIRECTORY, path));
}

struct dirent *__wrap_readdir(DIR *stream)
{
    struct calls_dir *dir = (struct calls_dir *)stream;
    struct kernel_open *open = kernel_may() ? kernel_of(dir->fd) : NULL;
    if (!open) {
        return NULL;
    }
    kernel_list(open);
    if (open->at == open->names) {
        return NULL;
    }
    snprintf(dir->entry.d_name, sizeof dir->entry.d_name, "%s", open->list[open->at++]);
    return &dir->entry;
}

int __wrap_closedir(DIR *stream)
{
    struct calls_dir *dir = (struct calls_dir *)stream;
    int rc = __wrap_close(dir->fd);
    free(dir);
    return rc;
}

int __wrap_dirfd(DIR *stream)
{
    return ((struct calls_dir *)stream)->fd;
}
