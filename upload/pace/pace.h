/* SPDX-License-Identifier: Apache-2.0 */
/* How many full batches may be under way at once, by what the origin can take: one more
 * after each round of answers, half as many when it says that it is busy or answers more
 * slowly (additive increase, multiplicative decrease). */
#ifndef GPUFL_UPLOAD_PACE_PACE_H
#define GPUFL_UPLOAD_PACE_PACE_H

#include <stdint.h>

struct pace {
    uint64_t milli;        /**< full batches, in thousandths */
    uint64_t most;         /**< of them */
    uint64_t cut_ms;       /**< what was sent before says nothing new of a busy origin */
    uint64_t full_ms;      /**< recent answer time to full batches, 0 = none was sent */
    uint64_t least_ms;     /**< the least of these since … */
    uint64_t since_ms;     /**< … then, */
    uint64_t least_old_ms; /**< and in the period before; UINT64_MAX = there was none */
};

/** Begins with \p most batches, which is also the upper bound. */
void pace_init(struct pace *pace, unsigned most, uint64_t now_ms);

/** \return how many full batches may be under way, 1 or more. */
unsigned pace_batches(const struct pace *pace);

/** Notes that a request was answered as expected. */
void pace_answered(struct pace *pace);

/** Notes that a full batch was answered as expected after \p took_ms, besides. */
void pace_note_full(struct pace *pace, uint64_t took_ms, uint64_t now_ms);

/** Notes that the origin said that it is busy, \p took_ms after the request. */
void pace_refused(struct pace *pace, uint64_t took_ms, uint64_t now_ms);

#endif
