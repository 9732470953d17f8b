/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU behind the fake libcupti, for jobs that find these by dlsym. */
#ifndef GPUFL_TESTS_FAKE_CUPTI_H
#define GPUFL_TESTS_FAKE_CUPTI_H

#include <stdint.h>

/** CUDA is initialised: the library that CUDA_INJECTION64_PATH names is loaded. */
void fake_init(void);

/** A kernel of 1 µs with \p grid blocks, launched by this thread. \p symbol must stay. */
void fake_launch(const char *symbol, int grid);

/** One that has begun and does not end. */
void fake_launch_that_never_ends(const char *symbol);

/** One record of each other kind; a wait of 100 ms. */
void fake_others(uint64_t bytes);

/** A context comes, with a module whose sources lie in \p folder; or it goes. */
void fake_context(int there, const char *folder);

#endif
