/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on descriptors: reading, writing, syncing, locking. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "tests/sim/calls.h"
#include "tests/sim/kernel.h"
#include "tests/support/pick.h"

#define ROOM_BYTES (1ull << 40)

/* What it refers to, if its process may make a call at all. */
static struct kernel_open *call_of(int fd)
{
    return kernel_may() ? kernel_of(fd) : NULL;
}

int __wrap_close(int fd)
{
    if (fd < KERNEL_FD_FIRST) {
        return __real_close(fd);
    }
    if (!kernel_of(fd)) {
        return -1;
    }
    kernel_close(fd);
    return 0;
}

static ssize_t read_at(int fd, void *buf, size_t len, uint64_t at)
{
    const struct kernel_open *open = call_of(fd);
    if (!open) {
        return -1;
    }
    if (S_ISDIR(open->inode->mode)) {
        return kernel_refuse(EISDIR);
    }
    if (kernel_fails()) {
        switch (pick(3)) {
        case 0:
            return kernel_refuse(EINTR);
        case 1:
            return kernel_refuse(EIO);
        default:
            len = len > 1 ? pick(len - 1) + 1 : len; /* short */
        }
    }
    uint64_t end = open->inode->size - open->inode->hidden;
    uint64_t left = at < end ? end - at : 0;
    return (ssize_t)inode_read(open->inode, at, buf, len < left ? len : (size_t)left);
}

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t at)
{
    return read_at(fd, buf, len, (uint64_t)at);
}

ssize_t __wrap_read(int fd, void *buf, size_t len)
{
    if (fd < KERNEL_FD_FIRST) {
        return __real_read(fd, buf, len);
    }
    struct kernel_open *open = kernel_of(fd);
    ssize_t n = open ? read_at(fd, buf, len, open->at) : -1;
    if (n > 0) {
        open->at += (uint64_t)n;
    }
    return n;
}

/* A disk without room takes what lies within the file, as blocks of that are there. */
static ssize_t write_at(int fd, const void *buf, size_t len, uint64_t at)
{
    const struct kernel_open *open = call_of(fd);
    if (!open) {
        return -1;
    }
    if (kernel.full && at + len > open->inode->size) {
        return kernel_refuse(ENOSPC);
    }
    if (kernel_fails()) {
        switch (pick(3)) {
        case 0:
            return kernel_refuse(EINTR);
        case 1:
            return kernel_no_room();
        default:
            len = len > 1 ? pick(len - 1) + 1 : len;
        }
    }
    inode_write(open->inode, at, buf, len);
    return (ssize_t)len;
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    return write_at(fd, buf, len, (uint64_t)at);
}

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
    if (fd < KERNEL_FD_FIRST) {
        return __real_write(fd, buf, len);
    }
    struct kernel_open *open = kernel_of(fd);
    if (!open) {
        return -1;
    }
    open->at = open->flags & O_APPEND ? open->inode->size : open->at;
    ssize_t n = write_at(fd, buf, len, open->at);
    if (n > 0) { /* else the process may have been killed, and the file closed */
        open->at += (uint64_t)n;
    }
    return n;
}

off_t __wrap_lseek(int fd, off_t at, int whence)
{
    struct kernel_open *open = call_of(fd);
    if (!open || whence != SEEK_SET) {
        return open ? kernel_refuse(EINVAL) : -1;
    }
    open->at = (uint64_t)at;
    open->listed = false; /* a directory is listed anew */
    open->names = 0;
    free(open->list);
    open->list = NULL;
    return at;
}

int __wrap_fsync(int fd)
{
    struct kernel_open *open = call_of(fd);
    if (!open) {
        return -1;
    }
    if (kernel_fails()) {
        inode_drop_pages(open->inode);
        return kernel_no_room();
    }
    inode_sync(open->inode);
    return 0;
}

int __wrap_fdatasync(int fd)
{
    return __wrap_fsync(fd);
}

int __wrap_ftruncate(int fd, off_t size)
{
    struct kernel_open *open = call_of(fd);
    if (!open || kernel_fails()) {
        return open ? kernel_refuse(EIO) : -1;
    }
    inode_resize(open->inode, (uint64_t)size);
    return 0;
}

int __wrap_posix_fallocate(int fd, off_t at, off_t len)
{
    struct kernel_open *open = call_of(fd);
    if (!open) {
        return errno;
    }
    if (kernel_fails() || kernel.full) {
        return ENOSPC;
    }
    if ((uint64_t)(at + len) > open->inode->size) {
        inode_write(open->inode, (uint64_t)(at + len), "", 0);
    }
    return 0;
}

int __wrap_fchmod(int fd, mode_t mode)
{
    struct kernel_open *open = call_of(fd);
    if (open) {
        open->inode->mode = (open->inode->mode & S_IFMT) | mode;
    }
    return open ? 0 : -1;
}

int __wrap_flock(int fd, int how)
{
    struct kernel_open *open = call_of(fd);
    if (!open) {
        return -1;
    }
    if (how == LOCK_UN) {
        open->flock = 0;
        return 0;
    }
    if (kernel_flock_conflicts(open, (how & LOCK_EX) != 0)) {
        kernel.hung = how & LOCK_NB ? kernel.hung : "flock";
        return kernel_refuse(EWOULDBLOCK);
    }
    open->flock = how & (LOCK_EX | LOCK_SH);
    return 0;
}

static int ask_lock(const struct kernel_open *open, struct flock *lock)
{
    bool held = kernel_write_lock(open) != NULL;
    lock->l_type = held ? F_WRLCK : F_UNLCK;
    lock->l_pid = -1;
    return 0;
}

int __wrap_fcntl(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    struct flock *lock = va_arg(list, void *); /* or a number, which is not looked at */
    va_end(list);
    struct kernel_open *open = call_of(fd);
    if (!open) {
        return -1;
    }
    switch (command) {
    case F_DUPFD_CLOEXEC:
        return kernel_dup(fd);
    case F_OFD_GETLK:
        return ask_lock(open, lock);
    case F_OFD_SETLK:
        if (lock->l_type != F_UNLCK && kernel_write_lock(open)) {
            return kernel_refuse(EAGAIN);
        }
        open->write_lock = lock->l_type == F_WRLCK;
        return 0;
    default:
        return kernel_refuse(EINVAL);
    }
}

int __wrap_fstatfs(int fd, struct statfs *st)
{
    if (!call_of(fd)) {
        return -1;
    }
    memset(st, 0, sizeof *st);
    st->f_type = kernel.far ? NFS_SUPER_MAGIC : EXT4_SUPER_MAGIC;
    return 0;
}

int __wrap_fstatvfs(int fd, struct statvfs *st)
{
    if (!call_of(fd)) {
        return -1;
    }
    memset(st, 0, sizeof *st);
    st->f_frsize = 4096;
    st->f_bavail = kernel.full ? 0 : ROOM_BYTES / 4096;
    return 0;
}
