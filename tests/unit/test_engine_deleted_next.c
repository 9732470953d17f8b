/* SPDX-License-Identifier: Apache-2.0 */
/* Active files that are not those that a position means. */
#include "tests/support/check.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "base/boot_id.h"
#include "collector-lib/core/session_dir.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "tests/support/rig_session.h"
#include "upload/core/held.h"
#include "upload/resolve/resolve.h"
#include "upload/source/unread.h"

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

static struct rig *rig_send_one_line(struct rig *rig, struct session_dir *dir)
{
    rig->config.flush_interval_ms = 0;
    *dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(dir, rig->root), GPUFL_OK);
    append(dir, 0, false);
    rig_start(rig);
    rig_run(rig, 5000, false);
    return rig;
}

static struct rig *rig_with_one_line(struct session_dir *dir, const struct log *log)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.log = log ? log : rig->config.log;
    return rig_send_one_line(rig, dir);
}

static void run_at_rest(struct rig *rig)
{
    unsigned before = rig->loops;
    engine_rescan(rig->engine);
    rig_run(rig, 5000, false);
    assert_true(rig->loops - before <= 100);
}

static void rotate_as_others(struct session_dir *dir)
{
    assert_int_equal(renameat(dir->own.fd, "device.log", dir->own.fd, "device.1.log"), 0);
    dirs_append(dir->path, "device.log", "");
}

