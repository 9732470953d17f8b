/* SPDX-License-Identifier: Apache-2.0 */
/* A writer that has sealed a file and not made the next one: what one-shot uploads do. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "tests/support/ended_sessions.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/core/session.h"
#include "upload/core/stream.h"
#include "upload/resolve/resolve.h"

#define NEVER_MS (24u * 3600u * 1000u)

static unsigned between_files;

static void log_count(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    between_files += strstr(line, "session.between_files") != NULL;
}

/* Nothing tells of changes, and nothing is listed twice. */
static struct rig *rig_with_sealed(struct live_session *s)
{
    static const struct log log = {.level = LOG_AT_WARN, .write = log_count};
    struct rig *rig = rig_new();
    between_files = 0;
    rig->config.log = &log;
    rig->config.rescan_interval_ms = NEVER_MS;
    rig->config.flush_interval_ms = 0;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 1);
    live_line(s, "device", "x", 2);
    live_rotate(s, "device", 1);
    rig_start(rig);
    return rig;
}

static void seal_is_taken_back(struct live_session *s)
{
    char sealed[600];
    char active[600];
    snprintf(sealed, sizeof sealed, "%s/device.1.log", s->dir);
    snprintf(active, sizeof active, "%s/device.log", s->dir);
    assert_int_equal(rename(sealed, active), 0);
}

static void the_upload_ends_soon_and_says_why_it_is_not_complete(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    uint64_t began_ms = rig_now_ms();
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_true(rig_now_ms() - began_ms < 2000);
    assert_true(rig->loops < 200);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    assert_int_equal(rig_summary(rig).sessions_live, 1);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    assert_int_equal(between_files, 1);
    rig_stop(rig);
    seal_is_taken_back(&s);
    live_line(&s, "device", "shutdown", 3);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, true);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_next_file_that_comes_at_once_is_sent_too(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    rig_run(rig, 50, false);
    assert_false(engine_drained(rig->engine));
    live_line(&s, "device", "x", 3);
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    assert_int_equal(between_files, 0);
    live_close(&s);
    rig_delete(rig);
}

static void a_next_file_that_comes_late_is_seen(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    rig_run(rig, 300000, true);
    live_line(&s, "device", "shutdown", 3);
    engine_rescan(rig->engine);
    rig_run(rig, 300000, true);
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    live_rotate(&s, "device", 2); /* this one is waited for again */
    engine_rescan(rig->engine);
    rig_run(rig, 50, false);
    assert_false(engine_drained(rig->engine));
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 60000, true);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void a_writer_that_cannot_be_probed_has_ended_after_a_silence(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    char lock[600];
    snprintf(lock, sizeof lock, "%s/" LAYOUT_LOCK, s.dir);
    live_close(&s);
    assert_int_equal(remove(lock), 0);
    uint64_t began_ms = rig_now_ms();
    rig_run(rig, 300000, true);
    assert_true(engine_drained(rig->engine));
    assert_true(rig_now_ms() - began_ms < 60000);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    rig_delete(rig);
}

/* What a writer leaves that is killed after the seal. \p number is that of the next file.
 */
static void next_is_made(const struct live_session *s, unsigned number, const char *text)
{
    char name[LAYOUT_PATH_MAX];
    layout_next(name, "device", number);
    dirs_append(s->dir, name, text);
}

/* Its lock is not seen on this host. */
static void writer_is_elsewhere(const struct live_session *s)
{
    char path[600];
    snprintf(path, sizeof path, "%s/" LAYOUT_MANIFEST, s->dir);
    assert_int_equal(remove(path), 0);
    dirs_append(s->dir, LAYOUT_MANIFEST,
                "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
                "\"session_id\":\"" RIG_ID "\",\"pid\":1,\"boot_id\":"
                "\"33333333-3333-4333-8333-333333333333\",\"start_ns\":1}\n");
}

/* Its disk let it neither make the next file nor take the seal back: its last line stands
 * behind the others in the sealed file. \p seems_over: when it counts as gone. */
static void a_line_that_comes_behind_a_seal_is_sent(bool seems_over)
{
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    rig->config.orphan_timeout_ms = seems_over ? 60000 : 0;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_rotate(&s, "device", 1);
    next_is_made(&s, 2, "");
    writer_is_elsewhere(&s);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 300000, false);
    assert_int_equal(st->end.at.lines, 1);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), seems_over);
    dirs_append(s.dir, "device.1.log", "{\"type\":\"shutdown\",\"n\":2}\n");
    engine_rescan(rig->engine);
    rig_run(rig, 300000, false);
    assert_int_equal(st->end.at.lines, 2);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static void
