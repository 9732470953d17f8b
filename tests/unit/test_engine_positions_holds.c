/* SPDX-License-Identifier: Apache-2.0 */
/* A stream cannot go on by what the backend says of it: that is said, is not asked for
 * all the time, and has a way out. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_session.h"

#define MINUTES_MS (60ull * 1000)

static void in_root(const struct rig *rig, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", rig->root, script);
    assert_int_equal(system(command), 0);
}

static void in_session(const struct rig *rig, const char *script)
{
    char command[200];
    snprintf(command, sizeof command, "cd " RIG_ID " && %s", script);
    in_root(rig, command);
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

static void set_expired(struct rig *rig, bool expired)
{
    for (unsigned i = 0; i < rig->positions.streams; i++) {
        rig->positions.stream[i].end.expired = expired;
    }
}

static void start_backend_again(struct rig *rig)
{
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
}

static struct rig *rig_with_lines_sent(struct live_session *s)
{
    struct rig *rig = rig_positions_on(rig_new());
    live_open(s, rig->root, RIG_ID);
    rig_fill(s, 5);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    return rig;
}

/* A session of which all was sent, and which retention deleted before it had ended; where
 * it \p grows, one more line comes. */
static struct rig *expired_session(bool grows)
{
    struct live_session s;
    struct rig *rig = rig_with_lines_sent(&s);
    set_expired(rig, true);
    if (grows) {
        live_line(&s, "device", "x", 6);
    }
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 5 * MINUTES_MS, false);
    return rig;
}

/* But for what the backend is, now and then. */
static unsigned asked(const struct rig *rig)
{
    return rig->requests - rig_count(rig, TRANSPORT_PROBE);
}

static void a_session_that_retention_deleted_is_said_and_not_asked_for_again(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        struct rig *rig = expired_session(grows);
        assert_true(is_held(rig, HELD_EXPIRED));
        unsigned requests = asked(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_true(is_held(rig, HELD_EXPIRED));
        assert_true(asked(rig) - requests <= 2);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        start_backend_again(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_true(asked(rig) - requests <= 4);
        assert_true(is_held(rig, HELD_EXPIRED));
        rig_delete(rig);
    }
}

static void it_is_forgotten_once_its_directory_is_gone(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = expired_session(restart);
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        in_root(rig, "rm -r " RIG_ID);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_away, 0);
        assert_int_equal(rig_summary(rig).sessions, 0);
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_away, 0);
        rig_delete(rig);
    }
}

static int delete_what_ends(struct rig *rig, const struct rig_request *r)
{
    if (r->kind == TRANSPORT_COMPLETE) {
        set_expired(rig, true);
    }
    return RIG_REGISTRY;
}

/* A backup was restored, in which the session still is. */
static void in_another_epoch_it_is_asked_for_and_sent(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        for (int restart = 0; restart < 2; restart++) {
            struct rig *rig = expired_session(grows);
            if (restart) {
                rig_stop(rig);
                rig_start(rig);
            }
            set_expired(rig, false);
            start_backend_again(rig);
            rig_run(rig, 60 * MINUTES_MS, false);
            assert_int_equal(rig_summary(rig).sessions_done, 1);
            assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
            rig_all_same(rig, RIG_ID);
            rig_delete(rig);
        }
    }
}

/* It is complete without having been asked for: its claim has shown what the backend has.
 */
