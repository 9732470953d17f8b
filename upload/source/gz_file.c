/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes, measures, compares and compresses whole files, a chunk at a time. */
#include "upload/source/gz_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "upload/http/encode.h"
#include "upload/source/gz_cache.h"
#include "upload/source/gz_decoder.h"

#define CHUNK_BYTES 32768u
#define GZIP_WINDOW (15 + 16) /* for zlib: a 32 KiB window and gzip framing */

struct gz_file {
    enum gz_task task;
    bool coding; /* z is in use */
    z_stream z;
    bool at_end;           /* the last member is whole */
    uint64_t at;           /* read so far; compared so far, decoded */
    uint64_t written;      /* into the other file */
    uint32_t crc;          /* of what was read */
    struct gz_cache cache; /* of both files that are compared */
    unsigned char in[CHUNK_BYTES];
};

struct gz_file *gz_file_open(enum gz_task task)
{
    struct gz_file *file = calloc(1, sizeof *file);
    int rc = Z_OK;
    if (!file) {
        return NULL;
    }
    file->task = task;
    file->coding = task == GZ_CHECK || task == GZ_COMPRESS;
    if (task == GZ_CHECK) {
        rc = inflateInit2(&file->z, GZIP_WINDOW);
    } else if (task == GZ_COMPRESS) {
        rc = deflateInit2(&file->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                          Z_DEFAULT_STRATEGY);
    }
    if (rc != Z_OK) {
        free(file);
        return NULL;
    }
    return file;
}

void gz_file_close(struct gz_file *file)
{
    if (!file) {
        return;
    }
    if (file->coding && file->task == GZ_CHECK) {
        inflateEnd(&file->z);
    } else if (file->coding) {
        deflateEnd(&file->z);
    }
    gz_cache_close(&file->cache);
    free(file);
}

struct gz_measure gz_file_measure(const struct gz_file *file)
{
    return (struct gz_measure){.bytes = file->at, .crc = file->crc};
}

static void gz_file_spend(size_t *budget, uint64_t bytes)
{
    *budget -= bytes < *budget ? (size_t)bytes : *budget;
}

/* \return -1 on failure, 0 at the end. */
static ssize_t gz_file_read(struct gz_file *file, const struct sys *sys, int fd)
{
    ssize_t n = file_pread_full(sys, fd, file->in, sizeof file->in, (off_t)file->at);
    file->at += n > 0 ? (uint64_t)n : 0;
    file->z.next_in = file->in;
    file->z.avail_in = n > 0 ? (uInt)n : 0;
    return n;
}

/* Decodes a block at most. */
static gpufl_status gz_file_decode(struct gz_file *file, size_t *budget)
{
    unsigned char out[CHUNK_BYTES];
    z_stream *z = &file->z;
    uInt had = z->avail_in;
    if (file->at_end && inflateReset(z) != Z_OK) {
        return GPUFL_ERR_FORMAT;
    }
    z->next_out = out;
    z->avail_out = sizeof out;
    int rc = inflate(z, Z_BLOCK);
    file->at_end = rc == Z_STREAM_END;
    gz_file_spend(budget, gz_work(had - z->avail_in, sizeof out - z->avail_out));
    return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? GPUFL_BUSY
                                                                 : GPUFL_ERR_FORMAT;
}

static gpufl_status gz_file_check(struct gz_file *file, const struct sys *sys, int fd,
                                  size_t *budget)
{
    ssize_t n = file->z.avail_in > 0 ? 1 : gz_file_read(file, sys, fd);
    if (n > 0) {
        return gz_file_decode(file, budget);
    }
    return n < 0 ? GPUFL_ERR_IO : file->at_end ? GPUFL_OK : GPUFL_ERR_FORMAT;
}

static gpufl_status gz_file_sum(struct gz_file *file, const struct sys *sys, int fd,
                                size_t *budget)
{
    ssize_t n = gz_file_read(file, sys, fd);
    if (n <= 0) {
        return n < 0 ? GPUFL_ERR_IO : GPUFL_OK;
    }
    file->crc = encode_crc32(file->crc, file->in, (size_t)n);
    gz_file_spend(budget, (size_t)n);
    return GPUFL_BUSY;
}

static gpufl_status gz_file_compare(struct gz_file *file, int fd, int other,
                                    size_t *budget)
{
    char left[CHUNK_BYTES];
    char right[CHUNK_BYTES];
    size_t left_len;
    size_t right_len;
    uint64_t before = file->cache.work;
    gpufl_status status =
        gz_cache_read(&file->cache, fd, file->at, left, sizeof left, &left_len);
    if (status == GPUFL_OK) {
        status =
            gz_cache_read(&file->cache, other, file->at, right, sizeof right, &right_len);
    }
    gz_file_spend(budget, file->cache.work - before);
    if (status != GPUFL_OK) {
        return status;
    }
    if (left_len != right_len || memcmp(left, right, left_len) != 0) {
        return GPUFL_ERR_FORMAT;
    }
    file->at += left_len;
    return left_len == sizeof left ? GPUFL_BUSY : GPUFL_OK;
}

/* Compresses the input; with Z_FINISH, ends the member. */
static bool gz_file_deflate(struct gz_file *file, const struct sys *sys, int flush,
                            int other)
{
    unsigned char out[CHUNK_BYTES];
    z_stream *z = &file->z;
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        if (deflate(z, flush) == Z_STREAM_ERROR) {
            return false;
        }
        size_t made = sizeof out - z->avail_out;
        if (file_pwrite_all(sys, other, out, made, (off_t)file->written) < 0) {
            return false;
        }
        file->written += made;
    } while (z->avail_out == 0);
    return true;
}

static gpufl_status gz_file_compress(struct gz_file *file, const struct sys *sys, int fd,
                                     int other, size_t *budget)
{
    ssize_t n = gz_file_read(file, sys, fd);
    if (n < 0 || !gz_file_deflate(file, sys, n > 0 ? Z_NO_FLUSH : Z_FINISH, other)) {
        return GPUFL_ERR_IO;
    }
    gz_file_spend(budget, (size_t)n);
    if (n > 0) {
        return GPUFL_BUSY;
    }
    return sys->fsync(other) == 0 ? GPUFL_OK : GPUFL_ERR_IO;
}

static gpufl_status gz_file_chunk(struct gz_file *file, const struct sys *sys, int fd,
                                  int other, size_t *budget)
{
    switch (file->task) {
    case GZ_CHECK:
        return gz_file_check(file, sys, fd, budget);
    case GZ_MEASURE:
        return gz_file_sum(file, sys, fd, budget);
    case GZ_COMPARE:
        return gz_file_compare(file, fd, other, budget);
    case GZ_COMPRESS:
        break;
    }
    return gz_file_compress(file, sys, fd, other, budget);
}

gpufl_status gz_file_step(struct gz_file *file, const struct sys *sys, int fd, int other,
                          size_t *budget)
{
    gpufl_status status = GPUFL_BUSY;
    while (status == GPUFL_BUSY && *budget > 0) {
        status = gz_file_chunk(file, sys, fd, other, budget);
    }
    return status;
}

uint64_t gz_file_says_bytes(const struct sys *sys, int fd, uint64_t packed)
{
    unsigned char end[4];
    if (packed < sizeof end ||
        file_pread_full(sys, fd, end, sizeof end, (off_t)(packed - sizeof end)) !=
            (ssize_t)sizeof end) {
        return packed;
    }
    return end[0] | (uint64_t)end[1] << 8 | (uint64_t)end[2] << 16 |
           (uint64_t)end[3] << 24;
}