the_end_of_a_writer_that_cannot_be_probed_may_stand_behind_a_seal(void **state)
{
    (void)state;
    a_line_that_comes_behind_a_seal_is_sent(false);
}

static void a_complete_session_may_grow_behind_a_seal(void **state)
{
    (void)state;
    a_line_that_comes_behind_a_seal_is_sent(true);
}

static void the_upload_ends_with(struct rig *rig, unsigned complete, unsigned lines)
{
    rig_run(rig, 60000, true);
    assert_true(engine_drained(rig->engine));
    assert_int_equal(rig_summary(rig).sessions_done, complete);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), complete);
    assert_int_equal(rig_summary(rig).lines_acked, lines);
    assert_int_equal(rig_summary(rig).sessions_blocked, !complete);
}

static void of_a_writer_that_cannot_be_probed_an_active_file_is_missed(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.orphan_timeout_ms = 60000;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    live_rotate(&s, "device", 1);
    writer_is_elsewhere(&s);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 300000, false);
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    assert_non_null(strstr(progress, held_text(HELD_ACTIVE_GONE)));
    free(progress);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    rig_delete(rig);
}

static void a_writer_killed_between_two_files_has_ended(void **state)
{
    for (int seen_live = 0; seen_live < 2; seen_live++) {
        (void)state;
        struct live_session s;
        struct rig *rig = rig_with_sealed(&s);
        next_is_made(&s, 2, "");
        if (seen_live) {
            rig_run(rig, 300000, true);
            assert_int_equal(between_files, 1);
            assert_int_equal(rig_summary(rig).sessions_done, 0);
        }
        live_close(&s);
        engine_rescan(rig->engine);
        the_upload_ends_with(rig, 1, 2);
        rig_delete(rig);
    }
}

static void one_that_cannot_be_probed_and_was_killed_so_ends_by_its_silence(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    char lock[600];
    snprintf(lock, sizeof lock, "%s/" LAYOUT_LOCK, s.dir);
    next_is_made(&s, 2, "");
    live_close(&s);
    assert_int_equal(remove(lock), 0);
    rig_run(rig, 300000, true);
    assert_int_equal(rig_summary(rig).lines_acked, 2);
    assert_int_equal(rig_summary(rig).sessions_blocked, 0);
    rig_delete(rig);
}

static void nothing_of_it_can_be_given_up(void **state)
{
    (void)state;
    struct live_session s;
    struct resolve_result result;
    struct rig *rig = rig_with_sealed(&s);
    next_is_made(&s, 2, "");
    rig_run(rig, 300000, true);
    live_close(&s);
    resolve_in_first_root(rig->engine, RIG_ID, NULL, &result);
    assert_int_equal(result.given_up, 0);
    the_upload_ends_with(rig, 1, 2);
    rig_delete(rig);
}

static void make_link(const struct live_session *s)
{
    char name[700];
    snprintf(name, sizeof name, "%s/.gpufl-next.device.2", s->dir);
    assert_int_equal(symlink("/dev/null", name), 0);
}

static void make_folder(const struct live_session *s)
{
    char name[700];
    snprintf(name, sizeof name, "%s/.gpufl-next.device.2", s->dir);
    assert_int_equal(mkdir(name, 0755), 0);
}

static void make_one_with_text(const struct live_session *s)
{
    next_is_made(s, 2, "{}\n");
}

static void make_one_of_another_rotation(const struct live_session *s)
{
    next_is_made(s, 1, "");
    next_is_made(s, 3, "");
}

static void make_one_of_another_owner(const struct live_session *s)
{
    char name[700];
    next_is_made(s, 2, "");
    snprintf(name, sizeof name, "%s/.gpufl-next.device.2", s->dir);
    if (geteuid() == 0) {
        assert_int_equal(chown(name, 12345, 12345), 0);
    } else {
        assert_int_equal(remove(name), 0);
    }
}

static void make_none(const struct live_session *s)
{
    (void)s;
}

static void without_that_file_an_active_file_was_deleted(void **state)
{
    (void)state;
    static void (*const make[])(const struct live_session *s) = {
        make_none,          make_link,
        make_folder,        make_one_of_another_rotation,
        make_one_with_text, make_one_of_another_owner,
    };
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        struct live_session s;
        struct rig *rig = rig_with_sealed(&s);
        make[i](&s);
        live_close(&s);
        the_upload_ends_with(rig, 0, 2);
        rig_delete(rig);
    }
}

