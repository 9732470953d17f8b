/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the samples of a context may take, given what is free. */
#ifndef GPUFL_COLLECTOR_CUPTI_PC_MEMORY_H
#define GPUFL_COLLECTOR_CUPTI_PC_MEMORY_H

#include <stddef.h>

/** Below this, the buffer of an H100 overflows before CUPTI empties it, ten times a
 * second: 8 MiB lost 5 % of the samples, 6 MiB all of them. */
#define PC_MEMORY_MIN_BYTES ((size_t)16 << 20)

/** One part in so many of what is free. */
#define PC_MEMORY_SHARE 32u

/** Bytes of the buffer: that share, PC_MEMORY_MIN_BYTES to \p most; 0 if the share is too
 * small. CUPTI 13.0 takes the buffer of the host's memory, at the first launch, and 12
 * MiB of the device's (H100); where others take it from is not known, so both count. */
size_t pc_memory_share(size_t device_free, size_t host_free, size_t most);

/** What \p meminfo (/proc/meminfo) says is available; SIZE_MAX if it does not. */
size_t pc_memory_host_free(const char *meminfo);

#endif
