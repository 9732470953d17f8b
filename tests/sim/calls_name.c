/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on names: opening, linking, renaming, removing. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "agent/landlock.h"
#include "tests/sim/calls.h"
#include "tests/sim/kernel.h"
#include "tests/support/pick.h"

/* Of what /proc has as files, what the product reads. */
static struct inode *proc_file(const char *path)
{
    char text[128];
    int pid = kernel.self;
    if (strcmp(path, "/proc/self/stat") != 0 &&
        (sscanf(path, "/proc/%d/stat", &pid) != 1 || !kernel_is_alive(pid) ||
         kernel.process[pid].host != kernel_self()->host)) {
        return NULL;
    }
    snprintf(text, sizeof text, "%d (x) S 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 0\n",
             pid, pid);
    struct inode *inode = inode_make(S_IFREG | 0444, 0);
    inode_write(inode, 0, text, strlen(text));
    return inode;
}

static struct inode *make_file(struct inode *dir, const char *name, mode_t mode)
{
    if (kernel.full) {
        errno = ENOSPC;
        return NULL;
    }
    struct inode *inode = inode_make(S_IFREG | mode, kernel_self()->uid);
    inode_link(dir, name, inode);
    return inode;
}

static struct inode *look_or_make(struct inode *dir, const char *name, int flags,
                                  mode_t mode)
{
    struct inode *inode = name[0] ? inode_look(dir, name) : dir;
    if (!inode && !(flags & O_CREAT)) {
        errno = ENOENT;
    } else if (!inode) {
        inode = make_file(dir, name, mode);
    } else if (flags & O_CREAT && flags & O_EXCL) {
        errno = EEXIST;
        inode = NULL;
    }
    return inode;
}

static int open_inode(struct inode *inode, int flags, const char *path)
{
    if (S_ISLNK(inode->mode)) {
        return kernel_refuse(ELOOP);
    }
    if (flags & O_DIRECTORY && !S_ISDIR(inode->mode)) {
        return kernel_refuse(ENOTDIR);
    }
    if (S_ISDIR(inode->mode) && flags & (O_WRONLY | O_RDWR)) {
        return kernel_refuse(EISDIR);
    }
    if (S_ISFIFO(inode->mode) && !(flags & O_NONBLOCK)) {
        kernel.hung = "opening a FIFO";
        return kernel_refuse(EIO);
    }
    if (flags & O_TRUNC) {
        inode_resize(inode, 0);
    }
    return kernel_open(inode, flags, path);
}

static int open_failing(int flags)
{
    static const int errors[] = {EMFILE, ENFILE, EIO};
    return flags & O_CREAT && pick(2) ? kernel_no_room() : kernel_refuse(errors[pick(3)]);
}

