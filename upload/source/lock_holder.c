/* SPDX-License-Identifier: Apache-2.0 */
/* Asks /proc about the processes that hold a lock. */
#include "upload/source/lock_holder.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/journal/state_dir.h"
#include "upload/source/lock_list.h"

#define SYSTEM_UID_MAX  999u   /* of accounts that services have, … */
#define SERVICE_UID_MIN 61184u /* … and of those that systemd makes for them, … */
#define SERVICE_UID_MAX 65533u /* … up to the one of our container image, 65532 */

/* The time to read them grows with the square: 16,384 take about 1 s, 70,000 take 20 s.
 */
#define LOCK_LINES_OF_USER    16384u
#define LOCK_LINES_OF_SERVICE 4096u

/* An uploader opens the directory among its first files. */
#define LOCK_FILES_OF_PROCESS 4096u

static bool lock_holder_is_service(uid_t uid)
{
    return uid <= SYSTEM_UID_MAX || (uid >= SERVICE_UID_MIN && uid <= SERVICE_UID_MAX);
}

enum holder_known {
    HOLDER_GONE,
    HOLDER_HIDDEN,
    HOLDER_MIXED, /* a program that runs with the rights of another user */
    HOLDER_OF_USER,
};

/* Any user can start a program that is root's, which keeps the locks that the user took;
 * such a process has several user ids. */
static enum holder_known lock_holder_read_user(FILE *status, uid_t *user)
{
    char line[256];
    unsigned id[4];
    while (fgets(line, sizeof line, status)) {
        if (sscanf(line, "Uid: %u %u %u %u", &id[0], &id[1], &id[2], &id[3]) == 4) {
            *user = id[0];
            return id[0] == id[1] && id[0] == id[2] && id[0] == id[3] ? HOLDER_OF_USER
                                                                      : HOLDER_MIXED;
        }
    }
    return HOLDER_HIDDEN;
}

/* Where we may not open its status, the owner of /proc/<pid> is its effective user,
 * whether or not it may be dumped. */
static enum holder_known lock_holder_user(int pid, uid_t *user)
{
    char path[40];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    if (status) {
        enum holder_known known = lock_holder_read_user(status, user);
        fclose(status);
        return known;
    }
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) == 0) {
        *user = st.st_uid;
        return HOLDER_OF_USER;
    }
    return kill(pid, 0) < 0 && errno == ESRCH ? HOLDER_GONE : HOLDER_HIDDEN;
}

/* A child keeps the lock of a parent whose pid another process has by now. \return true
 * if that is so, false in doubt. */
static bool lock_holder_is_another(int pid, const struct stat *dir)
{
    char path[40];
    struct stat st;
    struct dirent *entry;
    bool open = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    while (files && !open && (entry = readdir(files))) {
        open = fstatat(dirfd(files), entry->d_name, &st, 0) == 0 &&
               st.st_ino == dir->st_ino && st.st_dev == dir->st_dev;
    }
    if (files) {
        closedir(files);
    }
    return files && !open;
}

static bool lock_holder_has_say(int pid, const struct stat *dir, enum lock_viewer viewer)
{
    uid_t user = 0;
    bool doubt = viewer != LOCK_SEEN_BY_PUBLISHER;
    enum holder_known known = pid > 0 ? lock_holder_user(pid, &user) : HOLDER_HIDDEN;
    if (known == HOLDER_HIDDEN) {
        return doubt;
    }
    if (known != HOLDER_OF_USER) {
        return false;
    }
    /* Some programs of root's drop the ids of who started them. */
    bool say = user == 0
                   ? doubt
                   : user == geteuid() || user == dir->st_uid ||
                         (viewer == LOCK_SEEN_BY_USER && lock_holder_is_service(user));
    return say && !lock_holder_is_another(pid, dir);
}

/* Whether the process has taken a lock by this file of it, and not inherited it. */
static bool lock_holder_locks_by(int pid, const char *file)
{
    char path[64];
    char line[256];
    int taker;
    bool locks = false;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", pid, file);
    FILE *info = fopen(path, "re");
    while (info && !locks && fgets(line, sizeof line, info)) {
        locks = sscanf(line, "lock: %*d: FLOCK %*s %*s %d", &taker) == 1 && taker == pid;
    }
    if (info) {
        fclose(info);
    }
    return locks;
}

