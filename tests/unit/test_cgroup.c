/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and use of control groups, on trees of files as the kernel shows them. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector-lib/sample/cgroup.h"
#include "tests/support/dirs.h"

#define SECOND_NS 1000000000ll

/* proc/ and sys/ below one directory. */
struct tree {
    char *root;
    char proc[256], sys[256];
};

static void make_dirs(const char *path)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *at = copy + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(copy, 0755);
        *at = '/';
    }
    mkdir(copy, 0755);
}

static void put(const struct tree *t, const char *dir, const char *name, const char *text)
{
    char full[512];
    char file[600];
    snprintf(full, sizeof full, "%s/%s", t->root, dir);
    make_dirs(full);
    snprintf(file, sizeof file, "%s/%s", full, name);
    if (access(file, F_OK) == 0) { /* of the kernel's files, the content changes */
        assert_int_equal(truncate(file, 0), 0);
    }
    dirs_append(full, name, text);
}

static void grow(struct tree *t, const char *self)
{
    t->root = dirs_make();
    snprintf(t->proc, sizeof t->proc, "%s/proc", t->root);
    snprintf(t->sys, sizeof t->sys, "%s/sys", t->root);
    put(t, "proc/self", "cgroup", self);
    put(t, "sys/fs/cgroup", "cgroup.controllers", "cpu memory\n");
}

/* 700 of 2,048 MiB, and a quota of 2.5 cores, of which 1 s was used. */
static void grow_container(struct tree *t)
{
    grow(t, "0::/\n");
    put(t, "sys/fs/cgroup", "memory.current", "734003200\n");
    put(t, "sys/fs/cgroup", "memory.max", "2147483648\n");
    put(t, "sys/fs/cgroup", "cpu.max", "250000 100000\n");
    put(t, "sys/fs/cgroup", "cpu.stat", "usage_usec 1000000\nuser_usec 900000\n");
}

static void a_container_sees_its_limits(void **state)
{
    (void)state;
    struct tree t;
    struct cgroup cgroup;
    grow_container(&t);
    cgroup_open(&cgroup, t.proc, t.sys);
    struct cgroup_sample s = cgroup_read(&cgroup, SECOND_NS);
    assert_int_equal(s.cpu_pct_x100, -1); /* nothing to compare with yet */
    put(&t, "sys/fs/cgroup", "cpu.stat", "usage_usec 2500000\nuser_usec 900000\n");
    s = cgroup_read(&cgroup, 3 * SECOND_NS);
    assert_int_equal(s.cpu_pct_x100, 7500); /* 1.5 s of CPU in 2 s */
    assert_int_equal(s.cpu_limit_pct_x100, 25000);
    assert_int_equal(s.memory_used_mib, 700);
    assert_int_equal(s.memory_limit_mib, 2048);
    put(&t, "sys/fs/cgroup", "memory.max", "4294967296\n");
    assert_int_equal(cgroup_read(&cgroup, 4 * SECOND_NS).memory_limit_mib, 4096);
    cgroup_close(&cgroup);
    dirs_remove(t.root);
}

/* A mark that comes just before a sample. */
static void a_figure_is_of_10_ms_at_least(void **state)
{
    (void)state;
    struct tree t;
    struct cgroup cgroup;
    grow_container(&t);
    cgroup_open(&cgroup, t.proc, t.sys);
    cgroup_read(&cgroup, SECOND_NS);
    put(&t, "sys/fs/cgroup", "cpu.stat", "usage_usec 2500000\n");
    assert_int_equal(cgroup_read(&cgroup, 1009999999).cpu_pct_x100, -1);
    assert_int_equal(cgroup_read(&cgroup, 3 * SECOND_NS).cpu_pct_x100, 7500);
    put(&t, "sys/fs/cgroup", "cpu.stat", "usage_usec 3500000\n");
    assert_int_equal(cgroup_read(&cgroup, 3 * SECOND_NS + 1000).cpu_pct_x100, 7500);
    assert_int_equal(cgroup_read(&cgroup, 5 * SECOND_NS).cpu_pct_x100, 5000);
    cgroup_close(&cgroup);
    dirs_remove(t.root);
}

