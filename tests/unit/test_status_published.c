/* SPDX-License-Identifier: Apache-2.0 */
/* A journal of this user and what a service publishes, of the same streams. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/transfer/status_published.h"
#include "tests/support/dirs.h"
#include "upload/published/progress_file.h"
#include "upload/published/run_dir.h"

#define ID       "11111111-1111-4111-8111-111111111111"
#define ID2      "22222222-2222-4222-8222-222222222222"
#define URL      "http://127.0.0.1/api/v1"
#define DATABASE 7

/* A root that is served by a service which has settled \p file, \p offset of a stream,
 * with 4 lines. */
struct served {
    char *root, *run;
    int fd;
    struct run_dir *published;
};

static void served_open(struct served *s, uint32_t file, uint64_t offset)
{
    char text[600];
    s->root = dirs_make();
    s->run = dirs_make();
    s->fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(setenv("GPUFL_RUNTIME_DIRECTORY", s->run, 1), 0);
    s->published = run_dir_publish(&sys_real, s->run, s->fd);
    assert_non_null(s->published);
    int len = snprintf(text, sizeof text,
                       "gpufl-progress 1 pid=%d program=x origin=%016" PRIx64
                       " database=%016x state=0-0\n"
                       "!lines 4 0 0 1 0 0\n" ID " device %u %llu 1 1\n"
                       "!lines 4 0 0 1 0 0\n" ID2 " device 1 9 1 1\n",
                       (int)getpid(), progress_origin_of(URL), DATABASE, file,
                       (unsigned long long)offset);
    assert_true(run_dir_write(s->published, "progress", text, (size_t)len));
}

static void served_close(struct served *s)
{
    unsetenv("GPUFL_RUNTIME_DIRECTORY");
    run_dir_close(s->published);
    close(s->fd);
    dirs_remove(s->root);
    dirs_remove(s->run);
}

/* In the journal are 5 lines up to (2, 100). */
static void of_each_stream_the_later_position_counts(void **state)
{
    (void)state;
    static const struct {
        uint32_t file;
        uint64_t offset;
        bool service;
    } row[] = {
        {1, 900, false}, {2, 0, false},  {2, 99, false},
        {2, 100, true},  {2, 101, true}, {3, 0, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct served s;
        struct journal_read journal = {.origin.now = {.url = URL, .database = DATABASE}};
        struct status_source source = {.journal = true};
        struct record_stream stream = {.stream = 3, .file = 2, .offset = 100, .lines = 5};
        snprintf(stream.path, sizeof stream.path, ID);
        snprintf(stream.channel, sizeof stream.channel, "device");
        journal_tables_put(&journal, &stream);
        served_open(&s, row[i].file, row[i].offset);
        status_published_add(s.fd, s.root, &journal, &source);
        assert_true(source.journal && source.service);
        assert_int_equal(source.sessions, 1); /* that the journal names */
        assert_int_equal(journal.sessions, 2);
        const struct journal_read_stream *got = journal_read_first(&journal, ID);
        if (got->record.lines != (row[i].service ? 4 : 5) ||
            got->record.file != (row[i].service ? row[i].file : 2)) {
            fail_msg("row %zu: %" PRIu64 " lines, file %u", i, got->record.lines,
                     got->record.file);
        }
        assert_null(journal_read_next(&journal, got));
        journal_read_fini(&journal);
        served_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_each_stream_the_later_position_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
