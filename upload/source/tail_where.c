/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the files of a position in the directory that the session is known by, and
 * compares it with what the writer told. */
#include "upload/source/tail_where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "upload/source/told.h"

int tail_where_enter(const struct sys *sys, const struct tail_where *w,
                     struct tail_where *in)
{
    *in = *w;
    in->path = ".";
    in->directory = NULL;
    in->root = w->directory
                   ? directory_open(sys, w->root, w->path, w->directory)
                   : sys->open_beneath(w->root, w->path, O_PATH | O_DIRECTORY, 0);
    return in->root;
}

int tail_where_open(const struct sys *sys, const struct tail_where *w, const char *name)
{
    char path[JOURNAL_PATH_MAX + LAYOUT_PATH_MAX + 1];
    struct tail_where in;
    if (!w->directory) {
        snprintf(path, sizeof path, "%s/%s", w->path, name);
        return file_open(sys, w->root, path);
    }
    int dir = tail_where_enter(sys, w, &in);
    int fd = dir >= 0 ? file_open(sys, dir, name) : -1;
    int error = errno;
    if (dir >= 0) {
        close(dir);
    }
    errno = error;
    return fd;
}

int tail_where_open_either(const struct sys *sys, const struct tail_where *w,
                           uint32_t number, bool *gz)
{
    char name[LAYOUT_PATH_MAX];
    int error = ENOENT;
    for (int i = 0; i < 2; i++) {
        *gz = i == 1;
        if (number) {
            layout_numbered(name, w->channel, number, *gz);
        } else {
            layout_active(name, w->channel, *gz);
        }
        int fd = tail_where_open(sys, w, name);
        if (fd >= 0 || (errno != ENOENT && errno != ELOOP)) {
            return fd;
        }
        error = errno == ELOOP ? ELOOP : error; /* not a regular file */
    }
    errno = error;
    return -1;
}

/* \return false if its writer has told nothing on this boot. */
static bool tail_where_read_told(const struct sys *sys, const struct tail_where *w,
                                 struct active_files *told)
{
    struct tail_where in;
    bool now = false;
    int dir = tail_where_enter(sys, w, &in);
    bool read = dir >= 0 && told_read(sys, dir, told, &now) == GPUFL_OK && now;
    if (dir >= 0) {
        close(dir);
    }
    return read;
}

/* \return -1: it is not known now. */
static int tail_where_is_beside(const struct sys *sys, const struct tail_where *w,
                                int active, int numbered, bool gz)
{
    struct active_files told = {0};
    struct tail_where in;
    bool now;
    struct told_beside b = {sys, -1, w->channel, w->file, active, numbered, gz, w->cache};
    b.dir = tail_where_enter(sys, w, &in);
    gpufl_status s = b.dir < 0 ? GPUFL_ERR_NOT_FOUND : told_read(sys, b.dir, &told, &now);
    int beside = s == GPUFL_ERR_IO ? -1 : told_is_anothers(&b, &told);
    if (b.dir >= 0) {
        close(b.dir);
    }
    return beside;
}

int tail_where_open_sealed(const struct sys *sys, const struct tail_where *w, int active,
                           bool *gz)
{
    int fd = tail_where_open_either(sys, w, w->file, gz);
    int beside =
        fd >= 0 && active >= 0 ? tail_where_is_beside(sys, w, active, fd, *gz) : 0;
    if (beside) {
        close(fd);
        errno = beside > 0 ? ENOENT : EIO;
    }
    return beside ? -1 : fd;
}

static void tail_unreadable_name(const struct tail_unreadable *file, const char *channel,
                                 char out[LAYOUT_PATH_MAX])
{
    if (file->sidecar) {
        layout_sidecar(out, channel, file->file);
    } else if (file->file) {
        layout_numbered(out, channel, file->file, file->gz);
    } else {
        layout_active(out, channel, file->gz);
    }
}

bool tail_unreadable_is_closed(const struct tail_unreadable *file)
{
    return file->error == EACCES || file->error == EPERM;
}

/* A writer seals no file over what is none, so its active one has that number. */
bool tail_unreadable_is_in_the_way(const struct tail_unreadable *file, uint32_t highest)
{
    return file->error == ELOOP && !file->sidecar && file->file > highest;
}

void tail_unreadable_text(const struct tail_unreadable *file, const char *channel,
                          char *out, size_t size)
{
    char name[LAYOUT_PATH_MAX];
    tail_unreadable_name(file, channel, name);
    const char *why = file->error == ELOOP ? "not a regular file" : strerror(file->error);
    out[0] = '\0';
    if (file->error) {
        snprintf(out, size, " (%s: %s)", name, why);
    }
}

