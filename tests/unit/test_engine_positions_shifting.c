/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of the 1.1 layout by positions: numbers of files are the backend's, and the
 * bytes tell which file is its own. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rig_session.h"
#include "upload/resolve/resolve.h"

#define MINUTES_MS (60ull * 1000)
#define HEAD       "echo '{\"type\":\"process_info\",\"n\":7}' >device.log"
#define OTHER_HEAD "echo '{\"type\":\"process_info\",\"n\":8}' >device.log"

static void in_session(const struct rig *rig, const char *script)
{
    char command[2000];
    snprintf(command, sizeof command,
             "mkdir -p '%s/" RIG_ID "' && cd '%s/" RIG_ID "' && %s", rig->root, rig->root,
             script);
    assert_int_equal(system(command), 0);
}

/* The lines \p from to \p to, the first of which begins the channel. */
static void lines(const struct rig *rig, const char *file, int from, int to)
{
    char script[400];
    snprintf(script, sizeof script,
             "for i in $(seq %d %d); do t=x; [ $i != 0 ] || t=job_start; "
             "echo '{\"type\":\"'$t'\",\"n\":'$i'}'; done >>%s",
             from, to, file);
    in_session(rig, script);
}

/* The same, of lines that may be in several files. */
static void names(const struct rig *rig, const char *file, int from, int to)
{
    char script[400];
    snprintf(script, sizeof script,
             "for i in $(seq %d %d); do "
             "echo '{\"type\":\"dictionary_update\",\"n\":'$i'}'; done >>%s",
             from, to, file);
    in_session(rig, script);
}

static void rotate(const struct rig *rig, bool packs)
{
    in_session(rig, "for n in 9 8 7 6 5 4 3 2 1; do for z in .gz ''; do "
                    "[ ! -e device.$n.log$z ] || mv device.$n.log$z "
                    "device.$((n + 1)).log$z; done; done; mv device.log device.1.log");
    if (packs) {
        in_session(rig, "gzip device.1.log");
    }
}

static struct rig_stream *device(struct rig *rig)
{
    return rig_positions_stream(&rig->positions, RIG_ID, "device");
}

/* The numbers of the lines that are stored, one behind the other. */
static void assert_stored(struct rig *rig, const char *numbers)
{
    char found[1024] = "";
    const struct rig_stream *st = device(rig);
    char *raw = strndup(st->raw ? st->raw : "", st->len);
    for (const char *at = raw; (at = strstr(at, "\"n\":")); at++) {
        size_t len = strcspn(at + 4, "}");
        strncat(found, at + 4, len);
        strcat(found, " ");
    }
    assert_string_equal(found, numbers);
    free(raw);
}

static void run(struct rig *rig)
{
    engine_rescan(rig->engine);
    rig_run(rig, 2 * MINUTES_MS, false);
}

/* Another uploader, which knows nothing. */
static void lose_state(struct rig *rig)
{
    rig_stop(rig);
    rig_lose_journal(rig);
    rig_start(rig);
    run(rig);
}

static bool is_held(struct rig *rig, enum held_reason reason)
{
    char *progress = rig_file(rig, ".gpufl-agent/progress");
    bool held = strstr(progress, held_text(reason)) != NULL;
    free(progress);
    return held;
}

static void give_up(struct rig *rig)
{
    struct resolve_result result;
    resolve_in_first_root(rig->engine, RIG_ID, "device", &result);
    assert_int_equal(result.given_up, 1);
    run(rig);
}

/* Lines 0 to 5 in two files, and 6 to 8 in the active one, sent; two lines a batch. */
static struct rig *with_three_files_sent(bool packs)
{
    struct rig *rig = rig_positions_on(rig_new());
    rig->config.max_batch_lines = 2;
    lines(rig, "device.log", 0, 2);
    rotate(rig, packs);
    lines(rig, "device.log", 3, 5);
    rotate(rig, packs);
    lines(rig, "device.log", 6, 8);
    rig_start(rig);
    run(rig);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 ");
    assert_int_equal(device(rig)->end.at.file, 3);
    return rig;
}

