/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the files of a channel their names, so that a reader can tell at any moment, and
 * after a kill, which of them is missing. */
#include "collector-lib/core/channel_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"

static bool channel_file_create(struct own_fd *own, int dir, const char *name)
{
    int fd = openat(dir, name,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666);
    return own_fd_take_named(own, fd, dir, name);
}

/* What has the name is left by a rotation that failed, or was planted: it is replaced,
 * and never opened. Where no file can be made it stays, as it may say what was not begun.
 */
static bool channel_file_create_anew(struct own_fd *own, int dir, const char *name)
{
    char staged[sizeof LAYOUT_STAGING_PREFIX + LAYOUT_PATH_MAX];
    if (channel_file_create(own, dir, name) || errno != EEXIST) {
        return own->fd >= 0;
    }
    snprintf(staged, sizeof staged, "%s%s", LAYOUT_STAGING_PREFIX, name);
    unlinkat(dir, staged, 0);
    if (channel_file_create(own, dir, staged) && renameat(dir, staged, dir, name) < 0) {
        unlinkat(dir, staged, 0);
        own_fd_close(own);
    }
    return own->fd >= 0;
}

int channel_file_begin(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    *file = (struct channel_file){.own = OWN_FD_NONE};
    return channel_file_create(&file->own, dir, active) ? 0 : -1;
}

/* Never by a second name: after a kill, one file would count as two. */
static bool channel_file_rename_new(int dir, const char *from, const char *to)
{
    int rc = renameat2(dir, from, dir, to, RENAME_NOREPLACE);
    if (rc < 0 && errno == EINVAL) { /* a file system without RENAME_NOREPLACE */
        errno = EEXIST;
        rc = faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT
                 ? renameat(dir, from, dir, to)
                 : -1;
    }
    return rc == 0;
}

/* True if \p st is the file that is written. */
static bool channel_file_is(const struct channel_file *file, const struct stat *st)
{
    return st->st_dev == file->own.device && st->st_ino == file->own.inode;
}

static bool channel_file_is_at(const struct channel_file *file, int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           channel_file_is(file, &st);
}

/* How many bytes both begin with; -1 = one of them cannot be read. */
static off_t common_bytes(int a, int b)
{
    char of_a[8192];
    char of_b[8192];
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(a, of_a, sizeof of_a, at);
        ssize_t m = pread(b, of_b, sizeof of_b, at);
        ssize_t same = 0;
        if (n < 0 || m < 0) {
            return -1;
        }
        while (same < n && same < m && of_a[same] == of_b[same]) {
            same++;
        }
        at += same;
        if (same < (ssize_t)sizeof of_a) {
            return at;
        }
    }
}

/* How many bytes of ours are in what has the name; -1 = it cannot be told. */
static off_t common_with(const struct channel_file *file, int dir, const char *active)
{
    struct own_fd other;
    if (!own_fd_take_briefly(
            &other,
            openat(dir, active, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))) {
        return -1;
    }
    off_t common = common_bytes(file->own.fd, other.fd);
    own_fd_close(&other);
    return common;
}

/* What has the name of the active file. */
enum active_holder {
    ACTIVE_UNKNOWN,
    ACTIVE_NOBODY,
    ACTIVE_OURS,
    ACTIVE_COPY, /* of our beginning, maybe empty: it holds nothing that ours does not */
    ACTIVE_OTHER,
};

