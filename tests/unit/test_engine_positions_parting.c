/* SPDX-License-Identifier: Apache-2.0 */
/* The backend has more of a channel than its files, or other bytes: it is asked up to
 * where they are the same. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "tests/support/rig_session.h"
#include "upload/core/registry.h"
#include "upload/resolve/resolve.h"

#define MINUTES_MS (60ull * 1000)

static struct rig_stream *device(struct rig *rig)
{
    return rig_positions_stream(&rig->positions, RIG_ID, "device");
}

static void lines(struct live_session *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        live_line(s, "device", "x", i);
    }
}

/* Thirty lines were sent, and the uploader is stopped. */
static struct rig *with_thirty_sent(struct live_session *s)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.max_batch_lines = 10;
    live_open(s, rig->root, RIG_ID);
    live_line(s, "device", "job_start", 0);
    lines(s, 1, 30);
    rig_start(rig);
    rig_run(rig, MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 30);
    rig_stop(rig);
    return rig;
}

static long size_of(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return size;
}

static long device_bytes(const struct live_session *s)
{
    char path[700];
    snprintf(path, sizeof path, "%s/device.log", s->dir);
    return size_of(path);
}

/* \p back bytes less than there were. */
static void cut(const struct live_session *s, const char *name, long back)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    assert_int_equal(truncate(path, size_of(path) - back), 0);
}

/* Of the lines of the active file, 0 to 17 are left. */
static void cut_behind_eighteen(struct rig *rig, const struct live_session *s)
{
    char *file = rig_file(rig, RIG_ID "/device.log");
    long end = (long)(strstr(file, "\"n\":17}") - file) + 8;
    cut(s, "device.log", (long)strlen(file) - end);
    free(file);
}

static void change_byte(const struct live_session *s, const char *name, long at)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    fputc('X', file);
    fclose(file);
}

static void in_session(const struct live_session *s, const char *script)
{
    char command[1200];
    snprintf(command, sizeof command, "cd '%s' && %s", s->dir, script);
    assert_int_equal(system(command), 0);
}

static void run_again(struct rig *rig)
{
    rig_start(rig);
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
}

static void give_up(struct rig *rig)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

static void assert_ended(struct rig *rig, int state)
{
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), state);
    assert_int_equal(rig_summary(rig).sessions_done, state != 0);
}

static void a_disk_that_lost_what_was_sent_does_not_hold_its_session(void **state)
{
    (void)state;
    for (int journal = 0; journal < 2; journal++) {
        for (long back = 1; back < 100; back += 49) {
            struct live_session s;
            struct rig *rig = with_thirty_sent(&s);
            cut(&s, "device.log", back);
            live_close(&s);
            if (!journal) {
                rig_lose_journal(rig);
            }
            run_again(rig);
            assert_ended(rig, 1);
            assert_int_equal(device(rig)->end.at.lines, 30);
            assert_int_equal(device(rig)->end.losses, 0);
            assert_int_equal(rig_count(rig, TRANSPORT_PLACE), 1);
            rig_delete(rig);
        }
    }
}

static void it_is_not_looked_at_again_and_again(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut(&s, "device.log", 50);
    live_close(&s);
    run_again(rig);
    assert_ended(rig, 1);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_stop(rig);
    run_again(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_ended(rig, 1);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 1);
    rig_delete(rig);
}

static int lose_parts(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    return r->kind == TRANSPORT_PARTS ? RIG_LOST : RIG_REGISTRY;
}

/* The journal knows an end before, behind which no whole line is left. */
static void
a_disk_that_lost_all_behind_the_settled_end_does_not_hold_its_session(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    long settled = device_bytes(&s);
    rig->answer = lose_parts;
    lines(&s, 30, 40);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 40);
    rig_stop(rig);
    rig->answer = NULL;
    cut(&s, "device.log", device_bytes(&s) - settled - 5);
    live_close(&s);
    run_again(rig);
    assert_ended(rig, 1);
    rig_delete(rig);
}

/* Nothing of the last file is left that could be compared. */
static void the_end_of_an_earlier_file_does_not_prove_the_last_one(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    run_again(rig);
    rig_stop(rig);
    cut(&s, "device.log", device_bytes(&s) - 5);
    rig_lose_journal(rig);
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    assert_int_equal(rig_count(rig, TRANSPORT_PLACE), 1);
    rig_delete(rig);
}

