/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on untrusted numbers: overflow wraps instead of being undefined. */
#ifndef GPUFL_BACKEND_DIGEST_WRAP_H
#define GPUFL_BACKEND_DIGEST_WRAP_H

#include <stdint.h>

static inline int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
