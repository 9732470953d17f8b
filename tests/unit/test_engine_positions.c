/* SPDX-License-Identifier: Apache-2.0 */
/* A sender and an origin that knows positions: whatever becomes of the journal, each line
 * is stored once, and the end of the session is proved. */
#include "tests/support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"
#include "upload/http/reply.h"
#include "upload/lifecycle/end_seek.h"
#include "upload/resolve/resolve.h"
#include "upload/resolve/resolve_request.h"

#define DAY_MS (24ull * 3600 * 1000)

static const char *const channels[] = {"device", "scope", "system"};

static void copy_journal(struct rig *rig, bool back)
{
    char command[2400];
    snprintf(command, sizeof command,
             back ? "rm -rf '%s/.gpufl-agent' && cp -a '%s.old' '%s/.gpufl-agent'"
                  : "rm -rf '%2$s.old'; cp -a '%1$s/.gpufl-agent' '%2$s.old'",
             rig->root, rig->root, rig->root);
    assert_int_equal(system(command), 0);
}

static void complete(struct rig *rig)
{
    engine_rescan(rig->engine);
    rig_run(rig, DAY_MS, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
}

static void parts_are_stored_and_the_end_is_claimed(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->config.max_batch_lines = 10;
    rig_start(rig);
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_count(rig, TRANSPORT_ENDS), 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

/* Parts wait for no disk. */
static void the_end_is_told_once_the_journal_is_on_disk(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(5));
    rig->sync_ms = 60000;
    rig_start(rig);
    rig_run(rig, 30000, false);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 0);
    complete(rig);
    rig_delete(rig);
}

static void a_lost_journal_costs_a_question(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->config.max_batch_lines = 10;
    rig_start(rig);
    for (int i = 0; i < 8; i++) {
        rig_run(rig, 60, false);
        rig_stop(rig);
        rig_lose_journal(rig);
        rig_start(rig);
    }
    complete(rig);
    rig_stop(rig);
    rig_lose_journal(rig);
    unsigned parts = rig_count(rig, TRANSPORT_PARTS);
    rig_start(rig);
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), parts);
    rig_delete(rig);
}

/* The progress file says how far each channel is settled, and not where it ends. */
static void a_session_that_only_the_progress_file_knows_is_not_done_unproved(void **state)
{
    (void)state;
    char command[1200];
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 5);
    rig_start(rig);
    rig_run(rig, 60000, false);
    rig_stop(rig);
    snprintf(command, sizeof command, "rm '%s'/.gpufl-agent/journal*", rig->root);
    assert_int_equal(system(command), 0);
    live_close(&s);
    rig_start(rig);
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    rig_delete(rig);
}

static void a_journal_of_last_week_is_no_harm(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_start(rig);
    for (int i = 0; i < 40; i++) {
        for (int c = 0; c < 3; c++) {
            live_line(&s, channels[c], "x", i);
        }
        if (i % 10 == 9) {
            live_rotate(&s, channels[i % 3], 1 + (unsigned)(i > 29));
            dirs_append(s.dir, "scope.log", "");
        }
        rig_run(rig, 2000, false);
        if (i == 8) {
            rig_stop(rig);
            copy_journal(rig, false);
            rig_start(rig);
        }
        if (i == 30) {
            rig_stop(rig);
            copy_journal(rig, true);
            rig_start(rig);
        }
    }
    for (int c = 0; c < 3; c++) {
        live_line(&s, channels[c], "shutdown", 99);
    }
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, DAY_MS, true);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_delete(rig);
}

static int lose_every_other(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_PARTS && rig_count(rig, TRANSPORT_PARTS) % 2
               ? RIG_LOST
               : RIG_REGISTRY;
}

static void a_lost_answer_is_known_by_its_place(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->config.max_batch_lines = 10;
    rig->answer = lose_every_other;
    rig_start(rig);
    complete(rig);
    assert_true(rig_count(rig, TRANSPORT_PARTS) > 3 * 6);
    assert_int_equal(rig_count(rig, TRANSPORT_ENDS), 1);
    rig_delete(rig);
}

static int know_no_parts(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_PARTS && !rig->mark ? 404 : RIG_REGISTRY;
}

/* A replica of an older version, perhaps: no line goes without its place. */
static void a_part_whose_path_is_not_known_waits(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->answer = know_no_parts;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(rig_count(rig, TRANSPORT_PARTS) > 3);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    rig->mark = 1;
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    rig_delete(rig);
}

static int refuse_large(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_PARTS && r->lines > 3 ? 413 : RIG_REGISTRY;
}

static void what_is_too_large_is_halved(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->answer = refuse_large;
    rig_start(rig);
    complete(rig);
    rig_delete(rig);
}

static bool poison(const char *raw, size_t len)
{
    return memmem(raw, len, "\"n\":7}", 6) != NULL;
}

