/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the listener; while another process has its address, the agent works without. */
#ifndef GPUFL_AGENT_LOOP_LISTEN_H
#define GPUFL_AGENT_LOOP_LISTEN_H

#include "agent/loop_state.h"

/** Opens the listener if --listen is given. That its address is taken is only said: lines
 * are sent all the same. \return GPUFL_OK, or an error with the reason in \p why. */
GPUFL_MUST gpufl_status loop_listen(struct loop *loop, char why[512]);

/** Tries again when it is time to, after the address was taken. */
void loop_listen_again(struct loop *loop, uint64_t now_ms);

#endif
