/* SPDX-License-Identifier: Apache-2.0 */
/* What one user makes below the root takes its own room only: what is beyond it waits, is
 * counted, and is sent once there is room. */
#include "tests/support/check.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/registry.h"
#include "upload/published/progress_file.h"
#include "upload/upload_result.h"

#define MANY     1200u
#define FEW      400u
#define OTHER    12345u
#define OF_OTHER " owner=12345"
#define LIMIT    (128u << 10)
#define DAY_MS   (24ull * 3600 * 1000)
/* Of one owner alone: three quarters of three quarters. */
#define OF_ONE (LIMIT / 16 * 9)

static unsigned said;
static unsigned said_fits;

static void count_line(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    bool other = strstr(line, OF_OTHER) != NULL;
    said += other && strstr(line, "owner.waits ");
    said_fits += other && strstr(line, "owner.fits ");
}

static const struct log counted = {.level = LOG_AT_DEBUG, .write = count_line};

/* Sessions of two lines each, in the layout that needs neither manifest nor lock. */
static void plant(const char *root, const char *name, unsigned count, bool empty,
                  mode_t mode)
{
    for (unsigned i = 0; i < count; i++) {
        char dir[700];
        char lines[300];
        snprintf(dir, sizeof dir, "%s/%s-%u", root, name, i);
        snprintf(lines, sizeof lines,
                 "{\"type\":\"job_start\",\"session_id\":\"%s-%u\"}\n"
                 "{\"type\":\"shutdown\",\"session_id\":\"%s-%u\"}\n",
                 name, i, name, i);
        assert_int_equal(mkdir(dir, mode), 0);
        if (!empty) {
            dirs_append(dir, "device.log", lines);
        }
        assert_int_equal(chown(dir, OTHER, OTHER), 0);
    }
}

static void unplant(const char *root, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char path[700];
        snprintf(path, sizeof path, "%s/%s-%u", root, name, i);
        dirs_remove(strdup(path));
    }
}

static struct rig *room_rig(void)
{
    if (geteuid() != 0) {
        skip(); /* several owners */
    }
    struct rig *rig = rig_new();
    said = said_fits = 0;
    rig->config.log = &counted;
    rig->config.directory_bytes = LIMIT;
    return rig;
}

static unsigned waiting(const struct rig *rig)
{
    return rig_summary(rig).directories_waiting;
}

static void told_waits(void *arg, const struct progress_note *note)
{
    *(unsigned *)arg += note->owner == OTHER ? note->waits : 0;
}

static unsigned told(const struct rig *rig)
{
    unsigned count = 0;
    progress_notes(&sys_real, ended_root(rig)->fd, told_waits, &count);
    return count;
}

static void sessions_beyond_the_room_of_their_owner_wait(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    plant(rig->root, "planted", MANY, false, 0755);
    ended_make(rig->root, 0, 20);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    struct engine_summary s = rig_summary(rig);
    assert_true(s.kept_bytes <= LIMIT);
    assert_true(s.sessions_done < MANY);
    assert_int_equal(s.sessions_done + s.directories_waiting, MANY + 20);
    assert_int_equal(s.waiting_owner, OTHER);
    for (unsigned n = 0; n < 20; n++) {
        char id[40];
        ended_id(n, id);
        rig_same_as_file(rig, id, "scope");
    }
    assert_true(engine_drained(rig->engine));  /* no more can be done … */
    assert_false(engine_summary_accepted(&s)); /* … and not all is sent */
    assert_int_equal(said, 1);
    rig_run(rig, 10000, false);
    assert_int_equal(told(rig), waiting(rig));
    rig_delete(rig);
}

