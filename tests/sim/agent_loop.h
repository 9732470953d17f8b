/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent's loop does beside the turns of its engine, by the agent's own code: in
 * the worlds of plans that ask for it. */
#ifndef GPUFL_TESTS_SIM_AGENT_LOOP_H
#define GPUFL_TESTS_SIM_AGENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/loop_state.h"

#define AGENT_LOOP_MS 500u /* between two looks */

struct agent_loop {
    struct options options;
    struct loop loop;
    uint64_t look_ms;
};

/** Has Landlock confine this process. */
gpufl_status agent_loop_confine(struct agent_loop *a, const char *folder,
                                const char *state_dir, char why[512]);
/** Adds the folder to \p engine, or waits for it. */
gpufl_status agent_loop_open(struct agent_loop *a, struct engine *engine,
                             const struct log *log, char why[512]);
/** Looks whether it has come. */
void agent_loop_look(struct agent_loop *a);
void agent_loop_close(struct agent_loop *a);

/** \return true if it ends now, as with --exit-when-drained; \p status: with which one.
 */
bool agent_loop_ends(struct agent_loop *a, struct engine *engine, const struct log *log,
                     int *status);

#endif