static bool may_open(const struct inode *at, const char *last, int flags)
{
    static const uint64_t access[] = {[O_RDONLY] = LANDLOCK_READ_FILE,
                                      [O_WRONLY] = LANDLOCK_WRITE_FILE,
                                      [O_RDWR] =
                                          LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE};
    const struct inode *inode = last[0] ? inode_look(at, last) : at;
    if (flags & O_PATH || (!inode && !(flags & O_CREAT))) {
        return true;
    }
    if (inode && S_ISDIR(inode->mode)) {
        return calls_allowed(inode, NULL, LANDLOCK_READ_DIR);
    }
    return calls_allowed(at, inode,
                         access[flags & O_ACCMODE] | (inode ? 0 : LANDLOCK_MAKE_FILE));
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    char last[INODE_NAME_MAX];
    if (!kernel_may()) {
        return -1;
    }
    struct inode *proc = strncmp(path, "/proc/", 6) == 0 ? proc_file(path) : NULL;
    if (proc) {
        return kernel_open(proc, flags, path);
    }
    if (kernel_fails()) {
        return open_failing(flags);
    }
    struct inode *at = kernel_walk(dir, path, last);
    if (at && !may_open(at, last, flags)) {
        return kernel_refuse(EACCES);
    }
    struct inode *inode = at ? look_or_make(at, last, flags, mode) : NULL;
    return inode ? open_inode(inode, flags, path) : -1;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(AT_FDCWD, path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(dir, path, flags, mode);
}

static long open_beneath(va_list list)
{
    int dir = va_arg(list, int);
    const char *path = va_arg(list, const char *);
    const struct open_how *how = va_arg(list, const struct open_how *);
    if (path[0] == '/' || strncmp(path, "..", 2) == 0 || strstr(path, "/..")) {
        return kernel_refuse(EXDEV);
    }
    return open_at(dir, path, (int)how->flags, (mode_t)how->mode);
}

/* What the C library does not have: openat2(2) and Landlock. */
long __wrap_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    long result =
        number == SYS_openat2 ? open_beneath(list) : calls_confine(number, list);
    va_end(list);
    return result;
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    char last[INODE_NAME_MAX];
    if (!kernel_may()) {
        return -1;
    }
    struct inode *at = kernel_walk(dir, path, last);
    if (!at) {
        return -1;
    }
    if (!last[0] || inode_look(at, last)) {
        return kernel_refuse(EEXIST);
    }
    if (!calls_allowed(at, NULL, LANDLOCK_MAKE_DIR)) {
        return kernel_refuse(EACCES);
    }
    if (kernel_fails() || kernel.full) {
        return kernel_no_room();
    }
    inode_link(at, last, inode_make(S_IFDIR | (mode & ~022u), kernel_self()->uid));
    return 0;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return __wrap_mkdirat(AT_FDCWD, path, mode);
}

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    char last[INODE_NAME_MAX];
    (void)flags;
    if (!kernel_may()) {
        return -1;
    }
    struct inode *inode = kernel_find(from_dir, from);
    struct inode *at = inode ? kernel_walk(to_dir, to, last) : NULL;
    if (!at) {
        return -1;
    }
    if (inode_look(at, last)) {
        return kernel_refuse(EEXIST);
    }
    if (!calls_allowed(at, NULL, LANDLOCK_MAKE_FILE)) {
        return kernel_refuse(EACCES);
    }
    if (kernel_fails()) {
        return kernel_no_room();
    }
    inode_link(at, last, inode);
    return 0;
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    char last[INODE_NAME_MAX];
    if (!kernel_may()) {
        return -1;
    }
    struct inode *at = kernel_walk(dir, path, last);
    struct inode *inode = at ? inode_look(at, last) : NULL;
    if (!inode) {
        return at ? kernel_refuse(ENOENT) : -1;
    }
    if (S_ISDIR(inode->mode) != ((flags & AT_REMOVEDIR) != 0)) {
        return kernel_refuse(flags & AT_REMOVEDIR ? ENOTDIR : EISDIR);
    }
    if (S_ISDIR(inode->mode) && inode->names) {
        return kernel_refuse(ENOTEMPTY);
    }
    if (!calls_allowed(at, NULL, LANDLOCK_REMOVE_FILE | LANDLOCK_REMOVE_DIR)) {
        return kernel_refuse(EACCES);
    }
    if (kernel_fails()) {
        return kernel_refuse(EIO);
    }
    inode_unlink(at, last);
    return 0;
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                     unsigned flags)
{
    char old[INODE_NAME_MAX];
    char new[INODE_NAME_MAX];
    if (!kernel_may()) {
        return -1;
    }
    struct inode *source = kernel_walk(from_dir, from, old);
    struct inode *target = source ? kernel_walk(to_dir, to, new) : NULL;
    struct inode *inode = target ? inode_look(source, old) : NULL;
    if (!inode) {
        return target ? kernel_refuse(ENOENT) : -1;
    }
    if (!calls_allowed(source, NULL, LANDLOCK_REMOVE_FILE) ||
        !calls_allowed(target, NULL, LANDLOCK_MAKE_FILE)) {
        return kernel_refuse(EACCES);
    }
    const struct inode *there = inode_look(target, new);
    if (there && (flags & RENAME_NOREPLACE)) {
        return kernel_refuse(EEXIST);
    }
    if (there && S_ISDIR(there->mode) && there->names) {
        return kernel_refuse(ENOTEMPTY);
    }
    if (kernel_fails()) {
        return kernel_no_room();
    }
    inode_rename(source, old, target, new);
    return 0;
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return __wrap_renameat2(from_dir, from, to_dir, to, 0);
}
