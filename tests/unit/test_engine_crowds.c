/* SPDX-License-Identifier: Apache-2.0 */
/* Directories with very many names: they delay nothing of another owner, counted in names
 * that are listed, and what lies in them is found all the same. */
#include "tests/support/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/engine/wakeups.h"
#include "upload/lifecycle/visit.h"

#define OTHER 12345u
#define DIRS  4
#define NAMES 2000
/* Each has three names. */
#define POLLED 3000
/* What is read before a round of the engine ends. */
#define SOME (5 * VISITS_STEP_NAMES)

static unsigned listed;

/* In the place of the C library's: counts the names. */
ssize_t getdents64(int fd, void *buffer, size_t size)
{
    long n = syscall(SYS_getdents64, fd, buffer, size);
    for (long at = 0; at < n; listed++) {
        at += ((const struct dirent64 *)(void *)((char *)buffer + at))->d_reclen;
    }
    return n;
}

static void make_names(const char *dir, const char *before, const char *behind)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 1; i < NAMES; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%d%s", before, i, behind);
        int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        assert_true(file >= 0);
        close(file);
    }
    close(fd);
}

static void crowd_path(const struct rig *rig, int n, char dir[512])
{
    snprintf(dir, 512, "%s/crowd-%d", rig->root, n);
}

/* Sessions of the other owner, in the layout without a lock. */
static void make_crowds(const struct rig *rig, int from, int to)
{
    for (int n = from; n < to; n++) {
        char dir[512];
        crowd_path(rig, n, dir);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"crowd\"}\n");
        make_names(dir, "device.", ".log");
        assert_int_equal(chown(dir, OTHER, OTHER), 0);
    }
}

static void touch_crowds(const struct rig *rig, int from, int to)
{
    for (int n = from; n < to; n++) {
        char dir[512];
        crowd_path(rig, n, dir);
        dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"crowd\"}\n");
        engine_grew(rig->engine, 0, strrchr(dir, '/') + 1, "device.log");
        engine_touch(rig->engine, 0, strrchr(dir, '/') + 1);
    }
}

/* \return how many names are listed before there is another such request. */
static unsigned listed_before(struct rig *rig, enum transport_kind kind, const char *id)
{
    unsigned from = rig->requests;
    listed = 0;
    for (unsigned n = 0; n < 10000; n++) {
        for (unsigned i = from; i < rig->requests; i++) {
            if (rig->request[i].kind == kind &&
                strcmp(rig->request[i].session, id) == 0) {
                return listed;
            }
        }
        rig_run(rig, 1, false);
    }
    fail();
    return 0;
}

static struct rig *crowded_rig(struct live_session *live)
{
    struct rig *rig = rig_new();
    rig->config.flush_interval_ms = 0;
    rig->config.service = true;
    live_open(live, rig->root, RIG_ID);
    live_line(live, "device", "x", 0);
    rig_start(rig);
    rig_run(rig, 3000, false);
    return rig;
}

static void many_names_of_another_owner_delay_no_line_no_session_and_no_end(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct live_session live;
    struct live_session late;
    struct rig *rig = crowded_rig(&live);
    make_crowds(rig, 0, DIRS);
    touch_crowds(rig, 0, DIRS);
    live_line(&live, "device", "x", 1);
    engine_touch(rig->engine, 0, live.id);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, live.id), 0, SOME);
    rig_run(rig, 10000, false); /* they are found */
    touch_crowds(rig, 0, DIRS);
    live_open(&late, rig->root, RIG_ID2);
    live_line(&late, "device", "x", 0);
    engine_touch(rig->engine, 0, late.id);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, late.id), 0, SOME);
    rig_run(rig, 10000, false);
    touch_crowds(rig, 0, DIRS);
    live_close(&late);
    engine_touch(rig->engine, 0, late.id);
    assert_in_range(listed_before(rig, TRANSPORT_COMPLETE, late.id), 0, SOME);
    live_close(&live);
    rig_delete(rig);
}

