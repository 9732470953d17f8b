/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks: monotonic time, and the anchor that turns it into wall-clock time. */
#ifndef GPUFL_COLLECTOR_CORE_CLOCK_H
#define GPUFL_COLLECTOR_CORE_CLOCK_H

#include <stdint.h>

/** CLOCK_MONOTONIC in ns. */
int64_t clock_mono_ns(void);

/** Realtime minus monotonic, in ns. A session reads it once, so that a step of the wall
 * clock does not distort its times. Realtime is read between two monotonic reads; the
 * closest pair of several is used. */
int64_t clock_anchor_ns(void);

#endif
