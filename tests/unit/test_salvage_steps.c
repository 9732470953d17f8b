/* SPDX-License-Identifier: Apache-2.0 */
/* The large files of a salvage, which are read in many steps. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "schema/layout.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/source/gz_cache.h"
#include "upload/source/salvage.h"
#include "upload/source/salvage_stock.h"

#define RAW      ".tmp/device.1.log"
#define PART     ".tmp/device.1.log.gz.part"
#define STAGED   ".tmp/device.1.log.gz"
#define WINDOW   "device.1.log.gz"
#define LINES    60000
#define STEP     65536u
#define OVERSHOT 65536u /* the chunk in which the budget ends */

/* What a dead writer left: one large window that is not compressed. */
struct stand {
    char *root;
    char dir[600];
    char *text; /* the window */
    struct log quiet;
    struct salvage_place place;
    size_t budget;
    uint64_t there;
    bool lists_many;
    unsigned mores;
};

static size_t bytes_read;

static ssize_t read_and_count(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = sys_real.pread(fd, buf, len, at);
    bytes_read += n > 0 ? (size_t)n : 0;
    return n;
}

static unsigned fails_at; /* the open of a file of the window that fails */

static int open_or_fail(int dir, const char *path, int flags, mode_t mode)
{
    if (strstr(path, "device.1") && fails_at && --fails_at == 0) {
        errno = EMFILE;
        return -1;
    }
    return sys_real.open_beneath(dir, path, flags, mode);
}

/* Lines that hardly compress. */
static char *stand_text(void)
{
    uint64_t x = 88172645463325252u;
    char *text = malloc((size_t)LINES * 64);
    size_t len = 0;
    for (int i = 0; i < LINES; i++) {
        char words[49];
        for (int k = 0; k < 3; k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            snprintf(words + (size_t)k * 16, 17, "%016llx", (unsigned long long)x);
        }
        len += (size_t)sprintf(text + len, "{\"x\":\"%s\"}\n", words);
    }
    return text;
}

static void stand_make(struct stand *s, const char *root)
{
    *s = (struct stand){.text = stand_text()};
    snprintf(s->dir, sizeof s->dir, "%s/" RIG_ID, root);
    assert_int_equal(mkdir(s->dir, 0755), 0);
    dirs_append(s->dir, LAYOUT_LOCK, "");
    int dir = open(s->dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(mkdirat(dir, LAYOUT_TMP_DIR, 0755), 0);
    close(dir);
    dirs_append(s->dir, RAW, s->text);
}

static void stand_open(struct stand *s)
{
    static struct sys sys;
    char *root = dirs_make();
    sys = sys_real;
    sys.pread = read_and_count;
    sys.open_beneath = open_or_fail;
    stand_make(s, root);
    s->root = root;
    s->place = (struct salvage_place){.sys = &sys,
                                      .log = &s->quiet,
                                      .root = open(root, O_RDONLY | O_DIRECTORY),
                                      .path = RIG_ID,
                                      .id = RIG_ID,
                                      .readings = salvage_readings_new(),
                                      .budget = &s->budget,
                                      .there = &s->there,
                                      .lists_many = &s->lists_many};
}

static void stand_close(struct stand *s)
{
    salvage_readings_free(s->place.readings);
    close(s->place.root);
    free(s->text);
    dirs_remove(s->root);
}

static bool stand_has(const struct stand *s, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    return access(path, F_OK) == 0;
}

static enum salvage_result stand_step(struct stand *s)
{
    bytes_read = 0;
    s->budget = STEP;
    s->lists_many = true;
    enum salvage_result result = salvage_step(&s->place);
    assert_true(bytes_read <= STEP + OVERSHOT);
    s->mores += result == SALVAGE_MORE;
    return result;
}

/* Steps until \p file is there. */
static void stand_reach(struct stand *s, const char *file)
{
    while (!stand_has(s, file)) {
        enum salvage_result result = stand_step(s);
        assert_true(result == SALVAGE_STEP || result == SALVAGE_MORE);
    }
}

static enum salvage_result stand_end(struct stand *s)
{
    enum salvage_result result;
    do {
        result = stand_step(s);
    } while (result == SALVAGE_STEP || result == SALVAGE_MORE);
    return result;
}

/* The window holds what the writer wrote, and nothing else is left. */
static void stand_is_published(const struct stand *s)
{
    struct gz_cache cache = {0};
    char path[700];
    size_t len;
    size_t size = strlen(s->text);
    char *got = malloc(size + 1);
    snprintf(path, sizeof path, "%s/" WINDOW, s->dir);
    int fd = open(path, O_RDONLY);
    assert_int_equal(gz_cache_read(&cache, fd, 0, got, size + 1, &len), GPUFL_OK);
    assert_int_equal(len, size);
    assert_memory_equal(got, s->text, size);
    assert_false(stand_has(s, LAYOUT_TMP_DIR));
    gz_cache_close(&cache);
    close(fd);
    free(got);
}

static void a_large_window_is_published_in_bounded_steps(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    assert_int_equal(stand_end(&s), SALVAGE_DONE);
    assert_true(s.mores > 3 * (LINES * 57 / STEP) / 2); /* it is read several times */
    stand_is_published(&s);
    stand_close(&s);
}

static void stand_remove(const struct stand *s, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(unlink(path), 0);
}

static void a_part_that_another_program_removed_is_begun_again(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    stand_reach(&s, PART);
    assert_int_equal(stand_step(&s), SALVAGE_MORE);
    stand_remove(&s, PART);
    assert_int_equal(stand_end(&s), SALVAGE_DONE);
    stand_is_published(&s);
    stand_close(&s);
}

/* A crash, and another file that only looks like a part. */
static void a_part_of_an_earlier_salvage_is_not_continued(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    stand_reach(&s, PART);
    assert_int_equal(stand_step(&s), SALVAGE_MORE);
    salvage_readings_free(s.place.readings);
    s.place.readings = salvage_readings_new();
    dirs_append(s.dir, PART, "x");
    assert_int_equal(stand_end(&s), SALVAGE_DONE);
    stand_is_published(&s);
    stand_close(&s);
}

static void a_part_that_another_salvage_writes_is_left_alone(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    stand_reach(&s, PART);
    struct salvage_readings *first = s.place.readings;
    s.place.readings = salvage_readings_new();
    assert_int_equal(stand_step(&s), SALVAGE_BUSY);
    assert_true(stand_has(&s, PART));
    salvage_readings_free(s.place.readings);
    s.place.readings = first;
    assert_int_equal(stand_end(&s), SALVAGE_DONE);
    stand_is_published(&s);
    stand_close(&s);
}

static void stand_damage(const struct stand *s, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "damage", 6, 4096), 6);
    close(fd);
}

