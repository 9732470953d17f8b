/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent while other sessions of the same owner have a backlog, and how soon. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/rig_session.h"

#define BIG_MAX     70u
#define BATCH_LINES 10

static const char *const channels[] = {"device", "scope", "system"};

/* A rig, and sessions with more to be sent than a test waits for. */
struct backlog_rig {
    struct rig *rig;
    struct live_session big[BIG_MAX];
    unsigned bigs;
    struct live_session small;
};

static void backlog_open(struct backlog_rig *b, unsigned bigs, int lines)
{
    b->rig = rig_new();
    b->rig->config.max_batch_lines = BATCH_LINES;
    b->rig->config.settled_sync_ms = 1000;
    b->bigs = bigs;
    for (unsigned i = 0; i < bigs; i++) {
        char id[40];
        snprintf(id, sizeof id, "big-%u", i);
        live_open(&b->big[i], b->rig->root, id);
        for (int n = 0; n < lines; n++) {
            live_line(&b->big[i], channels[n % 3], "x", n);
        }
    }
}

static void backlog_add_small(struct backlog_rig *b)
{
    live_open(&b->small, b->rig->root, RIG_ID);
    for (int c = 0; c < 3; c++) {
        live_line(&b->small, channels[c], "job_start", 0);
    }
}

static void backlog_delete(struct backlog_rig *b)
{
    for (unsigned i = 0; i < b->bigs; i++) {
        live_close(&b->big[i]);
    }
    rig_delete(b->rig);
}

/* Answers take \p answer_ms each, and come one by one: requests that keep to their limit
 * went out like that. */
static void backlog_start(struct rig *rig, uint64_t answer_ms)
{
    rig->answer_ms = answer_ms < 20 ? answer_ms : 20;
    rig_start(rig);
    rig_run(rig, 3000, false);
    rig->answer_ms = answer_ms;
    rig_run(rig, 7000, false);
}

/* How many batches of a channel were sent. */
static unsigned backlog_batches(const struct rig *rig, const char *session,
                                const char *channel)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->requests; i++) {
        const struct rig_request *r = &rig->request[i];
        n += strcmp(r->session, session) == 0 && strcmp(r->channel, channel) == 0;
    }
    return n;
}

/* The fewest and the most batches of one of the large sessions' channels. */
static void backlog_range(const struct backlog_rig *b, unsigned *fewest, unsigned *most)
{
    *fewest = RIG_REQUESTS_MAX;
    *most = 0;
    for (unsigned i = 0; i < 3 * b->bigs; i++) {
        unsigned n = backlog_batches(b->rig, b->big[i / 3].id, channels[i % 3]);
        *fewest = n < *fewest ? n : *fewest;
        *most = n > *most ? n : *most;
    }
}

/* Answers that take long, not the limit of requests, decide how much is sent. */
static void every_channel_of_a_backlog_has_its_turn(void **state)
{
    (void)state;
    static const uint64_t sync_ms[] = {0, 50};
    for (unsigned i = 0; i < 2; i++) {
        static struct backlog_rig b;
        unsigned fewest;
        unsigned most;
        backlog_open(&b, 8, 1500);
        b.rig->sync_ms = sync_ms[i];
        backlog_start(b.rig, 300);
        rig_run(b.rig, 10000, false);
        backlog_range(&b, &fewest, &most);
        assert_true(most > 10);
        assert_in_range(most - fewest, 0, 2);
        backlog_delete(&b);
    }
}

static int fail_one(struct rig *rig, const struct rig_request *request)
{
    bool fails = request->kind == TRANSPORT_BATCH && rig->requests > 250 && !rig->mark;
    rig->mark += fails;
    return fails ? 503 : RIG_REGISTRY;
}

static void a_batch_that_failed_once_does_not_fall_behind(void **state)
{
    (void)state;
    static struct backlog_rig b;
    unsigned fewest;
    unsigned most;
    backlog_open(&b, 8, 1500);
    b.rig->answer = fail_one;
    backlog_start(b.rig, 300);
    rig_run(b.rig, 10000, false);
    assert_int_equal(b.rig->mark, 1);
    backlog_range(&b, &fewest, &most);
    assert_true(most > 10);
    assert_in_range(most - fewest, 0, 4);
    backlog_delete(&b);
}

