/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file that a position names, even while the writer renames it, and reads it.
 */
#include "upload/source/tail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/source/ndjson.h"
#include "upload/source/shifting.h"

/* The active file is number N until `<ch>.N.log` exists. If it exists by now, what was
 * opened as the active file may be a later one: the numbered file is right. Other tools
 * may compress either and remove it. */
static int open_live(const struct sys *sys, const struct tail_where *w,
                     struct tail_chunk *out)
{
    char active[LAYOUT_PATH_MAX];
    bool gz;
    layout_active(active, w->channel, false);
    int fd = w->sealed_only ? -1 : tail_where_open(sys, w, active);
    int error = errno;
    int numbered = tail_where_open_sealed(sys, w, fd, &gz);
    if (numbered >= 0 || errno != ENOENT || w->sealed_only) {
        out->sealed = numbered >= 0;
        out->packed = out->sealed && gz;
        error = errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = error;
        return numbered;
    }
    if (fd < 0 && error == ENOENT) {
        layout_active(active, w->channel, true);
        fd = tail_where_open(sys, w, active);
        error = errno;
        int left_over = fd >= 0 ? tail_where_left_over(sys, w, fd) : 0;
        if (left_over) {
            close(fd);
            fd = -1;
            error = left_over;
        }
        out->packed = fd >= 0;
    }
    errno = error;
    return fd;
}

static ssize_t read_begin(const struct sys *sys, int fd, bool gz,
                          char data[NDJSON_BEGIN_BYTES])
{
    struct gz_cache once = {0};
    size_t len;
    if (!gz) {
        return file_pread_full(sys, fd, data, NDJSON_BEGIN_BYTES, 0);
    }
    gpufl_status status = gz_cache_read(&once, fd, 0, data, NDJSON_BEGIN_BYTES, &len);
    gz_cache_close(&once);
    return status == GPUFL_OK ? (ssize_t)len : -1;
}

/* Nothing of the active file was read yet. It is number N if the file before is there, or
 * if it begins the channel. That N is not there proves nothing: it may be deleted. */
static enum file_match match_by_name(const struct sys *sys, const struct tail_where *w,
                                     int fd, bool packed)
{
    char data[NDJSON_BEGIN_BYTES];
    bool gz;
    enum file_match match = w->any_number ? FILE_MATCHES : tail_where_told(sys, w, fd);
    if (w->any_number || match != FILE_MATCHES) {
        return match;
    }
    if (w->file > 1) {
        int before = tail_where_open_either(sys, w, w->file - 1, &gz);
        if (before >= 0) {
            close(before);
            return FILE_MATCHES;
        }
        return errno == ENOENT ? FILE_DIFFERS : FILE_UNREADABLE;
    }
    ssize_t n = read_begin(sys, fd, packed, data);
    if (n < 0) {
        return FILE_UNREADABLE;
    }
    enum ndjson_begin begin = ndjson_begin_of(data, (size_t)n);
    return begin == NDJSON_BEGIN_OPEN    ? FILE_SHORTER
           : begin == NDJSON_BEGIN_FIRST ? FILE_MATCHES
                                         : FILE_DIFFERS;
}

/* Whether the file of that name is the one that the position means. */
static gpufl_status check_live(const struct sys *sys, const struct tail_where *w, int fd,
                               struct tail_chunk *out)
{
    struct file_known found = file_known_of(fd);
    bool at_begin = w->mark_at == 0;
    if ((!w->known && !w->mark.bytes) ||
        (w->known && file_known_same(w->known, &found))) {
        return GPUFL_OK;
    }
    enum file_match match = at_begin && !out->sealed
                                ? FILE_MATCHES
                                : tail_where_match(sys, w, fd, out->packed);
    if (match == FILE_MATCHES && !w->mark.bytes && !out->sealed) {
        match = match_by_name(sys, w, fd, out->packed);
    }
    if (match == FILE_MATCHES && w->known) {
        *w->known = found;
    }
    if (match == FILE_MATCHES || (at_begin && match == FILE_SHORTER)) {
        return GPUFL_OK;
    }
    bool damaged = match == FILE_UNREADABLE && out->packed && w->mark.bytes && w->cache &&
                   !w->cache->failed;
    out->other = match == FILE_DIFFERS;
    out->shorter = match == FILE_SHORTER;
    return match == FILE_LATER                    ? GPUFL_BUSY
           : match == FILE_UNREADABLE && !damaged ? GPUFL_ERR_IO
                                                  : GPUFL_ERR_FORMAT;
}

static enum file_match match_plain(const struct sys *sys, const struct tail_where *w,
                                   int fd)
{
    struct stat st;
    if (w->mark.bytes) {
        return file_mark_match(sys, fd, NULL, &w->mark, w->mark_at);
    }
    return fstat(fd, &st) < 0                 ? FILE_UNREADABLE
           : (uint64_t)st.st_size < w->offset ? FILE_SHORTER
                                              : FILE_MATCHES;
}

