/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose directory is renamed within the root. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/held.h"

#define ANOTHER_USER 12345

static void moved_path(const struct rig *rig, const char *path, char full[700])
{
    snprintf(full, 700, "%s/%s", rig->root, path);
}

static void moved_group(const struct rig *rig, const char *group)
{
    char path[700];
    moved_path(rig, group, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void moved_rename(const struct rig *rig, const char *from, const char *to)
{
    char old[700];
    char new[700];
    moved_path(rig, from, old);
    moved_path(rig, to, new);
    assert_int_equal(rename(old, new), 0);
}

/* The writer goes on in its directory, wherever that is. */
static void moved_with(const struct rig *rig, struct live_session *s, const char *from,
                       const char *to)
{
    moved_rename(rig, from, to);
    snprintf(s->dir, sizeof s->dir, "%s/%s", rig->root, to);
}

/* What is stored of the session is what its directory holds. */
static void moved_all_same(struct rig *rig, const char *id, const char *at)
{
    static const char *const channels[] = {"device", "scope", "system"};
    for (int c = 0; c < 3; c++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s.log", at, channels[c]);
        char *want = rig_file(rig, path);
        char *got = rig_stored(rig, id, channels[c]);
        assert_string_equal(got, want);
        free(want);
        free(got);
    }
}

static void moved_begin(struct live_session *s, const char *root, const char *id)
{
    live_open(s, root, id);
    for (int c = 0; c < 3; c++) {
        static const char *const channels[] = {"device", "scope", "system"};
        live_line(s, channels[c], "job_start", 0);
        live_line(s, channels[c], "x", 1);
    }
}

static void moved_end(struct live_session *s)
{
    static const char *const channels[] = {"device", "scope", "system"};
    for (int c = 0; c < 3; c++) {
        live_line(s, channels[c], "x", 2);
        live_line(s, channels[c], "shutdown", 3);
    }
    live_close(s);
}

static void moved_is_complete(struct rig *rig, const char *id, const char *at)
{
    rig_run(rig, 120000, false);
    moved_all_same(rig, id, at);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
}

static void a_running_session_goes_on_where_it_was_moved_to_and_back(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    moved_begin(&s, rig->root, RIG_ID);
    rig_start(rig);
    rig_run(rig, 5000, false);
    moved_group(rig, "sub");
    moved_group(rig, "other");
    static const char *const way[] = {RIG_ID, "sub/" RIG_ID, "other/" RIG_ID,
                                      "sub/" RIG_ID, RIG_ID};
    for (int i = 0; i + 1 < 5; i++) {
        moved_with(rig, &s, way[i], way[i + 1]);
        live_line(&s, "scope", "moved", i);
        rig_run(rig, 60000, false);
        moved_all_same(rig, RIG_ID, way[i + 1]);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    }
    moved_end(&s);
    moved_is_complete(rig, RIG_ID, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static void a_session_is_found_where_it_was_moved_to_while_nobody_looked(void **state)
{
    (void)state;
    for (int times = 1; times <= 3; times++) {
        struct rig *rig = rig_new();
        struct live_session s;
        moved_begin(&s, rig->root, RIG_ID);
        rig_start(rig);
        rig_run(rig, 5000, false);
        moved_group(rig, "sub");
        for (int i = 0; i < times; i++) { /* the journal may name several paths */
            rig_stop(rig);
            moved_with(rig, &s, i % 2 ? "sub/" RIG_ID : RIG_ID,
                       i % 2 ? RIG_ID : "sub/" RIG_ID);
            live_line(&s, "device", "moved", i);
            rig_start(rig);
            rig_run(rig, 30000, false);
        }
        rig_stop(rig);
        rig_start(rig);
        moved_end(&s);
        moved_is_complete(rig, RIG_ID, times % 2 ? "sub/" RIG_ID : RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void a_complete_session_stays_complete_where_it_is_moved_to(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_ended_session(3);
        rig_start(rig);
        rig_run(rig, 60000, true);
        unsigned sent = rig_count(rig, TRANSPORT_BATCH);
        if (restart) {
            rig_stop(rig);
        }
        moved_group(rig, "archive");
        moved_rename(rig, RIG_ID, "archive/" RIG_ID);
        if (restart) {
            rig_start(rig);
        }
        rig_run(rig, 60000, false);
        assert_int_equal(rig_summary(rig).sessions_blocked, 0);
        rig_stop(rig);
        rig_start(rig);
        moved_is_complete(rig, RIG_ID, "archive/" RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void moved_state(const struct rig *rig, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", rig->root, script);
    assert_int_equal(system(command), 0);
}

/* Its writer seems to live, or to have ended. */
static int moved_lock(const struct rig *rig)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[700];
    moved_path(rig, "group/" RIG_ID "/" LAYOUT_LOCK, path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

/* One uploader had it complete before it was moved; another one, whose state is
 * elsewhere, has followed it and has gone on with it, \p grows, or not. */
static void moved_by_another(bool grows)
{
    char dir[700];
    struct rig *rig = rig_ended_session(3);
    moved_path(rig, "group/" RIG_ID, dir);
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_stop(rig);
    moved_state(rig, "cp -r .gpufl-agent .first");
    moved_group(rig, "group");
    moved_rename(rig, RIG_ID, "group/" RIG_ID);
    int lock = moved_lock(rig);
    if (grows) {
        dirs_append(dir, "device.log", "{\"type\":\"x\"}\n");
    }
    rig_start(rig);
    rig_run(rig, 120000, false);
    rig_stop(rig);
    moved_state(rig, "mv .gpufl-agent .second && mv .first .gpufl-agent &&"
                     " cd .second && cp progress complete \"$OLDPWD/.gpufl-agent\" &&"
                     " cd \"$OLDPWD/.gpufl-agent\" &&"
                     " sed -i '1s/$/ origin=0 database=0 state=1-1/' progress complete");
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    rig_start(rig);
    rig_run(rig, 120000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    close(lock);
    moved_is_complete(rig, RIG_ID, "group/" RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), grows ? 2 : 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void what_another_uploader_has_followed_is_followed(void **state)
{
    (void)state;
    moved_by_another(false);
    moved_by_another(true);
}

static void two_groups_that_change_their_names_keep_their_sessions(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_new();
        struct live_session s[2];
        char group[700];
        moved_group(rig, "a");
        moved_path(rig, "a", group);
        moved_begin(&s[0], group, RIG_ID);
        moved_group(rig, "b");
        moved_path(rig, "b", group);
        moved_begin(&s[1], group, RIG_ID2);
        rig_start(rig);
        rig_run(rig, 5000, false);
        if (restart) {
            rig_stop(rig);
        }
        moved_rename(rig, "a", "tmp");
        moved_with(rig, &s[1], "b", "a");
        moved_with(rig, &s[0], "tmp", "b");
        snprintf(s[0].dir, sizeof s[0].dir, "%s/b/" RIG_ID, rig->root);
        snprintf(s[1].dir, sizeof s[1].dir, "%s/a/" RIG_ID2, rig->root);
        if (restart) {
            rig_start(rig);
        }
        moved_end(&s[0]);
        moved_end(&s[1]);
        moved_is_complete(rig, RIG_ID, "b/" RIG_ID);
        moved_is_complete(rig, RIG_ID2, "a/" RIG_ID2);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
        rig_delete(rig);
    }
}

/* Batches are sent, and not answered. */
static void moved_under_way(struct rig *rig, struct live_session *s)
{
    rig_start(rig);
    rig_run(rig, 5000, false);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    rig->silent = true;
    live_line(s, "device", "late", 1);
    live_line(s, "system", "late", 1);
    rig_run(rig, 15000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent + 2);
}

/* The batch is answered only when its directory is elsewhere. */
static void a_session_that_is_moved_while_a_batch_is_under_way_loses_nothing(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        struct rig *rig = rig_new();
        struct live_session s;
        moved_begin(&s, rig->root, RIG_ID);
        moved_under_way(rig, &s);
        moved_group(rig, "sub");
        moved_with(rig, &s, RIG_ID, "sub/" RIG_ID);
        if (ended) {
            moved_end(&s);
        }
        rig_run(rig, 15000, false);
        rig->silent = false;
        if (!ended) {
            rig_run(rig, 15000, false);
            moved_end(&s);
        }
        moved_is_complete(rig, RIG_ID, "sub/" RIG_ID);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_delete(rig);
    }
}

static void a_batch_that_waits_is_sent_from_where_its_session_was_moved_to(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    moved_begin(&s, rig->root, RIG_ID);
    moved_under_way(rig, &s);
    rig_stop(rig); /* as a crash: what was under way is asked for again */
    moved_group(rig, "sub");
    moved_with(rig, &s, RIG_ID, "sub/" RIG_ID);
    moved_end(&s);
    rig->silent = false;
    rig_start(rig);
    moved_is_complete(rig, RIG_ID, "sub/" RIG_ID);
    rig_delete(rig);
}

/* The copy may have been made of an earlier state, or by anybody. */
static void a_copy_is_not_followed_when_the_first_is_gone(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char command[1600];
    moved_begin(&s, rig->root, RIG_ID);
    rig_start(rig);
    rig_run(rig, 5000, false);
    unsigned sent = rig_count(rig, TRANSPORT_BATCH);
    moved_group(rig, "sub");
    snprintf(command, sizeof command, "cp -a '%s' '%s/sub/' && rm -r '%s'", s.dir,
             rig->root, s.dir);
    assert_int_equal(system(command), 0);
    live_close(&s);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static unsigned moves_said;

static void log_moves(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    moves_said += strstr(line, "session.moved") != NULL;
}

/* Device and inode are the same at both paths. */
static void a_directory_that_is_mounted_once_more_has_not_moved(void **state)
{
    (void)state;
    static const struct log log = {.level = LOG_AT_INFO, .write = log_moves};
    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0) {
        skip();
    }
    struct rig *rig = rig_new();
    struct live_session s;
    char twin[700];
    moves_said = 0;
    rig->config.log = &log;
    moved_begin(&s, rig->root, RIG_ID);
    rig_start(rig);
    rig_run(rig, 5000, false);
    moved_group(rig, "sub");
    moved_group(rig, "sub/" RIG_ID);
    moved_path(rig, "sub/" RIG_ID, twin);
    assert_int_equal(mount(s.dir, twin, "none", MS_BIND, NULL), 0);
    rig_run(rig, 90000, false);
    moved_end(&s);
    rig_run(rig, 90000, false);
    assert_int_equal(moves_said, 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    moved_all_same(rig, RIG_ID, RIG_ID);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(umount(twin), 0);
    rig_delete(rig);
}

/* Its owner could put anything there; a group's owner could, too. */
static void what_belongs_to_another_user_is_not_followed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int group = 0; group < 2; group++) {
        struct rig *rig = rig_new();
        struct live_session s;
        char path[700];
        moved_begin(&s, rig->root, RIG_ID);
        rig_start(rig);
        rig_run(rig, 5000, false);
        unsigned sent = rig_count(rig, TRANSPORT_BATCH);
        moved_group(rig, "sub");
        moved_path(rig, group ? "sub" : RIG_ID, path);
        assert_int_equal(chown(path, ANOTHER_USER, ANOTHER_USER), 0);
        moved_with(rig, &s, RIG_ID, "sub/" RIG_ID);
        live_line(&s, "device", "forged", 1);
        rig_run(rig, 60000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), sent);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        live_close(&s);
        rig_delete(rig);
    }
}

/* Its file is another one than was sent. */
static void a_moved_directory_with_other_files_is_held(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char path[700];
    moved_begin(&s, rig->root, RIG_ID);
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_stop(rig);
    moved_group(rig, "sub");
    moved_with(rig, &s, RIG_ID, "sub/" RIG_ID);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(unlink(path), 0);
    dirs_append(s.dir, "device.log",
                "{\"type\":\"job_start\",\"session_id\":\"" RIG_ID "\",\"n\":9}\n"
                "{\"type\":\"y\",\"session_id\":\"" RIG_ID "\",\"n\":9}\n"
                "{\"type\":\"shutdown\",\"session_id\":\"" RIG_ID "\",\"n\":9}\n");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_true(rig_summary(rig).sessions_blocked > 0);
    rig_delete(rig);
}

static bool moved_progress_has(struct rig *rig, const char *text)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool has = strstr(progress, text) != NULL;
    free(progress);
    return has;
}

/* It had its name for a moment, as in a swap of two. */
static void a_wrong_name_that_is_gone_holds_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    char beside[700];
    snprintf(beside, sizeof beside, "../%s.elsewhere", strrchr(rig->root, '/') + 1);
    moved_begin(&s, rig->root, RIG_ID);
    moved_with(rig, &s, RIG_ID, "tmp");
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_true(moved_progress_has(rig, held_text(HELD_RENAMED)));
    moved_rename(rig, "tmp", beside);
    rig_run(rig, 60000, false);
    assert_false(moved_progress_has(rig, held_text(HELD_RENAMED)));
    moved_rename(rig, beside, "tmp");
    live_close(&s);
    rig_delete(rig);
}

/* \return the next of a sequence that depends on nothing but where it began. */
static unsigned moved_random(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

static void moved_at_random(struct rig *rig, struct live_session *s, unsigned *random,
                            const char **at)
{
    static const char *const place[] = {RIG_ID, "sub/" RIG_ID, "other/" RIG_ID};
    unsigned to = moved_random(random, 3);
    switch (moved_random(random, 6)) {
    case 0:
        if (strcmp(place[to], *at) != 0) {
            moved_with(rig, s, *at, place[to]);
            *at = place[to];
        }
        break;
    case 1:
        rig_stop(rig);
        rig->silent = false;
        rig_start(rig);
        break;
    case 2:
        rig->silent = !rig->silent;
        break;
    case 3:
        rig_run(rig, moved_random(random, 25000), false);
        break;
    default:
        live_line(s, moved_random(random, 2) ? "device" : "scope", "x", 7);
    }
}

static void moves_at_any_time_lose_nothing_and_send_nothing_twice(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct rig *rig = rig_new();
        struct live_session s;
        unsigned random = seed;
        const char *at = RIG_ID;
        moved_group(rig, "sub");
        moved_group(rig, "other");
        moved_begin(&s, rig->root, RIG_ID);
        rig_start(rig);
        rig_run(rig, 5000, false);
        for (int step = 0; step < 60; step++) {
            moved_at_random(rig, &s, &random, &at);
        }
        rig->silent = false;
        moved_end(&s);
        moved_is_complete(rig, RIG_ID, at);
        assert_true(rig_count(rig, TRANSPORT_COMPLETE) > 0);
        rig_delete(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_session_goes_on_where_it_was_moved_to_and_back),
        cmocka_unit_test(a_session_is_found_where_it_was_moved_to_while_nobody_looked),
        cmocka_unit_test(a_complete_session_stays_complete_where_it_is_moved_to),
        cmocka_unit_test(what_another_uploader_has_followed_is_followed),
        cmocka_unit_test(two_groups_that_change_their_names_keep_their_sessions),
        cmocka_unit_test(
            a_session_that_is_moved_while_a_batch_is_under_way_loses_nothing),
        cmocka_unit_test(a_batch_that_waits_is_sent_from_where_its_session_was_moved_to),
        cmocka_unit_test(a_copy_is_not_followed_when_the_first_is_gone),
        cmocka_unit_test(a_directory_that_is_mounted_once_more_has_not_moved),
        cmocka_unit_test(what_belongs_to_another_user_is_not_followed),
        cmocka_unit_test(a_moved_directory_with_other_files_is_held),
        cmocka_unit_test(a_wrong_name_that_is_gone_holds_nothing),
        cmocka_unit_test(moves_at_any_time_lose_nothing_and_send_nothing_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
