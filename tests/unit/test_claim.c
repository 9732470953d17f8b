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

static void who_was_first_is_known_after_a_restart_though_nothing_was_sent(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char group[512];
    claim_group(rig, "run-1", group);
    live_open(&s, group, RIG_ID);
    dirs_append(s.dir, "device.log", "");
    rig_start(rig);
    rig_run(rig, 30000, false);
    claim_plant(rig, ANOTHER_USER);
    rig_run(rig, 60000, false);
    live_close(&s); /* what was planted could now look more alive */
    rig_stop(rig);
    claim_remove(rig, "run-1");
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_true(geteuid() != 0 || rig_count(rig, TRANSPORT_BATCH) == 0);
    rig_delete(rig);
}

static void what_was_planted_first_gives_way_to_a_writer_with_a_lock(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    struct live_session s;
    claim_plant(rig, ANOTHER_USER);
    rig_start(rig);
    rig_run(rig, 120000, false);
    unsigned before = rig_count(rig, TRANSPORT_COMPLETE);
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 0);
    rig_run(rig, 30000, false);
    claim_restart(rig);
    rig_fill(&s, 5);
    rig_run(rig, 30000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), before);
    live_close(&s);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), before + 1);
    rig_delete(rig);
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
        bool foreign = owner && geteuid() == 0;
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), foreign ? 0 : 1);
        if (foreign) { /* only root can say so */
            assert_int_equal(chown(s.dir, 0, 0), 0);
            claim_restart(rig);
            rig_run(rig, 60000, false);
            assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        }
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
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
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
        cmocka_unit_test(who_was_first_is_known_after_a_restart_though_nothing_was_sent),
        cmocka_unit_test(what_was_planted_first_gives_way_to_a_writer_with_a_lock),
        cmocka_unit_test(a_lock_that_is_taken_later_takes_no_session_away),
        cmocka_unit_test(a_copy_of_a_running_session_waits),
        cmocka_unit_test(the_second_goes_on_when_the_first_is_removed),
        cmocka_unit_test(the_same_id_below_two_roots_is_one_session),
        cmocka_unit_test(a_service_lists_all_before_it_reads_a_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
