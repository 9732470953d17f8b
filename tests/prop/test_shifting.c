/* SPDX-License-Identifier: Apache-2.0 */
/* The 1.1 layout under the reader: a writer that renames, compresses and deletes, a step
 * at a time, between any two of the reader's opens. In the end the registry holds every
 * line once, in order. SEED=n repeats one run; ROUNDS=n runs more. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/pick.h"
#include "tests/support/rig.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "tests/support/shifting_writer.h"

#define STEPS 60

static unsigned in_between; /* of 100 opens so many find the writer a few steps further */

static int open_after_steps(int dir, const char *path, int flags, mode_t mode)
{
    if (in_between && pick(100) < in_between) {
        for (uint64_t n = pick(12) + 1;
             n > 0 && shifting_writer.rotations < SHIFTING_KEPT / 2; n--) {
            shifting_writer_step();
        }
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void start(struct rig *rig, struct sys *sys)
{
    rig_open(rig);
    memset(&shifting_writer, 0, sizeof shifting_writer);
    snprintf(shifting_writer.dir, sizeof shifting_writer.dir, "%s/" SHIFTING_ID,
             rig->root);
    mkdir(shifting_writer.dir, 0700);
    *sys = *rig->config.sys;
    sys->open_beneath = open_after_steps;
    rig->config.sys = sys;
    rig->config.max_requests_per_second = 0;
}

static void finish(struct rig *rig)
{
    rig_close(rig);
    free(shifting_writer.written);
}

static void settle(struct rig *rig)
{
    in_between = 0;
    shifting_writer.wants_end = true;
    while (shifting_writer.phase != SHIFTING_OVER) {
        shifting_writer_step();
    }
    rig->silent = false;
    engine_retry_now(rig->engine);
    engine_rescan(rig->engine);
    rig_run(rig, 3600 * 1000, true);
}

static void compare(struct rig *rig)
{
    char *stored = rig_stored(rig, SHIFTING_ID, SHIFTING_CHANNEL);
    size_t at = 0;
    while (stored[at] && stored[at] == shifting_writer.written[at]) {
        at++;
    }
    if (stored[at] != shifting_writer.written[at]) {
        fail_msg("differs at byte %zu of %zu\nstored:  %.150s\nwritten: %.150s", at,
                 shifting_writer.len, stored + (at < 60 ? 0 : at - 60),
                 shifting_writer.written + (at < 60 ? 0 : at - 60));
    }
    free(stored);
}

/* With positions, the journal may be lost, too, and the backend may go back. */
static void lose_something(struct rig *rig, struct rig_positions *backup)
{
    rig_stop(rig);
    if (!rig->positions.declared || pick(3) == 0) {
        rig_start(rig);
        return;
    }
    if (pick(2)) {
        rig_lose_journal(rig);
    }
    if (pick(4) == 0) {
        rig_positions_copy(backup, &rig->positions);
    } else if (pick(4) == 0 && backup->declared) {
        unsigned epoch = rig->positions.epoch + 1;
        rig_positions_copy(&rig->positions, backup);
        rig->positions.epoch = epoch;
    }
    rig_start(rig);
}

static void one_round(uint64_t seed, bool positions)
{
    static struct rig rig;
    struct sys sys;
    struct engine_summary s;
    struct rig_positions backup = {0};
    pick_seed(seed);
    start(&rig, &sys);
    if (positions) {
        rig_positions_on(&rig);
    }
    shifting_writer.compresses = pick(4) != 0;
    shifting_writer.alike = pick(2);
    for (uint64_t n = pick(200); n > 0; n--) {
        shifting_writer_step(); /* what the reader finds at first */
    }
    rig.config.max_batch_lines = (uint32_t)pick(10) + 1;
    rig.config.max_batch_bytes = 4096;
    rig_start(&rig);
    for (int i = 0; i < STEPS; i++) {
        in_between = (unsigned)pick(30);
        switch (pick(6)) {
        case 0:
            lose_something(&rig, &backup);
            break;
        case 1:
            rig.silent = !rig.silent;
            break;
        default:
            for (uint64_t n = pick(20);
                 n > 0 && shifting_writer.rotations < SHIFTING_KEPT / 2; n--) {
                shifting_writer_step();
            }
            rig_run(&rig, pick(30000), false);
            break;
        }
    }
    settle(&rig);
    compare(&rig);
    engine_summary(rig.engine, &s);
    assert_int_equal(s.sessions_done, 1);
    rig_positions_fini(&backup);
    finish(&rig);
}

static void rounds(bool positions)
{
    const char *seed = getenv("SEED");
    const char *many = getenv("ROUNDS");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t last = seed ? first : many ? strtoull(many, NULL, 10) : 30;
    for (uint64_t s = first; s <= last; s++) {
        printf("SEED=%llu\r", (unsigned long long)s);
        fflush(stdout);
        one_round(s, positions);
    }
    putchar('\n');
}

static void every_line_arrives_once_while_names_shift(void **state)
{
    (void)state;
    rounds(false);
}

static void by_positions_every_line_arrives_once_whatever_is_lost(void **state)
{
    (void)state;
    rounds(true);
}

/* More rotations than are kept, between two looks: what is left is sent, in order and
 * once, and the session is not reported complete. */
static void drop_some(bool positions)
{
    static struct rig rig;
    struct sys sys;
    struct engine_summary s;
    pick_seed(7);
    start(&rig, &sys);
    if (positions) {
        rig_positions_on(&rig);
    }
    in_between = 0;
    shifting_writer_line();
    rig_start(&rig);
    rig_run(&rig, 5000, false);
    char *before = rig_stored(&rig, SHIFTING_ID, SHIFTING_CHANNEL);
    assert_string_equal(before, shifting_writer.written);
    free(before);
    while (shifting_writer.rotations < SHIFTING_KEPT + 20 ||
           shifting_writer.phase != SHIFTING_WRITES) {
        shifting_writer_step();
    }
    settle(&rig);
    char *stored = rig_stored(&rig, SHIFTING_ID, SHIFTING_CHANNEL);
    size_t first = strcspn(stored, "\n") + 1;
    size_t rest = strlen(stored + first);
    assert_true(rest > 0 && rest < shifting_writer.len - first);
    assert_string_equal(stored + first,
                        shifting_writer.written + shifting_writer.len - rest);
    engine_summary(rig.engine, &s);
    assert_int_equal(s.sessions_done, 0);
    const struct rig_stream *st =
        rig_positions_stream(&rig.positions, SHIFTING_ID, SHIFTING_CHANNEL);
    assert_int_equal(st->end.losses, positions);
    free(stored);
    finish(&rig);
}

static void what_the_writer_dropped_is_said(void **state)
{
    (void)state;
    drop_some(false);
    drop_some(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_arrives_once_while_names_shift),
        cmocka_unit_test(by_positions_every_line_arrives_once_whatever_is_lost),
        cmocka_unit_test(what_the_writer_dropped_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
