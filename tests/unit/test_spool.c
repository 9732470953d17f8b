/* SPDX-License-Identifier: Apache-2.0 */
/* When recording pauses for want of room, and when it resumes. */
#include "tests/support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collector-lib/core/spool.h"
#include "tests/support/dirs.h"

#define SECOND_NS 1000000000
#define MS_NS     1000000

struct place {
    char *dir;
    struct own_fd own;
    struct spool spool;
    int64_t now_ns;
};

static void open_place(struct place *p, uint64_t max_bytes)
{
    *p = (struct place){.dir = dirs_make(), .spool = {.max_bytes = max_bytes}};
    assert_true(own_fd_take(&p->own, open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    p->spool.dir = &p->own;
    dirs_append(p->dir, "device.log", "");
}

static void close_place(struct place *p)
{
    own_fd_close(&p->own);
    dirs_remove(p->dir);
}

/* With \p bytes in the directory, loss marker and reserve not counted. \return whether it
 * pauses. */
static bool pauses_with(struct place *p, off_t bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/.gpufl-transport-loss.spool.0.json", p->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/.gpufl-reserve", p->dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/device.log", p->dir);
    assert_int_equal(truncate(path, bytes), 0);
    p->now_ns += SECOND_NS;
    bool was_paused = p->spool.paused;
    bool resumed = spool_check(&p->spool, p->now_ns, 0);
    assert_int_equal(resumed, was_paused && !p->spool.paused);
    return p->spool.paused;
}

static void it_resumes_only_when_a_tenth_of_the_limit_is_free(void **state)
{
    (void)state;
    struct place p;
    open_place(&p, 1000);
    assert_false(pauses_with(&p, 999));
    assert_true(pauses_with(&p, 1000));
    assert_true(pauses_with(&p, 999));
    assert_true(pauses_with(&p, 900));
    spool_lost(&p.spool, "a\n", 2, 0);
    assert_false(pauses_with(&p, 899));
    assert_false(pauses_with(&p, 999));
    assert_int_equal(p.spool.markers, 1);
    close_place(&p);
}

static void it_looks_once_a_second_or_when_the_limit_is_near(void **state)
{
    (void)state;
    struct place p;
    open_place(&p, 1000);
    assert_false(pauses_with(&p, 500));
    dirs_append(p.dir, "scope.log", "0123456789");
    spool_wrote(&p.spool, 499);
    spool_check(&p.spool, p.now_ns + 1, 0);
    assert_int_equal(p.spool.estimate, 999); /* not looked at */
    spool_wrote(&p.spool, 1);
    spool_check(&p.spool, p.now_ns + 1, 0);
    assert_int_equal(p.spool.estimate, 510); /* it was less than that */
    close_place(&p);
}

/* \return after how many milliseconds of a pause that begins now another write is tried;
 * with that it succeeds. */
static int waits_ms(struct place *p)
{
    int64_t began_ns = p->now_ns;
    assert_true(spool_fail(&p->spool, "device", ENOSPC, p->now_ns, 0));
    assert_false(spool_fail(&p->spool, "scope", ENOSPC, p->now_ns, 0)); /* one pause */
    while (!spool_retry_is_due(&p->spool, p->now_ns)) {
        p->now_ns += MS_NS;
    }
    assert_false(spool_retry_is_due(&p->spool, p->now_ns)); /* once for each time */
    spool_lost(&p->spool, "a\n", 2, 0);
    spool_resume(&p->spool, p->now_ns);
    assert_false(p->spool.paused);
    return (int)((p->now_ns - began_ns) / MS_NS);
}

/* Else a disk that takes a few lines now and then has a pause for each of them. */
static void a_write_that_fails_soon_again_is_tried_later_each_time(void **state)
{
    (void)state;
    static const int ms[] = {200, 400, 800, 1600, 3200, 5000, 5000};
    struct place p;
    open_place(&p, 0);
    for (int calm = 0; calm < 2; calm++) {
        for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
            assert_int_equal(waits_ms(&p), ms[i]);
            p.now_ns += 9999 * (int64_t)MS_NS;
        }
        p.now_ns += MS_NS;
    }
    assert_int_equal(p.spool.markers, 2 * sizeof ms / sizeof *ms);
    close_place(&p);
}

static void while_writes_fail_they_are_tried_now_and_then(void **state)
{
    (void)state;
    struct place p;
    open_place(&p, 1000);
    assert_true(spool_fail(&p.spool, "device", EIO, 0, 0));
    unsigned tried = 0;
    for (int i = 0; i < 2000; i++) {
        p.now_ns += MS_NS;
        tried += spool_retry_is_due(&p.spool, p.now_ns);
        assert_false(spool_check(&p.spool, p.now_ns, 0)); /* room does not end it */
    }
    assert_int_equal(tried, 10);
    assert_true(p.spool.paused);
    close_place(&p);
}

static bool has_file(const struct place *p, const char *name)
{
    return faccessat(p->own.fd, name, F_OK, 0) == 0;
}

static void a_pause_that_has_lost_nothing_leaves_no_marker(void **state)
{
    (void)state;
    static const char first[] = ".gpufl-transport-loss.spool.0.json";
    static const char second[] = ".gpufl-transport-loss.spool.1.json";
    struct place p;
    open_place(&p, 1000);
    for (int lines = 0; lines < 2; lines++) {
        assert_true(spool_fail(&p.spool, "device", ENOSPC, 0, 0));
        assert_true(has_file(&p, first)); /* it may be killed now */
        spool_lost(&p.spool, "a\n", lines ? 2 : 0, 0);
        spool_resume(&p.spool, 0);
        assert_int_equal(has_file(&p, first), lines);
        assert_true(has_file(&p, ".gpufl-reserve"));
    }
    assert_true(spool_fail(&p.spool, "device", ENOSPC, 0, 0));
    spool_end(&p.spool, "id"); /* what opens a session may be missing */
    assert_true(has_file(&p, second));
    p.spool.paused = p.spool.failed = false;
    p.spool.max_bytes = 1;
    assert_false(spool_check(&p.spool, SECOND_NS, 0));
    assert_true(p.spool.paused && has_file(&p, second));
    spool_end(&p.spool, "id");
    assert_false(has_file(&p, second));
    assert_true(has_file(&p, first) && !has_file(&p, ".gpufl-reserve"));
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_resumes_only_when_a_tenth_of_the_limit_is_free),
        cmocka_unit_test(it_looks_once_a_second_or_when_the_limit_is_near),
        cmocka_unit_test(a_write_that_fails_soon_again_is_tried_later_each_time),
        cmocka_unit_test(a_pause_that_has_lost_nothing_leaves_no_marker),
        cmocka_unit_test(while_writes_fail_they_are_tried_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