/* Sessions of the other owner, of one line each. */
static void make_polled(const struct rig *rig)
{
    for (int n = 0; n < POLLED; n++) {
        char dir[512];
        snprintf(dir, sizeof dir, "%s/polled-%d", rig->root, n);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "device.log", "{\"type\":\"x\",\"session_id\":\"polled\"}\n");
        assert_int_equal(chown(dir, OTHER, OTHER), 0);
    }
}

/* As when events were lost, which anybody can bring about, or those of one owner are more
 * than are watched. */
static void
all_polled_sessions_of_another_owner_delay_no_line_no_session_and_no_end(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct live_session live;
    struct live_session late;
    struct rig *rig = crowded_rig(&live);
    rig->config.max_requests_per_second = 0;
    engine_set_pace(rig->engine, 0, 0);
    make_polled(rig);
    rig_run(rig, 30000, false);
    assert_true(rig->requests > POLLED);
    engine_rescan(rig->engine);
    live_line(&live, "device", "x", 1);
    engine_touch(rig->engine, 0, live.id);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, live.id), 0, SOME);
    rig_run(rig, 10000, false);
    engine_rescan(rig->engine);
    live_open(&late, rig->root, RIG_ID2);
    live_line(&late, "device", "x", 0);
    engine_touch(rig->engine, 0, late.id);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, late.id), 0, SOME);
    rig_run(rig, 10000, false);
    engine_rescan(rig->engine);
    live_close(&late);
    engine_touch(rig->engine, 0, late.id);
    assert_in_range(listed_before(rig, TRANSPORT_COMPLETE, late.id), 0, SOME);
    live_close(&live);
    rig_delete(rig);
}

/* However often the root is listed: else they would take the processor for good. */
static void
sessions_of_which_nothing_is_told_are_inspected_at_a_limited_rate(void **state)
{
    (void)state;
    enum { SECONDS = 20, LISTINGS_PER_S = 5, NAMES_OF_ONE = 3 };
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    rig->config.max_requests_per_second = 0;
    engine_set_pace(rig->engine, 0, 0);
    make_polled(rig);
    rig_run(rig, 30000, false);
    assert_true(rig->requests > POLLED);
    rig->engine->config.rescan_interval_ms = 1000 / LISTINGS_PER_S;
    engine_rescan(rig->engine);
    rig_run(rig, 30000, false);
    listed = 0;
    rig_run(rig, SECONDS * 1000, false);
    unsigned inspected = SECONDS * VISIT_UNASKED_PER_S + 2 * POLLED;
    unsigned named = (SECONDS + 1) * LISTINGS_PER_S * (POLLED + 10);
    assert_in_range(listed, POLLED, named + NAMES_OF_ONE * inspected);
    live_close(&live);
    rig_delete(rig);
}

/* One directory or many: it is one budget. */
static void
events_without_end_have_an_owner_s_names_listed_at_a_limited_rate(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    make_crowds(rig, 0, DIRS);
    engine_touch(rig->engine, 0, "");
    rig_run(rig, 10000, false);
    listed = 0;
    uint64_t begin_ms = rig_now_ms();
    for (int n = 0; n < 200; n++) {
        touch_crowds(rig, 0, DIRS);
        rig_run(rig, 20, false);
    }
    uint64_t took_ms = rig_now_ms() - begin_ms;
    assert_in_range(took_ms, 4000, 6000);
    assert_in_range(listed, NAMES, took_ms * VISITS_NAMES_PER_S / 1000 + 2 * NAMES);
    live_close(&live);
    rig_delete(rig);
}

static void watch_all(void *arg, unsigned root, const char *root_path,
                      const char *session, bool done)
{
    (void)arg, (void)root, (void)root_path, (void)session, (void)done;
}

