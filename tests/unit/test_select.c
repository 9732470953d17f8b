/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions of a root an upload takes, and in which order. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process_identity.h"
#include "schema/layout.h"
#include "tests/support/dirs.h"
#include "upload/source/select.h"

static int add_session(const char *root, const char *path, const char *first_line)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s/%s", root, path);
    if (mkdir(dir, 0755) < 0) {
        return -1;
    }
    dirs_append(dir, "device.log", first_line);
    return 0;
}

/* Started in the order b, group/d, a; c has no job_start. */
static char *some_sessions(void)
{
    char *root = dirs_make();
    char group[512];
    snprintf(group, sizeof group, "%s/group", root);
    assert_int_equal(mkdir(group, 0755), 0);
    assert_int_equal(
        add_session(root, "a", "{\"type\":\"job_start\",\"ts_ns\":30,\"n\":1}\n"), 0);
    assert_int_equal(
        add_session(root, "b", "{\"type\": \"job_start\", \"ts_ns\": 10}\n{}\n"), 0);
    assert_int_equal(add_session(root, "c", "{\"type\":\"x\"}\n"), 0);
    assert_int_equal(
        add_session(root, "group/d", "{\"type\":\"job_start\",\"ts_ns\":20}\n"), 0);
    return root;
}

static void list(const char *path, struct selection *out)
{
    int root = open(path, O_RDONLY | O_DIRECTORY);
    assert_int_equal(select_list(&sys_real, root, 0, out), GPUFL_OK);
    close(root);
}

static gpufl_status pick(const char *path, const char *id, struct selection *out)
{
    int root = open(path, O_RDONLY | O_DIRECTORY);
    gpufl_status status = select_one(&sys_real, root, id, out);
    close(root);
    return status;
}

static void sessions_are_listed_by_their_ids(void **state)
{
    (void)state;
    static const char *const path[] = {"a", "b", "c", "group/d"};
    static const char *const id[] = {"a", "b", "c", "d"};
    char *root = some_sessions();
    struct selection s;
    list(root, &s);
    assert_int_equal(s.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(s.session[i].path, path[i]);
        assert_string_equal(s.session[i].id, id[i]);
        assert_int_equal(s.session[i].start_ns, 0);
        assert_true(select_has(&s, id[i]));
    }
    assert_false(select_has(&s, "group"));
    assert_int_equal(s.session[2].bytes, strlen("{\"type\":\"x\"}\n"));
    select_free(&s);
    dirs_remove(root);
}

static void own_sessions_are_ordered_by_their_start(void **state)
{
    (void)state;
    static const char *const path[] = {"c", "b", "group/d", "a"};
    char *root = some_sessions();
    struct selection s;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    assert_int_equal(select_find(&sys_real, fd, NULL, &s), GPUFL_OK);
    assert_int_equal(s.count, 5); /* the group may be one, too */
    select_read_own(&sys_real, fd, &s);
    close(fd);
    assert_int_equal(s.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(s.session[i].path, path[i]);
    }
    assert_int_equal(s.session[1].start_ns, 10);
    select_free(&s);
    dirs_remove(root);
}

static void write_writer(const char *root, const char *id,
                         const struct process_identity *writer)
{
    char dir[512];
    char line[512];
    snprintf(dir, sizeof dir, "%s/%s", root, id);
    snprintf(
        line, sizeof line,
        "{\"schema_version\":1,\"layout\":\"live\",\"session_id\":\"%s\",\"pid\":%lld,"
        "\"boot_id\":\"%s\",\"pid_namespace\":%llu,\"pid_start_ticks\":%llu}\n",
        id, (long long)writer->pid, writer->boot_id,
        (unsigned long long)writer->pid_namespace,
        (unsigned long long)writer->start_ticks);
    dirs_append(dir, LAYOUT_MANIFEST, line);
}

static unsigned opened;
static unsigned opened_others; /* what is in a directory of another user */

static int open_counted(int dir, const char *path, int flags, mode_t mode)
{
    opened++;
    opened_others += strstr(path, "other") != NULL;
    return sys_real.open_beneath(dir, path, flags, mode);
}