static void what_it_grows_by_in_that_epoch_is_sent(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 0);
    live_close(&s);
    rig->answer = delete_what_ends;
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_true(is_held(rig, HELD_EXPIRED));
    rig->answer = NULL;
    set_expired(rig, false);
    start_backend_again(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    live_line(&s, "device", "x", 1);
    rig_run(rig, 60 * MINUTES_MS, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* Retention takes what is old, complete sessions above all. */
static void a_complete_session_that_retention_deletes_stays_complete(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(5));
    rig_start(rig);
    rig_run(rig, 5 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    set_expired(rig, true);
    start_backend_again(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 3);
    unsigned requests = asked(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(asked(rig), requests);
    rig_delete(rig);
}

/* The backend does not tell any more whether the file is the one that its disk cut. It is
 * taken for that one while it is shorter than what was sent. */
static void one_that_its_disk_cut_is_asked_for_once_it_is_deleted(void **state)
{
    (void)state;
    static const struct {
        const char *change;
        bool again; /* the backend starts */
        enum held_reason held;
    } row[] = {
        {"true", true, HELD_NOT},
        {"rm scope.log", true, HELD_ACTIVE_GONE},
        {"sed -i 2d system.log", false, HELD_SHORTER},
        {"sed -i 2d device.log", true, HELD_NOT},
        {"cat scope.log >>device.log", true, HELD_EXPIRED},
        {"cat scope.log >>device.log", false, HELD_EXPIRED},
        {"mv device.log device.1.log && : >device.log", true, HELD_EXPIRED},
    };
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        bool restart = i % 2;
        enum held_reason held = row[i / 2].held;
        struct live_session s;
        struct rig *rig = rig_with_lines_sent(&s);
        in_session(rig, "sed -i '3,$d' device.log");
        live_close(&s);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        if (restart) {
            rig_stop(rig);
        }
        set_expired(rig, true);
        if (row[i / 2].again) {
            start_backend_again(rig);
        }
        in_session(rig, row[i / 2].change);
        if (restart) {
            rig_start(rig);
        }
        unsigned requests = asked(rig);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, held == HELD_NOT);
        assert_true(held == HELD_NOT || is_held(rig, held));
        assert_in_range(asked(rig) - requests, 1, held == HELD_SHORTER ? 60 : 2);
        rig_delete(rig);
    }
}

/* A backup that lacks lines of it was put back, and retention deletes the rest. */
static void a_complete_session_of_which_it_had_less_is_held(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig_positions backup = {0};
        struct rig *rig = rig_with_lines_sent(&s);
        rig_positions_copy(&backup, &rig->positions);
        live_line(&s, "device", "x", 6);
        live_close(&s);
        engine_rescan(rig->engine);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        if (restart) {
            rig_stop(rig);
        }
        rig_positions_copy(&rig->positions, &backup);
        rig_positions_fini(&backup);
        set_expired(rig, true);
        start_backend_again(rig);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_true(is_held(rig, HELD_EXPIRED));
        rig_delete(rig);
    }
}

static int delete_and_tell_no_ends(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE ? 410
           : r->kind == TRANSPORT_ENDS   ? rig->mark
                                         : RIG_REGISTRY;
}

/* Nor does one go on for ever that follows fewer channels than the one before it. */
static void an_end_that_was_deleted_is_not_told_without_pause(void **state)
{
    (void)state;
    for (int fewer = 0; fewer < 2; fewer++) {
        struct rig *rig = rig_positions_on(rig_ended_session(5));
        rig_start(rig);
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_stop(rig);
        start_backend_again(rig);
        rig->reply_body = "{\"error\":\"expired\"}";
        rig->mark = fewer ? RIG_REGISTRY : 404;
        rig->answer = delete_and_tell_no_ends;
        set_expired(rig, true);
        rig->channels.count -= fewer * 2; /* device, and scope */
        rig_start(rig);
        rig_run(rig, MINUTES_MS, false);
        if (!fewer) {
            rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"gzip\"]}";
        }
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 2, 100);
        assert_int_equal(rig_summary(rig).sessions_done, fewer);
        rig_delete(rig);
    }
}

static int let_a_gateway_answer_the_end(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE ? 410 : RIG_REGISTRY;
}

