/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads what a service publishes in its runtime directory. */
#include "upload/published/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"

#define RUN_DIR_KEY_MAX  48
#define RUN_DIR_NAME_MAX (RUN_DIR_KEY_MAX + 32)

struct run_dir {
    const struct sys *sys;
    int dir;
    int lock;
    char key[RUN_DIR_KEY_MAX];
};

/* Device and inode: the same for a root that is mounted in several places. */
static bool run_dir_key(int root_fd, char out[RUN_DIR_KEY_MAX])
{
    struct stat st;
    if (fstat(root_fd, &st) < 0) {
        return false;
    }
    snprintf(out, RUN_DIR_KEY_MAX, "%x.%x-%llx", major(st.st_dev), minor(st.st_dev),
             (unsigned long long)st.st_ino);
    return true;
}

static void run_dir_name(char out[RUN_DIR_NAME_MAX], const char *key, const char *name)
{
    snprintf(out, RUN_DIR_NAME_MAX, "%s.%s", key, name);
}

bool run_dir_begin(const struct run_dir *run, struct file_new *file)
{
    char name[32];
    *file = (struct file_new){.sys = run->sys, .dir = run->dir};
    snprintf(name, sizeof name, "new.%d", (int)getpid());
    run_dir_name(file->temp, run->key, name);
    file->fd = file_create(run->sys, run->dir, file->temp, 0600);
    return file->fd >= 0;
}

bool run_dir_show(const struct run_dir *run, struct file_new *file, const char *name)
{
    char final[RUN_DIR_NAME_MAX];
    run_dir_name(final, run->key, name);
    if (file->fd >= 0 && fchmod(file->fd, 0644) < 0) {
        file_new_drop(file);
    }
    return file_new_take_place(file, final);
}

/* The lock is new, so that nobody can have opened it: even a reader could lock it. */
static int run_dir_lock(const struct run_dir *run)
{
    struct file_new file;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = run_dir_begin(run, &file) ? fcntl(file.fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0 &&
        run_dir_show(run, &file, "lock")) {
        return fd;
    }
    file_new_drop(&file);
    if (fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return -1;
}

struct run_dir *run_dir_publish(const struct sys *sys, const char *path, int root_fd)
{
    struct run_dir *run = calloc(1, sizeof *run);
    if (!run) {
        return NULL;
    }
    run->sys = sys;
    run->lock = -1;
    errno = EINVAL;
    run->dir = *path == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (run->dir >= 0 && file_dir_is_ours(run->dir) && run_dir_key(root_fd, run->key)) {
        run->lock = run_dir_lock(run);
    }
    if (run->lock < 0) {
        int error = errno;
        run_dir_close(run);
        errno = error;
        return NULL;
    }
    return run;
}

bool run_dir_write(const struct run_dir *run, const char *name, const void *data,
                   size_t len)
{
    struct file_new file;
    return run_dir_begin(run, &file) && file_new_append(&file, data, len) &&
           run_dir_show(run, &file, name);
}

void run_dir_close(struct run_dir *run)
{
    static const char *const file[] = {"progress", "complete", "lock"};
    if (!run) {
        return;
    }
    for (unsigned i = 0; run->lock >= 0 && i < 3; i++) {
        char name[RUN_DIR_NAME_MAX];
        run_dir_name(name, run->key, file[i]);
        run->sys->unlinkat(run->dir, name, 0);
    }
    if (run->lock >= 0) {
        close(run->lock);
    }
    if (run->dir >= 0) {
        close(run->dir);
    }
    free(run);
}

/* Nobody but its owner writes there, and nobody but root can have given it its name,
 * unless it is ours. */
static bool run_dir_is_trusted(int dir, struct stat *st)
{
    struct stat above;
    return fstat(dir, st) == 0 && !(st->st_mode & 022) &&
           (st->st_uid == 0 || st->st_uid == geteuid() ||
            (fstatat(dir, "..", &above, 0) == 0 && above.st_uid == 0 &&
             !(above.st_mode & 022)));
}

static bool run_dir_is_locked(int dir, const char *key, uid_t owner)
{
    char name[RUN_DIR_NAME_MAX];
    struct stat st;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    run_dir_name(name, key, "lock");
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool locked = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                  st.st_uid == owner && fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
                  lock.l_type == F_WRLCK;
    if (fd >= 0) {
        close(fd);
    }
    return locked;
}

/* \return the directory in which a service tells that it serves the root, or -1. */
static int run_dir_of_root(int root_fd, char key[RUN_DIR_KEY_MAX])
{
    struct stat st;
    const char *named = secure_getenv("GPUFL_RUNTIME_DIRECTORY");
    int dir = open(named && *named ? named : RUN_DIR_DEFAULT,
                   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && !(run_dir_is_trusted(dir, &st) && run_dir_key(root_fd, key) &&
                      run_dir_is_locked(dir, key, st.st_uid))) {
        close(dir);
        dir = -1;
    }
    return dir;
}

bool run_dir_is_served(int root_fd)
{
    char key[RUN_DIR_KEY_MAX];
    int dir = run_dir_of_root(root_fd, key);
    if (dir >= 0) {
        close(dir);
    }
    return dir >= 0;
}

int run_dir_open(const struct sys *sys, int root_fd, const char *name)
{
    char key[RUN_DIR_KEY_MAX];
    char file[RUN_DIR_NAME_MAX];
    int dir = run_dir_of_root(root_fd, key);
    if (dir < 0) {
        errno = ENOENT;
        return -1;
    }
    run_dir_name(file, key, name);
    int fd = file_open(sys, dir, file);
    int error = errno;
    close(dir);
    errno = error;
    return fd;
}