/* Anyone can make a file of any number in a session of his own. */
static void numbers_that_are_not_there_cost_nothing(void **state)
{
    (void)state;
    char *root = some_sessions();
    char dir[512];
    struct selection s;
    struct sys counted = sys_real;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    snprintf(dir, sizeof dir, "%s/c", root);
    write_writer(root, "c", &(struct process_identity){.pid = 1});
    dirs_append(dir, "device.1.log", "{\"type\":\"x\",\"n\":1}\n");
    dirs_append(dir, "device.200000.log.gz", "12345");
    counted.open_beneath = open_counted;
    opened = 0;
    assert_int_equal(select_list(&counted, fd, 0, &s), GPUFL_OK);
    assert_in_range(opened, 1, 100);
    assert_string_equal(s.session[2].id, "c");
    assert_int_equal(s.session[2].bytes,
                     strlen("{\"type\":\"x\"}\n{\"type\":\"x\",\"n\":1}\n12345"));
    select_read_own(&counted, fd, &s);
    assert_in_range(opened, 1, 200);
    select_free(&s);
    close(fd);
    dirs_remove(root);
}

#define OTHERS 200u

/* Sessions of another user beside ours, which one of them has the name of, too. */
static char *with_sessions_of_others(bool as_root)
{
    char *root = some_sessions();
    char path[64];
    char dir[512];
    for (unsigned i = 0; i < OTHERS; i++) {
        snprintf(path, sizeof path, "other%u", i);
        assert_int_equal(
            add_session(root, path, "{\"type\":\"job_start\",\"ts_ns\":99}\n"), 0);
        snprintf(dir, sizeof dir, "%s/%s/device.7.log", root, path);
        assert_int_equal(close(open(dir, O_WRONLY | O_CREAT, 0644)), 0);
        snprintf(dir, sizeof dir, "%s/%s", root, path);
        assert_true(!as_root || chown(dir, 12345, 12345) == 0);
    }
    return root;
}

/* One is named: nothing is read of what has another name, whoever owns it. */
static void of_other_names_nothing_is_read(void **state)
{
    (void)state;
    char *root = with_sessions_of_others(false);
    struct sys counted = sys_real;
    struct selection s;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    counted.open_beneath = open_counted;
    opened = opened_others = 0;
    assert_int_equal(select_one(&counted, fd, "d", &s), GPUFL_OK);
    assert_string_equal(s.session[0].path, "group/d");
    assert_in_range(opened, 1, 10);
    assert_int_equal(opened_others, 0);
    select_free(&s);
    close(fd);
    dirs_remove(root);
}

/* To find our own session, others are listed, as they may be groups with one of ours. To
 * list all, ours are read first, and the others only while there is time. */
static void of_other_users_nothing_is_read(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    char *root = with_sessions_of_others(true);
    struct sys counted = sys_real;
    struct process_identity self;
    struct selection s;
    int fd = open(root, O_RDONLY | O_DIRECTORY);
    process_identity_read(&self);
    write_writer(root, "b", &self);
    counted.open_beneath = open_counted;
    opened_others = 0;
    assert_int_equal(select_one(&counted, fd, "", &s), GPUFL_OK);
    assert_string_equal(s.session[0].id, "b");
    assert_in_range(opened_others, 0, OTHERS);
    select_free(&s);
    opened_others = 0;
    assert_int_equal(select_list(&counted, fd, 1, &s), GPUFL_OK);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.unread, OTHERS);
    assert_in_range(opened_others, 0, OTHERS);
    select_free(&s);
    opened_others = 0;
    assert_int_equal(select_list(&counted, fd, 0, &s), GPUFL_OK);
    assert_int_equal(s.count, 4 + OTHERS);
    assert_int_equal(s.unread, 0);
    select_free(&s);
    close(fd);
    dirs_remove(root);
}

