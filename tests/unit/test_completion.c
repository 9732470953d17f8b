/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from each answer to the end of a session. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/rig_session.h"

static int answer_the_end(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_COMPLETE ? rig->mark : RIG_REGISTRY;
}

/* A rig on a session that is sent, and whose end is answered \p status. */
static struct rig *rig_with_end(int status, uint64_t ms)
{
    struct rig *rig = rig_ended_session(3);
    rig->mark = status;
    rig->answer = answer_the_end;
    rig_start(rig);
    rig_run(rig, ms, false);
    rig_all_same(rig, RIG_ID);
    return rig;
}

static bool takes_the_end(int status)
{
    return (status >= 200 && status <= 299) || status == 404 || status == 405 ||
           status == 409 || status == 501;
}

static void a_session_is_complete_only_when_its_end_is_taken(void **state)
{
    (void)state;
    static const int edge[] = {0,   100, 199, 200, 201, 204, 299, 300, 302, 400, 401,
                               402, 403, 404, 405, 406, 408, 409, 410, 413, 415, 422,
                               425, 429, 499, 500, 501, 502, 503, 504, 507, 599};
    for (size_t i = 0; i < sizeof edge / sizeof *edge; i++) {
        struct rig *rig = rig_with_end(edge[i], 300000);
        unsigned asked = rig_count(rig, TRANSPORT_COMPLETE);
        if (rig_summary(rig).sessions_done != takes_the_end(edge[i]) ||
            (takes_the_end(edge[i]) ? asked != 1 : asked < 2)) {
            fail_msg("status %d, asked %u times", edge[i], asked);
        }
        rig->mark = 200;
        rig_run(rig, 300000, true);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static void only_a_busy_answer_to_the_end_counts_against_the_origin(void **state)
{
    (void)state;
    static const struct {
        int status;
        bool busy;
    } row[] = {{0, true},   {408, true}, {425, true},  {429, true},  {502, true},
               {503, true}, {504, true}, {500, false}, {507, false}, {422, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct rig *rig = rig_with_end(row[i].status, 60000);
        if ((rig_summary(rig).failures_in_row > 1) != row[i].busy) {
            fail_msg("status %d", row[i].status);
        }
        rig_delete(rig);
    }
}

static void an_end_that_is_refused_is_offered_about_every_minute(void **state)
{
    (void)state;
    struct rig *rig = rig_with_end(500, 6 * 3600000);
    uint64_t before_ms = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        if (rig->request[i].kind == TRANSPORT_COMPLETE) {
            uint64_t at_ms = rig->request[i].at_ms;
            assert_true(!before_ms || at_ms - before_ms <= 61000);
            before_ms = at_ms;
        }
    }
    assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 6 * 60, 6 * 60 * 4);
    rig_delete(rig);
}

static void pack(const char *dir, const char *name, const char *lines)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, lines, (unsigned)strlen(lines)), strlen(lines));
    gzclose(file);
}

/* A session of the 1.1 layout, which is sent without positions whatever the backend
 * knows. */
static struct rig *rig_packed_session(void)
{
    struct rig *rig = rig_new();
    char dir[600];
    snprintf(dir, sizeof dir, "%s/" RIG_ID, rig->root);
    assert_int_equal(mkdir(dir, 0755), 0);
    pack(dir, "device.1.log.gz", "{\"type\":\"job_start\"}\n{\"type\":\"x\"}\n");
    pack(dir, "device.log.gz", "{\"type\":\"x\",\"n\":2}\n{\"type\":\"shutdown\"}\n");
    pack(dir, "scope.log.gz", "{\"type\":\"job_start\"}\n{\"type\":\"shutdown\"}\n");
    return rig;
}

/* One that is sent, and whose end is refused. */
static struct rig *rig_with_packed(char path[700])
{
    struct rig *rig = rig_packed_session();
    snprintf(path, 700, "%s/" RIG_ID, rig->root);
    rig->mark = 500;
    rig->answer = answer_the_end;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).lines_acked, 6);
    assert_true(rig_count(rig, TRANSPORT_COMPLETE) > 0);
    return rig;
}

static void is_kept_back(struct rig *rig)
{
    rig->mark = 200;
    rig_run(rig, 120000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).sessions_kept_back, 1);
    assert_true(rig_summary(rig).held[0] != '\0');
}

static void a_session_that_is_damaged_while_its_end_is_refused_is_held(void **state)
{
    (void)state;
    char dir[700];
    char path[800];
    struct rig *rig = rig_with_packed(dir);
    snprintf(path, sizeof path, "%s/device.log.gz", dir);
    assert_int_equal(truncate(path, 20), 0);
    is_kept_back(rig);
    pack(dir, "device.log.gz", "{\"type\":\"x\",\"n\":2}\n{\"type\":\"shutdown\"}\n");
    rig_run(rig, 300000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).lines_acked, 6);
    rig_delete(rig);
}

static void
a_session_of_which_a_channel_goes_while_its_end_is_refused_is_held(void **state)
{
    (void)state;
    char dir[700];
    char path[800];
    struct rig *rig = rig_with_packed(dir);
    snprintf(path, sizeof path, "%s/scope.log.gz", dir);
    assert_int_equal(unlink(path), 0);
    is_kept_back(rig);
    rig_delete(rig);
}

static void is_said_in_progress(struct rig *rig, int status, bool is_said)
{
    char said[100];
    rig_run(rig, 5000, false);
    char *progress = rig_file(rig, LAYOUT_PROGRESS);
    snprintf(said, sizeof said,
             "!held " RIG_ID " * all is sent, but the backend answers %d ", status);
    assert_int_equal(strstr(progress, said) != NULL, is_said);
    free(progress);
}

/* A backend that knows positions tells the end of each session: an answer by which it
 * seems not to comes from something in front of it. */
static void where_positions_are_known_no_end_is_taken_unproved(void **state)
{
    (void)state;
    static const int row[] = {404, 405, 409, 501};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char said[20];
        struct rig *rig = rig_positions_on(rig_packed_session());
        snprintf(said, sizeof said, "HTTP %d", row[i]);
        rig->mark = row[i];
        rig->answer = answer_the_end;
        rig_start(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).lines_acked, 6);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_non_null(strstr(rig_summary(rig).last_problem, said));
        assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 10, 50);
        is_said_in_progress(rig, row[i], true);
        rig->mark = RIG_REGISTRY;
        rig_run(rig, 120000, true);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        is_said_in_progress(rig, row[i], false);
        rig_delete(rig);
    }
}

/* The backend cannot know a session of which it was sent nothing. */
static void a_session_without_a_line_ends_although_nobody_knows_it(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    live_open(&s, rig->root, RIG_ID);
    dirs_append(s.dir, "device.log", "");
    live_close(&s);
    rig->mark = 404;
    rig->answer = answer_the_end;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_complete_only_when_its_end_is_taken),
        cmocka_unit_test(only_a_busy_answer_to_the_end_counts_against_the_origin),
        cmocka_unit_test(an_end_that_is_refused_is_offered_about_every_minute),
        cmocka_unit_test(a_session_that_is_damaged_while_its_end_is_refused_is_held),
        cmocka_unit_test(
            a_session_of_which_a_channel_goes_while_its_end_is_refused_is_held),
        cmocka_unit_test(where_positions_are_known_no_end_is_taken_unproved),
        cmocka_unit_test(a_session_without_a_line_ends_although_nobody_knows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
