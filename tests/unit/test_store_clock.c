/* SPDX-License-Identifier: Apache-2.0 */
/* How long ago sessions were heard of, though the clock of the day is set. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "backend/store/retention.h"
#include "backend/store/store_clock.h"
#include "backend/store/store_statement.h"
#include "tests/support/dirs.h"

#define DAY_MS   86400000ll
#define NOW_MS   1790000000000ll
#define BOOT_MS  5000000ll
#define EARLY_MS 10000000ll /* of a host that has no clock of its own */

static struct store *store;

static void follow(int64_t wall_ms, int64_t steady_ms)
{
    assert_int_equal(store_follow_clock(store, wall_ms, steady_ms), GPUFL_OK);
}

static void heard(int64_t id, int64_t ms)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "INSERT OR REPLACE INTO session(id, sid, first_seen_ms, last_seen_ms)"
             " VALUES(%lld, 's%lld', %lld, %lld)",
             (long long)id, (long long)id, (long long)ms, (long long)ms);
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static int64_t heard_of(int64_t id)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT last_seen_ms FROM session WHERE id = %lld",
             (long long)id);
    return number(sql);
}

static void run_sql(const char *sql)
{
    assert_int_equal(sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static char *folder;

static int open_store(void **state)
{
    char path[512], why[256];
    (void)state;
    folder = folder ? folder : dirs_make();
    snprintf(path, sizeof path, "%s/backend.db", folder);
    return store_open(path, &store, why) == GPUFL_OK ? 0 : -1;
}

static void start_again(void)
{
    store_close(store);
    assert_int_equal(open_store(NULL), 0);
}

static int close_store(void **state)
{
    (void)state;
    store_close(store);
    dirs_remove(folder);
    folder = NULL;
    return 0;
}

/* By years, for a moment. */
static void a_clock_that_is_set_makes_no_session_older(void **state)
{
    (void)state;
    heard(1, NOW_MS - 5 * DAY_MS);
    follow(NOW_MS, BOOT_MS);
    heard(2, NOW_MS + 1000);
    follow(NOW_MS + 4000 * DAY_MS, BOOT_MS + 2000);
    assert_int_equal(heard_of(1), NOW_MS + 3995 * DAY_MS - 2000);
    assert_int_equal(heard_of(2), NOW_MS + 4000 * DAY_MS - 1000);
    heard(3, NOW_MS + 4000 * DAY_MS + 500);
    follow(NOW_MS + 3000, BOOT_MS + 3000);
    assert_int_equal(heard_of(1), NOW_MS - 5 * DAY_MS);
    assert_int_equal(heard_of(2), NOW_MS + 1000);
    assert_int_equal(heard_of(3), NOW_MS + 2500);
}

static void nor_does_one_that_is_set_back_keep_any_for_longer(void **state)
{
    (void)state;
    static const struct retention week = {.days = 7};
    follow(NOW_MS, BOOT_MS);
    heard(1, NOW_MS - 20 * DAY_MS);
    heard(2, NOW_MS - DAY_MS);
    follow(NOW_MS - 10 * DAY_MS, BOOT_MS);
    assert_int_equal(heard_of(1), NOW_MS - 20 * DAY_MS); /* a time that is past */
    assert_int_equal(heard_of(2), NOW_MS - 11 * DAY_MS);
    assert_true(retention_is_over(&week, heard_of(2), NOW_MS - 3 * DAY_MS));
}

static void what_was_heard_before_the_clock_was_set_first_is_not_old(void **state)
{
    (void)state;
    heard(1, NOW_MS - DAY_MS); /* in an earlier run */
    follow(EARLY_MS, BOOT_MS);
    heard(2, EARLY_MS + 1000);
    follow(EARLY_MS + 60000, BOOT_MS + 60000);
    follow(NOW_MS, BOOT_MS + 61000);
    assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
    assert_int_equal(heard_of(2), NOW_MS - 60000);
}

/* As one that has lost its battery does. */
static void a_clock_that_shows_no_time_moves_nothing(void **state)
{
    (void)state;
    heard(1, NOW_MS - DAY_MS);
    follow(NOW_MS, BOOT_MS);
    follow(EARLY_MS, BOOT_MS + 1000);
    assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
    heard(2, EARLY_MS + 1000);
    follow(NOW_MS + 3000, BOOT_MS + 3000);
    assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
    assert_int_equal(heard_of(2), NOW_MS + 2000);
}

static void a_correction_of_seconds_moves_nothing(void **state)
{
    (void)state;
    heard(1, NOW_MS - DAY_MS);
    for (int i = 0; i < 10; i++) {
        follow(NOW_MS + i * 30000, BOOT_MS);
    }
    assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
}

/* Each time, a session was heard a minute before. */
static void a_clock_that_is_set_between_two_starts_is_followed(void **state)
{
    (void)state;
    static const int64_t first_ms[] = {EARLY_MS, NOW_MS - 400 * DAY_MS,
                                       NOW_MS + 400 * DAY_MS, NOW_MS};
    for (int i = 0; i < 4; i++) {
        run_sql("DELETE FROM clock");
        start_again();
        heard(1, NOW_MS - DAY_MS); /* in an earlier boot */
        follow(first_ms[i], BOOT_MS);
        heard(2, first_ms[i] + 1000);
        for (int k = 0; k < 2; k++) {
            start_again();
            follow(NOW_MS, BOOT_MS + 61000);
            assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
            assert_int_equal(heard_of(2), NOW_MS - 60000);
        }
    }
}

/* In another boot, nothing tells how long ago it was. */
static void what_an_earlier_boot_heard_without_a_time_counts_from_now(void **state)
{
    (void)state;
    heard(1, NOW_MS - DAY_MS);
    follow(EARLY_MS, BOOT_MS);
    heard(2, EARLY_MS + 5 * DAY_MS);
    run_sql("INSERT INTO alive VALUES(1, 1789990000000, 1789990000000),"
            " (2, 442000000, 442000000)");
    run_sql("UPDATE clock SET boot = 'another'");
    start_again();
    follow(EARLY_MS, BOOT_MS);
    heard(3, EARLY_MS + 1000);
    follow(NOW_MS, BOOT_MS + 2000);
    assert_int_equal(heard_of(1), NOW_MS - DAY_MS);
    assert_int_equal(heard_of(2), NOW_MS);
    assert_int_equal(heard_of(3), NOW_MS - 1000);
    assert_int_equal(number("SELECT sum(session) FROM alive"), 1);
    follow(NOW_MS + DAY_MS, BOOT_MS + 2000 + DAY_MS);
    assert_int_equal(heard_of(2), NOW_MS);
}

/* What it showed before was right: only what came since is moved by more. */
static void a_clock_that_was_lost_and_is_set_otherwise_moves_each_once(void **state)
{
    (void)state;
    heard(1, NOW_MS - DAY_MS);
    follow(NOW_MS, BOOT_MS);
    follow(EARLY_MS, BOOT_MS + 1000);
    heard(2, EARLY_MS + 1000);
    start_again();
    follow(NOW_MS + 2 * DAY_MS, BOOT_MS + 3 * 3600000);
    assert_int_equal(heard_of(1), NOW_MS + DAY_MS - 3 * 3600000);
    assert_int_equal(heard_of(2), NOW_MS + 2 * DAY_MS - 3 * 3600000 + 2000);
}

#define CLOCK_TEST(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK_TEST(a_clock_that_is_set_makes_no_session_older),
        CLOCK_TEST(nor_does_one_that_is_set_back_keep_any_for_longer),
        CLOCK_TEST(what_was_heard_before_the_clock_was_set_first_is_not_old),
        CLOCK_TEST(a_clock_that_shows_no_time_moves_nothing),
        CLOCK_TEST(a_correction_of_seconds_moves_nothing),
        CLOCK_TEST(a_clock_that_is_set_between_two_starts_is_followed),
        CLOCK_TEST(what_an_earlier_boot_heard_without_a_time_counts_from_now),
        CLOCK_TEST(a_clock_that_was_lost_and_is_set_otherwise_moves_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
