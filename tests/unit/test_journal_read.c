/* SPDX-License-Identifier: Apache-2.0 */
/* What status reads out of a journal. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/journal/journal_read.h"

#define STREAMS 40u /* more than an array begins with */

static void no_record(void *arg, const struct journal_record *record)
{
    (void)arg;
    (void)record;
}

static void append_streams(void *arg)
{
    struct journal *journal = *(struct journal **)arg;
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct record_stream stream = {
            .stream = i + 1, .kind = STREAM_BATCHED, .file = 1};
        snprintf(stream.path, sizeof stream.path, "session%u", i);
        snprintf(stream.channel, sizeof stream.channel, "device");
        assert_true(record_append_stream(journal, &stream) > 0);
    }
}

/* Two ranges of stream 1: one acknowledged, one quarantined and perhaps released. */
static void append_history(struct journal *journal, bool release, bool stored)
{
    struct record_offer offer = {.stream = 1, .sequence = 1, .file = 1, .end = 100};
    struct record_settled acked = {.stream = 1, .file = 1, .end = 100, .lines = 7};
    struct record_settled refused = {
        .stream = 1, .file = 2, .end = 50, .lines = 3, .how = SETTLED_QUARANTINED};
    struct record_quarantine quarantine = {.stream = 1, .file = 2, .end = 50, .lines = 3};
    struct record_released released = {.stream = 1, .file = 2, .stored = stored};
    assert_true(record_append_offer(journal, &offer) > 0);
    assert_true(record_append_settled(journal, &acked) > 0);
    assert_true(record_append_settled(journal, &refused) > 0);
    assert_true(record_append_quarantine(journal, &quarantine) > 0);
    if (release) {
        assert_true(record_append_released(journal, &released) > 0);
    }
    offer.stream = 2;
    assert_true(record_append_offer(journal, &offer) > 0);
    assert_true(record_append_session(journal, JOURNAL_DONE, "session3") > 0);
    assert_true(record_append_session(journal, JOURNAL_FORGET, "session4") > 0);
}

static void append_another_backend(struct journal *journal)
{
    struct record_origin origin = {
        .url = "https://b.example/api/v1", .again = 1, .moved = 1};
    append_history(journal, false, false);
    assert_true(record_append_origin(journal, &origin) > 0);
}

static void append_refused(struct journal *journal)
{
    append_history(journal, false, false);
}

static void append_given_up(struct journal *journal)
{
    append_history(journal, true, false);
}

static void append_retried(struct journal *journal)
{
    append_history(journal, true, true);
}

static void write_journal(const char *dir, void (*append)(struct journal *journal))
{
    struct journal *journal = NULL;
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    struct journal_config config = {.sys = &sys_real,
                                    .syncer = syncer_inline(&sys_real),
                                    .dir = fd,
                                    .name = "journal",
                                    .root = dir,
                                    .rewrite_bytes = 1 << 20,
                                    .state = append_streams,
                                    .arg = &journal};
    assert_int_equal(journal_open(&config, no_record, NULL, &journal), GPUFL_OK);
    assert_int_equal(journal_rewrite(journal), GPUFL_OK);
    append(journal);
    journal_want(journal);
    journal_pump(journal);
    journal_close(journal);
    close(fd);
}

/* Reads it from where an uploader keeps it, beside the logs. */
static gpufl_status read_journal(const char *root_path, struct journal_read *out)
{
    unsetenv("STATE_DIRECTORY");
    int root = open(root_path, O_RDONLY | O_DIRECTORY);
    gpufl_status status = journal_read_open(&sys_real, NULL, root, root_path, out);
    close(root);
    return status;
}

/* \return the directory of a journal with these records, which was read into \p out. */
static char *write_and_read(void (*append)(struct journal *journal),
                            struct journal_read *out)
{
    char *root = dirs_make();
    char dir[512];
    snprintf(dir, sizeof dir, "%s/.gpufl-agent", root);
    assert_int_equal(mkdir(dir, 0755), 0);
    write_journal(dir, append);
    assert_int_equal(read_journal(root, out), GPUFL_OK);
    return root;
}

static void streams_sessions_and_quarantine_are_told(void **state)
{
    (void)state;
    static const struct {
        void (*append)(struct journal *journal);
        uint64_t lines, refused;
        size_t quarantines;
    } row[] = {{append_refused, 7, 3, 1},
               {append_given_up, 7, 0, 0},
               {append_retried, 10, 0, 0}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct journal_read journal;
        char *root = write_and_read(row[i].append, &journal);
        assert_int_equal(journal.streams, STREAMS - 1); /* one session is forgotten */
        const struct journal_read_stream *first = &journal.stream[0];
        assert_string_equal(first->record.path, "session0");
        assert_int_equal(first->record.file, 2);
        assert_int_equal(first->record.offset, 50);
        assert_int_equal(first->record.lines, row[i].lines);
        assert_int_equal(first->record.refused_lines, row[i].refused);
        assert_false(first->offered);
        assert_true(journal.stream[1].offered);
        assert_int_equal(journal.quarantine.count, row[i].quarantines);
        assert_non_null(journal_read_done(&journal, "session3"));
        assert_null(journal_read_done(&journal, "session0"));
        assert_false(journal.damaged);
        journal_read_fini(&journal);
        dirs_remove(root);
    }
}

