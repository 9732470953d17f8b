/* SPDX-License-Identifier: Apache-2.0 */
/* Which account answers for a user id. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/dirs.h"
#include "upload/owners/owners.h"

#define ACCOUNTS                                                                         \
    "root:x:0:0::/:/bin/sh\nkubelet:x:998:998::/:/bin/sh\nalice:x:1000:1000::/:/bin/"    \
    "sh\n"                                                                               \
    "bob:x:1001:1001::/:/bin/sh\n"
#define RANGES                                                                           \
    "alice:100000:65536\nbob:165536:65536\nalice:700000:10\nroot:1000:1\nroot:1001:1\n"  \
    "kubelet:1000000:655360\nelsewhere:3000000:65536\nnobody:65534:2\n"

struct here {
    char *dir;
    struct owners owners;
    struct log log;
    unsigned said;
    uint64_t now_ms;
};

static void count_owners_line(void *arg, enum log_level level, const char *line)
{
    struct here *here = arg;
    (void)level;
    here->said += strstr(line, "owners.unread ") != NULL;
}

static void open_here(struct here *here)
{
    *here = (struct here){.dir = dirs_make()};
    here->log =
        (struct log){.level = LOG_AT_INFO, .write = count_owners_line, .arg = here};
}

static void close_here(struct here *here)
{
    owners_close(&here->owners);
    dirs_remove(here->dir);
}

static void write_again(const struct here *here, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", here->dir, name);
    unlink(path);
    dirs_append(here->dir, name, text);
}

static void look_again(struct here *here)
{
    here->now_ms += 60000;
    owners_refresh(&here->owners, here->dir, &here->log, here->now_ms);
}

static void assert_accounts(const struct here *here, const uint32_t (*row)[2],
                            size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        if (owners_account(&here->owners, row[i][0]) != row[i][1]) {
            fail_msg("%u is of %u, not of %u", row[i][0],
                     owners_account(&here->owners, row[i][0]), row[i][1]);
        }
    }
}

#define assert_accounts_of(here, ...)                                                    \
    do {                                                                                 \
        static const uint32_t row[][2] = {__VA_ARGS__};                                  \
        assert_accounts(here, row, sizeof row / sizeof row[0]);                          \
    } while (0)

static void all_ids_of_a_user_are_one_account(void **state)
{
    (void)state;
    struct here here;
    open_here(&here);
    write_again(&here, "passwd", ACCOUNTS);
    write_again(&here, "subuid", RANGES);
    look_again(&here);
    assert_accounts_of(&here, {1000, 1000}, {1001, 1001}, {100000, 1000}, {165535, 1000},
                       {165536, 1001}, {231071, 1001}, {700009, 1000});
    assert_int_equal(here.said, 0);
    close_here(&here);
}

/* Programs of the system give each container a block. */
static void a_range_of_the_system_is_cut_into_blocks(void **state)
{
    (void)state;
    struct here here;
    open_here(&here);
    write_again(&here, "passwd", ACCOUNTS);
    write_again(&here, "subuid", RANGES);
    look_again(&here);
    assert_accounts_of(&here, {1000000, 1000000}, {1065535, 1000000}, {1065536, 1065536},
                       {1655359, 1000000 + 9 * 65536}, {3000000, 3000000},
                       {3065535, 3000000}, {65534, 65534}, {65535, 65535});
    close_here(&here);
}

/* Most have ids from a directory, which no file lists. */
static void a_user_whom_no_file_lists_is_an_account(void **state)
{
    (void)state;
    struct here here;
    open_here(&here);
    write_again(&here, "passwd", ACCOUNTS);
    write_again(&here, "subuid", RANGES);
    look_again(&here);
    assert_accounts_of(&here, {0, 0}, {20001, 20001}, {61184, 61184}, {99999, 99999},
                       {231072, 231072}, {1234500001, 1234500001},
                       {2147483647, 2147483647}, {2147483648, 2147483648},
                       {2147549183, 2147483648}, {2147549184, 2147549184},
                       {4294967294, 4294901760}, {UINT32_MAX, UINT32_MAX});
    close_here(&here);
}

