/* SPDX-License-Identifier: Apache-2.0 */
/* Calls what the agent's loop calls. */
#include "tests/sim/agent_loop.h"

#include <stdlib.h>
#include <string.h>

#include "agent/confine.h"
#include "agent/loop_folders.h"
#include "agent/loop_report.h"
#include "schema/channels.h"
#include "tests/sim/kernel.h"

#define LOOKS 2u /* with nothing left: the second one after all was listed again */

gpufl_status agent_loop_confine(struct agent_loop *a, const char *folder,
                                const char *state_dir, char why[512])
{
    a->options = (struct options){.folder = strdup(folder),
                                  .state_dir = state_dir ? strdup(state_dir) : NULL,
                                  .log_types = strdup(CHANNEL_LIST),
                                  .landlock = CONFINE_REQUIRE};
    return confine(&a->options, STATE_MAKE, why);
}

gpufl_status agent_loop_open(struct agent_loop *a, struct engine *engine,
                             const struct log *log, char why[512])
{
    a->loop = (struct loop){.options = &a->options, .engine = engine, .log = *log};
    gpufl_status status = loop_add_folders(&a->loop, a->options.folder, why);
    a->loop.running = true;
    return status;
}

void agent_loop_look(struct agent_loop *a)
{
    if (a->loop.missing) {
        loop_find_missing_folders(&a->loop, sys_real.now_ms());
    }
}

void agent_loop_close(struct agent_loop *a)
{
    free(a->options.folder);
    free(a->options.state_dir);
    free(a->options.log_types);
    free(a->loop.missing);
    free(a->loop.served);
    free(a->loop.refused);
    *a = (struct agent_loop){0};
}

bool agent_loop_ends(struct agent_loop *a, struct engine *engine, const struct log *log,
                     int *status)
{
    struct engine_summary s;
    if (kernel.now_ms < a->look_ms) {
        return false;
    }
    a->look_ms = kernel.now_ms + AGENT_LOOP_MS;
    a->options.exit_when_drained = true;
    a->loop.options = &a->options;
    a->loop.engine = engine;
    a->loop.log = *log;
    engine_summary(engine, &s);
    bool drained = s.sessions && !s.sessions_live && engine_drained(engine);
    a->loop.drained_checks = drained ? a->loop.drained_checks + 1 : 0;
    if (a->loop.drained_checks == 1) {
        engine_rescan(engine);
    }
    bool ends = a->loop.drained_checks >= LOOKS;
    *status = ends ? loop_end(&a->loop) : 0;
    return ends;
}
