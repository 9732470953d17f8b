/* SPDX-License-Identifier: Apache-2.0 */
/* Positions as records move them, and as they are after a restart. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_session.h"
#include "upload/core/position.h"
#include "upload/core/stream.h"
#include "upload/core/stream_numbers.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/journal_read.h"

#define DIRECTORY "44444444-4444-4444-8444-444444444444"

static void a_record_moves_the_position_and_the_sequence_only_forward(void **state)
{
    (void)state;
    struct stream st = {.file = 1, .offset = 5, .sequence = 7, .known = {.inode = 1}};
    struct record_settled settled = {
        .sequence = 6, .file = 1, .end = 50, .lines = 3, .mark = {.bytes = 9}, .head = 4};
    position_apply(&st, &settled);
    assert_int_equal(st.offset, 50);
    assert_int_equal(st.head, 4);
    assert_int_equal(st.mark.bytes, 9);
    assert_int_equal(st.sequence, 7); /* a smaller one was settled later */
    assert_int_equal(st.known.inode, 1);
    settled = (struct record_settled){.sequence = 8, .file = 2, .lines = 1};
    position_apply(&st, &settled);
    assert_int_equal(st.file, 2);
    assert_int_equal(st.offset, 0);
    assert_int_equal(st.sequence, 8);
    assert_int_equal(st.known.inode, 0);
    assert_int_equal(st.lines, 4);
}

static void what_was_sent_or_given_up_since_was_not_delivered_by_then(void **state)
{
    (void)state;
    const struct record_settled moved = {.file = 1, .how = SETTLED_ACKED};
    const struct record_settled since[] = {{.file = 1, .end = 5, .lines = 1},
                                           {.file = 2, .how = SETTLED_GIVEN_UP},
                                           {.file = 1, .how = SETTLED_ENDED}};
    for (size_t i = 0; i < sizeof since / sizeof *since; i++) {
        struct stream st = {.file = 1, .delivered = true};
        position_apply(&st, &moved);
        assert_true(st.delivered);
        position_apply(&st, &since[i]);
        assert_false(st.delivered);
    }
}

static void what_is_not_proven_keeps_the_files_whatever_follows(void **state)
{
    (void)state;
    static const struct {
        enum settled_how how;
        bool keep;
    } row[] = {{SETTLED_ACKED, false},
               {SETTLED_QUARANTINED, false},
               {SETTLED_REFUSED_FINAL, true},
               {SETTLED_UNPROVEN, true}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct stream st = {.file = 1};
        struct record_settled first = {.file = 1, .end = 9, .how = (uint8_t)row[i].how};
        struct record_settled then = {.file = 2, .end = 9, .how = SETTLED_ACKED};
        position_apply(&st, &first);
        assert_int_equal(st.keep, row[i].keep);
        position_apply(&st, &then);
        assert_int_equal(st.keep, row[i].keep);
    }
}

static void what_a_person_gave_up_is_lost_and_no_gap(void **state)
{
    (void)state;
    static const struct {
        enum settled_how how;
        bool lost;
        uint32_t ended_file;
    } row[] = {{SETTLED_ACKED, false, 7},
               {SETTLED_UNPROVEN, false, 7},
               {SETTLED_GIVEN_UP, true, 7},
               {SETTLED_ENDED, true, 2}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct stream st = {.file = 1, .gap = true, .ended_file = 7};
        struct record_settled settled = {.file = 2, .end = 9, .how = (uint8_t)row[i].how};
        position_apply(&st, &settled);
        assert_int_equal(st.lost, row[i].lost);
        assert_int_equal(st.gap, !row[i].lost);
        assert_int_equal(st.ended_file, row[i].ended_file);
    }
}

static void a_stream_is_restored_as_the_journal_has_it(void **state)
{
    (void)state;
    static const uint8_t marks[] = {0,         MARK_KEEP,  MARK_GAP, MARK_KEEP | MARK_GAP,
                                    MARK_LOST, MARK_ENDED, 15};
    static struct root root;
    struct session session = {.root = &root};
    for (size_t i = 0; i < sizeof marks; i++) {
        struct stream st = {.session = &session};
        struct record_stream record = {.stream = 3,
                                       .kind = STREAM_BATCHED,
                                       .file = 4,
                                       .offset = 50,
                                       .sequence = 6,
                                       .lines = 7,
                                       .refused_lines = 8,
                                       .marks = marks[i],
                                       .head = 9,
                                       .mark = {.bytes = 10, .crc32 = 11},
                                       .layout = 2};
        position_restore(&st, &record);
        assert_int_equal(st.keep, (marks[i] & MARK_KEEP) != 0);
        assert_int_equal(st.gap, (marks[i] & MARK_GAP) != 0);
        assert_int_equal(st.lost, (marks[i] & MARK_LOST) != 0);
        assert_int_equal(st.ended_file, marks[i] & MARK_ENDED ? 4 : 0);
        assert_int_equal(st.mark.bytes, 10);
        assert_int_equal(st.mark.crc32, 11);
        assert_int_equal(st.kind, STREAM_BATCHED);
        assert_int_equal(st.id, 3);
        assert_int_equal(st.file, 4);
        assert_int_equal(st.journal_file, 4);
        assert_int_equal(st.offset, 50);
        assert_int_equal(st.sequence, 6);
        assert_int_equal(st.lines, 7);
        assert_int_equal(st.refused_lines, 8);
        assert_int_equal(st.head, 9);
        assert_int_equal(st.layout, 2);
        assert_ptr_equal(stream_numbered(&root, 3), &st);
        stream_set_number(&st, 0);
    }
    struct stream st = {.session = &session};
    position_restore(&st, &(struct record_stream){.file = 0});
    assert_int_equal(st.file, 1); /* as earlier versions wrote it */
    assert_int_equal(st.journal_file, 1);
}

