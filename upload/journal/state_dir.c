/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a directory for state that nobody else can write to. */
#include "upload/journal/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/message.h"
#include "schema/layout.h"

static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Like `mkdir -p -m 0700`. */
static int make_dirs(const char *path)
{
    char copy[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof copy) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(copy, path, len + 1);
    for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST) {
            return -1;
        }
        *slash = '/';
    }
    return mkdir(copy, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

static int open_beside_logs(int root_fd, enum state_use use)
{
    if (!file_dir_is_ours(root_fd)) {
        return -1;
    }
    if (use == STATE_MAKE && mkdirat(root_fd, LAYOUT_STATE_DIR, 0755) < 0 &&
        errno != EEXIST) {
        return -1;
    }
    int fd = openat(root_fd, LAYOUT_STATE_DIR,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && use == STATE_TRY) {
        fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd >= 0 && (!file_dir_is_ours(fd) ||
                    (use != STATE_READ && faccessat(fd, ".", W_OK, AT_EACCESS) < 0))) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

/* Another user who can write here could make us lose or repeat lines, a sticky bit or
 * not. To read, as a person who names the directory of a service, its owner is trusted.
 */
static gpufl_status state_dir_check(int fd, enum state_use use,
                                    char reason[STATE_REASON_MAX])
{
    struct stat st;
    if (fstat(fd, &st) < 0 ||
        (use != STATE_READ && faccessat(fd, ".", W_OK, AT_EACCESS) < 0)) {
        snprintf(reason, STATE_REASON_MAX, "%s", strerror(errno));
        return GPUFL_ERR_IO;
    }
    if (use != STATE_READ && st.st_uid != geteuid() && st.st_uid != 0) {
        snprintf(reason, STATE_REASON_MAX, "it belongs to user %u, not to user %u",
                 st.st_uid, geteuid());
        return GPUFL_ERR_IO;
    }
    if (st.st_mode & 022) {
        snprintf(reason, STATE_REASON_MAX,
                 "other users can write to it: its mode is %04o (run chmod go-w, or name "
                 "a directory in it, which is made)",
                 (unsigned)st.st_mode & 07777);
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

/* The nearest directory above \p path that exists, if \p path can be made in it. */
static int open_above(const char *path)
{
    char above[PATH_MAX];
    int fd = -1;
    errno = ENOENT;
    snprintf(above, sizeof above, "%s", path);
    for (char *slash; fd < 0 && errno == ENOENT && (slash = strrchr(above, '/'));) {
        *slash = '\0';
        fd = open_dir(slash == above ? "/" : above);
    }
    if (fd < 0 && errno == ENOENT) {
        fd = open_dir(".");
    }
    if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

gpufl_status state_dir_takes_files(int fd, char reason[STATE_REASON_MAX])
{
    char name[64];
    int file = openat(fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 && errno == EOPNOTSUPP) {
        snprintf(name, sizeof name, ".gpufl-trial.%d", (int)getpid());
        file = file_create(&sys_real, fd, name, 0600);
        if (file >= 0) {
            unlinkat(fd, name, 0);
        }
    }
    if (file >= 0) {
        close(file);
    } else if (errno == ENOENT || errno == EACCES || errno == EPERM || errno == EROFS) {
        snprintf(reason, STATE_REASON_MAX, "no file can be created in it: %s",
                 strerror(errno));
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

/* Where it would be taken for a session, or for a group of them. What begins with a dot
 * is never one. */
static bool state_dir_is_in_logs(const char *path, const char *root_path)
{
    char real[PATH_MAX];
    size_t len = strlen(root_path);
    const char *below = real + len;
    return file_real_path(path, real) && strncmp(real, root_path, len) == 0 &&
           (!*below || *below == '/') && below[strspn(below, "/")] != '.';
}

static int open_named(const char *path, const char *root_path, enum state_use use,
                      char reason[STATE_REASON_MAX])
{
    reason[0] = '\0';
    if (use != STATE_READ && state_dir_is_in_logs(path, root_path)) {
        snprintf(reason, STATE_REASON_MAX,
                 "it lies in the log directory: name one outside of it");
        errno = EPERM;
        return -1;
    }
    int fd = use == STATE_MAKE && make_dirs(path) < 0 ? -1 : open_dir(path);
    bool there = fd >= 0 || errno != ENOENT || use != STATE_TRY;
    if (!there) {
        fd = open_above(path);
    }
    if (fd < 0) {
        snprintf(reason, STATE_REASON_MAX, "%s", strerror(errno));
    } else if ((there && state_dir_check(fd, use, reason) != GPUFL_OK) ||
               (use == STATE_TRY && state_dir_takes_files(fd, reason) != GPUFL_OK)) {
        close(fd);
        errno = EPERM;
        fd = -1;
    }
    return fd;
}

/* It may be there, and hold the journal: with another one, lines would be sent again. */
static bool state_cannot_be_seen(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR ||
           error == EIO || error == ESTALE || error == ETIMEDOUT;
}

/* Whether the absolute \p path is, or would be made in, a directory of ours, or one of
 * root's in which we may write; else \p other is who has it. */
static bool state_dir_is_for_us(const char *path, uid_t *other)
{
    char above[PATH_MAX];
    struct stat st = {0};
    snprintf(above, sizeof above, "%s", path);
    while (stat(above, &st) < 0 && above[1]) {
        char *slash = strrchr(above, '/');
        slash[slash == above] = '\0';
    }
    *other = st.st_uid;
    return st.st_uid == geteuid() ||
           (st.st_uid == 0 && faccessat(AT_FDCWD, above, W_OK, AT_EACCESS) == 0);
}

/* The home that our account has, whatever the environment says. */
static bool account_home(char out[PATH_MAX])
{
    char strings[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    return getpwuid_r(geteuid(), &entry, strings, sizeof strings, &found) == 0 && found &&
           entry.pw_dir[0] == '/' &&
           snprintf(out, PATH_MAX, "%s/.local/state/gpufl", entry.pw_dir) > 0;
}

/* $XDG_STATE_HOME/gpufl or ~/.local/state/gpufl. sudo, su and `docker run -u` may leave
 * another user's in the environment, which we may not even look into: what we make there
 * would be in that user's way, so it is our account's home then. \return false without
 * one; \p out may have what is not taken. */
static bool home_state(char out[PATH_MAX], char reason[STATE_REASON_MAX])
{
    const char *const above[] = {getenv("XDG_STATE_HOME"), getenv("HOME")};
    static const char *const below[] = {"gpufl", ".local/state/gpufl"};
    uid_t other = 0;
    bool any = false;
    out[0] = '\0';
    snprintf(reason, STATE_REASON_MAX, "no home directory");
    for (unsigned i = 0; i < 2; i++) {
        if (above[i] && above[i][0] == '/') {
            snprintf(out, PATH_MAX, "%s/%s", above[i], below[i]);
            any = true;
            if (state_dir_is_for_us(out, &other)) {
                return true;
            }
        }
    }
    if (any && account_home(out)) {
        return true;
    }
    if (any) {
        snprintf(reason, STATE_REASON_MAX,
                 "it lies in a directory of user %u, and user %u has no home", other,
                 geteuid());
    }
    return false;
}

static int open_at_home(const char *root_path, enum state_use use, char home[PATH_MAX],
                        char reason[STATE_REASON_MAX])
{
    if (home_state(home, reason)) {
        return open_named(home, root_path, use, reason);
    }
    /* Nobody named it: where there is no place for it, there is none. */
    errno = use == STATE_READ ? ENOENT : EPERM;
    return -1;
}

void state_dir_way_out(const char *option, char why[512])
{
    size_t len = strlen(why);
    if (len && why[len - 1] == ')') {
        snprintf(why + len - 1, 512 - (len - 1), ": name one by %s)", option);
    }
}

gpufl_status state_dir_open(const char *wanted, int root_fd, const char *root_path,
                            enum state_use use, struct state_place *place, char why[512])
{
    char home[PATH_MAX];
    char reason[STATE_REASON_MAX];
    const char *systemd = getenv("STATE_DIRECTORY");
    const char *named = wanted && *wanted ? wanted : systemd && *systemd ? systemd : NULL;
    snprintf(
        place->name, STATE_NAME_MAX, "%016llx.journal",
        (unsigned long long)hash64_bytes(HASH64_BASIS, root_path, strlen(root_path)));
    why[0] = '\0';
    if (named && named == systemd && strchr(systemd, ':')) {
        snprintf(reason, sizeof reason,
                 "it names several directories: give one name in StateDirectory= of the "
                 "unit, or --state-dir");
        place->fd = -1;
        errno = EINVAL;
    } else if (named) {
        place->fd = open_named(named, root_path, use, reason);
    } else {
        place->fd = open_beside_logs(root_fd, use);
        if (place->fd >= 0) {
            snprintf(place->name, STATE_NAME_MAX, STATE_NAME_INSIDE);
            snprintf(place->path, STATE_PATH_MAX, "%s/" LAYOUT_STATE_DIR "/%s", root_path,
                     place->name);
            return GPUFL_OK;
        }
        if (state_cannot_be_seen(errno)) {
            snprintf(why, 512, "state directory '%.300s/" LAYOUT_STATE_DIR "': %s",
                     root_path, strerror(errno));
            return GPUFL_ERR_IO;
        }
        place->fd = open_at_home(root_path, use, home, reason);
        named = home;
    }
    if (place->fd >= 0) {
        snprintf(place->path, STATE_PATH_MAX, "%s/%s", named, place->name);
        return GPUFL_OK;
    }
    const char *what = wanted && *wanted ? "" : "state directory: ";
    snprintf(why, 512,
             "%s'%.*s%s': %s (the journal of %.150s needs a directory that only its user "
             "can write to)",
             named == systemd ? "STATE_DIRECTORY: " : what,
             MESSAGE_VALUE(named[0] ? named : "none", 140), reason, root_path);
    bool closed = errno == ENOTDIR || errno == EACCES;
    bool none = errno == ENOENT || (use == STATE_READ && named == home && closed);
    return none ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
}
