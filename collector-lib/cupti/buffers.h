/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that CUPTI fills, from a pool with a bound. Requested and completed by any
 * thread; taken and given back by ours. */
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

/** Sizes of the pool. Once before the first request, or again when none is out. */
void buffers_configure(size_t bytes, unsigned max);

/** Memory for CUPTI, 8-aligned; NULL at the bound or without memory. */
uint8_t *buffers_request(size_t *size);

/** CUPTI gives \p bytes back, \p valid of them filled. */
void buffers_complete(uint8_t *bytes, size_t valid);

/** All that were completed, in that order. */
struct buffer *buffers_take(void);

/** Back into the pool. */
void buffers_release(struct buffer *buffer);

/** Buffers that CUPTI has, or that wait. */
unsigned buffers_out(void);

#endif