static uint64_t backlog_sent_at(const struct rig *rig, const char *session, unsigned from)
{
    for (unsigned i = from; i < rig->requests; i++) {
        if (strcmp(rig->request[i].session, session) == 0) {
            return rig->request[i].at_ms;
        }
    }
    return UINT64_MAX;
}

/* Writes line \p n, and goes on for \p run_ms. \return how long it took to be sent. */
static uint64_t backlog_live_ms(struct backlog_rig *b, int n, uint64_t run_ms)
{
    unsigned from = b->rig->requests;
    uint64_t written_ms = rig_now_ms();
    live_line(&b->small, "device", "x", n);
    engine_touch(b->rig->engine, 0, b->small.id);
    rig_run(b->rig, run_ms, false);
    return backlog_sent_at(b->rig, b->small.id, from) - written_ms;
}

/* S2-11. Ten answers come a second. What was made before the line must not go first. */
static void a_live_line_waits_for_few_answers(void **state)
{
    (void)state;
    static struct backlog_rig b;
    backlog_open(&b, 20, 600);
    backlog_add_small(&b);
    backlog_start(b.rig, 1000);
    for (int n = 1; n <= 5; n++) {
        uint64_t limit_ms = b.rig->config.flush_interval_ms + b.rig->answer_ms + 200;
        assert_in_range(backlog_live_ms(&b, n, 4100), 0, limit_ms);
    }
    live_close(&b.small);
    backlog_delete(&b);
}

/* S2-11: where answers take no time. 100 ms are between a line and its file. */
static void a_live_line_is_sent_within_900_ms(void **state)
{
    (void)state;
    static const unsigned bigs[] = {0, 20};
    for (unsigned i = 0; i < 2; i++) {
        static struct backlog_rig b;
        backlog_open(&b, bigs[i], 600);
        backlog_add_small(&b);
        backlog_start(b.rig, 0);
        for (int n = 1; n <= 20; n++) {
            assert_in_range(backlog_live_ms(&b, n, 1001 + 37 * (uint64_t)n), 0, 900);
        }
        live_close(&b.small);
        backlog_delete(&b);
    }
}

/* How long a session that ends waits for its session-complete. */
static uint64_t completed_after_ms(struct backlog_rig *b, uint64_t answer_ms)
{
    struct rig *rig = b->rig;
    backlog_add_small(b);
    backlog_start(rig, answer_ms);
    live_line(&b->small, "device", "x", 1);
    for (int c = 0; c < 3; c++) {
        live_line(&b->small, channels[c], "shutdown", 2);
    }
    live_close(&b->small);
    uint64_t ended_ms = rig_now_ms();
    engine_touch(rig->engine, 0, b->small.id);
    while (rig_count(rig, TRANSPORT_COMPLETE) == 0 && rig_now_ms() < ended_ms + 30000) {
        rig_run(rig, 10, false);
    }
    /* There was a backlog throughout. */
    assert_true(rig_summary(rig).streams_pending > 2 * b->bigs);
    return rig_now_ms() - ended_ms;
}

static void a_backlog_does_not_keep_sessions_from_being_completed(void **state)
{
    (void)state;
    static const struct {
        unsigned bigs;
        uint64_t sync_ms;
        uint64_t answer_ms;
        uint64_t limit_ms;
    } c[] = {{4, 0, 60, 1500}, {4, 50, 60, 1500}, {5, 0, 250, 3000}, {5, 50, 250, 3000}};
    for (unsigned i = 0; i < sizeof c / sizeof *c; i++) {
        static struct backlog_rig b;
        backlog_open(&b, c[i].bigs, 8000);
        b.rig->sync_ms = c[i].sync_ms;
        b.rig->took_ms = 20;
        assert_in_range(completed_after_ms(&b, c[i].answer_ms), 0, c[i].limit_ms);
        backlog_delete(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_channel_of_a_backlog_has_its_turn),
        cmocka_unit_test(a_batch_that_failed_once_does_not_fall_behind),
        cmocka_unit_test(a_live_line_waits_for_few_answers),
        cmocka_unit_test(a_live_line_is_sent_within_900_ms),
        cmocka_unit_test(a_backlog_does_not_keep_sessions_from_being_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
