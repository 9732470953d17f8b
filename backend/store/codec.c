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

/* Makes room for \p more bytes, at least one, as far as the limit; PARTIAL there. */
static gpufl_status decoded_room(struct decoded *out, size_t more)
{
    if (out->text.len >= out->max) {
        return GPUFL_PARTIAL;
    }
    size_t left = out->max - out->text.len;
    more = more ? more : 1;
    return text_reserve(&out->text, more < left ? more : left) ? GPUFL_OK
                                                               : GPUFL_ERR_NOMEM;
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
        status = decoded_room(out, out->text.cap ? 1 : len * 4);
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

/* Where a frame says how long it is, and all of that fits, zstd writes it at once instead
 * of through a buffer of its own. */
static gpufl_status room_for_frame(struct decoded *out, const ZSTD_inBuffer *in)
{
    unsigned long long size =
        ZSTD_getFrameContentSize((const char *)in->src + in->pos, in->size - in->pos);
    bool said = size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR;
    return decoded_room(out, said && size < out->max ? (size_t)size : in->size * 8);
}

static gpufl_status unzstd_all(struct decoded *out, const void *body, size_t len)
{
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    ZSTD_inBuffer in = {body, len, 0};
    gpufl_status status = zstd ? GPUFL_OK : GPUFL_ERR_NOMEM;
    size_t left = 0;
    if (zstd) {
        ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 23); /* RFC 9659 */
    }
    while (status == GPUFL_OK && (in.pos < in.size || left > 0)) {
        status = left ? decoded_room(out, 1) : room_for_frame(out, &in);
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

static size_t first_member(const void *body, size_t len, size_t decoded)
{
    z_stream z = {0};
    char out[4096];
    int rc = inflateInit2(&z, 15 + 16);
    z.next_in = (Bytef *)(uintptr_t)body;
    z.avail_in = (uInt)len;
    while (rc == Z_OK && z.total_out <= decoded) {
        z.next_out = (Bytef *)out;
        z.avail_out = sizeof out;
        rc = inflate(&z, Z_NO_FLUSH);
    }
    bool ends = rc == Z_STREAM_END && z.total_out == decoded;
    size_t used = ends ? z.total_in : 0;
    inflateEnd(&z);
    return used;
}

size_t codec_first_frame(enum encoding encoding, const void *body, size_t len,
                         size_t decoded)
{
    if (encoding == ENCODING_GZIP) {
        return first_member(body, len, decoded);
    }
    if (encoding != ENCODING_ZSTD || ZSTD_getFrameContentSize(body, len) != decoded) {
        return 0;
    }
    size_t used = ZSTD_findFrameCompressedSize(body, len);
    return ZSTD_isError(used) ? 0 : used;
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
