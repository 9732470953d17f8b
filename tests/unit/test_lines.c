/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend takes from a batch. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "backend/lines.h"

#define L(type, more) "{\"type\":\"" type "\",\"session_id\":\"s\"" more "}\n"

static struct lines read_all(const char *text)
{
    struct lines out;
    assert_true(lines_read(text, strlen(text), "s", &out));
    return out;
}

static void good_lines_are_stored_as_they_came(void **state)
{
    (void)state;
    struct lines l = read_all(L("job_start", ",\"app\":\"a\",\"ts_ns\":5") L(
        "scope_event_batch", "") L("shutdown", ",\"ts_ns\":9"));
    assert_null(l.kept);
    assert_int_equal(l.accepted, 3);
    assert_string_equal(l.channel, "scope");
    assert_string_equal(l.digest.session.app, "a");
    assert_int_equal(l.digest.session.start_ns, 5);
    assert_int_equal(l.digest.session.shutdown_ns, 9);
    lines_fini(&l);
}

static void bad_lines_are_left_out_and_named(void **state)
{
    (void)state;
    struct lines l =
        read_all(L("x", "") "no json\n{\"type\":\"x\",\"session_id\":\"t\"}\n\n"
                            "{\"session_id\":\"s\"}\n" L("y", ""));
    assert_int_equal(l.accepted, 2);
    assert_int_equal(l.rejected, 4);
    assert_int_equal(l.error[0].line, 2);
    assert_int_equal(l.kept_len, strlen(L("x", "") L("y", "")));
    assert_memory_equal(l.kept, L("x", "") L("y", ""), l.kept_len);
    lines_fini(&l);
}

static void a_missing_last_newline_is_added(void **state)
{
    (void)state;
    static const char text[] = L("x", "");
    struct lines l;
    assert_true(lines_read(text, sizeof text - 2, "s", &l));
    assert_int_equal(l.kept_len, sizeof text - 1);
    assert_memory_equal(l.kept, text, l.kept_len);
    lines_fini(&l);
}

static void what_is_stored_is_digested(void **state)
{
    (void)state;
    struct lines l = read_all(
        L("host_metric_batch", ",\"base_time_ns\":7,\"columns\":[\"dt_ns\","
                               "\"cpu_pct_x100\"],\"rows\":[[0,1250]]")
            L("job_start",
              ",\"app\":\"a\"") "{\"type\":\"host_metric_batch\",\"session_id\":"
                                "\"t\",\"columns\":[\"dt_ns\"],\"rows\":[[0]]}\n");
    assert_int_equal(l.digest.tables, 1); /* not what was rejected */
    assert_int_equal(l.digest.newest_ns, 7);
    assert_non_null(strstr(l.digest.text[TEXT_START], "\"app\":\"a\"}"));
    lines_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines_are_stored_as_they_came),
        cmocka_unit_test(bad_lines_are_left_out_and_named),
        cmocka_unit_test(a_missing_last_newline_is_added),
        cmocka_unit_test(what_is_stored_is_digested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
