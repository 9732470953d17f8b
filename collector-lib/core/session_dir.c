/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the session's directory and appends to its files, as schema/README.md
 * describes. */
#include "collector-lib/core/session_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/process_identity.h"
#include "base/uuid.h"
#include "collector-lib/core/clock.h"
#include "schema/layout.h"

#define NAMES_EVERY_NS 1000000000ll
#define IDS_TRIED      32

/* Not by uuid_make, which ends the process where getrandom(2) is refused. */
static int make_random_id(char out[40])
{
    unsigned char id[16];
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id) {
        return -1;
    }
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40); /* RFC 4122: version 4 */
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80); /* variant 1 */
    uuid_format(id, out);
    return 0;
}

/* mkdir -p; errno of the component that failed. */
static int make_path(const char *path)
{
    char *copy = strdup(path);
    if (!copy) {
        return -1;
    }
    int rc = 0;
    for (char *slash = copy + 1; rc == 0 && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        rc = mkdir(copy, 0777) < 0 && errno != EEXIST ? -1 : 0;
        *slash = '/';
    }
    if (rc == 0 && mkdir(copy, 0777) < 0 && errno != EEXIST) {
        rc = -1;
    }
    int saved = errno;
    free(copy);
    errno = saved;
    return rc;
}

bool session_dir_has(const struct session_dir *dir, enum channel channel)
{
    return channel != CHANNEL_SASS || dir->with_sass;
}

/* The names of the session's channels, as elements of a JSON array. The file of each is
 * made before the manifest, so a reader misses one that is not there. */
static void list_channels(const struct session_dir *dir, char *out, size_t cap)
{
    size_t len = 0;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_dir_has(dir, (enum channel)c)) {
            len += (size_t)snprintf(out + len, cap - len, "%s\"%s\"", len ? "," : "",
                                    channel_name((enum channel)c));
        }
    }
}

static int write_manifest(const struct session_dir *dir)
{
    char channels[CHANNEL_COUNT * (LAYOUT_CHANNEL_MAX + sizeof "\"\",")];
    list_channels(dir, channels, sizeof channels);
    struct process_identity self;
    process_identity_read(&self);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char lock_file[LAYOUT_LOCK_FILE_TEXT];
    layout_lock_file(lock_file, dir->lock_device, dir->lock_inode);
    char text[512 + sizeof channels];
    int len = snprintf(
        text, sizeof text,
        "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
        "\"session_id\":\"%s\",\"pid\":%lld,\"boot_id\":\"%s\","
        "\"pid_namespace\":%llu,\"pid_start_ticks\":%llu,"
        "\"lock_file\":\"%s\",\"start_ns\":%lld,\"channels\":[%s]}\n",
        dir->id, (long long)self.pid, self.boot_id,
        (unsigned long long)self.pid_namespace, (unsigned long long)self.start_ticks,
        lock_file, (long long)now.tv_sec * 1000000000 + now.tv_nsec, channels);
    int fd = openat(dir->dir_fd, LAYOUT_MANIFEST, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    0666);
    if (fd < 0) {
        return -1;
    }
    ssize_t written = write(fd, text, (size_t)len);
    close(fd);
    return written == len ? 0 : -1;
}

/* An open-file-description lock: closing another descriptor of the file in this process
 * (a reader, gpufl_upload_logs) does not release it, unlike a POSIX record lock. */
static int hold_session_lock(struct session_dir *dir)
{
    dir->lock_fd =
        openat(dir->dir_fd, LAYOUT_LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (dir->lock_fd < 0) {
        return -1;
    }
    struct stat file;
    if (fstat(dir->lock_fd, &file) < 0) {
        return -1;
    }
    dir->lock_device = file.st_dev;
    dir->lock_inode = file.st_ino;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(dir->lock_fd, F_OFD_SETLK, &lock);
}

static int fill_directory(struct session_dir *dir)
{
    if (hold_session_lock(dir) < 0) {
        return -1;
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_dir_has(dir, (enum channel)c) &&
            channel_file_begin(&dir->file[c], dir->dir_fd, (enum channel)c) < 0) {
            return -1;
        }
    }
    return 0;
}

