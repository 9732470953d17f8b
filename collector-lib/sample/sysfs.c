/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files of sysfs and procfs. */
#include "collector-lib/sample/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *sysfs_root(const char *set)
{
    return set && *set ? set : "/sys";
}

/* \p n < 0: a sensor that exists and returns EINVAL or ENODATA. */
static bool sysfs_end_text(char *out, ssize_t n)
{
    if (n > 0 && out[n - 1] == '\n') {
        n--;
    }
    out[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

static bool sysfs_parse_number(const char *text, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (errno || end == text) {
        return false;
    }
    *out = value;
    return true;
}

bool sysfs_text(int dir_fd, const char *name, char *out, size_t size)
{
    out[0] = '\0';
    struct own_fd file;
    if (!own_fd_take_briefly(&file, openat(dir_fd, name, O_RDONLY | O_CLOEXEC))) {
        return false;
    }
    ssize_t n = read(file.fd, out, size - 1);
    own_fd_close(&file);
    return sysfs_end_text(out, n);
}

bool sysfs_number(int dir_fd, const char *name, int64_t *out)
{
    char text[64];
    return sysfs_text(dir_fd, name, text, sizeof text) && sysfs_parse_number(text, out);
}

void sysfs_file_init(struct sysfs_file *file, const char *dir, const char *name)
{
    *file = (struct sysfs_file)SYSFS_FILE_NONE;
    if (asprintf(&file->path, "%s/%s", dir, name) < 0) {
        file->path = NULL;
    }
}

void sysfs_file_fini(struct sysfs_file *file)
{
    own_fd_close(&file->own);
    free(file->path);
    file->path = NULL;
}

/* One that is not there, such as the limit of the group above all, is looked for by its
 * name: an open(2) that fails takes a number, too, until it does. */
static bool sysfs_file_open(struct sysfs_file *file)
{
    return access(file->path, F_OK) == 0 &&
           own_fd_take(&file->own, open(file->path, O_RDONLY | O_CLOEXEC));
}

bool sysfs_file_text(struct sysfs_file *file, char *out, size_t size)
{
    out[0] = '\0';
    if (!file->path || (!own_fd_is_ours(&file->own) && !sysfs_file_open(file))) {
        return false;
    }
    return sysfs_end_text(out, pread(file->own.fd, out, size - 1, 0));
}

bool sysfs_file_number(struct sysfs_file *file, int64_t *out)
{
    char text[64];
    return sysfs_file_text(file, text, sizeof text) && sysfs_parse_number(text, out);
}

int sysfs_dir(int dir_fd, const char *name)
{
    return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
