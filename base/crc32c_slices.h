/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C by tables alone, for processors without an instruction for it. */
#ifndef GPUFL_BASE_CRC32C_SLICES_H
#define GPUFL_BASE_CRC32C_SLICES_H

#include <stddef.h>
#include <stdint.h>

/** Same as crc32c(). The first call fills 8 KiB of tables. Thread-safe. */
uint32_t crc32c_slices(uint32_t crc, const void *data, size_t len);

#endif
