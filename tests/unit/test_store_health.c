/* SPDX-License-Identifier: Apache-2.0 */
/* A database without room says so, until it takes as much again. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/store/store_completion.h"
#include "backend/store/store_health.h"
#include "backend/store/store_ingest.h"
#include "backend/store/store_statement.h"
#include "tests/support/capture.h"

#define SESSION "11111111-1111-4111-8111-111111111111"
#define LARGE   (1u << 20)

static struct store *store;
static struct capture said;

static gpufl_status put(size_t bytes)
{
    static const char line[] = "{\"type\":\"x\",\"session_id\":\"" SESSION "\"}\n";
    static char data[LARGE];
    struct lines lines;
    assert_true(lines_read(line, sizeof line - 1, SESSION, &lines));
    struct store_body body = {.session = SESSION,
                              .channel = "device",
                              .data = data,
                              .len = bytes,
                              .raw_len = bytes,
                              .lines = &lines,
                              .hostname = ""};
    gpufl_status status = store_add(store, &body);
    lines_fini(&lines);
    return status;
}

static void limit_to(unsigned pages)
{
    char text[64];
    snprintf(text, sizeof text, "PRAGMA max_page_count=%u", pages);
    assert_int_equal(sqlite3_exec(store->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static int store_set_up(void **state)
{
    char why[256];
    (void)state;
    return store_open(":memory:", &store, why) == GPUFL_OK ? 0 : -1;
}

static int store_tear_down(void **state)
{
    (void)state;
    store_close(store);
    return 0;
}

static void a_full_database_says_why_once(void **state)
{
    (void)state;
    assert_int_equal(put(1000), GPUFL_OK);
    assert_null(store_health_why(store));
    limit_to(100);
    capture_begin(&said);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put(LARGE), GPUFL_ERR_IO);
    }
    capture_end(&said);
    assert_true(store_health_is_full(store));
    assert_string_equal(store_health_why(store), "database or disk is full");
    assert_non_null(strstr(said.err, "error store.failing reason=\"database or disk is "
                                     "full\"\n"));
    assert_null(strstr(strchr(said.err, '\n'), "store."));
}

static void a_smaller_write_does_not_end_it(void **state)
{
    (void)state;
    limit_to(100);
    assert_int_equal(put(LARGE), GPUFL_ERR_IO);
    assert_int_equal(put(1000), GPUFL_OK);
    enum claim_verdict verdict;
    assert_int_equal(
        store_claim(store, &(struct store_claim){.session = SESSION}, &verdict),
        GPUFL_OK);
    assert_non_null(store_health_why(store));
    limit_to(10000);
    capture_begin(&said);
    assert_int_equal(put(LARGE), GPUFL_OK);
    capture_end(&said);
    assert_null(store_health_why(store));
    assert_false(store_health_is_full(store));
    assert_non_null(strstr(said.err, "info store.works after_ms="));
}

static void who_asks_makes_it_try_again(void **state)
{
    (void)state;
    limit_to(100);
    assert_int_equal(put(LARGE), GPUFL_ERR_IO);
    assert_non_null(store_health_ask(store));
    limit_to(10000);
    assert_non_null(store_health_ask(store)); /* not twice in a second */
    store->health.asked_ms = 0;
    assert_null(store_health_ask(store));
}

static void other_failures_are_no_lack_of_room(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_exec(store->db, "PRAGMA query_only=1", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(put(1000), GPUFL_ERR_IO);
    assert_false(store_health_is_full(store));
    assert_string_equal(store_health_why(store), "attempt to write a readonly database");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_database_says_why_once, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(a_smaller_write_does_not_end_it, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(who_asks_makes_it_try_again, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(other_failures_are_no_lack_of_room, store_set_up,
                                        store_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
