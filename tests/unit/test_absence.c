/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that are away for a while: nothing of them is forgotten, and when they are
 * back they go on where they were. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/absence.h"
#include "upload/core/session.h"
#include "upload/journal/journal_read.h"
#include "upload/upload_result.h"

#define MINUTE_MS 60000u
#define DAY_S     86400

/* A directory below the root, or what is in its place elsewhere. */
static void move(const struct rig *rig, const char *from, const char *to)
{
    char a[700];
    char b[700];
    snprintf(a, sizeof a, "%s/%s", rig->root, from);
    snprintf(b, sizeof b, "%s/%s", rig->root, to);
    assert_int_equal(rename(a, b), 0);
}

static void go_away(const struct rig *rig)
{
    move(rig, RIG_ID, ".away");
}

static void come_back(const struct rig *rig)
{
    move(rig, ".away", RIG_ID);
}

/* Stored once, though the registry would take a second id for another number. */
static void assert_all_once(struct rig *rig)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        lines += r->kind == TRANSPORT_BATCH && r->status == 200 && r->raw ? r->lines : 0;
    }
    assert_int_equal(lines, 36);
    rig_all_same(rig, RIG_ID);
}

/* 0: stored, but the answer is lost; 1: unavailable; 2: as it should be. */
static int by_mark(struct rig *rig, const struct rig_request *r)
{
    return r->kind != TRANSPORT_BATCH || rig->mark == 2 ? RIG_REGISTRY
           : rig->mark == 0                             ? RIG_LOST
                                                        : 503;
}

static struct rig *rig_with_lost_answers(void)
{
    struct rig *rig = rig_ended_session(10);
    rig->answer = by_mark;
    rig_start(rig);
    while (rig_count(rig, TRANSPORT_BATCH) < 3) {
        rig_run(rig, 100, false);
    }
    rig->mark = 1;
    return rig;
}

