/* SPDX-License-Identifier: Apache-2.0 */
/* What one owner of sessions leaves to be sent, and how soon lines of another one go. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"

#define MANY    1500
#define ENDS    400
#define OTHER   12345u
#define UNKNOWN 65534u /* as a user namespace shows everybody else */
/* Made or under way when the line came, and the other one's turn before it. */
#define AHEAD 12u

/* Sessions of one line each, in the layout that needs neither manifest nor lock, under
 * \p ids user ids from \p owner on. */
static void plant(const struct rig *rig, uid_t owner, unsigned ids)
{
    for (unsigned i = 0; i < MANY; i++) {
        char dir[512];
        snprintf(dir, sizeof dir, "%s/planted-%u", rig->root, i);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"planted\"}\n");
        assert_int_equal(chown(dir, owner + i % ids, owner), 0);
    }
}

static unsigned planted_before(const struct rig *rig, unsigned begin, const char *session)
{
    for (unsigned i = begin; i < rig->requests; i++) {
        if (strcmp(rig->request[i].session, session) == 0) {
            return i - begin;
        }
    }
    return RIG_REQUESTS_MAX;
}

/* Lines that are written while \p owner has thousands of sessions go first, or next. */
static void lines_go_beside_ids(uid_t owner, unsigned ids, uid_t victim)
{
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = rig_new();
    struct live_session live;
    char *accounts = dirs_make();
    dirs_append(accounts, "passwd", "somebody:x:12345:12345::/:/bin/sh\n");
    dirs_append(accounts, "subuid", "somebody:200000:65536\n");
    rig->config.accounts_dir = accounts;
    live_open(&live, rig->root, RIG_ID);
    assert_int_equal(chown(live.dir, victim, victim), 0);
    live_line(&live, "system", "x", 0);
    rig_start(rig);
    rig_run(rig, 3000, false);
    plant(rig, owner, ids);
    rig_run(rig, 12000, false); /* they are found */
    for (int n = 1; n <= 5; n++) {
        unsigned begin = rig->requests;
        uint64_t written_ms = rig_now_ms();
        live_line(&live, "system", "x", n);
        engine_touch(rig->engine, 0, live.id);
        rig_run(rig, rig->config.flush_interval_ms, false);
        unsigned due = rig->requests;
        assert_true(due - begin > AHEAD); /* the others are sent meanwhile */
        rig_run(rig, 1000, false);
        assert_in_range(planted_before(rig, begin, live.id), 0, due - begin + AHEAD);
        assert_true(rig->requests < MANY); /* … and some are left */
        assert_in_range(rig_now_ms() - written_ms, 0, 2000);
    }
    live_close(&live);
    rig_delete(rig);
    dirs_remove(accounts);
}

static void lines_go_beside(uid_t owner, uid_t victim)
{
    lines_go_beside_ids(owner, 1, victim);
}

static void thousands_of_sessions_of_another_owner_delay_no_line(void **state)
{
    (void)state;
    lines_go_beside(OTHER, 0);
}

static void subordinate_ids_of_another_owner_delay_no_line(void **state)
{
    (void)state;
    lines_go_beside_ids(200000, 300, 0);
}

static void thousands_of_sessions_without_a_lock_delay_no_line_of_one_with(void **state)
{
    (void)state;
    lines_go_beside(UNKNOWN, UNKNOWN);
}

static int fail_planted(struct rig *rig, const struct rig_request *r)
{
    bool planted = strncmp(r->session, "planted", 7) == 0;
    return r->kind == TRANSPORT_BATCH && planted ? rig->mark : RIG_REGISTRY;
}

/* Each of its first failures was one of the backend: everything waited, longer each time.
 */
static void lines_go_beside_failures(int status, bool restarts)
{
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    struct live_session live;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "system", "x", 0);
    rig->mark = status;
    rig->answer = fail_planted;
    rig_start(rig);
    rig_run(rig, 3000, false);
    plant(rig, OTHER, 1);
    rig_run(rig, 12000, false);
    if (restarts) {
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 3000, false);
    }
    for (int n = 1; n <= 5; n++) {
        unsigned begin = rig->requests;
        uint64_t written_ms = rig_now_ms();
        live_line(&live, "system", "x", n);
        engine_touch(rig->engine, 0, live.id);
        rig_run(rig, rig->config.flush_interval_ms + 1000, false);
        unsigned before = planted_before(rig, begin, live.id);
        assert_int_not_equal(before, RIG_REQUESTS_MAX);
        assert_in_range(rig->request[begin + before].at_ms - written_ms, 0,
                        rig->config.flush_interval_ms + 200);
    }
    live_close(&live);
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 10000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_same_as_file(rig, RIG_ID, "system");
    rig_delete(rig);
}

