/* SPDX-License-Identifier: Apache-2.0 */
/* Computes and compares marks. A mark covers a bounded number of bytes, so that comparing
 * it costs the same however large a file is. */
#include "upload/source/file_mark.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "base/file.h"
#include "base/hash.h"
#include "upload/http/encode.h"
#include "upload/source/ndjson.h"

/* Few enough to be read again with each batch. */
#define MARK_MOST_BYTES 4096u
#define READ_BYTES      (16u << 10)
/* What comparing a compressed file costs, beside decoding it. */
#define COMPARE_COST (16u << 10)
/* What is compared there is remembered: it took long, which nobody can do too often. */
#define KEPT_FROM_BYTES (1u << 20)
/* Of a file that may be a copy of the beginning of another one. */
#define COPY_FIRST_BYTES 4096u
#define COPY_BYTES       (64u << 10)
#define COPY_COST_MOST   (4 * COPY_BYTES)

struct file_known file_known_of(int fd)
{
    struct statx st;
    struct file_known known = {0};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) == 0) {
        known.device = makedev(st.stx_dev_major, st.stx_dev_minor);
        known.inode = st.stx_ino;
        known.born_ns = st.stx_mask & STATX_BTIME
                            ? st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec
                            : 0;
    }
    return known;
}

bool file_known_same(const struct file_known *a, const struct file_known *b)
{
    return a->inode && a->inode == b->inode && a->device == b->device &&
           a->born_ns == b->born_ns;
}

struct record_mark file_mark_over(struct record_mark mark, const char *data, size_t len)
{
    bool anew = mark.bytes + (uint64_t)len > MARK_MOST_BYTES;
    const struct record_mark none = {0};
    struct record_mark next = anew ? none : mark;
    size_t last = len < MARK_MOST_BYTES ? len : MARK_MOST_BYTES;
    next.crc32 = encode_crc32(next.crc32, data + len - last, last);
    next.bytes += (uint32_t)last;
    return next;
}

void file_run_add(struct file_run *run, const char *data, uint64_t len)
{
    static const char zeros[MARK_MOST_BYTES]; /* all that a mark covers */
    size_t last = len < sizeof zeros ? (size_t)len : sizeof zeros;
    if (data) {
        uint32_t crc = crc32c(0, data, (size_t)len);
        run->crc = crc32c_combine(run->crc, crc, len);
        run->file_crc = crc32c_combine(run->file_crc, crc, len);
        run->mark = file_mark_over(run->mark, data, (size_t)len);
    } else {
        run->crc = crc32c_zeros(run->crc, len);
        run->file_crc = crc32c_zeros(run->file_crc, len);
        run->mark = file_mark_over(run->mark, zeros, last);
    }
    run->torn = len ? !data || data[len - 1] != '\n' : run->torn;
    run->offset += len;
}

/* \return the bytes read at \p at, at most \p cap; -1 if the file is unreadable; -2 if
 * they are read later. */
static ssize_t file_mark_part(const struct sys *sys, int fd, struct gz_cache *gz,
                              uint64_t at, char *buf, size_t cap)
{
    size_t len;
    if (!gz) {
        return file_pread_full(sys, fd, buf, cap, (off_t)at);
    }
    gpufl_status status = gz_cache_read(gz, fd, at, buf, cap, &len);
    return status == GPUFL_OK ? (ssize_t)len : status == GPUFL_BUSY ? -2 : -1;
}

static enum file_match file_mark_none(ssize_t read)
{
    return read == 0 ? FILE_SHORTER : read == -2 ? FILE_LATER : FILE_UNREADABLE;
}

/* Adds up \p len bytes from \p from on. */
static enum file_match file_mark_sum(const struct sys *sys, int fd, struct gz_cache *gz,
                                     uint64_t from, uint64_t len, uint32_t *crc32)
{
    char buf[READ_BYTES];
    uint64_t done = 0;
    *crc32 = 0;
    while (done < len) {
        size_t want = len - done < sizeof buf ? (size_t)(len - done) : sizeof buf;
        ssize_t n = file_mark_part(sys, fd, gz, from + done, buf, want);
        if (n <= 0) {
            return file_mark_none(n);
        }
        *crc32 = encode_crc32(*crc32, buf, (size_t)n);
        done += (uint64_t)n;
    }
    return FILE_MATCHES;
}

/* Journals of the version before have no marks. What was sent ended with a line, or with
 * the file. */
static enum file_match file_mark_unknown(const struct sys *sys, int fd,
                                         struct gz_cache *gz, uint64_t at)
{
    char byte[2];
    ssize_t n = at ? file_mark_part(sys, fd, gz, at - 1, byte, sizeof byte) : 1;
    if (n <= 0) {
        return file_mark_none(n);
    }
    return !at || n == 1 || byte[0] == '\n' ? FILE_MATCHES : FILE_DIFFERS;
}