/* Of a, b and c, a is the newest and c the oldest. */
static void the_newest_of_this_process_comes_first(void **state)
{
    (void)state;
    struct process_identity self;
    process_identity_read(&self);
    struct process_identity before = self; /* had the pid before, or in a container */
    struct process_identity apart = self;
    struct process_identity old_version = self; /* whose manifest does not tell */
    before.start_ticks--;
    apart.pid_namespace++;
    old_version.pid_namespace = old_version.start_ticks = 0;
    const struct {
        const struct process_identity *a, *b, *c;
        const char *want;
    } row[] = {
        {NULL, NULL, NULL, "a"},         {NULL, &self, NULL, "b"},
        {NULL, &self, &self, "b"},       {NULL, NULL, &self, "c"},
        {&before, &apart, &self, "c"},   {&apart, &self, &before, "b"},
        {&before, &apart, &apart, "a"},  {&old_version, &self, NULL, "b"},
        {NULL, &old_version, NULL, "a"}, {&self, &self, NULL, "a"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const struct process_identity *writer[] = {row[i].a, row[i].b, row[i].c};
        char *root = some_sessions();
        struct selection s;
        for (size_t w = 0; w < 3; w++) {
            if (writer[w]) {
                write_writer(root, (const char *[]){"a", "b", "c"}[w], writer[w]);
            }
        }
        assert_int_equal(pick(root, "", &s), GPUFL_OK);
        assert_string_equal(s.session[0].id, row[i].want);
        select_free(&s);
        dirs_remove(root);
    }
}

static void one_is_selected_by_name_or_as_the_newest(void **state)
{
    (void)state;
    static const struct {
        const char *id, *got; /* NULL = not found */
    } row[] = {{"", "a"}, {"d", "d"}, {"c", "c"}, {"group", NULL}, {"none", NULL}};
    char *root = some_sessions();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct selection s;
        gpufl_status status = pick(root, row[i].id, &s);
        assert_int_equal(status, row[i].got ? GPUFL_OK : GPUFL_ERR_NOT_FOUND);
        if (row[i].got) {
            assert_int_equal(s.count, 1);
            assert_string_equal(s.session[0].id, row[i].got);
            assert_true(select_has(&s, row[i].got));
            assert_false(select_has(&s, "b"));
        }
        select_free(&s);
    }
    dirs_remove(root);
}

static void joined_selections_keep_all_and_grow_on(void **state)
{
    (void)state;
    char *root = some_sessions();
    struct selection into;
    list(root, &into);
    for (int i = 0; i < 6; i++) {
        struct selection from;
        list(root, &from);
        assert_int_equal(select_join(&into, &from), GPUFL_OK);
        assert_int_equal(from.count, 0);
        assert_null(from.session);
    }
    assert_int_equal(into.count, 28);
    assert_string_equal(into.session[0].id, "a");
    assert_string_equal(into.session[27].id, "d");
    assert_true(select_has(&into, "b"));
    select_free(&into);
    dirs_remove(root);
}

static void sessions_beside_files_of_a_session_are_listed(void **state)
{
    (void)state;
    char *root = some_sessions();
    char group[512];
    struct selection s;
    snprintf(group, sizeof group, "%s/group", root);
    dirs_append(group, "device.log", "");
    list(root, &s);
    assert_int_equal(s.count, 5);
    assert_true(select_has(&s, "group"));
    select_free(&s);
    assert_int_equal(pick(root, "d", &s), GPUFL_OK);
    assert_string_equal(s.session[0].path, "group/d");
    select_free(&s);
    dirs_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_are_listed_by_their_ids),
        cmocka_unit_test(own_sessions_are_ordered_by_their_start),
        cmocka_unit_test(of_other_names_nothing_is_read),
        cmocka_unit_test(of_other_users_nothing_is_read),
        cmocka_unit_test(numbers_that_are_not_there_cost_nothing),
        cmocka_unit_test(the_newest_of_this_process_comes_first),
        cmocka_unit_test(one_is_selected_by_name_or_as_the_newest),
        cmocka_unit_test(joined_selections_keep_all_and_grow_on),
        cmocka_unit_test(sessions_beside_files_of_a_session_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