static int rename_to_id(const struct session_dir *dir, int root, const char *staging)
{
    int rc = renameat2(root, staging, root, dir->id, RENAME_NOREPLACE);
    if (rc < 0 && errno == EINVAL) { /* a file system without RENAME_NOREPLACE */
        rc = renameat(root, staging, root, dir->id);
    }
    return rc;
}

/* Other users may create names in a shared log directory, and can read the id in the
 * manifest: it is written last, and if one of them takes the name first, under another
 * id.
 */
static int publish_directory(struct session_dir *dir, int root, const char *staging)
{
    for (int tries = 1;; tries++) {
        if (make_random_id(dir->id) < 0 || write_manifest(dir) < 0) {
            return -1;
        }
        if (rename_to_id(dir, root, staging) == 0) {
            return 0;
        }
        int saved = errno;
        bool taken = saved == EEXIST || saved == ENOTEMPTY || saved == ENOTDIR ||
                     saved == EPERM; /* of another user, in a sticky directory */
        if (!taken || tries == IDS_TRIED ||
            unlinkat(dir->dir_fd, LAYOUT_MANIFEST, 0) < 0) {
            errno = saved;
            return -1;
        }
    }
}

/* The name of the directory that is being filled tells nobody the id that it will have.
 */
static int make_directory(struct session_dir *dir, int root)
{
    char random[sizeof dir->id];
    char staging[sizeof LAYOUT_STAGING_PREFIX + sizeof random];
    if (make_random_id(random) < 0) {
        return -1;
    }
    snprintf(staging, sizeof staging, "%s%s", LAYOUT_STAGING_PREFIX, random);
    if (mkdirat(root, staging, 0777) < 0) {
        return -1;
    }
    dir->dir_fd = openat(root, staging, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir->dir_fd < 0 || fill_directory(dir) < 0) {
        return -1;
    }
    return publish_directory(dir, root, staging);
}

void session_dir_init(struct session_dir *dir)
{
    dir->dir_fd = dir->lock_fd = -1;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        dir->file[c] = (struct channel_file){.fd = -1};
    }
}

gpufl_status session_dir_open(struct session_dir *dir, const char *log_path)
{
    session_dir_init(dir);
    dir->sync_failure_said = false;
    dir->opened_ns = dir->names_checked_ns = clock_mono_ns();
    if (make_path(log_path) < 0) {
        return GPUFL_ERR_IO;
    }
    int root = open(log_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        return GPUFL_ERR_IO;
    }
    int rc = make_directory(dir, root);
    int saved = errno;
    close(root);
    if (rc < 0) {
        session_dir_close(dir);
        errno = saved;
        return GPUFL_ERR_IO;
    }
    return GPUFL_OK;
}

/* After a failed write: keeps the whole lines that reached the file and cuts off the
 * torn one. Keeps errno. */
static size_t cut_torn_tail(struct channel_file *file, const char *lines, size_t written)
{
    int saved = errno;
    const char *last = written ? memrchr(lines, '\n', written) : NULL;
    size_t whole = last ? (size_t)(last - lines) + 1 : 0;
    bool cut =
        whole == written || ftruncate(file->fd, (off_t)(file->size_bytes + whole)) == 0;
    file->size_bytes += cut ? whole : written;
    errno = saved;
    return whole;
}

static void sync_file(struct session_dir *dir, enum channel channel)
{
    if (fdatasync(dir->file[channel].fd) < 0 && !dir->sync_failure_said) {
        dir->sync_failure_said = true;
        fprintf(stderr, "[GPUFL] cannot sync %s/%s.log: %s; lines may be lost\n", dir->id,
                channel_name(channel), strerror(errno));
    }
}

/* Sizes are told before they are reached: a reader of an active file that another tool
 * compressed and removed learns whether that has got all of it. What is read there is of
 * this boot: a power failure may keep it and take the rename. The size never changes, so
 * one write replaces all of it. */