static void lines_of_a_session_with_many_names_are_sent_without_a_listing(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    make_names(live.dir, "note-", "");
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 20000, false);
    engine_visit_changed(rig->engine, watch_all, NULL);
    /* A writer writes to its lock file before; "" = to several files. */
    static const char *const grown[] = {"device.log", ""};
    for (int n = 1; n <= 20; n++) {
        engine_grew(rig->engine, 0, live.id, LAYOUT_LOCK);
        live_line(&live, "device", "x", n);
        engine_grew(rig->engine, 0, live.id, grown[n % 2]);
        assert_int_equal(listed_before(rig, TRANSPORT_BATCH, live.id), 0);
    }
    engine_touch(rig->engine, 0, live.id); /* a file was closed, or is new */
    rig_run(rig, 1000, false);
    live_line(&live, "device", "x", 21);
    engine_touch(rig->engine, 0, live.id); /* the next listing has to wait */
    uint64_t begin_ms = rig_now_ms();
    (void)listed_before(rig, TRANSPORT_BATCH, live.id);
    assert_in_range(rig_now_ms() - begin_ms, 0, 20);
    live_close(&live);
    rig_delete(rig);
}

/* Small files that are never deleted: each is sent once, and the end is told. */
static void a_session_of_very_many_files_is_complete(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    enum { FILES = 1300 };
    make_names(live.dir, "note-", "");
    for (int n = 1; n <= FILES; n++) {
        live_line(&live, "device", "x", n);
        live_rotate(&live, "device", (unsigned)n);
        if (n % 100 == 0) {
            engine_touch(rig->engine, 0, live.id);
            rig_run(rig, 100, false);
        }
    }
    live_line(&live, "device", "shutdown", 0);
    live_close(&live);
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 120000, false);
    struct engine_summary summary = rig_summary(rig);
    assert_int_equal(summary.sessions_done, 1);
    assert_int_equal(summary.lines_acked, FILES + 2);
    rig_delete(rig);
}

static void make_group(const struct rig *rig, const char *name, char group[512])
{
    snprintf(group, 512, "%s/%s", rig->root, name);
    assert_int_equal(mkdir(group, 0755), 0);
}

/* It is no session, which is found once, until something comes or goes. */
static void sessions_of_a_large_group_are_found(void **state)
{
    (void)state;
    struct live_session live;
    struct live_session inner;
    struct rig *rig = crowded_rig(&live);
    char group[512];
    make_group(rig, "group", group);
    for (int i = 0; i < NAMES; i++) {
        char dir[600];
        snprintf(dir, sizeof dir, "%s/empty-%d", group, i);
        assert_int_equal(mkdir(dir, 0755), 0);
    }
    live_open(&inner, group, RIG_ID2);
    live_line(&inner, "device", "x", 0);
    engine_touch(rig->engine, 0, "group");
    rig_run(rig, 30000, false);
    assert_int_equal(rig_summary(rig).sessions, 2);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    assert_true(engine_drained(rig->engine));
    listed = 0;
    rig_run(rig, 60000, false);
    /* Six times as a group, with the "." and ".." of each directory in it. */
    assert_in_range(listed, 0, 6 * 3 * NAMES + 1000);
    live_close(&live);
    live_close(&inner);
    rig_delete(rig);
}

static void note_group(void *arg, unsigned root, const char *root_path, const char *group)
{
    (void)root, (void)root_path;
    *(bool *)arg = *(bool *)arg || strcmp(group, "group") == 0;
}

/* The watcher names it: it waits for no listing of what else lies in the root. */
static void a_session_that_is_named_in_a_group_is_found_without_a_listing(void **state)
{
    (void)state;
    struct live_session live;
    struct live_session inner;
    bool told = false;
    struct rig *rig = rig_new();
    char group[512];
    rig->config.flush_interval_ms = 0;
    rig->config.service = true;
    rig->config.group_listed = note_group;
    rig->config.group_listed_arg = &told;
    live_open(&live, rig->root, RIG_ID);
    make_group(rig, "group", group);
    make_names(group, "note-", "");
    rig_start(rig);
    rig_run(rig, 30000, false);
    assert_true(told); /* to be watched */
    live_open(&inner, group, RIG_ID2);
    live_line(&inner, "device", "x", 0);
    engine_touch(rig->engine, 0, "group/" RIG_ID2);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, inner.id), 0, NAMES / 2);
    live_close(&inner);
    live_close(&live);
    rig_delete(rig);
}

