/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel who holds a lock, without taking it. */
#include "upload/source/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

bool liveness_is_open_here(int dir, const char *lock_path)
{
    struct stat lock;
    struct stat st;
    bool found = false;
    if (fstatat(dir, lock_path, &lock, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *entry; fds && !found && (entry = readdir(fds));) {
        /* By name: another thread may close or open that number meanwhile. */
        found = entry->d_name[0] != '.' &&
                fstatat(dirfd(fds), entry->d_name, &st, 0) == 0 &&
                st.st_dev == lock.st_dev && st.st_ino == lock.st_ino;
    }
    if (fds) {
        closedir(fds);
    }
    return found;
}

/* F_GETLK works on a read-only descriptor and sees POSIX and OFD locks alike. Writers
 * lock for writing, which needs a file that one may write; a lock for reading may be that
 * of any user who can open the file, and says nothing. */
static enum liveness probe_lock(const struct sys *sys, int dir, const char *lock_path)
{
    int fd = file_open(sys, dir, lock_path);
    if (fd < 0) {
        return WRITER_UNKNOWN;
    }
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int rc = fcntl(fd, F_OFD_GETLK, &lock);
    close(fd);
    if (rc < 0) {
        return WRITER_UNKNOWN;
    }
    return lock.l_type == F_UNLCK ? WRITER_GONE : WRITER_LIVE;
}

static bool same_boot(const char *boot_id)
{
    char mine[40] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, mine, sizeof mine - 1);
    close(fd);
    mine[n > 0 ? strcspn(mine, "\n") : 0] = '\0';
    return mine[0] && strcmp(mine, boot_id) == 0;
}

enum liveness liveness_probe(const struct sys *sys, int dir, const char *lock_path,
                             const struct manifest *manifest)
{
    enum liveness by_lock = probe_lock(sys, dir, lock_path);
    if (by_lock != WRITER_UNKNOWN || !manifest || manifest->pid <= 0) {
        return by_lock;
    }
    if (!same_boot(manifest->boot_id)) {
        return WRITER_UNKNOWN;
    }
    /* The pid may be of another pid namespace: only that it exists is evidence. */
    return kill((pid_t)manifest->pid, 0) == 0 || errno == EPERM ? WRITER_LIVE
                                                                : WRITER_UNKNOWN;
}
