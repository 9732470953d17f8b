/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions the backend is told of as alive, when, and at whose cost. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/protocol.h"
#include "tests/support/rig_session.h"

#define AFTER_MS 60000u
#define MANY     300

/* A rig whose backend wants to be told, with one session of a line in each channel. */
static struct rig *open_rig(struct live_session *live)
{
    struct rig *rig = rig_new();
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"live_windows\":true,\"window_registry\":true,"
                        "\"alive_after_ms\":60000}";
    live_open(live, rig->root, RIG_ID);
    live_line(live, "device", "x", 1);
    live_line(live, "scope", "x", 1);
    live_line(live, "system", "x", 1);
    return rig;
}

static void close_rig(struct rig *rig, struct live_session *live)
{
    live_close(live);
    rig_delete(rig);
}

/* The n-th request that tells, from 0; NULL if there were fewer. */
static const struct rig_request *told(const struct rig *rig, unsigned n)
{
    for (unsigned i = 0; i < rig->requests; i++) {
        if (rig->request[i].kind == TRANSPORT_ALIVE && n-- == 0) {
            return &rig->request[i];
        }
    }
    return NULL;
}

static unsigned names_in(const struct rig_request *request, const char *name)
{
    unsigned count = 0;
    for (const char *at = request->raw; (at = strstr(at, name)); at++) {
        count++;
    }
    return count;
}

static void a_silent_session_is_told_of_each_minute(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = open_rig(&live);
    rig_start(rig);
    uint64_t before_ms = rig_now_ms();
    rig_run(rig, 5 * AFTER_MS, false);
    assert_in_range(rig_count(rig, TRANSPORT_ALIVE), 4, 5);
    for (unsigned i = 0; told(rig, i); i++) {
        assert_in_range(told(rig, i)->at_ms - before_ms, AFTER_MS, AFTER_MS + 11000);
        before_ms = told(rig, i)->at_ms;
    }
    char want[128];
    snprintf(want, sizeof want,
             "{\"sessions\":[{\"session\":\"%s\",\"silent_ms\":", RIG_ID);
    assert_memory_equal(told(rig, 0)->raw, want, strlen(want));
    close_rig(rig, &live);
}

static void its_age_is_that_of_its_last_byte(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = open_rig(&live);
    rig_step_wall_s(3600); /* it was written an hour ago */
    rig_start(rig);
    rig_run(rig, 2 * AFTER_MS, false);
    rig_step_wall_s(-3600);
    assert_non_null(told(rig, 0));
    uint64_t age_ms = strtoull(strstr(told(rig, 0)->raw, "silent_ms\":") + 11, NULL, 10);
    assert_in_range(age_ms, 3600000, 3660000);
    close_rig(rig, &live);
}

static void who_writes_is_not_told_of(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = open_rig(&live);
    rig_start(rig);
    for (int i = 0; i < 12; i++) {
        live_line(&live, "system", "x", i);
        rig_run(rig, AFTER_MS / 2, false);
    }
    assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 0);
    close_rig(rig, &live);
}

static void a_backend_that_did_not_ask_is_not_told(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "", "{\"supported\":[\"1\"],\"live_windows\":true,\"window_registry\":true}",
        "{\"alive_after_ms\":0}", "{\"alive_after_ms\":\"60000\"}"};
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct live_session live;
        struct rig *rig = open_rig(&live);
        rig->version_body = bodies[i];
        rig_start(rig);
        rig_run(rig, 5 * AFTER_MS, false);
        assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 0);
        close_rig(rig, &live);
    }
}

static void a_session_without_a_writer_is_not_told_of(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = open_rig(&live);
    char dir[512];
    rig->config.ack_only = true; /* it stays open */
    snprintf(dir, sizeof dir, "%s/shifting", rig->root);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"shifting\"}\n");
    struct live_session empty; /* nothing of it was ever sent */
    live_open(&empty, rig->root, RIG_ID2);
    rig_start(rig);
    rig_run(rig, AFTER_MS / 2, false);
    live_close(&live);
    rig_run(rig, 5 * AFTER_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 0);
    close_rig(rig, &empty);
}

static void of_two_directories_of_one_name_one_is_told_of(void **state)
{
    (void)state;
    struct live_session live;
    struct live_session copy;
    struct rig *rig = open_rig(&live);
    char group[512];
    snprintf(group, sizeof group, "%s/group", rig->root);
    assert_int_equal(mkdir(group, 0755), 0);
    live_open(&copy, group, RIG_ID);
    live_line(&copy, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 2 * AFTER_MS, false);
    assert_non_null(told(rig, 0));
    assert_int_equal(names_in(told(rig, 0), RIG_ID), 1);
    live_close(&copy);
    close_rig(rig, &live);
}

