/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lock file of a session, and what a rotation leaves. What others may have
 * planted counts for nothing. No tree is made of its text, which is read at each look at
 * the session. */
#include "upload/source/told.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/json_text.h"
#include "schema/plain_object.h"
#include "upload/source/file_mark.h"
#include "upload/source/gz_file.h"

#define TOLD_DEPTH 16
#define NS_PER_MS  1000000

enum told_member {
    TOLD_ACTIVE,
    TOLD_BYTES,
    TOLD_BEFORE,
    TOLD_INODES,
    TOLD_LOCK_FILE,
    TOLD_BOOT_ID,
    TOLD_CRC,
    TOLD_MEMBERS
};

/* What is said of each channel; -1 = nothing. */
static void told_channels(struct record_text object, int64_t max,
                          int64_t out[CHANNEL_COUNT])
{
    struct record_text name;
    struct record_text value;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        out[c] = -1;
    }
    while (record_field_next(&object, &name, &value)) {
        for (int c = 0; c < CHANNEL_COUNT; c++) {
            if (plain_object_is(name, channel_name((enum channel)c))) {
                out[c] = plain_object_int(value, max);
            }
        }
    }
}

/* Parts of two texts, where a write was cut off, may seem to be one. */
static bool active_files_are_whole(struct record_text line, struct record_text told)
{
    const char *end =
        memmem(line.at, line.len, LAYOUT_TOLD_CRC, sizeof LAYOUT_TOLD_CRC - 1);
    int64_t crc = plain_object_int(told, UINT32_MAX);
    return end && crc >= 0 &&
           crc32c(0, line.at, (size_t)(end - line.at)) == (uint32_t)crc;
}

/* What is to be appended next is told, and may not have come to its file. */
static void active_files_take(struct record_text line,
                              const struct record_text told[TOLD_MEMBERS],
                              struct active_files *out)
{
    const struct record_text none = {NULL, 0};
    bool whole = active_files_are_whole(line, told[TOLD_CRC]);
    bool least = whole && plain_object_has_object(told[TOLD_BEFORE]);
    int64_t number[CHANNEL_COUNT];
    told_channels(told[TOLD_ACTIVE], LAYOUT_NUMBER_MAX, number);
    told_channels(told[TOLD_BYTES], INT64_MAX, out->bytes);
    told_channels(least ? told[TOLD_BEFORE] : none, INT64_MAX, out->least);
    told_channels(whole ? told[TOLD_INODES] : none, INT64_MAX, out->inode);
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        out->number[c] = number[c] > 0 ? (uint32_t)number[c] : 0;
        out->least[c] = out->least[c] < 0 && least ? out->bytes[c] : out->least[c];
    }
    plain_object_copy(told[TOLD_LOCK_FILE], out->lock_file, sizeof out->lock_file);
    plain_object_copy(told[TOLD_BOOT_ID], out->boot_id, sizeof out->boot_id);
}

gpufl_status active_files_parse(const char *text, size_t len, struct active_files *out)
{
    static const char *const keys[TOLD_MEMBERS] = {
        "active", "bytes", "before", "inodes", "lock_file", "boot_id", "crc32c"};
    struct record_text line = {text, len};
    struct record_text told[TOLD_MEMBERS];
    memset(out, 0, sizeof *out);
    if (len > LAYOUT_TOLD_BYTES || !json_is_object(text, len, TOLD_DEPTH) ||
        !plain_object_read(text, len, keys, TOLD_MEMBERS, told) ||
        !plain_object_has_object(told[TOLD_ACTIVE])) {
        return GPUFL_ERR_FORMAT;
    }
    active_files_take(line, told, out);
    return GPUFL_OK;
}

static bool told_may_tell(int dir, struct stat *lock)
{
    struct stat of_dir;
    return fstatat(dir, LAYOUT_LOCK, lock, AT_SYMLINK_NOFOLLOW) == 0 &&
           lock->st_size > 0 && lock->st_size <= LAYOUT_TOLD_BYTES &&
           fstat(dir, &of_dir) == 0 && of_dir.st_uid == lock->st_uid;
}

/* Errors of the disk and limits pass; who may read the file was decided by others. */
static gpufl_status told_open_failed(int error)
{
    bool passes = error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
    return passes ? GPUFL_ERR_IO : GPUFL_ERR_NOT_FOUND;
}

/* The number of the file in "2049:131". */
static const char *told_inode(const char *lock_file)
{
    const char *colon = strchr(lock_file, ':');
    return colon ? colon : lock_file;
}

/* Device numbers change from boot to boot and from host to host, those of files do not.
 */
static bool told_is_named(const char *one, const char *other, bool now)
{
    return now ? strcmp(one, other) == 0
               : strcmp(told_inode(one), told_inode(other)) == 0;
}

