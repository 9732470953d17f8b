/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lock file of a session, and what a rotation leaves. What others may have
 * planted counts for nothing. */
#include "upload/source/told.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/file.h"
#include "upload/source/gz_file.h"

static bool told_may_tell(int dir, struct stat *lock)
{
    struct stat of_dir;
    return fstatat(dir, LAYOUT_LOCK, lock, AT_SYMLINK_NOFOLLOW) == 0 &&
           lock->st_size > 0 && lock->st_size <= LAYOUT_TOLD_BYTES &&
           fstat(dir, &of_dir) == 0 && of_dir.st_uid == lock->st_uid;
}

/* Errors of the disk and limits pass; who may read the file was decided by others. */
static gpufl_status told_open_failed(int error)
{
    bool passes = error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
    return passes ? GPUFL_ERR_IO : GPUFL_ERR_NOT_FOUND;
}

gpufl_status told_read(const struct sys *sys, int dir, struct active_files *out,
                       bool *now)
{
    char text[LAYOUT_TOLD_BYTES];
    char boot_id[BOOT_ID_TEXT];
    char name[LAYOUT_LOCK_FILE_TEXT];
    struct stat before;
    struct stat st;
    ssize_t n = 0;
    errno = 0;
    int fd = told_may_tell(dir, &before) ? file_open(sys, dir, LAYOUT_LOCK) : -1;
    if (fd < 0) {
        return told_open_failed(errno);
    }
    if (fstat(fd, &st) == 0 && st.st_uid == before.st_uid) {
        n = file_pread_full(sys, fd, text, sizeof text, 0);
    }
    close(fd);
    if (n < 0) {
        return GPUFL_ERR_IO;
    }
    boot_id_get(boot_id);
    layout_lock_file(name, st.st_dev, st.st_ino);
    bool told = n > 0 && active_files_parse(text, (size_t)n, out) == GPUFL_OK;
    for (int c = 0; told && strcmp(out->lock_file, name) != 0 && c < CHANNEL_COUNT; c++) {
        out->inode[c] = -1;
    }
    *now = told && boot_id[0] && strcmp(out->boot_id, boot_id) == 0;
    return told ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

enum told_fit told_compare(int dir, enum channel channel, const struct active_files *told)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    if (told->least[channel] < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return TOLD_FITS;
    }
    bool other = told->inode[channel] > 0 && (uint64_t)told->inode[channel] != st.st_ino;
    return st.st_size < told->least[channel]             ? TOLD_LESS
           : other && st.st_size != told->bytes[channel] ? TOLD_OTHER
                                                         : TOLD_FITS;
}

/* The number of the file in "2049:131". */
static const char *told_inode(const char *lock_file)
{
    const char *colon = strchr(lock_file, ':');
    return colon ? colon : lock_file;
}

bool told_is_copy(int dir, const struct manifest *manifest)
{
    char boot_id[BOOT_ID_TEXT];
    char name[LAYOUT_LOCK_FILE_TEXT];
    struct stat st;
    if (!manifest->lock_file[0]) {
        return false; /* of an earlier writer */
    }
    if (fstatat(dir, LAYOUT_LOCK, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT;
    }
    boot_id_get(boot_id);
    layout_lock_file(name, st.st_dev, st.st_ino);
    return strcmp(boot_id, manifest->boot_id) == 0
               ? strcmp(name, manifest->lock_file) != 0
               : strcmp(told_inode(name), told_inode(manifest->lock_file)) != 0;
}

bool told_differs(int dir, enum channel channel, const struct active_files *told,
                  uint32_t highest)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    return told->number[channel] && (told->number[channel] != highest + 1 ||
                                     (told->bytes[channel] >= 0 &&
                                      fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                      st.st_size != told->bytes[channel]));
}

static bool told_has_not_begun(const struct sys *sys, int dir, const char *channel,
                               uint32_t file, bool *failed)
{
    char next[LAYOUT_PATH_MAX];
    struct active_files told;
    enum channel c = channel_named(channel);
    bool now = false;
    layout_next(next, channel, file);
    if (faccessat(dir, next, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return true; /* the name goes as soon as the file is begun */
    }
    gpufl_status status =
        c == CHANNEL_COUNT ? GPUFL_ERR_NOT_FOUND : told_read(sys, dir, &told, &now);
    *failed = status == GPUFL_ERR_IO;
    return status == GPUFL_OK && now && told.number[c] && told.bytes[c] >= 0 &&
           (told.number[c] < file || (told.number[c] == file && told.bytes[c] == 0));
}

bool told_is_earlier(const struct sys *sys, int dir, const char *channel, uint32_t file,
                     bool *failed)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    *failed = false;
    if (!told_has_not_begun(sys, dir, channel, file, failed)) {
        return false;
    }
    layout_active(name, channel, true);
    int fd = file_open(sys, dir, name);
    bool yields = fd >= 0 && fstat(fd, &st) == 0 &&
                  gz_file_says_bytes(sys, fd, (uint64_t)st.st_size) > 0;
    if (fd >= 0) {
        close(fd);
    }
    return yields;
}
