/* SPDX-License-Identifier: Apache-2.0 */
/* By close_range(2), which needs no privilege, as unshare(2) does in a container. */
#include "collector-lib/files/own_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
        snprintf(link, sizeof link, "/proc/thread-self/fd/%d", fd);
        ssize_t len = readlink(link, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        found = target[0] == '/' && !strchr(target + 1, '/') &&
                syscall(SYS_mq_getsetattr, fd, NULL, NULL) == 0;
    }
    return found;
}

/* Not each allows prctl(2) to ask. */
bool own_table_is_filtered(void)
{
    char text[4096] = "";
    struct own_fd status;
    if (own_fd_take_briefly(&status,
                            open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC))) {
        ssize_t n = read(status.fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        own_fd_close(&status);
    }
    return strstr(text, "\nSeccomp:\t0\n") == NULL;
}

/* But those of the standard files, to which foreign code writes. Not by close_range(2):
 * there may be a filter by now. */
static void give_low_numbers(void)
{
    for (int fd = STDERR_FILENO + 1; fd < OWN_FD_BRIEF_LOWEST; fd++) {
        close(fd);
    }
}

/* What is written under a number of the job, as by a malloc of the program that has a
 * log, meets no file of ours; and a library that notes what the job does under which
 * number, as Darshan does, sees none of the job's opened or closed. */
static bool take_low_numbers(void)
{
    int ends[2];
    int last = -1;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        close(ends[1]);
        last = ends[0];
    }
    while (last >= 0 && last < OWN_FD_BRIEF_LOWEST - 1) {
        last = fcntl(ends[0], F_DUPFD_CLOEXEC, 0);
    }
    if (last < 0) {
        give_low_numbers();
    }
    return last >= 0;
}

bool own_table_take(bool *holds_low)
{
    *holds_low = false;
#ifdef __SANITIZE_THREAD__ /* to which a number is one file in all threads */
    return false;
#endif
    if (has_queue() || syscall(SYS_close_range, 0, ~0U, UNSHARE) != 0) {
        return false;
    }
    own_fd_set_apart();
    *holds_low = take_low_numbers();
    return true;
}

bool own_table_keep_low(void)
{
    struct rlimit limit;
    bool room = getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= ROOM;
    if (!room) {
        give_low_numbers();
    }
    return room;
}
