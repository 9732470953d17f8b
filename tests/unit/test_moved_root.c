/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose directory is moved to another root, and a process that dies at any write
 * meanwhile: between the two journals, both may know the session. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/pick.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/resolve/quarantine.h"

static const char *const channels[] = {"device", "scope", "system"};

/* From this write on, nothing that the process does reaches the disk; 0 = it lives. */
static unsigned dies_at;
static unsigned writes;
static struct sys dying_sys;
static const struct sys *living_sys;

static bool is_dead(void)
{
    return dies_at && writes >= dies_at;
}

static ssize_t dying_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    writes++;
    if (is_dead()) {
        errno = EIO;
        return -1;
    }
    return living_sys->pwrite(fd, buf, len, at);
}

static int dying_renameat(int dir, const char *old, int new_dir, const char *new)
{
    if (is_dead()) {
        errno = EIO;
        return -1;
    }
    return living_sys->renameat(dir, old, new_dir, new);
}

enum what { PLAIN, UNANSWERED, COMPLETE, WHAT_COUNT };

/* Where the directory is, when the next process begins. */
enum then { STAYS, RETURNS, GOES_TO_GROUP, THEN_COUNT };

struct moving {
    struct rig *rig;
    char *root[2];
    struct live_session live;
    char at[512];
};

static void moving_start(struct moving *m, unsigned first)
{
    struct rig *rig = m->rig;
    char why[512];
    rig->root = m->root[first];
    rig_start(rig);
    assert_int_equal(
        engine_add_root(rig->engine, m->root[1 - first], &rig->channels, why), GPUFL_OK);
    rig->root = m->root[0];
}

static void moving_lines(struct moving *m, const char *type, int n)
{
    for (int c = 0; c < 3; c++) {
        live_line(&m->live, channels[c], type, n);
    }
}

static void moving_to(struct moving *m, unsigned root, const char *group)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", m->root[root], group);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s%s" RIG_ID, m->root[root], group,
             *group ? "/" : "");
    assert_int_equal(rename(m->at, path), 0);
    memcpy(m->at, path, sizeof m->at);
    memcpy(m->live.dir, path, sizeof m->live.dir);
}

static void moving_begin(struct moving *m, enum what what, bool positions, unsigned first)
{
    struct rig *rig = rig_new();
    *m = (struct moving){.rig = rig, .root = {rig->root, dirs_make()}};
    living_sys = rig->config.sys;
    dying_sys = *living_sys;
    dying_sys.pwrite = dying_pwrite;
    dying_sys.renameat = dying_renameat;
    rig->config.sys = &dying_sys;
    if (positions) {
        rig_positions_on(rig);
    }
    live_open(&m->live, m->root[0], RIG_ID);
    snprintf(m->at, sizeof m->at, "%s", m->live.dir);
    moving_lines(m, "x", 1);
    if (what == COMPLETE) {
        moving_lines(m, "shutdown", 2);
        live_close(&m->live);
    }
    moving_start(m, first);
    rig_run(rig, 60000, false);
    if (what == UNANSWERED) {
        rig->silent = true; /* it is stored, and the process dies before it hears that */
        moving_lines(m, "x", 2);
        rig_run(rig, 15000, false);
        rig_stop(rig);
        rig->silent = false;
    }
}

/* \return false if it did all there was to do before it died. */
static bool moving_dies(struct moving *m, unsigned at_write, unsigned turns)
{
    struct rig *rig = m->rig;
    writes = 0;
    dies_at = at_write;
    for (unsigned i = 0; i < turns && !is_dead(); i++) {
        rig_run(rig, 100, false);
    }
    bool died = is_dead();
    rig_stop(rig);
    dies_at = 0;
    return died;
}

static void moving_is_all_there(struct moving *m, enum what what)
{
    struct rig *rig = m->rig;
    rig_run(rig, 180000, false);
    for (int c = 0; c < 3; c++) {
        char path[300];
        snprintf(path, sizeof path, "%s.log", channels[c]);
        rig->root = m->at;
        char *want = rig_file(rig, path);
        char *got = rig_stored(rig, RIG_ID, channels[c]);
        assert_string_equal(got, want);
        free(want);
        free(got);
    }
    rig->root = m->root[0];
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    assert_int_equal(rig_summary(rig).sessions_away, 0);
    assert_true(what == COMPLETE || rig_count(rig, TRANSPORT_COMPLETE) > 0);
    assert_true(engine_drained(rig->engine));
}

