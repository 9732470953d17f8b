/* SPDX-License-Identifier: Apache-2.0 */
/* Calls what the agent's loop calls. */
#include "tests/sim/agent_loop.h"

#include "agent/loop_report.h"
#include "tests/sim/kernel.h"

#define LOOKS 2u /* with nothing left: the second one after all was listed again */

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