static void while_the_writer_lives_the_rest_is_waited_for(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut(&s, "device.log", 50);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    assert_int_equal(rig_count(rig, TRANSPORT_PLACE), 0);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 2 * MINUTES_MS, false);
    assert_ended(rig, 1);
    rig_delete(rig);
}

static void a_shorter_file_with_other_bytes_is_held(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut(&s, "device.log", 50);
    change_byte(&s, "device.log", 30);
    rig_lose_journal(rig);
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    assert_ended(rig, 0);
    rig_delete(rig);
}

static void nothing_proves_an_empty_file(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    char path[700];
    snprintf(path, sizeof path, "%s/device.log", s.dir);
    assert_int_equal(truncate(path, 3), 0);
    rig_lose_journal(rig);
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    assert_ended(rig, 0);
    rig_delete(rig);
}

/* It was sent while it was the active file, and its writer wrote on before it sealed it:
 * that the backend has the rest of what was sent says nothing of what was not. */
static void a_sealed_file_that_is_cut_below_what_was_sent_of_it_while_active(void **state)
{
    (void)state;
    static const char *const harm[] = {
        "truncate -s 0 device.1.log",
        "truncate -s 50 device.1.log",
        "sed -i 1q device.1.log",
        "rm device.1.log && : >device.1.log.gz",
        "rm device.1.log && echo no gzip >device.1.log.gz",
        "rm device.1.log && : | gzip >device.1.log.gz",
        "sed -i 1q device.1.log && gzip device.1.log",
    };
    for (unsigned i = 0; i < 2 * sizeof harm / sizeof *harm; i++) {
        struct live_session s;
        struct rig *rig = with_thirty_sent(&s);
        lines(&s, 30, 40);
        live_rotate(&s, "device", 1);
        lines(&s, 40, 50);
        in_session(&s, "cp -p device.1.log ../.kept");
        in_session(&s, harm[i / 2]);
        live_close(&s);
        run_again(rig);
        assert_true(is_held(rig, HELD_SHORTER));
        assert_int_equal(device(rig)->end.at.lines, 30);
        if (i % 2) {
            in_session(&s, "rm -f device.1.log.gz && mv ../.kept device.1.log");
            engine_rescan(rig->engine);
            rig_run(rig, 20 * MINUTES_MS, false);
            assert_int_equal(device(rig)->end.at.lines, 50);
        } else {
            give_up(rig);
            rig_run(rig, 10 * MINUTES_MS, false);
            assert_int_equal(device(rig)->end.at.lines, 40);
        }
        assert_int_equal(device(rig)->end.losses, i % 2 == 0);
        assert_ended(rig, i % 2 ? 1 : 2);
        rig_delete(rig);
    }
}

/* Unless the writer told on this boot that it had written more than was sent. */
static void an_active_file_that_was_cut_lacks_what_its_writer_told(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        bool more = what != 1;
        struct live_session s;
        struct rig *rig = with_thirty_sent(&s);
        lines(&s, 30, more ? 40 : 30);
        live_tell(&s, what == 0 ? "another boot" : NULL, "device", 1, device_bytes(&s));
        cut(&s, "device.log", device_bytes(&s) - 150);
        live_close(&s);
        if (what == 3) {
            rig_lose_journal(rig);
        }
        for (int runs = 0; runs < 2 && what >= 2; runs++) {
            run_again(rig);
            assert_true(is_held(rig, HELD_CUT));
            assert_ended(rig, 0);
            rig_stop(rig);
        }
        run_again(rig);
        if (what >= 2) {
            give_up(rig);
            rig_run(rig, 10 * MINUTES_MS, false);
        }
        assert_int_equal(device(rig)->end.at.lines, 30);
        assert_ended(rig, what >= 2 ? 2 : 1);
        rig_delete(rig);
    }
}

/* Whatever its writer told counts no more. */
static void tell_on_another_boot(struct live_session *s)
{
    char path[700];
    snprintf(path, sizeof path, "%s/.gpufl-session.lock", s->dir);
    s->lock_fd = open(path, O_RDWR | O_CLOEXEC);
    live_tell(s, "another boot", "device", 1, device_bytes(s));
    live_close(s);
}