static void many_go_in_as_few_requests_as_they_fit(void **state)
{
    (void)state;
    static struct live_session more[MANY - 1];
    struct live_session live;
    struct rig *rig = open_rig(&live);
    for (unsigned i = 0; i < MANY - 1; i++) {
        char id[40];
        snprintf(id, sizeof id, "session-%u", i);
        live_open(&more[i], rig->root, id);
        live_line(&more[i], "system", "x", 1);
    }
    rig_start(rig);
    rig_run(rig, 30000, false); /* all are sent, at 50 a second */
    rig_run(rig, AFTER_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 2);
    unsigned first = names_in(told(rig, 0), "\"session\":");
    unsigned second = names_in(told(rig, 1), "\"session\":");
    assert_int_equal(first, PROTOCOL_MAX_ALIVE);
    assert_int_equal(first + second, MANY);
    assert_in_range(told(rig, 1)->at_ms - told(rig, 0)->at_ms, 0, 1000);
    for (unsigned i = 0; i < MANY - 1; i++) {
        char name[48];
        snprintf(name, sizeof name, "\"session-%u\"", i);
        assert_int_equal(names_in(told(rig, 0), name) + names_in(told(rig, 1), name), 1);
        live_close(&more[i]);
    }
    close_rig(rig, &live);
}

static int fail_to_be_told(struct rig *rig, const struct rig_request *request)
{
    return request->kind == TRANSPORT_ALIVE ? rig->mark : RIG_REGISTRY;
}

static void a_failure_is_not_repeated_and_stops_nothing(void **state)
{
    (void)state;
    static const struct {
        int status;
        uint64_t retry_after_ms;
        unsigned least, most;
    } row[] = {{500, 0, 4, 5}, {503, 0, 4, 5},       {0, 0, 4, 5},
               {401, 0, 4, 5}, {402, 0, 4, 5},       {429, 1000, 4, 5},
               {507, 0, 4, 5}, {429, 3600000, 1, 1}, {503, 3600000, 1, 1},
               {404, 0, 1, 1}, {405, 0, 1, 1},       {501, 0, 1, 1}};
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct live_session live;
        struct rig *rig = open_rig(&live);
        rig->answer = fail_to_be_told;
        rig->mark = row[i].status;
        rig->retry_after_ms = row[i].retry_after_ms;
        rig_start(rig);
        rig_run(rig, 5 * AFTER_MS + 10000, false);
        assert_in_range(rig_count(rig, TRANSPORT_ALIVE), row[i].least, row[i].most);
        assert_int_equal(engine_holding(rig->engine), HOLD_NONE);
        unsigned batches = rig_count(rig, TRANSPORT_BATCH);
        live_line(&live, "system", "x", 2);
        engine_touch(rig->engine, 0, live.id);
        rig_run(rig, 2000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
        close_rig(rig, &live);
    }
}

/* As many batches are under way as without it. */
static void no_batch_waits_for_its_answer(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = open_rig(&live);
    live_line(&live, "sass", "x", 1);
    rig_start(rig);
    rig_run(rig, 30000, false);
    rig->silent = true;
    rig_run(rig, AFTER_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 1);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    live_line(&live, "device", "x", 2);
    live_line(&live, "scope", "x", 2);
    live_line(&live, "system", "x", 2);
    live_line(&live, "sass", "x", 2);
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 3000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 4);
    assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 1);
    rig->silent = false;
    close_rig(rig, &live);
}

static int no_room_for_second(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return strcmp(request->session, RIG_ID2) == 0 ? 402 : RIG_REGISTRY;
}

/* An offer that waits for room in its workspace is there for hours. */
static void a_batch_that_waits_delays_it_by_a_minute_at_most(void **state)
{
    (void)state;
    struct live_session live;
    struct live_session other;
    struct rig *rig = open_rig(&live);
    live_open(&other, rig->root, RIG_ID2);
    live_line(&other, "system", "x", 1);
    rig->answer = no_room_for_second;
    rig_start(rig);
    uint64_t before_ms = rig_now_ms();
    rig_run(rig, 10 * AFTER_MS, false);
    assert_in_range(rig_count(rig, TRANSPORT_ALIVE), 4, 10);
    for (unsigned i = 0; told(rig, i); i++) {
        assert_in_range(told(rig, i)->at_ms - before_ms, AFTER_MS, 2 * AFTER_MS + 11000);
        before_ms = told(rig, i)->at_ms;
    }
    live_close(&other);
    close_rig(rig, &live);
}

static int fail_second(struct rig *rig, const struct rig_request *request)
{
    return strcmp(request->session, RIG_ID2) == 0 ? rig->mark : RIG_REGISTRY;
}

static int fail_all(struct rig *rig, const struct rig_request *request)
{
    (void)request;
    return rig->mark;
}

/* Ten silent minutes of one session while the lines of another, from its first one on,
 * are answered as \p answer says. */
static struct rig *run_beside_trouble(struct live_session *live,
                                      int (*answer)(struct rig *,
                                                    const struct rig_request *),
                                      int status, uint64_t retry_after_ms)
{
    struct live_session other;
    struct rig *rig = open_rig(live);
    live_open(&other, rig->root, RIG_ID2);
    rig_start(rig);
    rig_run(rig, 3000, false);
    rig->answer = answer;
    rig->mark = status;
    rig->retry_after_ms = retry_after_ms;
    live_line(&other, "system", "x", 1);
    engine_touch(rig->engine, 0, other.id);
    rig_run(rig, 10 * AFTER_MS, false);
    live_close(&other);
    return rig;
}

