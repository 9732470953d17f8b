/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an offer after restarts, and when it has to wait. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/disk.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static bool is_device(const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && strcmp(r->channel, "device") == 0;
}

/* The first batch of "device" is stored, but its answer is lost; then the session is
 * closed to it. */
static int lose_then_close(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return !is_device(r) || r->sequence > 1 ? RIG_REGISTRY : rig->mark ? 409 : RIG_LOST;
}

static void what_may_be_stored_is_so_after_two_restarts(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(0);
    rig->answer = lose_then_close;
    rig_start(rig);
    rig_run(rig, 50, false);
    rig->mark = 1;
    for (int restarts = 0; restarts < 2; restarts++) {
        rig_stop(rig);
        rig_start(rig);
    }
    rig_run(rig, 600000, true);
    assert_int_equal(rig_summary(rig).lines_refused_final, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static int too_large_for_device(struct rig *rig, const struct rig_request *r)
{
    rig->silent = r->kind == TRANSPORT_BATCH && !rig->mark;
    return is_device(r) && rig->mark && r->lines > 3 ? 413 : RIG_REGISTRY;
}

/* The record of its attempt is gone, as no sync waits for that. */
static void a_stored_batch_whose_attempt_power_loss_hid_is_stored_once(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(15);
    rig->answer = too_large_for_device;
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_true(rig->silent);
    disk_crash(DISK_FORGETS);
    rig_stop(rig);
    disk_restore();
    rig->silent = false;
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).lines_acked, 3 * 17);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static int busy(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 503 : RIG_REGISTRY;
}

static void nothing_is_offered_again_while_the_log_directory_is_away(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    char elsewhere[512];
    snprintf(elsewhere, sizeof elsewhere, "%s.away", rig->root);
    rig->answer = busy;
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(rename(rig->root, elsewhere), 0);
    rig_run(rig, 120000, false);
    assert_int_equal(rig_summary(rig).roots_away, 1);
    rig->mark = 1;
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    rig_run(rig, 120000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), before);
    assert_int_equal(rename(elsewhere, rig->root), 0);
    rig_run(rig, 600000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_stored_is_so_after_two_restarts),
        cmocka_unit_test(a_stored_batch_whose_attempt_power_loss_hid_is_stored_once),
        cmocka_unit_test(nothing_is_offered_again_while_the_log_directory_is_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
