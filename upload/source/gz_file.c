/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, compares and writes whole gzip files, in chunks. */
#include "upload/source/gz_file.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "upload/source/gz_cache.h"

#define CHUNK_BYTES 32768u
#define GZIP_WINDOW (15 + 16) /* for zlib: a 32 KiB window and gzip framing */

/* Decodes one chunk of input. \return false when it is damaged. */
static bool decode_chunk(z_stream *z, bool *at_end)
{
    unsigned char out[CHUNK_BYTES];
    int rc = Z_OK;
    while (z->avail_in > 0 || rc == Z_STREAM_END) {
        if (rc == Z_STREAM_END && (z->avail_in == 0 || inflateReset(z) != Z_OK)) {
            break;
        }
        z->next_out = out;
        z->avail_out = sizeof out;
        rc = inflate(z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END) {
            return false;
        }
    }
    *at_end = rc == Z_STREAM_END;
    return true;
}

gpufl_status gz_file_check(const struct sys *sys, int fd)
{
    unsigned char in[CHUNK_BYTES];
    z_stream z = {0};
    bool at_end = false;
    gpufl_status status = GPUFL_OK;
    off_t at = 0;
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
        return GPUFL_ERR_NOMEM;
    }
    while (status == GPUFL_OK) {
        ssize_t n = file_pread_full(sys, fd, in, sizeof in, at);
        if (n <= 0) {
            status = n < 0 ? GPUFL_ERR_IO : status;
            break;
        }
        at += n;
        z.next_in = in;
        z.avail_in = (uInt)n;
        if ((at_end && inflateReset(&z) != Z_OK) || !decode_chunk(&z, &at_end)) {
            status = GPUFL_ERR_FORMAT;
        }
    }
    inflateEnd(&z);
    return status == GPUFL_OK && !at_end ? GPUFL_ERR_FORMAT : status;
}

gpufl_status gz_file_compare(int left_fd, int right_fd, bool *same)
{
    static const size_t chunk = CHUNK_BYTES;
    char left[CHUNK_BYTES];
    char right[CHUNK_BYTES];
    size_t left_len = chunk;
    size_t right_len = chunk;
    struct gz_cache cache = {0};
    gpufl_status status = GPUFL_OK;
    *same = true;
    for (uint64_t at = 0; status == GPUFL_OK && *same && left_len == chunk; at += chunk) {
        status = gz_cache_read(&cache, left_fd, at, left, chunk, &left_len);
        if (status == GPUFL_OK) {
            status = gz_cache_read(&cache, right_fd, at, right, chunk, &right_len);
        }
        *same = left_len == right_len && memcmp(left, right, left_len) == 0;
    }
    gz_cache_close(&cache);
    return status;
}

/* Compresses the input of \p z; with Z_FINISH, ends the member. */
static bool write_chunk(const struct sys *sys, z_stream *z, int flush, int fd, off_t *at)
{
    unsigned char out[CHUNK_BYTES];
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        if (deflate(z, flush) == Z_STREAM_ERROR) {
            return false;
        }
        size_t made = sizeof out - z->avail_out;
        if (file_pwrite_all(sys, fd, out, made, *at) < 0) {
            return false;
        }
        *at += (off_t)made;
    } while (z->avail_out == 0);
    return true;
}

gpufl_status gz_file_write(const struct sys *sys, int from_fd, int to_fd)
{
    unsigned char in[CHUNK_BYTES];
    z_stream z = {0};
    off_t from = 0;
    off_t to = 0;
    bool good = true;
    ssize_t n = 1;
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return GPUFL_ERR_NOMEM;
    }
    while (good && n > 0) {
        n = file_pread_full(sys, from_fd, in, sizeof in, from);
        z.next_in = in;
        z.avail_in = n > 0 ? (uInt)n : 0;
        from += n > 0 ? n : 0;
        good = n >= 0 && write_chunk(sys, &z, n > 0 ? Z_NO_FLUSH : Z_FINISH, to_fd, &to);
    }
    deflateEnd(&z);
    return good && sys->fsync(to_fd) == 0 ? GPUFL_OK : GPUFL_ERR_IO;
}
