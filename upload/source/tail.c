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
#include "upload/source/shifting.h"

#define PATH_BYTES (2 * LAYOUT_PATH_MAX + LAYOUT_PATH_MAX + 8)

static int open_name(const struct sys *sys, const struct tail_where *w, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", w->path, name);
    return file_open(sys, w->root, path);
}

/* The active file is number N until `<ch>.N.log` exists. If it exists by now, what was
 * opened as the active file may be a later one: the numbered file is right. */
static int open_live(const struct sys *sys, const struct tail_where *w, bool *sealed)
{
    char active[LAYOUT_PATH_MAX];
    char number[LAYOUT_PATH_MAX];
    layout_active(active, w->channel, false);
    layout_numbered(number, w->channel, w->file, false);
    int fd = w->sealed_only ? -1 : open_name(sys, w, active);
    int error = errno;
    int numbered = open_name(sys, w, number);
    if (numbered < 0 && errno == ENOENT && fd >= 0) {
        return fd;
    }
    error = errno == ENOENT && !w->sealed_only ? error : errno;
    if (fd >= 0) {
        close(fd);
    }
    *sealed = numbered >= 0;
    errno = error;
    return numbered;
}

static gpufl_status read_plain(const struct sys *sys, int fd, uint64_t offset, char *buf,
                               size_t cap, struct tail_chunk *out)
{
    struct stat st;
    ssize_t n = file_pread_full(sys, fd, buf, cap, (off_t)offset);
    if (n < 0 || fstat(fd, &st) < 0) {
        return GPUFL_ERR_IO;
    }
    if ((uint64_t)st.st_size < offset) {
        return GPUFL_ERR_FORMAT; /* truncated under us */
    }
    out->len = (size_t)n;
    out->size = (uint64_t)st.st_size;
    out->at_end = offset + out->len >= out->size;
    return GPUFL_OK;
}

static gpufl_status read_gzip(const struct tail_where *w, int fd, char *buf, size_t cap,
                              struct tail_chunk *out)
{
    struct gz_cache once = {0};
    struct gz_cache *cache = w->cache ? w->cache : &once;
    gpufl_status status = gz_cache_read(cache, fd, w->offset, buf, cap, &out->len);
    if (cache->plain) {
        out->len = 0;
        status = GPUFL_ERR_FORMAT;
    }
    const char *newline =
        status == GPUFL_ERR_FORMAT && out->len ? memrchr(buf, '\n', out->len) : NULL;
    if (newline) { /* what is whole before the cut */
        out->len = (size_t)(newline - buf) + 1;
        status = GPUFL_OK;
    }
    gz_cache_close(&once);
    out->at_end = !newline && out->len < cap;
    out->size = w->offset + out->len;
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
        return status;
    }
    status = gz ? read_gzip(w, fd, buf, cap, out)
                : read_plain(sys, fd, w->offset, buf, cap, out);
    out->sealed = gz || out->index > 0;
    close(fd);
    return status;
}

gpufl_status tail_read(const struct sys *sys, const struct tail_where *w, char *buf,
                       size_t cap, struct tail_chunk *out)
{
    *out = (struct tail_chunk){0};
    if (w->layout == SESSION_SHIFTING) {
        return read_shifting(sys, w, buf, cap, out);
    }
    int fd = open_live(sys, w, &out->sealed);
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = read_plain(sys, fd, w->offset, buf, cap, out);
    close(fd);
    return status;
}

static bool stat_name(const struct sys *sys, const struct tail_where *w, const char *name,
                      struct stat *st)
{
    int fd = open_name(sys, w, name);
    bool ok = fd >= 0 && fstat(fd, st) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

/* A writer that cannot open the next file renames the sealed one back, so an active file
 * may be this one: unless both are there at last, and are two. */
bool tail_has_next(const struct sys *sys, const struct tail_where *w)
{
    char name[LAYOUT_PATH_MAX];
    struct stat next;
    struct stat sealed;
    layout_numbered(name, w->channel, w->file + 1, false);
    bool begun = stat_name(sys, w, name, &next);
    layout_active(name, w->channel, false);
    begun = begun || stat_name(sys, w, name, &next);
    layout_numbered(name, w->channel, w->file, false);
    return begun && stat_name(sys, w, name, &sealed) &&
           (sealed.st_ino != next.st_ino || sealed.st_dev != next.st_dev) &&
           (uint64_t)sealed.st_size == w->offset;
}

gpufl_status tail_open_window(const struct sys *sys, const struct tail_where *w, int *fd,
                              bool *gz)
{
    char name[LAYOUT_PATH_MAX];
    for (int try = 0; try < 2; try++) {
        *gz = try == 0;
        layout_numbered(name, w->channel, w->file, *gz);
        *fd = open_name(sys, w, name);
        if (*fd >= 0) {
            return GPUFL_OK;
        }
        if (errno != ENOENT) {
            return GPUFL_ERR_IO;
        }
    }
    return GPUFL_ERR_NOT_FOUND;
}
