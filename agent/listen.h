/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own endpoint: GET /metrics, /healthz, /readyz on a thread of its own, in
 * fixed buffers. It asks the loop for figures when somebody asks for them, so an agent
 * that nobody scrapes does nothing, and one whose loop hangs still answers that it does.
 */
#ifndef GPUFL_AGENT_LISTEN_H
#define GPUFL_AGENT_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/address.h"

/** Bytes of one answer at most. */
#define LISTEN_TEXT_MAX 32768u

/** What the loop tells. */
struct listen_figures {
    char metrics[LISTEN_TEXT_MAX]; /**< Prometheus text format */
    char not_ready[512];           /**< why not, "" = ready */
};

struct listener;

/** Listens. \p wake is called from its thread when figures are wanted. On failure \p why
 * holds one sentence. */
GPUFL_MUST gpufl_status listener_open(const char *address, void (*wake)(void *arg),
                                      void *arg, struct listener **out, char why[512]);

/** The port that is listened on. */
uint16_t listener_port(const struct listener *listener);

/** To be called at each turn of the loop. \return where to put figures, then call
 * listener_tell; NULL when nobody wants them. */
struct listen_figures *listener_turn(struct listener *listener);
void listener_tell(struct listener *listener);

/** Ends the thread; answers under way are cut. NULL is fine. */
void listener_close(struct listener *listener);

#endif
