/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of a world's processes, their locks, and the way to a file. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tests/sim/kernel.h"
#include "tests/support/pick.h"

struct kernel_open *kernel_of(int fd)
{
    int i = fd - KERNEL_FD_FIRST;
    if (i < 0 || i >= KERNEL_FDS_MAX || !kernel.fd[i] ||
        kernel.fd_pid[i] != kernel.self) {
        errno = EBADF;
        return NULL;
    }
    return kernel.fd[i];
}

static int kernel_take_fd(struct kernel_open *open)
{
    for (int i = 0; i < KERNEL_FDS_MAX; i++) {
        if (!kernel.fd[i]) {
            kernel.fd_end = i < kernel.fd_end ? kernel.fd_end : i + 1;
            kernel.fd[i] = open;
            kernel.fd_pid[i] = kernel.self;
            open->refs++;
            return KERNEL_FD_FIRST + i;
        }
    }
    return -1;
}

int kernel_open(struct inode *inode, int flags, const char *path)
{
    struct kernel_open *open = malloc(sizeof *open);
    size_t len = strnlen(path, sizeof open->path - 1);
    memset(open, 0, offsetof(struct kernel_open, path));
    open->inode = inode;
    open->flags = flags;
    open->pid = kernel.self;
    memcpy(open->path, path, len);
    open->path[len] = '\0';
    int fd = kernel_take_fd(open);
    if (fd < 0) {
        free(open);
        errno = EMFILE;
    }
    return fd;
}

int kernel_dup(int fd)
{
    struct kernel_open *open = kernel_of(fd);
    return open ? kernel_take_fd(open) : -1;
}

int kernel_fork(int parent)
{
    const struct kernel_process *of = &kernel.process[parent];
    int self = kernel.self;
    int end = kernel.fd_end;
    int child = kernel_spawn(of->uid, of->host);
    kernel.self = child;
    for (int i = 0; i < end; i++) {
        if (kernel.fd[i] && kernel.fd_pid[i] == parent) {
            (void)kernel_take_fd(kernel.fd[i]);
        }
    }
    kernel.self = self;
    return child;
}

void kernel_close(int fd)
{
    struct kernel_open *open = kernel.fd[fd - KERNEL_FD_FIRST];
    kernel.fd[fd - KERNEL_FD_FIRST] = NULL;
    if (--open->refs == 0) {
        free(open->list);
        free(open);
    }
}

static void kernel_list_fds(struct kernel_open *open)
{
    for (int i = 0; i < kernel.fd_end; i++) {
        if (kernel.fd[i] && kernel.fd_pid[i] == open->inode->proc_fds) {
            snprintf(open->list[open->names++], INODE_NAME_MAX, "%d",
                     KERNEL_FD_FIRST + i);
        }
    }
}

void kernel_list(struct kernel_open *open)
{
    const struct inode *dir = open->inode;
    if (open->listed) {
        return;
    }
    open->listed = true;
    open->list =
        malloc((dir->proc_fds ? KERNEL_FDS_MAX : dir->names + 1) * sizeof *open->list);
    if (dir->proc_fds) {
        kernel_list_fds(open);
        return;
    }
    for (unsigned i = 0; i < dir->names; i++) {
        unsigned j = (unsigned)(kernel_random() % (i + 1));
        memcpy(open->list[i], open->list[j], sizeof open->list[i]);
        memcpy(open->list[j], dir->name[i].name, sizeof open->list[j]);
    }
    open->names = dir->names;
}

static bool kernel_sees(const struct kernel_open *open, const struct kernel_open *other)
{
    return other && other != open && other->inode == open->inode &&
           (!kernel.far ||
            kernel.process[other->pid].host == kernel.process[open->pid].host);
}

bool kernel_flock_conflicts(const struct kernel_open *open, bool exclusive)
{
    for (int i = 0; i < kernel.fd_end; i++) {
        const struct kernel_open *other = kernel.fd[i];
        if (kernel_sees(open, other) &&
            (other->flock == LOCK_EX || (other->flock && exclusive))) {
            return true;
        }
    }
    return false;
}

const struct kernel_open *kernel_write_lock(const struct kernel_open *open)
{
    for (int i = 0; i < kernel.fd_end; i++) {
        if (kernel_sees(open, kernel.fd[i]) && kernel.fd[i]->write_lock) {
            return kernel.fd[i];
        }
    }
    return NULL;
}

static struct inode *kernel_step_into(struct inode *dir, const char *name)
{
    if (!S_ISDIR(dir->mode)) {
        errno = S_ISLNK(dir->mode) ? ELOOP : ENOTDIR;
        return NULL;
    }
    struct inode *found = strcmp(name, ".") == 0    ? dir
                          : strcmp(name, "..") == 0 ? dir->parent
                                                    : inode_look(dir, name);
    errno = found ? errno : ENOENT;
    return found;
}

struct inode *kernel_walk(int dir, const char *path, char last[INODE_NAME_MAX])
{
    struct inode *at = inode_root();
    last[0] = '\0';
    if (path[0] != '/' && dir != AT_FDCWD) {
        struct kernel_open *open = kernel_of(dir);
        if (!open) {
            return NULL;
        }
        at = open->inode;
    }
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t len = strcspn(path, "/");
        at = last[0] ? kernel_step_into(at, last) : at;
        if (!at) {
            return NULL;
        }
        size_t kept = len < INODE_NAME_MAX ? len : INODE_NAME_MAX - 1;
        memcpy(last, path, kept);
        last[kept] = '\0';
        path += len;
    }
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        at = kernel_step_into(at, last);
        last[0] = '\0';
    }
    if (at && last[0] && !S_ISDIR(at->mode)) {
        errno = S_ISLNK(at->mode) ? ELOOP : ENOTDIR;
        at = NULL;
    }
    return at;
}

struct inode *kernel_find(int dir, const char *path)
{
    char last[INODE_NAME_MAX];
    struct inode *at = kernel_walk(dir, path, last);
    return at && last[0] ? kernel_step_into(at, last) : at;
}
