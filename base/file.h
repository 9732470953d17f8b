/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and replaces small files as a whole; completes short reads and writes. */
#ifndef GPUFL_BASE_FILE_H
#define GPUFL_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <gpufl/status.h>

#include "base/sys.h"

struct stat;

/** \return true if \p file in the directory \p dir is a regular file that may be read:
 * one with a second name, which may be a file from elsewhere, only if it belongs to the
 * owner of the directory and nobody else can make names there. Backups by hard links are
 * so. */
bool file_may_be_read(const struct stat *file, const struct stat *dir);

/** As realpath(3), also of what does not exist yet: as if the directories that lack were
 * made. \return false with errno. */
bool file_real_path(const char *path, char out[PATH_MAX]);

/** Opens \p path beneath \p dir for reading, never blocking, and only if
 * file_may_be_read().
 *  \return the descriptor, or -1 with errno (ELOOP for anything but such a file). */
int file_open(const struct sys *sys, int dir, const char *path);

/** Reads a file of at most \p cap bytes. *out is malloc'd, NUL-terminated, the
 * caller's. \return GPUFL_OK; GPUFL_ERR_NOT_FOUND; GPUFL_ERR_FORMAT when larger than
 * \p cap; GPUFL_ERR_IO; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status file_read(const struct sys *sys, int dir, const char *path,
                                  size_t cap, char **out, size_t *len);

/** The same of an open file, which is closed; \p fd < 0 if it could not be opened, as
 * errno says. */
GPUFL_MUST gpufl_status file_read_fd(const struct sys *sys, int fd, size_t cap,
                                     char **out, size_t *len);

/** Opens a control file of ours for reading: only a regular file that belongs to our user
 * or to root, never blocking. \return the descriptor, or -1 with errno: EPERM for the
 * file of another user, and for anything but a regular file. */
int file_open_owned(const struct sys *sys, int dir, const char *path);

/** Reads a control file of ours: only a regular file that belongs to our user or to root,
 * never blocking, of at most \p max_bytes. \return as file_read; GPUFL_ERR_IO with EPERM
 * for the file of another user, and for anything but a regular file. */
GPUFL_MUST gpufl_status file_read_owned(const struct sys *sys, int dir, const char *path,
                                        size_t max_bytes, char **out, size_t *len);

/** True if the directory belongs to our user and nobody else can write to it; false with
 * errno otherwise. Control files of ours are written only there. */
bool file_dir_is_ours(int dir);

/** Creates `<dir>/<name>`, open for reading and writing. What has that name already is
 * removed, never opened. \return the descriptor, or -1 with errno. */
int file_create(const struct sys *sys, int dir, const char *name, mode_t mode);

/** Replaces `<dir>/<name>` by \p data: temporary file, rename; synced when \p durable.
 * The old file stays whole if anything fails. */
GPUFL_MUST gpufl_status file_replace(const struct sys *sys, int dir, const char *name,
                                     const void *data, size_t len, bool durable);

#define FILE_TEMP_NAME 320

/** A file under a temporary name, until all of it is written. */
struct file_new {
    const struct sys *sys;
    int dir; /**< borrowed */
    int fd;  /**< -1 = it is gone, or in its place */
    off_t at;
    char temp[FILE_TEMP_NAME];
};

/** Creates one that is to become `<dir>/<name>`. \return false with errno. */
bool file_new_open(struct file_new *file, const struct sys *sys, int dir,
                   const char *name);

/** Appends to it. \return false with errno; then it is removed, if it was there. */
bool file_new_append(struct file_new *file, const void *data, size_t len);

/** Closes it and gives it its name. \return false with errno; then it is removed. */
bool file_new_take_place(struct file_new *file, const char *name);

/** Removes it. */
void file_new_drop(struct file_new *file);

/** pwrite until all is written. \return 0 or -1 with errno. */
int file_pwrite_all(const struct sys *sys, int fd, const void *data, size_t len,
                    off_t at);

/** pread until \p len bytes or the end. \return bytes read, or -1 with errno. */
ssize_t file_pread_full(const struct sys *sys, int fd, void *data, size_t len, off_t at);

/** A file with holes costs its owner nothing. One of less than \p len bytes counts as
 * data. \return how many bytes of a hole are at \p offset. */
uint64_t file_hole_at(int fd, uint64_t offset, size_t len);

#endif