/* As by logrotate with `create`: the writer goes on in the numbered file for a while. */
static void one_that_others_have_begun_is_not_gone_on_in(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_with_one_line(&dir, NULL);
    rotate_as_others(&dir);
    run_at_rest(rig);
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

static void a_writer_killed_when_others_have_begun_one_has_ended(void **state)
{
    for (int seen_live = 0; seen_live < 2; seen_live++) {
        (void)state;
        struct session_dir dir;
        struct rig *rig = rig_with_one_line(&dir, NULL);
        rotate_as_others(&dir);
        append(&dir, 1, false);
        if (seen_live) {
            run_at_rest(rig);
            assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
        }
        session_dir_close(&dir);
        run_at_rest(rig);
        assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

/* The disk took the lines of the next file, and not what the lock file was to tell. */
static void one_that_the_lock_file_tells_late_is_sent(void **state)
{
    for (int killed = 0; killed < 2; killed++) {
        (void)state;
        char earlier[LAYOUT_TOLD_BYTES];
        char later[LAYOUT_TOLD_BYTES];
        struct session_dir dir;
        struct rig *rig = rig_with_one_line(&dir, NULL);
        const size_t size = sizeof earlier;
        assert_int_equal(pread(dir.lock.file.fd, earlier, size, 0), size);
        append(&dir, 1, true);
        assert_int_equal(pread(dir.lock.file.fd, later, size, 0), size);
        assert_int_equal(pwrite(dir.lock.file.fd, earlier, size, 0), size);
        run_at_rest(rig);
        assert_int_equal(stored(rig, &dir)->end.at.lines, 1);
        if (killed) {
            session_dir_close(&dir);
        } else {
            assert_int_equal(pwrite(dir.lock.file.fd, later, size, 0), size);
        }
        run_at_rest(rig);
        assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
        assert_int_equal(stored(rig, &dir)->end.at.file, 2);
        assert_int_equal(rig_summary(rig).sessions_done, killed);
        session_dir_close(&dir);
        rig_delete(rig);
    }
}

static int fstatfs_far(int fd, struct statfs *out)
{
    int rc = fstatfs(fd, out);
    out->f_type = NFS_SUPER_MAGIC;
    return rc;
}

static struct rig *rig_on_a_network_file_system(struct session_dir *dir)
{
    static struct sys far;
    struct rig *rig = rig_positions_on(rig_new());
    far = *rig->config.sys;
    far.fstatfs = fstatfs_far;
    rig->config.sys = &far;
    return rig_send_one_line(rig, dir);
}

/* It ran on this host, and is gone: its lock, which is free, says nothing. */
static void kill_writer(struct session_dir *dir)
{
    char path[2 * PATH_MAX];
    char boot_id[BOOT_ID_TEXT];
    char manifest[512];
    boot_id_get(boot_id);
    snprintf(path, sizeof path, "%s/" LAYOUT_MANIFEST, dir->path);
    snprintf(manifest, sizeof manifest,
             "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
             "\"session_id\":\"%s\",\"pid\":%d,\"boot_id\":\"%s\",\"start_ns\":1}\n",
             dir->id, INT_MAX, boot_id);
    assert_int_equal(remove(path), 0);
    dirs_append(dir->path, LAYOUT_MANIFEST, manifest);
    session_dir_close(dir);
}

/* As above, where locks are not believed. */
static void one_that_a_killed_writer_did_not_tell_is_sent_after_its_silence(void **state)
{
    (void)state;
    char earlier[LAYOUT_TOLD_BYTES];
    struct session_dir dir;
    struct rig *rig = rig_on_a_network_file_system(&dir);
    assert_int_equal(pread(dir.lock.file.fd, earlier, sizeof earlier, 0), sizeof earlier);
    append(&dir, 1, true);
    assert_int_equal(pwrite(dir.lock.file.fd, earlier, sizeof earlier, 0),
                     sizeof earlier);
    kill_writer(&dir);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 1);
    rig_run(rig, 90000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
    assert_int_equal(stored(rig, &dir)->end.at.file, 2);
    rig_delete(rig);
}

/* Another program has made it, and it is empty: nothing but silence says that its writer
 * does not go on in the numbered one. */
static void one_that_is_empty_is_not_gone_on_in_after_silence(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_on_a_network_file_system(&dir);
    rotate_as_others(&dir);
    kill_writer(&dir);
    rig_run(rig, 90000, false);
    dirs_append(dir.path, "device.1.log", "{\"type\":\"x\",\"n\":1}\n");
    engine_rescan(rig->engine);
    rig_run(rig, 5000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
    assert_int_equal(stored(rig, &dir)->end.at.file, 1);
    rig_delete(rig);
}

enum beside { BESIDE_COPY, BESIDE_LINK, BESIDE_GZ, BESIDE_KINDS };

static void copy_file(const struct session_dir *dir, const char *name)
{
    char all[512] = {0};
    assert_true(pread(dir->file[CHANNEL_DEVICE].own.fd, all, sizeof all - 1, 0) > 0);
    dirs_append(dir->path, name, all);
}

static void copy_as_others(const struct session_dir *dir, enum beside kind)
{
    char path[2 * PATH_MAX];
    char all[512];
    switch (kind) {
    case BESIDE_LINK:
        assert_int_equal(
            linkat(dir->own.fd, "device.log", dir->own.fd, "device.1.log", 0), 0);
        break;
    case BESIDE_GZ: {
        ssize_t n = pread(dir->file[CHANNEL_DEVICE].own.fd, all, sizeof all, 0);
        snprintf(path, sizeof path, "%s/device.1.log.gz", dir->path);
        gzFile gz = gzopen(path, "wb");
        assert_int_equal(gzwrite(gz, all, (unsigned)n), n);
        assert_int_equal(gzclose(gz), Z_OK);
        break;
    }
    default:
        copy_file(dir, "device.1.log");
        break;
    }
}

static void take_copies_away(const struct session_dir *dir, enum beside kind)
{
    char path[2 * PATH_MAX];
    const char *name = kind == BESIDE_GZ ? "device.1.log.gz" : "device.1.log";
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    assert_int_equal(unlink(path), 0);
}

static unsigned beyond_said;

static void log_beyond(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    beyond_said += strstr(line, unread_text(UNREAD_BEYOND)) != NULL;
}

/* Its writer seals no file over it, and all is sent once it is moved away. */
static void a_copy_is_not_sent(enum beside kind, bool seen, bool dead)
{
    struct session_dir dir;
    static const struct log log = {.level = LOG_AT_WARN, .write = log_beyond};
    beyond_said = 0;
    struct rig *rig = rig_with_one_line(&dir, &log);
    append(&dir, 1, false);
    copy_as_others(&dir, kind);
    if (seen) {
        run_at_rest(rig);
    }
    append(&dir, 2, true);
    assert_int_equal(dir.file[CHANNEL_DEVICE].rotated, kind == BESIDE_GZ);
    if (kind != BESIDE_GZ && dead) {
        session_dir_close(&dir);
    }
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 3);
    if (kind != BESIDE_GZ) {
        assert_int_equal(stored(rig, &dir)->end.at.file, 1);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(beyond_said, 1);
    }
    take_copies_away(&dir, kind);
    if (!dead) {
        append(&dir, 3, true);
        run_at_rest(rig);
        assert_int_equal(stored(rig, &dir)->end.at.lines, 4);
    }
    session_dir_close(&dir);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, dead ? 3 : 4);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* As by logrotate with `copy`, by cp, and by ln. */
static void one_that_others_have_copied_is_not_sent_twice(void **state)
{
    (void)state;
    for (int kind = 0; kind < BESIDE_KINDS; kind++) {
        for (int how = 0; how < 4; how++) {
            a_copy_is_not_sent((enum beside)kind, how & 1, how & 2);
        }
    }
}

/* As by logrotate with `create` and `compress`, before the writer looks. */
static void one_that_others_have_compressed_is_not_sent_twice(void **state)
{
    (void)state;
    struct session_dir dir;
    struct rig *rig = rig_with_one_line(&dir, NULL);
    append(&dir, 1, false);
    copy_as_others(&dir, BESIDE_GZ);
    assert_int_equal(unlinkat(dir.own.fd, "device.log", 0), 0);
    dirs_append(dir.path, "device.log", "");
    run_at_rest(rig);
    session_dir_restore_names(&dir);
    append(&dir, 2, false);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 3);
    assert_int_equal(stored(rig, &dir)->end.at.file, 1);
    session_dir_close(&dir);
    run_at_rest(rig);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    take_copies_away(&dir, BESIDE_GZ);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 3);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* Earlier writers told no inodes, and a copy of the directory has others. */
static void tell_less(const struct session_dir *dir, bool nothing)
{
    char text[LAYOUT_TOLD_BYTES + 1] = {0};
    assert_true(pread(dir->lock.file.fd, text, LAYOUT_TOLD_BYTES, 0) > 0);
    char *end = strstr(text, ",\"before\"");
    assert_non_null(end);
    *end++ = '}';
    memset(end, ' ', (size_t)(text + LAYOUT_TOLD_BYTES - 1 - end));
    assert_int_equal(pwrite(dir->lock.file.fd, text, LAYOUT_TOLD_BYTES, 0),
                     LAYOUT_TOLD_BYTES);
    if (nothing) {
        assert_int_equal(unlinkat(dir->own.fd, LAYOUT_LOCK, 0), 0);
    }
}

static void number_it(const struct session_dir *dir, enum beside kind, int number)
{
    char to[64];
    const char *gz = kind == BESIDE_GZ ? ".gz" : "";
    char from[64];
    snprintf(from, sizeof from, "device.1.log%s", gz);
    snprintf(to, sizeof to, "device.%d.log%s", number, gz);
    assert_int_equal(renameat(dir->own.fd, from, dir->own.fd, to), 0);
}

static void a_copy_that_was_given_up_stays_so(struct rig *rig,
                                              const struct session_dir *dir)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, dir->id, NULL, &result);
    run_at_rest(rig);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    const unsigned said = rig_count(rig, TRANSPORT_COMPLETE);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), said);
}