/* \return true if it is there, and cannot be read. */
static bool tail_where_fails(const struct sys *sys, const struct tail_where *w,
                             struct tail_unreadable *file)
{
    char name[LAYOUT_PATH_MAX];
    char byte;
    bool here = file->file == w->file || (file->file == 0 && !w->sealed_only);
    off_t at = here && !file->gz && !file->sidecar ? (off_t)w->offset : 0;
    tail_unreadable_name(file, w->channel, name);
    int fd = tail_where_open(sys, w, name);
    bool fails = fd < 0 ? errno != ENOENT && errno != ESTALE
                        : file_pread_full(sys, fd, &byte, 1, at) < 0;
    file->error = fails ? (uint8_t)errno : 0;
    if (fd >= 0) {
        close(fd);
    }
    return fails;
}

static bool tail_where_fails_either(const struct sys *sys, const struct tail_where *w,
                                    uint32_t number, struct tail_unreadable *file)
{
    *file = (struct tail_unreadable){.file = number};
    if (!tail_where_fails(sys, w, file)) {
        file->gz = true;
        (void)tail_where_fails(sys, w, file);
    }
    return file->error != 0;
}

/* The number of the active one need not be known: nor that it is not this one. */
static void tail_where_fails_live(const struct sys *sys, const struct tail_where *w,
                                  struct tail_unreadable *file)
{
    bool found = tail_where_fails_either(sys, w, w->file, file) ||
                 (!w->sealed_only && tail_where_fails_either(sys, w, 0, file));
    if (!found && w->file > 1) {
        (void)tail_where_fails_either(sys, w, w->file - 1, file);
    }
}

struct tail_unreadable tail_where_unreadable(const struct sys *sys,
                                             const struct tail_where *w, uint32_t highest)
{
    struct tail_unreadable file = {0};
    struct tail_where in;
    int dir = tail_where_enter(sys, w, &in);
    if (dir < 0) {
        return file;
    }
    if (w->layout == SESSION_LIVE) {
        tail_where_fails_live(sys, &in, &file);
    } else if (w->layout == SESSION_SHIFTING) {
        for (uint32_t i = 0; i <= highest && !file.error; i++) {
            (void)tail_where_fails_either(sys, &in, i, &file);
        }
    } else if (!tail_where_fails_either(sys, &in, w->file, &file)) {
        file.sidecar = true;
        (void)tail_where_fails(sys, &in, &file);
    }
    close(dir);
    return file;
}

/* Not where another program has given the active file its next number, as it is or
 * compressed, and its writer has not noticed yet; or has given that number to a copy.
 * What it makes in its place is empty: where it is not, and the writer is silent, the
 * disk has not taken what the lock file was to tell. */
static bool tail_where_goes_to(const struct sys *sys, const struct tail_where *w,
                               int sealed, bool gz, int next)
{
    struct active_files told;
    struct stat st;
    struct stat begun;
    if (fstat(sealed, &st) < 0 || fstat(next, &begun) < 0 ||
        (st.st_ino == begun.st_ino && st.st_dev == begun.st_dev) ||
        (!gz && (uint64_t)st.st_size > w->offset)) {
        return false;
    }
    if (!tail_where_read_told(sys, w, &told)) {
        return true;
    }
    if (told_number_at(&told, w->channel, &begun) == w->file) {
        return tail_where_is_beside(sys, w, next, sealed, gz) == 0;
    }
    return (w->silent && begun.st_size > 0) ||
           !((gz && told_number(&told, w->channel) == w->file) ||
             told_number_at(&told, w->channel, &st));
}

/* A writer that cannot open the next file renames the sealed one back, if it is plain, so
 * an active file may be this one: unless both are there at last, and are two. */
bool tail_where_has_next(const struct sys *sys, const struct tail_where *w)
{
    bool gz;
    int next = tail_where_open_either(sys, w, w->file + 1, &gz);
    next = next < 0 ? tail_where_open_either(sys, w, 0, &gz) : next;
    int sealed = next < 0 ? -1 : tail_where_open_either(sys, w, w->file, &gz);
    bool has = sealed >= 0 && tail_where_goes_to(sys, w, sealed, gz, next);
    if (sealed >= 0) {
        close(sealed);
    }
    if (next >= 0) {
        close(next);
    }
    return has;
}

bool tail_where_tells_loss(const struct sys *sys, const struct tail_where *w)
{
    char name[LAYOUT_PATH_MAX];
    struct tail_where in;
    layout_loss(name, w->channel, w->file);
    int dir = tail_where_enter(sys, w, &in);
    bool tells = dir >= 0 && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (dir >= 0) {
        close(dir);
    }
    return tells;
}

uint64_t tail_where_stamp(const struct tail_where *w, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return 1;
    }
    const int64_t all[] = {(int64_t)st.st_dev, (int64_t)st.st_ino, st.st_size,
                           st.st_mtim.tv_sec,  st.st_mtim.tv_nsec, st.st_ctim.tv_sec,
                           st.st_ctim.tv_nsec, (int64_t)w->offset};
    uint64_t stamp = hash64_bytes(HASH64_BASIS, all, sizeof all);
    return stamp > 1 ? stamp : 2;
}