/* What was read before it changed proves nothing. */
static void a_window_that_changes_between_two_steps_is_read_again(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    stand_reach(&s, STAGED);
    stand_remove(&s, RAW);
    assert_int_equal(stand_step(&s), SALVAGE_MORE);
    assert_int_equal(stand_step(&s), SALVAGE_MORE);
    stand_damage(&s, STAGED);
    assert_int_equal(stand_end(&s), SALVAGE_LEFT);
    assert_false(stand_has(&s, WINDOW));
    stand_close(&s);
}

static void a_copy_that_differs_at_its_end_is_left(void **state)
{
    (void)state;
    for (int differs = 0; differs < 2; differs++) {
        struct stand s;
        char command[2000];
        stand_open(&s);
        stand_reach(&s, STAGED);
        stand_remove(&s, RAW);
        snprintf(command, sizeof command,
                 "cd '%s' && { gzip -dc " STAGED "; printf '%s'; } | gzip > " WINDOW,
                 s.dir, differs ? "{}\\n" : "");
        assert_int_equal(system(command), 0);
        assert_int_equal(stand_end(&s), differs ? SALVAGE_LEFT : SALVAGE_DONE);
        assert_int_equal(stand_has(&s, STAGED), differs);
        stand_close(&s);
    }
}

/* Nothing is wrong with what is there: it is tried again. */
static void a_window_that_cannot_be_opened_needs_no_person(void **state)
{
    (void)state;
    for (int copy = 0; copy < 2; copy++) {
        struct stand s;
        char command[800];
        enum salvage_result result;
        stand_open(&s);
        stand_reach(&s, WINDOW);
        snprintf(command, sizeof command, "cd '%s' && %s " WINDOW " .tmp", s.dir,
                 copy ? "cp" : "mv");
        assert_int_equal(system(command), 0);
        unsigned at = 0;
        do {
            fails_at = ++at;
            s.budget = 64u << 20;
            s.lists_many = true;
            result = salvage_step(&s.place);
            assert_true(result == SALVAGE_FAILED || (result == SALVAGE_STEP && at > 3));
        } while (result == SALVAGE_FAILED);
        fails_at = 0;
        assert_int_equal(stand_end(&s), SALVAGE_DONE);
        stand_is_published(&s);
        stand_close(&s);
    }
}

