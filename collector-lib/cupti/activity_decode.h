/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes CUPTI's records. */
#ifndef GPUFL_COLLECTOR_CUPTI_ACTIVITY_DECODE_H
#define GPUFL_COLLECTOR_CUPTI_ACTIVITY_DECODE_H

#include "collector-lib/cupti/buffers.h"
#include "collector-lib/cupti/record_clock.h"
#include "collector-lib/trace/tracer.h"

/** Zero-initialise. */
struct activity_decode {
    struct record_clock clock;
    uint64_t records;
    uint64_t buffers_unread; /**< of which the rest could not be read */
    uint64_t ended;          /**< launches that have a record */
    uint64_t incomplete;     /**< kernels with a record that had not ended */
};

/** Passes the records of all buffers to \p sink, in order within a buffer. */
void activity_decode_buffers(struct activity_decode *decode, const struct buffer *first,
                             const struct tracer_sink *sink);

#endif
