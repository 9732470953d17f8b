/* SPDX-License-Identifier: Apache-2.0 */
/* When a session is too old to keep. */
#include "tests/support/check.h"

#include "backend/store/retention.h"

#define DAY_MS 86400000ll

static void a_session_is_kept_for_its_days(void **state)
{
    (void)state;
    static const int64_t now_ms = 1790000000000;
    static const struct {
        unsigned days;
        int64_t last_seen_ms;
        bool over;
    } row[] = {
        {0, 0, false}, /* forever */
        {0, 1790000000000, false},
        {1, 1790000000000, false},
        {1, 1790000000000 - DAY_MS, false},
        {1, 1790000000000 - DAY_MS - 1, true},
        {7, 1790000000000 - 7 * DAY_MS, false},
        {7, 1790000000000 - 8 * DAY_MS, true},
        {36500, 0, false},                       /* days in ms need more than 32 bits */
        {7, 1790000000000 + 30 * DAY_MS, false}, /* the clock was set back */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct retention retention = {.days = row[i].days};
        assert_int_equal(retention_is_over(&retention, row[i].last_seen_ms, now_ms),
                         row[i].over);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_kept_for_its_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
