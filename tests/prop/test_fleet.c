/* SPDX-License-Identifier: Apache-2.0 */
/* 200 agents, one backend, an outage of 60 s on a clock of the test's own: when it comes
 * back, no second has three times the requests of a usual one. SEED=n repeats a run. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/dirs.h"
#include "tests/support/pick.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"

#define AGENTS      200u
#define OUTAGE_AT_S 20u
#define OUTAGE_S    60u
#define END_S       130u
#define WARM_UP_S   5u

enum outage { REFUSED, BUSY_WITH_DELAY };

struct agent {
    struct rig *rig;
    struct live_session live;
    uint64_t due_ms;      /* its engine's next turn */
    uint64_t line_due_ms; /* its job's next line */
    uint64_t not_before_ms;
    int lines;
};

static struct agent agent[AGENTS];
static unsigned per_second[END_S + 1];
static enum outage kind;
static uint64_t start_ms;

static uint64_t second(void)
{
    return (rig_now_ms() - start_ms) / 1000;
}

static int backend(struct rig *rig, const struct rig_request *request)
{
    struct agent *a = &agent[rig->mark];
    bool down = second() >= OUTAGE_AT_S && second() < OUTAGE_AT_S + OUTAGE_S;
    (void)request;
    per_second[second()]++;
    if (rig_now_ms() < a->not_before_ms) {
        fail_msg("an agent came back %llu ms before it was told to",
                 (unsigned long long)(a->not_before_ms - rig_now_ms()));
    }
    rig->retry_after_ms = 0;
    if (!down) {
        return RIG_REGISTRY;
    }
    if (kind == REFUSED) {
        return 0;
    }
    rig->retry_after_ms = 7000;
    a->not_before_ms = rig_now_ms() + 7000;
    return 503;
}

static void open_agents(void)
{
    for (unsigned i = 0; i < AGENTS; i++) {
        char id[40];
        struct agent *a = &agent[i];
        *a = (struct agent){.rig = calloc(1, sizeof *a->rig)};
        assert_non_null(a->rig);
        rig_open(a->rig);
        a->rig->mark = (int)i;
        a->rig->answer = backend;
        a->rig->config.memory_state = true;
        snprintf(id, sizeof id, "%08u-1111-4111-8111-111111111111", i);
        live_open(&a->live, a->rig->root, id);
        live_line(&a->live, "scope", "x", a->lines++);
        rig_start(a->rig);
    }
    start_ms = rig_now_ms();
    for (unsigned i = 0; i < AGENTS; i++) {
        agent[i].due_ms = start_ms;
        agent[i].line_due_ms = start_ms + pick(1000);
    }
}

static void step(struct agent *a)
{
    uint64_t now_ms = rig_now_ms();
    if (a->line_due_ms <= now_ms) {
        live_line(&a->live, "scope", "x", a->lines++);
        engine_touch(a->rig->engine, 0, a->live.id);
        a->line_due_ms += 1000;
        a->due_ms = now_ms;
    }
    if (a->due_ms <= now_ms) {
        uint64_t wait = engine_turn(a->rig->engine);
        a->due_ms = wait == ENGINE_FOREVER ? UINT64_MAX : now_ms + (wait ? wait : 1);
    }
}

static void run(void)
{
    memset(per_second, 0, sizeof per_second);
    open_agents();
    while (second() < END_S) {
        uint64_t next = UINT64_MAX;
        for (unsigned i = 0; i < AGENTS; i++) {
            struct agent *a = &agent[i];
            step(a);
            next = a->due_ms < next ? a->due_ms : next;
            next = a->line_due_ms < next ? a->line_due_ms : next;
        }
        rig_advance_ms(next > rig_now_ms() ? next - rig_now_ms() : 1);
    }
}

static void check_and_close(void)
{
    unsigned usual = 0;
    unsigned worst = 0;
    unsigned worst_at = 0;
    for (unsigned s = WARM_UP_S; s < OUTAGE_AT_S; s++) {
        usual += per_second[s];
    }
    usual /= OUTAGE_AT_S - WARM_UP_S;
    for (unsigned s = OUTAGE_AT_S; s < END_S; s++) {
        if (per_second[s] > worst) {
            worst = per_second[s];
            worst_at = s;
        }
    }
    fprintf(stderr, "%u requests in a usual second, %u at most (second %u)\n", usual,
            worst, worst_at);
    assert_true(usual >= AGENTS / 2);
    assert_true(worst < 3 * usual);
    for (unsigned i = 0; i < AGENTS; i++) {
        struct agent *a = &agent[i];
        char *stored = rig_stored(a->rig, a->live.id, "scope");
        unsigned lines = 0;
        for (const char *at = stored; (at = strchr(at, '\n')); at++) {
            lines++;
        }
        assert_true(lines + 2 >= (unsigned)a->lines); /* but for those of just now */
        free(stored);
        live_close(&a->live);
        rig_close(a->rig);
        free(a->rig);
    }
}

static void an_outage(enum outage what)
{
    const char *seed = getenv("SEED");
    uint64_t number = seed ? strtoull(seed, NULL, 10) : 1;
    fprintf(stderr, "SEED=%llu\n", (unsigned long long)number);
    pick_seed(number);
    kind = what;
    run();
    check_and_close();
}

static void after_refused_connections_nobody_storms(void **state)
{
    (void)state;
    an_outage(REFUSED);
}

static void after_503_with_a_delay_nobody_storms(void **state)
{
    (void)state;
    an_outage(BUSY_WITH_DELAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_refused_connections_nobody_storms),
        cmocka_unit_test(after_503_with_a_delay_nobody_storms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