/* A file can be emptied at any time and grow past the position again. So the bytes before
 * the position are compared each time, and after the read: what was emptied before the
 * comparison does not match. */
static gpufl_status read_plain(const struct sys *sys, const struct tail_where *w, int fd,
                               char *buf, size_t cap, struct tail_chunk *out)
{
    struct stat st;
    out->unchanged_since = w->offset == 0 ? sys->unchanged_since(fd) : 0;
    out->hole = w->tells_holes ? file_hole_at(fd, w->offset, cap) : 0;
    ssize_t n = out->hole ? 0 : file_pread_full(sys, fd, buf, cap, (off_t)w->offset);
    if (n < 0 || fstat(fd, &st) < 0) {
        return GPUFL_ERR_IO;
    }
    enum file_match match = match_plain(sys, w, fd);
    if (match != FILE_MATCHES) {
        out->other = match == FILE_DIFFERS;
        out->shorter = match == FILE_SHORTER;
        return match == FILE_UNREADABLE ? GPUFL_ERR_IO : GPUFL_ERR_FORMAT;
    }
    out->len = (size_t)n;
    out->size = (uint64_t)st.st_size;
    out->at_end = w->offset + out->len + out->hole >= out->size;
    out->mark = w->mark.bytes ? w->mark : file_mark_read(sys, fd, w->mark_at);
    return GPUFL_OK;
}

static gpufl_status read_gzip(const struct tail_where *w, int fd, char *buf, size_t cap,
                              struct tail_chunk *out)
{
    struct gz_cache once = {0};
    struct gz_cache *cache = w->cache ? w->cache : &once;
    uint64_t stamp = w->damaged ? tail_where_stamp(w, fd) : 0;
    if (w->damaged && *w->damaged == stamp) {
        return GPUFL_ERR_FORMAT;
    }
    gpufl_status status = gz_cache_read(cache, fd, w->offset, buf, cap, &out->len);
    if (cache->plain && status == GPUFL_OK) {
        out->len = 0;
        status = GPUFL_ERR_FORMAT;
    }
    const char *newline =
        status == GPUFL_ERR_FORMAT && out->len ? memrchr(buf, '\n', out->len) : NULL;
    if (newline) { /* what is whole before the cut */
        out->len = (size_t)(newline - buf) + 1;
        status = GPUFL_OK;
    }
    if (w->damaged && status == GPUFL_ERR_FORMAT) {
        *w->damaged = stamp;
    }
    gz_cache_close(&once);
    out->part = cache->part;
    out->excessive = cache->excessive;
    out->at_end = !newline && !out->part && out->len < cap;
    out->size = w->offset + out->len;
    return status;
}

/* The plain file of a sealed number was read to its end. A program that unpacked it may
 * have been killed: then the compressed one, which is beside it, holds the rest. */
static gpufl_status read_longer(const struct sys *sys, const struct tail_where *w,
                                int plain, char *buf, size_t cap, struct tail_chunk *out)
{
    struct tail_chunk longer = {
        .mark = w->mark, .index = out->index, .sealed = true, .packed = true};
    int fd = tail_where_open_packed(sys, w);
    if (fd < 0 && errno == ENOENT) {
        return GPUFL_ERR_NOT_FOUND;
    }
    if (out->hole || memchr(buf, '\n', out->len)) {
        out->at_end = false; /* all of that comes first */
        if (fd >= 0) {
            close(fd);
        }
        return GPUFL_ERR_NOT_FOUND;
    }
    if (fd < 0) {
        return GPUFL_ERR_IO;
    }
    gpufl_status status = tail_where_goes_on(sys, w, plain, fd);
    if (status == GPUFL_OK) {
        status = check_live(sys, w, fd, &longer);
        status = longer.other || longer.shorter ? GPUFL_ERR_NOT_FOUND : status;
    }
    if (status == GPUFL_OK) {
        status = read_gzip(w, fd, buf, cap, &longer);
        *out = longer;
    }
    close(fd);
    return status;
}

/* Rotated and compressed files never grow. */
static gpufl_status read_shifting(const struct sys *sys, const struct tail_where *w,
                                  char *buf, size_t cap, struct tail_chunk *out)
{
    int fd;
    bool gz;
    gpufl_status status = shifting_open(sys, w, &fd, &gz, &out->index);
    if (status != GPUFL_OK) {
        out->packed = status == GPUFL_ERR_FORMAT && gz;
        out->shorter = status == GPUFL_ERR_FORMAT && !gz;
        return status;
    }
    status = gz ? read_gzip(w, fd, buf, cap, out) : read_plain(sys, w, fd, buf, cap, out);
    out->sealed = gz || out->index > 0;
    out->packed = gz;
    if (!gz && out->index > 0 && status == GPUFL_OK && out->at_end) {
        struct tail_where at = *w;
        at.file = out->index;
        at.known = NULL; /* the plain one stays known until something more is sent */
        gpufl_status longer = read_longer(sys, &at, fd, buf, cap, out);
        status = longer == GPUFL_ERR_NOT_FOUND ? status : longer;
    }
    close(fd);
    return status;
}

