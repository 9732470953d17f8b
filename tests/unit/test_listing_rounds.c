/* SPDX-License-Identifier: Apache-2.0 */
/* Very many directories of one user below a root: what another user has there waits for
 * the listing of none of them. Tried by what is sent before the root was listed. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/session_id.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/owners/portions.h"

#define USER  12346u
#define OTHER 12345u
#define DIRS  (PORTIONS_FIRST + 1000u)
#define NONCE "000102030405060708090a0b0c0d0e0f"

static struct rig *rounds_rig(void)
{
    struct rig *rig = rig_new();
    rig->config.flush_interval_ms = 0;
    rig->config.service = true;
    return rig;
}

/* Empty ones of the other user, in the root or a group. */
static void make_crowd(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < DIRS; i++) {
        char name[64];
        snprintf(name, sizeof name, "empty-%u", i);
        assert_int_equal(mkdirat(fd, name, 0755), 0);
        assert_int_equal(fchownat(fd, name, OTHER, OTHER, 0), 0);
    }
    close(fd);
}

/* A session of the user, whose id follows from the nonce in its manifest. */
static void open_bound(struct live_session *live, const char *dir)
{
    char id[UUID_TEXT];
    session_id_of(USER, NONCE, id);
    live_open(live, dir, id);
    live_list(live, "\"device\"],\"id_nonce\":\"" NONCE "\",\"more\":[");
    live_line(live, "device", "x", 0);
    assert_int_equal(chown(live->dir, USER, USER), 0);
}

static void make_group(const struct rig *rig, const char *name, uid_t user,
                       char group[512])
{
    snprintf(group, 512, "%s/%s", rig->root, name);
    assert_int_equal(mkdir(group, 0755), 0);
    assert_int_equal(chown(group, user, user), 0);
}

static bool is_sent(const struct rig *rig, const char *id)
{
    bool sent = false;
    for (unsigned i = 0; i < rig->requests; i++) {
        sent = sent || (rig->request[i].kind == TRANSPORT_BATCH &&
                        strcmp(rig->request[i].session, id) == 0);
    }
    return sent;
}

static void until_sent(struct rig *rig, const char *id)
{
    for (unsigned n = 0; n < 10000 && !is_sent(rig, id); n++) {
        rig_run(rig, 1, false);
    }
    assert_true(is_sent(rig, id));
}

static void need_users(void)
{
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
}

static void
a_running_session_of_its_user_does_not_wait_for_directories_of_another(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session live;
    make_crowd(rig->root);
    open_bound(&live, rig->root);
    rig_start(rig);
    until_sent(rig, live.id);
    assert_false(ended_root(rig)->listed);
    live_close(&live);
    rig_delete(rig);
}