static void
an_offer_whose_answer_was_lost_survives_that_its_directory_is_away(void **state)
{
    (void)state;
    struct rig *rig = rig_with_lost_answers();
    go_away(rig);
    rig_run(rig, 5 * MINUTE_MS, false);
    come_back(rig);
    rig->mark = 2;
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_all_once(rig);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void what_is_in_memory_is_sent_while_its_directory_is_away(void **state)
{
    (void)state;
    struct rig *rig = rig_with_lost_answers();
    go_away(rig);
    rig_run(rig, MINUTE_MS, false);
    rig->mark = 2;
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_true(engine_drained(rig->engine)); /* what is left waits for the directory */
    assert_int_equal(rig_summary(rig).lines_acked, 33);
    come_back(rig);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_all_once(rig);
    rig_delete(rig);
}

static void offers_survive_a_restart_while_their_directory_is_away(void **state)
{
    (void)state;
    struct rig *rig = rig_with_lost_answers();
    go_away(rig);
    rig_run(rig, MINUTE_MS, false);
    for (int i = 0; i < 3; i++) { /* each rewrites the journal */
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 5 * MINUTE_MS, false);
    }
    rig->mark = 2;
    rig_run(rig, MINUTE_MS, true);
    assert_true(rig_summary(rig).streams_pending > 0); /* it does not claim to be done */
    come_back(rig);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_all_once(rig);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_mount_that_is_missing_at_boot_doubles_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    struct live_session live;
    live_open(&live, rig->root, RIG_ID2);
    live_line(&live, "scope", "x", 1);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    go_away(rig);
    move(rig, RIG_ID2, ".away2");
    for (int i = 0; i < 3; i++) {
        rig_start(rig);
        rig_run(rig, 5 * MINUTE_MS, false);
        rig_stop(rig);
        rig_step_wall_s(DAY_S);
    }
    come_back(rig);
    move(rig, ".away2", RIG_ID2);
    rig_start(rig);
    rig_run(rig, 5 * MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    live_line(&live, "scope", "x", 2); /* and the running one goes on */
    rig_run(rig, 5 * MINUTE_MS, false);
    rig_same_as_file(rig, RIG_ID2, "scope");
    live_close(&live);
    rig_delete(rig);
}

/* Streams of which the journal on disk knows. */
static size_t journalled(const struct rig *rig)
{
    struct journal_read read;
    assert_int_equal(
        journal_read_open(&sys_real, NULL, ended_root(rig)->fd, rig->root, &read),
        GPUFL_OK);
    size_t streams = read.streams;
    journal_read_fini(&read);
    return streams;
}

/* Lists the root on so many days, restarting on some of them. */
static void pass_days(struct rig *rig, unsigned days)
{
    for (unsigned i = 0; i < days; i++) {
        rig_step_wall_s(DAY_S);
        rig_run(rig, 10 * MINUTE_MS, false);
        if (i % 3 == 0) {
            rig_stop(rig);
            rig_start(rig);
            rig_run(rig, MINUTE_MS, false);
        }
    }
}

static void complete_sessions_that_are_missed_for_a_week_are_forgotten(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    assert_int_equal(journalled(rig), 3);
    go_away(rig);
    rig_run(rig, MINUTE_MS, false);
    pass_days(rig, ABSENCE_COMPLETE_DAYS - 1);
    assert_int_equal(journalled(rig), 3);
    pass_days(rig, 1);
    assert_int_equal(journalled(rig), 0);
    rig_delete(rig);
}

static void days_are_counted_anew_once_it_was_there(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    for (int i = 0; i < 3; i++) {
        go_away(rig);
        rig_run(rig, MINUTE_MS, false);
        pass_days(rig, ABSENCE_COMPLETE_DAYS - 1);
        come_back(rig);
        rig_run(rig, MINUTE_MS, false);
    }
    assert_int_equal(journalled(rig), 3);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void what_was_not_sent_is_given_up_after_a_month_and_counted(void **state)
{
    (void)state;
    struct rig *rig = rig_with_lost_answers();
    go_away(rig);
    rig_run(rig, MINUTE_MS, false);
    pass_days(rig, ABSENCE_OPEN_DAYS - 1);
    assert_int_equal(journalled(rig), 3);
    assert_int_equal(engine_counters(rig->engine)->lost_windows, 0);
    rig_step_wall_s(DAY_S);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(journalled(rig), 0);
    assert_int_equal(engine_counters(rig->engine)->lost_windows, 3);
    rig_delete(rig);
}

static void in_a_root_where_nothing_known_is_left_no_day_is_counted(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    char *elsewhere = dirs_make();
    rig->config.state_dir = elsewhere;
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    go_away(rig);
    rig_run(rig, MINUTE_MS, false);
    pass_days(rig, 3 * ABSENCE_OPEN_DAYS);
    come_back(rig);
    rig_run(rig, 10 * MINUTE_MS, false); /* a listing finds it */
    assert_all_once(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
    rig_delete(rig);
    dirs_remove(elsewhere);
}

/* The root itself, or what is in its place. */
static void move_root(const struct rig *rig, bool away)
{
    char elsewhere[700];
    snprintf(elsewhere, sizeof elsewhere, "%s.away", rig->root);
    assert_int_equal(away ? rename(rig->root, elsewhere) : rename(elsewhere, rig->root),
                     0);
}

static void watch_nothing(void *arg, unsigned root, const char *root_path,
                          const char *session_path, bool done)
{
    (void)arg;
    (void)root;
    (void)root_path;
    (void)session_path;
    (void)done;
}

/* What happens in it meanwhile is told in vain, and watched sessions are looked at once a
 * minute. */
static void what_was_written_while_a_root_was_away_is_read_when_it_is_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    char *elsewhere = dirs_make();
    rig->config.state_dir = elsewhere;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    engine_visit_changed(rig->engine, watch_nothing, NULL);
    uint64_t sent = rig_summary(rig).lines_acked;
    move_root(rig, true);
    rig_run(rig, 11000, false);
    assert_int_equal(rig_summary(rig).roots_away, 1);
    move_root(rig, false);
    live_line(&live, "device", "y", 2);
    engine_touch(rig->engine, 0, RIG_ID);
    rig_run(rig, 5000, false);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    assert_int_equal(rig_summary(rig).lines_acked, sent + 1);
    live_close(&live);
    rig_delete(rig);
    dirs_remove(elsewhere);
}

static void a_root_that_was_replaced_is_served_without_a_restart(bool state_elsewhere)
{
    struct rig *rig = rig_ended_session(10);
    struct live_session other;
    char *elsewhere = dirs_make();
    rig->config.state_dir = state_elsewhere ? elsewhere : NULL;
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    move_root(rig, true);
    assert_int_equal(mkdir(rig->root, 0700), 0);
    live_open(&other, rig->root, RIG_ID2);
    rig_fill(&other, 5);
    live_close(&other);
    rig_run(rig, 10 * MINUTE_MS, false);
    rig_all_same(rig, RIG_ID2);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    dirs_remove(strdup(rig->root));
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 1);
    assert_false(engine_summary_accepted(&(struct engine_summary){.roots_away = 1}));
    move_root(rig, false);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    assert_int_equal(rig_summary(rig).lines_acked, 36 + 21);
    rig_delete(rig);
    dirs_remove(elsewhere);
}

static void a_root_that_was_replaced_is_served_with_its_journal_elsewhere(void **state)
{
    (void)state;
    a_root_that_was_replaced_is_served_without_a_restart(true);
}

static void a_root_that_was_replaced_is_served_with_the_journal_in_it(void **state)
{
    (void)state;
    a_root_that_was_replaced_is_served_without_a_restart(false);
}

static bool told_at(struct rig *rig, const char *progress, size_t offset)
{
    char place[64];
    snprintf(place, sizeof place, " device 1 %zu ", offset);
    char *text = rig_file(rig, progress);
    bool told = strstr(text, place) != NULL;
    free(text);
    return told;
}

/* What was settled within the second in which it goes. It may come back, to another
 * uploader. */
static void a_root_that_is_replaced_tells_how_far_it_was(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    char *elsewhere = dirs_make();
    rig->config.state_dir = elsewhere;
    rig->config.rescan_interval_ms = 100;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    uint64_t sent = rig_summary(rig).lines_acked;
    live_line(&live, "device", "y", 2);
    engine_touch(rig->engine, 0, RIG_ID);
    for (int i = 0; i < 1000 && rig_summary(rig).lines_acked == sent; i++) {
        rig_run(rig, 1, false);
    }
    char *lines = rig_file(rig, RIG_ID "/device.log");
    assert_int_equal(rig_summary(rig).lines_acked, sent + 1);
    assert_false(told_at(rig, ".gpufl-agent/progress", strlen(lines)));
    move_root(rig, true);
    assert_int_equal(mkdir(rig->root, 0700), 0);
    rig_run(rig, MINUTE_MS, false);
    dirs_remove(strdup(rig->root));
    move_root(rig, false);
    assert_true(told_at(rig, ".gpufl-agent/progress", strlen(lines)));
    free(lines);
    live_close(&live);
    rig_delete(rig);
    dirs_remove(elsewhere);
}

static bool serves_what_the_path_names(const struct rig *rig)
{
    struct stat served;
    struct stat named;
    return fstat(ended_root(rig)->fd, &served) == 0 && stat(rig->root, &named) == 0 &&
           served.st_ino == named.st_ino;
}

static int silent_from_the_first_batch_on(struct rig *rig, const struct rig_request *r)
{
    rig->silent = rig->silent || (r->kind == TRANSPORT_BATCH && rig->mark == 0);
    return RIG_REGISTRY;
}

static void
a_root_that_is_replaced_while_requests_are_under_way_waits_for_them(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->answer = silent_from_the_first_batch_on;
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 3);
    move_root(rig, true);
    assert_int_equal(mkdir(rig->root, 0700), 0);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_false(serves_what_the_path_names(rig));
    rig->silent = false;
    rig->mark = 1;
    rig_run(rig, MINUTE_MS, false);
    assert_true(serves_what_the_path_names(rig));
    dirs_remove(strdup(rig->root));
    move_root(rig, false);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_all_once(rig);
    rig_delete(rig);
}

