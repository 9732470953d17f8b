/* SPDX-License-Identifier: Apache-2.0 */
/* gzip and zstd with a cap on what comes out, whatever the body claims. */
#include "backend/store/codec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#define STORE_LEVEL 1

struct growing {
    char *data;
    size_t len;
    size_t size;
    size_t cap;
};

enum encoding codec_of_header(const char *header)
{
    if (!header || !*header || strcasecmp(header, "identity") == 0) {
        return ENCODING_PLAIN;
    }
    if (strcasecmp(header, "gzip") == 0) {
        return ENCODING_GZIP;
    }
    return strcasecmp(header, "zstd") == 0 ? ENCODING_ZSTD : ENCODING_UNKNOWN;
}

/* Room for at least one byte more; PARTIAL at the cap. */
static gpufl_status grow(struct growing *g, size_t hint)
{
    if (g->len < g->size) {
        return GPUFL_OK;
    }
    if (g->size >= g->cap) {
        return GPUFL_PARTIAL;
    }
    size_t size = g->size ? g->size * 2 : hint;
    size = size < 4096 ? 4096 : size;
    size = size > g->cap ? g->cap : size;
    char *data = realloc(g->data, size);
    if (!data) {
        return GPUFL_ERR_NOMEM;
    }
    g->data = data;
    g->size = size;
    return GPUFL_OK;
}

static gpufl_status inflate_all(struct growing *g, const void *body, size_t len)
{
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK) {
        return GPUFL_ERR_NOMEM;
    }
    z.next_in = (Bytef *)(uintptr_t)body;
    z.avail_in = (uInt)len;
    gpufl_status status = GPUFL_OK;
    int rc = Z_OK;
    while (status == GPUFL_OK) {
        if (rc == Z_STREAM_END) {
            if (z.avail_in == 0) {
                break;
            }
            inflateReset(&z); /* a further member */
        }
        status = grow(g, len * 4);
        if (status != GPUFL_OK) {
            break;
        }
        z.next_out = (Bytef *)g->data + g->len;
        z.avail_out = (uInt)(g->size - g->len);
        rc = inflate(&z, Z_NO_FLUSH);
        g->len = g->size - z.avail_out;
        if (rc != Z_OK && rc != Z_STREAM_END) {
            status = GPUFL_ERR_FORMAT;
        }
    }
    inflateEnd(&z);
    return status;
}

static gpufl_status unzstd_all(struct growing *g, const void *body, size_t len)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    ZSTD_inBuffer in = {body, len, 0};
    gpufl_status status = zstd ? GPUFL_OK : GPUFL_ERR_NOMEM;
    size_t left = 1;
    if (zstd) {
        ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 23); /* RFC 9659 */
    }
    while (status == GPUFL_OK && (in.pos < in.size || left > 0)) {
        status = grow(g, len * 8);
        if (status != GPUFL_OK) {
            break;
        }
        size_t before = in.pos;
        ZSTD_outBuffer out = {g->data, g->size, g->len};
        left = ZSTD_decompressStream(zstd, &out, &in);
        bool stuck = in.pos == before && out.pos == g->len;
        g->len = out.pos;
        if (ZSTD_isError(left) || (stuck && left > 0)) {
            status = GPUFL_ERR_FORMAT;
        }
    }
    ZSTD_freeDCtx(zstd);
    return status;
}

gpufl_status codec_decode(enum encoding encoding, const void *body, size_t len,
                          size_t cap, char **out, size_t *out_len)
{
    struct growing g = {.cap = cap};
    gpufl_status status = GPUFL_ERR_FORMAT;
    *out = NULL;
    *out_len = 0;
    if (encoding == ENCODING_PLAIN) {
        g.data = len <= cap ? malloc(len ? len : 1) : NULL;
        g.len = len;
        status = len > cap ? GPUFL_PARTIAL : g.data ? GPUFL_OK : GPUFL_ERR_NOMEM;
        if (g.data && len) {
            memcpy(g.data, body, len);
        }
    } else if (encoding == ENCODING_GZIP) {
        status = inflate_all(&g, body, len);
    } else if (encoding == ENCODING_ZSTD && len > 0) {
        status = unzstd_all(&g, body, len);
    }
    if (status != GPUFL_OK) {
        free(g.data);
        return status;
    }
    *out = g.data;
    *out_len = g.len;
    return GPUFL_OK;
}

gpufl_status codec_encode_zstd(const void *raw, size_t len, char **out, size_t *out_len)
{
    size_t bound = ZSTD_compressBound(len);
    *out = malloc(bound);
    if (!*out) {
        return GPUFL_ERR_NOMEM;
    }
    *out_len = ZSTD_compress(*out, bound, raw, len, STORE_LEVEL);
    if (ZSTD_isError(*out_len)) {
        free(*out);
        *out = NULL;
        return GPUFL_ERR_FORMAT;
    }
    return GPUFL_OK;
}
