/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, reads and replaces files that others may tamper with. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_may_be_read(const struct stat *file, const struct stat *dir)
{
    return S_ISREG(file->st_mode) &&
           (file->st_nlink <= 1 ||
            (file->st_uid == dir->st_uid && !(dir->st_mode & S_IWOTH)));
}

/* Opens the directory that holds \p path, and looks for the same file in it: the path may
 * lead elsewhere by now. */
static bool file_link_is_of_its_dir(const struct sys *sys, int dir, const char *path,
                                    const struct stat *file)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    struct stat in;
    struct stat found;
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    int fd = sys->open_beneath(dir, parent, O_PATH | O_DIRECTORY, 0);
    bool good = fd >= 0 && fstat(fd, &in) == 0 &&
                fstatat(fd, slash ? slash + 1 : path, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                found.st_dev == file->st_dev && found.st_ino == file->st_ino &&
                file_may_be_read(&found, &in);
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

/* Goes from \p out to its member \p name, \p len bytes. */
static bool real_path_step(char out[PATH_MAX], const char *name, size_t len)
{
    char next[PATH_MAX];
    char real[PATH_MAX];
    if (len == 2 && memcmp(name, "..", 2) == 0) {
        char *slash = strrchr(out, '/');
        slash[slash == out] = '\0';
        return true;
    }
    int n = snprintf(next, sizeof next, "%s/%.*s", out[1] ? out : "", (int)len, name);
    if (n >= (int)sizeof next) {
        errno = ENAMETOOLONG;
        return false;
    }
    bool there = realpath(next, real) != NULL;
    int error = errno;
    snprintf(out, PATH_MAX, "%s", there ? real : next);
    errno = error;
    return there || error == ENOENT;
}

bool file_real_path(const char *path, char out[PATH_MAX])
{
    bool good =
        *path == '/' ? snprintf(out, PATH_MAX, "/") > 0 : getcwd(out, PATH_MAX) != NULL;
    for (size_t len; good && *path; path += len + (path[len] == '/')) {
        len = strcspn(path, "/");
        if (len && !(len == 1 && *path == '.')) {
            good = real_path_step(out, path, len);
        }
    }
    return good;
}

int file_open(const struct sys *sys, int dir, const char *path)
{
    int fd = sys->open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat st;
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        (st.st_nlink > 1 && !file_link_is_of_its_dir(sys, dir, path, &st))) {
        close(fd);
        errno = ELOOP;
        return -1;
    }
    return fd;
}

bool file_dir_is_ours(int dir)
{
    struct stat st;
    if (fstat(dir, &st) < 0) {
        return false;
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022) {
        errno = EPERM;
        return false;
    }
    return true;
}

