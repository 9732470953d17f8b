/* SPDX-License-Identifier: Apache-2.0 */
/* Computes CRC-32C the fastest way that this processor has. */
#include "base/crc32c.h"

#include "base/crc32c_processor.h"
#include "base/crc32c_slices.h"

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    return crc32c_processor_has_it() ? crc32c_processor(crc, data, len)
                                     : crc32c_slices(crc, data, len);
}