static gpufl_status read_live(const struct sys *sys, const struct tail_where *w,
                              char *buf, size_t cap, struct tail_chunk *out)
{
    int fd = open_live(sys, w, out);
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = check_live(sys, w, fd, out);
    if (status == GPUFL_OK) {
        status = out->packed ? read_gzip(w, fd, buf, cap, out)
                             : read_plain(sys, w, fd, buf, cap, out);
    }
    bool ends = status == GPUFL_OK ? out->at_end : out->shorter;
    if (out->sealed && !out->packed && ends) {
        gpufl_status longer = read_longer(sys, w, fd, buf, cap, out);
        status = longer == GPUFL_ERR_NOT_FOUND ? status : longer;
    }
    close(fd);
    return status;
}

/* All names are looked up in one directory: the path may lead to another one at any time.
 */
gpufl_status tail_read(const struct sys *sys, const struct tail_where *w, char *buf,
                       size_t cap, struct tail_chunk *out)
{
    struct tail_where in;
    *out = (struct tail_chunk){.mark = w->mark};
    int dir = tail_where_enter(sys, w, &in);
    if (dir < 0) {
        out->elsewhere = errno == ESTALE;
        out->away = errno == ENOENT;
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = w->layout == SESSION_SHIFTING
                              ? read_shifting(sys, &in, buf, cap, out)
                              : read_live(sys, &in, buf, cap, out);
    close(dir);
    return status;
}

bool tail_is_emptied(const struct tail_where *w, const struct tail_chunk *chunk)
{
    return w->layout == SESSION_LIVE && w->offset == 0 && chunk->sealed &&
           chunk->at_end && chunk->len + chunk->hole == 0;
}

bool tail_is_beheaded(const struct tail_where *w, const char *data,
                      const struct tail_chunk *chunk)
{
    return w->layout == SESSION_LIVE && w->file == 1 && w->offset == 0 && chunk->sealed &&
           ndjson_begin_of(data, chunk->len) == NDJSON_BEGIN_OTHER;
}

bool tail_has_more(const struct sys *sys, const struct tail_where *w)
{
    char byte;
    struct tail_chunk chunk;
    gpufl_status status = tail_read(sys, w, &byte, 1, &chunk);
    bool other = status == GPUFL_ERR_FORMAT && !chunk.packed && w->layout == SESSION_LIVE;
    return other || status == GPUFL_BUSY || (status == GPUFL_OK && chunk.len > 0);
}

/* Compressed files are not unpacked for this. */
static enum file_match compare_in(const struct sys *sys, const struct tail_where *w)
{
    struct tail_chunk chunk = {0};
    int fd = -1;
    if (w->layout == SESSION_SHIFTING) {
        gpufl_status status = shifting_open(sys, w, &fd, &chunk.packed, &chunk.index);
        if (status != GPUFL_OK) {
            return status == GPUFL_BUSY         ? FILE_LATER
                   : status == GPUFL_ERR_IO     ? FILE_UNREADABLE
                   : status == GPUFL_ERR_FORMAT ? FILE_SHORTER
                                                : FILE_DIFFERS;
        }
    } else {
        fd = open_live(sys, w, &chunk);
    }
    if (fd < 0) {
        return FILE_UNREADABLE;
    }
    enum file_match match = chunk.packed ? FILE_MATCHES : match_plain(sys, w, fd);
    close(fd);
    fd = match == FILE_SHORTER && chunk.sealed ? tail_where_open_packed(sys, w) : -1;
    if (fd >= 0) { /* it was read on there */
        close(fd);
        match = FILE_MATCHES;
    }
    return match;
}

enum file_match tail_compare(const struct sys *sys, const struct tail_where *w)
{
    struct tail_where in;
    int dir = tail_where_enter(sys, w, &in);
    if (dir < 0) {
        return w->layout == SESSION_SHIFTING && errno == ENOENT ? FILE_DIFFERS
                                                                : FILE_UNREADABLE;
    }
    enum file_match match = compare_in(sys, &in);
    close(dir);
    return match;
}

int64_t tail_unchanged_since(const struct sys *sys, const struct tail_where *w,
                             struct file_known *found)
{
    struct tail_chunk chunk = {0};
    int fd = open_live(sys, w, &chunk);
    if (fd < 0) {
        return 0;
    }
    *found = file_known_of(fd);
    int64_t since = chunk.packed ? 0 : sys->unchanged_since(fd);
    close(fd);
    return since;
}

gpufl_status tail_open_window(const struct sys *sys, const struct tail_where *w, int *fd,
                              bool *gz)
{
    char name[LAYOUT_PATH_MAX];
    for (int try = 0; try < 2; try++) {
        *gz = try == 0;
        layout_numbered(name, w->channel, w->file, *gz);
        *fd = tail_where_open(sys, w, name);
        if (*fd >= 0) {
            return GPUFL_OK;
        }
        if (errno != ENOENT) {
            return GPUFL_ERR_IO;
        }
    }
    return GPUFL_ERR_NOT_FOUND;
}
