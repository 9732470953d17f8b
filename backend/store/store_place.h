/* SPDX-License-Identifier: Apache-2.0 */
/* Places within a stream, from its stored bodies. */
#ifndef GPUFL_BACKEND_STORE_STORE_PLACE_H
#define GPUFL_BACKEND_STORE_STORE_PLACE_H

#include "backend/store/store_streams.h"

/** The last end of a line at or before an offset. */
struct store_place {
    struct stream_place at;
    uint32_t file_crc; /**< of the bytes [0, at.offset) of the file */
};

/** Finds the last end of a line of \p channel in \p file that lies at or before
 * \p offset. \return GPUFL_OK, GPUFL_ERR_NOT_FOUND when nothing of the file is stored up
 * to there, GPUFL_ERR_IO, GPUFL_ERR_NOMEM, GPUFL_ERR_FORMAT. */
GPUFL_MUST gpufl_status store_place_find(struct store *store, const char *session,
                                         const char *channel, uint32_t file,
                                         uint64_t offset, struct store_place *out);

#endif