/* A listing that is fair to others finds the rest. */
static void few_of_many_sessions_that_are_named_in_a_group_are_found_at_once(void **state)
{
    (void)state;
    enum { INNER = 2000 };
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    char group[512];
    make_group(rig, "group", group);
    for (int i = 0; i < INNER; i++) {
        char dir[600];
        snprintf(dir, sizeof dir, "%s/inner-%d", group, i);
        assert_int_equal(mkdir(dir, 0755), 0);
        dirs_append(dir, "device.log", "{\"type\":\"x\"}\n");
    }
    listed = 0;
    for (int i = 0; i < INNER; i++) {
        snprintf(group, sizeof group, "group/inner-%d", i);
        engine_touch(rig->engine, 0, group);
    }
    assert_in_range(listed, 1, INNER);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).sessions, 1 + INNER);
    live_close(&live);
    rig_delete(rig);
}

/* A listing that is fair to others finds the rest. */
static void few_of_many_new_groups_of_an_owner_are_listed_at_once(void **state)
{
    (void)state;
    enum { GROUPS = 40, INNER = 30 };
    struct live_session live;
    struct rig *rig = crowded_rig(&live);
    char group[512];
    for (int n = 0; n < GROUPS; n++) {
        char name[64];
        snprintf(name, sizeof name, "group-%d", n);
        make_group(rig, name, group);
        for (int i = 0; i < INNER; i++) {
            char dir[600];
            snprintf(dir, sizeof dir, "%s/empty-%d", group, i);
            assert_int_equal(mkdir(dir, 0755), 0);
        }
    }
    listed = 0;
    for (int n = 0; n < GROUPS; n++) {
        snprintf(group, sizeof group, "group-%d", n);
        engine_touch(rig->engine, 0, group);
    }
    /* Each is looked at, and one is listed with what is in it. */
    assert_in_range(listed, 0, GROUPS * (INNER + 2) + 8 * INNER);
    live_close(&live);
    rig_delete(rig);
}

/* Names alone are no session: the id is free for the one that has it. */
static void id_is_free_after(uint64_t wait_ms)
{
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct live_session live;
    struct live_session late;
    struct rig *rig = crowded_rig(&live);
    char group[512];
    char planted[600];
    make_group(rig, "group", group);
    snprintf(planted, sizeof planted, "%s/" RIG_ID2, group);
    assert_int_equal(mkdir(planted, 0755), 0);
    make_names(planted, "note-", "");
    assert_int_equal(chown(planted, OTHER, OTHER), 0);
    engine_touch(rig->engine, 0, "group");
    rig_run(rig, wait_ms, false);
    live_open(&late, rig->root, RIG_ID2);
    live_line(&late, "device", "x", 0);
    engine_touch(rig->engine, 0, late.id);
    assert_in_range(listed_before(rig, TRANSPORT_BATCH, late.id), 0, SOME);
    live_close(&late);
    rig_run(rig, 20000, false);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    live_close(&live);
    rig_delete(rig);
}

static void a_directory_of_many_names_claims_no_id(void **state)
{
    (void)state;
    id_is_free_after(1);
    id_is_free_after(20000); /* it was listed as a whole */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            all_polled_sessions_of_another_owner_delay_no_line_no_session_and_no_end),
        cmocka_unit_test(many_names_of_another_owner_delay_no_line_no_session_and_no_end),
        cmocka_unit_test(
            events_without_end_have_an_owner_s_names_listed_at_a_limited_rate),
        cmocka_unit_test(
            sessions_of_which_nothing_is_told_are_inspected_at_a_limited_rate),
        cmocka_unit_test(lines_of_a_session_with_many_names_are_sent_without_a_listing),
        cmocka_unit_test(a_session_of_very_many_files_is_complete),
        cmocka_unit_test(sessions_of_a_large_group_are_found),
        cmocka_unit_test(a_session_that_is_named_in_a_group_is_found_without_a_listing),
        cmocka_unit_test(
            few_of_many_sessions_that_are_named_in_a_group_are_found_at_once),
        cmocka_unit_test(few_of_many_new_groups_of_an_owner_are_listed_at_once),
        cmocka_unit_test(a_directory_of_many_names_claims_no_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