/* If the mark ends behind the position, the decoder keeps its place there: both are read
 * in one turn. */
enum file_match tail_where_match(const struct sys *sys, const struct tail_where *w,
                                 int fd, bool packed)
{
    struct gz_cache once = {0};
    struct gz_cache *gz = w->cache ? w->cache : &once;
    uint64_t from = w->mark_at > w->mark.bytes ? w->mark_at - w->mark.bytes : 0;
    gpufl_status status = GPUFL_OK;
    char none;
    size_t len;
    if (!packed) {
        return file_mark_match(sys, fd, NULL, &w->mark, w->mark_at);
    }
    if (w->offset < w->mark_at) {
        status =
            gz_cache_read(gz, fd, from < w->offset ? from : w->offset, &none, 0, &len);
        gz_cache_hold_place(gz, status == GPUFL_OK);
    }
    enum file_match match = status == GPUFL_BUSY
                                ? FILE_LATER
                                : file_mark_match(sys, fd, gz, &w->mark, w->mark_at);
    gz_cache_hold_place(gz, false);
    gz_cache_close(&once);
    return match;
}

enum file_match tail_where_told(const struct sys *sys, const struct tail_where *w, int fd)
{
    uint32_t number;
    gpufl_status status = told_number_of(sys, w->root, w->channel, fd, &number);
    return status == GPUFL_ERR_IO ? FILE_UNREADABLE
           : number > w->file     ? FILE_DIFFERS
                                  : FILE_MATCHES;
}

bool tail_where_reaches_told(const struct sys *sys, const struct tail_where *w)
{
    struct active_files told;
    return tail_where_read_told(sys, w, &told) &&
           told_is_reached(&told, w->channel, w->file, w->offset);
}

/* Where inspections compare it in steps, this compares as much as a step. */
int tail_where_left_over(const struct sys *sys, const struct tail_where *w, int fd)
{
    struct file_known found = file_known_of(fd);
    struct tail_where in;
    struct second_known none = {0};
    struct second_search *search = NULL;
    int64_t budget = w->second ? SECOND_FORM_STEP_BYTES : INT64_MAX;
    const int64_t before = budget;
    enum second_form form = SECOND_FORM_UNREADABLE;
    if (w->known && file_known_same(w->known, &found)) {
        return 0;
    }
    int dir = tail_where_enter(sys, w, &in);
    if (dir < 0) {
        return 0;
    }
    bool failed = false;
    if (w->offset == 0 &&
        (told_is_earlier(sys, dir, w->channel, w->file, &failed) || failed)) {
        close(dir);
        return failed ? EIO : ENOENT;
    }
    const struct second_place place = {.sys = sys,
                                       .dir = dir,
                                       .channel = w->channel,
                                       .files = w->second ? w->second->files : 0,
                                       .known = w->second ? w->second : &none};
    gpufl_status status = second_form_step(&place, &search, &budget, &form);
    second_form_stop(search);
    close(dir);
    if (w->cache) {
        (void)gz_cache_spend(w->cache, (uint64_t)(before - budget));
    }
    return status == GPUFL_BUSY || form == SECOND_FORM_UNREADABLE ? EIO
           : form == SECOND_FORM_OTHER                            ? 0
                                                                  : ENOENT;
}

int tail_where_open_packed(const struct sys *sys, const struct tail_where *w)
{
    char name[LAYOUT_PATH_MAX];
    layout_numbered(name, w->channel, w->file, true);
    int fd = tail_where_open(sys, w, name);
    errno = fd < 0 && errno == ELOOP ? ENOENT : errno; /* not a regular file */
    return fd;
}

/* What stands last in the plain file is in the other one, and something follows. Where
 * the position is behind it, that was found before. */
gpufl_status tail_where_goes_on(const struct sys *sys, const struct tail_where *w,
                                int plain, int gz)
{
    struct gz_cache once = {0};
    struct gz_cache *cache = w->cache ? w->cache : &once;
    struct stat st;
    char next;
    size_t len = 0;
    if (fstat(plain, &st) < 0) {
        return GPUFL_ERR_IO;
    }
    const uint64_t size = (uint64_t)st.st_size;
    if (size < w->offset) {
        return GPUFL_OK;
    }
    const struct record_mark mark = file_mark_read(sys, plain, size);
    enum file_match match = file_mark_match(sys, gz, cache, &mark, size);
    gpufl_status status = match == FILE_MATCHES
                              ? gz_cache_read(cache, gz, size, &next, 1, &len)
                          : match == FILE_LATER ? GPUFL_BUSY
                                                : GPUFL_ERR_NOT_FOUND;
    bool goes_on = len > 0 && !cache->plain;
    gz_cache_close(&once);
    return status == GPUFL_BUSY ? GPUFL_BUSY : goes_on ? GPUFL_OK : GPUFL_ERR_NOT_FOUND;
}
