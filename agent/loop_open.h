/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what the options ask for and closes it again. */
#ifndef GPUFL_AGENT_LOOP_OPEN_H
#define GPUFL_AGENT_LOOP_OPEN_H

#include "agent/loop_state.h"

/** Opens everything but the signal descriptor and the socket of systemd.
 *  \return GPUFL_OK; else the reason in \p why, and loop_close frees what was opened. */
GPUFL_MUST gpufl_status loop_open(struct loop *loop, bool have_inotify, char why[512]);

void loop_close(struct loop *loop);

#endif