static int answer_lines_later(struct rig *rig, const struct rig_request *request)
{
    rig->silent = rig->silent || request->kind == TRANSPORT_BATCH;
    return RIG_REGISTRY;
}

static void what_is_due_in_a_root_that_is_away_keeps_nobody_awake(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->config.max_batch_lines = 2;
    rig->answer = answer_lines_later;
    rig_start(rig);
    rig_run(rig, 1000, false);
    assert_true(rig->silent);
    move_root(rig, true);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 1);
    rig->answer = NULL;
    rig->silent = false; /* more of each channel is due now */
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_true(rig->loops < 5000);
    move_root(rig, false);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

static void a_root_that_another_uploader_took_is_away_until_it_lets_go(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, true);
    move_root(rig, true);
    assert_int_equal(mkdir(rig->root, 0700), 0);
    int other = open(rig->root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(other, LOCK_EX), 0);
    rig_run(rig, 10 * MINUTE_MS, false);
    struct engine_summary summary = rig_summary(rig);
    assert_int_equal(summary.roots_away, 1);
    assert_non_null(strstr(summary.away, "already served"));
    assert_true(engine_drained(rig->engine)); /* a run on demand ends, and says so */
    assert_true(rig->loops < 5000);           /* it does not spin */
    close(other);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    dirs_remove(strdup(rig->root));
    move_root(rig, false);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void what_is_away_is_not_all_sent(void **state)
{
    (void)state;
    static const struct engine_summary summary[] = {
        {.roots_away = 1, .away = "/logs: a mount may be missing"},
        {.sessions_away = 1, .streams_pending = 1},
        {.sessions_away = 2},
        {.sessions_away = 2, .away_session = "one"},
    };
    static const char *const said[] = {
        "a mount may be missing", "1 session is not complete",
        "2 sessions are not complete and no longer in the directory (",
        "no longer in the directory: one and 1 more ("};
    static const struct upload_result_words words = {.backend_url = "http://x"};
    for (unsigned i = 0; i < sizeof summary / sizeof *summary; i++) {
        struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
        assert_int_equal(upload_result_judge(&result, &summary[i], true, &words),
                         GPUFL_PARTIAL);
        assert_non_null(strstr(result.message, "back"));
        assert_non_null(strstr(result.message, said[i]));
        assert_int_equal(result.sessions_away, summary[i].sessions_away);
    }
}

