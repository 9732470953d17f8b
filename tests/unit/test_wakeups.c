/* SPDX-License-Identifier: Apache-2.0 */
/* Polling in place of a watch that the kernel refused, and its end. */
#include "tests/support/check.h"

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/engine/wakeups.h"

#define HOUR_MS 3600000u
#define POLL_MS 1000u

static uint64_t wakeups_acked(struct rig *rig, uint64_t ms)
{
    rig_run(rig, ms, false);
    return rig_summary(rig).lines_acked;
}

/* The agent says in each turn which of the two it is. */
static void polling_ends_once_there_are_watches_again(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->config.rescan_interval_ms = HOUR_MS;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    rig_start(rig);
    assert_int_equal(wakeups_acked(rig, 20000), 1);
    live_line(&s, "device", "x", 2);
    assert_int_equal(wakeups_acked(rig, 20000), 1); /* nothing tells of it */
    for (int round = 0; round < 2; round++) {
        uint64_t before = wakeups_acked(rig, 0);
        for (int turn = 0; turn < 3; turn++) {
            engine_poll(rig->engine, POLL_MS);
            live_line(&s, "device", "x", 3 + turn);
            assert_int_equal(wakeups_acked(rig, 3 * POLL_MS),
                             before + (unsigned)turn + 1 + (round == 0));
        }
        before = wakeups_acked(rig, 0);
        live_line(&s, "device", "x", 6); /* while it ended */
        engine_poll_end(rig->engine);
        engine_poll_end(rig->engine);
        assert_int_equal(wakeups_acked(rig, 20000), before + 1);
        live_line(&s, "device", "x", 7);
        assert_int_equal(wakeups_acked(rig, 20000), before + 1);
        assert_int_equal(wakeups_acked(rig, HOUR_MS), before + 2);
    }
    live_close(&s);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polling_ends_once_there_are_watches_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
