/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a directory is one that was seen before, here or under another path. */
#ifndef GPUFL_UPLOAD_SOURCE_DIRECTORY_MARK_H
#define GPUFL_UPLOAD_SOURCE_DIRECTORY_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "upload/journal/record_directory.h"

/** As what the users appear that a user namespace does not know. */
#define DIRECTORY_USER_UNKNOWN 65534u

enum directory_change {
    DIRECTORY_SAME,    /**< it is the same one, as far as can be told */
    DIRECTORY_OTHER,   /**< it is another one */
    DIRECTORY_FOREIGN, /**< likewise, and another user owns it, or may own it */
    DIRECTORY_AWAY     /**< nothing is there, or no directory */
};

/** Looks at the directory `<root>/<path>`. The mark stands for it, its owner and this
 * boot, whatever its path; it is 0 if the file system does not tell enough: numbers of
 * inodes are used again, so without the time of birth nothing is known. \return all 0 if
 * it is not there. */
struct directory_id directory_look(int root, const char *path);

/** Compares the directory `<root>/<path>` with one that is known. What was noted on
 * another boot tells no more than whose it was. */
enum directory_change directory_compare(int root, const char *path,
                                        const struct directory_id *known);

/** Looks at the open directory \p dir. What is compared, noted and read must be one
 * directory, and a path may name another one at each look. \return false if the kernel
 * does not tell. */
bool directory_see(int dir, struct statx *out);

/** \return what stands for this boot; 0 = it is not known. */
uint32_t directory_this_boot(void);

/** \return what stands for the directory that was seen, but for what it lies in. */
struct directory_id directory_id_of(const struct statx *seen);

/** Sets what \p id says of the group in which `<root>/<path>` lies, if it lies in one. */
void directory_note_above(int root, const char *path, struct directory_id *id);

/** Whether the directory `<root>/<path>` cannot be looked at, because of a directory
 * above it. A link leads out of the root. */
bool directory_is_closed(int root, const char *path);

/** The same, of one that is \p known (NULL = by nothing) as this user's, as far as can be
 * told: another group may have been made in the place of its own. */
bool directory_is_closed_own(int root, const char *path,
                             const struct directory_id *known);

/** As directory_compare(), with a directory that was seen. */
enum directory_change directory_compare_seen(const struct statx *seen,
                                             const struct directory_id *known);

/** Opens the directory `<root>/<path>` with O_PATH if it is the one that is known.
 * \return the descriptor, or -1 with errno: ESTALE if it is another one. */
int directory_open(const struct sys *sys, int root, const char *path,
                   const struct directory_id *known);

#endif
