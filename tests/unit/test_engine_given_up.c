/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of which the rest was given up, and the files of it that come later. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/gz_costly.h"
#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"
#include "upload/resolve/resolve.h"

static unsigned lines_of(const struct rig *rig, const char *channel)
{
    unsigned lines = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        bool ours = r->kind == TRANSPORT_BATCH && strcmp(r->channel, channel) == 0;
        lines += ours && r->status < 300 ? r->lines : 0;
    }
    return lines;
}

static void again(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
}

/* The session is over, its channel `channel` is given up, and it is complete. */
static void give_up(struct rig *rig, const char *channel)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, channel, &result);
    assert_int_equal(result.given_up, 1);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
}

/* "device" is sent; "sass" never had a file. */
static struct rig *rig_without_sass(struct live_session *s)
{
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    live_list(s, "\"device\",\"sass\"");
    live_line(s, "device", "job_start", 1);
    live_line(s, "device", "shutdown", 2);
    live_close(s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    give_up(rig, "sass");
    return rig;
}

static void its_first_file_is_sent(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig *rig = rig_without_sass(&s);
        if (restart) {
            rig_stop(rig);
        }
        live_line(&s, "sass", "job_start", 1);
        live_line(&s, "sass", "x", 2);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 700000, false);
        assert_int_equal(lines_of(rig, "sass"), 2);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        again(rig);
        rig_run(rig, 700000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        assert_int_equal(lines_of(rig, "sass"), 2);
        rig_delete(rig);
    }
}