gpufl_status told_read(const struct sys *sys, int dir, struct active_files *out,
                       bool *now)
{
    char text[LAYOUT_TOLD_BYTES];
    char boot_id[BOOT_ID_TEXT];
    char name[LAYOUT_LOCK_FILE_TEXT];
    struct stat before;
    struct stat st;
    ssize_t n = 0;
    errno = 0;
    int fd = told_may_tell(dir, &before) ? file_open(sys, dir, LAYOUT_LOCK) : -1;
    if (fd < 0) {
        return told_open_failed(errno);
    }
    if (fstat(fd, &st) == 0 && st.st_uid == before.st_uid) {
        n = file_pread_full(sys, fd, text, sizeof text, 0);
    }
    close(fd);
    if (n < 0) {
        return GPUFL_ERR_IO;
    }
    boot_id_get(boot_id);
    layout_lock_file(name, st.st_dev, st.st_ino);
    bool told = n > 0 && active_files_parse(text, (size_t)n, out) == GPUFL_OK;
    *now = told && boot_id[0] && strcmp(out->boot_id, boot_id) == 0;
    bool named = told && told_is_named(out->lock_file, name, *now);
    for (int c = 0; !named && c < CHANNEL_COUNT; c++) {
        out->inode[c] = -1;
    }
    return told ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}

static bool told_is_file(const struct active_files *told, enum channel channel,
                         const struct stat *st)
{
    return told->inode[channel] > 0 && (uint64_t)told->inode[channel] == st->st_ino;
}

uint32_t told_number(const struct active_files *told, const char *channel)
{
    enum channel c = channel_named(channel);
    return c != CHANNEL_COUNT ? told->number[c] : 0;
}

uint32_t told_number_at(const struct active_files *told, const char *channel,
                        const struct stat *st)
{
    enum channel c = channel_named(channel);
    return c != CHANNEL_COUNT && told_is_file(told, c, st) ? told->number[c] : 0;
}

bool told_is_reached(const struct active_files *told, const char *channel, uint32_t file,
                     uint64_t offset)
{
    const uint32_t number = told_number(told, channel);
    if (number == 0 || told->bytes[channel_named(channel)] < 0) {
        return false;
    }
    return number < file ||
           (number == file && (uint64_t)told->bytes[channel_named(channel)] <= offset);
}

bool told_agrees(int dir, enum channel channel, const struct active_files *told,
                 uint32_t highest)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    return told->number[channel] == highest + 1 ||
           (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            told_is_file(told, channel, &st));
}

gpufl_status told_number_of(const struct sys *sys, int dir, const char *channel, int fd,
                            uint32_t *number)
{
    struct active_files told;
    struct stat st;
    enum channel c = channel_named(channel);
    bool now;
    gpufl_status status =
        c == CHANNEL_COUNT ? GPUFL_ERR_NOT_FOUND : told_read(sys, dir, &told, &now);
    bool is = status == GPUFL_OK && fstat(fd, &st) == 0 && told_is_file(&told, c, &st);
    *number = is ? told.number[c] : 0;
    return status == GPUFL_ERR_IO ? status : GPUFL_OK;
}

/* The last append did not come to its file whole, and does not begin behind a whole line:
 * others had cut the file, and its writer was killed before it saw that. */
static bool told_is_merged(const struct sys *sys, int dir, const char *name,
                           int64_t before)
{
    char last = '\n';
    int fd = before > 0 ? file_open(sys, dir, name) : -1;
    if (fd >= 0) {
        (void)!file_pread_full(sys, fd, &last, 1, (off_t)before - 1);
        close(fd);
    }
    return last != '\n';
}

enum told_fit told_compare(const struct sys *sys, int dir, enum channel channel,
                           const struct active_files *told)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    if (told->least[channel] < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return TOLD_FITS;
    }
    bool other = told->inode[channel] > 0 && (uint64_t)told->inode[channel] != st.st_ino;
    bool less = st.st_size < told->least[channel] ||
                (!other && st.st_size < told->bytes[channel] &&
                 told_is_merged(sys, dir, name, told->least[channel]));
    return less                                          ? TOLD_LESS
           : other && st.st_size != told->bytes[channel] ? TOLD_OTHER
                                                         : TOLD_FITS;
}

/* Of one file, file systems may tell it with more or fewer digits. */
static bool told_was_born(const struct statx *lock, int64_t born_ns)
{
    int64_t born_ms = lock->stx_btime.tv_sec * 1000 + lock->stx_btime.tv_nsec / NS_PER_MS;
    int64_t late_ms = born_ms - born_ns / NS_PER_MS;
    bool told = born_ns > 0 && lock->stx_mask & STATX_BTIME;
    return !told || (late_ms >= -1 && late_ms <= 1);
}

