/* SPDX-License-Identifier: Apache-2.0 */
/* Computes CRC-32C by the processor's instruction. The instruction takes three cycles,
 * but one can start in each: long runs are read as three blocks at once, and the three
 * checksums are joined by carry-less multiplication. (Gopal and others, "Fast CRC
 * Computation for iSCSI Polynomial Using CRC32 Instruction", Intel, 2011.) */
#include "base/crc32c_processor.h"

#include <endian.h>
#include <string.h>

#include "base/crc32c_slices.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define BY_PROCESSOR         __attribute__((target("sse4.2,pclmul")))
#define ADD_BYTE(crc, byte)  _mm_crc32_u8(crc, byte)
#define ADD_EIGHT(crc, word) (uint32_t) _mm_crc32_u64(crc, word)
#define MULTIPLY(a, b)                                                                   \
    _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128(a), _mm_cvtsi64_si128(b), 0))

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#define BY_PROCESSOR         __attribute__((target("+crc+crypto")))
#define ADD_BYTE(crc, byte)  __crc32cb(crc, byte)
#define ADD_EIGHT(crc, word) __crc32cd(crc, word)
#define MULTIPLY(a, b)       vmull_p64(a, b)

#endif

bool crc32c_processor_has_it(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
    const unsigned long both = HWCAP_CRC32 | HWCAP_PMULL;
    return (getauxval(AT_HWCAP) & both) == both;
#else
    return false;
#endif
}

#ifdef BY_PROCESSOR

/* What moves a checksum past as many zero bytes as one block has, and two:
 * x^(8 n - 33) modulo the polynomial, bits reflected. The 33 are the 32 of ADD_EIGHT
 * and one that a product of reflected numbers lacks. */
struct crc32c_block {
    size_t bytes;
    uint32_t past_one, past_two;
};

/* The long one for throughput, the short one for a batch's last lines. */
static const struct crc32c_block LONG = {4096, 0x82f89c77, 0x54a86326};
static const struct crc32c_block SHORT = {256, 0xb9e02b86, 0xdd7e3b0c};

BY_PROCESSOR static inline uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

BY_PROCESSOR static inline uint32_t move_past(uint32_t crc, uint32_t zeros)
{
    return ADD_EIGHT(0, (uint64_t)MULTIPLY(crc, zeros));
}

/* Takes in three blocks. */
BY_PROCESSOR static inline uint32_t add_three(uint32_t crc, const unsigned char *at,
                                              const struct crc32c_block *block)
{
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < block->bytes; i += sizeof(uint64_t)) {
        crc = ADD_EIGHT(crc, load(at + i));
        second = ADD_EIGHT(second, load(at + block->bytes + i));
        third = ADD_EIGHT(third, load(at + 2 * block->bytes + i));
    }
    return move_past(crc, block->past_two) ^ move_past(second, block->past_one) ^ third;
}

BY_PROCESSOR static uint32_t add_all(uint32_t crc, const unsigned char *at, size_t len)
{
    crc = ~crc;
    for (; len >= 3 * LONG.bytes; at += 3 * LONG.bytes, len -= 3 * LONG.bytes) {
        crc = add_three(crc, at, &LONG);
    }
    for (; len >= 3 * SHORT.bytes; at += 3 * SHORT.bytes, len -= 3 * SHORT.bytes) {
        crc = add_three(crc, at, &SHORT);
    }
    for (; len >= sizeof(uint64_t); at += sizeof(uint64_t), len -= sizeof(uint64_t)) {
        crc = ADD_EIGHT(crc, load(at));
    }
    for (; len > 0; at++, len--) {
        crc = ADD_BYTE(crc, *at);
    }
    return ~crc;
}

#endif

uint32_t crc32c_processor(uint32_t crc, const void *data, size_t len)
{
#ifdef BY_PROCESSOR
    return add_all(crc, data, len);
#else
    return crc32c_slices(crc, data, len);
#endif
}