/* \p common: how many bytes of ours are in it. */
static enum active_holder channel_file_holder(const struct channel_file *file, int dir,
                                              const char *active, off_t *common)
{
    struct stat st;
    *common = 0;
    if (fstatat(dir, active, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? ACTIVE_NOBODY : ACTIVE_UNKNOWN;
    }
    if (channel_file_is(file, &st)) {
        return ACTIVE_OURS;
    }
    if (!S_ISREG(st.st_mode)) {
        return ACTIVE_OTHER;
    }
    off_t same = common_with(file, dir, active);
    *common = same > 0 ? same : 0;
    if (same < 0) {
        return ACTIVE_UNKNOWN;
    }
    return same == st.st_size ? ACTIVE_COPY : ACTIVE_OTHER;
}

bool channel_file_is_sealed(const struct channel_file *file, int dir,
                            enum channel channel)
{
    char name[LAYOUT_PATH_MAX];
    off_t common;
    layout_numbered(name, channel_name(channel), file->rotated + 1, false);
    if (!channel_file_is_at(file, dir, name)) {
        return false;
    }
    layout_active(name, channel_name(channel), false);
    enum active_holder holder = channel_file_holder(file, dir, name, &common);
    return holder == ACTIVE_NOBODY || holder == ACTIVE_COPY;
}

/* A job may be killed between the two renames. Then `.gpufl-next.…` says that the file
 * after the sealed one was not begun, so nothing is missing. Its number tells it from one
 * that was left before a seal. */
int channel_file_rotate(struct channel_file *file, int dir, enum channel channel)
{
    const char *name = channel_name(channel);
    char active[LAYOUT_PATH_MAX];
    char sealed[LAYOUT_PATH_MAX];
    char next[LAYOUT_PATH_MAX];
    uint32_t number = file->rotated + 1;
    bool was_sealed = channel_file_is_sealed(file, dir, channel);
    layout_active(active, name, false);
    layout_numbered(sealed, name, number, false);
    layout_next(next, name, number + 1);
    struct own_fd begun;
    if (!channel_file_create_anew(&begun, dir, next)) {
        return -1;
    }
    bool is_sealed = was_sealed || channel_file_rename_new(dir, active, sealed);
    if (is_sealed && renameat(dir, next, dir, active) == 0) {
        own_fd_close(&file->own);
        *file = (struct channel_file){.own = begun, .rotated = number};
        return 0;
    }
    int saved = errno;
    /* Readers wait for an active file, so the seal is undone, or finished later. */
    if (!is_sealed || (!was_sealed && renameat(dir, sealed, dir, active) == 0)) {
        unlinkat(dir, next, 0);
    }
    own_fd_close(&begun);
    errno = saved;
    return -1;
}

bool channel_file_has_begun(const struct channel_file *file)
{
    return file->size_bytes > 0 || file->rotated > 0;
}

uint64_t channel_file_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
               ? limit.rlim_cur
               : UINT64_MAX;
}

void channel_file_tear(struct channel_file *file, uint64_t bytes)
{
    struct stat st;
    bool known = bytes && fstat(file->own.fd, &st) == 0 && (uint64_t)st.st_size >= bytes;
    file->torn_bytes = bytes;
    file->torn_at = known ? (uint64_t)st.st_size - bytes : file->size_bytes;
}

bool channel_file_cut(struct channel_file *file)
{
    struct stat st;
    errno = EBADF;
    if (fstat(file->own.fd, &st) < 0 || !channel_file_is(file, &st) ||
        ((uint64_t)st.st_size > file->torn_at &&
         ftruncate(file->own.fd, (off_t)file->torn_at) < 0)) {
        return false;
    }
    file->torn_bytes = 0;
    return true;
}

void channel_file_mend(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    if (!own_fd_is_ours(&file->own)) {
        layout_active(active, channel_name(channel), false);
        own_fd_reopen(&file->own, dir, active, O_RDWR | O_NOFOLLOW | O_APPEND);
    }
}

/* Half a line that could not be cut off is left out. */
static bool copy_whole_lines(const struct channel_file *file, const struct own_fd *to)
{
    char part[16384];
    const uint64_t most = file->torn_bytes ? file->torn_at : UINT64_MAX;
    uint64_t at = 0;
    ssize_t n = 0;
    do {
        size_t room = most - at < sizeof part ? (size_t)(most - at) : sizeof part;
        n = own_fd_is_ours(&file->own) ? pread(file->own.fd, part, room, (off_t)at) : -1;
        if (n > 0 && own_fd_write(to, part, (size_t)n) != n) {
            return false;
        }
        at += n > 0 ? (uint64_t)n : 0;
    } while (n > 0);
    return n == 0;
}

/* A file that was renamed to its next number keeps its lines there: under two names, they
 * would be stored twice. */
bool channel_file_is_named(const struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    return channel_file_is_at(file, dir, active) ||
           channel_file_is_sealed(file, dir, channel);
}

bool channel_file_has_name(const struct channel_file *file, int dir, enum channel channel)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    bool unknown = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT;
    return unknown || channel_file_is_named(file, dir, channel);
}

