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
    } row[] = {
        {false, 0, 0, 0, "live"},
        {false, 0, 3, 14999, "live"}, /* may be in flight */
        {false, 5, 0, 14999, "live"}, /* other channels may follow */
        {false, 0, 0, -14999, "live"},
        {false, 0, 0, 15000, "silent"},
        {false, 0, 0, -15000, "silent"}, /* the clock was set back */
        {false, 0, 1, 15000, "gap"},
        {false, 5, 1, 15000, "gap"},
        {false, 5, 0, 15000, "not_complete"},
        {true, 5, 0, 0, "complete"},
        {true, 5, 0, 86400000, "complete"},
        {true, 0, 0, 0, "ended_without_shutdown"}, /* killed, and all of it was sent */
        {true, 5, 1, 0, "gap"},
        {true, 0, 1, 0, "gap"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct store_session session = {.complete = row[i].complete,
                                        .shutdown_ns = row[i].shutdown_ns,
                                        .missing = row[i].missing,
                                        .last_seen_ms = NOW_MS - row[i].age_ms};
        assert_string_equal(api_state(&session, NOW_MS), row[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_evidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
