/* SPDX-License-Identifier: Apache-2.0 */
/* The loss marker of a pause, in a directory where others can make names. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/core/spool.h"
#include "tests/support/dirs.h"

#define MARKER  ".gpufl-transport-loss.spool.0.json"
#define RESERVE ".gpufl-reserve"

static struct own_fd open_dir(const char *dir)
{
    struct own_fd own;
    assert_true(own_fd_take(&own, open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    return own;
}

static void marker_pause(const char *dir)
{
    struct own_fd own = open_dir(dir);
    struct spool spool = {.max_bytes = 1, .dir = &own};
    assert_false(spool_check(&spool, 1, 1));
    assert_true(spool.paused);
    own_fd_close(&own);
}

static void the_marker_is_never_written_through_a_name_of_another(void **state)
{
    (void)state;
    static const bool symbolic[] = {true, false};
    for (unsigned i = 0; i < 2; i++) {
        char *dir = dirs_make();
        char victim[600];
        char part[600];
        char marker[600];
        char held[16] = "";
        struct stat st;
        dirs_append(dir, "victim", "keep");
        snprintf(victim, sizeof victim, "%s/victim", dir);
        snprintf(part, sizeof part, "%s/" MARKER ".part", dir);
        snprintf(marker, sizeof marker, "%s/" MARKER, dir);
        assert_int_equal(symbolic[i] ? symlink(victim, part) : link(victim, part), 0);
        marker_pause(dir);
        FILE *file = fopen(victim, "r");
        assert_non_null(file);
        assert_non_null(fgets(held, sizeof held, file));
        fclose(file);
        assert_string_equal(held, "keep");
        assert_int_equal(lstat(marker, &st), 0);
        assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size > 100);
        assert_int_equal(lstat(part, &st), -1);
        dirs_remove(dir);
    }
}

/* What has the name in its place keeps the marker from being created, as a full disk
 * does.
 */
static void keep_from_creating(const char *dir)
{
    char part[600];
    snprintf(part, sizeof part, "%s/" MARKER ".part", dir);
    assert_int_equal(mkdir(part, 0755), 0);
}

static void spool_reserve(const char *dir)
{
    struct own_fd own = open_dir(dir);
    struct spool spool = {.dir = &own};
    spool_begin(&spool);
    own_fd_close(&own);
}

static void where_nothing_can_be_created_the_reserve_becomes_the_marker(void **state)
{
    (void)state;
    char *dir = dirs_make();
    char marker[600];
    char reserve[600];
    struct stat st;
    snprintf(marker, sizeof marker, "%s/" MARKER, dir);
    snprintf(reserve, sizeof reserve, "%s/" RESERVE, dir);
    spool_reserve(dir);
    assert_int_equal(lstat(reserve, &st), 0);
    ino_t inode = st.st_ino;
    keep_from_creating(dir);
    marker_pause(dir);
    assert_int_equal(lstat(marker, &st), 0);
    assert_int_equal(st.st_ino, inode);
    assert_int_equal(lstat(reserve, &st), -1);
    dirs_remove(dir);
}

static void a_reserve_of_another_is_not_written_over(void **state)
{
    (void)state;
    static const bool symbolic[] = {true, false};
    for (unsigned i = 0; i < 2; i++) {
        char *dir = dirs_make();
        char victim[600];
        char reserve[600];
        char marker[600];
        char held[16] = "";
        struct stat st;
        snprintf(victim, sizeof victim, "%s/victim", dir);
        snprintf(reserve, sizeof reserve, "%s/" RESERVE, dir);
        snprintf(marker, sizeof marker, "%s/" MARKER, dir);
        dirs_append(dir, "victim", "keep\n");
        assert_int_equal(truncate(victim, 512), 0); /* as long as ours */
        assert_int_equal(symbolic[i] ? symlink(victim, reserve) : link(victim, reserve),
                         0);
        keep_from_creating(dir);
        marker_pause(dir);
        FILE *file = fopen(victim, "r");
        assert_non_null(file);
        assert_non_null(fgets(held, sizeof held, file));
        fclose(file);
        assert_string_equal(held, "keep\n");
        assert_int_equal(lstat(marker, &st), -1);
        dirs_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_can_be_created_the_reserve_becomes_the_marker),
        cmocka_unit_test(a_reserve_of_another_is_not_written_over),
        cmocka_unit_test(the_marker_is_never_written_through_a_name_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