/* The backend has thirty lines, as has the file, of which a person gave up the rest.
 * \p backup is of before that. */
static struct rig *with_rest_given_up(struct live_session *s,
                                      struct rig_positions *backup)
{
    struct rig *rig = with_thirty_sent(s);
    rig_positions_copy(backup, &rig->positions);
    long sent = device_bytes(s);
    lines(s, 30, 40);
    const struct live_told told = {.bytes = device_bytes(s), .before = device_bytes(s)};
    live_tell_file(s, NULL, &told);
    cut(s, "device.log", told.bytes - sent);
    live_close(s);
    run_again(rig);
    assert_true(is_held(rig, HELD_CUT));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_ended(rig, 2);
    rig_stop(rig);
    tell_on_another_boot(s);
    return rig;
}

static void put_back(struct rig *rig, const struct rig_positions *backup)
{
    rig_positions_copy(&rig->positions, backup);
    rig->positions.epoch = 2;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
}

/* Nothing on disk tells of it after a reboot, and the backend was put back to before it
 * was told. */
static void a_rest_that_was_given_up_stays_lost(void **state)
{
    (void)state;
    enum { KEPT, SENT_AGAIN, JOURNAL_LOST, ALL_SENT_AGAIN, WAYS };
    for (int what = 0; what < WAYS; what++) {
        struct rig_positions backup = {0};
        struct live_session s;
        struct rig *rig = with_rest_given_up(&s, &backup);
        if (what == JOURNAL_LOST) { /* the backend tells, before it is put back */
            rig_lose_journal(rig);
            run_again(rig);
            assert_ended(rig, 2);
            rig_stop(rig);
        }
        if (what == ALL_SENT_AGAIN) {
            rig_positions_fini(&backup);
        }
        put_back(rig, &backup);
        rig->config.force = what == SENT_AGAIN; /* as gpufl verify --resend does */
        run_again(rig);
        assert_int_equal(device(rig)->end.at.lines, 30);
        assert_true(device(rig)->end.lost_after);
        assert_ended(rig, 2);
        rig_positions_fini(&backup);
        rig_delete(rig);
    }
}

/* By what the backend told, too, which the journal does not know any more. */
static void what_is_stored_behind_a_loss_takes_it_back(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct live_session s;
    struct rig *rig = with_rest_given_up(&s, &backup);
    rig_lose_journal(rig);
    lines(&s, 30, 40);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 40);
    assert_ended(rig, 1);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

static void a_cut_file_that_grows_is_compared_again(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut(&s, "device.log", 50);
    live_close(&s);
    run_again(rig);
    assert_ended(rig, 1);
    dirs_append(s.dir, "device.log",
                "{\"type\":\"y\"}\n{\"type\":\"y\"}\n"
                "{\"type\":\"y\"}\n{\"type\":\"y\"}\n"
                "{\"type\":\"y\"}\n{\"type\":\"y\"}\n");
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 30);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    rig_delete(rig);
}

static unsigned questions(const struct rig *rig)
{
    return rig_count(rig, TRANSPORT_ENDS) + rig_count(rig, TRANSPORT_PLACE);
}

