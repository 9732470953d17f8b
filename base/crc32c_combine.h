/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two checksums without the bytes. */
#ifndef GPUFL_BASE_CRC32C_COMBINE_H
#define GPUFL_BASE_CRC32C_COMBINE_H

#include <stdint.h>

/** The CRC-32C of two runs of bytes, one behind the other, from the CRC-32C of each and
 * the length of the second. */
uint32_t crc32c_combine(uint32_t first, uint32_t second, uint64_t second_len);

/** \return \p crc continued over \p len zero bytes. */
uint32_t crc32c_zeros(uint32_t crc, uint64_t len);

#endif
