/* SPDX-License-Identifier: Apache-2.0 */
/* The backend was restored from a backup that is older than a range in quarantine: what
 * lies behind it is sent again, and the range is listed once. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/core/engine_state.h"
#include "upload/core/held.h"
#include "upload/journal/journal_read.h"

#define FILES      6u
#define LINES      10
#define MINUTES_MS (60ull * 1000)

/* The backup has the first file alone. */
struct restored {
    struct rig *rig;
    struct live_session session;
    struct rig_positions backup;
};

static bool is_poison(const char *raw, size_t len)
{
    return memmem(raw, len, "\"poison\"", 8) != NULL;
}

static void write_file(struct restored *r, unsigned file)
{
    for (int i = 0; i < LINES; i++) {
        bool refused = i == 5 && (file == 2 || file == 4);
        live_line(&r->session, "device", refused ? "poison" : "x", (int)file * LINES + i);
    }
}

static bool is_there(const struct restored *r, unsigned file)
{
    char path[700];
    snprintf(path, sizeof path, "%s/device.%u.log", r->session.dir, file);
    return access(path, F_OK) == 0;
}

static struct rig_stream *stored(const struct restored *r)
{
    return rig_positions_stream(&r->rig->positions, RIG_ID, "device");
}

/* One that runs reads its journal no more. */
static void assert_ranges(const struct restored *r, unsigned count)
{
    struct journal_read journal;
    int root = open(r->rig->root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(rig_summary(r->rig).ranges_quarantined, count);
    assert_int_equal(journal_read_open(&sys_real, NULL, root, r->rig->root, &journal),
                     GPUFL_OK);
    assert_int_equal(journal.quarantine.count, count);
    assert_int_equal(journal.streams, 1);
    assert_int_equal(journal.stream[0].record.refused_lines, count);
    journal_read_fini(&journal);
    close(root);
}

/* All that may be deleted is. */
static void restored_make(struct restored *r)
{
    memset(r, 0, sizeof *r);
    r->rig = rig_positions_on(rig_new());
    r->rig->config.delete_acked = DELETE_ALL;
    r->rig->positions.poison = is_poison;
    live_open(&r->session, r->rig->root, RIG_ID);
    rig_start(r->rig);
    for (unsigned file = 1; file < FILES; file++) {
        write_file(r, file);
        rig_run(r->rig, MINUTES_MS, false);
        if (file == 1) {
            rig_positions_copy(&r->backup, &r->rig->positions);
        }
        live_rotate(&r->session, "device", file);
        engine_rescan(r->rig->engine);
    }
    write_file(r, FILES);
    rig_run(r->rig, 10 * MINUTES_MS, false);
    for (unsigned file = 1; file < FILES; file++) {
        assert_true(is_there(r, file) == (file == 2 || file == 4 || file == FILES - 1));
    }
    assert_int_equal(stored(r)->end.skips, 2);
    assert_ranges(r, 2);
}

static void restored_go_back(struct restored *r)
{
    rig_positions_copy(&r->rig->positions, &r->backup);
    r->rig->positions.poison = is_poison;
    r->rig->positions.epoch = 2;
    r->rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                           "\"positions\":true,\"epoch\":\"2\"}";
}

static void restored_end(struct restored *r)
{
    live_line(&r->session, "device", "shutdown", FILES * LINES + LINES);
    live_close(&r->session);
    engine_rescan(r->rig->engine);
    rig_run(r->rig, 60 * MINUTES_MS, false);
}

static void restored_restart(struct restored *r, bool restart)
{
    if (restart) {
        rig_stop(r->rig);
        rig_start(r->rig);
    }
}

static void restored_delete(struct restored *r)
{
    rig_positions_fini(&r->backup);
    rig_delete(r->rig);
}

static bool is_held(const struct restored *r, enum held_reason reason)
{
    char *progress = rig_file(r->rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

/* Files 2 and 4 were kept. Whether there was more of the first one, nobody knows. */
static void what_was_deleted_behind_a_kept_file_is_a_loss(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct restored r;
        restored_make(&r);
        restored_restart(&r, restart);
        restored_go_back(&r);
        restored_restart(&r, restart);
        restored_end(&r);
        assert_false(is_held(&r, HELD_MISSING));
        assert_int_equal(stored(&r)->end.at.file, FILES);
        assert_int_equal(stored(&r)->end.at.lines, 5 * LINES + 1);
        assert_int_equal(stored(&r)->end.losses, 2);
        assert_int_equal(stored(&r)->end.skips, 2);
        assert_ranges(&r, 2);
        restored_restart(&r, true);
        assert_ranges(&r, 2);
        restored_delete(&r);
    }
}

/* What it holds is nowhere any more: it may have been moved away. */
static void a_kept_file_that_somebody_took_is_missed(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct restored r;
        char path[700];
        restored_make(&r);
        snprintf(path, sizeof path, "%s/device.4.log", r.session.dir);
        assert_int_equal(unlink(path), 0);
        restored_go_back(&r);
        restored_restart(&r, restart);
        restored_end(&r);
        assert_true(is_held(&r, HELD_MISSING));
        assert_int_equal(stored(&r)->end.at.file, 2);
        assert_int_equal(rig_positions_state(&r.rig->positions, RIG_ID), 0);
        restored_delete(&r);
    }
}

/* The restored backend takes what the other one refused. */
static void a_range_that_is_taken_the_second_time_has_left_quarantine(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct restored r;
        restored_make(&r);
        restored_go_back(&r);
        r.rig->positions.poison = NULL;
        restored_restart(&r, restart);
        restored_end(&r);
        assert_int_equal(stored(&r)->end.at.lines, 5 * LINES + 1);
        assert_int_equal(stored(&r)->end.skips, 0);
        assert_ranges(&r, 0);
        restored_restart(&r, true);
        assert_ranges(&r, 0);
        assert_false(is_there(&r, 2));
        restored_delete(&r);
    }
}

