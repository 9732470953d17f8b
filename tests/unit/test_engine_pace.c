/* SPDX-License-Identifier: Apache-2.0 */
/* How often the engine turns, looks, syncs and sends. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

static void with_nothing_to_do_it_hardly_turns(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(5);
    struct live_session live;
    live_open(&live, rig->root, RIG_ID2);
    live_line(&live, "device", "x", 1);
    dirs_append(live.dir, "scope.log", "{\"torn\":");
    rig_start(rig);
    rig_run(rig, 10000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    unsigned before = rig->loops;
    rig_run(rig, 600000, false);
    /* The rescan every 10 s, the flush interval of the torn line, nothing else. */
    assert_in_range(rig->loops - before, 1, 4 * 600 / 10);
    live_close(&live);
    rig_delete(rig);
}

static unsigned opens;

static int counted_open(int dir, const char *path, int flags, mode_t mode)
{
    opens++;
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void visit_nothing(void *arg, unsigned root, const char *root_path,
                          const char *session, bool done)
{
    (void)arg;
    (void)root;
    (void)root_path;
    (void)session;
    (void)done;
}

static void a_watched_job_that_says_nothing_is_left_alone(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    struct sys counted = *rig->config.sys;
    counted.open_beneath = counted_open;
    rig->config.sys = &counted;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "system", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    engine_visit_changed(rig->engine, visit_nothing, NULL);
    opens = 0;
    rig_run(rig, 600000, false);
    /* The root, and the session with two files at most, each minute; at each turn, of
     * 10 s, what is published. */
    assert_in_range(opens, 10, 12 + 11 * 2 + 61);
    /* What comes is seen at the next listing, told or not. */
    struct live_session later;
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    const struct timespec long_ago[2] = {{1, 0}, {1, 0}}; /* apart from what comes now */
    assert_int_equal(utimensat(AT_FDCWD, rig->root, long_ago, 0), 0);
    rig_run(rig, 70000, false);
    live_open(&later, rig->root, "22222222-2222-4222-8222-222222222222");
    live_line(&later, "system", "x", 1);
    rig_run(rig, 11000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
    live_close(&later);
    live_close(&live);
    rig_delete(rig);
}

static void open_twenty(const struct rig *rig, struct live_session s[20])
{
    for (int i = 0; i < 20; i++) {
        char id[40];
        snprintf(id, sizeof id, "%08d-1111-4111-8111-111111111111", i);
        live_open(&s[i], rig->root, id);
    }
}

static unsigned syncs;

static int counted_fdatasync(int fd)
{
    syncs++;
    return sys_real.fdatasync(fd);
}

/* Whenever in a flush interval they come: at its end all go, behind one sync. */
static void what_comes_within_one_interval_goes_together(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    struct sys counted = *rig->config.sys;
    counted.fdatasync = counted_fdatasync;
    rig->config.sys = &counted;
    rig->config.syncer = syncer_inline(&counted);
    rig->config.settled_sync_ms = 1000;
    rig->config.flush_interval_ms = 1000;
    rig->config.max_requests_per_second = 0;
    open_twenty(rig, s);
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_run(rig, 1000 - rig_now_ms() % 1000 + 1, false);
    unsigned before = rig->requests;
    uint64_t begin_ms = rig_now_ms();
    syncs = 0;
    for (int i = 0; i < 20; i++) {
        live_line(&s[i], "system", "x", 1);
        engine_touch(rig->engine, 0, s[i].id);
        rig_run(rig, 40, false);
    }
    assert_int_equal(rig->requests, before);
    rig_run(rig, 300, false);
    assert_int_equal(rig->requests - before, 20);
    for (unsigned i = before; i < rig->requests; i++) {
        assert_true(rig->request[i].at_ms / 1000 == begin_ms / 1000 + 1);
    }
    assert_in_range(syncs, 1, 2);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

/* Files are closed just before the lock is released, and only that is told. */
static void a_writer_that_goes_just_after_its_last_line_is_noticed_at_once(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    rig->config.flush_interval_ms = 0;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 5000, false);
    live_line(&s, "device", "shutdown", 2);
    engine_touch(rig->engine, 0, s.id);
    rig_run(rig, 10, false);
    live_close(&s);
    rig_run(rig, 1000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void requests_keep_to_their_budget(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    open_twenty(rig, s);
    rig_start(rig);
    uint64_t start = rig_now_ms();
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 20; i++) {
            live_line(&s[i], "system", "x", round);
            engine_touch(rig->engine, 0, s[i].id);
        }
        rig_run(rig, 100, false);
    }
    uint64_t seconds = (rig_now_ms() - start) / 1000;
    assert_true(rig->requests <= 50 * seconds + 11);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

/* How many requests go out at once when 20 channels have lines and nobody answers. */
static unsigned at_once(struct rig *rig, struct live_session s[20])
{
    for (int i = 0; i < 20; i++) {
        live_line(&s[i], "system", "x", i);
        engine_touch(rig->engine, 0, s[i].id);
    }
    rig->silent = true;
    unsigned before = rig->requests;
    rig_run(rig, 2000, false);
    unsigned sent = rig->requests - before;
    rig->silent = false;
    rig_run(rig, 2000, false);
    return sent;
}

static void many_connections_only_where_answers_are_slow(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    open_twenty(rig, s);
    rig->config.max_requests_per_second = 0;
    rig_start(rig);
    rig_run(rig, 1000, false);
    assert_int_equal(at_once(rig, s), 4);
    rig->took_ms = 100;
    at_once(rig, s);
    assert_int_equal(at_once(rig, s), TRANSPORT_SLOTS);
    rig->took_ms = 1;
    at_once(rig, s);
    assert_int_equal(at_once(rig, s), 4);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

#define LINES_A_BATCH 10u
#define RATE          5u
/* A burst, another one that is owed, and the question what the backend declares. */
#define BESIDE 5u

static unsigned small_requests(const struct rig *rig)
{
    unsigned small = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        small += rig->request[i].lines < LINES_A_BATCH;
    }
    return small;
}

/* The budget is for small requests: a backlog of full batches goes as fast as it is
 * answered. */
static void full_batches_are_beside_the_budget(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3000);
    rig->config.max_batch_lines = LINES_A_BATCH;
    rig->config.max_requests_per_second = RATE;
    rig->answer_ms = 5;
    rig_start(rig);
    uint64_t start_ms = rig_now_ms();
    rig_run(rig, 60000, true);
    uint64_t took_ms = rig_now_ms() - start_ms;
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    assert_true(rig->requests >= 3 * 3000 / LINES_A_BATCH);
    assert_true(took_ms < 10000); /* 180 s within the budget */
    assert_true(small_requests(rig) <= RATE * took_ms / 1000 + BESIDE);
    rig_delete(rig);
}

/* Each of many sessions has one full batch and a rest: the rests keep to the budget. */
static void the_rest_behind_full_batches_keeps_to_the_budget(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    rig->config.max_batch_lines = LINES_A_BATCH;
    rig->config.max_requests_per_second = RATE;
    open_twenty(rig, s);
    for (int i = 0; i < 20; i++) {
        for (unsigned n = 0; n < LINES_A_BATCH + 2; n++) {
            live_line(&s[i], "system", "x", (int)n);
        }
    }
    rig_start(rig);
    uint64_t start_ms = rig_now_ms();
    for (int n = 0; n < 100; n++) {
        rig_run(rig, 200, false);
        uint64_t took_ms = rig_now_ms() - start_ms;
        assert_true(small_requests(rig) <= RATE * took_ms / 1000 + BESIDE);
    }
    for (int i = 0; i < 20; i++) {
        rig_same_as_file(rig, s[i].id, "system");
        live_close(&s[i]);
    }
    rig_delete(rig);
}

/* Though live lines take all that there is of the budget. */
static void a_backlog_goes_on_beside_a_spent_budget(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3000);
    struct live_session s[20];
    rig->config.max_batch_lines = LINES_A_BATCH;
    rig->config.max_requests_per_second = RATE;
    rig->answer_ms = 5;
    open_twenty(rig, s);
    rig_start(rig);
    for (int n = 0; n < 100; n++) {
        for (int i = 0; i < 20; i++) {
            live_line(&s[i], "system", "x", n);
            engine_touch(rig->engine, 0, s[i].id);
        }
        rig_run(rig, 100, false);
    }
    unsigned full = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        full += strcmp(rig->request[i].session, RIG_ID) == 0 &&
                rig->request[i].lines == LINES_A_BATCH;
    }
    assert_in_range(full, 3 * 2900 / LINES_A_BATCH, 3 * 3000 / LINES_A_BATCH);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

/* While a backlog goes out beside the budget, a live line goes out at the end of its
 * flush interval. */
static void a_live_line_does_not_wait_for_full_batches(void **state)
{
    (void)state;
    struct rig *rig = rig_ended_session(3000);
    struct live_session live;
    live_open(&live, rig->root, RIG_ID2);
    rig->config.max_batch_lines = LINES_A_BATCH;
    rig->answer_ms = 30;
    rig_start(rig);
    rig_run(rig, 1000, false);
    unsigned late = 0;
    for (int n = 0; n < 10; n++) {
        live_line(&live, "system", "live", n);
        engine_touch(rig->engine, 0, RIG_ID2);
        rig_run(rig, 700, false);
        char *stored = rig_stored(rig, RIG_ID2, "system");
        char line[32];
        snprintf(line, sizeof line, "\"n\":%d", n);
        late += strstr(stored, line) == NULL;
        free(stored);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
    }
    assert_int_equal(late, 0);
    live_close(&live);
    rig_delete(rig);
}

static int busy(struct rig *rig, const struct rig_request *request)
{
    (void)request;
    rig->answer = NULL; /* once */
    return 503;
}

/* Each batch is full here. */
static void a_busy_backend_gets_half_as_many_full_batches(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    open_twenty(rig, s);
    rig->config.max_batch_lines = 1;
    rig->took_ms = 100;
    rig_start(rig);
    rig_run(rig, 10000, false);
    assert_int_equal(at_once(rig, s), TRANSPORT_SLOTS);
    rig->answer = busy;
    live_line(&s[0], "system", "x", 1);
    engine_touch(rig->engine, 0, s[0].id);
    rig_run(rig, 5000, false);
    assert_in_range(at_once(rig, s), TRANSPORT_SLOTS / 2, TRANSPORT_SLOTS / 2 + 1);
    for (int i = 0; i < 10; i++) {
        at_once(rig, s);
    }
    assert_int_equal(at_once(rig, s), TRANSPORT_SLOTS);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

static int bad_for_the_small_ids(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    bool fails = request->kind == TRANSPORT_BATCH &&
                 strncmp(request->session, "000000", 6) == 0 && request->lines == 1;
    return fails ? 500 : RIG_REGISTRY;
}

/* More of them than full batches may be under way. */
static void full_batches_that_fail_alone_are_in_nobodys_way(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s[20];
    struct live_session big;
    open_twenty(rig, s);
    live_open(&big, rig->root, RIG_ID);
    rig->config.max_batch_lines = 1;
    rig->config.max_requests_per_second = 50;
    rig->answer = bad_for_the_small_ids;
    rig_start(rig);
    for (int n = 0; n < 400; n++) {
        if (n % 10 == 0 && n < 200) {
            live_line(&s[n / 10], "system", "x", n);
            engine_touch(rig->engine, 0, s[n / 10].id);
        }
        live_line(&big, "device", "x", n); /* meanwhile, others succeed */
        engine_touch(rig->engine, 0, RIG_ID);
        rig_run(rig, 1500, false);
    }
    for (int n = 0; n < 1000; n++) {
        live_line(&big, "device", "x", n);
    }
    engine_touch(rig->engine, 0, RIG_ID);
    unsigned before = rig->loops;
    rig_run(rig, 10000, false);
    assert_in_range(rig->loops - before, 1, 9000);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&big);
    for (int i = 0; i < 20; i++) {
        live_close(&s[i]);
    }
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_nothing_to_do_it_hardly_turns),
        cmocka_unit_test(a_watched_job_that_says_nothing_is_left_alone),
        cmocka_unit_test(what_comes_within_one_interval_goes_together),
        cmocka_unit_test(a_writer_that_goes_just_after_its_last_line_is_noticed_at_once),
        cmocka_unit_test(requests_keep_to_their_budget),
        cmocka_unit_test(full_batches_are_beside_the_budget),
        cmocka_unit_test(the_rest_behind_full_batches_keeps_to_the_budget),
        cmocka_unit_test(a_backlog_goes_on_beside_a_spent_budget),
        cmocka_unit_test(a_live_line_does_not_wait_for_full_batches),
        cmocka_unit_test(a_busy_backend_gets_half_as_many_full_batches),
        cmocka_unit_test(full_batches_that_fail_alone_are_in_nobodys_way),
        cmocka_unit_test(many_connections_only_where_answers_are_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