static void a_line_that_is_refused_is_skipped_and_listed(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->positions.poison = poison;
    rig_start(rig);
    rig_run(rig, 3600000, true);
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.at.lines, 52);
    assert_int_equal(st->end.skips, 1);
    assert_null(strstr(st->raw, "\"n\":7}"));
    assert_non_null(strstr(st->raw, "\"n\":8}"));
    assert_int_equal(rig_summary(rig).ranges_quarantined, 3);
    rig_delete(rig);
}

/* Nobody can mend half a record: the backend is told that it is there, and not sent. */
static void a_session_of_a_killed_writer_ends_behind_its_torn_line(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig *rig = rig_positions_on(rig_new());
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        rig_fill(&s, 5);
        dirs_append(s.dir, "device.log", "{\"type\":\"x\",\"n");
        rig_start(rig);
        rig_run(rig, 60000, false);
        live_close(&s);
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        engine_rescan(rig->engine);
        rig_run(rig, 600000, false);
        const struct rig_stream *st =
            rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.skips, 1);
        assert_null(strstr(st->raw, "\"n\"\n"));
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_int_equal(rig_summary(rig).ranges_quarantined, 0);
        rig_run(rig, 3600000, false);
        assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
        rig_stop(rig);
        rig_lose_journal(rig); /* the checksums are of its bytes, too */
        rig_start(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

/* One that never claims to be complete, as lines of it are in quarantine. */
static void an_origin_that_went_back_gets_a_blocked_session_again(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->positions.poison = poison;
    rig_positions_copy(&backup, &rig->positions);
    rig_start(rig);
    rig_run(rig, 3600000, true);
    assert_true(rig_summary(rig).ranges_quarantined > 0);
    rig_positions_copy(&rig->positions, &backup);
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"live_windows\":true,\"window_registry\":true,"
                        "\"positions\":true,\"epoch\":\"2\"}";
    rig_run(rig, 3600000, false);
    assert_int_equal(
        rig_positions_stream(&rig->positions, RIG_ID, "device")->end.at.lines, 52);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static void an_origin_that_went_back_gets_the_rest_again(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_start(rig);
    for (int i = 0; i < 30; i++) {
        for (int c = 0; c < 3; c++) {
            live_line(&s, channels[c], "x", i);
        }
        rig_run(rig, 2000, false);
        if (i == 10) {
            rig_positions_copy(&backup, &rig->positions);
        } else if (i == 20) {
            rig_positions_copy(&rig->positions, &backup);
            rig->positions.epoch = 2;
        }
    }
    for (int c = 0; c < 3; c++) {
        live_line(&s, channels[c], "shutdown", 99);
    }
    live_close(&s);
    complete(rig);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static struct rig *in_three_files(struct live_session *s)
{
    struct rig *rig = rig_positions_on(rig_new());
    live_open(s, rig->root, RIG_ID);
    for (int i = 0; i < 30; i++) {
        live_line(s, "device", "x", i);
        if (i == 9 || i == 19) {
            live_rotate(s, "device", 1 + (unsigned)(i == 19));
        }
    }
    return rig;
}

/* Bytes of a file are changed where nobody looks any more. */
static void a_file_that_was_rewritten_in_place_is_not_complete(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    char path[700];
    live_open(&s, rig->root, RIG_ID);
    rig_start(rig);
    for (int i = 0; i < 200; i++) {
        live_line(&s, "device", "x", i);
    }
    rig_run(rig, 30000, false);
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 30, SEEK_SET), 0);
    fputc('X', file);
    fclose(file);
    live_line(&s, "device", "shutdown", 200);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 3600000, false);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    rig_delete(rig);
}

static void change(struct live_session *s, const char *file, long bytes)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, file);
    assert_int_equal(bytes < 0 ? unlink(path) : truncate(path, bytes), 0);
}

/* The first file was not there, so the second one was taken for it. */
static void a_file_that_is_back_is_late_behind_half_a_line_too(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    dirs_append(s.dir, "device.log", "{\"type\":\"x\",\"n\":1}\n{\"type\":\"x\",\"n");
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 60000, false);
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.skips, 1);
    uint32_t sent = st->end.at.lines;
    rig_stop(rig);
    dirs_append(s.dir, "device.1.log", "{\"type\":\"job_start\"");
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(st->end.at.lines, sent);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    assert_non_null(strstr(progress, held_text(HELD_LATE)));
    free(progress);
    rig_delete(rig);
}

static void give_up(struct rig *rig, const char *channel)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, channel, &result);
    assert_int_equal(result.given_up, 1);
    rig_run(rig, 600000, false);
}

static void a_file_that_is_given_up_is_a_loss_at_the_backend(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = in_three_files(&s);
    live_rotate(&s, "device", 3);
    change(&s, "device.2.log", -1);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.at.file, 1);
    give_up(rig, "device");
    assert_int_equal(st->end.at.file, 4);
    assert_int_equal(st->end.losses, 1);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* The backend knows of the gap already. */
