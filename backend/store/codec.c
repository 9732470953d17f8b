/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes gzip and zstd with a cap on what comes out, whatever the body claims. */
#include "backend/store/codec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"

#define STORE_LEVEL 1

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

/* The decoded bytes and their limit. */
struct decoded {
    struct text text;
    size_t max;
};

/* Makes room for at least one byte, at first for \p guess; PARTIAL at the limit. */
static gpufl_status decoded_room(struct decoded *out, size_t guess)
{
    if (out->text.len >= out->max) {
        return GPUFL_PARTIAL;
    }
    size_t more = out->text.cap || guess == 0 ? 1 : guess;
    more = more < out->max ? more : out->max;
    return text_reserve(&out->text, more) ? GPUFL_OK : GPUFL_ERR_NOMEM;
}

/* Where that room ends. */
static size_t decoded_end(const struct decoded *out)
{
    return out->text.cap < out->max ? out->text.cap : out->max;
}

static gpufl_status inflate_all(struct decoded *out, const void *body, size_t len)
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
            inflateReset(&z); /* another member */
        }
        status = decoded_room(out, len * 4);
        if (status != GPUFL_OK) {
            break;
        }
        size_t end = decoded_end(out);
        z.next_out = (Bytef *)out->text.data + out->text.len;
        z.avail_out = (uInt)(end - out->text.len);
        rc = inflate(&z, Z_NO_FLUSH);
        out->text.len = end - z.avail_out;
        if (rc != Z_OK && rc != Z_STREAM_END) {
            status = GPUFL_ERR_FORMAT;
        }
    }
    inflateEnd(&z);
    return status;
}

static gpufl_status unzstd_all(struct decoded *out, const void *body, size_t len)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    ZSTD_inBuffer in = {body, len, 0};
    gpufl_status status = zstd ? GPUFL_OK : GPUFL_ERR_NOMEM;
    size_t left = 1;
    if (zstd) {
        ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 23); /* RFC 9659 */
    }
    while (status == GPUFL_OK && (in.pos < in.size || left > 0)) {
        status = decoded_room(out, len * 8);
        if (status != GPUFL_OK) {
            break;
        }
        size_t before = in.pos;
        ZSTD_outBuffer to = {out->text.data, decoded_end(out), out->text.len};
        left = ZSTD_decompressStream(zstd, &to, &in);
        bool stuck = in.pos == before && to.pos == out->text.len;
        out->text.len = to.pos;
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
    struct decoded decoded = {.max = cap};
    gpufl_status status = GPUFL_ERR_FORMAT;
    *out = NULL;
    *out_len = 0;
    if (encoding == ENCODING_PLAIN) {
        if (len <= cap) {
            text_append(&decoded.text, body, len);
        }
        status = len > cap             ? GPUFL_PARTIAL
                 : decoded.text.failed ? GPUFL_ERR_NOMEM
                                       : GPUFL_OK;
    } else if (encoding == ENCODING_GZIP) {
        status = inflate_all(&decoded, body, len);
    } else if (encoding == ENCODING_ZSTD && len > 0) {
        status = unzstd_all(&decoded, body, len);
    }
    if (status != GPUFL_OK) {
        text_fini(&decoded.text);
        return status;
    }
    *out = decoded.text.data;
    *out_len = decoded.text.len;
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