static void a_copy_of_what_is_not_told_is_not_sent(enum beside kind, bool nothing,
                                                   int number)
{
    struct session_dir dir;
    static const struct log log = {.level = LOG_AT_WARN, .write = log_beyond};
    beyond_said = 0;
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.log = &log;
    dir = (struct session_dir){0};
    assert_int_equal(session_dir_open(&dir, rig->root), GPUFL_OK);
    append(&dir, 0, false);
    append(&dir, 1, false);
    copy_as_others(&dir, kind);
    number_it(&dir, kind, number);
    append(&dir, 2, false);
    tell_less(&dir, nothing);
    session_dir_close(&dir);
    rig_start(rig);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 3);
    assert_int_equal(stored(rig, &dir)->end.at.file, 1);
    assert_int_equal(beyond_said, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    if (!nothing) {
        a_copy_that_was_given_up_stays_so(rig, &dir);
    }
    rig_delete(rig);
}

/* As in a copy of the directory, of earlier writers, or under a number that is not due.
 */
static void one_that_its_bytes_show_to_be_a_copy_is_not_sent_twice(void **state)
{
    (void)state;
    for (int kind = 0; kind < BESIDE_KINDS; kind++) {
        for (int how = 0; how < 4; how++) {
            a_copy_of_what_is_not_told_is_not_sent((enum beside)kind, how & 1,
                                                   how & 2 ? 5 : 1);
        }
    }
}

