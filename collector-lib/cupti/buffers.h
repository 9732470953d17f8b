/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded pool of the buffers that CUPTI fills. Any thread may request and complete
 * buffers; our thread takes and releases them. */
#ifndef GPUFL_COLLECTOR_CUPTI_BUFFERS_H
#define GPUFL_COLLECTOR_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One buffer with records. */
struct buffer {
    uint8_t *bytes;
    size_t valid;
    struct buffer *next;
};

/** Sets the sizes of the pool: before the first request, or while no buffer is out. */
void buffers_configure(size_t bytes, unsigned max);

/** Returns memory for CUPTI, 64-aligned; NULL at the bound or without memory. */
uint8_t *buffers_request(size_t *size);

/** Takes \p bytes back from CUPTI, with \p valid bytes of records. \return false if they
 * are not ours; then they are left alone. */
bool buffers_complete(uint8_t *bytes, size_t valid);

/** Returns the completed buffers, in order of completion. */
struct buffer *buffers_take(void);

/** Puts a buffer back into the pool. */
void buffers_release(struct buffer *buffer);

/** True if a request came to nothing since the last call. */
bool buffers_ran_out(void);

/** How many buffers CUPTI holds or wait to be released. */
unsigned buffers_out(void);

#endif