static void what_follows_a_gap_that_was_given_up_is_no_loss(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = in_three_files(&s);
    change(&s, "device.1.log", -1);
    rig_start(rig);
    rig_run(rig, 600000, false);
    struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.losses, 1);
    give_up(rig, "device");
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 600000, false);
    assert_int_equal(st->end.losses, 1);
    assert_int_equal(st->end.at.lines, 21);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    rig_delete(rig);
}

/* The active file is not the first one, as it does not begin the channel. Which number it
 * has is known if its writer noted it, though on another boot, and else when it is
 * sealed.
 */
static void a_stream_whose_first_files_are_gone_is_stored_once(void **state)
{
    (void)state;
    for (int noted = 0; noted < 2; noted++) {
        struct live_session s;
        struct rig *rig = in_three_files(&s);
        change(&s, "device.1.log", -1);
        change(&s, "device.2.log", -1);
        if (noted) {
            live_tell(&s, "another", "device", 3, 0);
        }
        rig_start(rig);
        rig_run(rig, 60000, false);
        const struct rig_stream *st =
            rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.lines, 10);
        assert_int_equal(st->end.at.file, noted ? 3 : 1);
        live_line(&s, "device", "x", 30);
        live_rotate(&s, "device", 3);
        live_line(&s, "device", "shutdown", 31);
        live_close(&s);
        engine_rescan(rig->engine);
        rig_run(rig, 600000, false);
        rig_stop(rig);
        rig_lose_journal(rig);
        rig_start(rig);
        rig_run(rig, 600000, false);
        assert_int_equal(st->end.at.file, 4);
        assert_int_equal(st->end.at.lines, 13); /* with the job_start before a shutdown */
        assert_int_equal(st->end.losses, 1);
        assert_int_not_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
        rig_delete(rig);
    }
}

static void a_file_that_was_cut_goes_on_where_it_is_given_up(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    for (int i = 0; i < 30; i++) {
        live_line(&s, "device", "x", i);
    }
    rig_start(rig);
    rig_run(rig, 30000, false);
    change(&s, "device.log", 720);
    rig_run(rig, 600000, false);
    struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    size_t before = st->len;
    give_up(rig, "device");
    for (int i = 30; i < 40; i++) {
        live_line(&s, "device", "x", i);
    }
    live_line(&s, "device", "shutdown", 40);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 600000, false);
    assert_int_equal(st->end.losses, 1);
    assert_non_null(strstr(st->raw + before, "\"n\":30}"));
    char *file = rig_file(rig, RIG_ID "/device.log");
    assert_int_equal(st->end.file_crc, crc32c(0, file, strlen(file)));
    free(file);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    rig_delete(rig);
}

/* A power failure took what was written last, and what was delivered of it. */
static void a_sealed_file_that_lost_what_was_sent_holds_nothing(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = in_three_files(&s);
    rig->answer = refuse_large; /* few lines a batch */
    rig_start(rig);
    rig_run(rig, 30, false);
    while (rig_positions_stream(&rig->positions, RIG_ID, "device")->end.at.file == 1 &&
           rig_positions_stream(&rig->positions, RIG_ID, "device")->end.at.lines < 10) {
        rig_run(rig, 1, false);
    }
    rig_stop(rig);
    change(&s, "device.1.log", 300);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.at.lines, 31);
    assert_int_equal(st->end.losses, 0);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_delete(rig);
}

static void go_back(struct rig *rig, struct rig_positions *backup)
{
    rig_positions_copy(&rig->positions, backup);
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
}

/* All of the first file, and nothing behind it. */
static int take_first_file(struct rig *rig, const struct rig_request *r)
{
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    return r->kind == TRANSPORT_PARTS && st->end.at.lines >= 10 ? 503 : RIG_REGISTRY;
}

/* The journal had settled just that end, and that the file was sealed there, before the
 * disk lost some of it, or all. */
static void a_sealed_file_that_is_shorter_than_its_settled_end_holds_nothing(void **state)
{
    (void)state;
    static const long to[] = {500, 50, 0};
    for (unsigned i = 0; i < 3; i++) {
        struct live_session s;
        struct rig *rig = rig_positions_on(rig_new());
        const struct rig_stream *st;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "x", 0);
        rig->answer = take_first_file;
        rig_start(rig);
        for (int n = 1; n < 20; n++) {
            live_line(&s, "device", "x", n);
            if (n == 9) {
                live_rotate(&s, "device", 1);
            }
        }
        rig_run(rig, 60000, false);
        st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.lines, 10);
        rig_stop(rig);
        rig->answer = NULL;
        change(&s, "device.1.log", to[i]);
        live_line(&s, "device", "shutdown", 20);
        live_close(&s);
        rig_start(rig);
        rig_run(rig, 600000, false);
        st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.lines, 21);
        assert_int_equal(st->end.losses, 0);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
        rig_delete(rig);
    }
}

