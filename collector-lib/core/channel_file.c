/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the files of a channel their names, so that a reader can tell at any moment, and
 * after a kill, which of them is missing. */
#include "collector-lib/core/channel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"

static int channel_file_create(int dir, const char *name)
{
    return openat(dir, name,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666);
}

/* What has the name is left by a rotation that failed, or was planted: it is removed, and
 * never opened. */
static int channel_file_create_anew(int dir, const char *name)
{
    int fd = channel_file_create(dir, name);
    if (fd < 0 && errno == EEXIST && unlinkat(dir, name, 0) == 0) {
        fd = channel_file_create(dir, name);
    }
    return fd;
}

int channel_file_begin(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    *file = (struct channel_file){.own = OWN_FD_NONE};
    return own_fd_take(&file->own, channel_file_create(dir, active)) ? 0 : -1;
}

/* Never by a second name: after a kill, one file would count as two. */
static bool channel_file_rename_new(int dir, const char *from, const char *to)
{
    int rc = renameat2(dir, from, dir, to, RENAME_NOREPLACE);
    if (rc < 0 && errno == EINVAL) { /* a file system without RENAME_NOREPLACE */
        rc = faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT
                 ? renameat(dir, from, dir, to)
                 : -1;
    }
    return rc == 0;
}

/* A job may be killed between the two renames. Then `.gpufl-next.…` says that the file
 * after the sealed one was not begun, so nothing is missing. Its number tells it from one
 * that was left before a seal. */
void channel_file_rotate(struct channel_file *file, int dir, enum channel channel)
{
    const char *name = channel_name(channel);
    char active[LAYOUT_PATH_MAX];
    char sealed[LAYOUT_PATH_MAX];
    char next[LAYOUT_PATH_MAX];
    uint32_t number = file->rotated + 1;
    layout_active(active, name, false);
    layout_numbered(sealed, name, number, false);
    layout_next(next, name, number + 1);
    int fd = channel_file_create_anew(dir, next);
    if (fd < 0) {
        return;
    }
    bool is_sealed = channel_file_rename_new(dir, active, sealed);
    if (is_sealed && renameat(dir, next, dir, active) == 0) {
        own_fd_close(&file->own);
        *file = (struct channel_file){.rotated = number};
        own_fd_take(&file->own, fd);
        return;
    }
    /* Without an active file the next lines would be lost, so the seal is undone. */
    if (!is_sealed || renameat(dir, sealed, dir, active) == 0) {
        unlinkat(dir, next, 0);
    }
    close(fd);
}

void channel_file_mend(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    if (!own_fd_is_ours(&file->own)) {
        layout_active(active, channel_name(channel), false);
        own_fd_replace(&file->own,
                       openat(dir, active, O_RDWR | O_NOFOLLOW | O_APPEND | O_CLOEXEC));
    }
}

static bool copy_all(int from, int to)
{
    char part[16384];
    ssize_t n;
    for (off_t at = 0; (n = pread(from, part, sizeof part, at)) > 0; at += n) {
        if (write(to, part, (size_t)n) != n) {
            return false;
        }
    }
    return n == 0;
}

/* Another tool may have compressed the active file and removed it. All that was written
 * is still behind our descriptor: it becomes the active file again, and readers go on in
 * it. */
void channel_file_restore(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    char staged[sizeof LAYOUT_STAGING_PREFIX + LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    snprintf(staged, sizeof staged, "%s%s", LAYOUT_STAGING_PREFIX, active);
    unlinkat(dir, staged, 0);
    int fd = channel_file_create(dir, staged);
    if (fd < 0) {
        return; /* the directory is gone, or there is no room: next time */
    }
    if (copy_all(file->own.fd, fd) && channel_file_rename_new(dir, staged, active)) {
        own_fd_close(&file->own);
        own_fd_take(&file->own, fd);
        return;
    }
    unlinkat(dir, staged, 0);
    close(fd);
}
