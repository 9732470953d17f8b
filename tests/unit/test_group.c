/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in a directory that is, or looks like, a session itself. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"

/* What makes a directory a session. */
static const char *const files[][3] = {
    {"device.log", "", NULL},
    {"device.log", "{\"type\":\"x\",\"n\":1}\n", NULL},
    {"device.log", "{\"type\":\"job_start\",\"n\":1}\n{\"type\":\"shutdown\"}\n", NULL},
    {".gpufl-session.json",
     "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
     "\"session_id\":\"run\"}",
     "device.log"},
    {"device.1.log.gz", "", NULL},
    {".gpufl-window.device.1.json", "{}", NULL},
};
#define FILES (sizeof files / sizeof files[0])

static void group_dir(const struct rig *rig, char group[600])
{
    snprintf(group, 600, "%s/run", rig->root);
}

static void group_make(const struct rig *rig, char group[600])
{
    group_dir(rig, group);
    assert_int_equal(mkdir(group, 0755), 0);
}

static void group_plant(const char *group, unsigned which)
{
    dirs_append(group, files[which][0], files[which][1]);
    if (files[which][2]) {
        dirs_append(group, files[which][2], "");
    }
}

/* What is stored is what the file of the session in the group holds. */
static void group_stored(struct rig *rig, const char *id)
{
    char path[300];
    snprintf(path, sizeof path, "run/%s/scope.log", id);
    char *want = rig_file(rig, path);
    char *got = rig_stored(rig, id, "scope");
    assert_string_equal(got, want);
    free(want);
    free(got);
}

static void group_is_present(const struct rig *rig, const char *id)
{
    char path[300];
    snprintf(path, sizeof path, "run/%s", id);
    const struct session *s = session_find(rig->engine->root[0], path);
    assert_non_null(s);
    assert_int_equal(s->presence, SESSION_PRESENT);
}

static void sessions_are_sent_whatever_lies_beside_them(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        struct rig *rig = rig_new();
        struct live_session s;
        char group[600];
        group_make(rig, group);
        group_plant(group, i);
        live_open(&s, group, RIG_ID);
        rig_fill(&s, 5);
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 120000, false);
        group_stored(rig, RIG_ID);
        rig_delete(rig);
    }
}

static void a_running_session_goes_on_when_a_file_is_put_beside_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        struct rig *rig = rig_new();
        struct live_session s;
        struct live_session later;
        char group[600];
        group_make(rig, group);
        live_open(&s, group, RIG_ID);
        live_line(&s, "scope", "job_start", 0);
        rig_start(rig);
        rig_run(rig, 5000, false);
        group_plant(group, i);
        for (int n = 1; n < 10; n++) {
            live_line(&s, "scope", "x", n);
            rig_run(rig, 30000, false);
            group_stored(rig, RIG_ID);
            group_is_present(rig, RIG_ID);
        }
        live_open(&later, group, RIG_ID2);
        live_line(&later, "scope", "job_start", 0);
        rig_run(rig, 120000, false);
        group_stored(rig, RIG_ID2);
        live_close(&later);
        live_close(&s);
        rig_delete(rig);
    }
}

static void a_session_that_begins_in_a_complete_one_is_sent(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    struct live_session inner;
    char group[600];
    live_open(&s, rig->root, "run");
    rig_fill(&s, 5);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 120000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    group_dir(rig, group);
    live_open(&inner, group, RIG_ID);
    live_line(&inner, "scope", "job_start", 0);
    rig_run(rig, 120000, false);
    for (int n = 1; n < 10; n++) {
        live_line(&inner, "scope", "x", n);
        rig_run(rig, 30000, false);
        group_stored(rig, RIG_ID);
        group_is_present(rig, RIG_ID);
    }
    live_close(&inner);
    rig_all_same(rig, "run");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void directories_that_hold_no_session_change_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(5);
    char path[600];
    snprintf(path, sizeof path, "%s/%s/cache", rig->root, RIG_ID);
    assert_int_equal(mkdir(path, 0755), 0);
    rig_start(rig);
    rig_run(rig, 240000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_are_sent_whatever_lies_beside_them),
        cmocka_unit_test(a_running_session_goes_on_when_a_file_is_put_beside_it),
        cmocka_unit_test(a_session_that_begins_in_a_complete_one_is_sent),
        cmocka_unit_test(directories_that_hold_no_session_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