static void a_session_of_the_11_layout_goes_by_positions(void **state)
{
    (void)state;
    for (int packs = 0; packs < 2; packs++) {
        struct rig *rig = with_three_files_sent(packs);
        in_session(rig, "echo '{\"type\":\"shutdown\",\"n\":9}' >>device.log");
        run(rig);
        assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 0);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
        assert_int_equal(rig_summary(rig).sessions_done, 1);
        assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 ");
        rig_delete(rig);
    }
}

static void a_lost_state_costs_nothing_however_often_files_were_renamed(void **state)
{
    (void)state;
    for (int packs = 0; packs < 2; packs++) {
        struct rig *rig = with_three_files_sent(packs);
        rig_stop(rig);
        lines(rig, "device.log", 9, 9);
        rotate(rig, packs);
        lines(rig, "device.log", 10, 11);
        rotate(rig, !packs);
        lines(rig, "device.log", 12, 12);
        rig_start(rig);
        lose_state(rig);
        assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 11 12 ");
        assert_int_equal(device(rig)->end.at.file, 5);
        assert_int_equal(device(rig)->end.losses, 0);
        lose_state(rig);
        assert_int_equal(device(rig)->end.at.lines, 13);
        rig_delete(rig);
    }
}

/* Its first files are gone: the checksum of the one file tells which it is. */
static void the_own_file_is_found_by_its_bytes_where_the_first_ones_are_gone(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    in_session(rig, "rm device.2.log");
    rotate(rig, true);
    lines(rig, "device.log", 9, 10);
    lose_state(rig);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 ");
    assert_int_equal(device(rig)->end.at.file, 4);
    rig_delete(rig);
}

/* Likewise where newer ones were read for it, one of which is longer than the end: none
 * of their bytes says where that is. */
static void the_own_file_is_not_the_last_one_that_was_read_for_it(void **state)
{
    (void)state;
    for (int packs = 0; packs < 2; packs++) {
        struct rig *rig = with_three_files_sent(packs);
        in_session(rig, "rm device.2.log*");
        lines(rig, "device.log", 9, 9);
        rotate(rig, packs);
        lines(rig, "device.log", 10, 19);
        rotate(rig, packs);
        lines(rig, "device.log", 20, 29);
        lose_state(rig);
        assert_int_equal(device(rig)->end.at.file, 5);
        assert_int_equal(device(rig)->end.losses, 0);
        assert_int_equal(device(rig)->end.at.lines, 30);
        assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "
                           "20 21 22 23 24 25 26 27 28 29 ");
        rig_delete(rig);
    }
}

/* Files of the same names: all of them in order tell which one it is. */
static void of_files_alike_the_order_tells_which_one_it_is(void **state)
{
    (void)state;
    for (int gone = 0; gone < 2; gone++) {
        struct rig *rig = rig_positions_on(rig_new());
        lines(rig, "device.log", 0, 1);
        for (int i = 0; i < 3; i++) {
            rotate(rig, false);
            names(rig, "device.log", 5, 6);
        }
        rig_start(rig);
        run(rig);
        assert_stored(rig, "0 1 5 6 5 6 5 6 ");
        rotate(rig, false);
        names(rig, "device.log", 5, 7);
        if (gone) {
            in_session(rig, "rm device.4.log");
        }
        lose_state(rig);
        assert_stored(rig, gone ? "0 1 5 6 5 6 5 6 " : "0 1 5 6 5 6 5 6 5 6 7 ");
        assert_int_equal(is_held(rig, HELD_BACKEND_UNPROVED), gone);
        rig_delete(rig);
    }
}

/* Each file begins with the same line, and nothing but that was sent of the newest one
 * when its disk lost power: the file that has its name again is the one before. Likewise
 * if the state went with it. */
