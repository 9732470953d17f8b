/* SPDX-License-Identifier: Apache-2.0 */
/* Which of several directories has a session id. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

#define ANOTHER_USER 12345

/* `<root>/<group>`, for live_open. */
static void claim_group(const struct rig *rig, const char *group, char path[512])
{
    snprintf(path, 512, "%s/%s", rig->root, group);
    assert_true(mkdir(path, 0777) == 0);
}

/* One line that ends a session, as anybody can write it, in `<root>/evil/<id>`. */
static void claim_plant(const struct rig *rig, uid_t user)
{
    char path[600];
    char line[128];
    claim_group(rig, "evil", path);
    snprintf(path, sizeof path, "%s/evil/" RIG_ID, rig->root);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(line, sizeof line,
             "{\"type\":\"shutdown\",\"session_id\":\"" RIG_ID "\"}\n");
    dirs_append(path, "sass.log", line);
    assert_true(geteuid() != 0 || chown(path, user, user) == 0);
}

static void claim_remove(const struct rig *rig, const char *path)
{
    char full[700];
    snprintf(full, sizeof full, "%s/%s", rig->root, path);
    dirs_remove(strdup(full));
}

static void claim_restart(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
}

static void claim_nothing_was_planted(struct rig *rig)
{
    char *sass = rig_stored(rig, RIG_ID, "sass");
    assert_string_equal(sass, "");
    free(sass);
}

/* What is stored is what lies below \p group. */
static void claim_is_stored(struct rig *rig, const char *group)
{
    char path[128];
    snprintf(path, sizeof path, "%s/" RIG_ID "/device.log", group);
    char *want = rig_file(rig, path);
    char *got = rig_stored(rig, RIG_ID, "device");
    assert_string_equal(got, want);
    free(want);
    free(got);
}