static void failures_of_another_owner_s_lines_delay_no_line(void **state)
{
    (void)state;
    static const int status[] = {500, 503, 403, 404, 501};
    for (unsigned i = 0; i < sizeof status / sizeof *status; i++) {
        lines_go_beside_failures(status[i], false);
    }
}

static void failures_of_another_owner_s_lines_delay_no_line_after_a_restart(void **state)
{
    (void)state;
    lines_go_beside_failures(500, true);
    lines_go_beside_failures(403, true);
}

/* A session of another owner that has ended is in the backlog. */
static void live_lines_without_end_do_not_keep_a_backlog_back(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    static struct live_session busy[60];
    struct rig *rig = rig_new();
    struct live_session ended;
    for (unsigned i = 0; i < 60; i++) {
        char id[40];
        snprintf(id, sizeof id, "busy-%u", i);
        live_open(&busy[i], rig->root, id);
        assert_int_equal(chown(busy[i].dir, OTHER, OTHER), 0);
    }
    rig_start(rig);
    for (int n = 0; rig_summary(rig).sessions_done == 0 && rig->requests < 1000; n++) {
        for (unsigned i = 0; i < 60; i++) {
            live_line(&busy[i], n % 2 ? "device" : "system", "x", n);
            engine_touch(rig->engine, 0, busy[i].id);
        }
        rig_run(rig, 100, false);
        if (n == 20) {
            live_open(&ended, rig->root, RIG_ID);
            rig_fill(&ended, 5);
            live_close(&ended);
            engine_touch(rig->engine, 0, ended.id);
        }
    }
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    for (unsigned i = 0; i < 60; i++) {
        live_close(&busy[i]);
    }
    rig_delete(rig);
}

static unsigned planted_ends(const struct rig *rig, unsigned from, const char *until)
{
    unsigned ends = 0;
    for (unsigned i = from; i < rig->requests; i++) {
        bool complete = rig->request[i].kind == TRANSPORT_COMPLETE;
        if (complete && strcmp(rig->request[i].session, until) == 0) {
            return ends;
        }
        ends += complete;
    }
    return RIG_REQUESTS_MAX;
}

/* Those of another owner that end before it, and those that end after it. */
static void thousands_of_ends_of_another_owner_delay_no_end(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct rig *rig = rig_new();
    struct live_session live;
    static struct live_session planted[2][ENDS];
    live_open(&live, rig->root, RIG_ID);
    rig_start(rig);
    for (unsigned i = 0; i < 2 * ENDS; i++) {
        struct live_session *s = &planted[i % 2][i / 2];
        char id[40];
        snprintf(id, sizeof id, "planted-%u", i);
        live_open(s, rig->root, id);
        live_line(s, "device", "x", 0);
        assert_int_equal(chown(s->dir, OTHER, OTHER), 0);
    }
    rig_run(rig, 60000, false); /* all lines are sent */
    live_line(&live, "device", "x", 0);
    rig_run(rig, 20000, false);
    unsigned begin = rig->requests;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < ENDS; i++) {
            live_close(&planted[round][i]);
            engine_touch(rig->engine, 0, planted[round][i].id);
        }
        if (round == 0) {
            live_close(&live);
            engine_touch(rig->engine, 0, live.id);
        }
        rig_run(rig, 200, false);
    }
    rig_run(rig, 60000, false);
    assert_in_range(planted_ends(rig, begin, live.id), 0, 60);
    assert_int_equal(rig_summary(rig).sessions_done, 2 * ENDS + 1);
    rig_delete(rig);
}

static unsigned opens;

static int counted_owners_open(int dir, const char *path, int flags, mode_t mode)
{
    opens++;
    return sys_real.open_beneath(dir, path, flags, mode);
}