static void of_another_backend_nothing_is_told_yet(void **state)
{
    (void)state;
    struct journal_read journal;
    char *root = write_and_read(append_another_backend, &journal);
    assert_int_equal(journal.stream[0].record.lines, 0);
    assert_int_equal(journal.stream[0].record.offset, 0);
    assert_int_equal(journal.quarantine.count, 0);
    assert_false(journal.stream[1].offered);
    assert_null(journal_read_done(&journal, "session3"));
    journal_read_fini(&journal);
    dirs_remove(root);
}

/* Of a batch that the backend took but for two lines; no place of the backend's is told.
 */
static void append_rejected(struct journal *journal)
{
    struct record_settled taken = {
        .stream = 1, .file = 1, .end = 100, .lines = 7, .rejected_lines = 2};
    assert_true(record_append_settled(journal, &taken) > 0);
}

static void lines_that_were_rejected_alone_are_refused(void **state)
{
    (void)state;
    struct journal_read journal;
    char *root = write_and_read(append_rejected, &journal);
    const struct record_stream *record = &journal.stream[0].record;
    assert_int_equal(record->lines, 7);
    assert_int_equal(record->refused_lines, 2);
    assert_int_equal(record->offset, 100);
    assert_int_equal(record->at.at.file, 0);
    journal_read_fini(&journal);
    dirs_remove(root);
}

/* Two complete sessions, one of which grew; two that a person resolved, one of which is
 * forgotten; a stream of which a part was given up. */
static void append_ends(struct journal *journal)
{
    struct record_resolved resolved = {.unread = 5};
    struct record_origin origin = {.url = "https://b.example/api/v1"};
    struct record_stream grown = {
        .stream = 3, .kind = STREAM_BATCHED, .file = 1, .path = "session2"};
    struct record_settled acked = {.stream = 10, .file = 1, .end = 100, .lines = 7};
    struct record_settled given_up = {
        .stream = 10, .file = 3, .how = SETTLED_GIVEN_UP, .lines = 2};
    struct record_stream gap = {.stream = 10,
                                .kind = STREAM_BATCHED,
                                .file = 1,
                                .path = "session9",
                                .refused_lines = 5,
                                .marks = MARK_KEEP | MARK_GAP};
    snprintf(grown.channel, sizeof grown.channel, "device");
    snprintf(gap.channel, sizeof gap.channel, "device");
    assert_true(record_append_session(journal, JOURNAL_DONE, "session1") > 0);
    assert_true(record_append_session(journal, JOURNAL_DONE, "session2") > 0);
    assert_true(record_append_session(journal, JOURNAL_DONE, "session3") > 0);
    assert_true(record_append_stream(journal, &grown) > 0);
    for (int i = 4; i < 6; i++) {
        snprintf(resolved.path, sizeof resolved.path, "session%d", i);
        assert_true(record_append_resolved(journal, &resolved) > 0);
    }
    assert_true(record_append_session(journal, JOURNAL_FORGET, "session4") > 0);
    assert_true(record_append_stream(journal, &gap) > 0);
    assert_true(record_append_settled(journal, &acked) > 0);
    assert_true(record_append_settled(journal, &given_up) > 0);
    assert_true(record_append_origin(journal, &origin) > 0); /* the same one */
}

static void what_ended_and_what_was_given_up_is_told(void **state)
{
    (void)state;
    struct journal_read journal;
    char *root = write_and_read(append_ends, &journal);
    assert_non_null(journal_read_done(&journal, "session1"));
    assert_null(journal_read_done(&journal, "session2"));
    assert_non_null(journal_read_done(&journal, "session3"));
    assert_null(journal_read_resolved(&journal, "session4"));
    assert_non_null(journal_read_resolved(&journal, "session5"));
    assert_int_equal(journal_read_resolved(&journal, "session5")->unread, 5);
    assert_int_equal(journal.streams, STREAMS - 1);
    for (size_t i = 0; i < journal.streams; i++) {
        const struct record_stream *record = &journal.stream[i].record;
        bool given_up = record->stream == 10;
        assert_string_not_equal(record->path, "session4");
        assert_int_equal(record->marks, given_up ? MARK_KEEP | MARK_LOST : 0);
        assert_int_equal(record->file, given_up ? 3 : 1);
        assert_int_equal(record->lines, given_up ? 7 : 0);
        assert_int_equal(record->refused_lines, given_up ? 3 : 0);
    }
    journal_read_fini(&journal);
    dirs_remove(root);
}

