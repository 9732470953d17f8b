/* SPDX-License-Identifier: Apache-2.0 */
/* Control files: whose are believed, and that nothing that was planted is opened. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/dirs.h"

#define ANOTHER_USER 12345

static int file_test_open(const char *base)
{
    int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return dir;
}

static void a_control_file_is_read_only_when_we_or_root_own_it(void **state)
{
    (void)state;
    char *base = dirs_make();
    int dir = file_test_open(base);
    char *text;
    size_t len;
    dirs_append(base, "own", "12345");
    assert_int_equal(file_read_owned(&sys_real, dir, "own", 5, &text, &len), GPUFL_OK);
    assert_string_equal(text, "12345");
    free(text);
    assert_int_equal(file_read_owned(&sys_real, dir, "own", 4, &text, &len),
                     GPUFL_ERR_FORMAT);
    assert_int_equal(file_read_owned(&sys_real, dir, "none", 4, &text, &len),
                     GPUFL_ERR_NOT_FOUND);
    if (geteuid() == 0) {
        assert_int_equal(fchownat(dir, "own", ANOTHER_USER, 0, 0), 0);
        assert_int_equal(file_read_owned(&sys_real, dir, "own", 5, &text, &len),
                         GPUFL_ERR_IO);
        assert_int_equal(errno, EPERM);
    }
    close(dir);
    dirs_remove(base);
}

static void what_is_no_regular_file_is_not_read_and_does_not_block(void **state)
{
    (void)state;
    char *base = dirs_make();
    int dir = file_test_open(base);
    char *text;
    size_t len;
    dirs_append(base, "own", "x");
    assert_int_equal(mkfifoat(dir, "fifo", 0666), 0);
    assert_int_equal(mkdirat(dir, "dir", 0777), 0);
    assert_int_equal(symlinkat("own", dir, "link"), 0);
    static const char *const name[] = {"fifo", "dir", "link"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        assert_int_equal(file_read_owned(&sys_real, dir, name[i], 9, &text, &len),
                         GPUFL_ERR_IO);
    }
    close(dir);
    dirs_remove(base);
}

/* What lies at the temporary name: a pipe, a directory, a link to a file elsewhere. */
static void what_is_planted_at_a_temporary_name_is_never_opened(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        char *base = dirs_make();
        int dir = file_test_open(base);
        char *text;
        size_t len;
        dirs_append(base, "victim", "whole");
        switch (kind) {
        case 0:
            assert_int_equal(mkfifoat(dir, "x.tmp", 0666), 0);
            break;
        case 1:
            assert_int_equal(mkdirat(dir, "x.tmp", 0777), 0);
            dirs_append(base, "x.tmp/full", "x");
            break;
        case 2:
            assert_int_equal(symlinkat("victim", dir, "x.tmp"), 0);
            break;
        default:
            assert_int_equal(linkat(dir, "victim", dir, "x.tmp", 0), 0);
        }
        assert_int_equal(file_replace(&sys_real, dir, "x", "new", 3, true), GPUFL_OK);
        assert_int_equal(file_read(&sys_real, dir, "x", 9, &text, &len), GPUFL_OK);
        assert_string_equal(text, "new");
        free(text);
        assert_int_equal(file_read(&sys_real, dir, "victim", 9, &text, &len), GPUFL_OK);
        assert_string_equal(text, "whole");
        free(text);
        close(dir);
        dirs_remove(base);
    }
}

static void a_directory_is_ours_when_nobody_else_can_write_to_it(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        uid_t uid;
        bool ours;
    } row[] = {
        {0700, 0, true},   {0755, 0, true},  {02755, 0, true},
        {0770, 0, false},  {0777, 0, false}, {01777, 0, false},
        {03777, 0, false}, {0702, 0, false}, {0755, ANOTHER_USER, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char *base = dirs_make();
        int dir = file_test_open(base);
        assert_int_equal(fchmod(dir, row[i].mode), 0);
        if (row[i].uid == 0 || fchown(dir, row[i].uid, (gid_t)-1) == 0) {
            assert_int_equal(file_dir_is_ours(dir), row[i].ours);
        }
        close(dir);
        dirs_remove(base);
    }
}

static void a_path_is_known_before_what_it_names_is_made(void **state)
{
    (void)state;
    static const struct {
        const char *path, *real; /* below the directory of the test */
    } row[] = {
        {"", ""},
        {"/", ""},
        {"/a/./b//", "/a/b"},
        {"/link/b", "/a/b"},
        {"/link/../a", "/a"},
        {"/none/../link/c", "/a/c"},
        {"/none/x/../../a/b", "/a/b"},
        {"/dangling/x", "/dangling/x"},
        {"/../../../../../../../..", NULL},
    };
    char *base = dirs_make();
    char path[PATH_MAX];
    char want[PATH_MAX];
    char got[PATH_MAX];
    int dir = file_test_open(base);
    assert_int_equal(mkdirat(dir, "a", 0700), 0);
    assert_int_equal(mkdirat(dir, "a/b", 0700), 0);
    assert_int_equal(symlinkat("a", dir, "link"), 0);
    assert_int_equal(symlinkat("gone", dir, "dangling"), 0);
    close(dir);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        snprintf(path, sizeof path, "%s%s", base, row[i].path);
        snprintf(want, sizeof want, "%s%s", row[i].real ? base : "/",
                 row[i].real ? row[i].real : "");
        assert_true(file_real_path(path, got));
        assert_string_equal(got, want);
    }
    assert_int_equal(chdir(base), 0);
    snprintf(want, sizeof want, "%s/none", base);
    assert_true(file_real_path("none", got));
    assert_string_equal(got, want);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(file_real_path(path, got));
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(chdir("/"), 0);
    dirs_remove(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_control_file_is_read_only_when_we_or_root_own_it),
        cmocka_unit_test(what_is_no_regular_file_is_not_read_and_does_not_block),
        cmocka_unit_test(what_is_planted_at_a_temporary_name_is_never_opened),
        cmocka_unit_test(a_directory_is_ours_when_nobody_else_can_write_to_it),
        cmocka_unit_test(a_path_is_known_before_what_it_names_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
