/* SPDX-License-Identifier: Apache-2.0 */
/* A second id of a window, for origins that know the one in its sidecar with other
 * content.
 */
#ifndef GPUFL_UPLOAD_BATCH_WINDOW_ID_H
#define GPUFL_UPLOAD_BATCH_WINDOW_ID_H

#include <stddef.h>
#include <stdint.h>

#include "upload/http/origin_identity.h"

/** What a window is. */
struct window_content {
    const char *session, *channel;
    uint32_t sequence;
    uint32_t crc32; /**< of the payload */
    uint64_t bytes;
};

/** Gets the id that whoever has the key of \p backend gives to this window, with any
 * journal or none. Without the key, nobody finds it. */
void window_id_own(const struct window_content *content,
                   const struct origin_identity *backend, unsigned char out[16]);

#endif