bool told_lock_is_named(const struct statx *lock, const struct manifest *manifest)
{
    char boot_id[BOOT_ID_TEXT];
    char name[LAYOUT_LOCK_FILE_TEXT];
    boot_id_get(boot_id);
    layout_lock_file(name, makedev(lock->stx_dev_major, lock->stx_dev_minor),
                     lock->stx_ino);
    bool now = strcmp(boot_id, manifest->boot_id) == 0;
    return told_is_named(name, manifest->lock_file, now) &&
           told_was_born(lock, manifest->lock_born_ns);
}

bool told_is_copy(int dir, const struct manifest *manifest)
{
    struct statx lock;
    if (!manifest->lock_file[0]) {
        return false; /* of an earlier writer */
    }
    if (statx(dir, LAYOUT_LOCK, AT_SYMLINK_NOFOLLOW, TOLD_LOCK_ASKED, &lock) < 0) {
        return errno == ENOENT;
    }
    return !told_lock_is_named(&lock, manifest);
}

bool told_differs(int dir, enum channel channel, const struct active_files *told,
                  uint32_t highest)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    layout_active(name, channel_name(channel), false);
    return told->number[channel] && (told->number[channel] != highest + 1 ||
                                     (told->bytes[channel] >= 0 &&
                                      fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                      st.st_size != told->bytes[channel]));
}

static bool told_has_not_begun(const struct sys *sys, int dir, const char *channel,
                               uint32_t file, bool *failed)
{
    char next[LAYOUT_PATH_MAX];
    struct active_files told;
    enum channel c = channel_named(channel);
    bool now = false;
    layout_next(next, channel, file);
    if (faccessat(dir, next, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        return true; /* the name goes as soon as the file is begun */
    }
    gpufl_status status =
        c == CHANNEL_COUNT ? GPUFL_ERR_NOT_FOUND : told_read(sys, dir, &told, &now);
    *failed = status == GPUFL_ERR_IO;
    return status == GPUFL_OK && now && told.number[c] && told.bytes[c] >= 0 &&
           (told.number[c] < file || (told.number[c] == file && told.bytes[c] == 0));
}

bool told_is_earlier(const struct sys *sys, int dir, const char *channel, uint32_t file,
                     bool *failed)
{
    char name[LAYOUT_PATH_MAX];
    struct stat st;
    *failed = false;
    if (!told_has_not_begun(sys, dir, channel, file, failed)) {
        return false;
    }
    layout_active(name, channel, true);
    int fd = file_open(sys, dir, name);
    bool yields = fd >= 0 && fstat(fd, &st) == 0 &&
                  gz_file_says_bytes(sys, fd, (uint64_t)st.st_size) > 0;
    if (fd >= 0) {
        close(fd);
    }
    return yields;
}

/* A rename gives one file either name, and never both. What was opened as the active file
 * may have been given a number since, and been compressed. */
static bool told_is_still(const struct told_beside *b, const struct stat *active)
{
    char name[LAYOUT_PATH_MAX];
    struct stat now;
    layout_active(name, b->channel, false);
    return fstatat(b->dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           now.st_ino == active->st_ino && now.st_dev == active->st_dev;
}

bool told_is_anothers(const struct told_beside *b, const struct active_files *told)
{
    enum channel c = channel_named(b->channel);
    struct stat active;
    struct stat numbered;
    if (fstat(b->active, &active) < 0 || fstat(b->numbered, &numbered) < 0) {
        return false;
    }
    if (active.st_ino == numbered.st_ino) {
        return numbered.st_nlink > 1 && active.st_dev == numbered.st_dev &&
               told_is_still(b, &active);
    }
    bool sealed = c != CHANNEL_COUNT &&
                  (told->number[c] > b->number || told_is_file(told, c, &numbered));
    bool due = told_number_at(told, b->channel, &active) == b->number;
    return !sealed &&
           file_copy_is(b->sys, b->active, b->numbered, b->gz, due, b->cache) &&
           told_is_still(b, &active);
}

bool told_note_beyond(const struct sys *sys, int dir, const char *channel,
                      uint32_t number, const struct active_files *told,
                      struct unread *unread)
{
    char name[LAYOUT_PATH_MAX];
    bool beyond = false;
    layout_active(name, channel, false);
    struct told_beside b = {.sys = sys, .dir = dir, .channel = channel, .number = number};
    b.active = file_open(sys, dir, name);
    for (int gz = 0; b.active >= 0 && gz < 2; gz++) {
        layout_numbered(name, channel, number, gz);
        b.gz = gz;
        b.numbered = file_open(sys, dir, name);
        if (b.numbered >= 0 && told_is_anothers(&b, told)) {
            unread_add(unread, UNREAD_BEYOND, name);
            beyond = true;
        }
        if (b.numbered >= 0) {
            close(b.numbered);
        }
    }
    if (b.active >= 0) {
        close(b.active);
    }
    return beyond;
}
