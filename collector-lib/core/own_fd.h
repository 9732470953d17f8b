/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor in a program that may close what it did not open, and open its own files
 * under the same number. */
#ifndef GPUFL_COLLECTOR_CORE_OWN_FD_H
#define GPUFL_COLLECTOR_CORE_OWN_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct own_fd {
    int fd; /**< -1 = none */
    uint64_t device, inode;
};

#define OWN_FD_NONE                                                                      \
    {                                                                                    \
        .fd = -1                                                                         \
    }

/** Takes over \p fd, -1 = none, and gives it a high number, which the program's next
 * files do not get. Keeps errno. \return false for none. */
bool own_fd_take(struct own_fd *own, int fd);

/** True if the number still names the file that was taken. Safe in a signal handler. */
bool own_fd_is_ours(const struct own_fd *own);

/** Like write(2), if it is ours: the job may put a file of its own there at any moment.
 */
ssize_t own_fd_write(const struct own_fd *own, const char *bytes, size_t len);

/** Puts \p fd, which is taken over, in the place of a lost one, if it is the same file.
 */
bool own_fd_replace(struct own_fd *own, int fd);

/** Closes it if it is ours. Safe in a signal handler. */
void own_fd_close(struct own_fd *own);

#endif