static void run_with_few_questions(struct rig *rig)
{
    unsigned loops = rig->loops;
    unsigned asked = questions(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_true(rig->loops - loops < 1000);
    assert_true(questions(rig) - asked <= 10);
}

/* Its size says nothing: only its time of change does. */
static void a_cut_file_that_was_compressed_is_not_asked_for_all_the_time(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut(&s, "device.log", 50);
    live_close(&s);
    rig_lose_journal(rig);
    in_session(&s, "gzip device.log");
    rig_start(rig);
    run_with_few_questions(rig);
    engine_rescan(rig->engine);
    run_with_few_questions(rig);
    assert_ended(rig, 1);
    assert_int_equal(device(rig)->end.at.lines, 30);
    in_session(&s, "gunzip device.log.gz");
    engine_rescan(rig->engine);
    run_with_few_questions(rig);
    assert_ended(rig, 1);
    in_session(&s, "for i in 1 2 3 4 5 6; do echo '{\"type\":\"y\"}'; done |"
                   " cat device.log - | gzip >device.log.gz && rm device.log");
    engine_rescan(rig->engine);
    run_with_few_questions(rig);
    assert_int_equal(device(rig)->end.at.lines, 30);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    rig_delete(rig);
}

static int lose_some(struct rig *rig, const struct rig_request *r)
{
    (void)rig;
    static int n;
    static const int status[] = {0, 503, 404, RIG_LOST};
    bool lost = r->kind == TRANSPORT_PLACE && ++n % 5 != 0;
    return lost ? status[n % 4] : RIG_REGISTRY;
}

static void lost_questions_are_asked_again(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    rig->answer = lose_some;
    cut(&s, "device.log", 50);
    live_close(&s);
    run_again(rig);
    rig_run(rig, 60 * MINUTES_MS, false);
    assert_ended(rig, 1);
    rig_delete(rig);
}

/* What is behind line \p same of its file is there again. */
static void assert_sent_from(struct rig *rig, int same)
{
    char first[40];
    struct rig_stream *st = device(rig);
    const struct rig_part *part = st->part;
    while (part < st->part + st->parts && part->from.losses == 0 &&
           (part == st->part || part->from.at.offset >= part[-1].to.at.offset)) {
        part++;
    }
    assert_true(part < st->part + st->parts);
    snprintf(first, sizeof first, "\"n\":%d}", same + 1);
    const char *end = strchr(st->raw + part->at, '\n');
    assert_memory_equal(end - strlen(first), first, strlen(first));
}

static void a_rewritten_file_goes_on_where_the_bytes_part(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    char *file = rig_file(rig, RIG_ID "/device.log");
    change_byte(&s, "device.log", (long)(strstr(file, "\"n\":17}") - file) - 3);
    free(file);
    rig_lose_journal(rig);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_sent_from(rig, 16);
    assert_int_equal(device(rig)->end.losses, 1);
    file = rig_file(rig, RIG_ID "/device.log");
    assert_int_equal(device(rig)->end.file_crc, crc32c(0, file, strlen(file)));
    free(file);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* Its checksum of all bytes leaves out what was lost: that of the file decides. */
static void behind_a_loss_the_checksum_of_the_file_decides(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    change_byte(&s, "device.log", 300);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.losses, 1);
    rig_stop(rig);
    rig_lose_journal(rig);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    uint64_t before = device(rig)->end.at.lines;
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, before + 1);
    assert_ended(rig, 0); /* that it was given up, the lost journal said */
    /* As an earlier version ended it. */
    assert_true(record_append_done(rig->engine->root[0]->journal, RIG_ID, SESSION_LACKS));
    rig_stop(rig);
    run_again(rig);
    assert_ended(rig, 0);
    assert_int_equal(rig_summary(rig).sessions_blocked, 1);
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* The session is held by one process, resolved by another and sent by a third. */
static void a_person_may_say_so_while_nothing_runs(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    change_byte(&s, "device.log", 300);
    rig_lose_journal(rig);
    live_line(&s, "device", "shutdown", 30);
    live_close(&s);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    rig_stop(rig);
    rig_start(rig);
    give_up(rig);
    rig_stop(rig);
    run_again(rig);
    assert_int_equal(device(rig)->end.losses, 1);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* As if somebody had emptied or cut the active file of a job that writes on: its journal
 * knows what was sent, and what is the same is not sent again. */
static void
an_active_file_that_was_cut_and_written_on_goes_on_where_it_was_cut(void **state)
{
    (void)state;
    for (int written = 41; written >= 25; written -= 16) { /* past its end, or not */
        struct live_session s;
        struct rig *rig = with_thirty_sent(&s);
        cut_behind_eighteen(rig, &s);
        lines(&s, 100, 100 + written - 18 - 1);
        live_line(&s, "device", "shutdown", 200);
        live_close(&s);
        for (int runs = 0; runs < 2; runs++) {
            run_again(rig);
            assert_true(is_held(rig, written > 40 ? HELD_OTHER : HELD_SHORTER));
            rig_stop(rig);
        }
        rig_start(rig);
        give_up(rig);
        rig_stop(rig);
        run_again(rig);
        assert_sent_from(rig, 99);
        assert_int_equal(device(rig)->end.at.lines, 30 + written - 18);
        assert_int_equal(device(rig)->end.losses, 1);
        assert_ended(rig, 2);
        rig_delete(rig);
    }
}

/* The first one may come back under its number. */
static void an_active_file_with_nothing_of_what_was_sent_is_the_next_one(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    in_session(&s, "mv device.1.log ../.kept");
    lines(&s, 30, 80);
    run_again(rig);
    assert_true(is_held(rig, HELD_OTHER));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.file, 2);
    in_session(&s, "mv ../.kept device.1.log");
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 20 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 80);
    assert_ended(rig, 2);
    rig_delete(rig);
}

