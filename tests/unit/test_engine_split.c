/* SPDX-License-Identifier: Apache-2.0 */
/* A refused batch is read again to be split, and its file may be another by then. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"

/* "device" is too large, and while it is refused its file goes away. */
static int refuse_and_hide(struct rig *rig, const struct rig_request *r)
{
    char from[600];
    char to[600];
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0 ||
        r->lines <= 3) {
        return RIG_REGISTRY;
    }
    if (rig->mark++ == 0) {
        snprintf(from, sizeof from, "%s/" RIG_ID "/device.log", rig->root);
        snprintf(to, sizeof to, "%s/" RIG_ID "/.hidden", rig->root);
        assert_int_equal(rename(from, to), 0);
    }
    return 413;
}

static void show(const struct rig *rig)
{
    char from[600];
    char to[600];
    snprintf(from, sizeof from, "%s/" RIG_ID "/.hidden", rig->root);
    snprintf(to, sizeof to, "%s/" RIG_ID "/device.log", rig->root);
    assert_int_equal(rename(from, to), 0);
}

static void a_refused_batch_waits_for_its_file(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(20);
    rig->answer = refuse_and_hide;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig->mark, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_true(rig_summary(rig).sessions_blocked > 0);
    show(rig);
    rig_run(rig, 600000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_refused_batch_whose_file_is_another_is_not_split(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(20);
    char path[600];
    char text[80];
    rig->answer = refuse_and_hide;
    rig_start(rig);
    snprintf(path, sizeof path, "%s/" RIG_ID, rig->root);
    while (rig->mark == 0) {
        rig_run(rig, 1, false);
    }
    for (int i = 0; i < 30; i++) { /* at least as long, line for line */
        snprintf(text, sizeof text, "{\"type\":\"job_start\",\"other\":\"%041d\"}\n", i);
        dirs_append(path, "device.log", text);
    }
    rig_run(rig, 600000, false);
    for (unsigned i = 0; i < rig->requests; i++) {
        assert_true(!rig->request[i].raw || !strstr(rig->request[i].raw, "other"));
    }
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    snprintf(path, sizeof path, "%s/" RIG_ID "/device.log", rig->root);
    assert_int_equal(unlink(path), 0);
    show(rig);
    rig_run(rig, 600000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* The same with a sealed file. */
static int refuse_and_hide_sealed(struct rig *rig, const struct rig_request *r)
{
    char from[600];
    char to[600];
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0 ||
        r->lines <= 3) {
        return RIG_REGISTRY;
    }
    if (rig->mark++ == 0) {
        snprintf(from, sizeof from, "%s/" RIG_ID "/device.1.log", rig->root);
        snprintf(to, sizeof to, "%s/" RIG_ID "/.hidden", rig->root);
        assert_int_equal(rename(from, to), 0);
    }
    return 413;
}

static void a_refused_batch_is_not_sent_again_while_its_file_is_not_there(void **state)
{
    (void)state;
    char from[600];
    char to[600];
    struct live_session s;
    struct rig *rig = rig_new();
    rig->answer = refuse_and_hide_sealed;
    live_open(&s, rig->root, RIG_ID);
    for (int i = 0; i < 20; i++) {
        live_line(&s, "device", "x", i);
    }
    live_rotate(&s, "device", 1);
    live_line(&s, "device", "x", 20);
    live_line(&s, "scope", "x", 0);
    rig_start(rig);
    for (int i = 1; i <= 20; i++) {
        live_line(&s, "scope", "x", i); /* its directory is inspected */
        rig_run(rig, 30000, false);
        assert_int_equal(rig->mark, 1);
        assert_int_equal(rig_summary(rig).sessions_kept_back, 1);
        assert_non_null(strstr(rig_summary(rig).held, "a rejected batch cannot be"));
    }
    snprintf(from, sizeof from, "%s/.hidden", s.dir);
    snprintf(to, sizeof to, "%s/device.1.log", s.dir);
    assert_int_equal(rename(from, to), 0);
    live_close(&s);
    rig_run(rig, 600000, false);
    rig_same_as_file(rig, RIG_ID, "scope");
    assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* A batch may have arrived and is then too large; what is sent of it next is refused. */
static int busy_then_too_large(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    if (r->kind != TRANSPORT_BATCH || strcmp(r->channel, "device") != 0) {
        return RIG_REGISTRY;
    }
    rig->mark++;
    rig->sync_ms = rig->mark == 2 ? 60000 : 0; /* the half waits for it */
    return rig->mark == 1 ? 503 : rig->mark == 2 ? 413 : 409;
}

static void a_half_that_a_crash_kept_from_being_sent_is_not_stored(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(20);
    rig->answer = busy_then_too_large;
    rig_start(rig);
    rig_run(rig, 30000, false);
    assert_int_equal(rig->mark, 2);
    rig_stop(rig);
    rig->sync = NULL;
    rig->sync_ms = 0;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(rig->mark > 2);
    assert_int_equal(rig_summary(rig).lines_refused_final, 22);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

static int refuse_all(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && rig->mark ? 400 : RIG_REGISTRY;
}

static void what_a_gateway_refused_goes_on_once_it_is_mended(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(100);
    rig->answer = refuse_all;
    rig->mark = 1;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_SERVER);
    rig->mark = 0;
    rig_run(rig, 3600000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_NONE);
    assert_int_equal(rig_summary(rig).streams_pending, 0);
    assert_int_equal(rig_summary(rig).lines_acked + rig_summary(rig).ranges_quarantined,
                     3 * 102);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_batch_waits_for_its_file),
        cmocka_unit_test(a_refused_batch_is_not_sent_again_while_its_file_is_not_there),
        cmocka_unit_test(a_refused_batch_whose_file_is_another_is_not_split),
        cmocka_unit_test(a_half_that_a_crash_kept_from_being_sent_is_not_stored),
        cmocka_unit_test(what_a_gateway_refused_goes_on_once_it_is_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
