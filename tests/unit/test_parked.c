/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of sessions that are over: each is sent once, few are open at once, and what
 * is kept of a complete one is enough to say so, to go on, and to begin again. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig.h"
#include "upload/core/parked.h"
#include "upload/core/session.h"
#include "upload/lifecycle/discovery.h"

#define MANY      400
#define VERY_MANY 100000
#define MOST_OPEN 200 /* 64, 64 that are being completed, and two helpings of 32 */
#define DAY_MS    (24ull * 3600 * 1000)

static int note_open(struct rig *rig, const struct rig_request *request)
{
    int open = (int)ended_root(rig)->by_path.count;
    (void)request;
    rig->mark = open > rig->mark ? open : rig->mark;
    return RIG_REGISTRY;
}

static void many_ended_sessions_are_opened_as_there_is_room(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open(&rig);
    ended_make(rig.root, 0, MANY);
    rig.answer = note_open;
    rig.config.max_requests_per_second = 50;
    rig.config.rescan_interval_ms = DAY_MS;
    rig_start(&rig);
    uint64_t start_ms = rig_now_ms();
    rig_run(&rig, DAY_MS, true);
    assert_true(rig_now_ms() - start_ms < 2 * MANY * 1000 / 50 + 1000); /* none is late */
    assert_int_equal(ended_requests(&rig, TRANSPORT_BATCH), MANY);
    assert_int_equal(ended_requests(&rig, TRANSPORT_COMPLETE), MANY);
    assert_true(rig.mark <= MOST_OPEN);
    assert_int_equal(ended_root(&rig)->by_path.count, 0);
    struct engine_summary summary;
    engine_summary(rig.engine, &summary);
    assert_int_equal(summary.sessions_done, MANY);
    assert_int_equal(summary.sessions, MANY);
    rig_close(&rig);
}

/* Not even where only the request limit is waited for. */
static void the_next_ones_turn_comes_with_the_next_request(void **state)
{
    (void)state;
    static struct rig rig;
    rig_open(&rig);
    ended_make(rig.root, 0, MANY);
    rig.config.max_requests_per_second = 50;
    rig.config.rescan_interval_ms = DAY_MS;
    rig.config.ack_only = true;
    rig_start(&rig);
    uint64_t start_ms = rig_now_ms();
    rig_run(&rig, DAY_MS, true);
    assert_true(rig_now_ms() - start_ms < MANY * 1000 / 50 + 1000);
    assert_int_equal(ended_requests(&rig, TRANSPORT_BATCH), MANY);
    rig_close(&rig);
}

/* The origin refuses the key: nothing moves, yet it is known that something waits. */
static int refuse(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_BATCH ? 401 : RIG_REGISTRY;
}

static const char *first_path(struct parked *parked)
{
    assert_non_null(parked->waiting.turns);
    return parked_turn(parked)->node.path; /* there is one owner */
}

static void what_waits_for_its_turn_is_not_drained(void **state)
{
    (void)state;
    static struct rig rig;
    struct engine_summary summary;
    rig_open(&rig);
    ended_make(rig.root, 0, MANY);
    rig.answer = refuse;
    rig_start(&rig);
    rig_run(&rig, 60000, false);
    assert_false(engine_drained(rig.engine));
    engine_summary(rig.engine, &summary);
    assert_true(summary.streams_pending >= MANY);
    assert_true(rig.loops < 2000); /* it does not spin */
    char id[40];
    char path[700];
    snprintf(id, sizeof id, "%s", first_path(&ended_root(&rig)->parked));
    engine_touch(rig.engine, 0, id); /* something happens in one: it is looked at */
    assert_null(parked_find(&ended_root(&rig)->parked, id));
    assert_non_null(session_find(ended_root(&rig), id));
    snprintf(id, sizeof id, "%s", first_path(&ended_root(&rig)->parked));
    snprintf(path, sizeof path, "%s/%s", rig.root, id);
    dirs_remove(strdup(path));
    rig_run(&rig, 20000, false);
    assert_true(parked_find(&ended_root(&rig)->parked, id)->away);
    assert_string_not_equal(first_path(&ended_root(&rig)->parked), id);
    engine_summary(rig.engine, &summary);
    assert_int_equal(summary.sessions_away, 1);
    rig_close(&rig);
}

static void move(const char *root, const char *from, const char *to)
{
    char a[700];
    char b[700];
    snprintf(a, sizeof a, "%s/%s", root, from);
    snprintf(b, sizeof b, "%s/%s", root, to);
    assert_int_equal(rename(a, b), 0);
}

/* A mount that goes and comes back, with the agent running, and restarted after it. */
static void a_complete_session_that_comes_back_is_not_sent_again(void **state)
{
    (void)state;
    static struct rig rig;
    char id[40];
    ended_id(0, id);
    rig_open(&rig);
    ended_make(rig.root, 0, 2);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    unsigned sent = rig.requests;
    const struct parked_session *parked_session =
        parked_find(&ended_root(&rig)->parked, id);
    assert_true(parked_session && parked_session->complete && !parked_session->away);
    move(rig.root, id, ".elsewhere");
    rig_run(&rig, 20000, false);
    assert_true(parked_session->away);
    assert_int_equal(ended_told_of(&rig).lines, 2); /* others still hear of it */
    move(rig.root, ".elsewhere", id);
    rig_run(&rig, 20000, false);
    assert_false(parked_session->away);
    assert_int_equal(ended_told_of(&rig).lines, 2);
    rig_stop(&rig);
    rig_start(&rig);
    rig_run(&rig, 20000, false);
    assert_int_equal(rig.requests - sent, 1); /* the question after the version */
    move(rig.root, id, ".elsewhere");
    for (unsigned day = 0; day <= ABSENCE_COMPLETE_DAYS; day++) {
        assert_non_null(parked_find(&ended_root(&rig)->parked, id));
        rig_step_wall_s(DAY_MS / 1000);
        rig_run(&rig, 20000, false);
    }
    assert_null(parked_find(&ended_root(&rig)->parked, id)); /* it never comes back */
    ended_id(1, id);
    assert_non_null(parked_find(&ended_root(&rig)->parked, id));
    rig_close(&rig);
}

