/* SPDX-License-Identifier: Apache-2.0 */
/* exit() does not wait for ever for a driver that hangs while a thread of ours loads it.
 */
#ifndef GPUFL_COLLECTOR_EXIT_BOUND_H
#define GPUFL_COLLECTOR_EXIT_BOUND_H

#include <stdint.h>

/** In a handler of exit(), which takes the loader's lock once all handlers have run. If a
 * thread of ours has it, another one watches the one that exits: once that has waited for
 * the lock for \p ms, the process ends with its status, and what the C library's streams
 * hold is written. Destructors of shared objects, which wait behind the lock, do not run.
 * Where /proc does not tell what a thread waits for, there is no bound. */
void exit_bound(uint64_t ms);

#endif
