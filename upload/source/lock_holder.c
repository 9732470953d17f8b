/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the holders of a lock in /proc/locks. */
#include "upload/source/lock_holder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The owner of /proc/<pid> is the effective user of the process, whether or not it may be
 * dumped. */
static bool lock_holder_has_no_say(int pid, const struct stat *dir)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) < 0) {
        return kill(pid, 0) < 0 && errno == ESRCH; /* otherwise it is hidden */
    }
    return st.st_uid != geteuid() && st.st_uid != 0 && st.st_uid != dir->st_uid;
}

static bool lock_holder_parse(const char *line, const struct stat *dir, int *pid)
{
    unsigned major;
    unsigned minor;
    unsigned long long inode;
    return sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", pid, &major, &minor,
                  &inode) == 4 &&
           inode == dir->st_ino && makedev(major, minor) == dir->st_dev;
}

bool lock_holder_is_foreign(int dir)
{
    struct stat st;
    char line[256];
    unsigned holders = 0;
    unsigned foreign = 0;
    int pid;
    FILE *locks = fstat(dir, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && fgets(line, sizeof line, locks)) {
        if (lock_holder_parse(line, &st, &pid)) {
            holders++;
            foreign += pid > 0 && lock_holder_has_no_say(pid, &st);
        }
    }
    if (locks) {
        fclose(locks);
    }
    return holders > 0 && foreign == holders;
}
