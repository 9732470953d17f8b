/* SPDX-License-Identifier: Apache-2.0 */
/* Random choices that a seed repeats. */
#ifndef GPUFL_TESTS_PICK_H
#define GPUFL_TESTS_PICK_H

#include <stdint.h>

/** Begins the sequence of \p seed. */
void pick_seed(uint64_t seed);

/** A number in [0, \p below). */
uint64_t pick(uint64_t below);

#endif
