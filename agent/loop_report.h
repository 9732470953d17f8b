/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of the agent to clients of the listener, to systemd and to the log.
 */
#ifndef GPUFL_AGENT_LOOP_REPORT_H
#define GPUFL_AGENT_LOOP_REPORT_H

#include "agent/loop_state.h"

/** Exit status: something is left, kept back or was not accepted. */
#define LOOP_NOT_ALL 1
/** Exit status: it cannot start. One value for all reasons, as the existing agent has. */
#define LOOP_CANNOT_START 1

/** Fills in the figures if a client of the listener is waiting for them. */
void loop_report_figures(struct loop *loop);

/** Sends systemd the status line and, if it asks for one, the watchdog's keep-alive. */
void loop_report_to_systemd(struct loop *loop, uint64_t now_ms);

/** Logs at the end what was sent and what is left.
 *  \return the exit status: with --exit-when-drained, LOOP_NOT_ALL unless everything was
 * sent and accepted. */
int loop_end(const struct loop *loop);

#endif
