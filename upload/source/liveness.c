/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel who holds a lock, without taking it. */
#include "upload/source/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/file.h"
#include "base/process_identity.h"
#include "upload/source/told.h"

/* Not in linux/magic.h. */
#define LUSTRE_MAGIC 0x0bd00bd0u
#define GPFS_MAGIC   0x47504653u
#define GFS2_MAGIC   0x01161970u

static bool is_open_in(const char *table, const struct stat *file)
{
    struct stat st;
    bool found = false;
    DIR *fds = opendir(table);
    for (struct dirent *entry; fds && !found && (entry = readdir(fds));) {
        /* By name: another thread may close or open that number meanwhile. */
        found = entry->d_name[0] != '.' &&
                fstatat(dirfd(fds), entry->d_name, &st, 0) == 0 &&
                st.st_dev == file->st_dev && st.st_ino == file->st_ino;
    }
    if (fds) {
        closedir(fds);
    }
    return found;
}

static bool is_thread_of_files(int tasks, const char *task)
{
    char path[64];
    char name[32] = "";
    snprintf(path, sizeof path, "%.20s/comm", task);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = read(fd, name, sizeof name - 1);
        name[n > 0 ? n : 0] = '\0';
        close(fd);
    }
    return strcmp(name, LAYOUT_FILES_THREAD "\n") == 0;
}

bool liveness_is_open_here(int dir, const char *lock_path)
{
    struct stat lock;
    char table[64];
    if (fstatat(dir, lock_path, &lock, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    bool found = is_open_in("/proc/self/fd", &lock);
    DIR *tasks = found ? NULL : opendir("/proc/self/task");
    for (struct dirent *entry; tasks && !found && (entry = readdir(tasks));) {
        if (is_thread_of_files(dirfd(tasks), entry->d_name)) {
            snprintf(table, sizeof table, "/proc/self/task/%.20s/fd", entry->d_name);
            found = is_open_in(table, &lock);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return found;
}

enum lock_state {
    LOCK_UNKNOWN,  /**< no lock file, no permission */
    LOCK_FREE_FAR, /**< free, as far as this host can see */
    LOCK_FREE,
    LOCK_HELD,
};

/* Locks on these do not reach every process that may write there: a mount option, another
 * host, a guest, or a server in user space decides. */
bool liveness_locks_are_local(long file_system)
{
    static const uint32_t far[] = {NFS_SUPER_MAGIC,   FUSE_SUPER_MAGIC, V9FS_MAGIC,
                                   SMB_SUPER_MAGIC,   SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC,
                                   CEPH_SUPER_MAGIC,  AFS_SUPER_MAGIC,  CODA_SUPER_MAGIC,
                                   OCFS2_SUPER_MAGIC, LUSTRE_MAGIC,     GPFS_MAGIC,
                                   GFS2_MAGIC};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        if ((uint32_t)file_system == far[i]) {
            return false;
        }
    }
    return true;
}

struct lock_probe {
    enum lock_state state;
    struct statx file;
    bool lost;
};

/* Its program had closed it, and its writer could not lock it again: that it is free for
 * now says nothing. */
static bool lock_is_lost(const struct sys *sys, int fd)
{
    char text[LAYOUT_TOLD_BYTES];
    struct active_files told;
    ssize_t n = file_pread_full(sys, fd, text, sizeof text, 0);
    return n > 0 && memmem(text, (size_t)n, LAYOUT_LOCK_LOST, strlen(LAYOUT_LOCK_LOST)) &&
           active_files_parse(text, (size_t)n, &told) == GPUFL_OK &&
           strcmp(told.lock_file, LAYOUT_LOCK_LOST) == 0;
}

/* F_GETLK works on a read-only descriptor and sees POSIX and OFD locks alike. Writers
 * lock for writing, which needs a file that one may write; a lock for reading may be that
 * of any user who can open the file, and says nothing. */
static void probe_lock(const struct sys *sys, int dir, const char *lock_path,
                       struct lock_probe *out)
{
    int fd = file_open(sys, dir, lock_path);
    struct statfs st;
    *out = (struct lock_probe){.state = LOCK_UNKNOWN};
    if (fd < 0) {
        return;
    }
    (void)statx(fd, "", AT_EMPTY_PATH, TOLD_LOCK_ASKED, &out->file); /* or inode 0 */
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_GETLK, &lock) == 0) {
        bool local =
            sys->fstatfs(fd, &st) == 0 && liveness_locks_are_local((long)st.f_type);
        out->state = lock.l_type != F_UNLCK ? LOCK_HELD
                     : local                ? LOCK_FREE
                                            : LOCK_FREE_FAR;
        out->lost = out->state == LOCK_FREE && lock_is_lost(sys, fd);
    }
    close(fd);
}

static bool same_boot(const char *boot_id)
{
    char mine[BOOT_ID_TEXT];
    boot_id_get(mine);
    return mine[0] && strcmp(mine, boot_id) == 0;
}

/* Of another boot of this host, and not of a guest that shares the directory: nothing was
 * written since this host was started. */
static bool was_before_boot(int64_t last_write_s)
{
    struct timespec now;
    struct timespec up;
    return last_write_s > 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
           last_write_s < now.tv_sec - up.tv_sec;
}

/* On the boot of its writer. A copy of the directory has a lock of its own, which nobody
 * ever held: there, only the process tells. Earlier manifests do not name the lock. */
static enum liveness free_lock_tells(const struct manifest *manifest,
                                     const struct lock_probe *lock)
{
    bool named = manifest->lock_file[0] && told_lock_is_named(&lock->file, manifest);
    if (named && !lock->lost) {
        return WRITER_GONE;
    }
    struct process_identity writer = {.pid = manifest->pid};
    memcpy(writer.boot_id, manifest->boot_id, sizeof writer.boot_id);
    writer.pid_namespace =
        manifest->pid_namespace > 0 ? (uint64_t)manifest->pid_namespace : 0;
    writer.start_ticks =
        manifest->pid_start_ticks > 0 ? (uint64_t)manifest->pid_start_ticks : 0;
    enum process_state process = process_identity_probe(&writer);
    if (process == PROCESS_GONE ||
        (process == PROCESS_UNKNOWN && !manifest->lock_file[0])) {
        return WRITER_GONE;
    }
    /* Of others, a process may live on after its session: that it runs proves nothing. */
    return named && process == PROCESS_RUNS ? WRITER_LIVE : WRITER_UNKNOWN;
}

enum liveness liveness_probe(const struct sys *sys, int dir, const char *lock_path,
                             const struct manifest *manifest, int64_t last_write_s)
{
    struct lock_probe lock;
    probe_lock(sys, dir, lock_path, &lock);
    if (lock.state == LOCK_HELD) {
        return WRITER_LIVE;
    }
    if (!manifest) {
        return lock.state == LOCK_FREE ? WRITER_GONE : WRITER_UNKNOWN;
    }
    bool here = same_boot(manifest->boot_id);
    if (lock.state == LOCK_FREE && here) {
        return free_lock_tells(manifest, &lock);
    }
    if (lock.state == LOCK_FREE && was_before_boot(last_write_s)) {
        return WRITER_GONE;
    }
    /* The pid may be of another pid namespace: only that it exists is evidence. */
    bool pid_exists = here && manifest->pid > 0 &&
                      (kill((pid_t)manifest->pid, 0) == 0 || errno == EPERM);
    return pid_exists ? WRITER_LIVE : WRITER_UNKNOWN;
}
