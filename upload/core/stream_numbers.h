/* SPDX-License-Identifier: Apache-2.0 */
/* The streams of a root by their numbers in its journal. */
#ifndef GPUFL_UPLOAD_CORE_STREAM_NUMBERS_H
#define GPUFL_UPLOAD_CORE_STREAM_NUMBERS_H

#include <stdint.h>

#include "upload/core/registry.h"
#include "upload/core/stream.h"

/** \return the stream of \p root that has the number \p id, or NULL. */
struct stream *stream_numbered(const struct root *root, uint32_t id);

/** Gives the stream the number \p id, instead of the one that it had; 0 = none. */
void stream_set_number(struct stream *stream, uint32_t id);

/** Frees the table of a root without streams. */
void stream_numbers_close(struct root *root);

#endif