/* Those lines may be what something in front of the backend does not let pass. */
static void lines_of_another_session_that_are_refused_silence_nobody(void **state)
{
    (void)state;
    static const int status[] = {500, 502, 503, 403, 404, 501, 302};
    for (unsigned i = 0; i < sizeof status / sizeof *status; i++) {
        struct live_session live;
        struct rig *rig = run_beside_trouble(&live, fail_second, status[i], 0);
        uint64_t before_ms = rig->request[0].at_ms;
        assert_in_range(rig_count(rig, TRANSPORT_ALIVE), 4, 10);
        for (unsigned n = 0; told(rig, n); n++) {
            assert_in_range(told(rig, n)->at_ms - before_ms, 0, 2 * AFTER_MS + 15000);
            before_ms = told(rig, n)->at_ms;
        }
        assert_in_range(rig_now_ms() - before_ms, 0, 2 * AFTER_MS + 15000);
        close_rig(rig, &live);
    }
}

/* Nor where each connection is refused, or the key, more than once in that time. */
static void an_origin_that_takes_nothing_is_told_seldom(void **state)
{
    (void)state;
    static const int status[] = {0, 401, 403, 500, 503};
    for (unsigned i = 0; i < sizeof status / sizeof *status; i++) {
        struct live_session live;
        struct rig *rig = run_beside_trouble(&live, fail_all, status[i], 0);
        assert_in_range(rig_count(rig, TRANSPORT_ALIVE), 1, 10);
        for (unsigned n = 1; told(rig, n); n++) {
            assert_true(told(rig, n)->at_ms - told(rig, n - 1)->at_ms >= AFTER_MS);
        }
        close_rig(rig, &live);
    }
}

static void an_origin_that_asks_for_a_delay_is_not_told_before(void **state)
{
    (void)state;
    static const int status[] = {429, 503};
    for (unsigned i = 0; i < sizeof status / sizeof *status; i++) {
        struct live_session live;
        struct rig *rig = run_beside_trouble(&live, fail_second, status[i], 3600000);
        assert_int_equal(rig_count(rig, TRANSPORT_ALIVE), 0);
        rig->answer = NULL;
        rig->retry_after_ms = 0;
        rig_run(rig, 3600000, false);
        rig_run(rig, 3 * AFTER_MS, false);
        assert_true(rig_count(rig, TRANSPORT_ALIVE) > 0);
        close_rig(rig, &live);
    }
}

/* Lines of other sessions want more requests than there may be. */
static void a_budget_that_is_used_up_delays_it_by_a_minute_at_most(void **state)
{
    (void)state;
    struct live_session live;
    struct live_session busy[3];
    struct rig *rig = open_rig(&live);
    rig->config.max_requests_per_second = 2;
    for (unsigned i = 0; i < 3; i++) {
        char id[40];
        snprintf(id, sizeof id, "busy-%u", i);
        live_open(&busy[i], rig->root, id);
    }
    rig_start(rig);
    for (int n = 0; n < 240; n++) {
        for (unsigned i = 0; i < 3; i++) {
            live_line(&busy[i], "system", "x", n);
        }
        rig_run(rig, 1000, false);
    }
    assert_in_range(rig_count(rig, TRANSPORT_ALIVE), 1, 4);
    assert_in_range(told(rig, 0)->at_ms - 1000000, AFTER_MS, 2 * AFTER_MS + 15000);
    assert_in_range(rig->requests, 400, 2 * 240 + 4); /* it counts in the budget */
    for (unsigned i = 0; i < 3; i++) {
        live_close(&busy[i]);
    }
    close_rig(rig, &live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_session_is_told_of_each_minute),
        cmocka_unit_test(its_age_is_that_of_its_last_byte),
        cmocka_unit_test(who_writes_is_not_told_of),
        cmocka_unit_test(a_backend_that_did_not_ask_is_not_told),
        cmocka_unit_test(a_session_without_a_writer_is_not_told_of),
        cmocka_unit_test(of_two_directories_of_one_name_one_is_told_of),
        cmocka_unit_test(many_go_in_as_few_requests_as_they_fit),
        cmocka_unit_test(a_failure_is_not_repeated_and_stops_nothing),
        cmocka_unit_test(no_batch_waits_for_its_answer),
        cmocka_unit_test(a_batch_that_waits_delays_it_by_a_minute_at_most),
        cmocka_unit_test(lines_of_another_session_that_are_refused_silence_nobody),
        cmocka_unit_test(an_origin_that_takes_nothing_is_told_seldom),
        cmocka_unit_test(an_origin_that_asks_for_a_delay_is_not_told_before),
        cmocka_unit_test(a_budget_that_is_used_up_delays_it_by_a_minute_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