static void write_lines(struct live_session *s, bool end)
{
    for (int i = 0; i < LINES; i++) {
        live_line(s, "device", "x", i);
    }
    if (end) {
        live_line(s, "device", "shutdown", LINES);
        live_close(s);
    }
}

/* The state is lost, and for one run the backend declares no positions: it refuses what
 * it has by them, and what follows. */
static struct rig *refused_meanwhile(bool all)
{
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    const char *positions = rig->version_body;
    live_open(&s, rig->root, RIG_ID);
    write_lines(&s, all);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    rig_stop(rig);
    rig_lose_journal(rig);
    if (!all) {
        write_lines(&s, true);
    }
    rig->version_body = "{\"supported\":[\"1\"],\"live_windows\":true}";
    rig_start(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_in_range(rig_summary(rig).ranges_quarantined, 1, 6);
    rig_stop(rig);
    rig->version_body = positions;
    return rig;
}

static void what_an_end_that_is_proved_covers_leaves_quarantine(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        struct rig *rig = refused_meanwhile(all);
        rig_start(rig);
        for (int run = 0; run < 2; run++) {
            rig_run(rig, 10 * MINUTES_MS, false);
            assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
            assert_int_equal(rig_summary(rig).sessions_done, 1);
            assert_int_equal(rig_summary(rig).sessions_blocked, 0);
            rig_same_as_file(rig, RIG_ID, "device");
            assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
            rig_stop(rig);
            rig_start(rig);
        }
        rig_delete(rig);
    }
}

static unsigned refused_before_said;

static bool is_seventh(const char *raw, size_t len)
{
    return memmem(raw, len, "\"n\":7}", 6) != NULL;
}

static void count_refused_before(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    refused_before_said += strstr(line, "upload.refused_before ") != NULL &&
                           strstr(line, " lines=1 ") != NULL;
}

static void lines_that_the_backend_alone_knows_to_be_refused_are_said_once(void **state)
{
    (void)state;
    static const struct log log = {.level = LOG_AT_WARN, .write = count_refused_before};
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->positions.poison = is_seventh;
    rig->config.log = &log;
    refused_before_said = 0;
    rig_start(rig);
    rig_run(rig, 3600000, true);
    unsigned ranges = (unsigned)rig_summary(rig).ranges_quarantined;
    assert_true(ranges > 0);
    assert_int_equal(refused_before_said, 0);
    rig_stop(rig);
    rig_lose_journal(rig);
    for (int start = 0; start < 2; start++) {
        rig_start(rig);
        rig_run(rig, 3600000, true);
        assert_int_equal(refused_before_said, ranges);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        rig_stop(rig);
    }
    rig_start(rig);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_the_backend_alone_knows_to_be_refused_are_said_once),
        cmocka_unit_test(what_was_deleted_behind_a_kept_file_is_a_loss),
        cmocka_unit_test(a_kept_file_that_somebody_took_is_missed),
        cmocka_unit_test(a_range_that_is_taken_the_second_time_has_left_quarantine),
        cmocka_unit_test(what_an_end_that_is_proved_covers_leaves_quarantine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