static bool moving_case(enum what what, enum then then, bool positions, unsigned first,
                        unsigned at_write)
{
    struct moving m;
    moving_begin(&m, what, positions, first);
    struct rig *rig = m.rig;
    if (what != UNANSWERED) {
        rig_stop(rig);
    }
    moving_to(&m, 1, "");
    moving_start(&m, first);
    bool died = moving_dies(&m, at_write, 600);
    if (then == RETURNS) {
        moving_to(&m, 0, "");
    } else if (then == GOES_TO_GROUP) {
        moving_to(&m, 1, "group");
    }
    unsigned complete = rig_count(rig, TRANSPORT_COMPLETE);
    moving_start(&m, first);
    rig_run(rig, 30000, false);
    if (what != COMPLETE) {
        moving_lines(&m, "x", 3);
        moving_lines(&m, "shutdown", 4);
        live_close(&m.live);
    }
    moving_is_all_there(&m, what);
    assert_true(what != COMPLETE || rig_count(rig, TRANSPORT_COMPLETE) == complete);
    rig->root = m.root[0];
    rig_delete(rig);
    dirs_remove(m.root[1]);
    return died;
}

static void whenever_the_process_dies_a_moved_session_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < WHAT_COUNT * THEN_COUNT * 4; i++) {
        unsigned at_write = 1;
        enum what what = (enum what)(i % WHAT_COUNT);
        enum then then = (enum then)(i / WHAT_COUNT % THEN_COUNT);
        unsigned rest = (unsigned)i / (WHAT_COUNT * THEN_COUNT);
        do {
            print_message("what %d then %d positions %u first %u: dies at write %u\n",
                          (int)what, (int)then, rest % 2, rest / 2, at_write);
        } while (moving_case(what, then, rest % 2, rest / 2, at_write++));
    }
}

static int refuse_seventh(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_BATCH && strstr(r->raw, "\"n\":7}") ? 422 : RIG_REGISTRY;
}

/* Where the directory is now, the range is listed, once, and can be dropped. */
static bool moving_quarantined_case(unsigned at_write)
{
    struct moving m;
    struct quarantined range;
    moving_begin(&m, PLAIN, false, 0);
    struct rig *rig = m.rig;
    rig->answer = refuse_seventh;
    live_line(&m.live, "device", "x", 7);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    rig_stop(rig);
    moving_to(&m, 1, "");
    moving_start(&m, 0);
    bool died = moving_dies(&m, at_write, 600);
    moving_start(&m, 1); /* the lists are those of its first root */
    rig_run(rig, 60000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    assert_int_equal(rig_summary(rig).sessions_away, 0);
    moving_lines(&m, "shutdown", 8);
    live_close(&m.live);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_true(quarantine_at(rig->engine, 0, &range));
    assert_string_equal(range.path, RIG_ID);
    assert_int_equal(quarantine_release(rig->engine, &range, false), GPUFL_OK);
    rig_run(rig, 60000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    char *got = rig_stored(rig, RIG_ID, "device");
    assert_null(strstr(got, "\"n\":7}"));
    assert_non_null(strstr(got, "\"n\":8}"));
    free(got);
    rig->root = m.root[0];
    rig_delete(rig);
    dirs_remove(m.root[1]);
    return died;
}

static void ranges_in_quarantine_move_with_their_session(void **state)
{
    (void)state;
    unsigned at_write = 1;
    do {
        print_message("dies at write %u\n", at_write);
    } while (moving_quarantined_case(at_write++));
}

static void moving_at_random(struct moving *m, unsigned *root)
{
    static const char *const group[] = {"", "group"};
    struct rig *rig = m->rig;
    switch (pick(7)) {
    case 0:
        *root = (unsigned)pick(2);
        moving_to(m, *root, group[pick(2)]);
        break;
    case 1:
        rig_stop(rig);
        moving_start(m, (unsigned)pick(2));
        break;
    case 2:
        moving_dies(m, 1 + (unsigned)pick(20), 50);
        moving_start(m, (unsigned)pick(2));
        break;
    case 3:
        rig->silent = !rig->silent;
        break;
    case 4:
        rig_run(rig, pick(25000), false);
        break;
    default:
        live_line(&m->live, channels[pick(3)], "x", 7);
    }
}

static void moves_and_deaths_at_any_time_lose_nothing_and_send_nothing_twice(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 80; seed++) {
        struct moving m;
        unsigned root = 0;
        pick_seed(seed);
        moving_begin(&m, PLAIN, seed % 2, 0);
        print_message("seed %u\n", seed);
        for (int step = 0; step < 60; step++) {
            moving_at_random(&m, &root);
        }
        m.rig->silent = false;
        moving_lines(&m, "shutdown", 4);
        live_close(&m.live);
        moving_is_all_there(&m, PLAIN);
        rig_delete(m.rig);
        dirs_remove(m.root[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            moves_and_deaths_at_any_time_lose_nothing_and_send_nothing_twice),
        cmocka_unit_test(ranges_in_quarantine_move_with_their_session),
        cmocka_unit_test(whenever_the_process_dies_a_moved_session_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