static struct stream stream_half_sent(void)
{
    return (struct stream){.file = 4,
                           .offset = 50,
                           .journal_file = 4,
                           .head = 9,
                           .mark = {.bytes = 3},
                           .known = {.inode = 4},
                           .sequence = 6,
                           .lines = 7,
                           .refused_lines = 8};
}

static void what_begins_again_deletes_and_counts_nothing_of_before(void **state)
{
    (void)state;
    struct stream st = stream_half_sent();
    position_rewind(&st);
    assert_int_equal(st.file, 1);
    assert_int_equal(st.offset, 0);
    assert_int_equal(st.head, 0);
    assert_int_equal(st.mark.bytes, 0);
    assert_int_equal(st.known.inode, 0);
    assert_int_equal(st.journal_file, 0);
    assert_int_equal(st.lines, 0);
    assert_int_equal(st.refused_lines, 0);
    assert_int_equal(st.sequence, 6); /* numbers that the backend has are not reused */
}

/* Its files need not tell of that when they are read again. */
static void what_was_given_up_behind_the_end_stays_so(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct stream st = stream_half_sent();
        st.end = (struct record_end){
            .at = {.file = 4, .offset = 50}, .top_file = 4, .top_offset = 50};
        st.positions = st.lost = true;
        (again ? position_again : position_rewind)(&st);
        assert_true(st.lost_after);
        assert_false(st.lost);
        struct record_settled to = {.file = 4, .end = 50};
        to.at = (struct record_end){
            .at = {.file = 4, .offset = 50}, .top_file = 4, .top_offset = 50};
        position_apply(&st, &to);
        assert_true(st.lost_after);
        to.end = to.at.at.offset = to.at.top_offset = 60;
        position_apply(&st, &to);
        assert_false(st.lost_after);
    }
}

static void another_backend_has_no_numbers_and_how_far_it_was_is_kept(void **state)
{
    (void)state;
    struct stream st = stream_half_sent();
    position_again(&st);
    assert_int_equal(st.file, 1);
    assert_int_equal(st.sequence, 0);
    assert_int_equal(st.reached_file, 4);
    assert_int_equal(st.reached_offset, 50);
    position_again(&st); /* and another one, before anything was sent */
    assert_int_equal(st.reached_file, 4);
    assert_int_equal(st.reached_offset, 50);
}

static bool is_there(const struct live_session *s, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", s->dir, name);
    return access(path, F_OK) == 0;
}

/* Three sealed files, which are sent with the delete policy ALL. */
static struct rig *rig_with_three_files(struct live_session *s,
                                        int (*answer)(struct rig *,
                                                      const struct rig_request *))
{
    struct rig *rig = rig_new();
    rig->config.delete_acked = DELETE_ALL;
    rig->answer = answer;
    live_open(s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(s, "device", "x", n);
        live_rotate(s, "device", (unsigned)n);
    }
    live_line(s, "device", "x", 4);
    rig_start(rig);
    rig_run(rig, 60000, false);
    return rig;
}

static int refuse_first(struct rig *rig, const struct rig_request *r)
{
    rig->reply_body = "session already finalized";
    return r->kind == TRANSPORT_BATCH && rig->mark++ == 0 ? 409 : RIG_REGISTRY;
}

static void
refused_files_stay_though_later_ones_are_stored_and_after_restarts(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_with_three_files(&s, refuse_first);
    assert_int_equal(rig_summary(rig).lines_refused_final, 1);
    assert_int_equal(rig_summary(rig).lines_acked, 3);
    for (int n = 5; n < 8; n++) { /* the second restart knows it by the stream's record */
        rig_stop(rig);
        assert_true(is_there(&s, "device.1.log"));
        rig_start(rig);
        live_line(&s, "device", "x", n);
        rig_run(rig, 60000, false);
    }
    assert_int_equal(rig_summary(rig).lines_acked, 1);
    live_close(&s);
    rig_run(rig, 600000, false);
    assert_true(is_there(&s, "device.1.log"));
    assert_true(is_there(&s, "device.2.log"));
    rig_delete(rig);
}

static void stored_files_are_deleted_without_waiting_for_a_listing(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_new();
    rig->config.delete_acked = DELETE_ALL;
    rig->config.rescan_interval_ms = 86400000;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(&s, "device", "x", n);
        live_rotate(&s, "device", (unsigned)n);
    }
    rig_start(rig);
    rig_run(rig, 60000, false);
    assert_false(is_there(&s, "device.1.log"));
    assert_false(is_there(&s, "device.2.log"));
    live_close(&s);
    rig_delete(rig);
}

