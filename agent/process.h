/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows of this process, and what it keeps others from reading. */
#ifndef GPUFL_AGENT_PROCESS_H
#define GPUFL_AGENT_PROCESS_H

#include <stdint.h>

/** 0 where /proc is not there. */
uint64_t process_resident_bytes(void);
unsigned process_open_fds(void);

/** No core dump holds the API key, and no process of the same user may read it out of the
 * memory. */
void process_protect(void);

#endif
