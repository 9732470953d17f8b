/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that have ended and wait for their turn, of several owners. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"

#define MANY  700u
#define OTHER 12345u
/* Those of the other owner that have their turn before it, or were made by then, and its
 * own. */
#define AHEAD 60u
/* More than are looked at in one turn. */
#define OWNERS 40u

/* A session of one line, without manifest and lock: it may go on. */
static void open_ended_never(const struct rig *rig, unsigned n)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s/planted-%u", rig->root, n);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"planted\"}\n");
    assert_int_equal(chown(dir, OTHER, OTHER), 0);
}

static void ended_of(const struct rig *rig, unsigned n, uid_t owner)
{
    char id[40];
    char dir[512];
    ended_id(n, id);
    ended_make(rig->root, n, 1);
    snprintf(dir, sizeof dir, "%s/%s", rig->root, id);
    assert_int_equal(chown(dir, owner, owner), 0);
}

/* As one that ended while no agent ran, or that is moved here. \return the requests that
 * were sent before it was complete. */
static unsigned until_complete(struct rig *rig, unsigned first, unsigned count)
{
    char id[40];
    unsigned begin = rig->requests;
    unsigned complete = 0;
    while (complete < count && rig->requests < begin + MANY) {
        rig_run(rig, 100, false);
        complete = 0;
        for (unsigned n = first; n < first + count; n++) {
            ended_id(n, id);
            const struct parked_session *s = parked_find(&ended_root(rig)->parked, id);
            complete += s && s->complete;
        }
    }
    assert_int_equal(complete, count);
    return rig->requests - begin;
}

static void what_others_have_ready_delays_no_ended_session(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = rig_new();
    for (unsigned n = 0; n < MANY; n++) {
        open_ended_never(rig, n);
    }
    rig_start(rig);
    rig_run(rig, 3000, false);
    ended_of(rig, 0, 0);
    engine_touch(rig->engine, 0, "");
    assert_in_range(until_complete(rig, 0, 1), 1, AHEAD);
    assert_true(rig->requests < MANY); /* some of the others are still ready */
    rig_delete(rig);
}

static void ended_sessions_of_others_delay_none(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    for (unsigned n = 0; n < MANY; n++) {
        ended_of(rig, n, OTHER);
    }
    rig_start(rig);
    rig_run(rig, 3000, false);
    assert_true(ended_root(rig)->parked.waiting.count > MANY / 2);
    ended_of(rig, MANY, 0);
    engine_touch(rig->engine, 0, "");
    assert_in_range(until_complete(rig, MANY, 1), 1, 2 * AHEAD);
    rig_delete(rig);
}

/* As of a job with a process for each of very many cores. */
static void one_s_own_running_sessions_delay_no_ended_one(void **state)
{
    (void)state;
    static struct live_session live[100];
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    for (unsigned i = 0; i < 100; i++) {
        char id[40];
        snprintf(id, sizeof id, "running-%u", i);
        live_open(&live[i], rig->root, id);
        live_line(&live[i], "device", "x", 0);
    }
    rig_start(rig);
    rig_run(rig, 20000, false);
    for (unsigned n = 0; n < MANY; n++) {
        open_ended_never(rig, n);
    }
    engine_touch(rig->engine, 0, "");
    rig_run(rig, 1000, false);
    ended_of(rig, 0, 0);
    engine_touch(rig->engine, 0, "");
    assert_in_range(until_complete(rig, 0, 1), 1, AHEAD);
    for (unsigned i = 0; i < 100; i++) {
        live_close(&live[i]);
    }
    rig_delete(rig);
}

static int refuse_ends(struct rig *rig, const struct rig_request *r)
{
    bool first = strcmp(r->session, "00000020") < 0; /* twenty of them */
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE && first ? 422 : RIG_REGISTRY;
}

static void those_whose_end_is_refused_have_had_their_turn(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    rig->answer = refuse_ends;
    for (unsigned n = 0; n < MANY; n++) {
        open_ended_never(rig, n);
    }
    rig_start(rig);
    rig_run(rig, 3000, false);
    for (unsigned n = 0; n < 21; n++) {
        ended_of(rig, n, 0);
    }
    engine_touch(rig->engine, 0, "");
    assert_in_range(until_complete(rig, 20, 1), 1, 6 * AHEAD);
    rig_delete(rig);
}

static void all_owners_have_turns(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    for (unsigned n = 0; n < MANY; n++) {
        open_ended_never(rig, n);
    }
    rig_start(rig);
    rig_run(rig, 3000, false);
    for (unsigned n = 0; n < OWNERS; n++) {
        ended_of(rig, n, 1000 + n);
    }
    engine_touch(rig->engine, 0, "");
    (void)until_complete(rig, 0, OWNERS);
    assert_true(rig->requests < MANY);
    rig_delete(rig);
}

/* Nothing is sent, so that those who had their turn stay on their way. */
static int refuse_key(struct rig *rig, const struct rig_request *request)
{
    (void)rig;
    return request->kind == TRANSPORT_BATCH ? 401 : RIG_REGISTRY;
}

static void few_of_each_owner_are_open_while_nothing_is_sent(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    rig->answer = refuse_key;
    for (unsigned n = 0; n < 1000; n++) {
        ended_of(rig, n, n % 2 ? OTHER : OTHER + 1);
    }
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_true(ended_root(rig)->by_path.count < 200);
    assert_true(rig->loops < 2000); /* it does not spin */
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_have_ready_delays_no_ended_session),
        cmocka_unit_test(ended_sessions_of_others_delay_none),
        cmocka_unit_test(one_s_own_running_sessions_delay_no_ended_one),
        cmocka_unit_test(those_whose_end_is_refused_have_had_their_turn),
        cmocka_unit_test(all_owners_have_turns),
        cmocka_unit_test(few_of_each_owner_are_open_while_nothing_is_sent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