static void a_file_that_a_disk_took_back_is_not_the_next_one(void **state)
{
    (void)state;
    for (int state_too = 0; state_too < 2; state_too++) {
        struct rig *rig = rig_positions_on(rig_new());
        in_session(rig, HEAD);
        lines(rig, "device.log", 0, 1);
        rotate(rig, false);
        in_session(rig, OTHER_HEAD);
        lines(rig, "device.log", 2, 3);
        rotate(rig, false);
        in_session(rig, OTHER_HEAD);
        rig_start(rig);
        run(rig);
        assert_stored(rig, "7 0 1 8 2 3 8 ");
        rig_stop(rig);
        in_session(rig, "mv device.1.log device.log && mv device.2.log device.1.log");
        rig_start(rig);
        if (state_too) {
            lose_state(rig);
        }
        run(rig);
        assert_stored(rig, "7 0 1 8 2 3 8 ");
        assert_true(is_held(rig, HELD_BACKEND_UNPROVED));
        rig_delete(rig);
    }
}

/* Four files, of which three begin with the same line, and no more than that was sent of
 * the newest one; all were sent. */
static struct rig *with_equal_heads_sent(bool positions, bool packs)
{
    struct rig *rig = rig_new();
    rig = positions ? rig_positions_on(rig) : rig;
    in_session(rig, HEAD);
    lines(rig, "device.log", 0, 1);
    for (int i = 2; i < 6; i += 2) {
        rotate(rig, packs);
        in_session(rig, OTHER_HEAD);
        lines(rig, "device.log", i, i + 1);
    }
    rotate(rig, packs);
    in_session(rig, OTHER_HEAD);
    rig_start(rig);
    run(rig);
    assert_int_equal(rig_summary(rig).lines_acked, 10);
    rig_stop(rig);
    return rig;
}

static void nothing_is_sent_again(struct rig *rig, const char *script,
                                  enum held_reason reason)
{
    in_session(rig, script);
    rig_start(rig);
    run(rig);
    assert_int_equal(rig_summary(rig).lines_acked, 0);
    assert_true(is_held(rig, reason));
    rig_delete(rig);
}

/* Its disk took the last rename back, and not the one before: numbers tell nothing, but
 * the file goes on as the one before it did. */
static void the_file_before_is_known_by_its_end(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        nothing_is_sent_again(with_equal_heads_sent(positions, false),
                              "mv device.1.log device.log",
                              positions ? HELD_BACKEND_UNPROVED : HELD_ROTATED_GONE);
        nothing_is_sent_again(with_equal_heads_sent(positions, true),
                              "gunzip device.1.log && mv device.1.log device.log",
                              positions ? HELD_BACKEND_UNPROVED : HELD_ROTATED_GONE);
    }
}

/* The channel's first file is gone, so its numbers tell nothing, and so are others. */
static void an_older_file_is_known_by_what_lies_before_it(void **state)
{
    (void)state;
    for (int positions = 0; positions < 2; positions++) {
        nothing_is_sent_again(
            with_equal_heads_sent(positions, false),
            "rm device.log device.1.log device.3.log && mv device.2.log device.1.log",
            positions ? HELD_BACKEND_UNPROVED : HELD_ROTATED_GONE);
    }
}

/* What is in its place goes on, though the channel's first file is gone. */
static void a_file_behind_the_one_before_goes_on(void **state)
{
    (void)state;
    for (int packs = 0; packs < 2; packs++) {
        struct rig *rig = rig_positions_on(rig_new());
        in_session(rig, HEAD);
        lines(rig, "device.log", 0, 1);
        rotate(rig, packs);
        lines(rig, "device.log", 2, 3);
        rotate(rig, packs);
        in_session(rig, OTHER_HEAD);
        rig_start(rig);
        run(rig);
        rig_stop(rig);
        in_session(rig, "rm device.2.log*");
        lines(rig, "device.log", 6, 6);
        rig_start(rig);
        run(rig);
        assert_stored(rig, "7 0 1 2 3 8 6 ");
        rig_delete(rig);
    }
}