static void what_is_kept_of_it_is_enough_to_begin_again(void **state)
{
    (void)state;
    static struct rig rig;
    char id[40];
    ended_id(0, id);
    rig_open(&rig);
    ended_make(rig.root, 0, 1);
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    rig_stop(&rig);
    rig.config.force = true;
    rig_start(&rig);
    rig_run(&rig, 60000, true);
    assert_int_equal(ended_requests(&rig, TRANSPORT_BATCH), 2);
    assert_int_equal(ended_requests(&rig, TRANSPORT_COMPLETE), 2);
    for (unsigned i = 0; i < rig.requests; i++) {
        if (rig.request[i].kind == TRANSPORT_BATCH) {
            assert_int_equal(rig.request[i].sequence,
                             ++rig.mark); /* none is used twice */
        }
    }
    rig_close(&rig);
}

/* New ones are read as soon as all names are known. */
static void the_first_listing_does_not_look_at_very_many(void **state)
{
    (void)state;
    static struct rig rig;
    char id[40];
    char dir[700];
    ended_id(7, id);
    rig_open(&rig);
    ended_make(rig.root, 0, MANY);
    rig_start(&rig);
    rig_run(&rig, DAY_MS, true);
    rig_stop(&rig);
    snprintf(dir, sizeof dir, "%s/%s", rig.root, id);
    dirs_append(dir, "scope.log", "{\"type\":\"late\"}\n");
    rig_start(&rig);
    struct root *root = ended_root(&rig);
    unsigned before = ended_requests(&rig, TRANSPORT_BATCH);
    discovery_begin(root, rig_now_ms());
    assert_false(root->inspects_complete);
    while (!root->listed) {
        discovery_step(root, rig_now_ms());
    }
    discovery_begin(root, rig_now_ms());
    assert_true(root->listing && root->inspects_complete); /* at once */
    rig_run(&rig, 5000, false);
    assert_int_equal(ended_requests(&rig, TRANSPORT_BATCH), before + 1);
    rig_close(&rig);
}

static struct parked_session *waits_as(struct parked *parked, unsigned n)
{
    char path[16];
    snprintf(path, sizeof path, "%u", n);
    return parked_find(parked, path);
}

static void make_wait(struct parked *parked, unsigned count)
{
    char path[16];
    for (unsigned n = 0; n < count; n++) {
        snprintf(path, sizeof path, "%u", n);
        assert_true(parked_wait(parked, path, 1000, 1));
    }
}

static void those_that_stop_waiting_leave_the_order_of_the_others(void **state)
{
    (void)state;
    struct parked parked = {0};
    make_wait(&parked, 6);
    const unsigned stop[] = {2, 0, 5, 2}; /* one of them twice */
    for (size_t i = 0; i < sizeof stop / sizeof stop[0]; i++) {
        parked_stop_waiting(&parked, waits_as(&parked, stop[i]));
    }
    parked_wait_again(&parked, waits_as(&parked, 0));
    parked_drop(&parked, waits_as(&parked, 3));
    const char *left[] = {"1", "4", "0"};
    assert_int_equal(parked.waiting.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_string_equal(first_path(&parked), left[i]);
        parked_drop(&parked, parked_turn(&parked));
    }
    assert_null(parked.waiting.turns);
    parked_close(&parked);
}

static uint64_t used_ns(void)
{
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* A mount of very many goes away at once. */
static void to_stop_waiting_costs_no_more_than_to_begin(void **state)
{
    (void)state;
    struct parked parked = {0};
    uint64_t began = used_ns();
    make_wait(&parked, VERY_MANY);
    uint64_t made = used_ns();
    for (unsigned n = VERY_MANY; n > 0; n--) {
        parked_stop_waiting(&parked, waits_as(&parked, n - 1));
    }
    assert_true(used_ns() - made < 20 * (made - began));
    assert_int_equal(parked.waiting.count, 0);
    assert_null(parked.waiting.turns);
    parked_close(&parked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ended_sessions_are_opened_as_there_is_room),
        cmocka_unit_test(the_next_ones_turn_comes_with_the_next_request),
        cmocka_unit_test(what_waits_for_its_turn_is_not_drained),
        cmocka_unit_test(a_complete_session_that_comes_back_is_not_sent_again),
        cmocka_unit_test(what_is_kept_of_it_is_enough_to_begin_again),
        cmocka_unit_test(the_first_listing_does_not_look_at_very_many),
        cmocka_unit_test(those_that_stop_waiting_leave_the_order_of_the_others),
        cmocka_unit_test(to_stop_waiting_costs_no_more_than_to_begin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
