/* SPDX-License-Identifier: Apache-2.0 */
/* The backend is in another epoch: all that is complete is claimed again, few at a time.
 */
#include "tests/support/check.h"

#include <stdio.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"

#define MANY       200u
#define AT_ONCE    64u
#define MINUTES_MS (60ull * 1000)

static void start_backend_again(struct rig *rig)
{
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
}

/* All are complete, and the backend was restored from a backup that has them all. */
static struct rig *rig_with_many(void)
{
    struct rig *rig = rig_positions_on(rig_new());
    ended_make(rig->root, 0, MANY);
    rig_start(rig);
    rig_run(rig, 30 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, MANY);
    start_backend_again(rig);
    return rig;
}

/* \return how many sessions were open at most. */
static unsigned run_and_count(struct rig *rig, uint64_t ms)
{
    unsigned most = 0;
    for (uint64_t end = rig_now_ms() + ms; rig_now_ms() < end;) {
        rig_run(rig, 100, false);
        unsigned open = ended_root(rig)->by_path.count;
        most = open > most ? open : most;
    }
    return most;
}

/* Each open one takes several times the memory. */
static void complete_sessions_are_claimed_again_few_at_a_time(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_with_many();
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        rig->answer_ms = 10000; /* listings come in between */
        unsigned before = rig_count(rig, TRANSPORT_COMPLETE);
        unsigned most = run_and_count(rig, 20 * MINUTES_MS);
        assert_in_range(most, AT_ONCE / 2, AT_ONCE);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE) - before, MANY);
        assert_int_equal(rig_summary(rig).sessions_done, MANY);
        rig_delete(rig);
    }
}

/* It was not there while all others were claimed. */
static void one_that_comes_back_is_claimed_again(void **state)
{
    (void)state;
    char id[40];
    char from[700];
    char to[700];
    struct rig *rig = rig_positions_on(rig_new());
    ended_make(rig->root, 0, 3);
    ended_id(1, id);
    snprintf(from, sizeof from, "%s/%s", rig->root, id);
    snprintf(to, sizeof to, "%s.kept", rig->root);
    rig_start(rig);
    rig_run(rig, 30 * MINUTES_MS, false);
    assert_int_equal(rename(from, to), 0);
    rig_run(rig, 2 * MINUTES_MS, false);
    start_backend_again(rig);
    rig_run(rig, 30 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 5);
    assert_int_equal(rename(to, from), 0);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 6);
    assert_int_equal(rig_summary(rig).sessions_done, 3);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 6); /* once */
    rig_delete(rig);
}

/* Nothing is sent by which it could be seen. */
static void an_idle_uploader_asks_once_a_minute_which_epoch_it_is(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    ended_make(rig->root, 0, 3);
    rig_start(rig);
    rig_run(rig, 30 * MINUTES_MS, false);
    assert_in_range(rig_count(rig, TRANSPORT_PROBE), 29, 31);
    assert_int_equal(rig_summary(rig).sessions_done, 3);
    start_backend_again(rig);
    rig_positions_fini(&rig->positions);
    rig->positions.sessions = 0;
    rig_run(rig, 2 * MINUTES_MS, false);
    assert_int_equal(rig->positions.streams, 3);
    assert_int_equal(rig_summary(rig).sessions_done, 3);
    rig_delete(rig);
}

/* The backup has nothing of them, so all are sent again. */
static void what_a_backup_lacks_is_sent_again_few_at_a_time(void **state)
{
    (void)state;
    struct rig *rig = rig_with_many();
    rig_positions_fini(&rig->positions);
    rig->positions.sessions = 0;
    rig->answer_ms = 10000;
    unsigned most = run_and_count(rig, 60 * MINUTES_MS);
    assert_in_range(most, AT_ONCE / 2, AT_ONCE);
    assert_int_equal(rig_summary(rig).sessions_done, MANY);
    assert_int_equal(rig->positions.streams, MANY);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_sessions_are_claimed_again_few_at_a_time),
        cmocka_unit_test(one_that_comes_back_is_claimed_again),
        cmocka_unit_test(an_idle_uploader_asks_once_a_minute_which_epoch_it_is),
        cmocka_unit_test(what_a_backup_lacks_is_sent_again_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