/* As when a person deletes one that was sent: its number stays free. */
static void a_file_that_is_gone_leaves_the_newer_ones_their_numbers(void **state)
{
    (void)state;
    for (int state_too = 0; state_too < 2; state_too++) {
        struct rig *rig = rig_positions_on(rig_new());
        in_session(rig, HEAD);
        lines(rig, "device.log", 0, 1);
        rotate(rig, false);
        in_session(rig, OTHER_HEAD);
        lines(rig, "device.log", 2, 3);
        rotate(rig, false);
        in_session(rig, OTHER_HEAD);
        rig_start(rig);
        run(rig);
        rig_stop(rig);
        in_session(rig, "rm device.1.log");
        lines(rig, "device.log", 4, 5);
        rig_start(rig);
        if (state_too) {
            lose_state(rig);
        }
        run(rig);
        assert_stored(rig, "7 0 1 8 2 3 8 4 5 ");
        rig_delete(rig);
    }
}

/* The backend has more than the files, and is asked again once they have grown. */
static void files_that_are_shorter_wait_and_go_on_once_they_are_not(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    in_session(rig, "cp device.log ../kept && head -n 2 ../kept >device.log");
    lose_state(rig);
    assert_true(is_held(rig, HELD_BACKEND_LONGER));
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 ");
    in_session(rig, "tail -n 1 ../kept >>device.log");
    lines(rig, "device.log", 9, 9);
    run(rig);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 ");
    rig_delete(rig);
}

/* A file was written anew: a person lets it go on where the bytes part. */
static void a_rewritten_file_of_11_goes_on_where_the_bytes_part(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    in_session(rig, "sed -i 's/\"n\":7/\"n\":77/' device.log");
    lose_state(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 ");
    give_up(rig);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 77 8 ");
    assert_int_equal(device(rig)->end.losses, 1);
    rig_delete(rig);
}

/* The file of the end is gone: a person lets the channel go on with what is there. */
/* Lines 0 to 5 were sent of the first file, or, with \p before, 3 to 5 of the second one.
 */
static void cut_behind_the_end(bool before, const char *harm, int holds,
                               const char *stored)
{
    struct rig *rig = rig_positions_on(rig_new());
    lines(rig, "device.log", 0, 2);
    if (before) {
        rotate(rig, false);
    }
    lines(rig, "device.log", 3, 5);
    rig_start(rig);
    run(rig);
    lines(rig, "device.log", 6, 8);
    rotate(rig, false);
    lines(rig, "device.log", 9, 11);
    in_session(rig, "echo '{\"type\":\"shutdown\",\"n\":12}' >>device.log");
    in_session(rig, harm);
    lose_state(rig);
    for (int i = 0; i < holds; i++) {
        assert_true(is_held(rig, i ? HELD_BACKEND_UNPROVED : HELD_BACKEND_OTHER));
        rig_stop(rig);
        rig_start(rig);
        give_up(rig);
    }
    assert_stored(rig, stored);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 2);
    rig_delete(rig);
}

/* A rotated file has less than was sent of it while it was the active one. */
static void a_rotated_file_of_11_that_was_cut_does_not_keep_the_next_ones(void **state)
{
    (void)state;
    static const char next[] = "0 1 2 3 4 5 9 10 11 12 ";
    for (int before = 0; before < 2; before++) {
        cut_behind_the_end(before, "sed -i 2q device.1.log", 1, next);
        cut_behind_the_end(before, "truncate -s 50 device.1.log", 1, next);
    }
    cut_behind_the_end(true, "truncate -s 0 device.1.log", 2, next);
    cut_behind_the_end(true, "truncate -s 5 device.1.log", 2, next);
}

static void a_channel_whose_own_file_is_gone_goes_on_when_a_person_says_so(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    rotate(rig, false);
    lines(rig, "device.log", 9, 10);
    in_session(rig, "rm device.1.log device.2.log device.3.log");
    lose_state(rig);
    assert_true(is_held(rig, HELD_BACKEND_UNPROVED));
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 ");
    give_up(rig);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 ");
    assert_int_equal(device(rig)->end.losses, 1);
    assert_int_equal(device(rig)->end.at.file, 4);
    rig_delete(rig);
}

/* The same with a journal, which knows that nothing shows where it goes on. */
static void a_file_that_is_gone_while_it_is_read_holds_its_channel(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    rotate(rig, false);
    lines(rig, "device.log", 9, 10);
    in_session(rig, "rm device.1.log");
    run(rig);
    assert_true(is_held(rig, HELD_BACKEND_UNPROVED));
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 ");
    give_up(rig);
    assert_int_equal(device(rig)->end.losses, 1);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 ");
    rig_delete(rig);
}

