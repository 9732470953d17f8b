/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential backoff with full jitter. */
#ifndef GPUFL_UPLOAD_PACE_BACKOFF_H
#define GPUFL_UPLOAD_PACE_BACKOFF_H

#include <stdint.h>

#include "base/sys.h"

/** Milliseconds to wait after \p failures failures in a row: \p minimum_ms (the server's
 * Retry-After, one hour at most) plus a random time, uniform in [0, min(cap_ms, base_ms ×
 * 2^(failures-1))] and over at least a quarter of \p minimum_ms, so that many agents
 * spread out. */
uint64_t backoff_ms(const struct sys *sys, unsigned failures, uint64_t base_ms,
                    uint64_t cap_ms, uint64_t minimum_ms);

#endif
