/* SPDX-License-Identifier: Apache-2.0 */
/* One anchor a session turns monotonic times into wall-clock times. */
#ifndef GPUFL_COLLECTOR_CORE_CLOCK_H
#define GPUFL_COLLECTOR_CORE_CLOCK_H

#include <stdint.h>

/** CLOCK_MONOTONIC in ns. */
int64_t clock_mono_ns(void);

/** Realtime minus monotonic, in ns, read between two monotonic reads; the narrowest of a
 * few brackets is taken. Fixed for a session, so that a step of the wall clock bends
 * nothing. */
int64_t clock_anchor_ns(void);

#endif
