/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the session's directory and appends to its files, as schema/README.md
 * describes. */
#include "collector-lib/core/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"
#include "collector-lib/core/active_name.h"
#include "collector-lib/core/active_told.h"
#include "collector-lib/core/clock.h"
#include "collector-lib/core/library_log.h"
#include "collector-lib/core/log_path.h"
#include "collector-lib/core/session_identity.h"
#include "schema/layout.h"

bool session_dir_has(const struct session_dir *dir, enum channel channel)
{
    return session_identity_lists(dir->with_sass, channel);
}

static int fill_directory(struct session_dir *dir)
{
    if (session_lock_take(&dir->lock, dir->own.fd) < 0) {
        return -1;
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_dir_has(dir, (enum channel)c) &&
            channel_file_begin(&dir->file[c], dir->own.fd, (enum channel)c) < 0) {
            return -1;
        }
    }
    return 0;
}

/* What became no session. Keeps errno. */
static void remove_staging(const struct session_dir *dir, int root, const char *staging)
{
    int saved = errno;
    bool ours = own_fd_is_ours(&dir->own);
    for (int c = 0; ours && c < CHANNEL_COUNT; c++) {
        char active[LAYOUT_PATH_MAX];
        layout_active(active, channel_name((enum channel)c), false);
        unlinkat(dir->own.fd, active, 0);
    }
    if (ours) {
        unlinkat(dir->own.fd, LAYOUT_LOCK, 0);
        unlinkat(dir->own.fd, LAYOUT_MANIFEST, 0);
    }
    unlinkat(root, staging, AT_REMOVEDIR);
    errno = saved;
}

/* The name of the directory that is being filled tells nobody the id that it will have.
 */
static int make_directory(struct session_dir *dir, int root)
{
    char random[SESSION_NONCE_TEXT];
    char staging[sizeof LAYOUT_STAGING_PREFIX + sizeof random];
    if (session_identity_nonce(random) < 0) {
        return -1;
    }
    snprintf(staging, sizeof staging, "%s%s", LAYOUT_STAGING_PREFIX, random);
    if (mkdirat(root, staging, 0777) < 0) {
        return -1;
    }
    int fd = openat(root, staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!own_fd_take(&dir->own, fd) || fill_directory(dir) < 0 ||
        session_identity_publish(dir->own.fd, &dir->lock, dir->with_sass, root, staging,
                                 dir->id) < 0) {
        remove_staging(dir, root, staging);
        return -1;
    }
    return 0;
}

void session_dir_discard(struct session_dir *dir)
{
    remove_staging(dir, AT_FDCWD, dir->path);
    session_dir_close(dir);
}

void session_dir_init(struct session_dir *dir)
{
    dir->path[0] = '\0';
    dir->own = (struct own_fd)OWN_FD_NONE;
    dir->lock = (struct session_lock){.file = OWN_FD_NONE};
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        dir->file[c] = (struct channel_file){.own = OWN_FD_NONE};
        dir->lost_lines[c] = false;
        dir->parts[c] = (struct session_parts){0};
    }
    dir->gone = false;
}

/* The job may change its working directory. */
static void keep_path(struct session_dir *dir, const char *log_path)
{
    char absolute[PATH_MAX];
    int len = realpath(log_path, absolute)
                  ? snprintf(dir->path, sizeof dir->path, "%s/%s", absolute, dir->id)
                  : -1;
    if (len < 0 || (size_t)len >= sizeof dir->path) {
        dir->path[0] = '\0';
    }
}