static void a_session_of_another_owner_that_begins_later_is_sent(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    struct live_session live;
    plant(rig->root, "planted", MANY, false, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    live_open(&live, rig->root, RIG_ID);
    rig_fill(&live, 5);
    engine_touch(rig->engine, 0, live.id);
    rig_run(rig, 2000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&live);
    rig_run(rig, 120000, false);
    const struct parked_session *s = parked_find(&ended_root(rig)->parked, RIG_ID);
    assert_true(s && s->complete);
    rig_delete(rig);
}

static void those_that_wait_are_sent_when_others_are_removed(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    rig->config.max_requests_per_second = 0;
    plant(rig->root, "planted", MANY, false, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    unsigned left = waiting(rig);
    unsigned done = rig_summary(rig).sessions_done;
    assert_int_equal(left + done, MANY);
    for (unsigned i = 0; i < MANY; i++) { /* what is complete */
        char path[700];
        snprintf(path, sizeof path, "planted-%u", i);
        const struct parked_session *s = parked_find(&ended_root(rig)->parked, path);
        if (s && s->complete) {
            snprintf(path, sizeof path, "%s/planted-%u", rig->root, i);
            dirs_remove(strdup(path));
        }
    }
    rig_run(rig, 60000, false);
    assert_true(waiting(rig) < left);
    assert_true(ended_requests(rig, TRANSPORT_COMPLETE) > done);
    assert_int_equal(ended_requests(rig, TRANSPORT_COMPLETE) + waiting(rig), MANY);
    rig_delete(rig);
}

/* One who keeps all sessions of a year is an ordinary user. */
static void complete_sessions_take_little_room(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    plant(rig->root, "planted", FEW, false, 0755);
    rig->config.max_requests_per_second = 0;
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    assert_int_equal(waiting(rig), 0);
    assert_int_equal(rig_summary(rig).sessions_done, FEW);
    assert_true(shares_of(&rig->engine->shares, OTHER) < FEW * 150);
    rig_delete(rig);
}

static void when_all_fit_that_is_said(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    plant(rig->root, "planted", MANY, false, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    unplant(rig->root, "planted", MANY);
    rig_run(rig, 60000, false);
    assert_int_equal(waiting(rig), 0);
    assert_int_equal(said_fits, 1);
    assert_int_equal(said, 1);
    assert_int_equal(told(rig), 0);
    rig_delete(rig);
}

/* The memory that they took is given back. */
static void what_is_forgotten_is_not_counted(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    plant(rig->root, "planted", 100, false, 0755);
    plant(rig->root, "empty", 100, true, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    assert_true(rig_summary(rig).kept_bytes > 100 * 100);
    assert_int_equal(shares_of(&rig->engine->shares, OTHER), rig_summary(rig).kept_bytes);
    unplant(rig->root, "planted", 100);
    for (unsigned day = 0; day < 9; day++) {
        rig_step_wall_s(DAY_MS / 1000);
        rig_run(rig, 20000, false);
    }
    assert_int_equal(rig_summary(rig).kept_bytes, 0);
    rig_delete(rig);
}

static void after_a_restart_the_owner_of_what_is_complete_is_known(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    plant(rig->root, "planted", MANY, false, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    uint64_t before = shares_of(&rig->engine->shares, OTHER);
    unsigned left = waiting(rig);
    rig_stop(rig);
    rig_start(rig);
    assert_int_equal(shares_of(&rig->engine->shares, OTHER), before);
    rig_run(rig, DAY_MS, true);
    assert_in_range(waiting(rig), left - 2, left + 2); /* in another order */
    assert_true(shares_of(&rig->engine->shares, OTHER) <= OF_ONE);
    rig_delete(rig);
}

/* A group directory may contain sessions of others. */
static void what_others_have_in_a_directory_of_the_owner_does_not_wait(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    char group[700];
    plant(rig->root, "planted", MANY, false, 0755);
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
    snprintf(group, sizeof group, "%s/group", rig->root);
    assert_int_equal(mkdir(group, 0755), 0);
    ended_make(group, 0, 3);
    assert_int_equal(chown(group, OTHER, OTHER), 0);
    unsigned before = rig_summary(rig).sessions_done;
    rig_run(rig, 120000, false);
    assert_int_equal(rig_summary(rig).sessions_done, before + 3);
    rig_delete(rig);
}

/* The next listing of itself is 10 s later, and an upload waits for others 5 s. */
static void an_upload_goes_on_with_ones_own_while_there_is_room(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    static const struct upload_result_words words = {.backend_url = "http://x",
                                                     .others = "other users"};
    char which[256];
    unsigned turns = 0;
    rig->config.once = true;
    rig->config.max_requests_per_second = 0;
    ended_make(rig->root, 0, MANY);
    rig_start(rig);
    uint64_t begun_ms = rig_now_ms();
    for (; !engine_drained(rig->engine) && turns < 100000; turns++) {
        rig_run(rig, 1, true);
        struct engine_summary s = rig_summary(rig);
        assert_true(s.sessions_done == 0 || engine_drained(rig->engine) ||
                    !engine_left_to_others(rig->engine, which));
    }
    struct engine_summary s = rig_summary(rig);
    assert_true(rig_now_ms() - begun_ms < rig->config.rescan_interval_ms);
    assert_true(s.kept_bytes > OF_ONE - 3000);
    assert_int_equal(s.sessions_done + s.directories_waiting, MANY);
    for (unsigned drained = 0; drained < 2; drained++) {
        assert_int_equal(upload_result_judge(&result, &s, drained, &words),
                         GPUFL_PARTIAL);
        assert_non_null(strstr(result.message, "no room for "));
        assert_non_null(strstr(result.message, "remove some that are complete"));
    }
    rig_delete(rig);
}

/* Root may look into every directory; the agent's user may not. */
static void as_any_user(bool any)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2];
    uint32_t powers = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    assert_int_equal(syscall(SYS_capget, &head, caps), 0);
    caps[0].effective = any ? caps[0].effective & ~powers : caps[0].effective | powers;
    assert_int_equal(syscall(SYS_capset, &head, caps), 0);
}

/* Whether others may list a group and not search it, or not even list the directories. */
static void what_cannot_be_looked_at_takes_the_room_of_its_owner(void **state)
{
    static const struct {
        mode_t group;
        mode_t directory;
    } row[] = {{0744, 0755}, {0755, 0700}};
    (void)state;
    for (unsigned i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct rig *rig = room_rig();
        struct live_session live;
        char group[700];
        snprintf(group, sizeof group, "%s/group", rig->root);
        assert_int_equal(mkdir(group, 0755), 0);
        plant(group, "planted", 2 * MANY, true, row[i].directory);
        assert_int_equal(chown(group, OTHER, OTHER), 0);
        assert_int_equal(chmod(group, row[i].group), 0);
        as_any_user(true);
        rig_start(rig);
        rig_run(rig, 120000, false);
        live_open(&live, rig->root, RIG_ID);
        rig_fill(&live, 5);
        engine_touch(rig->engine, 0, live.id);
        rig_run(rig, 2000, false);
        rig_same_as_file(rig, RIG_ID, "device");
        live_close(&live);
        assert_int_equal(shares_of(&rig->engine->shares, SHARES_NOBODY), 0);
        assert_true(shares_of(&rig->engine->shares, OTHER) <= OF_ONE);
        assert_true(waiting(rig) > 0);
        assert_int_equal(rig_summary(rig).waiting_owner, OTHER);
        rig_stop(rig);
        as_any_user(false);
        rig_delete(rig);
    }
}

static void after_a_restart_what_cannot_be_looked_at_has_an_owner(void **state)
{
    (void)state;
    struct rig *rig = room_rig();
    struct live_session live;
    char group[700];
    snprintf(group, sizeof group, "%s/group", rig->root);
    assert_int_equal(mkdir(group, 0755), 0);
    live_open(&live, group, RIG_ID);
    rig_fill(&live, 5);
    snprintf(group, sizeof group, "%s/group/%s", rig->root, RIG_ID);
    assert_int_equal(chown(group, OTHER, OTHER), 0);
    rig_start(rig);
    rig_run(rig, 20000, false);
    uint64_t before = shares_of(&rig->engine->shares, OTHER);
    assert_true(before > 0);
    rig_stop(rig);
    snprintf(group, sizeof group, "%s/group", rig->root);
    assert_int_equal(chown(group, OTHER, OTHER), 0);
    assert_int_equal(chmod(group, 0744), 0);
    as_any_user(true);
    rig_start(rig);
    rig_run(rig, 20000, false);
    assert_int_equal(shares_of(&rig->engine->shares, OTHER), before);
    assert_int_equal(shares_of(&rig->engine->shares, SHARES_NOBODY), 0);
    rig_stop(rig);
    as_any_user(false);
    live_close(&live);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_beyond_the_room_of_their_owner_wait),
        cmocka_unit_test(a_session_of_another_owner_that_begins_later_is_sent),
        cmocka_unit_test(those_that_wait_are_sent_when_others_are_removed),
        cmocka_unit_test(complete_sessions_take_little_room),
        cmocka_unit_test(when_all_fit_that_is_said),
        cmocka_unit_test(what_is_forgotten_is_not_counted),
        cmocka_unit_test(after_a_restart_the_owner_of_what_is_complete_is_known),
        cmocka_unit_test(what_others_have_in_a_directory_of_the_owner_does_not_wait),
        cmocka_unit_test(an_upload_goes_on_with_ones_own_while_there_is_room),
        cmocka_unit_test(what_cannot_be_looked_at_takes_the_room_of_its_owner),
        cmocka_unit_test(after_a_restart_what_cannot_be_looked_at_has_an_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