int file_open_owned(const struct sys *sys, int dir, const char *path)
{
    int fd =
        sys->open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    struct stat st;
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        (st.st_uid != geteuid() && st.st_uid != 0)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

int file_create(const struct sys *sys, int dir, const char *name, mode_t mode)
{
    int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = sys->open_beneath(dir, name, flags, mode);
    if (fd < 0 && errno == EEXIST && sys->unlinkat(dir, name, 0) == 0) {
        fd = sys->open_beneath(dir, name, flags, mode);
    }
    return fd;
}

/* The usual name comes first, so that what a crash leaves is replaced and does not pile
 * up. Where that name cannot be had, a random one is taken, which nobody can occupy. */
static int file_create_temp(const struct sys *sys, int dir, const char *name,
                            char temp[FILE_TEMP_NAME])
{
    uint64_t random;
    snprintf(temp, FILE_TEMP_NAME, "%s.tmp", name);
    int fd = file_create(sys, dir, temp, 0644);
    struct stat st;
    if (fd < 0 && fstatat(dir, temp, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        sys->random(&random, sizeof random);
        snprintf(temp, FILE_TEMP_NAME, "%s.%016" PRIx64 ".tmp", name, random);
        fd = file_create(sys, dir, temp, 0644);
    }
    return fd;
}

ssize_t file_pread_full(const struct sys *sys, int fd, void *data, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = sys->pread(fd, (char *)data + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int file_pwrite_all(const struct sys *sys, int fd, const void *data, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n =
            sys->pwrite(fd, (const char *)data + done, len - done, at + (off_t)done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return -1;
        }
        done += (size_t)n;
    }
    return 0;
}

gpufl_status file_read_fd(const struct sys *sys, int fd, size_t cap, char **out,
                          size_t *len)
{
    gpufl_status status = GPUFL_OK;
    char *data = NULL;
    struct stat st;
    *out = NULL;
    *len = 0;
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    if (fstat(fd, &st) < 0) {
        status = GPUFL_ERR_IO;
        goto out;
    }
    if ((uint64_t)st.st_size > cap) {
        status = GPUFL_ERR_FORMAT;
        goto out;
    }
    data = malloc((size_t)st.st_size + 1);
    if (!data) {
        status = GPUFL_ERR_NOMEM;
        goto out;
    }
    ssize_t n = file_pread_full(sys, fd, data, (size_t)st.st_size, 0);
    if (n < 0) {
        status = GPUFL_ERR_IO;
        goto out;
    }
    data[n] = '\0';
    *len = (size_t)n;
    *out = data;
    data = NULL;
out:
    free(data);
    close(fd);
    return status;
}

gpufl_status file_read(const struct sys *sys, int dir, const char *path, size_t cap,
                       char **out, size_t *len)
{
    return file_read_fd(sys, file_open(sys, dir, path), cap, out, len);
}

gpufl_status file_read_owned(const struct sys *sys, int dir, const char *path,
                             size_t max_bytes, char **out, size_t *len)
{
    return file_read_fd(sys, file_open_owned(sys, dir, path), max_bytes, out, len);
}

bool file_new_open(struct file_new *file, const struct sys *sys, int dir,
                   const char *name)
{
    *file = (struct file_new){.sys = sys, .dir = dir};
    file->fd = file_create_temp(sys, dir, name, file->temp);
    return file->fd >= 0;
}

void file_new_drop(struct file_new *file)
{
    int saved = errno;
    if (file->fd >= 0) {
        close(file->fd);
        file->sys->unlinkat(file->dir, file->temp, 0);
    }
    file->fd = -1;
    errno = saved;
}

bool file_new_append(struct file_new *file, const void *data, size_t len)
{
    if (file->fd < 0) {
        return false;
    }
    if (file_pwrite_all(file->sys, file->fd, data, len, file->at) < 0) {
        file_new_drop(file);
        return false;
    }
    file->at += (off_t)len;
    return true;
}

bool file_new_take_place(struct file_new *file, const char *name)
{
    if (file->fd < 0) {
        return false;
    }
    if (file->sys->renameat(file->dir, file->temp, file->dir, name) < 0) {
        file_new_drop(file);
        return false;
    }
    close(file->fd);
    file->fd = -1;
    return true;
}

gpufl_status file_replace(const struct sys *sys, int dir, const char *name,
                          const void *data, size_t len, bool durable)
{
    struct file_new file;
    if (!file_new_open(&file, sys, dir, name) || !file_new_append(&file, data, len)) {
        return GPUFL_ERR_IO;
    }
    if (durable && sys->fsync(file.fd) < 0) {
        file_new_drop(&file);
        return GPUFL_ERR_IO;
    }
    if (!file_new_take_place(&file, name)) {
        return GPUFL_ERR_IO;
    }
    return durable && sys->fsync(dir) < 0 ? GPUFL_ERR_IO : GPUFL_OK;
}

uint64_t file_hole_at(int fd, uint64_t offset, size_t len)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < offset + len) {
        return 0;
    }
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA);
    uint64_t size = (uint64_t)st.st_size;
    uint64_t end = data >= 0        ? (uint64_t)data
                   : errno == ENXIO ? size
                                    : offset; /* the file system does not know any */
    end = end < size ? end : size;
    return end >= offset + len ? end - offset : 0;
}
