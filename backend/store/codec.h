/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes request bodies up to a limit, and encodes what is stored. */
#ifndef GPUFL_BACKEND_STORE_CODEC_H
#define GPUFL_BACKEND_STORE_CODEC_H

#include <stddef.h>

#include <gpufl/status.h>

enum encoding { ENCODING_PLAIN, ENCODING_GZIP, ENCODING_ZSTD, ENCODING_UNKNOWN };

/** From a Content-Encoding header; NULL or "identity" is plain. */
enum encoding codec_of_header(const char *header);

/** Decodes \p body to at most \p cap bytes. *out is malloc'd, the caller's; NULL when it
 * is empty. \return GPUFL_OK; GPUFL_ERR_FORMAT when it is broken; GPUFL_PARTIAL when it
 * is larger than \p cap; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status codec_decode(enum encoding encoding, const void *body, size_t len,
                                     size_t cap, char **out, size_t *out_len);

/** \return how many bytes of \p body decode to just its first \p decoded bytes: its first
 * frame or member; 0 when that ends elsewhere, or does not say where. \p body can be
 * decoded. */
size_t codec_first_frame(enum encoding encoding, const void *body, size_t len,
                         size_t decoded);

/** Encodes \p raw as one zstd frame, malloc'd. */
GPUFL_MUST gpufl_status codec_encode_zstd(const void *raw, size_t len, char **out,
                                          size_t *out_len);

#endif
