/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the host that are asked for again at once. */
#include "tests/support/check.h"

#include "collector-lib/core/clock.h"
#include "collector-lib/sample/host.h"

static void a_figure_that_is_asked_for_again_at_once_stays(void **state)
{
    (void)state;
    struct host host;
    struct host_sample sample;
    int64_t now_ns;
    host_open(&host, "");
    do { /* it takes a processor meanwhile */
        now_ns = clock_mono_ns();
        sample = host_read(&host, now_ns);
    } while (sample.cpu_pct_x100 == 0);
    assert_int_equal(host_read(&host, now_ns).cpu_pct_x100, sample.cpu_pct_x100);
    assert_int_equal(host_read(&host, now_ns + 9999999).cpu_pct_x100,
                     sample.cpu_pct_x100);
    host_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_figure_that_is_asked_for_again_at_once_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
