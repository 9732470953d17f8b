/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted and compared while another user's directory has the place of a
 * complete session. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/engine/backlog.h"

static void place_run(const struct rig *rig, const char *script)
{
    char command[2048];
    snprintf(command, sizeof command, "cd '%s' && ID=" RIG_ID " && %s", rig->root,
             script);
    assert_int_equal(system(command), 0);
}

/* Complete, or its writer lives. */
static struct rig *place_begin(struct live_session *s, bool complete)
{
    struct rig *rig = rig_new();
    live_open(s, rig->root, RIG_ID);
    rig_fill(s, 3);
    rig_start(rig);
    rig_run(rig, 5000, false);
    if (complete) {
        live_close(s);
        rig_run(rig, 90000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
    }
    return rig;
}

static void place_is_told(const struct rig *rig, unsigned blocked)
{
    struct backlog backlog;
    engine_backlog(rig->engine, &backlog);
    assert_int_equal(backlog.complete, 1);
    assert_int_equal(backlog.blocked, blocked);
    assert_int_equal(rig_summary(rig).sessions_blocked, blocked);
    assert_int_equal(rig_summary(rig).sessions_kept_back, blocked);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
}

static void its_place_counts_as_blocked_until_it_is_free(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct live_session s;
    struct rig *rig = place_begin(&s, true);
    place_is_told(rig, 0);
    place_run(rig, "mv $ID .kept && mkdir $ID && echo x > $ID/device.log && "
                   "chown -R 12345 $ID");
    rig_run(rig, 180000, false);
    place_is_told(rig, 1);
    place_run(rig, "rm -r $ID");
    rig_run(rig, 180000, false);
    place_is_told(rig, 0);
    rig_delete(rig);
}

/* While the other one was there, its sizes were taken for those of the session. */
static void what_comes_back_with_the_size_of_the_other_one_is_sent(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct live_session s;
    struct rig *rig = place_begin(&s, true);
    place_run(rig, "mv $ID .kept && cp -a .kept $ID && "
                   "echo '{\"type\":\"y\",\"session_id\":\"'$ID'\",\"n\":9}' >> "
                   "$ID/device.log && chown -R 12345 $ID");
    rig_run(rig, 180000, false);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    place_run(rig, "rm -r $ID && mv .kept $ID");
    live_line(&s, "device", "x", 9);
    rig_run(rig, 180000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

/* The directory that has the id is not there: what is there is neither. */
static void a_copy_is_told_to_wait_for_the_one_whose_place_was_taken(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int complete = 0; complete < 2; complete++) {
        struct live_session s;
        struct rig *rig = place_begin(&s, complete);
        place_run(rig, "mv $ID .kept && mkdir g $ID && echo x > $ID/device.log && "
                       "chown -R 12345 $ID");
        rig_run(rig, 90000, false);
        place_run(rig, "cp -a .kept g/$ID");
        rig_run(rig, 90000, false);
        const struct session *copy = session_find(ended_root(rig), "g/" RIG_ID);
        assert_non_null(copy);
        assert_true(copy->held);
        assert_int_equal(copy->hold_reason, HELD_MOVED);
        if (!complete) {
            live_close(&s);
        }
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_place_counts_as_blocked_until_it_is_free),
        cmocka_unit_test(what_comes_back_with_the_size_of_the_other_one_is_sent),
        cmocka_unit_test(a_copy_is_told_to_wait_for_the_one_whose_place_was_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