/* The record that moves "device" to its second file. */
static uint64_t passed_number;
static ssize_t pwrite_and_note(int fd, const void *buf, size_t len, off_t at)
{
    enum { NUMBER_AT = 8, TYPE_AT = 20, FILE_AT = JOURNAL_FRAME_BYTES + 8 };
    const unsigned char *record = buf;
    const uint32_t magic = JOURNAL_FRAME_MAGIC;
    if (len > FILE_AT && !memcmp(buf, &magic, sizeof magic) &&
        record[TYPE_AT] == JOURNAL_SETTLED && record[FILE_AT] == 2 && !passed_number) {
        memcpy(&passed_number, record + NUMBER_AT, sizeof passed_number);
    }
    return sys_real.pwrite(fd, buf, len, at);
}

static const struct engine *engine_of_unlink;
static int unlinks;
static int unlink_and_compare(int dir, const char *path, int flags)
{
    if (strcmp(path, "device.1.log") == 0) {
        assert_true(passed_number > 0);
        assert_true(journal_durable(engine_of_unlink->root[0]->journal) >= passed_number);
        unlinks++;
    }
    return sys_real.unlinkat(dir, path, flags);
}

static void a_file_is_deleted_once_it_is_on_disk_that_it_was_passed(void **state)
{
    (void)state;
    struct live_session s;
    struct rig *rig = rig_new();
    static struct sys sys;
    sys = *rig->config.sys;
    sys.pwrite = pwrite_and_note;
    sys.unlinkat = unlink_and_compare;
    rig->config.sys = &sys;
    rig->config.delete_acked = DELETE_ALL;
    rig->sync_ms = 7000;
    passed_number = 0;
    unlinks = 0;
    live_open(&s, rig->root, RIG_ID);
    for (int n = 1; n <= 3; n++) {
        live_line(&s, "device", "x", n);
        live_rotate(&s, "device", (unsigned)n);
    }
    live_close(&s);
    rig_start(rig);
    engine_of_unlink = rig->engine;
    rig_run(rig, 600000, false);
    assert_int_equal(unlinks, 1);
    rig_delete(rig);
}

/* The second file is answered by rig->mark. */
static int answer_second(struct rig *rig, const struct rig_request *r)
{
    return r->kind == TRANSPORT_BATCH && strstr(r->raw, "second") ? rig->mark
                                                                  : RIG_REGISTRY;
}

static struct record_stream journal_of_the_only_stream(const struct rig *rig)
{
    struct journal_read read;
    int root = open(rig->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(journal_read_open(&sys_real, NULL, root, rig->root, &read),
                     GPUFL_OK);
    assert_int_equal(read.streams, 1);
    struct record_stream record = read.stream[0].record;
    journal_read_fini(&read);
    close(root);
    return record;
}

/* In the shifting layout a file is known by its head alone. */
static void after_a_restart_a_refused_range_is_of_the_file_that_was_offered(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    char dir[600];
    snprintf(dir, sizeof dir, "%s/" DIRECTORY, rig->root);
    assert_int_equal(mkdir(dir, 0755), 0);
    dirs_append(dir, "device.1.log", "{\"type\":\"first\"}\n");
    dirs_append(dir, "device.log", "{\"type\":\"second\"}\n");
    rig->answer = answer_second;
    rig->mark = 503;
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_stop(rig);
    struct record_stream before = journal_of_the_only_stream(rig);
    assert_true(before.head != 0);
    rig->mark = 422;
    rig_start(rig);
    rig_run(rig, 600000, false);
    assert_int_equal(rig_summary(rig).ranges_quarantined, 1);
    rig_stop(rig);
    struct record_stream after = journal_of_the_only_stream(rig);
    assert_int_equal(after.file, before.file + 1);
    assert_true(after.head != 0 && after.head != before.head);
    rig_delete(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_moves_the_position_and_the_sequence_only_forward),
        cmocka_unit_test(what_was_sent_or_given_up_since_was_not_delivered_by_then),
        cmocka_unit_test(what_is_not_proven_keeps_the_files_whatever_follows),
        cmocka_unit_test(what_a_person_gave_up_is_lost_and_no_gap),
        cmocka_unit_test(a_stream_is_restored_as_the_journal_has_it),
        cmocka_unit_test(what_begins_again_deletes_and_counts_nothing_of_before),
        cmocka_unit_test(what_was_given_up_behind_the_end_stays_so),
        cmocka_unit_test(another_backend_has_no_numbers_and_how_far_it_was_is_kept),
        cmocka_unit_test(
            refused_files_stay_though_later_ones_are_stored_and_after_restarts),
        cmocka_unit_test(stored_files_are_deleted_without_waiting_for_a_listing),
        cmocka_unit_test(a_file_is_deleted_once_it_is_on_disk_that_it_was_passed),
        cmocka_unit_test(after_a_restart_a_refused_range_is_of_the_file_that_was_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