/* A file of the job that gets the number of one of ours is neither read nor closed. */
static void a_job_may_close_its_files(void **state)
{
    (void)state;
    struct tree t;
    struct cgroup cgroup;
    grow_container(&t);
    cgroup_open(&cgroup, t.proc, t.sys);
    put(&t, "", "of the job", "1048576\n");
    char path[512];
    snprintf(path, sizeof path, "%s/of the job", t.root);
    int own = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(own, cgroup.memory.use.own.fd), cgroup.memory.use.own.fd);
    int taken = cgroup.memory.use.own.fd;
    close(cgroup.cpu.use.own.fd);
    struct cgroup_sample s = cgroup_read(&cgroup, SECOND_NS);
    assert_int_equal(s.memory_used_mib, 700);
    put(&t, "sys/fs/cgroup", "cpu.stat", "usage_usec 1500000\n");
    assert_int_equal(cgroup_read(&cgroup, 2 * SECOND_NS).cpu_pct_x100, 5000);
    cgroup_close(&cgroup);
    assert_int_equal(fcntl(taken, F_GETFD) != -1, 1);
    close(taken);
    close(own);
    dirs_remove(t.root);
}

/* The moments in which a file of ours has a low number are those in which a job that
 * closes what it did not open may lose one of its own. */
static void a_sample_opens_nothing(void **state)
{
    (void)state;
    struct tree t;
    struct cgroup cgroup;
    grow_container(&t);
    cgroup_open(&cgroup, t.proc, t.sys);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    struct cgroup_sample s = cgroup_read(&cgroup, SECOND_NS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(s.memory_used_mib, 700);
    assert_int_equal(s.memory_limit_mib, 2048);
    assert_int_equal(s.cpu_limit_pct_x100, 25000);
    cgroup_close(&cgroup);
    dirs_remove(t.root);
}

static void the_lowest_limit_on_the_way_up_counts(void **state)
{
    (void)state;
    struct tree t;
    struct cgroup cgroup;
    grow(&t, "9:name=systemd:/x\n0::/pod/job\n");
    put(&t, "sys/fs/cgroup/pod/job", "memory.current", "104857600\n");
    put(&t, "sys/fs/cgroup/pod/job", "memory.max", "max\n");
    put(&t, "sys/fs/cgroup/pod/job", "cpu.max", "400000 100000\n");
    put(&t, "sys/fs/cgroup/pod/job", "cpu.stat", "usage_usec 5\n");
    put(&t, "sys/fs/cgroup/pod", "memory.current", "209715200\n");
    put(&t, "sys/fs/cgroup/pod", "memory.max", "1073741824\n");
    put(&t, "sys/fs/cgroup/pod", "cpu.max", "max 100000\n");
    put(&t, "sys/fs/cgroup/pod", "cpu.stat", "usage_usec 9\n");
    cgroup_open(&cgroup, t.proc, t.sys);
    struct cgroup_sample s = cgroup_read(&cgroup, SECOND_NS);
    assert_int_equal(s.memory_limit_mib, 1024);
    assert_int_equal(s.memory_used_mib, 200); /* of the group that has the limit */
    assert_int_equal(s.cpu_limit_pct_x100, 40000);
    cgroup_close(&cgroup);
    dirs_remove(t.root);
}

static void nothing_is_invented(void **state)
{
    (void)state;
    static const char *const self[] = {"4:memory:/x\n", "0::/../above\n", "0::/\n", "",
                                       "0::"};
    for (size_t i = 0; i < sizeof self / sizeof self[0]; i++) {
        struct tree t;
        struct cgroup cgroup;
        grow(&t, self[i]);
        put(&t, "sys/fs/cgroup", "cpu.max", "nonsense\n");
        cgroup_open(&cgroup, t.proc, t.sys);
        cgroup_read(&cgroup, SECOND_NS);
        struct cgroup_sample s = cgroup_read(&cgroup, 2 * SECOND_NS);
        assert_int_equal(s.cpu_pct_x100, -1);
        assert_int_equal(s.cpu_limit_pct_x100, -1);
        assert_int_equal(s.memory_used_mib, -1);
        assert_int_equal(s.memory_limit_mib, -1);
        cgroup_close(&cgroup);
        dirs_remove(t.root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_sees_its_limits),
        cmocka_unit_test(a_figure_is_of_10_ms_at_least),
        cmocka_unit_test(the_lowest_limit_on_the_way_up_counts),
        cmocka_unit_test(a_job_may_close_its_files),
        cmocka_unit_test(a_sample_opens_nothing),
        cmocka_unit_test(nothing_is_invented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