static void a_shorter_file_goes_on_at_its_end(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    cut_behind_eighteen(rig, &s);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    live_line(&s, "device", "x", 100);
    live_line(&s, "device", "shutdown", 101);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_sent_from(rig, 99);
    assert_int_equal(device(rig)->end.at.lines, 32);
    assert_int_equal(device(rig)->end.losses, 1);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* Only the file in which the backend's end lies can be sent again. */
static void what_differs_in_an_earlier_file_is_not_complete(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    run_again(rig);
    assert_int_equal(device(rig)->end.at.lines, 40);
    rig_stop(rig);
    change_byte(&s, "device.1.log", 300);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    give_up(rig);
    live_line(&s, "device", "shutdown", 40);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 41);
    assert_ended(rig, 2);
    rig_delete(rig);
}

/* All files that follow are lost, too. */
static void
what_ends_files_before_the_backend_is_given_up_once_its_writer_is_gone(void **state)
{
    (void)state;
    struct live_session s;
    char from[700];
    char to[700];
    struct rig *rig = with_thirty_sent(&s);
    live_rotate(&s, "device", 1);
    lines(&s, 30, 40);
    run_again(rig);
    rig_stop(rig);
    snprintf(from, sizeof from, "%s/device.1.log", s.dir);
    snprintf(to, sizeof to, "%s/device.log", s.dir);
    assert_int_equal(rename(from, to), 0);
    rig_lose_journal(rig);
    run_again(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    give_up(rig);
    rig_run(rig, 10 * MINUTES_MS, false);
    assert_ended(rig, 0);
    live_close(&s);
    engine_rescan(rig->engine);
    rig_run(rig, 20 * MINUTES_MS, false);
    assert_int_equal(device(rig)->end.at.lines, 40);
    assert_ended(rig, 2);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_that_lost_what_was_sent_does_not_hold_its_session),
        cmocka_unit_test(
            a_disk_that_lost_all_behind_the_settled_end_does_not_hold_its_session),
        cmocka_unit_test(the_end_of_an_earlier_file_does_not_prove_the_last_one),
        cmocka_unit_test(it_is_not_looked_at_again_and_again),
        cmocka_unit_test(while_the_writer_lives_the_rest_is_waited_for),
        cmocka_unit_test(a_shorter_file_with_other_bytes_is_held),
        cmocka_unit_test(nothing_proves_an_empty_file),
        cmocka_unit_test(an_active_file_that_was_cut_lacks_what_its_writer_told),
        cmocka_unit_test(
            a_sealed_file_that_is_cut_below_what_was_sent_of_it_while_active),
        cmocka_unit_test(a_rest_that_was_given_up_stays_lost),
        cmocka_unit_test(what_is_stored_behind_a_loss_takes_it_back),
        cmocka_unit_test(a_cut_file_that_grows_is_compared_again),
        cmocka_unit_test(a_cut_file_that_was_compressed_is_not_asked_for_all_the_time),
        cmocka_unit_test(lost_questions_are_asked_again),
        cmocka_unit_test(a_rewritten_file_goes_on_where_the_bytes_part),
        cmocka_unit_test(behind_a_loss_the_checksum_of_the_file_decides),
        cmocka_unit_test(a_person_may_say_so_while_nothing_runs),
        cmocka_unit_test(
            an_active_file_that_was_cut_and_written_on_goes_on_where_it_was_cut),
        cmocka_unit_test(an_active_file_with_nothing_of_what_was_sent_is_the_next_one),
        cmocka_unit_test(a_shorter_file_goes_on_at_its_end),
        cmocka_unit_test(what_differs_in_an_earlier_file_is_not_complete),
        cmocka_unit_test(
            what_ends_files_before_the_backend_is_given_up_once_its_writer_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