static bool lock_holder_locks(int pid, const struct stat *dir)
{
    char path[40];
    struct stat st;
    struct dirent *entry;
    bool locks = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    for (unsigned i = 0;
         files && !locks && i < LOCK_FILES_OF_PROCESS && (entry = readdir(files)); i++) {
        locks = fstatat(dirfd(files), entry->d_name, &st, 0) == 0 &&
                st.st_ino == dir->st_ino && st.st_dev == dir->st_dev &&
                lock_holder_locks_by(pid, entry->d_name);
    }
    if (files) {
        closedir(files);
    }
    return locks;
}

/* Asks all processes, which takes as long however many locks there are. Only root can
 * look into those of others. */
static void lock_holder_seek(bool (*visit)(void *arg, int pid), void *arg)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    bool done = false;
    while (processes && !done && (entry = readdir(processes))) {
        int pid = (int)strtol(entry->d_name, NULL, 10);
        done = pid > 0 && visit(arg, pid);
    }
    if (processes) {
        closedir(processes);
    }
}

/* A service has others to attend to. */
static size_t lock_holder_lines_max(enum lock_viewer viewer)
{
    return viewer == LOCK_SEEN_BY_USER ? LOCK_LINES_OF_USER : LOCK_LINES_OF_SERVICE;
}

struct lock_viewed {
    struct stat dir;
    enum lock_viewer viewer;
    bool held;
    bool counts;
};

static bool lock_holder_view(void *arg, int pid)
{
    struct lock_viewed *viewed = arg;
    viewed->held = true;
    viewed->counts = lock_holder_has_say(pid, &viewed->dir, viewed->viewer);
    return viewed->counts;
}

static bool lock_holder_view_process(void *arg, int pid)
{
    struct lock_viewed *viewed = arg;
    viewed->counts = lock_holder_has_say(pid, &viewed->dir, viewed->viewer) &&
                     lock_holder_locks(pid, &viewed->dir);
    return viewed->counts;
}

/* Whoever has made a list that is too long to be read is not to gain by it. */
bool lock_holder_is_foreign(int dir, enum lock_viewer viewer)
{
    struct lock_viewed viewed = {.viewer = viewer,
                                 .held = viewer == LOCK_SEEN_BY_PUBLISHER};
    if (fstat(dir, &viewed.dir) == 0 &&
        !lock_list_each(&lock_list_of_kernel, &viewed.dir, lock_holder_lines_max(viewer),
                        lock_holder_view, &viewed) &&
        !viewed.counts) {
        viewed.held = true;
        if (viewer == LOCK_SEEN_BY_USER) {
            lock_holder_seek(lock_holder_view_process, &viewed);
        }
    }
    return viewed.held && !viewed.counts;
}

bool lock_holder_is_seen(int dir, enum lock_viewer viewer)
{
    struct lock_viewed viewed = {.viewer = viewer};
    if (fstat(dir, &viewed.dir) == 0) {
        lock_holder_seek(lock_holder_view_process, &viewed);
    }
    return viewed.counts;
}

static bool lock_holder_has_journal(int pid)
{
    char path[40];
    char name[512];
    struct dirent *entry;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    while (files && !found && (entry = readdir(files))) {
        ssize_t n = readlinkat(dirfd(files), entry->d_name, name, sizeof name);
        size_t len = sizeof STATE_JOURNAL_LOCK - 1;
        found = n > (ssize_t)len && memcmp(name + n - len, STATE_JOURNAL_LOCK, len) == 0;
    }
    if (files) {
        closedir(files);
    }
    return found;
}

struct lock_uploader {
    struct stat dir;
    uid_t *user;
    int pid;
};

static bool lock_holder_take_uploader(void *arg, int pid)
{
    struct lock_uploader *found = arg;
    if (pid > 0 && lock_holder_has_journal(pid) &&
        lock_holder_user(pid, found->user) == HOLDER_OF_USER) {
        found->pid = pid;
    }
    return found->pid != 0;
}

static bool lock_holder_take_process(void *arg, int pid)
{
    struct lock_uploader *found = arg;
    return lock_holder_locks(pid, &found->dir) && lock_holder_take_uploader(arg, pid);
}

int lock_holder_uploader(int dir, uid_t *user)
{
    struct lock_uploader found = {.user = user};
    if (fstat(dir, &found.dir) == 0 &&
        !lock_list_each(&lock_list_of_kernel, &found.dir, LOCK_LINES_OF_USER,
                        lock_holder_take_uploader, &found) &&
        !found.pid) {
        lock_holder_seek(lock_holder_take_process, &found);
    }
    return found.pid;
}
