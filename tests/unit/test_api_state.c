/* SPDX-License-Identifier: Apache-2.0 */
/* What the stored lines of a session prove. */
#include "tests/support/check.h"

#include "backend/api/api_state.h"

#define NOW_MS INT64_C(1790000000000)

static void each_state_has_its_evidence(void **state)
{
    (void)state;
    static const struct {
        bool complete;
        int64_t shutdown_ns;
        uint64_t missing;
        int64_t age_ms;
        const char *want;
        int64_t told_age_ms; /* 0 = a sender never told that it lives */
    } row[] = {
        {false, 0, 0, 0, "live", 0},
        {false, 0, 3, 179999, "live", 0}, /* may be in flight */
        {false, 5, 0, 179999, "live", 0}, /* other channels may follow */
        {false, 0, 0, -179999, "live", 0},
        {false, 0, 0, 180000, "silent", 0},
        {false, 0, 0, -180000, "silent", 0}, /* the clock was set back */
        {false, 0, 1, 180000, "gap", 0},
        {false, 5, 1, 180000, "gap", 0},
        {false, 5, 0, 180000, "not_complete", 0},
        {true, 5, 0, 0, "complete", 0},
        {true, 5, 0, 86400000, "complete", 0},
        {true, 0, 0, 0, "ended_without_shutdown", 0}, /* killed, and all of it was sent */
        {true, 5, 1, 0, "gap", 0},
        {true, 0, 1, 0, "gap", 0},
        {false, 0, 0, 86400000, "live", 179999}, /* its sender sees that it lives */
        {false, 5, 0, 86400000, "live", 60000},
        {false, 0, 0, 86400000, "silent", 180000},
        {false, 0, 0, 86400000, "silent", -180000},
        {true, 0, 0, 86400000, "ended_without_shutdown", 1000}, /* it was told before */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct store_session session = {
            .complete = row[i].complete,
            .shutdown_ns = row[i].shutdown_ns,
            .missing = row[i].missing,
            .last_seen_ms = NOW_MS - row[i].age_ms,
            .told_ms = row[i].told_age_ms ? NOW_MS - row[i].told_age_ms : 0};
        assert_string_equal(api_state(&session, NOW_MS), row[i].want);
    }
}

static void what_ended_with_losses_is_neither_live_nor_complete(void **state)
{
    (void)state;
    struct store_session s = {.ended = true, .last_seen_ms = NOW_MS};
    assert_string_equal(api_state(&s, NOW_MS), "ended_with_losses");
    s.shutdown_ns = 5;
    s.last_seen_ms = 0;
    assert_string_equal(api_state(&s, NOW_MS), "ended_with_losses");
    s.missing = 1;
    assert_string_equal(api_state(&s, NOW_MS), "gap");
}

static void what_lives_without_lines_says_since_when(void **state)
{
    (void)state;
    struct store_session s = {.last_seen_ms = NOW_MS - 14999};
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), 0);
    s.last_seen_ms = NOW_MS - 15000;
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), NOW_MS - 15000);
    s.told_ms = NOW_MS - 1000; /* what was written since is held at the sender */
    s.last_byte_ms = NOW_MS - 7000;
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), NOW_MS - 7000);
    s.last_seen_ms = NOW_MS - 500;
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), 0);
    s.last_seen_ms = s.told_ms = NOW_MS - 180000; /* nobody knows */
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), 0);
    s.told_ms = NOW_MS;
    s.complete = true;
    assert_int_equal(api_silent_since_ms(&s, NOW_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_evidence),
        cmocka_unit_test(what_ended_with_losses_is_neither_live_nor_complete),
        cmocka_unit_test(what_lives_without_lines_says_since_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
