/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses with one zstd and one gzip context and one output buffer, all reused. */
#include "upload/http/encode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"

#define MEASURE_CHUNK_BYTES 65536u

/* RFC 9659 caps a zstd window in HTTP at 8 MiB. */
#define HTTP_WINDOW_LOG_MAX 23

struct encoder {
    ZSTD_CCtx *zstd;
    z_stream gzip;
    bool gzip_ready;
    int gzip_level;
    unsigned char *buffer;
    size_t cap;
};

struct encoder *encoder_open(int zstd_level, int gzip_level)
{
    struct encoder *e = calloc(1, sizeof *e);
    if (!e) {
        return NULL;
    }
    e->gzip_level = gzip_level;
    e->zstd = ZSTD_createCCtx();
    if (!e->zstd ||
        ZSTD_isError(
            ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, zstd_level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_contentSizeFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_checksumFlag, 0))) {
        encoder_close(e);
        return NULL;
    }
    if (zstd_level > 16) { /* no lower level's window exceeds the cap */
        ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_windowLog, HTTP_WINDOW_LOG_MAX);
    }
    return e;
}

void encoder_close(struct encoder *e)
{
    if (!e) {
        return;
    }
    ZSTD_freeCCtx(e->zstd);
    if (e->gzip_ready) {
        deflateEnd(&e->gzip);
    }
    free(e->buffer);
    free(e);
}

static bool encoder_reserve(struct encoder *e, size_t need)
{
    if (e->cap >= need) {
        return true;
    }
    free(e->buffer);
    e->buffer = malloc(need);
    e->cap = e->buffer ? need : 0;
    return e->buffer != NULL;
}

static gpufl_status encoder_zstd(struct encoder *e, const void *raw, size_t len,
                                 size_t *out_len)
{
    if (!encoder_reserve(e, ZSTD_compressBound(len))) {
        return GPUFL_ERR_NOMEM;
    }
    *out_len = ZSTD_compress2(e->zstd, e->buffer, e->cap, raw, len);
    return ZSTD_isError(*out_len) ? GPUFL_ERR_FORMAT : GPUFL_OK;
}

/* deflate writes a gzip header with mtime 0 when none is set (windowBits + 16). */
static gpufl_status encoder_gzip(struct encoder *e, const void *raw, size_t len,
                                 size_t *out_len)
{
    if (!e->gzip_ready) {
        if (deflateInit2(&e->gzip, e->gzip_level, Z_DEFLATED, 15 + 16, 8,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            return GPUFL_ERR_NOMEM;
        }
        e->gzip_ready = true;
    }
    deflateReset(&e->gzip);
    if (!encoder_reserve(e, deflateBound(&e->gzip, len))) {
        return GPUFL_ERR_NOMEM;
    }
    e->gzip.next_in = (Bytef *)(uintptr_t)raw;
    e->gzip.avail_in = (uInt)len;
    e->gzip.next_out = e->buffer;
    e->gzip.avail_out = (uInt)e->cap;
    if (deflate(&e->gzip, Z_FINISH) != Z_STREAM_END) {
        return GPUFL_ERR_FORMAT;
    }
    *out_len = e->cap - e->gzip.avail_out;
    return GPUFL_OK;
}

gpufl_status encoder_encode(struct encoder *e, enum codec codec, const void *raw,
                            size_t len, const void **out, size_t *out_len)
{
    gpufl_status status = GPUFL_OK;
    *out = raw;
    *out_len = len;
    if (len > UINT32_MAX) {
        return GPUFL_ERR_FORMAT;
    }
    if (codec == CODEC_ZSTD) {
        status = encoder_zstd(e, raw, len, out_len);
        *out = e->buffer;
    } else if (codec == CODEC_GZIP) {
        status = encoder_gzip(e, raw, len, out_len);
        *out = e->buffer;
    }
    return status;
}

const char *codec_name(enum codec codec)
{
    return codec == CODEC_ZSTD ? "zstd" : codec == CODEC_GZIP ? "gzip" : NULL;
}

uint32_t encode_library_version(enum codec codec)
{
    if (codec == CODEC_ZSTD) {
        return ZSTD_versionNumber();
    }
    return codec == CODEC_GZIP ? (uint32_t)ZLIB_VERNUM : 0;
}

uint32_t encode_crc32(uint32_t crc, const void *data, size_t len)
{
    return (uint32_t)crc32_z(crc, data, len);
}

gpufl_status encode_measure(const struct sys *sys, int fd, uint64_t *bytes, uint32_t *crc)
{
    unsigned char chunk[MEASURE_CHUNK_BYTES];
    ssize_t n;
    *bytes = 0;
    *crc = 0;
    while ((n = file_pread_full(sys, fd, chunk, sizeof chunk, (off_t)*bytes)) > 0) {
        *crc = encode_crc32(*crc, chunk, (size_t)n);
        *bytes += (uint64_t)n;
    }
    return n == 0 ? GPUFL_OK : GPUFL_ERR_IO;
}
