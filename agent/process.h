/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of this process, and its protection from other processes of the same user. */
#ifndef GPUFL_AGENT_PROCESS_H
#define GPUFL_AGENT_PROCESS_H

#include <stdint.h>

/** Resident memory and open descriptors; 0 without /proc. */
uint64_t process_resident_bytes(void);
unsigned process_open_fds(void);

/** Forbids core dumps and ptrace, which would show the API key. */
void process_protect(void);

#endif