static enum file_match file_mark_compare(const struct sys *sys, int fd,
                                         struct gz_cache *gz,
                                         const struct record_mark *mark, uint64_t at)
{
    uint32_t crc32;
    uint64_t len = mark->bytes < at ? mark->bytes : at;
    enum file_match found = len ? file_mark_sum(sys, fd, gz, at - len, len, &crc32)
                                : file_mark_unknown(sys, fd, gz, at);
    return found == FILE_MATCHES && len && crc32 != mark->crc32 ? FILE_DIFFERS : found;
}

/* Of a file as it is now and a mark. */
static uint64_t file_mark_stamp(const struct stat *st, const struct record_mark *mark,
                                uint64_t at)
{
    const int64_t all[] = {(int64_t)st->st_dev,  (int64_t)st->st_ino, st->st_size,
                           st->st_ctim.tv_sec,   st->st_ctim.tv_nsec, (int64_t)at,
                           (int64_t)mark->bytes, (int64_t)mark->crc32};
    return hash64_bytes(HASH64_BASIS, all, sizeof all);
}

/* A search that is done in several turns looks at its first files again in each. */
static enum file_match file_mark_packed(const struct sys *sys, int fd,
                                        const struct stat *st, struct gz_cache *gz,
                                        const struct record_mark *mark, uint64_t at)
{
    uint64_t stamp = file_mark_stamp(st, mark, at);
    for (unsigned i = 0; i < gz->marks && i < GZ_CACHE_MARKS; i++) {
        if (gz->mark[i].stamp == stamp && gz->mark[i].owner == gz->owner) {
            return (enum file_match)gz->mark[i].match;
        }
    }
    if (!gz_cache_spend(gz, COMPARE_COST)) {
        return FILE_LATER;
    }
    enum file_match found = file_mark_compare(sys, fd, gz, mark, at);
    bool counts = gz->step_bytes && found != FILE_LATER && found != FILE_UNREADABLE;
    if (counts && at >= KEPT_FROM_BYTES) {
        unsigned i = gz->marks++ % GZ_CACHE_MARKS;
        gz->mark[i].stamp = stamp;
        gz->mark[i].owner = gz->owner;
        gz->mark[i].match = (int)found;
    }
    return found;
}

enum file_match file_mark_match(const struct sys *sys, int fd, struct gz_cache *gz,
                                const struct record_mark *mark, uint64_t at)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || (!gz && (uint64_t)st.st_size < at)) {
        return FILE_SHORTER;
    }
    return gz ? file_mark_packed(sys, fd, &st, gz, mark, at)
              : file_mark_compare(sys, fd, NULL, mark, at);
}

struct record_mark file_mark_read(const struct sys *sys, int fd, uint64_t at)
{
    struct record_mark mark = {.bytes =
                                   at < MARK_MOST_BYTES ? (uint32_t)at : MARK_MOST_BYTES};
    if (file_mark_sum(sys, fd, NULL, at - mark.bytes, mark.bytes, &mark.crc32) !=
        FILE_MATCHES) {
        mark = (struct record_mark){0};
    }
    return mark;
}

/* What stands at the beginning of a file, and is compared with that of another one. */
struct file_copy {
    const struct sys *sys;
    int of;
    int fd;
    bool gz;
    struct gz_cache *cache;
};

static ssize_t file_copy_read(const struct file_copy *c, char *buf, size_t size)
{
    struct gz_cache once = {.read_most = COPY_COST_MOST};
    size_t len = 0;
    if (!c->gz) {
        return file_pread_full(c->sys, c->fd, buf, size, 0);
    }
    gpufl_status status = gz_cache_read(&once, c->fd, 0, buf, size, &len);
    bool is_gz = !once.plain && !once.failed;
    gz_cache_close(&once);
    if (c->cache) {
        gz_cache_note(c->cache, once.work);
    }
    return is_gz && (status == GPUFL_OK || status == GPUFL_ERR_FORMAT) ? (ssize_t)len
                                                                       : -1;
}

/* \return how many bytes are the same, 0 if one differs. */
static size_t file_copy_same(const struct file_copy *c, char *own, char *of, size_t size)
{
    ssize_t n = file_copy_read(c, own, size);
    bool same = n > 0 && file_pread_full(c->sys, c->of, of, (size_t)n, 0) == n &&
                memcmp(own, of, (size_t)n) == 0;
    return same ? (size_t)n : 0;
}

/* Usual files differ in their first block. */
bool file_copy_is(const struct sys *sys, int of, int fd, bool gz, bool due,
                  struct gz_cache *cache)
{
    const struct file_copy c = {sys, of, fd, gz, cache};
    char own[COPY_FIRST_BYTES];
    char other[COPY_FIRST_BYTES];
    struct stat st;
    struct stat larger;
    if (fstat(fd, &st) < 0 || fstat(of, &larger) < 0 ||
        (!gz && st.st_size > larger.st_size) ||
        !file_copy_same(&c, own, other, sizeof own)) {
        return due && !gz && st.st_size == 0;
    }
    char *both = malloc(2 * COPY_BYTES);
    size_t n = both ? file_copy_same(&c, both, both + COPY_BYTES, COPY_BYTES) : 0;
    bool is = due ? n > 0 : ndjson_has_row(both, n);
    free(both);
    return is;
}
