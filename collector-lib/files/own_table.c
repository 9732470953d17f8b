/* SPDX-License-Identifier: Apache-2.0 */
/* By close_range(2), which needs no privilege, as unshare(2) does in a container. */
#include "collector-lib/files/own_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector-lib/core/own_fd.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define UNSHARE 2 /* CLOSE_RANGE_UNSHARE */
#define COPIED  64
#define ROOM    512 /* as many numbers as leave enough above the lowest */

/* Before Linux 6.13, the first descriptors are copied, and the copies are closed: with
 * one of a message queue goes what the job has set by mq_notify(3). Of a queue, /proc
 * tells the name alone. */
static bool has_queue(void)
{
    char link[40];
    char target[256];
    bool found = false;
    for (int fd = 0; !found && fd < COPIED; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        found = target[0] == '/' && !strchr(target + 1, '/') &&
                syscall(SYS_mq_getsetattr, fd, NULL, NULL) == 0;
    }
    return found;
}

/* One that does not know the call may kill the process for it, and none tells. */
static bool is_filtered(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

/* What is written under a number of the job, as by a malloc of the program that has a
 * log, meets no file of ours; and a library that notes what the job does under which
 * number, as Darshan does, sees none of the job's opened or closed. */
static void take_low_numbers(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
        close(ends[1]);
        for (int last = ends[0]; last >= 0 && last < OWN_FD_BRIEF_LOWEST - 1;) {
            last = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
        }
    }
}

bool own_table_take(void)
{
#ifdef __SANITIZE_THREAD__ /* to which a number is one file in all threads */
    return false;
#endif
    if (is_filtered() || has_queue() || syscall(SYS_close_range, 0, ~0U, UNSHARE) != 0) {
        return false;
    }
    own_fd_set_apart();
    take_low_numbers();
    return true;
}

bool own_table_keep_low(void)
{
    struct rlimit limit;
    bool room = getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= ROOM;
    if (!room) {
        syscall(SYS_close_range, 3, OWN_FD_BRIEF_LOWEST - 1, 0);
    }
    return room;
}