/* Half a line, which its writer may go on with, is nothing to send: what the backend has
 * of the channel is learnt by no batch. */
static void a_backend_that_goes_back_gets_what_is_before_half_a_line(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct live_session s;
    struct rig *rig = rig_positions_on(rig_new());
    char path[1024];
    live_open(&s, rig->root, RIG_ID);
    rig_positions_copy(&backup, &rig->positions);
    live_line(&s, "device", "x", 1);
    live_line(&s, "system", "x", 1);
    snprintf(path, sizeof path, "%s/" RIG_ID "/device.log", rig->root);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs("{\"type\":\"x\",\"n\":", file) >= 0);
    assert_int_equal(fclose(file), 0);
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_int_equal(
        rig_positions_stream(&rig->positions, RIG_ID, "device")->end.at.lines, 1);
    go_back(rig, &backup);
    live_line(&s, "system", "x", 2);
    rig_run(rig, 600000, false);
    assert_int_equal(
        rig_positions_stream(&rig->positions, RIG_ID, "system")->end.at.lines, 2);
    assert_int_equal(
        rig_positions_stream(&rig->positions, RIG_ID, "device")->end.at.lines, 1);
    live_close(&s);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

/* This uploader has deleted a file that the backend does not have any more, which knows
 * of the loss: its session ends once a person has given up that file. */
static void is_lost_until_given_up(struct rig *rig)
{
    const char *lost = held_text(HELD_LOST_ELSEWHERE);
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.losses, 1);
    for (int restart = 0; restart < 2; restart++) {
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_summary(rig).sessions_blocked, 1);
        assert_non_null(strstr(rig_summary(rig).held, lost));
        rig_stop(rig);
        rig_start(rig);
        rig_run(rig, 600000, false);
    }
    give_up(rig, "device");
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.losses, 1);
}

/* Few lines a batch, and some of the first file alone. */
static int take_some_lines(struct rig *rig, const struct rig_request *r)
{
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    return r->kind != TRANSPORT_PARTS ? RIG_REGISTRY
           : st->end.at.lines >= 4    ? 503
           : r->lines > 3             ? 413
                                      : RIG_REGISTRY;
}

/* The backend goes back into a file that was delivered, and deleted here since. */
static void an_end_in_a_file_that_was_sent_and_deleted_is_taken(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct live_session s;
    struct rig *rig = in_three_files(&s);
    const struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    rig->config.delete_acked = DELETE_ALL;
    rig->answer = take_some_lines;
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_in_range(st->end.at.lines, 4, 9);
    rig_positions_copy(&backup, &rig->positions);
    rig->answer = NULL;
    rig_run(rig, 600000, false);
    st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.at.lines, 30);
    uint64_t kept = rig_positions_stream(&backup, RIG_ID, "device")->end.at.lines;
    go_back(rig, &backup);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 3600000, false);
    st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    assert_int_equal(st->end.at.lines, kept + 21); /* the newest sealed file is kept */
    is_lost_until_given_up(rig);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static void end_job(struct rig *rig, struct live_session *s)
{
    live_line(s, "device", "shutdown", 30);
    live_close(s);
    engine_rescan(rig->engine);
}

static void start_again(struct rig *rig)
{
    rig_stop(rig);
    rig_start(rig);
}

/* The journal knows that the uploader has deleted it. */
static void what_was_deleted_since_the_backup_is_a_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig_positions backup = {0};
        struct live_session s;
        struct rig *rig = in_three_files(&s);
        bool was_complete = i & 1;
        rig->config.delete_acked = DELETE_ALL;
        rig_positions_copy(&backup, &rig->positions);
        rig_start(rig);
        rig_run(rig, 600000, false);
        struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.file, 3);
        if (was_complete) {
            end_job(rig, &s);
            rig_run(rig, 600000, false);
            assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
        }
        go_back(rig, &backup);
        if (i & 2) {
            start_again(rig);
        }
        if (!was_complete) {
            end_job(rig, &s);
        }
        rig_run(rig, 3600000, false);
        st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.file, 3);
        assert_int_equal(st->end.at.lines, 21); /* the newest sealed file is kept */
        is_lost_until_given_up(rig);
        rig_positions_fini(&backup);
        rig_delete(rig);
    }
}

/* The backend has a channel up to its third file, which is gone, and so is the journal.
 */