gpufl_status session_dir_open(struct session_dir *dir, const char *log_path)
{
    session_dir_init(dir);
    dir->sync_failure_said = false;
    dir->opened_ns = dir->names_checked_ns = clock_mono_ns();
    if (log_path_make(log_path) < 0) {
        return GPUFL_ERR_IO;
    }
    struct own_fd root;
    int fd = open(log_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!own_fd_take_briefly(&root, fd)) {
        return GPUFL_ERR_IO;
    }
    int rc = make_directory(dir, root.fd);
    int saved = errno;
    own_fd_close(&root);
    if (rc == 0) {
        keep_path(dir, log_path);
    } else {
        session_dir_close(dir);
        errno = saved;
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

static void sync_file(struct session_dir *dir, enum channel channel)
{
    if (fdatasync(dir->file[channel].own.fd) < 0 && !dir->sync_failure_said) {
        dir->sync_failure_said = true;
        library_log(GPUFL_LOG_WARNING, "cannot sync %s/%s.log: %s; lines may be lost",
                    dir->id, channel_name(channel), message_reason(errno));
    }
}

static void session_dir_tell_files(struct session_dir *dir)
{
    dir->appending = false;
    active_told_write(&dir->lock, dir->file, CHANNEL_COUNT);
}

static void session_dir_tell_size(struct session_dir *dir, enum channel channel,
                                  uint64_t bytes)
{
    struct channel_file *file = &dir->file[channel];
    int saved = errno;
    if (file->told_bytes != bytes) {
        file->told_bytes = bytes;
        dir->appending = bytes > file->size_bytes;
        active_told_write(&dir->lock, dir->file,
                          dir->appending ? channel : CHANNEL_COUNT);
    }
    errno = saved;
}

/* What is appended behind half a line would become part of it. \return false with errno
 * while it cannot be cut off. */
static bool session_dir_cut(struct session_dir *dir, enum channel channel)
{
    struct channel_file *file = &dir->file[channel];
    if (!file->torn_bytes) {
        return true;
    }
    active_told_write(&dir->lock, dir->file, channel); /* it may have fewer from now on */
    if (!channel_file_cut(file)) {
        return false;
    }
    session_dir_tell_size(dir, channel, file->size_bytes);
    return true;
}

/* After a failed write: keeps the whole lines that reached the file and cuts off the
 * torn one. Keeps errno. */
static size_t keep_whole_lines(struct session_dir *dir, enum channel channel,
                               const char *lines, size_t written)
{
    struct channel_file *file = &dir->file[channel];
    int saved = errno;
    const char *last = written ? memrchr(lines, '\n', written) : NULL;
    size_t whole = last ? (size_t)(last - lines) + 1 : 0;
    file->size_bytes += whole;
    session_parts_write(&dir->parts[channel], lines, whole);
    channel_file_tear(file, written - whole);
    session_dir_tell_size(dir, channel, file->size_bytes + file->torn_bytes);
    (void)session_dir_cut(dir, channel); /* else before the next lines */
    errno = saved;
    return whole;
}

static void session_dir_seal(struct session_dir *dir, enum channel channel)
{
    uint32_t rotated = dir->file[channel].rotated;
    active_name_seal(&dir->file[channel], dir->own.fd, channel, dir->id);
    if (dir->file[channel].rotated != rotated) { /* a seal that is undone tells nothing */
        session_parts_seal(&dir->parts[channel]);
        session_dir_tell_files(dir);
    }
}

/* \return true if it was removed: no file in it can get its name back. */
static bool session_dir_is_gone(struct session_dir *dir)
{
    struct stat st;
    if (!dir->gone && fstat(dir->own.fd, &st) == 0 && st.st_nlink == 0) {
        dir->gone = true;
        library_log(GPUFL_LOG_ERROR,
                    "the directory of session %s was removed: what it records is lost "
                    "(leave the directory of a running session alone)",
                    dir->id);
    }
    return dir->gone;
}

/* \return true if the active file has its name. */
static bool session_dir_keep_name(struct session_dir *dir, enum channel channel)
{
    struct session_amount lost;
    bool whole = session_dir_cut(dir, channel);
    if (session_dir_is_gone(dir) ||
        (!whole && channel_file_is_cut(&dir->file[channel]))) {
        return false;
    }
    enum active_name name = active_name_keep(&dir->file[channel], dir->own.fd, channel,
                                             dir->id, &dir->parts[channel].active, &lost);
    session_parts_lose(&dir->parts[channel], &lost, name == ACTIVE_NAME_GIVEN_UP);
    switch (name) {
    case ACTIVE_NAME_KEPT:
        return true;
    case ACTIVE_NAME_RESTORED:
        session_dir_tell_files(dir);
        return true;
    case ACTIVE_NAME_SEALED:
        if (session_dir_cut(dir, channel)) {
            session_dir_seal(dir, channel);
        }
        return false;
    case ACTIVE_NAME_LOST:
        return false;
    case ACTIVE_NAME_GIVEN_UP:
        session_dir_seal(dir, channel);
        dir->lost_lines[channel] = true;
        return false; /* nothing is left to seal */
    }
    return false;
}

static void session_dir_rotate(struct session_dir *dir, enum channel channel)
{
    if (session_dir_keep_name(dir, channel) && session_dir_cut(dir, channel)) {
        session_dir_seal(dir, channel);
    }
}

void session_dir_mend(struct session_dir *dir)
{
    if (!own_fd_is_ours(&dir->own) &&
        !(dir->path[0] && own_fd_reopen(&dir->own, AT_FDCWD, dir->path,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW))) {
        return;
    }
    if (session_lock_mend(&dir->lock, dir->own.fd)) {
        session_dir_tell_files(dir);
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_dir_has(dir, (enum channel)c)) {
            channel_file_mend(&dir->file[c], dir->own.fd, (enum channel)c);
        }
    }
}

static bool may_write(struct session_dir *dir, enum channel channel)
{
    const struct channel_file *file = &dir->file[channel];
    if (!own_fd_is_ours(&dir->own) || !own_fd_is_ours(&file->own)) {
        session_dir_mend(dir);
    }
    errno = EBADF;
    if (file->halved) {
        session_dir_seal(dir, channel);
    }
    return own_fd_is_ours(&dir->own) && own_fd_is_ours(&file->own) && !file->halved &&
           session_dir_cut(dir, channel);
}

bool session_dir_rotates_for(const struct session_dir *dir, enum channel channel,
                             size_t len)
{
    const uint64_t had = dir->file[channel].size_bytes;
    return had > 0 && (had + len > dir->rotate_bytes || had + len > channel_file_limit());
}

/* A rotation may find that others have cut the file, and be unable to seal it. */
static bool may_append(struct session_dir *dir, enum channel channel, size_t len)
{
    bool may = may_write(dir, channel);
    if (may && session_dir_rotates_for(dir, channel, len)) {
        session_dir_rotate(dir, channel);
        may = may_write(dir, channel);
    }
    return may;
}

size_t session_dir_append(struct session_dir *dir, enum channel channel,
                          const char *lines, size_t len)
{
    struct channel_file *file = &dir->file[channel];
    size_t done = 0;
    bool again = false;
    if (!may_append(dir, channel, len)) {
        return 0;
    }
    while (done < len) {
        session_dir_tell_size(dir, channel, file->size_bytes + len);
        ssize_t n = own_fd_write(&file->own, lines + done, len - done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return keep_whole_lines(dir, channel, lines, done);
        }
        done += n > 0 ? (size_t)n : 0;
        if (n > 0 && active_name_merges(file, lines, done)) {
            bool cut = session_dir_cut(dir, channel); /* else before the next lines */
            if (!cut || again) {
                errno = cut ? EIO : errno;
                return 0;
            }
            again = true;
            done = 0;
        }
    }
    file->size_bytes += len;
    session_parts_write(&dir->parts[channel], lines, len);
    file->first_write_ns = file->first_write_ns ? file->first_write_ns : clock_mono_ns();
    if (dir->sync_each_write && len) {
        sync_file(dir, channel);
    }
    return len;
}

void session_dir_rotate_old(struct session_dir *dir, int64_t mono_ns)
{
    for (int c = 0; dir->rotate_after_ns && c < CHANNEL_COUNT; c++) {
        const int64_t first_ns = dir->file[c].first_write_ns;
        if (first_ns && mono_ns - first_ns >= dir->rotate_after_ns) {
            session_dir_rotate(dir, (enum channel)c);
        }
    }
}

void session_dir_restore_names(struct session_dir *dir)
{
    bool whole = true;
    for (int c = 0; own_fd_is_ours(&dir->own) && c < CHANNEL_COUNT; c++) {
        session_dir_keep_name(dir, (enum channel)c);
        whole = whole && !dir->file[c].torn_bytes;
    }
    if (dir->appending && whole) {
        session_dir_tell_files(dir);
    }
}

void session_dir_restore_names_now_and_then(struct session_dir *dir, int64_t mono_ns)
{
    if (mono_ns - dir->names_checked_ns >= NAMES_EVERY_NS ||
        channel_file_any_is_cut(dir->file, CHANNEL_COUNT)) {
        dir->names_checked_ns = mono_ns;
        session_dir_restore_names(dir);
    }
}

struct session_amount session_dir_lost(const struct session_dir *dir,
                                       enum channel channel)
{
    return dir->gone ? dir->parts[channel].written
                     : session_parts_lost(&dir->parts[channel]);
}

void session_dir_close(struct session_dir *dir)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        own_fd_close(&dir->file[c].own);
    }
    own_fd_close(&dir->lock.file);
    own_fd_close(&dir->own);
}