static void an_empty_mount_point_is_said_where_something_was_left(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    char *elsewhere = dirs_make();
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "scope", "x", 1);
    rig->config.state_dir = elsewhere;
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    rig_stop(rig);
    go_away(rig);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 1);
    assert_int_equal(rig_summary(rig).sessions_away, 1);
    come_back(rig);
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_summary(rig).roots_away, 0);
    assert_int_equal(rig_summary(rig).sessions_away, 0);
    live_close(&live);
    rig_delete(rig);
    dirs_remove(elsewhere);
}

/* Of the same size up to where it was sent. */
static void a_file_that_comes_back_as_another_is_held(bool restart)
{
    struct rig *rig = rig_new();
    struct live_session live;
    char path[700];
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "scope", "x", 1);
    rig_start(rig);
    rig_run(rig, MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    if (restart) {
        rig_stop(rig);
    }
    go_away(rig);
    if (!restart) {
        rig_run(rig, MINUTE_MS, false);
    }
    come_back(rig);
    snprintf(path, sizeof path, "%s/scope.log", live.dir);
    char *was = rig_file(rig, RIG_ID "/scope.log");
    assert_int_equal(unlink(path), 0);
    live_line(&live, "scope", "x", 7);
    live_line(&live, "scope", "x", 8);
    if (restart) {
        rig_start(rig);
    }
    rig_run(rig, 10 * MINUTE_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    rig_run(rig, 5000, false); /* between two inspections, each of which tries again */
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(unlink(path), 0); /* and the right one goes on */
    dirs_append(live.dir, "scope.log", was);
    live_line(&live, "scope", "x", 2);
    rig_run(rig, 10 * MINUTE_MS, false);
    rig_same_as_file(rig, RIG_ID, "scope");
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    free(was);
    live_close(&live);
    rig_delete(rig);
}

static void a_file_that_is_another_after_a_restart_is_held(void **state)
{
    (void)state;
    a_file_that_comes_back_as_another_is_held(true);
}

static void a_file_that_is_another_after_it_was_away_is_held(void **state)
{
    (void)state;
    a_file_that_comes_back_as_another_is_held(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            an_offer_whose_answer_was_lost_survives_that_its_directory_is_away),
        cmocka_unit_test(what_is_in_memory_is_sent_while_its_directory_is_away),
        cmocka_unit_test(offers_survive_a_restart_while_their_directory_is_away),
        cmocka_unit_test(a_mount_that_is_missing_at_boot_doubles_nothing),
        cmocka_unit_test(complete_sessions_that_are_missed_for_a_week_are_forgotten),
        cmocka_unit_test(days_are_counted_anew_once_it_was_there),
        cmocka_unit_test(what_was_not_sent_is_given_up_after_a_month_and_counted),
        cmocka_unit_test(in_a_root_where_nothing_known_is_left_no_day_is_counted),
        cmocka_unit_test(what_was_written_while_a_root_was_away_is_read_when_it_is_back),
        cmocka_unit_test(a_root_that_is_replaced_tells_how_far_it_was),
        cmocka_unit_test(a_root_that_was_replaced_is_served_with_its_journal_elsewhere),
        cmocka_unit_test(a_root_that_was_replaced_is_served_with_the_journal_in_it),
        cmocka_unit_test(
            a_root_that_is_replaced_while_requests_are_under_way_waits_for_them),
        cmocka_unit_test(a_root_that_another_uploader_took_is_away_until_it_lets_go),
        cmocka_unit_test(what_is_due_in_a_root_that_is_away_keeps_nobody_awake),
        cmocka_unit_test(a_file_that_is_another_after_a_restart_is_held),
        cmocka_unit_test(a_file_that_is_another_after_it_was_away_is_held),
        cmocka_unit_test(what_is_away_is_not_all_sent),
        cmocka_unit_test(an_empty_mount_point_is_said_where_something_was_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
