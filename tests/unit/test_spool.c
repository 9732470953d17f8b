/* SPDX-License-Identifier: Apache-2.0 */
/* When recording pauses for want of room, and when it resumes. */
#include "tests/support/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collector-lib/core/spool.h"
#include "tests/support/dirs.h"

#define SECOND_NS 1000000000

struct place {
    char *dir;
    struct spool spool;
    int64_t now_ns;
};

static void open_place(struct place *p, uint64_t max_bytes)
{
    *p = (struct place){.dir = dirs_make(), .spool = {.max_bytes = max_bytes}};
    p->spool.dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY);
    assert_true(p->spool.dir_fd >= 0);
    dirs_append(p->dir, "device.log", "");
}

static void close_place(struct place *p)
{
    close(p->spool.dir_fd);
    dirs_remove(p->dir);
}

/* With \p bytes in the directory, the loss marker not counted. \return whether it pauses.
 */
static bool pauses_with(struct place *p, off_t bytes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/.gpufl-transport-loss.spool.0.json", p->dir);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_resumes_only_when_a_tenth_of_the_limit_is_free),
        cmocka_unit_test(it_looks_once_a_second_or_when_the_limit_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