static void stand_crowd(const struct stand *s, unsigned upto)
{
    int dir = open(s->dir, O_RDONLY | O_DIRECTORY);
    for (unsigned i = 0; i < upto; i++) {
        char name[64];
        snprintf(name, sizeof name, LAYOUT_TMP_DIR "/a.%u.log", i + 1);
        int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    close(dir);
}

/* Each step lists all of it: a long one in one step of a turn at most, and none that is
 * longer than what any writer leaves. */
static void what_is_listed_of_a_long_tmp_is_bounded(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s);
    s.budget = STEP;
    stand_crowd(&s, SALVAGE_NAMES_FEW - 1);
    assert_int_equal(salvage_step(&s.place), SALVAGE_STEP); /* without a turn for many */
    stand_crowd(&s, SALVAGE_NAMES_FEW);
    assert_int_equal(salvage_step(&s.place), SALVAGE_MORE);
    s.lists_many = true;
    assert_int_equal(salvage_step(&s.place), SALVAGE_STEP);
    assert_false(s.lists_many); /* for the others in this turn */
    stand_crowd(&s, SALVAGE_NAMES_MAX);
    assert_int_equal(stand_step(&s), SALVAGE_CROWDED);
    assert_int_equal(bytes_read, 0);
    stand_remove(&s, ".tmp/a.7.log");
    assert_int_equal(stand_step(&s), SALVAGE_STEP);
    stand_close(&s);
}

static size_t most_read;

/* An engine's turn begins with a look at the clock. */
static uint64_t look_at_clock(void)
{
    most_read = bytes_read > most_read ? bytes_read : most_read;
    bytes_read = 0;
    return rig_now_ms();
}

static const char *tmp_of_salvaged;

static int note_what_goes_first(struct rig *rig, const struct rig_request *r)
{
    rig->mark += r->kind == TRANSPORT_COMPLETE && strcmp(r->session, RIG_ID2) == 0 &&
                 access(tmp_of_salvaged, F_OK) == 0;
    return RIG_REGISTRY;
}

static void other_sessions_go_on_while_a_window_is_salvaged(void **state)
{
    (void)state;
    static struct sys sys;
    struct rig *rig = rig_new();
    struct live_session other;
    struct stand s;
    char tmp[700];
    stand_make(&s, rig->root);
    snprintf(tmp, sizeof tmp, "%s/" LAYOUT_TMP_DIR, s.dir);
    tmp_of_salvaged = tmp;
    live_open(&other, rig->root, RIG_ID2);
    rig_fill(&other, 5);
    live_close(&other);
    sys = *rig->config.sys;
    sys.pread = read_and_count;
    sys.open_beneath = open_or_fail;
    sys.now_ms = look_at_clock;
    rig->config.sys = &sys;
    rig->config.salvage = true;
    rig->answer = note_what_goes_first;
    bytes_read = most_read = 0;
    rig_start(rig);
    rig_run(rig, 600000, true);
    assert_int_equal(rig->mark, 1);
    assert_true(most_read < 2u << 20);
    stand_is_published(&s);
    rig_all_same(rig, RIG_ID2);
    assert_int_equal(rig_summary(rig).sessions_done, 2);
    free(s.text);
    rig_delete(rig);
}

static const struct stand *stand_that_goes;
static char stand_gone[700];

static ssize_t read_until_it_goes(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = read_and_count(fd, buf, len, at);
    if (bytes_read > 3u << 19 && stand_that_goes) {
        assert_int_equal(rename(stand_that_goes->dir, stand_gone), 0);
        stand_that_goes = NULL;
    }
    return n;
}

static void what_was_found_of_one_that_goes_away_is_not_kept(void **state)
{
    (void)state;
    static struct sys sys;
    struct rig *rig = rig_new();
    struct stand s;
    stand_make(&s, rig->root);
    dirs_append(s.dir, ".gpufl-window.device.2.json", "{}"); /* it has a channel */
    snprintf(stand_gone, sizeof stand_gone, "%s/.gone", rig->root);
    stand_that_goes = &s;
    bytes_read = 0;
    sys = *rig->config.sys;
    sys.pread = read_until_it_goes;
    rig->config.sys = &sys;
    rig->config.salvage = true;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_null(stand_that_goes);
    const struct session *session = session_find(ended_root(rig), RIG_ID);
    assert_non_null(session);
    assert_int_equal(session->presence, SESSION_AWAY);
    assert_null(session->readings);
    assert_int_equal(rename(stand_gone, s.dir), 0);
    rig_run(rig, 600000, false);
    stand_is_published(&s);
    free(s.text);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_window_is_published_in_bounded_steps),
        cmocka_unit_test(a_part_that_another_program_removed_is_begun_again),
        cmocka_unit_test(a_part_of_an_earlier_salvage_is_not_continued),
        cmocka_unit_test(a_part_that_another_salvage_writes_is_left_alone),
        cmocka_unit_test(a_window_that_changes_between_two_steps_is_read_again),
        cmocka_unit_test(a_window_that_cannot_be_opened_needs_no_person),
        cmocka_unit_test(a_copy_that_differs_at_its_end_is_left),
        cmocka_unit_test(what_is_listed_of_a_long_tmp_is_bounded),
        cmocka_unit_test(other_sessions_go_on_while_a_window_is_salvaged),
        cmocka_unit_test(what_was_found_of_one_that_goes_away_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