static void a_gateway_tells_nothing_of_retention(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct rig *rig = rig_positions_on(rig_ended_session(5));
        rig->reply_body = "<h1>Gone</h1>";
        if (again) {
            rig_start(rig);
            rig_run(rig, 5 * MINUTES_MS, false);
            assert_int_equal(rig_summary(rig).sessions_done, 1);
            start_backend_again(rig);
        }
        rig->answer = let_a_gateway_answer_the_end;
        if (!again) {
            rig_start(rig);
        }
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 6, 30);
        rig->answer = NULL;
        rig_run(rig, 5 * MINUTES_MS, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static int know_no_such_session(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE ? 404 : RIG_REGISTRY;
}

/* It was sent without positions, of which the backend keeps nothing. */
static void an_end_that_is_never_taken_is_told_more_and_more_rarely(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    rig->answer = know_no_such_session;
    in_root(rig, "mkdir " RIG_ID " && printf '{\"type\":\"job_start\"}\\n"
                 "{\"type\":\"shutdown\"}\\n' >" RIG_ID "/device.log");
    rig_start(rig);
    rig_run(rig, 120 * MINUTES_MS, false);
    unsigned told = rig_count(rig, TRANSPORT_COMPLETE);
    assert_true(told >= 20);
    rig_run(rig, 24 * 60 * MINUTES_MS, false);
    assert_true(rig_count(rig, TRANSPORT_COMPLETE) - told <= 50);
    rig->answer = NULL;
    rig_run(rig, 120 * MINUTES_MS, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

#define SEALED "mv device.log device.1.log && : >"

/* The last file of which something was sent is damaged before the end is claimed. The
 * backend has all of it, so one that became shorter is none of its concern once it is
 * sealed: its writer was killed before it wrote to the next one. */
static void a_damaged_file_at_the_end_is_not_asked_for_all_the_time(void **state)
{
    (void)state;
    static const struct {
        const char *before, *damage;
        bool completes;
    } row[] = {
        {SEALED "device.log", "truncate -s 20 device.1.log", true},
        {SEALED "device.log", "truncate -s 0 device.1.log", true},
        {SEALED "device.log", "rm device.1.log", false},
        {SEALED "device.log", "sed -i s/job/JOB/ device.1.log", false},
        {SEALED ".gpufl-next.device.2", "truncate -s 20 device.1.log", true},
        {SEALED ".gpufl-next.device.2", "rm device.1.log", false},
        {"true", "truncate -s 20 device.log", false},
        {"true", "rm device.log", false},
    };
    for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
        bool restart = i % 2;
        struct live_session s;
        struct rig *rig = rig_positions_on(rig_new());
        live_open(&s, rig->root, RIG_ID);
        rig_fill(&s, 5);
        in_session(rig, row[i / 2].before);
        rig_start(rig);
        rig_run(rig, MINUTES_MS, false);
        if (restart) {
            rig_stop(rig);
        }
        in_session(rig, row[i / 2].damage);
        live_close(&s);
        if (restart) {
            rig_start(rig);
        }
        unsigned requests = asked(rig);
        engine_rescan(rig->engine);
        rig_run(rig, 60 * MINUTES_MS, false);
        assert_true(asked(rig) - requests < 70);
        assert_true(!row[i / 2].completes ||
                    rig_positions_state(&rig->positions, RIG_ID) == 1);
        rig_delete(rig);
    }
}

static int refuse_every_part(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_PARTS) {
        return RIG_REGISTRY;
    }
    rig->request[r - rig->request].answer =
        strdup("{\"epoch\":\"1\",\"parts\":[{\"verdict\":\"conflict\",\"end\":{"
               "\"file\":1,\"offset\":0,\"lines\":0,\"crc\":0,\"file_crc\":0,"
               "\"losses\":0,\"skips\":0,\"lost_after\":false,\"expired\":false}}]}");
    return 200;
}

/* The backend contradicts itself: each part begins where it says that its stream ends. */
static void a_part_that_conflicts_for_ever_is_sent_seldom(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(5));
    rig->answer = refuse_every_part;
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    unsigned parts = rig_count(rig, TRANSPORT_PARTS);
    assert_in_range(parts, 3, 3 * 25);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_in_range(rig_count(rig, TRANSPORT_PARTS) - parts, 3, 3 * 61);
    rig->answer = NULL;
    rig_run(rig, 6 * MINUTES_MS, false);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_session_that_retention_deleted_is_said_and_not_asked_for_again),
        cmocka_unit_test(in_another_epoch_it_is_asked_for_and_sent),
        cmocka_unit_test(what_it_grows_by_in_that_epoch_is_sent),
        cmocka_unit_test(it_is_forgotten_once_its_directory_is_gone),
        cmocka_unit_test(a_complete_session_that_retention_deletes_stays_complete),
        cmocka_unit_test(one_that_its_disk_cut_is_asked_for_once_it_is_deleted),
        cmocka_unit_test(a_complete_session_of_which_it_had_less_is_held),
        cmocka_unit_test(an_end_that_was_deleted_is_not_told_without_pause),
        cmocka_unit_test(a_gateway_tells_nothing_of_retention),
        cmocka_unit_test(a_damaged_file_at_the_end_is_not_asked_for_all_the_time),
        cmocka_unit_test(an_end_that_is_never_taken_is_told_more_and_more_rarely),
        cmocka_unit_test(a_part_that_conflicts_for_ever_is_sent_seldom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
