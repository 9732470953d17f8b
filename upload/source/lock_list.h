/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds locks (flock) on directories, as the kernel lists it. The list has the locks
 * of all users, any of whom can hold very many, and the time to read it grows with the
 * square of their number. So a long one is read for a twentieth of the time at most. */
#ifndef GPUFL_UPLOAD_SOURCE_LOCK_LIST_H
#define GPUFL_UPLOAD_SOURCE_LOCK_LIST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct lock_seen;

struct lock_list {
    const char *path;
    pthread_mutex_t lock;
    struct lock_seen *seen;
    size_t count, cap;
    size_t lines;          /**< that were read … */
    size_t lines_max;      /**< … of so many at most */
    uint64_t next_read_ms; /**< not before that */
};

/** The one of this process, of /proc/locks. */
extern struct lock_list lock_list_of_kernel;

/** Shows \p visit the pids that hold a lock on \p dir, until it returns true; 0 or less =
 * the kernel does not name the holder. What stands behind \p lines_max lines is left out,
 * and so is what has changed since the list was read, if it is too soon to read it again.
 * Any thread may call it. \return false if the list was not read to its end. */
bool lock_list_each(struct lock_list *list, const struct stat *dir, size_t lines_max,
                    bool (*visit)(void *arg, int pid), void *arg);

#endif