static void make_empty(const struct rig *rig, const char *group)
{
    for (int i = 0; i < 3000; i++) {
        char dir[512];
        snprintf(dir, sizeof dir, "%s/%sempty-%d", rig->root, group, i);
        assert_int_equal(mkdir(dir, 0755), 0);
    }
}

static void make_group(const struct rig *rig)
{
    char group[512];
    snprintf(group, sizeof group, "%s/group", rig->root);
    assert_int_equal(mkdir(group, 0755), 0);
}

static void tell_root(struct rig *rig)
{
    engine_touch(rig->engine, 0, "");
}

static void tell_group(struct rig *rig)
{
    engine_touch(rig->engine, 0, "group");
}

/* \p tell says that the directories are there, in \p group. */
static void lines_go_meanwhile(const char *group, void (*tell)(struct rig *rig))
{
    struct rig *rig = rig_new();
    struct live_session live;
    struct sys counted = *rig->config.sys;
    counted.open_beneath = counted_owners_open;
    rig->config.sys = &counted;
    rig->config.flush_interval_ms = 0;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "system", "x", 0);
    rig_start(rig);
    rig_run(rig, 3000, false);
    make_group(rig);
    make_empty(rig, group);
    unsigned batches = rig_count(rig, TRANSPORT_BATCH);
    opens = 0;
    tell(rig);
    rig_run(rig, 1, false); /* the listing has begun */
    live_line(&live, "system", "x", 1);
    engine_touch(rig->engine, 0, live.id);
    while (rig_count(rig, TRANSPORT_BATCH) == batches && opens < 3000) {
        rig_run(rig, 1, false);
    }
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), batches + 1);
    assert_true(opens < 3000);
    rig_run(rig, 3000, false);
    assert_true(opens > 3000); /* it went on to its end */
    live_close(&live);
    rig_delete(rig);
}

static void lines_go_while_thousands_of_directories_are_listed(void **state)
{
    (void)state;
    lines_go_meanwhile("", tell_root);
}

static void lines_go_while_a_group_of_thousands_is_listed(void **state)
{
    (void)state;
    lines_go_meanwhile("group/", tell_root);
}

static void lines_go_while_a_new_group_of_thousands_is_visited(void **state)
{
    (void)state;
    lines_go_meanwhile("group/", tell_group);
}

static void a_listing_of_thousands_of_files_takes_several_turns(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    for (int i = 0; i < 9000; i++) {
        char name[32];
        snprintf(name, sizeof name, "file-%d", i);
        dirs_append(rig->root, name, "");
    }
    rig_start(rig);
    engine_turn(rig->engine);
    assert_non_null(ended_root(rig)->listing);
    rig_run(rig, 1000, false);
    assert_null(ended_root(rig)->listing);
    rig_delete(rig);
}

/* Each listing stops within the group, before or after the session, and goes on. */
static void a_group_that_is_listed_in_part_shows_no_absence(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    char group[512];
    char gone[512];
    make_group(rig);
    snprintf(group, sizeof group, "%s/group", rig->root);
    snprintf(gone, sizeof gone, "%s.gone", rig->root);
    live_open(&live, group, RIG_ID);
    live_line(&live, "system", "x", 0);
    make_empty(rig, "group/");
    rig_start(rig);
    rig_run(rig, 3000, false);
    const struct session *session = ended_root(rig)->sessions;
    assert_non_null(session);
    uint32_t number = ended_root(rig)->listing_number;
    engine_touch(rig->engine, 0, "");
    do {
        rig_run(rig, 1, false);
        assert_int_equal(session->presence, SESSION_PRESENT);
        if (ended_root(rig)->listing) {
            engine_touch(rig->engine, 0, "group"); /* while it is listed */
        }
    } while (ended_root(rig)->listing || ended_root(rig)->listing_number == number);
    assert_int_equal(rename(group, gone), 0);
    rig_run(rig, 20000, false);
    assert_int_equal(session->presence, SESSION_AWAY);
    assert_int_equal(rename(gone, group), 0);
    rig_run(rig, 20000, false);
    assert_int_equal(session->presence, SESSION_PRESENT);
    live_close(&live);
    rig_delete(rig);
}