static void a_file_of_a_later_number_is_sent(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_without_sass(&s);
    rig_stop(rig);
    live_line(&s, "sass", "job_start", 1);
    live_rotate(&s, "sass", 2);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(lines_of(rig, "sass"), 1);
    live_line(&s, "sass", "x", 2);
    rig_run(rig, 700000, false);
    assert_int_equal(lines_of(rig, "sass"), 2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* What comes in another channel is no part of what was given up. */
static void growth_of_another_channel_is_sent(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_without_sass(&s);
    rig_stop(rig);
    live_line(&s, "device", "x", 3);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(lines_of(rig, "device"), 3);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

/* Three lines of "scope" are sent, and its active file is gone. */
static struct rig *rig_with_scope_gone(struct live_session *s)
{
    char path[600];
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    for (int i = 1; i <= 3; i++) {
        live_line(s, "scope", i == 1 ? "job_start" : "x", i);
    }
    rig_start(rig);
    rig_run(rig, 20000, false);
    snprintf(path, sizeof path, "%s/scope.log", s->dir);
    assert_int_equal(unlink(path), 0);
    live_close(s);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    give_up(rig, "scope");
    return rig;
}

static void another_file_of_its_name_is_sent(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_scope_gone(&s);
    rig_stop(rig);
    for (int i = 1; i <= 6; i++) {
        live_line(&s, "scope", i == 1 ? "job_start" : "other", i);
    }
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(lines_of(rig, "scope"), 9);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* What was given up was the rest of the first one. */
static void a_third_file_of_its_name_is_held(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        char path[600];
        struct rig *rig = rig_with_scope_gone(&s);
        snprintf(path, sizeof path, "%s/scope.log", s.dir);
        for (int file = 2; file <= 3; file++) {
            (void)unlink(path);
            for (int i = 1; i <= 3 * file; i++) {
                live_line(&s, "scope", i == 1 ? "job_start" : "other", 10 * file + i);
            }
            if (restart) {
                again(rig);
            }
            rig_run(rig, 120000, false);
            assert_int_equal(lines_of(rig, "scope"), 9);
            assert_int_equal(rig_summary(rig).sessions_blocked, file == 3);
        }
        rig_delete(rig);
    }
}

/* It may be the one that was sent, cut short. */
static void a_shorter_file_of_its_name_is_held(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig *rig = rig_with_scope_gone(&s);
        live_line(&s, "scope", "job_start", 1);
        if (restart) {
            again(rig);
        }
        rig_run(rig, 700000, false);
        assert_int_equal(lines_of(rig, "scope"), 3);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_non_null(strstr(rig_summary(rig).held, "channel scope waits: a file is"));
        give_up(rig, "scope");
        rig_delete(rig);
    }
}

/* A file that was given up because it cannot be read. */
static struct rig *rig_with_unreadable(struct live_session *s)
{
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    dirs_append(s->dir, "scope.log.gz", "this is no gzip file");
    live_close(s);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    give_up(rig, "scope");
    return rig;
}

static void what_cannot_be_read_is_no_growth(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_unreadable(&s);
    again(rig);
    rig_run(rig, 700000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void what_cannot_be_read_may_change_and_go_and_come(void **state)
{
    (void)state;
    struct live_session s;
    char path[600];
    struct rig *rig = rig_with_unreadable(&s);
    snprintf(path, sizeof path, "%s/scope.log.gz", s.dir);
    rig_run(rig, 200000, false);
    dirs_append(s.dir, "scope.log.gz", ", nor is this");
    rig_run(rig, 200000, false);
    assert_int_equal(unlink(path), 0);
    rig_run(rig, 200000, false);
    dirs_append(s.dir, "scope.log.gz", "this is another one that is not");
    rig_run(rig, 200000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(unlink(path), 0);
    live_line(&s, "scope", "job_start", 1);
    rig_run(rig, 200000, false);
    assert_int_equal(lines_of(rig, "scope"), 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

#define COSTLY_LINES  6000u
#define COSTLY_GROUPS 2u

static void lines_that_cost(const struct live_session *s, unsigned lines)
{
    char line[200];
    snprintf(line, sizeof line, "{\"type\":\"job_start\",\"session_id\":\"%s\"}\n",
             s->id);
    gz_costly_make(s->dir, "scope.log.gz", line, lines, COSTLY_GROUPS);
}

/* What was sent of it is decoded to look for more, which takes several looks: none of
 * them takes longer than a turn of a stream does. */
static void what_was_given_up_is_decoded_in_steps(void **state)
{
    (void)state;
    struct live_session s;
    char path[600];
    unsigned looks = 0;
    struct rig *rig = rig_new();
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    lines_that_cost(&s, COSTLY_LINES);
    snprintf(path, sizeof path, "%s/scope.log.gz", s.dir);
    assert_int_equal(truncate(path, COSTLY_LINES * COSTLY_GROUPS * 92), 0);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, false);
    unsigned sent = lines_of(rig, "scope");
    assert_in_range(sent, 1, COSTLY_LINES - 1);
    give_up(rig, "scope");
    again(rig);
    lines_that_cost(&s, COSTLY_LINES);
    uint64_t begun_ms = rig_now_ms();
    while (rig_summary(rig).sessions_done) {
        uint64_t before = rig->engine->gz.work;
        rig_run(rig, 1, false);
        assert_true(rig->engine->gz.work - before < 3 * GZ_CACHE_STEP_BYTES);
        looks += rig->engine->gz.work != before;
        assert_true(rig_now_ms() - begun_ms < 3600000);
    }
    rig_run(rig, 60000, false);
    assert_true(looks > 1);
    assert_int_equal(lines_of(rig, "scope"), COSTLY_LINES);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_first_file_is_sent),
        cmocka_unit_test(a_file_of_a_later_number_is_sent),
        cmocka_unit_test(growth_of_another_channel_is_sent),
        cmocka_unit_test(another_file_of_its_name_is_sent),
        cmocka_unit_test(a_third_file_of_its_name_is_held),
        cmocka_unit_test(a_shorter_file_of_its_name_is_held),
        cmocka_unit_test(what_cannot_be_read_is_no_growth),
        cmocka_unit_test(what_cannot_be_read_may_change_and_go_and_come),
        cmocka_unit_test(what_was_given_up_is_decoded_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
