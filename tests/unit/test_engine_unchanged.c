/* SPDX-License-Identifier: Apache-2.0 */
/* Before the end of a session is claimed, files are read again, unless the kernel tells
 * that they are as they were when they were read. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/rig_backend.h"
#include "tests/support/rig_session.h"

#define DAY_MS (24ull * 3600 * 1000)
#define LINES  600

static struct sys counted;
static uint64_t bytes_read;
static bool times_tell;      /* files have not changed for long */
static bool all_times_equal; /* and no change can be told by its time */

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t n = pread(fd, buf, len, at);
    bytes_read += n > 0 ? (uint64_t)n : 0;
    return n;
}

static int64_t change_of(int fd)
{
    struct stat st;
    if (!times_tell || fstat(fd, &st) < 0) {
        return 0;
    }
    return all_times_equal ? 1 : st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static struct rig *with_times(bool tell, bool all_equal)
{
    struct rig *rig = rig_ended_session(LINES);
    rig->positions.declared = true;
    rig->positions.epoch = 1;
    rig->version_body = "{\"supported\":[\"1\"],\"encodings\":[\"zstd\",\"gzip\"],"
                        "\"positions\":true,\"epoch\":\"1\"}";
    rig->config.max_requests_per_second = 0;
    counted = *rig->config.sys;
    counted.pread = counting_pread;
    counted.unchanged_since = change_of;
    rig->config.sys = &counted;
    times_tell = tell;
    all_times_equal = all_equal;
    bytes_read = 0;
    return rig;
}

static void path_of(const struct rig *rig, const char *name, char out[700])
{
    snprintf(out, 700, "%s/" RIG_ID "/%s", rig->root, name);
}

static int64_t changed_ns(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static uint64_t size_of(const struct rig *rig)
{
    static const char *const names[] = {"device.log", "scope.log", "system.log"};
    uint64_t size = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[700];
        struct stat st;
        path_of(rig, names[i], path);
        assert_int_equal(stat(path, &st), 0);
        size += (uint64_t)st.st_size;
    }
    return size;
}

/* One byte near the begin, far from what each read compares; the clock of the file system
 * ticks meanwhile. */
static void rewrite(const char *path)
{
    int64_t before = changed_ns(path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    do {
        assert_int_equal(pwrite(fd, "X", 1, 30), 1);
    } while (changed_ns(path) == before);
    close(fd);
}

/* Another file of that size takes the name. */
static void exchange(const char *path)
{
    char command[1700];
    snprintf(command, sizeof command, "cp '%s' '%s.x' && mv '%s.x' '%s'", path, path,
             path, path);
    assert_int_equal(system(command), 0);
    rewrite(path);
}

static void run(struct rig *rig)
{
    rig_start(rig);
    rig_run(rig, DAY_MS, true);
}

static void assert_complete(struct rig *rig, bool complete)
{
    assert_int_equal(rig_positions_state(&rig->positions, RIG_ID), complete);
    assert_int_equal(rig_summary(rig).sessions_done, complete);
    assert_int_equal(rig_summary(rig).sessions_blocked, !complete);
}

static void what_is_unchanged_is_read_once(void **state)
{
    (void)state;
    struct rig *rig = with_times(true, false);
    rig->config.max_batch_lines = LINES / 3;
    run(rig);
    assert_complete(rig, true);
    rig_all_same(rig, RIG_ID);
    uint64_t once = bytes_read;
    rig_delete(rig);
    rig = with_times(false, false);
    rig->config.max_batch_lines = LINES / 3;
    run(rig);
    assert_complete(rig, true);
    assert_true(size_of(rig) > 3 * 2 * 4096);
    assert_in_range(bytes_read - once, size_of(rig), size_of(rig) * 5 / 4);
    rig_delete(rig);
}

static void (*meanwhile)(const char *path);

/* Once the file has been read to its end. */
static int change_behind_the_last_line(struct rig *rig, const struct rig_request *r)
{
    if (r->kind == TRANSPORT_PARTS && strcmp(r->channel, "device") == 0 &&
        memmem(r->raw, r->raw_len, "\"shutdown\"", 10)) {
        char path[700];
        path_of(rig, "device.log", path);
        meanwhile(path);
    }
    return RIG_REGISTRY;
}

static void what_is_rewritten_after_it_was_read_is_not_complete(void **state)
{
    (void)state;
    struct rig *rig = with_times(true, false);
    rig->answer = change_behind_the_last_line;
    meanwhile = rewrite;
    run(rig);
    assert_complete(rig, false);
    rig_delete(rig);
}

static void another_file_of_that_name_is_not_complete(void **state)
{
    (void)state;
    struct rig *rig = with_times(true, true);
    rig->answer = change_behind_the_last_line;
    meanwhile = exchange;
    run(rig);
    assert_complete(rig, false);
    rig_delete(rig);
}

static int stop_after_the_first(struct rig *rig, const struct rig_request *r)
{
    rig->mark += r->kind == TRANSPORT_PARTS;
    return rig->mark > 3 ? 503 : RIG_REGISTRY;
}

static void what_an_earlier_run_read_is_read_again(void **state)
{
    (void)state;
    char path[700];
    struct rig *rig = with_times(true, true);
    rig->config.max_batch_lines = LINES / 3;
    rig->answer = stop_after_the_first;
    rig_start(rig);
    rig_run(rig, 5000, false);
    rig_stop(rig);
    path_of(rig, "device.log", path);
    rewrite(path);
    rig->answer = NULL;
    run(rig);
    assert_complete(rig, false);
    rig_delete(rig);
}

static int refuse_five_claims(struct rig *rig, const struct rig_request *r)
{
    if (r->kind != TRANSPORT_COMPLETE || ++rig->mark > 5) {
        return RIG_REGISTRY;
    }
    if (rig->mark == 1 && meanwhile) {
        char path[700];
        path_of(rig, "device.log", path);
        meanwhile(path);
    }
    return 500;
}

static void what_is_rewritten_between_two_claims_is_not_complete(void **state)
{
    (void)state;
    for (int tell = 0; tell < 2; tell++) {
        struct rig *rig = with_times(tell, false);
        rig->answer = refuse_five_claims;
        meanwhile = rewrite;
        run(rig);
        assert_complete(rig, false);
        rig_delete(rig);
    }
}

static void what_is_unchanged_is_not_read_again_for_each_claim(void **state)
{
    (void)state;
    struct rig *rig = with_times(true, false);
    rig->answer = refuse_five_claims;
    meanwhile = NULL;
    run(rig);
    assert_complete(rig, true);
    assert_int_equal(rig_count(rig, TRANSPORT_COMPLETE), 6);
    assert_in_range(bytes_read, size_of(rig), size_of(rig) * 2);
    rig_delete(rig);
}

/* What the real call answers depends on the file system: never of a file that is new. */
static void a_new_file_may_change_without_another_time(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    struct stat st;
    assert_non_null(file);
    assert_int_equal(sys_real.unchanged_since(fileno(file)), 0);
    fclose(file);
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sys_real.unchanged_since(fd), 0);
    close(fd);
    fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    int64_t since = sys_real.unchanged_since(fd);
    assert_true(since == 0 ||
                since == st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
    close(fd);
    assert_int_equal(sys_real.unchanged_since(-1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unchanged_is_read_once),
        cmocka_unit_test(what_is_rewritten_after_it_was_read_is_not_complete),
        cmocka_unit_test(another_file_of_that_name_is_not_complete),
        cmocka_unit_test(what_an_earlier_run_read_is_read_again),
        cmocka_unit_test(what_is_rewritten_between_two_claims_is_not_complete),
        cmocka_unit_test(what_is_unchanged_is_not_read_again_for_each_claim),
        cmocka_unit_test(a_new_file_may_change_without_another_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
