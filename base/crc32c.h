/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli, RFC 3720 appendix B.4), which guards the journal's records. */
#ifndef GPUFL_BASE_CRC32C_H
#define GPUFL_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/** Continues \p crc (0 at the start) over \p len bytes, by the processor's instruction
 * where it has one. Thread-safe. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

#endif
