/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, reads and replaces files that others may tamper with. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int file_open(const struct sys *sys, int dir, const char *path)
{
    int fd = sys->open_beneath(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    struct stat st;
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1) {
        close(fd);
        errno = ELOOP;
        return -1;
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

gpufl_status file_read(const struct sys *sys, int dir, const char *path, size_t cap,
                       char **out, size_t *len)
{
    gpufl_status status = GPUFL_OK;
    char *data = NULL;
    struct stat st;
    *out = NULL;
    *len = 0;
    int fd = file_open(sys, dir, path);
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

gpufl_status file_replace(const struct sys *sys, int dir, const char *name,
                          const void *data, size_t len, bool durable)
{
    char temp[300];
    snprintf(temp, sizeof temp, "%s.tmp", name);
    int fd = sys->open_beneath(dir, temp, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
        return GPUFL_ERR_IO;
    }
    int rc = file_pwrite_all(sys, fd, data, len, 0);
    if (rc == 0 && durable) {
        rc = sys->fsync(fd);
    }
    int saved = errno;
    close(fd);
    errno = saved;
    if (rc == 0) {
        rc = sys->renameat(dir, temp, dir, name);
    }
    if (rc < 0) {
        saved = errno;
        sys->unlinkat(dir, temp, 0);
        errno = saved;
        return GPUFL_ERR_IO;
    }
    return durable && sys->fsync(dir) < 0 ? GPUFL_ERR_IO : GPUFL_OK;
}
