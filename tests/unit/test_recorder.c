/* SPDX-License-Identifier: Apache-2.0 */
/* A scope belongs to the session in which it began, however many there were. */
#include "tests/support/check.h"

#include "collector-lib/recorder.h"

static struct recorder recorder = RECORDER_INIT;

static void begin_session(uint16_t generation)
{
    atomic_store(&recorder.generation, generation);
}

static size_t rows_of(uint16_t generation)
{
    struct ring_rows rows = {0};
    size_t count = 0;
    bool more = true;
    while (more) {
        more = rings_drain(&recorder.rings, generation, &rows);
        count += rows.now.count;
    }
    ring_rows_fini(&rows);
    return count;
}

static void the_session_after_the_last_generation_is_the_first_one(void **state)
{
    (void)state;
    assert_true(recorder_prepare(&recorder));
    assert_int_equal(recorder_generation_after(0), 1);
    assert_int_equal(recorder_generation_after(65534), 65535);
    begin_session(65535);
    struct gpufl_scope last = recorder_begin_scope(&recorder, "last", 0, 0);
    assert_int_equal(last.generation, 65535);
    assert_int_equal(rows_of(65535), 1);

    uint16_t next = recorder_generation_after(65535);
    assert_int_equal(next, 1); /* 0 would record nothing */
    begin_session(next);
    struct gpufl_scope first = recorder_begin_scope(&recorder, "first", 0, 0);
    recorder_end_scope(&recorder, last); /* not of this session */
    assert_int_equal(first.depth, 0);
    recorder_end_scope(&recorder, first);
    assert_int_equal(rows_of(next), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_session_after_the_last_generation_is_the_first_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
