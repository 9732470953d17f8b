/* SPDX-License-Identifier: Apache-2.0 */
/* A program may have floating point raise SIGFPE, also for what is only inexact, and
 * round as it likes: what we compute on its thread neither raises nor changes anything.
 * Not by fenv.h, whose functions are in libm. */
#ifndef GPUFL_BASE_HELD_FLOATS_H
#define GPUFL_BASE_HELD_FLOATS_H

#include <stdint.h>

struct held_floats {
    char x87[28];
    uint32_t sse;
    uint64_t control, status; /* of arm64 */
};

/** Keeps the environment of this thread, and gives it that in which programs begin. */
static inline void held_floats_begin(struct held_floats *held)
{
#if defined(__x86_64__)
    static const uint16_t x87 = 0x37f;
    static const uint32_t sse = 0x1f80;
    __asm__ volatile("fnstenv %0" : "=m"(held->x87));
    __asm__ volatile("stmxcsr %0" : "=m"(held->sse));
    __asm__ volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" : : "m"(x87), "m"(sse));
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                     : "=r"(held->control), "=r"(held->status));
    __asm__ volatile("msr fpcr, xzr\n\tmsr fpsr, xzr");
#else
    (void)held;
#endif
}

static inline void held_floats_end(const struct held_floats *held)
{
#if defined(__x86_64__)
    __asm__ volatile("fldenv %0\n\tldmxcsr %1" : : "m"(held->x87), "m"(held->sse));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                     :
                     : "r"(held->control), "r"(held->status));
#else
    (void)held;
#endif
}

#endif
