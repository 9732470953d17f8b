/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses raw lines to the body of a POST. Equal input and parameters give equal
 * bytes. */
#ifndef GPUFL_UPLOAD_HTTP_ENCODE_H
#define GPUFL_UPLOAD_HTTP_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"

enum codec { CODEC_NONE = 0, CODEC_GZIP = 1, CODEC_ZSTD = 2 };

/** Contexts reused from frame to frame. */
struct encoder;

/** \p zstd_level 1 to 19, \p gzip_level 1 to 9. NULL without memory. */
struct encoder *encoder_open(int zstd_level, int gzip_level);
void encoder_close(struct encoder *encoder);

/** One zstd frame (content size, no checksum), one gzip member (mtime 0), or \p raw
 * itself. *out is borrowed until the next call. \return GPUFL_OK, GPUFL_ERR_NOMEM or
 * GPUFL_ERR_FORMAT. */
GPUFL_MUST gpufl_status encoder_encode(struct encoder *encoder, enum codec codec,
                                       const void *raw, size_t len, const void **out,
                                       size_t *out_len);

/** Content-Encoding of \p codec, NULL for none. */
const char *codec_name(enum codec codec);

/** The version number of the library behind \p codec: other versions may give other
 * bytes. */
uint32_t encode_library_version(enum codec codec);

/** CRC-32 (zlib's) of \p len bytes, continuing \p crc (0 at the start). */
uint32_t encode_crc32(uint32_t crc, const void *data, size_t len);

/** Size and CRC-32 of a whole file. \return GPUFL_OK or GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status encode_measure(const struct sys *sys, int fd, uint64_t *bytes,
                                       uint32_t *crc);

#endif