static void without_files_each_id_is_an_account(void **state)
{
    (void)state;
    struct here here;
    open_here(&here);
    look_again(&here);
    assert_accounts_of(&here, {0, 0}, {1000, 1000}, {100001, 100001});
    assert_int_equal(here.said, 0);
    owners_refresh(&here.owners, NULL, &here.log, 1u << 30);
    close_here(&here);
}

static void files_are_read_again_a_minute_after_they_changed(void **state)
{
    (void)state;
    struct here here;
    open_here(&here);
    write_again(&here, "passwd", ACCOUNTS);
    look_again(&here);
    assert_accounts_of(&here, {100001, 100001});
    write_again(&here, "subuid", RANGES);
    owners_refresh(&here.owners, here.dir, &here.log, here.now_ms + 59999);
    assert_accounts_of(&here, {100001, 100001});
    look_again(&here);
    assert_accounts_of(&here, {100001, 1000});
    write_again(&here, "passwd", "alice:x:1234:1000::/:/bin/sh\n");
    look_again(&here);
    assert_accounts_of(&here, {100001, 1234});
    write_again(&here, "subuid", "");
    look_again(&here);
    assert_accounts_of(&here, {100001, 100001});
    close_here(&here);
}

/* As when Landlock allows the file of the start alone. */
static void what_cannot_be_read_again_leaves_one_account_to_many_ids(void **state)
{
    (void)state;
    struct here here;
    char path[512];
    open_here(&here);
    write_again(&here, "passwd", ACCOUNTS);
    write_again(&here, "subuid", RANGES);
    look_again(&here);
    snprintf(path, sizeof path, "%s/subuid", here.dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    look_again(&here);
    look_again(&here);
    assert_int_equal(here.said, 1);
    assert_accounts_of(&here, {165535, 1000}, {231072, 231072}, {231073, 231072},
                       {296607, 231072}, {296608, 296608}, {99999, 99999}, {1002, 1002});
    assert_int_equal(rmdir(path), 0);
    write_again(&here, "subuid", RANGES);
    look_again(&here);
    assert_accounts_of(&here, {165535, 1000}, {231073, 231073});
    close_here(&here);
}

static void a_list_that_is_too_large_is_not_read(void **state)
{
    (void)state;
    struct here here;
    char path[512];
    open_here(&here);
    write_again(&here, "subuid", RANGES);
    snprintf(path, sizeof path, "%s/subuid", here.dir);
    assert_int_equal(truncate(path, 1 << 30), 0);
    look_again(&here);
    assert_int_equal(here.said, 1);
    assert_accounts_of(&here, {100001, 100000}, {231073, 231072});
    close_here(&here);
}

static void a_list_of_accounts_that_is_no_file_costs_their_names(void **state)
{
    (void)state;
    struct here here;
    char path[512];
    open_here(&here);
    write_again(&here, "subuid", RANGES "1005:5000000:9\n");
    snprintf(path, sizeof path, "%s/passwd", here.dir);
    assert_int_equal(mkfifo(path, 0644), 0);
    look_again(&here);
    assert_int_equal(here.said, 1);
    assert_accounts_of(&here, {100001, 100000}, {165535, 100000}, {165536, 165536},
                       {5000001, 1005});
    close_here(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ids_of_a_user_are_one_account),
        cmocka_unit_test(a_range_of_the_system_is_cut_into_blocks),
        cmocka_unit_test(a_user_whom_no_file_lists_is_an_account),
        cmocka_unit_test(without_files_each_id_is_an_account),
        cmocka_unit_test(files_are_read_again_a_minute_after_they_changed),
        cmocka_unit_test(what_cannot_be_read_again_leaves_one_account_to_many_ids),
        cmocka_unit_test(a_list_that_is_too_large_is_not_read),
        cmocka_unit_test(a_list_of_accounts_that_is_no_file_costs_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
