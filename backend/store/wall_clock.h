/* SPDX-License-Identifier: Apache-2.0 */
/* The time of day, by which sessions are dated. */
#ifndef GPUFL_BACKEND_STORE_WALL_CLOCK_H
#define GPUFL_BACKEND_STORE_WALL_CLOCK_H

#include <stdint.h>

/** Milliseconds since 1970-01-01 UTC; may jump when the clock is set. */
int64_t wall_clock_ms(void);

#endif