static void a_planted_directory_does_not_end_a_session(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    claim_plant(rig, ANOTHER_USER);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_fill(&s, 5);
    live_close(&s);
    rig_run(rig, 60000, false);
    rig_all_same(rig, RIG_ID);
    claim_nothing_was_planted(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    claim_remove(rig, "evil");
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    rig_delete(rig);
}

static void a_session_that_is_complete_gets_no_more_lines_from_others(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    claim_restart(rig);
    claim_plant(rig, ANOTHER_USER);
    rig_run(rig, 60000, false);
    claim_remove(rig, RIG_ID);
    rig_run(rig, 60000, false);
    claim_restart(rig);
    rig_run(rig, 60000, false);
    claim_nothing_was_planted(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void a_complete_session_of_a_group_is_known_after_a_restart(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char group[512];
    claim_group(rig, "run-1", group);
    live_open(&s, group, RIG_ID);
    rig_fill(&s, 3);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_stop(rig);
    claim_plant(rig, ANOTHER_USER);
    rig_start(rig);
    rig_run(rig, 60000, false);
    claim_nothing_was_planted(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

/* Whoever appeared first, and whichever lies below the other: all of that can be forged.
 */
static void directories_of_two_users_wait_while_nothing_was_sent_of_either(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    static const char *const group[2][2] = {{"run-1", "."}, {".", "evil"}};
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = rig_new();
        struct live_session s;
        struct live_session evil;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", rig->root, group[i][0]);
        assert_true(mkdir(path, 0777) == 0 || i == 1);
        live_open(&s, path, RIG_ID);
        dirs_append(s.dir, "device.log", "");
        rig->config.service = true;
        rig_start(rig);
        rig_run(rig, 30000, false);
        snprintf(path, sizeof path, "%s/%s", rig->root, group[i][1]);
        assert_true(mkdir(path, 0777) == 0 || i == 0);
        live_open(&evil, path, RIG_ID);
        live_line(&evil, "sass", "forged", 1);
        assert_int_equal(chown(evil.dir, ANOTHER_USER, ANOTHER_USER), 0);
        rig_run(rig, 60000, false);
        claim_restart(rig);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 2);
        live_close(&evil);
        claim_remove(rig, i == 0 ? RIG_ID : "evil");
        rig_fill(&s, 3);
        live_close(&s);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        claim_is_stored(rig, group[i][0]);
        claim_nothing_was_planted(rig);
        rig_delete(rig);
    }
}

/* In the 1.1 layout, whose writer takes no lock. */
static void a_lock_does_not_take_a_session_without_from_another_user(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (uint64_t wait_ms = 5000; wait_ms <= 120000;
         wait_ms += 115000) { /* begun, and complete */
        struct rig *rig = rig_new();
        struct live_session evil;
        claim_plant(rig, ANOTHER_USER);
        rig->config.service = true;
        rig_start(rig);
        rig_run(rig, wait_ms, false);
        unsigned sent = rig_count(rig, TRANSPORT_BATCH);
        assert_int_equal(sent, 1);
        live_open(&evil, rig->root, RIG_ID);
        live_line(&evil, "device", "forged", 1);
        rig_run(rig, 60000, false);
        claim_restart(rig);
        rig_run(rig, 60000, false);
        live_close(&evil);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
        assert_true(rig_summary(rig).sessions_blocked > 0);
        rig_delete(rig);
    }
}

static void a_lock_that_is_taken_later_takes_no_session_away(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    struct live_session evil;
    char group[512];
    rig_start(rig);
    rig_run(rig, 200, false); /* it is known, and not all of it is sent */
    claim_group(rig, "evil", group);
    live_open(&evil, group, RIG_ID);
    live_line(&evil, "system", "forged", 1);
    assert_true(geteuid() != 0 || chown(evil.dir, ANOTHER_USER, ANOTHER_USER) == 0);
    rig_run(rig, 60000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    live_close(&evil);
    rig_delete(rig);
}

static void a_copy_of_a_running_session_waits(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    struct live_session copy;
    char group[512];
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 0);
    rig_start(rig);
    rig_run(rig, 5000, false);
    claim_group(rig, "backup", group);
    live_open(&copy, group, RIG_ID);
    live_line(&copy, "device", "job_start", 0);
    live_close(&copy);
    rig_run(rig, 60000, false);
    live_line(&s, "device", "x", 1);
    rig_run(rig, 60000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2);
    live_close(&s);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_delete(rig);
}

/* As a move to another file system and back: it is another directory each time. */
static void claim_copy_over(const struct rig *rig, const char *from, const char *to)
{
    char command[1600];
    snprintf(command, sizeof command, "cp -a '%s/%s' '%s/%s' && rm -r '%s/%s'", rig->root,
             from, rig->root, to, rig->root, from);
    assert_int_equal(system(command), 0);
}

/* Complete sessions are forgotten after 7 days, others after 30. */
static void what_was_copied_away_is_not_sent_again_however_long_it_takes(void **state)
{
    (void)state;
    for (int complete = 0; complete < 2; complete++) {
        struct rig *rig = rig_new();
        struct live_session s;
        char group[512];
        live_open(&s, rig->root, RIG_ID);
        rig_fill(&s, 3);
        if (complete) {
            live_close(&s);
        }
        rig_start(rig);
        rig_run(rig, 60000, complete);
        unsigned sent = rig_count(rig, TRANSPORT_BATCH);
        claim_group(rig, "archive", group);
        claim_copy_over(rig, RIG_ID, "archive/" RIG_ID);
        for (int day = 0; day < 40; day++) {
            rig_step_wall_s(86400);
            rig_run(rig, 60000, false);
            if (day == 20) {
                claim_restart(rig);
            }
        }
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        claim_copy_over(rig, "archive/" RIG_ID, RIG_ID);
        if (!complete) {
            live_close(&s);
        }
        rig_run(rig, 60000, false);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_same_as_file(rig, RIG_ID, "device");
        rig_delete(rig);
    }
}

/* The way out: one of the two is removed. */
static void the_second_goes_on_when_the_first_is_removed(void **state)
{
    (void)state;
    for (int owner = 0; owner <= ANOTHER_USER; owner += ANOTHER_USER) {
        struct rig *rig = rig_new();
        struct live_session first;
        struct live_session s;
        char group[512];
        live_open(&first, rig->root, RIG_ID);
        rig_start(rig);
        dirs_append(first.dir, "device.log", "");
        rig_run(rig, 5000, false);
        claim_group(rig, "moved", group);
        live_open(&s, group, RIG_ID);
        rig_fill(&s, 3);
        live_close(&s);
        assert_true(geteuid() != 0 || chown(s.dir, (uid_t)owner, 0) == 0);
        rig_run(rig, 30000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
        claim_remove(rig, RIG_ID);
        live_close(&first);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void the_same_id_below_two_roots_is_one_session(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    struct live_session other;
    char why[512];
    char *second = dirs_make();
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    live_open(&other, second, RIG_ID);
    live_line(&other, "device", "forged", 1);
    live_close(&other);
    assert_int_equal(engine_add_root(rig->engine, second, &rig->channels, why), GPUFL_OK);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    live_close(&s);
    rig_delete(rig);
    dirs_remove(second);
}

/* Whatever the order in which the directories are listed. */
static void a_service_lists_all_before_it_reads_a_new_one(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    static const char *const group[] = {"a", "b", "run-1", "zz"};
    for (unsigned i = 0; i < 4; i++) {
        struct rig *rig = rig_new();
        struct live_session s;
        char path[512];
        claim_plant(rig, ANOTHER_USER);
        claim_group(rig, group[i], path);
        live_open(&s, path, RIG_ID);
        live_line(&s, "device", "x", 1);
        rig->config.service = true;
        rig_start(rig);
        rig_run(rig, 60000, false);
        claim_nothing_was_planted(rig);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 2);
        claim_remove(rig, "evil");
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
        claim_is_stored(rig, group[i]);
        live_close(&s);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_directory_does_not_end_a_session),
        cmocka_unit_test(a_session_that_is_complete_gets_no_more_lines_from_others),
        cmocka_unit_test(a_complete_session_of_a_group_is_known_after_a_restart),
        cmocka_unit_test(directories_of_two_users_wait_while_nothing_was_sent_of_either),
        cmocka_unit_test(a_lock_does_not_take_a_session_without_from_another_user),
        cmocka_unit_test(a_lock_that_is_taken_later_takes_no_session_away),
        cmocka_unit_test(a_copy_of_a_running_session_waits),
        cmocka_unit_test(what_was_copied_away_is_not_sent_again_however_long_it_takes),
        cmocka_unit_test(the_second_goes_on_when_the_first_is_removed),
        cmocka_unit_test(the_same_id_below_two_roots_is_one_session),
        cmocka_unit_test(a_service_lists_all_before_it_reads_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
