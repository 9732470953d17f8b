/* SPDX-License-Identifier: Apache-2.0 */
/* Runs worlds, and shrinks plans: by halves, quarters and so on down to single steps,
 * again until nothing can be removed. */
#include "tests/sim/shrink.h"

#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "tests/sim/history.h"
#include "tests/sim/oracle.h"
#include "tests/sim/world.h"

#define WORLDS_MAX 4000u
#define WORLD_S    20 /* then its process ends: a loop within a call */

/* By processor time: a busy machine is no failure. */
static void limit_time(long s)
{
    const struct itimerval limit = {.it_value.tv_sec = s};
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

void shrink_run(const struct plan *plan, enum history_use use, struct outcome *out)
{
    static struct world world;
    const char *detail;
    limit_time(WORLD_S);
    history_begin(use);
    world_begin(&world, plan);
    for (unsigned i = 0; i < plan->steps && !history_failure(&detail); i++) {
        steps_do(&world, &plan->step[i]);
    }
    if (!history_failure(&detail)) {
        oracle_judge_time(&world);
        world_settle(&world);
    }
    if (!history_failure(&detail)) {
        oracle_judge(&world);
    }
    out->hash = history_hash();
    out->kind = history_failure(&detail);
    snprintf(out->detail, sizeof out->detail, "%s", detail);
    world_end(&world);
    limit_time(0);
}

static bool still_fails(const struct plan *plan, const char *kind)
{
    struct outcome outcome;
    shrink_run(plan, HISTORY_NONE, &outcome);
    return outcome.kind && strcmp(outcome.kind, kind) == 0;
}

static void without(struct plan *to, const struct plan *from, unsigned at, unsigned count)
{
    *to = *from;
    to->steps = from->steps - count;
    memmove(&to->step[at], &from->step[at + count],
            (from->steps - at - count) * sizeof *to->step);
}

unsigned shrink_plan(struct plan *plan, const char *kind)
{
    static struct plan shorter;
    unsigned worlds = 0;
    for (bool again = true; again && worlds < WORLDS_MAX;) {
        again = false;
        for (unsigned size = plan->steps; size >= 1; size /= 2) {
            for (unsigned at = 0; at + size <= plan->steps && worlds < WORLDS_MAX;) {
                without(&shorter, plan, at, size);
                worlds++;
                if (still_fails(&shorter, kind)) {
                    *plan = shorter;
                    again = true;
                } else {
                    at += size;
                }
            }
        }
    }
    return worlds;
}