/* The rest of the group cannot be read, and is where the session may be. */
static void a_group_that_fails_halfway_shows_no_absence(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    char group[512];
    make_group(rig);
    snprintf(group, sizeof group, "%s/group", rig->root);
    live_open(&live, group, RIG_ID);
    live_line(&live, "system", "x", 0);
    make_empty(rig, "group/");
    rig_start(rig);
    rig_run(rig, 3000, false);
    struct root *root = ended_root(rig);
    uint32_t number = root->listing_number;
    engine_touch(rig->engine, 0, "");
    engine_turn(rig->engine);
    assert_int_equal(root->listing_number, number + 1);
    assert_non_null(root->group.listing);
    int unreadable = open("/", O_PATH);
    assert_int_equal(dup2(unreadable, root->group.listing->fd), root->group.listing->fd);
    while (root->listing) {
        rig_run(rig, 1, false);
    }
    assert_int_equal(root->listing_number, number + 1);
    assert_int_equal(root->sessions->presence, SESSION_PRESENT);
    close(unreadable);
    live_close(&live);
    rig_delete(rig);
}

static int refuse_second(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    bool second = strcmp(r->session, RIG_ID2) == 0;
    return r->kind == TRANSPORT_BATCH && second ? 400 : RIG_REGISTRY;
}

/* A session whose every line the backend refuses, as anybody can make one. */
static void refused_lines_of_another_owner_hold_no_line(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = rig_new();
    struct live_session live;
    struct live_session refused;
    rig->answer = refuse_second;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "system", "x", 0);
    live_open(&refused, rig->root, RIG_ID2);
    rig_fill(&refused, 100);
    assert_int_equal(chown(refused.dir, OTHER, OTHER), 0);
    live_close(&refused);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).hold, HOLD_NONE);
    unsigned before = rig->requests;
    live_line(&live, "system", "x", 1);
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 2000, false);
    rig_same_as_file(rig, RIG_ID, "system");
    assert_in_range(rig->requests - before, 1, AHEAD); /* nothing is shredded */
    live_close(&live);
    rig_delete(rig);
}

/* Nobody else has anything to send when its lines are refused, but somebody soon has. */
static void refused_lines_hold_no_session_that_comes_later(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session live;
    struct live_session refused;
    rig->answer = refuse_second;
    live_open(&refused, rig->root, RIG_ID2);
    rig_fill(&refused, 100);
    live_close(&refused);
    rig->config.service = true;
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 8);
    assert_int_equal(rig_summary(rig).hold, HOLD_NONE);
    unsigned before = rig->requests;
    live_open(&live, rig->root, RIG_ID);
    live_line(&live, "system", "x", 0);
    engine_touch(rig->engine, 0, "");
    rig_run(rig, 5000, false);
    rig_same_as_file(rig, RIG_ID, "system");
    assert_in_range(rig->requests - before, 1, AHEAD); /* nothing is shredded */
    live_close(&live);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_lines_hold_no_session_that_comes_later),
        cmocka_unit_test(thousands_of_sessions_of_another_owner_delay_no_line),
        cmocka_unit_test(subordinate_ids_of_another_owner_delay_no_line),
        cmocka_unit_test(thousands_of_sessions_without_a_lock_delay_no_line_of_one_with),
        cmocka_unit_test(thousands_of_ends_of_another_owner_delay_no_end),
        cmocka_unit_test(refused_lines_of_another_owner_hold_no_line),
        cmocka_unit_test(live_lines_without_end_do_not_keep_a_backlog_back),
        cmocka_unit_test(failures_of_another_owner_s_lines_delay_no_line),
        cmocka_unit_test(failures_of_another_owner_s_lines_delay_no_line_after_a_restart),
        cmocka_unit_test(lines_go_while_thousands_of_directories_are_listed),
        cmocka_unit_test(lines_go_while_a_group_of_thousands_is_listed),
        cmocka_unit_test(lines_go_while_a_new_group_of_thousands_is_visited),
        cmocka_unit_test(a_listing_of_thousands_of_files_takes_several_turns),
        cmocka_unit_test(a_group_that_is_listed_in_part_shows_no_absence),
        cmocka_unit_test(a_group_that_fails_halfway_shows_no_absence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