static uint64_t bytes_read;

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = sys_real.pread(fd, buf, len, at);
    bytes_read += n > 0 ? (uint64_t)n : 0;
    return n;
}

/* Its checksums run on where they got to. */
static void one_that_is_held_is_not_read_again_at_each_append(void **state)
{
    (void)state;
    struct rig *rig = with_three_files_sent(false);
    struct sys sys = *rig->config.sys;
    sys.pread = counting_pread;
    rig_stop(rig);
    in_session(rig, "sed -i 's/\"n\":7/\"n\":77/' device.log");
    in_session(rig,
               "seq -f '{\"type\":\"x\",\"n\":%g,\"pad\":\"abcdefghijklmnopq\"}' 1 20000 "
               ">>device.log");
    rig->config.sys = &sys;
    rig_start(rig);
    lose_state(rig);
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    bytes_read = 0;
    for (int i = 0; i < 4; i++) {
        lines(rig, "device.log", 9, 9);
        run(rig);
    }
    assert_true(is_held(rig, HELD_BACKEND_OTHER));
    assert_in_range(bytes_read, 0, 600000);
    rig_delete(rig);
}

/* What another agent has sent to this backend had no positions. */
static void a_stream_that_began_without_positions_goes_on_without(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    device(rig)->windowed = true;
    lines(rig, "device.log", 0, 2);
    rig_start(rig);
    run(rig);
    assert_int_equal(rig_count(rig, TRANSPORT_PARTS), 0);
    assert_int_equal(rig_count(rig, TRANSPORT_BATCH), 1);
    rig_delete(rig);
}

/* The backend is put back as it was when it had less. */
static void a_backend_that_goes_back_gets_what_it_lacks(void **state)
{
    (void)state;
    struct rig_positions backup = {0};
    struct rig *rig = with_three_files_sent(true);
    rig_positions_copy(&backup, &rig->positions);
    lines(rig, "device.log", 9, 9);
    rotate(rig, true);
    lines(rig, "device.log", 10, 10);
    in_session(rig, "echo '{\"type\":\"shutdown\",\"n\":11}' >>device.log");
    run(rig);
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_positions_copy(&rig->positions, &backup);
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"2\"}";
    rig->positions.epoch = 2;
    rig_run(rig, 30 * MINUTES_MS, false);
    assert_stored(rig, "0 1 2 3 4 5 6 7 8 9 10 11 ");
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
    rig_positions_fini(&backup);
    rig_delete(rig);
}

/* As by logrotate with `copy`, by ln, and by gzip -k. */
static const char *const copies[] = {"cp device.log device.1.log",
                                     "ln device.log device.1.log",
                                     "gzip -c device.log >device.1.log.gz"};

