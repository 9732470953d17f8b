/* SPDX-License-Identifier: Apache-2.0 */
/* Full batches that wait beside the budget of requests: whom they keep back, and who
 * keeps them back. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"

#define LINES   10
#define BATCHES 200
#define BIG_MAX 30
#define OTHER   12345u

static unsigned sent_of(const struct rig *rig, const char *session)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        n += rig->request[i].kind == TRANSPORT_BATCH &&
             strcmp(rig->request[i].session, session) == 0;
    }
    return n;
}

/* Of full batches. */
static void open_full(const struct rig *rig, struct live_session *s, const char *id,
                      unsigned batches)
{
    live_open(s, rig->root, id);
    for (unsigned n = 0; n < batches * LINES; n++) {
        live_line(s, "device", "x", (int)n);
    }
}

static void open_big(const struct rig *rig, struct live_session big[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char id[40];
        snprintf(id, sizeof id, "big-%u", i);
        open_full(rig, &big[i], id, BATCHES);
    }
}

static void close_all(struct live_session s[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        live_close(&s[i]);
    }
}

static struct rig *rig_of_small_batches(uint64_t answer_ms)
{
    struct rig *rig = rig_new();
    rig->config.max_batch_lines = LINES;
    rig->answer_ms = answer_ms;
    return rig;
}

static int refuse_big(struct rig *rig, const struct rig_request *request)
{
    bool big =
        request->kind == TRANSPORT_BATCH && strncmp(request->session, "big", 3) == 0;
    return big && rig->mark ? rig->mark : RIG_REGISTRY;
}

static void what_waits_for_its_workspace_keeps_no_full_batch_back(void **state)
{
    (void)state;
    static struct live_session big[18];
    struct rig *rig = rig_of_small_batches(5);
    struct live_session other;
    rig->answer = refuse_big;
    open_big(rig, big, 18);
    open_full(rig, &other, RIG_ID, BATCHES);
    rig_start(rig);
    rig_run(rig, 200, false);
    rig->mark = 402; /* each is tried again after a minute */
    rig_run(rig, 20000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&other);
    close_all(big, 18);
    rig_delete(rig);
}

static void what_fails_of_one_owner_keeps_no_full_batch_of_another_back(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    static struct live_session big[BIG_MAX];
    struct rig *rig = rig_of_small_batches(20);
    struct live_session other;
    rig->answer = refuse_big;
    open_big(rig, big, BIG_MAX);
    for (unsigned i = 0; i < BIG_MAX; i++) {
        assert_int_equal(chown(big[i].dir, OTHER, OTHER), 0);
    }
    open_full(rig, &other, RIG_ID, BATCHES);
    rig_start(rig);
    rig_run(rig, 1000, false);
    rig->mark = 503;
    unsigned loops = rig->loops;
    rig_run(rig, 10000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_in_range(rig->loops - loops, 1, 2 * rig->requests);
    live_close(&other);
    close_all(big, BIG_MAX);
    rig_delete(rig);
}

static int refuse_one_small(struct rig *rig, const struct rig_request *request)
{
    bool one = rig->mark && request->kind == TRANSPORT_BATCH && request->lines < LINES;
    rig->mark -= one;
    return one ? 503 : RIG_REGISTRY;
}

/* It is sent again when there is a token, and till then without haste. */
static void a_small_batch_that_failed_keeps_no_full_one_back(void **state)
{
    (void)state;
    static struct live_session small[20];
    static struct live_session big[2];
    struct rig *rig = rig_of_small_batches(20);
    rig->config.max_requests_per_second = 1;
    rig->answer = refuse_one_small;
    for (unsigned i = 0; i < 20; i++) {
        char id[40];
        snprintf(id, sizeof id, "small-%u", i);
        live_open(&small[i], rig->root, id);
    }
    open_big(rig, big, 2);
    rig_start(rig);
    rig_run(rig, 1000, false);
    for (unsigned i = 0; i < 20; i++) {
        live_line(&small[i], "system", "x", 1);
        engine_touch(rig->engine, 0, small[i].id);
    }
    rig->mark = 1;
    for (int i = 0; rig->mark && i < 100; i++) {
        rig_run(rig, 20, false);
    }
    assert_int_equal(rig->mark, 0);
    rig_run(rig, 500, false); /* the pause after a failure */
    unsigned loops = rig->loops;
    unsigned requests = rig->requests;
    rig_run(rig, 400, false);
    assert_in_range(rig->requests - requests, 10, 50);
    assert_in_range(rig->loops - loops, 10, 50);
    close_all(small, 20);
    close_all(big, 2);
    rig_delete(rig);
}

/* Answers that take long, not the budget, decide how much is sent: there is always a
 * token, and a live line for it. */
static void live_lines_without_end_do_not_keep_full_batches_back(void **state)
{
    (void)state;
    static struct live_session live[60];
    struct rig *rig = rig_of_small_batches(300);
    struct live_session big;
    rig->config.max_batch_lines = 4 * LINES; /* live lines do not fill one */
    open_full(rig, &big, RIG_ID, 4 * BATCHES);
    for (unsigned i = 0; i < 60; i++) {
        char id[40];
        snprintf(id, sizeof id, "live-%u", i);
        live_open(&live[i], rig->root, id);
    }
    rig_start(rig);
    for (int n = 0; n < 200; n++) {
        for (unsigned i = 0; i < 60; i++) {
            live_line(&live[i], "system", "x", n);
            engine_touch(rig->engine, 0, live[i].id);
        }
        rig_run(rig, 100, false);
    }
    assert_in_range(sent_of(rig, RIG_ID), rig->requests / 16, rig->requests / 8);
    live_close(&big);
    close_all(live, 60);
    rig_delete(rig);
}

static void all_go_on_when_there_is_no_limit_any_more(void **state)
{
    (void)state;
    static struct live_session big[BIG_MAX];
    struct rig *rig = rig_of_small_batches(20);
    unsigned before[BIG_MAX];
    open_big(rig, big, BIG_MAX);
    rig_start(rig);
    rig_run(rig, 2000, false);
    for (unsigned i = 0; i < BIG_MAX; i++) {
        before[i] = sent_of(rig, big[i].id);
    }
    engine_set_pace(rig->engine, 500, 0);
    rig_run(rig, 2000, false);
    for (unsigned i = 0; i < BIG_MAX; i++) {
        assert_in_range(sent_of(rig, big[i].id) - before[i], 10, BATCHES);
    }
    close_all(big, BIG_MAX);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_for_its_workspace_keeps_no_full_batch_back),
        cmocka_unit_test(what_fails_of_one_owner_keeps_no_full_batch_of_another_back),
        cmocka_unit_test(a_small_batch_that_failed_keeps_no_full_one_back),
        cmocka_unit_test(live_lines_without_end_do_not_keep_full_batches_back),
        cmocka_unit_test(all_go_on_when_there_is_no_limit_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
