/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks of the job's threads, each stored once. There is one table, since an
 * address means the same in the whole process. */
#ifndef GPUFL_COLLECTOR_CORE_STACKS_H
#define GPUFL_COLLECTOR_CORE_STACKS_H

#include <stdint.h>

#define STACKS_MAX         16384u
#define STACKS_DEPTH       48 /* the innermost frames, those of CUDA and ours included */
#define STACKS_CACHE_SLOTS 64u

struct stack {
    uint64_t hash;
    uint32_t frames;
    uintptr_t pc[]; /* return addresses, the innermost first */
};

/** A thread's cache of its latest stacks, which needs no lock. */
struct stacks_cached {
    uint64_t hash;
    uint32_t id;
};

/** Loads the unwinder, which takes locks and memory, before a launch needs it. */
void stacks_prepare(void);

/** The id of the calling thread's stack, \p cache being the thread's STACKS_CACHE_SLOTS
 * slots; 0 = no memory, or more than STACKS_MAX different ones, which is counted. Two
 * stacks whose 64-bit hashes are equal count as one. */
uint32_t stacks_here(struct stacks_cached *cache);

/** The last id that stacks_get takes. For any thread. */
uint32_t stacks_count(void);

/** Lives as long as the process. */
const struct stack *stacks_get(uint32_t id);

/** How many stacks found no room since the process started. */
uint64_t stacks_overflowed(void);

/** In the child of a fork: another thread may have held the lock. */
void stacks_after_fork(void);

#endif