static void session_dir_tell_files(const struct session_dir *dir)
{
    char text[LAYOUT_TOLD_BYTES + 1];
    char
        bytes[CHANNEL_COUNT * (LAYOUT_CHANNEL_MAX + sizeof ",\"\":18446744073709551615")];
    char boot_id[BOOT_ID_TEXT];
    struct stat lock;
    size_t bytes_len = 0;
    boot_id_get(boot_id);
    size_t len =
        (size_t)snprintf(text, sizeof text, "{\"boot_id\":\"%s\",\"active\":{", boot_id);
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        const char *name = channel_name((enum channel)c);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s\"%s\":%u",
                                c ? "," : "", name, dir->file[c].rotated + 1);
        bytes_len += (size_t)snprintf(bytes + bytes_len, sizeof bytes - bytes_len,
                                      "%s\"%s\":%" PRIu64, c ? "," : "", name,
                                      dir->file[c].told_bytes);
    }
    len += (size_t)snprintf(text + len, sizeof text - len, "},\"bytes\":{%s}}", bytes);
    snprintf(text + len, sizeof text - len, "%*s", (int)(sizeof text - len - 1), "\n");
    if (fstat(dir->lock_fd, &lock) == 0 && lock.st_dev == dir->lock_device &&
        lock.st_ino == dir->lock_inode) { /* a job may close what is not its own */
        (void)!pwrite(dir->lock_fd, text, LAYOUT_TOLD_BYTES, 0);
    }
}

static void session_dir_tell_size(struct session_dir *dir, enum channel channel,
                                  uint64_t bytes)
{
    int saved = errno;
    if (dir->file[channel].told_bytes != bytes) {
        dir->file[channel].told_bytes = bytes;
        session_dir_tell_files(dir);
    }
    errno = saved;
}

static void session_dir_rotate(struct session_dir *dir, enum channel channel)
{
    uint32_t rotated = dir->file[channel].rotated;
    channel_file_rotate(&dir->file[channel], dir->dir_fd, channel);
    if (dir->file[channel].rotated != rotated) { /* a seal that is undone tells nothing */
        session_dir_tell_files(dir);
    }
}

size_t session_dir_append(struct session_dir *dir, enum channel channel,
                          const char *lines, size_t len)
{
    struct channel_file *file = &dir->file[channel];
    size_t done = 0;
    if (file->size_bytes > 0 && file->size_bytes + len > dir->rotate_bytes) {
        session_dir_rotate(dir, channel);
    }
    session_dir_tell_size(dir, channel, file->size_bytes + len);
    while (done < len) {
        ssize_t n = write(file->fd, lines + done, len - done);
        if (n <= 0 && errno != EINTR) {
            size_t whole = cut_torn_tail(file, lines, done);
            session_dir_tell_size(dir, channel, file->size_bytes);
            return whole;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    file->size_bytes += len;
    file->first_write_ns = file->first_write_ns ? file->first_write_ns : clock_mono_ns();
    if (dir->sync_each_write && len) {
        sync_file(dir, channel);
    }
    return len;
}

void session_dir_rotate_old(struct session_dir *dir, int64_t mono_ns)
{
    for (int c = 0; dir->rotate_after_ns && c < CHANNEL_COUNT; c++) {
        struct channel_file *file = &dir->file[c];
        if (file->first_write_ns &&
            mono_ns - file->first_write_ns >= dir->rotate_after_ns) {
            session_dir_rotate(dir, (enum channel)c);
        }
    }
}

void session_dir_restore_names(struct session_dir *dir, int64_t mono_ns)
{
    struct stat st;
    if (mono_ns - dir->names_checked_ns < NAMES_EVERY_NS) {
        return;
    }
    dir->names_checked_ns = mono_ns;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (dir->file[c].fd >= 0 && fstat(dir->file[c].fd, &st) == 0 &&
            st.st_nlink == 0) {
            channel_file_restore(&dir->file[c], dir->dir_fd, (enum channel)c);
        }
    }
}

void session_dir_close(struct session_dir *dir)
{
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (dir->file[c].fd >= 0) {
            close(dir->file[c].fd);
            dir->file[c].fd = -1;
        }
    }
    if (dir->lock_fd >= 0) {
        close(dir->lock_fd);
    }
    if (dir->dir_fd >= 0) {
        close(dir->dir_fd);
    }
    dir->lock_fd = dir->dir_fd = -1;
}