static void
an_ended_session_of_its_user_waits_for_directories_of_that_user_alone(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session live;
    make_crowd(rig->root);
    open_bound(&live, rig->root);
    live_line(&live, "device", "shutdown", 0);
    live_close(&live);
    rig_start(rig);
    until_sent(rig, live.id);
    assert_false(ended_root(rig)->listed);
    assert_true(ended_root(rig)->portions.before > 0);
    rig_run(rig, 20000, false);
    assert_true(ended_root(rig)->listed);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* Of several directories of the user, the one whose writer lives has the id, though it is
 * the last one that is found. */
static void an_ended_copy_waits_for_the_running_session_of_the_same_user(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session live;
    struct live_session copy;
    char group[512];
    make_crowd(rig->root);
    make_group(rig, "group", USER, group);
    open_bound(&copy, rig->root);
    live_close(&copy);
    open_bound(&live, group);
    live_line(&live, "device", "only-here", 1);
    rig_start(rig);
    until_sent(rig, live.id);
    rig_run(rig, 20000, false);
    char *stored = rig_stored(rig, live.id, "device");
    assert_non_null(strstr(stored, "only-here"));
    free(stored);
    assert_int_equal(session_find(ended_root(rig), copy.id)->held, true);
    live_close(&live);
    rig_delete(rig);
}

/* A session of which nothing tells whose it is. */
static void open_unbound(struct live_session *live, const char *dir, uid_t user)
{
    live_open(live, dir, RIG_ID);
    live_line(live, "device", "x", 0);
    assert_int_equal(chown(live->dir, user, user), 0);
}

/* Another user has a directory of that name, too, in a group of many names or few. If it
 * is a session, neither is sent. */
static void a_session_that_may_be_of_anybody_waits_for_all_directories(void **state)
{
    (void)state;
    need_users();
    for (int i = 0; i < 4; i++) {
        bool rival = i & 1;
        struct rig *rig = rounds_rig();
        struct live_session live;
        struct live_session other;
        char group[512];
        char empty[700];
        make_crowd(rig->root);
        open_unbound(&live, rig->root, USER);
        make_group(rig, "group", OTHER, group);
        for (unsigned n = 0; i & 2 && n < 500; n++) {
            char name[32];
            snprintf(name, sizeof name, "device.%u.log.old", n);
            dirs_append(group, name, "");
        }
        snprintf(empty, sizeof empty, "%s/" RIG_ID, group);
        if (rival) {
            open_unbound(&other, group, OTHER);
        } else {
            assert_int_equal(mkdir(empty, 0755), 0);
        }
        rig_start(rig);
        while (!ended_root(rig)->listed) {
            assert_false(is_sent(rig, live.id));
            rig_run(rig, 1, false);
        }
        rig_run(rig, 20000, false);
        assert_int_equal(is_sent(rig, live.id), !rival);
        if (rival) {
            live_close(&other);
        }
        live_close(&live);
        rig_delete(rig);
    }
}

/* In the layout of 1.1, or without the nonce of an earlier version. */
static void a_session_whose_id_is_nowhere_else_waits_for_no_listing(void **state)
{
    (void)state;
    need_users();
    for (int i = 0; i < 4; i++) {
        struct rig *rig = rounds_rig();
        struct live_session live;
        char group[512];
        char shifting[700];
        make_crowd(rig->root);
        make_group(rig, "group", USER, group);
        if (i < 2) {
            open_unbound(&live, i % 2 ? group : rig->root, USER);
        } else {
            snprintf(shifting, sizeof shifting, "%s/" RIG_ID, i % 2 ? group : rig->root);
            assert_int_equal(mkdir(shifting, 0755), 0);
            dirs_append(shifting, "device.log", "{\"type\":\"job_start\"}\n");
            assert_int_equal(chown(shifting, USER, USER), 0);
        }
        rig_start(rig);
        until_sent(rig, RIG_ID);
        assert_false(ended_root(rig)->listed);
        if (i < 2) {
            live_close(&live);
        }
        rig_run(rig, 20000, false);
        assert_true(ended_root(rig)->listed);
        rig_delete(rig);
    }
}

/* Nor does it matter in whose group they are. */
static void a_crowd_in_a_group_delays_no_session_of_another_user(void **state)
{
    (void)state;
    need_users();
    static const uid_t owner[] = {OTHER, 0};
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = rounds_rig();
        struct live_session live;
        char group[512];
        make_group(rig, "group", owner[i], group);
        make_crowd(group);
        open_bound(&live, i ? group : rig->root);
        rig_start(rig);
        until_sent(rig, live.id);
        assert_false(ended_root(rig)->listed);
        live_close(&live);
        rig_run(rig, 20000, false);
        assert_true(ended_root(rig)->listed);
        rig_delete(rig);
    }
}

/* The watcher reports both. */
static void a_new_group_does_not_wait_for_the_large_one_of_another_user(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session live;
    char group[512];
    rig_start(rig);
    rig_run(rig, 3000, false);
    make_group(rig, "crowd", OTHER, group);
    make_crowd(group);
    engine_touch(rig->engine, 0, "crowd");
    rig_run(rig, 1, false);
    assert_non_null(ended_root(rig)->listing);
    make_group(rig, "mine", USER, group);
    open_bound(&live, group);
    uint32_t number = ended_root(rig)->listing_number;
    engine_touch(rig->engine, 0, "mine");
    until_sent(rig, live.id);
    assert_non_null(ended_root(rig)->listing);
    assert_int_equal(ended_root(rig)->listing_number, number);
    live_close(&live);
    rig_delete(rig);
}

