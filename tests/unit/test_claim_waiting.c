/* SPDX-License-Identifier: Apache-2.0 */
/* Which directory has a session id, if one of them waits for its turn because enough
 * sessions are open. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

#define ANOTHER_USER 12345
#define LIVE         70 /* more than are open before others wait */

static void waiting_live(const struct rig *rig, struct live_session live[LIVE])
{
    for (unsigned n = 0; n < LIVE; n++) {
        char id[40];
        ended_id(n, id);
        live_open(&live[n], rig->root, id);
        live_line(&live[n], "device", "x", 1);
    }
}

/* A session that is complete, and as many running ones as make others wait. */
static struct rig *waiting_rig(struct live_session live[LIVE])
{
    struct rig *rig = rig_ended_session(3);
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    waiting_live(rig, live);
    rig_run(rig, 60000, false);
    rig_stop(rig);
    return rig;
}

static void waiting_delete(struct rig *rig, struct live_session live[LIVE])
{
    for (unsigned n = 0; n < LIVE; n++) {
        live_close(&live[n]);
    }
    rig_delete(rig);
}

static void waiting_command(const char *command, const char *from, const char *to)
{
    char text[1600];
    snprintf(text, sizeof text, "%s '%s/" RIG_ID "' '%s/'", command, from, to);
    assert_int_equal(system(text), 0);
}

static void waiting_group(const char *root, const char *group, char path[600])
{
    snprintf(path, 600, "%s/%s", root, group);
    assert_true(mkdir(path, 0777) == 0);
}

/* What is found before the backend answers waits for its turn. Nothing more is sent of
 * the session that is complete. */
static void waiting_sends_nothing(struct rig *rig, unsigned sent, unsigned blocked)
{
    rig->silent = true;
    rig_run(rig, 15000, false);
    rig->silent = false;
    rig_run(rig, 120000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    assert_int_equal(rig_summary(rig).sessions_blocked, blocked);
}

static void a_complete_session_that_was_moved_is_not_sent_again(void **state)
{
    (void)state;
    static struct live_session live[LIVE];
    struct rig *rig = waiting_rig(live);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    char group[600];
    waiting_group(rig->root, "archive", group);
    waiting_command("mv", rig->root, group);
    rig_start(rig);
    waiting_sends_nothing(rig, sent, 0);
    waiting_delete(rig, live);
}

static void a_copy_of_a_complete_session_is_not_sent(void **state)
{
    (void)state;
    static struct live_session live[LIVE];
    struct rig *rig = waiting_rig(live);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    char group[600];
    waiting_group(rig->root, "backup", group);
    waiting_command("cp -a", rig->root, group);
    rig_start(rig);
    waiting_sends_nothing(rig, sent, 1);
    waiting_delete(rig, live);
}

static void a_planted_directory_adds_nothing_to_a_complete_session(void **state)
{
    (void)state;
    static struct live_session live[LIVE];
    struct rig *rig = waiting_rig(live);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    struct live_session evil;
    char group[600];
    waiting_group(rig->root, "evil", group);
    live_open(&evil, group, RIG_ID);
    live_line(&evil, "sass", "forged", 1);
    live_close(&evil);
    assert_true(geteuid() != 0 || chown(evil.dir, ANOTHER_USER, ANOTHER_USER) == 0);
    rig_start(rig);
    waiting_sends_nothing(rig, sent, 1);
    char *sass = rig_stored(rig, RIG_ID, "sass");
    assert_string_equal(sass, "");
    free(sass);
    waiting_delete(rig, live);
}

static void waiting_add_root(struct rig *rig, const char *root)
{
    char why[512];
    assert_int_equal(engine_add_root(rig->engine, root, &rig->channels, why), GPUFL_OK);
}

/* Of the copy right below the root, which is asked first, nothing was sent. */
static void copies_below_another_root_are_not_sent(void **state)
{
    (void)state;
    for (unsigned copies = 1; copies <= 2; copies++) {
        static struct live_session live[LIVE];
        struct rig *rig = rig_new();
        struct live_session s;
        char group[600];
        char *second = dirs_make();
        waiting_live(rig, live);
        live_open(&s, second, RIG_ID);
        rig_fill(&s, 3);
        live_close(&s);
        rig_start(rig);
        waiting_add_root(rig, second);
        rig_run(rig, 60000, false);
        unsigned sent = rig_count(rig, TRANSPORT_BATCH);
        rig_stop(rig);
        waiting_group(rig->root, "g", group);
        waiting_command("cp -a", second, group);
        if (copies > 1) {
            waiting_command("cp -a", second, rig->root);
        }
        rig_start(rig);
        waiting_add_root(rig, second);
        waiting_sends_nothing(rig, sent, copies);
        waiting_delete(rig, live);
        dirs_remove(second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_session_that_was_moved_is_not_sent_again),
        cmocka_unit_test(a_copy_of_a_complete_session_is_not_sent),
        cmocka_unit_test(a_planted_directory_adds_nothing_to_a_complete_session),
        cmocka_unit_test(copies_below_another_root_are_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
