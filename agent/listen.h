/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own endpoint: GET /metrics, /healthz, /readyz on a thread of its own. It
 * asks the loop for figures only when a client wants them, so an agent that is not
 * scraped does no work, and one whose loop hangs can still report that. */
#ifndef GPUFL_AGENT_LISTEN_H
#define GPUFL_AGENT_LISTEN_H

#include <stdint.h>

#include <gpufl/status.h>

#include "agent/listen_answer.h"
#include "base/address.h"

struct listener;

/** Called from the listener's thread when figures are wanted. */
struct listen_wake {
    void (*call)(void *arg);
    void *arg;
};

/** Binds the address and starts the thread.
 *  \return GPUFL_OK, or an error with the reason in \p why. */
GPUFL_MUST gpufl_status listener_open(const struct address *address,
                                      struct listen_wake wake, struct listener **out,
                                      char why[512]);

/** Binds the address and frees it again. \return GPUFL_OK; GPUFL_BUSY if another process
 * has it, else GPUFL_ERR_IO, with the reason in \p why. */
GPUFL_MUST gpufl_status listener_try(const struct address *address, char why[512]);

/** The port, also when the address left it to the kernel. */
uint16_t listener_port(const struct listener *listener);

/** Called at each turn of the loop. \return the figures to fill in before calling
 * listener_filled, NULL when no client wants them. */
struct listen_figures *listener_turn(struct listener *listener);
void listener_filled(struct listener *listener);

/** Ends the thread; answers under way are cut. NULL is fine. */
void listener_close(struct listener *listener);

#endif
