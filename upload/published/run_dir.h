/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells the programs of all users about a root: that it serves it, and its
 * progress. Others can write into the root, and lock it; here they can do neither.
 *
 *     /run/gpufl-agent/<device>-<inode>.lock      of the root; locked while it is served
 *     /run/gpufl-agent/<device>-<inode>.progress  see progress_file.h
 *     /run/gpufl-agent/<device>-<inode>.complete  likewise
 */
#ifndef GPUFL_UPLOAD_PUBLISHED_RUN_DIR_H
#define GPUFL_UPLOAD_PUBLISHED_RUN_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/sys.h"

/** Where programs look, unless GPUFL_RUNTIME_DIRECTORY names another directory. */
#define RUN_DIR_DEFAULT "/run/gpufl-agent"

struct run_dir;

/** Tells that the root \p root_fd is served, in the directory \p path, which must be
 * absolute, ours and closed to others. \return NULL with errno. */
struct run_dir *run_dir_publish(const struct sys *sys, const char *path, int root_fd);

/** Replaces the file \p name ("progress", "complete"). \return false with errno. */
bool run_dir_write(const struct run_dir *run, const char *name, const void *data,
                   size_t len);

/** Begins such a file, to be appended to, which others cannot open before it has its
 * name. \return false with errno. */
bool run_dir_begin(const struct run_dir *run, struct file_new *file);

/** Gives it its name, in the place of what has that. \return false with errno; then it is
 * removed. */
bool run_dir_show(const struct run_dir *run, struct file_new *file, const char *name);

/** Removes the files, and frees; NULL is ignored. */
void run_dir_close(struct run_dir *run);

/** \return true if a service tells that it serves the root \p root_fd. */
bool run_dir_is_served(int root_fd);

/** Opens the file \p name of the service that serves the root \p root_fd. \return the
 * descriptor, or -1 with errno: ENOENT if there is no such service. */
int run_dir_open(const struct sys *sys, int root_fd, const char *name);

#endif
