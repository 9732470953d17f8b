/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of all that was read since the start: the figures are counted where
 * each of these things happens, so what they leave over shows a mistake. */
#ifndef GPUFL_UPLOAD_ENGINE_ACCOUNT_H
#define GPUFL_UPLOAD_ENGINE_ACCOUNT_H

#include "upload/core/counters.h"
#include "upload/engine/engine.h"

struct account {
    struct counters_amount read;
    struct counters_amount acknowledged;
    struct counters_amount waiting;                  /**< in offers … */
    struct counters_amount held[HELD_REASONS_COUNT]; /**< … that are held */
    struct counters_amount fate[COUNTERS_FATES];
    int64_t lines_over, bytes_over; /**< read, and nothing of the above: 0, or there is a
                                       mistake */
};

void engine_account(const struct engine *engine, struct account *out);

#endif
