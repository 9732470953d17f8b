/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the files of a channel their names, so that a reader can tell at any moment, and
 * after a kill, which of them is missing. */
#include "collector-lib/core/channel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"

static int channel_file_create(int dir, const char *name)
{
    return openat(dir, name,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666);
}

/* What has the name is left by a rotation that failed, or was planted: it is replaced,
 * and never opened. Where no file can be made it stays, as it may say what was not begun.
 */
static int channel_file_create_anew(int dir, const char *name)
{
    char staged[sizeof LAYOUT_STAGING_PREFIX + LAYOUT_PATH_MAX];
    int fd = channel_file_create(dir, name);
    if (fd >= 0 || errno != EEXIST) {
        return fd;
    }
    snprintf(staged, sizeof staged, "%s%s", LAYOUT_STAGING_PREFIX, name);
    unlinkat(dir, staged, 0);
    fd = channel_file_create(dir, staged);
    if (fd >= 0 && renameat(dir, staged, dir, name) < 0) {
        unlinkat(dir, staged, 0);
        close(fd);
        return -1;
    }
    return fd;
}

int channel_file_begin(struct channel_file *file, int dir, enum channel channel)
{
    char active[LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    *file = (struct channel_file){.own = OWN_FD_NONE};
    return own_fd_take(&file->own, channel_file_create(dir, active)) ? 0 : -1;
}

/* Never by a second name: after a kill, one file would count as two. */
static bool channel_file_rename_new(int dir, const char *from, const char *to)
{
    int rc = renameat2(dir, from, dir, to, RENAME_NOREPLACE);
    if (rc < 0 && errno == EINVAL) { /* a file system without RENAME_NOREPLACE */
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

bool channel_file_is_sealed(const struct channel_file *file, int dir,
                            enum channel channel)
{
    char name[LAYOUT_PATH_MAX];
    layout_active(name, channel_name(channel), false);
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT) {
        return false;
    }
    layout_numbered(name, channel_name(channel), file->rotated + 1, false);
    return channel_file_is_at(file, dir, name);
}

/* A job may be killed between the two renames. Then `.gpufl-next.…` says that the file
 * after the sealed one was not begun, so nothing is missing. Its number tells it from one
 * that was left before a seal. */
void channel_file_rotate(struct channel_file *file, int dir, enum channel channel)
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
    if (!own_fd_take(&begun, channel_file_create_anew(dir, next))) {
        return;
    }
    bool is_sealed = was_sealed || channel_file_rename_new(dir, active, sealed);
    if (is_sealed && (was_sealed ? channel_file_rename_new(dir, next, active)
                                 : renameat(dir, next, dir, active) == 0)) {
        own_fd_close(&file->own);
        *file = (struct channel_file){.own = begun, .rotated = number};
        return;
    }
    /* Readers wait for an active file, so the seal is undone, or finished later. */
    if (!is_sealed || (!was_sealed && renameat(dir, sealed, dir, active) == 0)) {
        unlinkat(dir, next, 0);
    }
    own_fd_close(&begun);
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
    if (!own_fd_is_ours(&file->own) || fstat(file->own.fd, &st) < 0 ||
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
        own_fd_replace(&file->own,
                       openat(dir, active, O_RDWR | O_NOFOLLOW | O_APPEND | O_CLOEXEC));
    }
}

/* Half a line that could not be cut off is left out. */
static bool copy_whole_lines(const struct channel_file *file, int to)
{
    char part[16384];
    const uint64_t most = file->torn_bytes ? file->torn_at : UINT64_MAX;
    uint64_t at = 0;
    ssize_t n = 0;
    do {
        size_t room = most - at < sizeof part ? (size_t)(most - at) : sizeof part;
        n = pread(file->own.fd, part, room, (off_t)at);
        if (n > 0 && write(to, part, (size_t)n) != n) {
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
    char sealed[LAYOUT_PATH_MAX];
    layout_active(active, channel_name(channel), false);
    layout_numbered(sealed, channel_name(channel), file->rotated + 1, false);
    return channel_file_is_at(file, dir, active) || channel_file_is_at(file, dir, sealed);
}

bool channel_file_has_name(const struct channel_file *file, int dir, enum channel channel)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    bool unknown = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT;
    return unknown || channel_file_is_named(file, dir, channel);
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
static off_t common_with(const struct channel_file *file, int dir, const char *active,
                         const struct stat *there)
{
    if (!S_ISREG(there->st_mode)) {
        return 0;
    }
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

/* Of whole lines, as what is written is counted. */
static struct session_amount amount_from(int fd, off_t from)
{
    char bytes[16384];
    struct session_amount part = {0};
    off_t at = from;
    for (ssize_t n; (n = pread(fd, bytes, sizeof bytes, at)) > 0; at += n) {
        const char *last = memrchr(bytes, '\n', (size_t)n);
        part.lines += session_parts_lines(bytes, (size_t)n);
        part.bytes = last ? (uint64_t)(at - from + (last - bytes) + 1) : part.bytes;
    }
    return part;
}

/* All that was written is still behind our descriptor: it becomes the active file again,
 * and readers go on in it. What it replaces holds nothing that it does not. */
static bool channel_file_put_back(struct channel_file *file, int dir, const char *active,
                                  bool replaces)
{
    char staged[sizeof LAYOUT_STAGING_PREFIX + LAYOUT_PATH_MAX];
    snprintf(staged, sizeof staged, "%s%s", LAYOUT_STAGING_PREFIX, active);
    unlinkat(dir, staged, 0);
    struct own_fd copy;
    if (!own_fd_take(&copy, channel_file_create(dir, staged))) {
        return false;
    }
    if (copy_whole_lines(file, copy.fd) &&
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
    const struct session_amount rest = amount_from(file->own.fd, 0);
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
    struct stat st;
    layout_active(active, channel_name(channel), false);
    bool there = fstatat(dir, active, &st, AT_SYMLINK_NOFOLLOW) == 0;
    *lost = (struct session_amount){0};
    off_t common = there ? common_with(file, dir, active, &st) : 0;
    if (common >= 0 && there && !(S_ISREG(st.st_mode) && common == st.st_size)) {
        *lost = amount_from(file->own.fd, common);
        return CHANNEL_REPLACED;
    }
    if (common >= 0 && channel_file_put_back(file, dir, active, there)) {
        return CHANNEL_RESTORED;
    }
    int reason = errno;
    *lost = amount_from(file->own.fd, common > 0 ? common : 0);
    errno = reason;
    return CHANNEL_NOT_RESTORED;
}