/* A complete session moves and its old name is used again; one that is forgotten comes
 * back. */
static void append_moves(struct journal *journal)
{
    struct record_directory moved = {
        .id = {.mark = 5, .user = 6, .boot = 7, .above = 8, .above_own = true},
        .path = "moved",
        .from = "session1"};
    struct record_stream again = {
        .stream = 2 * STREAMS, .kind = STREAM_BATCHED, .file = 1, .path = "session1"};
    struct record_stream back = {
        .stream = 3 * STREAMS, .kind = STREAM_BATCHED, .file = 4, .path = "session2"};
    snprintf(again.channel, sizeof again.channel, "scope");
    snprintf(back.channel, sizeof back.channel, "device");
    assert_true(record_append_session(journal, JOURNAL_DONE, "session1") > 0);
    assert_true(record_append_directory(journal, &moved) > 0);
    assert_true(record_append_stream(journal, &again) > 0);
    assert_true(record_append_session(journal, JOURNAL_DONE, "session2") > 0);
    assert_true(record_append_session(journal, JOURNAL_FORGET, "session2") > 0);
    assert_true(record_append_stream(journal, &back) > 0);
    assert_true(record_append_session(journal, JOURNAL_DONE, "session3") > 0);
    assert_true(record_append_session(journal, JOURNAL_FORGET, "session3") > 0);
}

static void assert_only_stream(const struct journal_read *journal, const char *path,
                               uint32_t number)
{
    const struct journal_read_stream *stream = journal_read_first(journal, path);
    assert_non_null(stream);
    assert_int_equal(stream->record.stream, number);
    assert_string_equal(stream->record.path, path);
    assert_null(journal_read_next(journal, stream));
}

static void sessions_that_move_and_come_back_are_told_apart(void **state)
{
    (void)state;
    struct journal_read journal;
    char *root = write_and_read(append_moves, &journal);
    assert_int_equal(journal.streams, STREAMS);
    assert_only_stream(&journal, "moved", 2);
    const struct directory_id *id = journal_read_directory(&journal, "moved");
    assert_non_null(id);
    assert_int_equal(id->boot, 7);
    assert_int_equal(id->above, 8);
    assert_true(id->above_own);
    assert_non_null(journal_read_done(&journal, "moved"));
    assert_int_equal(journal_read_directory(&journal, "moved")->mark, 5);
    assert_only_stream(&journal, "session1", 2 * STREAMS);
    assert_null(journal_read_done(&journal, "session1"));
    assert_only_stream(&journal, "session2", 3 * STREAMS);
    assert_null(journal_read_done(&journal, "session2"));
    assert_null(journal_read_first(&journal, "session3"));
    assert_null(
        journal_read_done(&journal, "session3")); /* if it comes back, it is new */
    assert_only_stream(&journal, "session39", STREAMS);
    journal_read_fini(&journal);
    dirs_remove(root);
}

static void without_a_journal_nothing_is_found(void **state)
{
    (void)state;
    char *root = dirs_make();
    struct journal_read journal;
    setenv("HOME", root, 1);
    unsetenv("XDG_STATE_HOME");
    assert_int_equal(read_journal(root, &journal), GPUFL_ERR_NOT_FOUND);
    journal_read_fini(&journal);
    dirs_remove(root);
}

static void a_directory_that_is_refused_is_not_the_absence_of_a_journal(void **state)
{
    (void)state;
    char *root = dirs_make();
    char *shared = dirs_make();
    struct journal_read journal;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(chmod(shared, 0777), 0);
    assert_int_equal(journal_read_open(&sys_real, shared, fd, root, &journal),
                     GPUFL_ERR_IO);
    assert_non_null(strstr(journal.why, shared));
    assert_non_null(strstr(journal.why, "other users can write to it"));
    assert_int_equal(chmod(shared, 0700), 0);
    assert_int_equal(journal_read_open(&sys_real, shared, fd, root, &journal),
                     GPUFL_ERR_NOT_FOUND);
    close(fd);
    dirs_remove(root);
    dirs_remove(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_sessions_and_quarantine_are_told),
        cmocka_unit_test(of_another_backend_nothing_is_told_yet),
        cmocka_unit_test(lines_that_were_rejected_alone_are_refused),
        cmocka_unit_test(what_ended_and_what_was_given_up_is_told),
        cmocka_unit_test(sessions_that_move_and_come_back_are_told_apart),
        cmocka_unit_test(without_a_journal_nothing_is_found),
        cmocka_unit_test(a_directory_that_is_refused_is_not_the_absence_of_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
