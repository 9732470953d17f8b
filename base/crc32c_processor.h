/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C by the processor's own instruction (x86-64 with SSE4.2, ARMv8 with CRC). */
#ifndef GPUFL_BASE_CRC32C_PROCESSOR_H
#define GPUFL_BASE_CRC32C_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether this processor has it. Costs a load and a test. */
bool crc32c_processor_has_it(void);

/** Same as crc32c(); only where crc32c_processor_has_it(). */
uint32_t crc32c_processor(uint32_t crc, const void *data, size_t len);

#endif