/* The next rotation had begun, too: its name is another one. */
static void a_file_deleted_after_it_was_begun_is_missed(void **state)
{
    (void)state;
    struct live_session s;
    char active[700];
    struct rig *rig = rig_with_sealed(&s);
    live_line(&s, "device", "x", 3);
    next_is_made(&s, 3, "");
    snprintf(active, sizeof active, "%s/device.log", s.dir);
    assert_int_equal(remove(active), 0);
    live_close(&s);
    the_upload_ends_with(rig, 0, 2);
    rig_delete(rig);
}

static void what_a_rotation_left_that_came_no_further_changes_nothing(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_sealed(&s);
    next_is_made(&s, 2, ""); /* the seal was taken back since, and made again */
    live_line(&s, "device", "x", 3);
    next_is_made(&s, 3, "");
    live_close(&s);
    the_upload_ends_with(rig, 1, 3);
    rig_delete(rig);
}

/* Its writer cuts it off once its disk lets it, and makes the next file. */
static void half_a_line_in_a_file_that_was_sealed_is_its_writer_s(void **state)
{
    (void)state;
    struct live_session s;
    char sealed[600];
    struct rig *rig = rig_positions_on(rig_new());
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "job_start", 1);
    char *whole = rig_file(rig, RIG_ID "/device.log");
    dirs_append(s.dir, "device.log", "{\"type\":\"x\",\"n");
    live_rotate(&s, "device", 1);
    rig_start(rig);
    rig_run(rig, 300000, false);
    assert_int_equal(st->end.at.lines, 1);
    assert_int_equal(st->end.skips, 0);
    snprintf(sealed, sizeof sealed, "%s/device.1.log", s.dir);
    assert_int_equal(truncate(sealed, (off_t)strlen(whole)), 0);
    free(whole);
    live_line(&s, "device", "shutdown", 2);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 300000, false);
    assert_int_equal(st->end.at.lines, 2);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_delete(rig);
}

static unsigned stored_lines(struct rig *rig)
{
    unsigned lines = 0;
    char *stored = rig_stored(rig, RIG_ID, "device");
    for (const char *at = stored; (at = strchr(at, '\n')); at++) {
        lines++;
    }
    free(stored);
    return lines;
}

/* No writer seals one: what it held is lost. By positions: test_held_backend.py. */
static void an_empty_sealed_file_holds_its_channel(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    struct resolve_result result;
    live_open(&s, rig->root, RIG_ID);
    for (unsigned n = 1; n <= 4; n++) {
        live_line(&s, "device", n == 1 ? "job_start" : "x", (int)n);
        live_rotate(&s, "device", n);
    }
    dirs_append(s.dir, "device.log", "");
    for (unsigned n = 2; n <= 3; n++) {
        char path[700];
        snprintf(path, sizeof path, "%s/device.%u.log", s.dir, n);
        assert_int_equal(truncate(path, 0), 0);
    }
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    for (unsigned held = 2; held <= 3; held++) {
        char *progress = rig_file(rig, ".gpufl-agent/progress");
        assert_non_null(strstr(progress, held_text(HELD_DAMAGED)));
        free(progress);
        assert_int_equal(stored_lines(rig), 1);
        resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
        assert_int_equal(result.given_up, 1);
        rig_run(rig, 600000, false);
    }
    assert_int_equal(stored_lines(rig), 2);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_sealed_file_holds_its_channel),
        cmocka_unit_test(the_upload_ends_soon_and_says_why_it_is_not_complete),
        cmocka_unit_test(a_next_file_that_comes_at_once_is_sent_too),
        cmocka_unit_test(a_next_file_that_comes_late_is_seen),
        cmocka_unit_test(half_a_line_in_a_file_that_was_sealed_is_its_writer_s),
        cmocka_unit_test(a_writer_that_cannot_be_probed_has_ended_after_a_silence),
        cmocka_unit_test(
            the_end_of_a_writer_that_cannot_be_probed_may_stand_behind_a_seal),
        cmocka_unit_test(a_complete_session_may_grow_behind_a_seal),
        cmocka_unit_test(of_a_writer_that_cannot_be_probed_an_active_file_is_missed),
        cmocka_unit_test(a_writer_killed_between_two_files_has_ended),
        cmocka_unit_test(one_that_cannot_be_probed_and_was_killed_so_ends_by_its_silence),
        cmocka_unit_test(nothing_of_it_can_be_given_up),
        cmocka_unit_test(without_that_file_an_active_file_was_deleted),
        cmocka_unit_test(a_file_deleted_after_it_was_begun_is_missed),
        cmocka_unit_test(what_a_rotation_left_that_came_no_further_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