static struct rig *with_an_end_that_nothing_proves(struct live_session *s)
{
    struct rig *rig = in_three_files(s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    rig_stop(rig);
    rig_lose_journal(rig);
    live_rotate(s, "device", 3);
    live_line(s, "device", "shutdown", 30);
    live_close(s);
    change(s, "device.3.log", -1);
    dirs_append(s->dir, "device.4.log", "{\"type\":\"x\"}\n");
    rig_start(rig);
    rig_run(rig, 600000, false);
    return rig;
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

/* It may have been moved away: a person decides. */
static void what_somebody_deleted_since_the_backup_is_missed(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct rig_positions backup = {0};
        struct live_session s;
        struct rig *rig = in_three_files(&s);
        rig_positions_copy(&backup, &rig->positions);
        rig_start(rig);
        end_job(rig, &s);
        rig_run(rig, 600000, false);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        change(&s, "device.1.log", -1);
        go_back(rig, &backup);
        if (restart) {
            start_again(rig);
        }
        rig_run(rig, 3600000, false);
        assert_true(is_held(rig, HELD_MISSING));
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
        give_up(rig, "device");
        struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.lines, 21);
        assert_int_equal(st->end.losses, 1);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_positions_fini(&backup);
        rig_delete(rig);
    }
}

static void an_end_that_nothing_proves_is_believed_when_given_up(void **state)
{
    (void)state;
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct live_session s;
        struct resolve_result result;
        struct rig *rig = with_an_end_that_nothing_proves(&s);
        struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_int_equal(st->end.at.file, 3);
        assert_true(is_held(rig, HELD_BACKEND_UNPROVED));
        if (elsewhere) { /* `gpufl resolve` while nothing runs asks no backend */
            rig_stop(rig);
            rig_start(rig);
        }
        resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
        assert_int_equal(result.given_up, 1);
        const struct counters *counters = engine_counters(rig->engine);
        assert_int_equal(counters->lost[HELD_BACKEND_UNPROVED], 1);
        if (elsewhere) {
            rig_stop(rig);
            rig_start(rig);
        }
        rig_run(rig, 600000, false);
        assert_int_equal(st->end.at.file, 5);
        assert_int_equal(st->end.losses, 1);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
        rig_delete(rig);
    }
}

static struct {
    struct sys sys;
    char path[700];
} unreadable;

/* One file cannot be read, as on a disk with a bad sector. */
static ssize_t pread_fails_there(int fd, void *buf, size_t len, off_t at)
{
    struct stat bad;
    struct stat st;
    if (stat(unreadable.path, &bad) == 0 && fstat(fd, &st) == 0 &&
        st.st_ino == bad.st_ino && st.st_dev == bad.st_dev) {
        errno = EIO;
        return -1;
    }
    return sys_real.pread(fd, buf, len, at);
}

/* The backend has it up to its third file, which cannot be read; the journal is lost. */
static struct rig *with_an_end_that_cannot_be_read(struct live_session *s)
{
    struct rig *rig = in_three_files(s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    rig_stop(rig);
    rig_lose_journal(rig);
    live_rotate(s, "device", 3);
    live_line(s, "device", "shutdown", 30);
    live_close(s);
    snprintf(unreadable.path, sizeof unreadable.path, "%s/device.3.log", s->dir);
    unreadable.sys = *rig->config.sys;
    unreadable.sys.pread = pread_fails_there;
    rig->config.sys = &unreadable.sys;
    rig_start(rig);
    rig_run(rig, 600000, false);
    return rig;
}

/* It is the newest sealed file: the active one comes next. */
static void behind_an_end_that_cannot_be_read_the_active_file_is_sent(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct live_session s;
        struct rig *rig = with_an_end_that_cannot_be_read(&s);
        struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
        assert_true(is_held(rig, HELD_UNREADABLE));
        if (restart) {
            rig_stop(rig);
            rig_start(rig);
        }
        give_up(rig, "device");
        assert_int_equal(st->end.at.file, 4);
        assert_non_null(strstr(st->raw, "\"type\":\"shutdown\""));
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        rig_delete(rig);
    }
}

static unsigned returned;

static void count_returned(void *arg, enum log_level level, const char *line)
{
    (void)arg;
    (void)level;
    returned += strstr(line, "session.returned") != NULL;
}

static void a_file_whose_end_was_believed_is_noticed_when_it_is_back(void **state)
{
    (void)state;
    static const struct log counting = {.level = LOG_AT_WARN, .write = count_returned};
    struct live_session s;
    struct rig *rig = with_an_end_that_nothing_proves(&s);
    rig_stop(rig);
    rig->config.log = &counting;
    rig_start(rig);
    give_up(rig, "device");
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    returned = 0;
    dirs_append(s.dir, "device.3.log", "{\"type\":\"x\"}\n");
    engine_rescan(rig->engine);
    rig_run(rig, 600000, false);
    assert_int_equal(returned, 1);
    rig_delete(rig);
}

