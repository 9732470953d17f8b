/* SPDX-License-Identifier: Apache-2.0 */
/* What waits in a channel, seen from the files and the position in the journal. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/flags.h"
#include "cli/transfer/channel_state.h"
#include "cli/transfer/verb_status.h"
#include "tests/support/capture.h"
#include "tests/support/dirs.h"
#include "upload/source/scan_session.h"
#include "upload/source/shifting.h"

#define ID "0123abcd-0000-4000-8000-000000000001"

/* A session with two lines in a sealed file and one in the active one. */
struct fixture {
    char *root;
    int fd;
    struct live_session session;
    struct scan scan;
    unsigned line_bytes;
};

static void open_fixture(struct fixture *f)
{
    f->root = dirs_make();
    f->fd = open(f->root, O_RDONLY | O_DIRECTORY);
    live_open(&f->session, f->root, ID);
    live_line(&f->session, "device", "init", 1);
    live_line(&f->session, "device", "init", 2);
    live_rotate(&f->session, "device", 1);
    live_line(&f->session, "device", "init", 3);
    assert_int_equal(scan_session(&sys_real, f->fd, ID, ID, &f->scan), GPUFL_OK);
    f->line_bytes = (unsigned)f->scan.channel[0].active_bytes;
}

static void close_fixture(struct fixture *f)
{
    live_close(&f->session);
    close(f->fd);
    dirs_remove(f->root);
}

static struct channel_state state_at(const struct fixture *f, uint32_t file,
                                     uint64_t offset)
{
    struct journal_read journal = {0};
    struct record_stream stream = {
        .file = file, .offset = offset, .lines = 5, .refused_lines = 1};
    snprintf(stream.path, sizeof stream.path, ID);
    snprintf(stream.channel, sizeof stream.channel, "device");
    if (file) {
        journal_tables_put(&journal, &stream);
    }
    struct channel_state got =
        channel_state(f->fd, &journal, ID, &f->scan, &f->scan.channel[0]);
    journal_read_fini(&journal);
    return got;
}

/* What a service publishes has no head of a file, by which the 1.1 layout is measured. */
static void of_a_complete_session_of_1_1_nothing_is_untold(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    f.scan.layout = SESSION_SHIFTING;
    assert_true(state_at(&f, 1, 5).untold);
    struct journal_read journal = {0};
    struct record_stream stream = {.file = 1, .offset = 5};
    snprintf(stream.path, sizeof stream.path, ID);
    snprintf(stream.channel, sizeof stream.channel, "device");
    journal_tables_put(&journal, &stream);
    journal_tables_session(&journal, ID)->is_done = true;
    assert_false(channel_state(f.fd, &journal, ID, &f.scan, &f.scan.channel[0]).untold);
    journal_read_fini(&journal);
    close_fixture(&f);
}

/* A number may be free, and nothing is sent of an empty file. */
static void numbers_of_1_1_without_a_file_do_not_wait(void **state)
{
    (void)state;
    static const char line[] = "{\"type\":\"job_start\"}\n";
    char dir[600];
    char *root = dirs_make();
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    struct scan scan;
    struct journal_read journal = {0};
    struct record_stream stream = {.file = 1,
                                   .offset = sizeof line - 1,
                                   .head = shifting_head(line, sizeof line - 1),
                                   .path = ID,
                                   .channel = "sass"};
    snprintf(dir, sizeof dir, "%s/" ID, root);
    assert_int_equal(mkdir(dir, 0700), 0);
    dirs_append(dir, "sass.4.log", line);
    dirs_append(dir, "sass.log", "");
    assert_int_equal(scan_session(&sys_real, fd, ID, ID, &scan), GPUFL_OK);
    assert_int_equal(channel_state(fd, &journal, ID, &scan, scan.channel).waiting_files,
                     1);
    journal_tables_put(&journal, &stream);
    assert_int_equal(channel_state(fd, &journal, ID, &scan, scan.channel).waiting_files,
                     0);
    dirs_append(dir, "sass.2.log", "{\"type\":\"x\"}\n");
    assert_int_equal(channel_state(fd, &journal, ID, &scan, scan.channel).waiting_files,
                     1);
    journal_read_fini(&journal);
    close(fd);
    dirs_remove(root);
}

