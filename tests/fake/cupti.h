/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU behind the fake libcupti, for jobs that find these by dlsym. */
#ifndef GPUFL_TESTS_FAKE_CUPTI_H
#define GPUFL_TESTS_FAKE_CUPTI_H

#include <stdint.h>

/** CUDA is initialised: the library that CUDA_INJECTION64_PATH names is loaded. */
void fake_init(void);

/** A kernel of 1 µs with \p grid blocks, launched by this thread. \p symbol must stay. */
void fake_launch(const char *symbol, int grid);

/** A launch that the driver captures: it makes a node of a graph, and no kernel. */
void fake_launch_captured(void);

/** What else a kernel's record has. */
struct fake_kernel {
    const char *symbol;
    unsigned registers, static_shared, dynamic_shared, shared_executed;
    unsigned local_thread, local_total, cache_requested, cache_executed;
};

void fake_launch_as(const struct fake_kernel *kernel);

/** One that is launched now, and ends at fake_end_late(). */
void fake_launch_late(const char *symbol);
void fake_end_late(void);

/** What this thread does from now on is on \p gpu, 0 at first. */
void fake_use(int gpu);

/** One that has begun and does not end. */
void fake_launch_that_never_ends(const char *symbol);

/** One of each other kind: a copy, a set, a wait of 2 ms, an allocation, a graph. */
void fake_others(uint64_t bytes);

/** Waits: for event 0x310, of stream 20 for it, then for the default stream, the thread's
 * own by its handle, the same by the call's variant, and for the context. */
void fake_waits(void);

/** The end of a wait and of an allocation of one byte that began before anyone listened.
 */
void fake_ends(void);

/** A context of \p gpu, 0 or 1, comes, with a module whose sources lie in \p folder, and
 * which has a line table where that is a full path, and the same number where its last
 * name is the same; or, without a folder, it goes. */
void fake_context(int gpu, const char *folder);

/** Fetches of samples wait from here on; returns when one does. 0: they go on. */
void fake_hold_fetches(int hold);

#define FAKE_BUFFERS_MAX 1024

struct fake_asked {
    unsigned lent, distinct;
};

/** Asks for buffers from eight threads at once until \p often of them were lent, or for a
 * minute; writes to all of each, and gives it back without records. */
struct fake_asked fake_ask(unsigned often);

/** Asks for buffers until there is none, and hands them over, empty. \return how many
 * there were. */
unsigned fake_run_out(void);

/** Buffers that were handed over, and whose callback has returned. */
unsigned fake_completed(void);

#endif
