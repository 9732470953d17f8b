/* SPDX-License-Identifier: Apache-2.0 */
/* Answers by which the backend refuses what the engine sent. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static int refuse_large(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && r->lines > 3 ? 413 : RIG_REGISTRY;
}

static void a_batch_that_is_too_large_is_split(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(50);
    rig->answer = refuse_large;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    rig_delete(rig);
}

static int refuse_poison(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    bool poisoned = r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 &&
                    strstr(r->raw, "\"n\":33}");
    return poisoned ? 400 : RIG_REGISTRY;
}

static void one_poison_line_is_quarantined_alone(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(100);
    rig->answer = refuse_poison;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_same_as_file(rig, RIG_ID, "system");
    char *scope = rig_stored(rig, RIG_ID, "scope");
    assert_non_null(strstr(scope, "\"n\":32}"));
    assert_null(strstr(scope, "\"n\":33}"));
    assert_non_null(strstr(scope, "\"n\":34}"));
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    /* A restart remembers it and sends nothing again. */
    unsigned before = rig_count(rig, TRANSPORT_BATCH);
    rig_stop(rig);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), before);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    free(scope);
    rig_delete(rig);
}

static int refuse_all(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH ? 400 : RIG_REGISTRY;
}

static void a_gateway_that_refuses_everything_shreds_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(200);
    rig->answer = refuse_all;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 8);
    assert_int_equal(rig_summary(rig).hold, HOLD_SERVER);
    assert_true(rig_summary(rig).streams_pending > 0);
    rig_delete(rig);
}

static int closed_session(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind == TRANSPORT_BATCH && strcmp(r->channel, "scope") == 0 ? 409
                                                                          : RIG_REGISTRY;
}

static void lines_for_a_closed_session_are_counted_as_not_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = closed_session;
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).lines_refused_final, 5);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

static int lose_then_final(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->reply_body = "session already finalized";
    return rig->mark++ == 0 ? RIG_LOST : strstr(r->raw, "job_start") ? 409 : RIG_REGISTRY;
}

static void a_closed_session_after_a_lost_answer_means_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = lose_then_final;
    rig_start(rig);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).lines_refused_final, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_is_too_large_is_split),
        cmocka_unit_test(one_poison_line_is_quarantined_alone),
        cmocka_unit_test(a_gateway_that_refuses_everything_shreds_nothing),
        cmocka_unit_test(lines_for_a_closed_session_are_counted_as_not_stored),
        cmocka_unit_test(a_closed_session_after_a_lost_answer_means_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
