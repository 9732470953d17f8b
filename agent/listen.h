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

/** Listens. On failure \p why holds the reason. */
GPUFL_MUST gpufl_status listener_open(const struct address *address,
                                      struct listen_wake wake, struct listener **out,
                                      char why[512]);

/** The port that is listened on. */
uint16_t listener_port(const struct listener *listener);

/** To be called at each turn of the loop. \return where to put figures, then call
 * listener_tell; NULL when none are wanted. */
struct listen_figures *listener_turn(struct listener *listener);
void listener_tell(struct listener *listener);

/** Ends the thread; answers under way are cut. NULL is fine. */
void listener_close(struct listener *listener);

#endif
