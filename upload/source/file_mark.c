/* SPDX-License-Identifier: Apache-2.0 */
/* Computes and compares marks. A mark covers a bounded number of bytes, so that comparing
 * it costs the same however large a file is. */
#include "upload/source/file_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "upload/http/encode.h"

/* Few enough to be read again with each batch. */
#define MARK_MOST_BYTES 4096u
#define READ_BYTES      (16u << 10)

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

/* \return the bytes read at \p at, at most \p cap; -1 if the file is unreadable. */
static ssize_t file_mark_part(const struct sys *sys, int fd, struct gz_cache *gz,
                              uint64_t at, char *buf, size_t cap)
{
    size_t len;
    if (!gz) {
        return file_pread_full(sys, fd, buf, cap, (off_t)at);
    }
    return gz_cache_read(gz, fd, at, buf, cap, &len) == GPUFL_OK ? (ssize_t)len : -1;
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
            return n == 0 ? FILE_SHORTER : FILE_UNREADABLE;
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
        return n == 0 ? FILE_SHORTER : FILE_UNREADABLE;
    }
    return !at || n == 1 || byte[0] == '\n' ? FILE_MATCHES : FILE_DIFFERS;
}

enum file_match file_mark_match(const struct sys *sys, int fd, bool gz,
                                const struct record_mark *mark, uint64_t at)
{
    struct gz_cache once = {0};
    struct stat st;
    uint32_t crc32;
    uint64_t len = mark->bytes < at ? mark->bytes : at;
    if (!gz && (fstat(fd, &st) < 0 || (uint64_t)st.st_size < at)) {
        return FILE_SHORTER;
    }
    struct gz_cache *cache = gz ? &once : NULL;
    enum file_match found = len ? file_mark_sum(sys, fd, cache, at - len, len, &crc32)
                                : file_mark_unknown(sys, fd, cache, at);
    gz_cache_close(&once);
    return found == FILE_MATCHES && len && crc32 != mark->crc32 ? FILE_DIFFERS : found;
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
