/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans from seeds. A seed uses some kinds of faults and not the others: where all
 * happen at once, they hide each other. */
#include "tests/sim/plan.h"

#include <string.h>

#include "tests/support/pick.h"

static const struct {
    const char *text;
    unsigned weight;
    enum plan_feature feature;
} kinds[] = {
#define STEP_ROW_(id, text, weight, feature) {text, weight, FEATURE_##feature},
    STEP_KINDS(STEP_ROW_)};

const char *plan_step_text(enum step_kind kind)
{
    return kinds[kind].text;
}

static void make_world(struct plan_world *world)
{
    static const uint64_t rotate_bytes[] = {300, 1500, 6000, 1u << 20};
    static const uint64_t slowest_ms[] = {1, 1, 50, 5000};
    static const enum server_kind servers[] = {SERVER_POSITIONS, SERVER_POSITIONS,
                                               SERVER_WINDOWS, SERVER_NOTHING};
    *world = (struct plan_world){
        .server = servers[pick(sizeof servers / sizeof *servers)],
        .own_state = pick(2),
        .outside = pick(3) == 0,
        .jobs_max = 1 + (uint32_t)pick(pick(10) ? 3 : 12),
        .rotate_bytes = rotate_bytes[pick(4)],
        .batch_lines = pick(2) ? 1 + (uint32_t)pick(20) : 5000,
        .sync_ms = pick(slowest_ms[pick(4)]),
        .journal_bytes = pick(2) ? 2000 : 512u << 10,
        .flush_ms = pick(2) * 500,
        .settled_ms = pick(2) * 1000,
        .orphan_ms = pick(4) ? 0 : 1000 + pick(300000),
        .deletes = pick(3) ? DELETE_NEVER : DELETE_ALL,
        .compression = pick(2) ? COMPRESS_NONE : COMPRESS_AUTO,
    };
    world->far = world->own_state && pick(3) == 0;
    world->jobs_far = world->far && pick(2);
    world->old = pick(4) ? OLD_NONE : pick(2) ? OLD_WINDOWS : OLD_SHIFTING;
    world->same_heads = pick(3) == 0;
}

/* Rarely: these worlds take longer. */
static void crowd_world(struct plan_world *world, uint64_t which)
{
    world->more_agents = which % 3 != 1;
    world->more_uploads = which % 3 != 0;
    world->more_state = which / 3 % 2;
}

static enum step_kind one_kind(const bool on[FEATURES])
{
    unsigned sum = 0;
    for (unsigned k = 0; k < STEP_KINDS_COUNT; k++) {
        sum += on[kinds[k].feature] ? kinds[k].weight : 0;
    }
    unsigned at = (unsigned)pick(sum);
    for (unsigned k = 0;; k++) {
        unsigned weight = on[kinds[k].feature] ? kinds[k].weight : 0;
        if (at < weight) {
            return (enum step_kind)k;
        }
        at -= weight;
    }
}

void plan_make(struct plan *plan, uint64_t seed)
{
    bool on[FEATURES] = {true};
    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    pick_seed(seed);
    for (int i = 0; i < 20; i++) {
        pick(2); /* neighbours begin alike */
    }
    make_world(&plan->world);
    plan->world.all_old = plan->world.old != OLD_NONE && seed % 4 == 0;
    if (seed % 8 == 3) {
        crowd_world(&plan->world, seed / 8);
    }
    for (unsigned f = 1; f < FEATURES; f++) {
        on[f] = pick(3) == 0;
    }
    plan->steps = (unsigned)(5 + pick(pick(20) ? 50 : PLAN_STEPS_MAX - 5));
    for (unsigned i = 0; i < plan->steps; i++) {
        plan->step[i] = (struct step){.kind = one_kind(on),
                                      .who = (uint32_t)pick(1000),
                                      .a = (uint32_t)pick(1u << 30),
                                      .b = (uint32_t)pick(1u << 30),
                                      .salt = seed * PLAN_STEPS_MAX + i + 1};
    }
}
