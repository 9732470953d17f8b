/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the loop's state: to whoever asks the listener, to systemd, to the log. */
#ifndef GPUFL_AGENT_LOOP_TELL_H
#define GPUFL_AGENT_LOOP_TELL_H

#include "agent/loop_state.h"

/** Fills in the figures, if a client of the listener waits for them. */
void loop_tell_listener(struct loop *loop);

/** Sends systemd the status line and, where it has a watchdog, a sign of life. */
void loop_tell_systemd(struct loop *loop, uint64_t now_ms);

/** Logs at the end what was sent and what is left. */
void loop_log_end(const struct loop *loop);

#endif