/* As by logrotate with `copytruncate`: some lines are only in the copy, others only in
 * the active file. */
static void what_only_a_copy_holds_is_sent(enum beside kind, bool seen, bool dead)
{
    struct session_dir dir;
    struct rig *rig = rig_with_one_line(&dir, NULL);
    append(&dir, 1, false);
    append(&dir, 2, false);
    copy_as_others(&dir, kind);
    if (seen) {
        run_at_rest(rig);
    }
    assert_int_equal(ftruncate(dir.file[CHANNEL_DEVICE].own.fd, 0), 0);
    append(&dir, 3, false);
    if (dead) {
        session_dir_close(&dir);
    }
    run_at_rest(rig);
    run_at_rest(rig);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 4);
    assert_int_equal(stored(rig, &dir)->end.at.file, 2);
    session_dir_close(&dir);
    rig_delete(rig);
}

static void one_that_was_cut_behind_its_copy_is_the_next(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        what_only_a_copy_holds_is_sent(BESIDE_COPY, how & 1, how & 2);
        what_only_a_copy_holds_is_sent(BESIDE_GZ, how & 1, how & 2);
    }
}

static void watch_all(void *arg, unsigned root, const char *root_path,
                      const char *session, bool done)
{
    (void)arg, (void)root, (void)root_path, (void)session, (void)done;
}

static unsigned between_files;

static void log_count(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    between_files += strstr(line, "session.between_files") != NULL;
}

/* Of a watched session, nothing else changes. */
static void one_that_a_watched_lock_file_tells_late_is_sent_then(void **state)
{
    (void)state;
    static const struct log log = {.level = LOG_AT_WARN, .write = log_count};
    char earlier[LAYOUT_TOLD_BYTES];
    char later[LAYOUT_TOLD_BYTES];
    struct session_dir dir;
    struct rig *rig = rig_with_one_line(&dir, &log);
    const size_t size = sizeof earlier;
    between_files = 0;
    engine_visit_changed(rig->engine, watch_all, NULL);
    assert_int_equal(pread(dir.lock.file.fd, earlier, size, 0), size);
    append(&dir, 1, true);
    assert_int_equal(pread(dir.lock.file.fd, later, size, 0), size);
    assert_int_equal(pwrite(dir.lock.file.fd, earlier, size, 0), size);
    engine_touch(rig->engine, 0, dir.id);
    for (int n = 0; n < 3; n++) {
        rig_run(rig, 1000, false);
        engine_grew(rig->engine, 0, dir.id, "device.log");
    }
    rig_run(rig, 1000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 1);
    assert_int_equal(between_files, 1);
    assert_int_equal(pwrite(dir.lock.file.fd, later, size, 0), size);
    engine_grew(rig->engine, 0, dir.id, LAYOUT_LOCK);
    rig_run(rig, 1000, false);
    assert_int_equal(stored(rig, &dir)->end.at.lines, 2);
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
        cmocka_unit_test(a_writer_killed_when_others_have_begun_one_has_ended),
        cmocka_unit_test(one_that_the_lock_file_tells_late_is_sent),
        cmocka_unit_test(one_that_a_killed_writer_did_not_tell_is_sent_after_its_silence),
        cmocka_unit_test(one_that_is_empty_is_not_gone_on_in_after_silence),
        cmocka_unit_test(one_that_others_have_copied_is_not_sent_twice),
        cmocka_unit_test(one_that_others_have_compressed_is_not_sent_twice),
        cmocka_unit_test(one_that_its_bytes_show_to_be_a_copy_is_not_sent_twice),
        cmocka_unit_test(one_that_was_cut_behind_its_copy_is_the_next),
        cmocka_unit_test(one_that_a_watched_lock_file_tells_late_is_sent_then),
        cmocka_unit_test(
            one_that_does_not_begin_its_channel_is_held_though_lines_were_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