/* All that is there counts as sent, as for the uploader that took its word. */
static void what_another_uploader_has_reported_does_not_wait(void **state)
{
    (void)state;
    char dir[600];
    char *root = dirs_make();
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    struct scan scan;
    snprintf(dir, sizeof dir, "%s/" ID, root);
    assert_int_equal(mkdir(dir, 0700), 0);
    dirs_append(dir, ".gpufl-window.device.1.json", "{}\n");
    for (int reported = 0; reported < 2; reported++) {
        if (reported) {
            dirs_append(dir, LAYOUT_UPLOADED, "");
        }
        assert_int_equal(scan_session(&sys_real, fd, ID, ID, &scan), GPUFL_OK);
        assert_int_equal(scan.layout, SESSION_WINDOWS);
        for (int done = 0; done < 2; done++) {
            struct journal_read journal = {0};
            assert_non_null(journal_tables_make(&journal, ID));
            journal_tables_session(&journal, ID)->is_done = done;
            struct channel_state got =
                channel_state(fd, &journal, ID, &scan, scan.channel);
            assert_int_equal(got.waiting_files, !(reported && done));
            struct record_stream stream = {.file = 1, .path = ID, .channel = "scope"};
            journal_tables_put(&journal,
                               &stream); /* something of it was sent from here */
            journal_tables_session(&journal, ID)->is_done = done;
            got = channel_state(fd, &journal, ID, &scan, scan.channel);
            assert_int_equal(got.waiting_files, 1);
            journal_read_fini(&journal);
        }
    }
    close(fd);
    dirs_remove(root);
}

static void without_a_position_everything_waits(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct channel_state got = state_at(&f, 0, 0);
    assert_int_equal(got.settled_lines, 0);
    assert_int_equal(got.waiting_files, 1);
    assert_int_equal(got.waiting_bytes, f.line_bytes);
    close_fixture(&f);
}

static void behind_a_position_the_rest_waits(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct channel_state sealed = state_at(&f, 1, f.line_bytes);
    assert_int_equal(sealed.settled_lines, 5);
    assert_int_equal(sealed.refused_lines, 1);
    assert_int_equal(sealed.waiting_files, 1);
    struct channel_state active = state_at(&f, 2, 0);
    assert_int_equal(active.waiting_files, 0);
    assert_int_equal(active.waiting_bytes, f.line_bytes);
    struct channel_state end = state_at(&f, 2, f.line_bytes);
    assert_int_equal(end.waiting_files, 0);
    assert_int_equal(end.waiting_bytes, 0);
    close_fixture(&f);
}

/* As while its writer has not begun the next one. */
static void a_sealed_file_that_is_settled_does_not_wait(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct stat sealed;
    assert_int_equal(fstatat(f.fd, ID "/device.1.log", &sealed, 0), 0);
    struct channel_state got = state_at(&f, 1, (uint64_t)sealed.st_size);
    assert_int_equal(got.waiting_files, 0);
    assert_int_equal(got.waiting_bytes, f.line_bytes);
    live_rotate(&f.session, "device", 2);
    assert_int_equal(scan_session(&sys_real, f.fd, ID, ID, &f.scan), GPUFL_OK);
    assert_int_equal(state_at(&f, 1, (uint64_t)sealed.st_size).waiting_files, 1);
    got = state_at(&f, 2, f.line_bytes);
    assert_int_equal(got.waiting_files, 0);
    assert_int_equal(got.waiting_bytes, 0);
    close_fixture(&f);
}

static void status_exits_1_while_something_waits(void **state)
{
    (void)state;
    static struct capture said;
    struct fixture f;
    char want[256], verb[] = "status", json[] = "--json";
    char state_dir[512];
    open_fixture(&f);
    snprintf(state_dir, sizeof state_dir, "--state-dir=%s", f.root);
    char *word[] = {verb, f.root, json, state_dir, NULL};
    capture_begin(&said);
    struct status_arguments a;
    int rc = status_arguments_read(4, word, &a);
    rc = rc == FLAGS_GO_ON ? verb_status(&a) : rc;
    capture_end(&said);
    assert_int_equal(rc, 1);
    assert_string_equal(said.err, "");
    snprintf(want, sizeof want,
             "\"channels\":[{\"channel\":\"device\",\"settled_lines\":0,"
             "\"refused_lines\":0,\"waiting_files\":1,\"waiting_bytes\":%u,",
             f.line_bytes);
    assert_non_null(strstr(said.out, want));
    close_fixture(&f);
}

static void an_empty_directory_is_all_sent(void **state)
{
    (void)state;
    static struct capture said;
    char verb[] = "status", *root = dirs_make();
    char *word[] = {verb, root, NULL};
    capture_begin(&said);
    struct status_arguments a;
    int rc = status_arguments_read(2, word, &a);
    rc = rc == FLAGS_GO_ON ? verb_status(&a) : rc;
    capture_end(&said);
    assert_int_equal(rc, 0);
    assert_string_equal(said.out,
                        "no journal found (nothing was uploaded yet, or give "
                        "the --state-dir that was used)\nno uploader is running\n"
                        "no session in this directory (expected SESSION or "
                        "GROUP/SESSION in it)\n");
    dirs_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_complete_session_of_1_1_nothing_is_untold),
        cmocka_unit_test(numbers_of_1_1_without_a_file_do_not_wait),
        cmocka_unit_test(what_another_uploader_has_reported_does_not_wait),
        cmocka_unit_test(without_a_position_everything_waits),
        cmocka_unit_test(behind_a_position_the_rest_waits),
        cmocka_unit_test(a_sealed_file_that_is_settled_does_not_wait),
        cmocka_unit_test(status_exits_1_while_something_waits),
        cmocka_unit_test(an_empty_directory_is_all_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
