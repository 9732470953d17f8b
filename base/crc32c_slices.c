/* SPDX-License-Identifier: Apache-2.0 */
/* Computes CRC-32C eight bytes at a time from eight tables ("slicing by 8": Kounavis and
 * Berry, "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation"). */
#include "base/crc32c_slices.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

enum { SLICES = 8 };

static const uint32_t POLYNOMIAL = 0x82f63b78; /* reflected */

/* slices[s][byte]: what a byte adds to the checksum when s bytes follow it in the word.
 */
static uint32_t slices[SLICES][256];
static pthread_once_t slices_once = PTHREAD_ONCE_INIT;

static void fill_slices(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
        }
        slices[0][byte] = crc;
    }
    for (int s = 1; s < SLICES; s++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = slices[s - 1][byte];
            slices[s][byte] = (before >> 8) ^ slices[0][before & 0xff];
        }
    }
}

static uint32_t add_word(uint32_t crc, const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = le64toh(word) ^ crc;
    return slices[7][word & 0xff] ^ slices[6][(word >> 8) & 0xff] ^
           slices[5][(word >> 16) & 0xff] ^ slices[4][(word >> 24) & 0xff] ^
           slices[3][(word >> 32) & 0xff] ^ slices[2][(word >> 40) & 0xff] ^
           slices[1][(word >> 48) & 0xff] ^ slices[0][word >> 56];
}

uint32_t crc32c_slices(uint32_t crc, const void *data, size_t len)
{
    pthread_once(&slices_once, fill_slices);
    const unsigned char *at = data;
    crc = ~crc;
    for (; len >= sizeof(uint64_t); at += sizeof(uint64_t), len -= sizeof(uint64_t)) {
        crc = add_word(crc, at);
    }
    for (; len > 0; at++, len--) {
        crc = (crc >> 8) ^ slices[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}
