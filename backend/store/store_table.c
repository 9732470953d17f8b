/* SPDX-License-Identifier: Apache-2.0 */
/* A table begins with the head of a column, whose ninth byte is a width of at most 8; one
 * that is compressed begins with nine bytes of which the last is another. */
#include "backend/store/store_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/store/codec.h"

#define HEAD_BYTES       9u
#define COMPRESSED       0xffu
#define COMPRESS_FROM    4096u
#define TABLE_COLUMN_MAX 65u /* the time, and 64 metrics */

bool store_table_encode(const struct text *packed, char **made, struct text *out)
{
    char *frame = NULL;
    size_t len;
    *made = NULL;
    *out = *packed;
    if (packed->len < COMPRESS_FROM) {
        return true;
    }
    if (codec_encode_zstd(packed->data, packed->len, &frame, &len) != GPUFL_OK) {
        return false;
    }
    char *blob = len < packed->len / 2 ? malloc(HEAD_BYTES + len) : NULL;
    bool ok = blob || len >= packed->len / 2;
    if (blob) {
        memset(blob, 0, HEAD_BYTES);
        blob[HEAD_BYTES - 1] = (char)COMPRESSED;
        memcpy(blob + HEAD_BYTES, frame, len);
        *made = blob;
        *out = (struct text){.data = blob, .len = HEAD_BYTES + len};
    }
    free(frame);
    return ok;
}

gpufl_status store_table_decode(const struct text *blob, size_t rows, char **made,
                                struct text *out)
{
    size_t most = (HEAD_BYTES + rows * sizeof(int64_t)) * TABLE_COLUMN_MAX;
    *made = NULL;
    *out = *blob;
    if (blob->len < HEAD_BYTES ||
        (unsigned char)blob->data[HEAD_BYTES - 1] != COMPRESSED) {
        return GPUFL_OK;
    }
    *out = (struct text){0};
    gpufl_status status = codec_decode(ENCODING_ZSTD, blob->data + HEAD_BYTES,
                                       blob->len - HEAD_BYTES, most, made, &out->len);
    out->data = *made;
    return status == GPUFL_OK || status == GPUFL_ERR_NOMEM ? status : GPUFL_ERR_IO;
}
