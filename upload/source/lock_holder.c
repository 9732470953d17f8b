/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the holders of a lock in /proc/locks. */
#include "upload/source/lock_holder.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SYSTEM_UID_MAX  999u   /* of accounts that services have, … */
#define SERVICE_UID_MIN 61184u /* … and of those that systemd makes for them, … */
#define SERVICE_UID_MAX 65533u /* … up to the one of our container image, 65532 */

static bool lock_holder_is_service(uid_t uid)
{
    return uid <= SYSTEM_UID_MAX || (uid >= SERVICE_UID_MIN && uid <= SERVICE_UID_MAX);
}

/* The owner of /proc/<pid> is the effective user of the process, whether or not it may be
 * dumped. */
static bool lock_holder_has_no_say(int pid, const struct stat *dir, bool service)
{
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) < 0) {
        return kill(pid, 0) < 0 && errno == ESRCH; /* otherwise it is hidden */
    }
    return st.st_uid != geteuid() && st.st_uid != 0 && st.st_uid != dir->st_uid &&
           (service || !lock_holder_is_service(st.st_uid));
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

bool lock_holder_is_foreign(int dir, bool service)
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
            foreign += pid > 0 && lock_holder_has_no_say(pid, &st, service);
        }
    }
    if (locks) {
        fclose(locks);
    }
    return holders > 0 && foreign == holders;
}