/* Another end of the backend, or the file itself, shows whose the lines are. */
static void an_end_that_nothing_proved_is_proved_when_its_file_is_back(void **state)
{
    (void)state;
    struct live_session s;
    char command[1500];
    struct rig *rig = in_three_files(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    rig_stop(rig);
    rig_lose_journal(rig);
    live_line(&s, "device", "shutdown", 30);
    snprintf(command, sizeof command, "mv '%s/device.log' '%s.kept'", s.dir, s.dir);
    assert_int_equal(system(command), 0);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_true(is_held(rig, HELD_BACKEND_UNPROVED));
    rig_stop(rig);
    snprintf(command, sizeof command, "mv '%s.kept' '%s/device.log'", s.dir, s.dir);
    assert_int_equal(system(command), 0);
    live_close(&s);
    rig_start(rig);
    rig_run(rig, 1200000, false);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

/* What a person gave up when nothing was known but the files, the backend has. */
static void what_the_backend_has_is_no_loss_though_it_was_given_up(void **state)
{
    (void)state;
    struct live_session s;
    struct resolve_result result;
    struct rig *rig = in_three_files(&s);
    rig_start(rig);
    rig_run(rig, 600000, false);
    rig_stop(rig);
    rig_lose_journal(rig);
    change(&s, "device.1.log", -1);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    rig_start(rig);
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static int refuse_claims(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_COMPLETE ? 503 : RIG_REGISTRY;
}

static void a_complete_session_is_claimed_again_in_another_epoch(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->config.max_batch_lines = 10;
    rig_positions_copy(&backup, &rig->positions);
    rig_start(rig);
    complete(rig);
    go_back(rig, &backup);
    rig_run(rig, 3600000, false);
    complete(rig);
    unsigned requests = rig->requests;
    rig_run(rig, 1200000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), 2 * 3 * 7);
    assert_in_range(rig->requests - requests, 19, 20); /* which epoch it is in now */
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static int go_back_after_the_claim(struct rig *rig, const struct rig_request *r)
{
    if (r->kind == TRANSPORT_COMPLETE && rig->mark == 0) {
        rig->mark = 1;
        rig->positions.epoch = 2;
        rig->version_body = "{\"supported\":[\"1\"],\"live_windows\":true,"
                            "\"positions\":true,\"epoch\":\"2\"}";
        struct reply_version told = {0};
        reply_read_version(rig->version_body, strlen(rig->version_body), &told);
        origin_note_epoch(&rig->engine->origin, told.epoch,
                          told.database); /* as another answer tells */
    }
    return RIG_REGISTRY;
}

/* Its answer is still that of the backend before. */
static void a_claim_that_was_on_its_way_when_the_epoch_changed_is_made_again(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(50));
    rig->answer = go_back_after_the_claim;
    rig_start(rig);
    complete(rig);
    rig_run(rig, 3600000, false);
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

/* Without a journal, what an earlier process noted as sent is asked for, too. */
static void progress_of_an_earlier_process_is_no_proof(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        struct rig_positions backup = {0};
        struct rig *rig = rig_positions_on(rig_ended_session(50));
        rig->config.memory_state = true;
        rig->answer = refuse_claims;
        rig_positions_copy(&backup, &rig->positions);
        rig_start(rig);
        rig_run(rig, 120000, false);
        rig_all_same(rig, RIG_ID);
        rig_stop(rig);
        if (back) {
            go_back(rig, &backup);
        }
        rig->answer = NULL;
        rig_start(rig);
        complete(rig);
        rig_positions_fini(&backup);
        rig_delete(rig);
    }
}

static void a_quiet_session_is_compared_in_another_epoch(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 30000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_positions_copy(&backup, &rig->positions);
    live_line(&s, "device", "x", 2);
    rig_run(rig, 30000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    go_back(rig, &backup);
    rig_run(rig, 1800000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    live_close(&s);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

/* Long before it is asked what it is. */
static void the_answer_to_one_stream_makes_the_others_ask(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_start(rig);
    for (int i = 1; i < 3; i++) {
        live_line(&s, "device", "x", i);
        live_line(&s, "scope", "x", i);
        rig_run(rig, 20000, false);
        if (i == 1) {
            rig_positions_copy(&backup, &rig->positions);
        }
    }
    rig_same_as_file(rig, RIG_ID, "scope");
    go_back(rig, &backup);
    live_line(&s, "device", "x", 3);
    rig_run(rig, 120000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_same_as_file(rig, RIG_ID, "scope");
    live_close(&s);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static void a_complete_session_that_grows_is_reopened(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_fill(&s, 5);
    live_close(&s);
    rig_start(rig);
    complete(rig);
    live_line(&s, "device", "x", 7);
    engine_rescan(rig->engine);
    rig_run(rig, 600000, false);
    complete(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 2);
    rig_delete(rig);
}

static void a_backend_may_gain_positions_under_way(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 30000, false);
    rig_positions_on(rig);
    rig_positions_stream(&rig->positions, RIG_ID, "device")->windowed = true;
    rig_run(rig, 1800000, false);
    live_line(&s, "device", "x", 2);
    live_line(&s, "scope", "x", 2);
    rig_run(rig, 1800000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_same_as_file(rig, RIG_ID, "scope");
    assert_true(rig_count(rig, TRANSPORT_PARTS) > 0);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 2);
    live_close(&s);
    rig_delete(rig);
}

static void other_lines_at_the_backend_hold_the_channel(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_ended_session(20));
    struct rig_stream *st = rig_positions_stream(&rig->positions, RIG_ID, "device");
    st->end.at = (struct stream_place){.file = 1, .offset = 100, .lines = 2, .crc = 77};
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(st->len, 0);
    st = rig_positions_stream(&rig->positions, RIG_ID, "scope");
    assert_non_null(strstr(st->raw, "\"n\":20}"));
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
    assert_int_equal(rig_summary(rig).sessions_done, 0);
    rig_delete(rig);
}

static void a_channel_that_began_without_positions_goes_on_without(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig->positions.declared = false;
    rig_start(rig);
    for (int c = 0; c < 3; c++) {
        live_line(&s, channels[c], "x", 1);
    }
    rig_run(rig, 20000, false);
    rig_stop(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 3);
    rig_positions_on(rig);
    for (int c = 0; c < 3; c++) {
        rig_positions_stream(&rig->positions, RIG_ID, channels[c])->windowed = true;
        live_line(&s, channels[c], "shutdown", 2);
    }
    live_close(&s);
    rig_start(rig);
    engine_rescan(rig->engine);
    rig_run(rig, DAY_MS, true);
    rig_all_same(rig, RIG_ID);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), 0);
    rig_delete(rig);
}

/* An older copy of the backend was put back. Until another one is, it is asked now and
 * then, and not at each inspection. */
static void a_channel_that_is_without_positions_now_is_asked_for_seldom(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_positions_stream(&rig->positions, RIG_ID, "device")->windowed = true;
    unsigned before = rig->requests - rig_count(rig, TRANSPORT_PROBE);
    live_line(&s, "device", "x", 2);
    live_close(&s);
    rig_run(rig, 3600000, false);
    unsigned asked = rig->requests - rig_count(rig, TRANSPORT_PROBE) - before;
    assert_in_range(asked, 2, 40);
    rig_positions_stream(&rig->positions, RIG_ID, "device")->windowed = false;
    rig_run(rig, 3600000, false);
    rig_same_as_file(rig, RIG_ID, "device");
    assert_int_equal(rig_summary(rig).sessions_done, 1);
    rig_delete(rig);
}

static int note_claim(struct rig *rig, const struct rig_request *r)
{
    bool names = r->raw && strstr(r->raw, "],\"without_positions\":true}");
    rig->mark = r->kind == TRANSPORT_COMPLETE ? 1 + names : rig->mark;
    return RIG_REGISTRY;
}

/* The backend may have been put back as it was before it got them. */
static void a_claim_tells_of_lines_without_positions(void **state)
{
    (void)state;
    for (int windowed = 0; windowed < 2; windowed++) {
        struct rig *rig = rig_new();
        struct live_session s;
        live_open(&s, rig->root, RIG_ID);
        live_line(&s, "device", "x", 1);
        rig->answer = note_claim;
        rig->positions.declared = !windowed;
        if (!windowed) {
            rig_positions_on(rig);
        }
        rig_start(rig);
        rig_run(rig, 20000, false);
        rig_stop(rig);
        rig_positions_on(rig);
        rig_positions_stream(&rig->positions, RIG_ID, "device")->windowed = windowed;
        for (int c = 0; c < 3; c++) {
            live_line(&s, channels[c], "shutdown", 2);
        }
        live_close(&s);
        rig_start(rig);
        engine_rescan(rig->engine);
        rig_run(rig, DAY_MS, true);
        assert_int_equal(rig->mark, 1 + windowed);
        rig_delete(rig);
    }
}

/* Retention has deleted the session, of which these were all by then: the backend cannot
 * say that, and what was stored by positions since is equal. */
static void a_claim_of_lines_that_are_gone_is_made_ever_more_rarely(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    live_line(&s, "device", "x", 1);
    rig_start(rig);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    rig_positions_on(rig);
    for (int c = 1; c < 3; c++) {
        live_line(&s, channels[c], "shutdown", 2);
    }
    live_close(&s);
    rig_start(rig);
    engine_rescan(rig->engine);
    rig_run(rig, 3600000, false);
    assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 2, 32);
    rig_run(rig, DAY_MS, false);
    assert_in_range(rig_count(rig, TRANSPORT_COMPLETE), 40, 100);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 0);
    rig_delete(rig);
}

/* It may be a gateway's: nothing of the session would ever be sent by positions. */
static void an_answer_that_tells_nothing_is_doubted_twice(void **state)
{
    (void)state;
    static const int row[] = {400, 401, 403, 410, 422};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (unsigned times = 1; times <= 3; times++) {
            struct rig *rig = rig_positions_on(rig_ended_session(20));
            rig->version_status = row[i];
            rig->version_times = times;
            rig_start(rig);
            rig_run(rig, 5000, true);
            if ((rig_count(rig, TRANSPORT_BATCH) == 0) != (times < 3)) {
                fail_msg("status %d, %u times", row[i], times);
            }
            rig_all_same(rig, RIG_ID);
            assert_int_equal(rig_summary(rig).failures_in_row, 0);
            rig_delete(rig);
        }
    }
}

