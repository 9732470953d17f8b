/* SPDX-License-Identifier: Apache-2.0 */
/* Answers after which the engine sends the same range again. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/rig_session.h"

static int fail_five_times(struct rig *rig, const struct rig_request *r)
{
    static const int status[] = {500, 503, 429, 0, RIG_LOST};
    if (r->kind != TRANSPORT_BATCH || rig->mark >= 5) {
        return RIG_REGISTRY;
    }
    return status[rig->mark++];
}

static void failures_are_retried_under_the_same_id_and_stored_once(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->answer = fail_five_times;
    rig_start(rig);
    rig_run(rig, 600000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    for (unsigned i = 0; i < rig->requests; i++) {
        for (unsigned k = 0; k < i; k++) {
            const struct rig_request *a = &rig->request[i];
            const struct rig_request *b = &rig->request[k];
            if (a->kind == TRANSPORT_BATCH && strcmp(a->id, b->id) == 0) {
                assert_int_equal(a->crc32, b->crc32);
                assert_int_equal(a->sequence, b->sequence);
            }
        }
    }
    rig_delete(rig);
}

static int wait_a_minute(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && rig->mark++ == 0 ? 503 : RIG_REGISTRY;
}

static void a_servers_delay_is_the_least_wait(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(1);
    rig->answer = wait_a_minute;
    rig->retry_after_ms = 60000;
    rig_start(rig);
    rig_run(rig, 600000, true);
    unsigned first = 1; /* behind the probe */
    uint64_t next_ms = 0;
    for (unsigned i = first + 1; i < rig->requests && !next_ms; i++) {
        if (rig->request[i].at_ms > rig->request[first].at_ms) {
            next_ms = rig->request[i].at_ms;
        }
    }
    assert_true(next_ms - rig->request[first].at_ms >= 60000);
    rig_delete(rig);
}

static int no_zstd(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return strcmp(r->encoding, "zstd") == 0 ? 415 : RIG_REGISTRY;
}

static void after_415_the_same_id_goes_out_as_gzip(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->answer = no_zstd;
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    assert_string_equal(rig->request[1].encoding, "zstd");
    bool again = false;
    for (unsigned i = 2; i < rig->requests; i++) {
        again = again || (strcmp(rig->request[i].id, rig->request[1].id) == 0 &&
                          strcmp(rig->request[i].encoding, "gzip") == 0);
    }
    assert_true(again);
    rig_delete(rig);
}

static void an_origin_that_declares_nothing_gets_gzip_without_identity(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->version_body = "";
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    for (unsigned i = 1; i < rig->requests; i++) {
        if (rig->request[i].kind == TRANSPORT_BATCH) {
            assert_string_equal(rig->request[i].encoding, "gzip");
            assert_false(rig->request[i].window_headers);
            assert_int_equal(strlen(rig->request[i].id), 36); /* Idempotency-Key */
        }
    }
    rig_delete(rig);
}

static int refuse_key(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 401 : RIG_REGISTRY;
}

static void a_refused_key_holds_everything_and_loses_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    rig->answer = refuse_key;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_AUTH);
    assert_int_equal(rig_summary(rig).lines_acked, 0);
    assert_true(rig_count(rig, TRANSPORT_BATCH) < 60); /* slow retries */
    rig->mark = 1;
    engine_retry_now(rig->engine);
    rig_run(rig, 60000, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).hold, HOLD_NONE);
    rig_delete(rig);
}

static int fail_one_stream(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strcmp(r->session, RIG_ID2) == 0 ? 500
                                                                          : RIG_REGISTRY;
}

static void a_batch_that_always_fails_is_in_nobodys_way(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(10);
    struct live_session s;
    live_open(&s, rig->root, RIG_ID2);
    live_line(&s, "device", "x", 1);
    live_close(&s);
    rig->answer = fail_one_stream;
    rig_start(rig);
    rig_run(rig, 120000, false);
    rig_all_same(rig, RIG_ID);
    struct live_session more;
    live_open(&more, rig->root, "33333333-3333-4333-8333-333333333333");
    rig_fill(&more, 5);
    live_close(&more);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, false);
    rig_all_same(rig, more.id);
    rig_run(rig, 3600000, false);
    unsigned tries = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        tries += strcmp(rig->request[i].session, RIG_ID2) == 0;
    }
    assert_true(tries < 120); /* its own backoff reaches minutes */
    assert_int_equal(rig_summary(rig).streams_stuck, 1);
    rig_delete(rig);
}

static int at_its_limit(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && !rig->mark ? 402 : RIG_REGISTRY;
}

static void a_workspace_limit_holds_the_session(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3);
    rig->answer = at_its_limit;
    rig_start(rig);
    rig_run(rig, 300000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_QUOTA);
    assert_int_equal(rig_summary(rig).lines_acked, 0);
    rig->mark = 1;
    rig_run(rig, 300000, true);
    rig_all_same(rig, RIG_ID);
    rig_delete(rig);
}

static int limit_of_some(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strncmp(r->session, "limit", 5) == 0
               ? 402
               : RIG_REGISTRY;
}

static void sessions_at_their_limit_are_in_nobodys_way(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    for (int i = 0; i < 12; i++) {
        char id[40];
        snprintf(id, sizeof id, "limit%d", i);
        live_open(&s, rig->root, id);
        rig_fill(&s, 1);
        live_close(&s);
    }
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 5);
    live_close(&s);
    rig->answer = limit_of_some;
    rig_start(rig);
    rig_run(rig, 30000, false);
    rig_all_same(rig, RIG_ID);
    assert_true(rig->loops < 2000);
    rig_delete(rig);
}

static void an_outage_costs_few_requests_and_no_spinning(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(50);
    rig->answer = refuse_key;
    rig_start(rig);
    rig_run(rig, 3600000, false);
    assert_true(rig->requests < 300);
    assert_true(rig->loops < 5000);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_retried_under_the_same_id_and_stored_once),
        cmocka_unit_test(a_servers_delay_is_the_least_wait),
        cmocka_unit_test(after_415_the_same_id_goes_out_as_gzip),
        cmocka_unit_test(an_origin_that_declares_nothing_gets_gzip_without_identity),
        cmocka_unit_test(a_batch_that_always_fails_is_in_nobodys_way),
        cmocka_unit_test(an_outage_costs_few_requests_and_no_spinning),
        cmocka_unit_test(a_refused_key_holds_everything_and_loses_nothing),
        cmocka_unit_test(a_workspace_limit_holds_the_session),
        cmocka_unit_test(sessions_at_their_limit_are_in_nobodys_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