static void a_copy_of_the_active_file_is_not_sent_twice(void **state)
{
    (void)state;
    for (unsigned how = 0; how < 8 * sizeof copies / sizeof *copies; how++) {
        struct rig *rig = rig_positions_on(rig_new());
        bool seen = how & 1;
        lines(rig, "device.log", 0, 2);
        if (how & 2) {
            rotate(rig, false);
            lines(rig, "device.log", 3, 5);
        }
        if (seen) {
            rig_start(rig);
            run(rig);
        }
        in_session(rig, "[ ! -e device.1.log ] || mv device.1.log device.2.log");
        in_session(rig, copies[how / 8]);
        if (seen) {
            run(rig);
        } else {
            rig_start(rig);
        }
        lines(rig, "device.log", 6, 7);
        run(rig);
        const char *all = how & 2 ? "0 1 2 3 4 5 6 7 " : "0 1 2 6 7 ";
        assert_stored(rig, all);
        assert_int_equal(device(rig)->end.losses, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        if (how & 4) {
            in_session(rig, "rm device.1.log*");
            in_session(rig, "[ ! -e device.2.log ] || mv device.2.log device.1.log");
            run(rig);
            rotate(rig, false);
            lines(rig, "device.log", 8, 9);
            run(rig);
            assert_stored(rig, how & 2 ? "0 1 2 3 4 5 6 7 8 9 " : "0 1 2 6 7 8 9 ");
            assert_int_equal(device(rig)->end.losses, 0);
        }
        rig_delete(rig);
    }
}

/* The number that it took from a rotated file is not free: no file was there. */
static void a_copy_that_pushed_others_up_leaves_no_gap(void **state)
{
    (void)state;
    for (unsigned how = 0; how < sizeof copies / sizeof *copies; how++) {
        struct rig *rig = rig_positions_on(rig_new());
        lines(rig, "device.log", 0, 2);
        rotate(rig, false);
        lines(rig, "device.log", 3, 5);
        in_session(rig, "echo '{\"type\":\"shutdown\",\"n\":6}' >>device.log");
        in_session(rig, "mv device.1.log device.2.log");
        in_session(rig, copies[how]);
        rig_start(rig);
        rig_run(rig, 30 * MINUTES_MS, false);
        assert_stored(rig, "0 1 2 3 4 5 6 ");
        assert_int_equal(device(rig)->end.losses, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        in_session(rig, "rm device.1.log*");
        rig_run(rig, 30 * MINUTES_MS, false);
        assert_int_equal(device(rig)->end.losses, 0);
        assert_int_equal(rig_summary(rig).sessions_done, 0);
        in_session(rig, "mv device.2.log device.1.log");
        rig_run(rig, 30 * MINUTES_MS, false);
        assert_stored(rig, "0 1 2 3 4 5 6 ");
        assert_int_equal(device(rig)->end.losses, 0);
        assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), 1);
        rig_delete(rig);
    }
}

/* Files of few records begin alike: all of one may stand in the next one. */
static void a_file_of_nothing_but_first_lines_is_no_copy(void **state)
{
    (void)state;
    struct rig *rig = rig_positions_on(rig_new());
    lines(rig, "device.log", 0, 0);
    in_session(rig, "echo '{\"type\":\"dictionary_update\",\"n\":1}' >>device.log");
    in_session(rig, "cp device.log device.1.log");
    lines(rig, "device.log", 2, 3);
    rig_start(rig);
    run(rig);
    assert_stored(rig, "0 1 0 1 2 3 ");
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_the_active_file_is_not_sent_twice),
        cmocka_unit_test(a_copy_that_pushed_others_up_leaves_no_gap),
        cmocka_unit_test(a_file_of_nothing_but_first_lines_is_no_copy),
        cmocka_unit_test(a_session_of_the_11_layout_goes_by_positions),
        cmocka_unit_test(a_lost_state_costs_nothing_however_often_files_were_renamed),
        cmocka_unit_test(
            the_own_file_is_found_by_its_bytes_where_the_first_ones_are_gone),
        cmocka_unit_test(the_own_file_is_not_the_last_one_that_was_read_for_it),
        cmocka_unit_test(of_files_alike_the_order_tells_which_one_it_is),
        cmocka_unit_test(a_file_that_a_disk_took_back_is_not_the_next_one),
        cmocka_unit_test(the_file_before_is_known_by_its_end),
        cmocka_unit_test(an_older_file_is_known_by_what_lies_before_it),
        cmocka_unit_test(a_file_behind_the_one_before_goes_on),
        cmocka_unit_test(a_file_that_is_gone_leaves_the_newer_ones_their_numbers),
        cmocka_unit_test(files_that_are_shorter_wait_and_go_on_once_they_are_not),
        cmocka_unit_test(a_rotated_file_of_11_that_was_cut_does_not_keep_the_next_ones),
        cmocka_unit_test(a_rewritten_file_of_11_goes_on_where_the_bytes_part),
        cmocka_unit_test(a_channel_whose_own_file_is_gone_goes_on_when_a_person_says_so),
        cmocka_unit_test(a_file_that_is_gone_while_it_is_read_holds_its_channel),
        cmocka_unit_test(one_that_is_held_is_not_read_again_at_each_append),
        cmocka_unit_test(a_stream_that_began_without_positions_goes_on_without),
        cmocka_unit_test(a_backend_that_goes_back_gets_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