/* Finds the number under which another program has put the file. \return 0 if there is
 * none, -1 with errno if it cannot be told. */
static int channel_file_find(const struct channel_file *file, int dir,
                             char name[LAYOUT_PATH_MAX])
{
    struct stat st;
    struct own_fd own;
    int found = 0;
    if (fstat(file->own.fd, &st) == 0 && st.st_nlink == 0) {
        return 0;
    }
    DIR *names =
        own_fd_read_dir(&own, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!names) {
        return -1;
    }
    for (struct dirent *entry; !found && (entry = readdir(names)) != NULL;) {
        const struct layout_name parsed = layout_parse(entry->d_name);
        if (parsed.kind == LAYOUT_NUMBERED && !parsed.gz &&
            channel_file_is_at(file, dir, entry->d_name)) {
            layout_numbered(name, parsed.channel, parsed.number, false);
            found = 1;
        }
    }
    own_fd_end_dir(&own, names);
    return found;
}

/* All that was written is still behind our descriptor: it becomes the active file again,
 * and readers go on in it. What it replaces holds nothing that it does not. Where readers
 * would take it for another file, it is renamed, as they would take both. */
static bool channel_file_put_back(struct channel_file *file, int dir, const char *active,
                                  bool replaces)
{
    char staged[sizeof LAYOUT_STAGING_PREFIX + LAYOUT_PATH_MAX];
    char other[LAYOUT_PATH_MAX];
    int found = channel_file_find(file, dir, other);
    if (found) {
        return found > 0 && (replaces ? renameat(dir, other, dir, active) == 0
                                      : channel_file_rename_new(dir, other, active));
    }
    snprintf(staged, sizeof staged, "%s%s", LAYOUT_STAGING_PREFIX, active);
    unlinkat(dir, staged, 0);
    struct own_fd copy;
    if (!channel_file_create(&copy, dir, staged)) {
        return false;
    }
    if (copy_whole_lines(file, &copy) &&
        (replaces ? renameat(dir, staged, dir, active) == 0
                  : channel_file_rename_new(dir, staged, active))) {
        own_fd_close(&file->own);
        file->own = copy;
        file->torn_bytes = 0;
        return true;
    }
    int saved = errno;
    unlinkat(dir, staged, 0);
    own_fd_close(&copy);
    errno = saved;
    return false;
}

bool channel_file_is_cut(const struct channel_file *file)
{
    struct stat st;
    return own_fd_is_ours(&file->own) && fstat(file->own.fd, &st) == 0 &&
           (uint64_t)st.st_size < file->size_bytes;
}

bool channel_file_any_is_cut(const struct channel_file *file, unsigned count)
{
    bool any = false;
    for (unsigned i = 0; !any && i < count; i++) {
        any = channel_file_is_cut(&file[i]);
    }
    return any;
}

struct session_amount channel_file_keep_rest(struct channel_file *file)
{
    struct stat st;
    const struct session_amount rest = session_amount_read(file->own.fd, 0);
    file->size_bytes = rest.bytes;
    file->halved =
        fstat(file->own.fd, &st) == 0 && (uint64_t)st.st_size > file->size_bytes;
    return rest;
}

enum channel_restored channel_file_restore(struct channel_file *file, int dir,
                                           enum channel channel,
                                           struct session_amount *lost)
{
    char active[LAYOUT_PATH_MAX];
    char other[LAYOUT_PATH_MAX];
    off_t common;
    layout_active(active, channel_name(channel), false);
    enum active_holder holder = channel_file_holder(file, dir, active, &common);
    *lost = (struct session_amount){0};
    if (holder != ACTIVE_UNKNOWN && holder != ACTIVE_OTHER &&
        channel_file_put_back(file, dir, active, holder == ACTIVE_COPY)) {
        return CHANNEL_RESTORED;
    }
    int reason = holder == ACTIVE_OTHER ? EEXIST : errno;
    if (channel_file_find(file, dir, other) <= 0) {
        *lost = session_amount_read(file->own.fd, (uint64_t)common);
    }
    layout_numbered(active, channel_name(channel), file->rotated + 1, false);
    bool sealed = channel_file_is_at(file, dir, active);
    errno = reason;
    return holder == ACTIVE_OTHER && !sealed ? CHANNEL_REPLACED : CHANNEL_NOT_RESTORED;
}
