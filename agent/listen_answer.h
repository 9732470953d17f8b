/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the agent's endpoint. */
#ifndef GPUFL_AGENT_LISTEN_ANSWER_H
#define GPUFL_AGENT_LISTEN_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/listen_request.h"
#include "base/text.h"

/** The loop counts as hanging after this long without a turn. */
#define LISTEN_HANGS_MS 30000u

/** What only the loop knows. */
struct listen_figures {
    struct text metrics; /**< Prometheus text format */
    char not_ready[512]; /**< why not, "" = ready */
    char waits[160];     /**< while it is ready: what waits for a person, or "" */
};

/** What an answer depends on. */
struct listen_state {
    const struct listen_figures *figures;
    bool filled;        /**< the loop has filled in the figures at least once */
    uint64_t silent_ms; /**< since the loop's last turn */
};

/** Writes the whole HTTP response for \p route to \p out. */
void listen_answer(enum listen_route route, const struct listen_state *state,
                   struct text *out);

#endif
