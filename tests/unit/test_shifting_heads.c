/* SPDX-License-Identifier: Apache-2.0 */
/* A search looks at the first line of each file of a channel, and anybody can make a
 * hundred of which that takes long to decode. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "tests/support/gz_costly.h"
#include "upload/source/shifting.h"

#define FILES      100u
#define LINE       "{\"type\":\"job_start\",\"n\":1}\n"
#define PASSES     2u
#define HEAD_LEAST (16u << 10)
#define HEAD_MOST  (48u << 10)

static void a_search_among_files_that_take_long_is_short_and_counted(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = GZ_CACHE_STEP_BYTES};
    const struct tail_where where = {.root =
                                         open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                     .path = ".",
                                     .channel = "device",
                                     .layout = SESSION_SHIFTING,
                                     .file = 1,
                                     .head = 7,
                                     .cache = &cache};
    bool gz;
    int fd;
    uint32_t index;
    for (unsigned n = 1; n <= FILES; n++) {
        char name[40];
        snprintf(name, sizeof name, "device.%u.log.gz", n);
        gz_costly_make(dir, name, LINE, 1, 2000);
    }
    gz_cache_turn(&cache, 1);
    assert_int_equal(shifting_open(&sys_real, &where, &fd, &gz, &index),
                     GPUFL_ERR_NOT_FOUND);
    assert_true(gz_cache_spent(&cache) >= PASSES * FILES * HEAD_LEAST);
    assert_true(gz_cache_spent(&cache) <= PASSES * FILES * HEAD_MOST);
    gz_cache_close(&cache);
    close(where.root);
    dirs_remove(dir);
}

/* What is behind the first line does not make it another one. */
static void a_first_line_counts_whatever_follows(void **state)
{
    (void)state;
    char *dir = dirs_make();
    struct gz_cache cache = {.step_bytes = GZ_CACHE_STEP_BYTES};
    struct tail_where where = {.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                               .path = ".",
                               .channel = "device",
                               .layout = SESSION_SHIFTING,
                               .file = 1,
                               .head = shifting_head(LINE, strlen(LINE)),
                               .cache = &cache};
    bool gz;
    int fd;
    uint32_t index;
    gz_costly_make(dir, "device.3.log.gz", LINE, 1, 2000);
    gz_cache_turn(&cache, 1);
    assert_int_equal(shifting_open(&sys_real, &where, &fd, &gz, &index), GPUFL_OK);
    assert_true(gz && index == 3);
    close(fd);
    gz_cache_close(&cache);
    close(where.root);
    dirs_remove(dir);
}

/* As of a writer that tells that it lives before it begins. */
static void a_first_record_may_have_long_lines_before_it(void **state)
{
    (void)state;
    static const struct {
        unsigned bytes; /* of the line before it */
        bool begins;
    } row[] = {{10, true}, {500, true}, {600, true}, {60000, true}, {70000, false}};
    for (size_t i = 0; i < 2 * sizeof row / sizeof row[0]; i++) {
        char *dir = dirs_make();
        bool gz = i % 2;
        static char text[80000];
        snprintf(text, sizeof text,
                 "{\"type\":\"heartbeat\",\"x\":\"%0*d\"}\n"
                 "{\"type\":\"job_start\",\"session_id\":\"s\"}\n",
                 (int)row[i / 2].bytes, 7);
        dirs_append(dir, "device.1.log", text);
        char command[700];
        snprintf(command, sizeof command, "gzip %s/device.1.log", dir);
        assert_int_equal(gz ? system(command) : 0, 0);
        struct shifting_place oldest;
        const struct tail_where where = {.root = open(dir, O_RDONLY | O_DIRECTORY),
                                         .path = ".",
                                         .channel = "device",
                                         .layout = SESSION_SHIFTING};
        assert_int_equal(shifting_first(&sys_real, &where, 1, &oldest), GPUFL_OK);
        assert_int_equal(oldest.begins, row[i / 2].begins);
        close(where.root);
        dirs_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_among_files_that_take_long_is_short_and_counted),
        cmocka_unit_test(a_first_line_counts_whatever_follows),
        cmocka_unit_test(a_first_record_may_have_long_lines_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
