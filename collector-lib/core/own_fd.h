/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor in a program that may close what it did not open, and open its own files
 * under the same number. */
#ifndef GPUFL_COLLECTOR_CORE_OWN_FD_H
#define GPUFL_COLLECTOR_CORE_OWN_FD_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct own_fd {
    int fd;     /**< -1 = none */
    bool apart; /**< in the table of a thread that has left that of the job */
    uint64_t device, inode;
};

#define OWN_FD_NONE                                                                      \
    {                                                                                    \
        .fd = -1                                                                         \
    }

/** The lowest number of what is taken: in the table of 512 that the kernel has made for
 * those above. To let it grow takes milliseconds in a process with threads, with the low
 * number open. */
#define OWN_FD_BRIEF_LOWEST 400

/** This thread has a table of descriptors of its own from now on, until it ends: what it
 * takes is ours without a look, and what other threads have taken is not. */
void own_fd_set_apart(void);

/** Whether it has. */
bool own_fd_is_apart(void);

/** Takes over \p fd, -1 = none, and gives it a high number, which the program's next
 * files do not get. Whatever is read or written belongs behind it: meanwhile the program
 * may close the low number, and open a file of its own there, which we would close.
 * Keeps errno. \return false for none, and, with EBADF, if that happened just now. */
bool own_fd_take(struct own_fd *own, int fd);

/** The same for as long as a function reads or writes: of other numbers, since a job that
 * takes one of ours knows it, so it is one that is kept. */
bool own_fd_take_briefly(struct own_fd *own, int fd);

/** The same for \p fd, -1 = none, of \p name in \p dir, into which is written: a file
 * that the program has meanwhile opened under the number is not taken for it, and left
 * alone.
 */
bool own_fd_take_named(struct own_fd *own, int fd, int dir, const char *name);
bool own_fd_take_named_briefly(struct own_fd *own, int fd, int dir, const char *name);

/** True if the number still names the file that was taken. Safe in a signal handler. */
bool own_fd_is_ours(const struct own_fd *own);

/** Like write(2), if it is ours: the job may put a file of its own there at any moment.
 */
ssize_t own_fd_write(const struct own_fd *own, const char *bytes, size_t len);

/** The same for pwrite(2). */
ssize_t own_fd_pwrite(const struct own_fd *own, const char *bytes, size_t len, off_t at);

/** Opens a lost one again, if \p name in \p dir is the same file. */
bool own_fd_reopen(struct own_fd *own, int dir, const char *name, int flags);

/** Closes it if it is ours. Safe in a signal handler. */
void own_fd_close(struct own_fd *own);

/** Takes over \p fd, -1 = none, as own_fd_take_briefly() does, to read the directory.
 * \return NULL with errno. */
DIR *own_fd_read_dir(struct own_fd *own, int fd);

/** Ends it, and closes it if it is ours. Keeps errno. */
void own_fd_end_dir(struct own_fd *own, DIR *dir);

/** Files of /proc that are open at the same time. */
#define SPARE_FDS 2

/** Descriptors in reserve, for what must be looked at when the job has used up all: the
 * ends of a pipe, since no file of the job is the same one. */
struct spare_fds {
    struct own_fd own[SPARE_FDS];
};

#define SPARE_FDS_NONE                                                                   \
    {                                                                                    \
        .own = { OWN_FD_NONE, OWN_FD_NONE }                                              \
    }

/** Takes those that it lacks, if there are any. Keeps errno. */
void spare_fds_take(struct spare_fds *spare);

/** Gives them back: what is opened next gets them. Safe in a signal handler. */
void spare_fds_close(struct spare_fds *spare);

#endif
