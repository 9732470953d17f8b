/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the worlds of a range of seeds, each on one of several processes. */
#ifndef GPUFL_TESTS_SIM_POOL_H
#define GPUFL_TESTS_SIM_POOL_H

#include <stdbool.h>
#include <stdint.h>

/** \return true if the world of \p seed passes; the hash of its history in \p hash. */
typedef bool (*pool_run_fn)(unsigned long long seed, const void *arg, uint64_t *hash);

struct pool_work {
    unsigned long long first, last;
    unsigned processes;
    double seconds;  /**< no world begins after so long; 0 = no end */
    bool first_only; /**< nor after the first failure */
    pool_run_fn run;
    const void *arg;
};

struct pool_sum {
    unsigned long long end; /**< the first seed that was not run */
    unsigned long long failed;
    uint64_t digest;      /**< of all hashes, in whatever order they came */
    double took_s, cpu_s; /**< by the clock, and of processors */
};

/** A process that ends within a world is said, and that world has failed. */
void pool_run(const struct pool_work *work, struct pool_sum *sum);

#endif
