/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were given up and come back: they are not sent, and that is said once. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/resolve/resolve.h"

static unsigned said;
static char last_said[400];

static void log_count(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "session.returned")) {
        said++;
        snprintf(last_said, sizeof last_said, "%s", line);
    }
}

static const struct log counting = {.level = LOG_AT_WARN, .write = log_count};

static void file_is_renamed(const struct live_session *s, const char *from,
                            const char *to)
{
    char old[600];
    char new[600];
    snprintf(old, sizeof old, "%s/%s", s->dir, from);
    snprintf(new, sizeof new, "%s/%s", s->dir, to);
    assert_int_equal(rename(old, new), 0);
}

static void again(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
}

static void give_up(struct rig *rig)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, NULL, &result);
    assert_int_equal(result.given_up, 1);
    rig_run(rig, 20000, false);
}

/* Files 1 to 5 of "device" with a line each, and an active one. */
static struct rig *rig_with_files(struct live_session *s)
{
    struct rig *rig = rig_new();
    said = 0;
    rig->config.log = &counting;
    live_open(s, rig->root, RIG_ID);
    for (int i = 1; i <= 5; i++) {
        live_line(s, "device", i == 1 ? "job_start" : "x", i);
        live_rotate(s, "device", (unsigned)i);
    }
    live_line(s, "device", "x", 6);
    return rig;
}

/* The writer lives or has ended; file 2 is gone, and given up. */
static struct rig *rig_without_second(struct live_session *s, bool ended)
{
    struct rig *rig = rig_with_files(s);
    file_is_renamed(s, "device.2.log", "kept");
    if (ended) {
        live_line(s, "device", "shutdown", 7);
        live_close(s);
    }
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    give_up(rig);
    assert_int_equal(rig_summary(rig).sessions_done, ended);
    assert_int_equal(rig_summary(rig).lines_acked, ended ? 6 : 5);
    return rig;
}

static void it_is_said_once_and_nothing_else_happens(struct rig *rig, bool ended,
                                                     unsigned requests)
{
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    assert_non_null(strstr(last_said, "session=" RIG_ID " channel=device file=2 "));
    again(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), requests);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), ended);
    assert_int_equal(rig_summary(rig).sessions_done, ended);
}

static void a_file_that_comes_back_is_said_once(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct live_session s;
        struct rig *rig = rig_without_second(&s, ended);
        unsigned requests = rig_count(rig, TRANSPORT_BATCH);
        rig_run(rig, 700000, false);
        assert_int_equal(said, 0);
        file_is_renamed(&s, "kept", "device.2.log");
        it_is_said_once_and_nothing_else_happens(rig, ended, requests);
        if (!ended) {
            live_close(&s);
        }
        rig_delete(rig);
    }
}

static void it_is_said_after_a_restart(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct live_session s;
        struct rig *rig = rig_without_second(&s, ended);
        unsigned requests = rig_count(rig, TRANSPORT_BATCH);
        again(rig); /* the journal is rewritten */
        rig_run(rig, 20000, false);
        rig_stop(rig);
        file_is_renamed(&s, "kept", "device.2.log");
        rig_start(rig);
        it_is_said_once_and_nothing_else_happens(rig, ended, requests);
        if (!ended) {
            live_close(&s);
        }
        rig_delete(rig);
    }
}

/* As a tool does that compresses rotated files. */
static void a_file_that_comes_back_compressed_is_said(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_without_second(&s, true);
    file_is_renamed(&s, "kept", "device.2.log.gz");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    rig_delete(rig);
}

static void each_file_of_a_gap_is_said(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_files(&s);
    file_is_renamed(&s, "device.2.log", "two");
    file_is_renamed(&s, "device.3.log", "three");
    file_is_renamed(&s, "device.4.log", "four");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    give_up(rig);
    file_is_renamed(&s, "three", "device.3.log");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    assert_non_null(strstr(last_said, "file=3"));
    again(rig);
    file_is_renamed(&s, "two", "device.2.log");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 2);
    assert_non_null(strstr(last_said, "file=2"));
    file_is_renamed(&s, "four", "device.4.log");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 3);
    rig_delete(rig);
}

/* The active file was given up, was not made again, and a later one was. */
static void a_file_that_was_to_be_the_next_one_is_said(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_files(&s);
    file_is_renamed(&s, "device.log", "kept");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    give_up(rig);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    live_line(&s, "device", "x", 7);
    live_rotate(&s, "device", 7);
    live_line(&s, "device", "x", 8);
    rig_run(rig, 700000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 7);
    assert_int_equal(said, 0);
    again(rig);
    file_is_renamed(&s, "kept", "device.6.log");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    assert_non_null(strstr(last_said, "file=6"));
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).lines_acked, 0);
    rig_delete(rig);
}

/* What is in its place was seen when it was given up. */
static void what_could_not_be_read_is_said_once_it_can(void **state)
{
    (void)state;
    struct live_session s;
    char path[600];
    struct rig *rig = rig_with_files(&s);
    file_is_renamed(&s, "device.2.log", "kept");
    snprintf(path, sizeof path, "%s/device.2.log", s.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, NULL, &result);
    assert_int_equal(result.given_up, 2); /* and a file that is not read */
    rig_run(rig, 700000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(said, 0);
    assert_int_equal(rmdir(path), 0);
    file_is_renamed(&s, "kept", "device.2.log");
    rig_run(rig, 700000, false);
    assert_int_equal(said, 1);
    rig_delete(rig);
}

static void what_is_sent_again_is_not_given_up_any_more(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_without_second(&s, true);
    rig_stop(rig);
    file_is_renamed(&s, "kept", "device.2.log");
    rig->config.force = true;
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    rig->config.force = false;
    rig_start(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(said, 0);
    rig_delete(rig);
}

/* A backend that knows positions takes nothing in place of what it was told to be lost;
 * behind its end it does. */
static void a_loss_is_final_and_what_is_behind_the_end_is_sent(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_with_files(&s));
    file_is_renamed(&s, "device.2.log", "two");
    file_is_renamed(&s, "device.log", "last");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    give_up(rig);
    give_up(rig);
    assert_int_equal(rig_summary(rig).sessions_lacking, 1);
    rig_stop(rig);
    file_is_renamed(&s, "two", "device.2.log");
    file_is_renamed(&s, "last", "device.log");
    rig->config.force = true;
    rig_start(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(rig_summary(rig).held_exit, HELD_EXIT_MEND);
    rig_stop(rig);
    rig->config.force = false;
    rig_start(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(rig_summary(rig).sessions_lacking, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(said, 1);
    assert_non_null(strstr(last_said, "file=2 "));
    assert_non_null(strstr(last_said, "takes it no more"));
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_comes_back_is_said_once),
        cmocka_unit_test(it_is_said_after_a_restart),
        cmocka_unit_test(a_file_that_comes_back_compressed_is_said),
        cmocka_unit_test(each_file_of_a_gap_is_said),
        cmocka_unit_test(a_file_that_was_to_be_the_next_one_is_said),
        cmocka_unit_test(what_could_not_be_read_is_said_once_it_can),
        cmocka_unit_test(what_is_sent_again_is_not_given_up_any_more),
        cmocka_unit_test(a_loss_is_final_and_what_is_behind_the_end_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
