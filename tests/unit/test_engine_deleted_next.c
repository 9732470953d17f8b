/* SPDX-License-Identifier: Apache-2.0 */
/* Active files that are not those that a position means. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/session_dir.h"
#include "tests/support/dirs.h"
#include "tests/support/rig_session.h"
#include "upload/core/held.h"

#define HELD_BACK 77

static void append(struct session_dir *dir, int n, bool rotate)
{
    char line[64];
    int len = snprintf(line, sizeof line, "{\"type\":\"%s\",\"n\":%d}\n",
                       n ? "x" : "job_start", n);
    dir->rotate_bytes = rotate ? 1 : 1 << 20;
    assert_int_equal(session_dir_append(dir, CHANNEL_DEVICE, line, (size_t)len), len);
}

static const struct rig_stream *stored(struct rig *rig, const struct session_dir *dir)
{
    return rig_positions_stream(&rig->positions, dir->id, "device");
}

/* Its first file is sent in several requests, and the second one is active meanwhile. */
static struct rig *rig_in_the_first_file(struct session_dir *dir)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.flush_interval_ms = 0;
    rig->config.max_batch_lines = 2;
    rig->answer_ms = 50;
    *dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(dir, rig->root), GPUFL_OK);
    for (int n = 0; n < 10; n++) {
        append(dir, n, n == 8);
    }
    rig_start(rig);
    for (int i = 0; i < 1000 && stored(rig, dir)->end.at.lines < 6; i++) {
        rig_run(rig, 1, false);
    }
    assert_int_equal(stored(rig, dir)->end.at.lines, 6);
    return rig;
}

/* The third file is not taken for the second one, though the first one is there. */
static void one_that_was_to_be_read_next_is_missed(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_in_the_first_file(&dir);
    append(&dir, HELD_BACK, true);
    assert_int_equal(unlinkat(dir.own.fd, "device.2.log", 0), 0);
    rig_run(rig, 300000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 8);
    assert_int_equal(stored(rig, &dir)->end.at.file, 1);
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    assert_non_null(strstr(progress, held_text(HELD_MISSING)));
    free(progress);
    session_dir_close(&dir);
    rig_delete(rig);
}

static void one_that_is_only_sealed_is_sent(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_in_the_first_file(&dir);
    append(&dir, HELD_BACK, true);
    rig_run(rig, 300000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 11);
    assert_int_equal(stored(rig, &dir)->end.at.file, 3);
    assert_int_equal(stored(rig, &dir)->end.losses, 0);
    session_dir_close(&dir);
    rig_delete(rig);
}

/* As by logrotate with `create`: the writer goes on in the numbered file for a while. */
static void one_that_others_have_begun_is_not_gone_on_in(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.flush_interval_ms = 0;
    dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(&dir, rig->root), GPUFL_OK);
    append(&dir, 0, false);
    rig_start(rig);
    rig_run(rig, 5000, false);
    assert_int_equal(renameat(dir.own.fd, "device.log", dir.own.fd, "device.1.log"), 0);
    dirs_append(dir.path, "device.log", "");
    engine_rescan(rig->engine);
    unsigned before = rig->loops;
    rig_run(rig, 5000, false);
    assert_true(rig->loops - before < 100);
    append(&dir, 1, false);
    session_dir_restore_names(&dir);
    assert_int_equal(dir.file[CHANNEL_DEVICE].rotated, 1);
    append(&dir, 2, false);
    engine_rescan(rig->engine);
    rig_run(rig, 5000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 3);
    assert_int_equal(stored(rig, &dir)->end.at.file, 2);
    session_dir_close(&dir);
    rig_delete(rig);
}

/* The progress file of another agent tells that lines were sent. */
static void
one_that_does_not_begin_its_channel_is_held_though_lines_were_sent(void **state)
{
    (void)state;
    struct live_session live;
    struct rig *rig = rig_new();
    live_open(&live, rig->root, RIG_ID);
    dirs_append(live.dir, "device.log", "{\"type\":\"x\"}\n");
    char path[512];
    snprintf(path, sizeof path, "%s/.gpufl-agent", rig->root);
    assert_int_equal(mkdir(path, 0700), 0);
    dirs_append(path, "progress",
                "gpufl-progress 1 pid=1 program=gpufl-agent\n!lines 1 0 0 1 0 0\n" RIG_ID
                " device 1 0 0 1\n");
    rig_start(rig);
    unsigned before = rig->loops;
    rig_run(rig, 300000, false);
    assert_true(rig->loops - before <= 3000);
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    assert_non_null(strstr(progress, held_text(HELD_OTHER)));
    free(progress);
    live_close(&live);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_was_to_be_read_next_is_missed),
        cmocka_unit_test(one_that_is_only_sealed_is_sent),
        cmocka_unit_test(one_that_others_have_begun_is_not_gone_on_in),
        cmocka_unit_test(
            one_that_does_not_begin_its_channel_is_held_though_lines_were_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
