/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two checksums: the first is moved past as many zero bytes as the second covers.
 * A checksum is a polynomial modulo that of CRC-32C, with its bits reflected, and a zero
 * byte multiplies it by x^8; the power is found by squaring. */
#include "base/crc32c_combine.h"

#include "base/crc32c.h"

#define POLYNOMIAL 0x82f63b78u
#define X_TO_0     0x80000000u
#define X_TO_8     0x00800000u

static uint32_t combine_multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = X_TO_0; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = (b >> 1) ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_len)
{
    uint32_t power = X_TO_0, square = X_TO_8;
    for (; second_len; second_len >>= 1) {
        if (second_len & 1) {
            power = combine_multiply(power, square);
        }
        square = combine_multiply(square, square);
    }
    return combine_multiply(power, first) ^ second;
}

uint32_t crc32c_zeros(uint32_t crc, uint64_t len)
{
    uint32_t run = crc32c(0, "", 1); /* of run_len zero bytes */
    for (uint64_t run_len = 1; len; len >>= 1, run_len <<= 1) {
        crc = len & 1 ? crc32c_combine(crc, run, run_len) : crc;
        run = crc32c_combine(run, run, run_len);
    }
    return crc;
}