#define LATE 8u

/* A listing of the root, known before, that has come past most names. */
static void begin_long_listing(struct rig *rig)
{
    make_crowd(rig->root);
    engine_touch(rig->engine, 0, "");
    do {
        rig_run(rig, 1, false);
        assert_non_null(ended_root(rig)->listing);
    } while (shares_of(&ended_root(rig)->portions.spent, OTHER) < DIRS * 3 / 4);
}

static void open_late(struct live_session late[LATE], const char *dir)
{
    for (unsigned i = 0; i < LATE; i++) {
        char id[UUID_TEXT];
        snprintf(id, sizeof id, "11111111-1111-4111-8111-00000000000%u", i);
        live_open(&late[i], dir, id);
        live_line(&late[i], "device", "x", 0);
        assert_int_equal(chown(late[i].dir, USER, USER), 0);
    }
}

/* All of them, before the listing of that number has ended. */
static void until_late_are_sent(struct rig *rig, struct live_session late[LATE],
                                uint32_t number)
{
    for (unsigned i = 0; i < LATE; i++) {
        until_sent(rig, late[i].id);
        live_close(&late[i]);
    }
    assert_non_null(ended_root(rig)->listing);
    assert_int_equal(ended_root(rig)->listing_number, number);
}

/* The watcher has told that something came to the root, and not what: too much happens
 * there. */
static void what_comes_during_a_long_listing_waits_for_no_other_listing(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session late[LATE];
    rig_start(rig);
    rig_run(rig, 3000, false);
    begin_long_listing(rig);
    open_late(late, rig->root);
    engine_touch(rig->engine, 0, "");
    until_late_are_sent(rig, late, ended_root(rig)->listing_number);
    rig_delete(rig);
}

/* What a group has told is among the events that were lost. */
static void what_comes_to_a_group_when_events_are_lost_waits_for_no_listing(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    struct live_session late[LATE];
    char group[512];
    make_group(rig, "group", USER, group);
    rig_start(rig);
    rig_run(rig, 3000, false);
    begin_long_listing(rig);
    open_late(late, group);
    engine_rescan(rig->engine);
    until_late_are_sent(rig, late, ended_root(rig)->listing_number);
    rig_delete(rig);
}

/* Passes beside a listing have pauses, so that it has an end. */
static void a_long_listing_ends_whatever_is_told_meanwhile(void **state)
{
    (void)state;
    need_users();
    struct rig *rig = rounds_rig();
    rig_start(rig);
    rig_run(rig, 3000, false);
    begin_long_listing(rig);
    uint32_t number = ended_root(rig)->listing_number;
    uint64_t begun_ms = 0;
    uint64_t passes = 0;
    uint64_t from_ms = rig_now_ms();
    while (ended_root(rig)->listing_number < number + 4) {
        engine_touch(rig->engine, 0, "");
        engine_rescan(rig->engine);
        rig_run(rig, 1, false);
        passes += ended_root(rig)->brief.begun_ms != begun_ms;
        begun_ms = ended_root(rig)->brief.begun_ms;
        assert_true(rig_now_ms() - from_ms < 60000);
    }
    assert_in_range(passes, 1, 1 + (rig_now_ms() - from_ms) / 1000);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_running_session_of_its_user_does_not_wait_for_directories_of_another),
        cmocka_unit_test(
            an_ended_session_of_its_user_waits_for_directories_of_that_user_alone),
        cmocka_unit_test(an_ended_copy_waits_for_the_running_session_of_the_same_user),
        cmocka_unit_test(a_session_that_may_be_of_anybody_waits_for_all_directories),
        cmocka_unit_test(a_session_whose_id_is_nowhere_else_waits_for_no_listing),
        cmocka_unit_test(a_crowd_in_a_group_delays_no_session_of_another_user),
        cmocka_unit_test(a_new_group_does_not_wait_for_the_large_one_of_another_user),
        cmocka_unit_test(what_comes_during_a_long_listing_waits_for_no_other_listing),
        cmocka_unit_test(what_comes_to_a_group_when_events_are_lost_waits_for_no_listing),
        cmocka_unit_test(a_long_listing_ends_whatever_is_told_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