static void a_backend_without_positions_gets_no_part(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    const char *with = rig->version_body;
    struct live_session s;
    live_open(&s, rig->root, RIG_ID);
    rig_start(rig);
    live_line(&s, "device", "x", 1);
    rig_run(rig, 20000, false);
    rig_stop(rig);
    unsigned parts = rig_count(rig, TRANSPORT_PARTS);
    rig->positions.declared = false;
    rig->version_body = "{\"supported\":[\"1\"],\"live_windows\":true}";
    live_line(&s, "device", "x", 2);
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), parts);
    rig_stop(rig);
    rig->positions.declared = true;
    rig->version_body = with;
    live_line(&s, "device", "shutdown", 3);
    live_close(&s);
    rig_start(rig);
    engine_rescan(rig->engine);
    rig_run(rig, DAY_MS, true);
    rig_same_as_file(rig, RIG_ID, "device");
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_stored_and_the_end_is_claimed),
        cmocka_unit_test(the_end_is_told_once_the_journal_is_on_disk),
        cmocka_unit_test(a_lost_journal_costs_a_question),
        cmocka_unit_test(
            a_session_that_only_the_progress_file_knows_is_not_done_unproved),
        cmocka_unit_test(a_journal_of_last_week_is_no_harm),
        cmocka_unit_test(a_lost_answer_is_known_by_its_place),
        cmocka_unit_test(a_part_whose_path_is_not_known_waits),
        cmocka_unit_test(what_is_too_large_is_halved),
        cmocka_unit_test(a_line_that_is_refused_is_skipped_and_listed),
        cmocka_unit_test(a_session_of_a_killed_writer_ends_behind_its_torn_line),
        cmocka_unit_test(a_file_that_is_back_is_late_behind_half_a_line_too),
        cmocka_unit_test(an_origin_that_went_back_gets_a_blocked_session_again),
        cmocka_unit_test(an_origin_that_went_back_gets_the_rest_again),
        cmocka_unit_test(what_was_deleted_since_the_backup_is_a_loss),
        cmocka_unit_test(what_somebody_deleted_since_the_backup_is_missed),
        cmocka_unit_test(
            a_sealed_file_that_is_shorter_than_its_settled_end_holds_nothing),
        cmocka_unit_test(a_backend_that_goes_back_gets_what_is_before_half_a_line),
        cmocka_unit_test(an_end_in_a_file_that_was_sent_and_deleted_is_taken),
        cmocka_unit_test(an_end_that_nothing_proves_is_believed_when_given_up),
        cmocka_unit_test(behind_an_end_that_cannot_be_read_the_active_file_is_sent),
        cmocka_unit_test(a_file_whose_end_was_believed_is_noticed_when_it_is_back),
        cmocka_unit_test(an_end_that_nothing_proved_is_proved_when_its_file_is_back),
        cmocka_unit_test(what_the_backend_has_is_no_loss_though_it_was_given_up),
        cmocka_unit_test(a_complete_session_is_claimed_again_in_another_epoch),
        cmocka_unit_test(
            a_claim_that_was_on_its_way_when_the_epoch_changed_is_made_again),
        cmocka_unit_test(progress_of_an_earlier_process_is_no_proof),
        cmocka_unit_test(a_quiet_session_is_compared_in_another_epoch),
        cmocka_unit_test(the_answer_to_one_stream_makes_the_others_ask),
        cmocka_unit_test(a_complete_session_that_grows_is_reopened),
        cmocka_unit_test(a_backend_may_gain_positions_under_way),
        cmocka_unit_test(a_file_that_was_rewritten_in_place_is_not_complete),
        cmocka_unit_test(a_file_that_is_given_up_is_a_loss_at_the_backend),
        cmocka_unit_test(what_follows_a_gap_that_was_given_up_is_no_loss),
        cmocka_unit_test(a_stream_whose_first_files_are_gone_is_stored_once),
        cmocka_unit_test(a_file_that_was_cut_goes_on_where_it_is_given_up),
        cmocka_unit_test(a_sealed_file_that_lost_what_was_sent_holds_nothing),
        cmocka_unit_test(other_lines_at_the_backend_hold_the_channel),
        cmocka_unit_test(a_channel_that_began_without_positions_goes_on_without),
        cmocka_unit_test(a_channel_that_is_without_positions_now_is_asked_for_seldom),
        cmocka_unit_test(a_claim_tells_of_lines_without_positions),
        cmocka_unit_test(a_claim_of_lines_that_are_gone_is_made_ever_more_rarely),
        cmocka_unit_test(an_answer_that_tells_nothing_is_doubted_twice),
        cmocka_unit_test(a_backend_without_positions_gets_no_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
