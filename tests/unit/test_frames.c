/* SPDX-License-Identifier: Apache-2.0 */
/* Frames keep their bytes while others come and go, and leave no memory behind. */
#include "tests/support/check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/pick.h"
#include "upload/core/frames.h"

#define SLOTS 80
#define CAP   (1u << 20)

/* Of a stretch that is mapped. */
static size_t resident_bytes(void *from, size_t len)
{
    static unsigned char page[(64 << 20) / 4096];
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t resident = 0;
    assert_int_equal(mincore(from, len, page), 0);
    for (size_t i = 0; i < len / page_bytes; i++) {
        resident += (page[i] & 1) * page_bytes;
    }
    return resident;
}

/* All of the stretch is free again: it holds one frame of nearly its size. */
static void assert_empty(struct frames *frames, const char *begin)
{
    char *all = frames_take(frames, CAP - 64);
    assert_ptr_equal(all, begin);
    frames_give(frames, all);
}

static void frames_keep_their_bytes(void **state)
{
    (void)state;
    struct frames *frames = frames_open(CAP);
    unsigned char *frame[SLOTS] = {0};
    size_t len[SLOTS] = {0};
    char *begin = frames_take(frames, 1);
    frames_give(frames, begin);
    pick_seed(11);
    for (int step = 0; step < 20000; step++) {
        size_t i = pick(SLOTS);
        if (frame[i]) {
            for (size_t at = 0; at < len[i]; at += 997) {
                assert_int_equal(frame[i][at], i);
            }
            frames_give(frames, frame[i]);
            frame[i] = NULL;
        } else {
            len[i] = pick(pick(4) ? 3000 : 200000);
            frame[i] = frames_take(frames, len[i]);
            memset(frame[i], (int)i, len[i]);
        }
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (frame[i]) {
            frames_give(frames, frame[i]);
        }
    }
    assert_empty(frames, begin);
    frames_close(frames);
}

static void what_was_freed_is_used_first(void **state)
{
    (void)state;
    struct frames *frames = frames_open(CAP);
    char *first = frames_take(frames, 1000);
    char *second = frames_take(frames, 1000);
    frames_give(frames, first);
    assert_ptr_equal(frames_take(frames, 900), first);
    char *large = frames_take(frames, CAP); /* from elsewhere */
    memset(large, 1, CAP);
    frames_give(frames, large);
    frames_give(frames, first);
    frames_give(frames, second);
    assert_empty(frames, first);
    frames_close(frames);
}

static void an_empty_store_keeps_little(void **state)
{
    (void)state;
    size_t len = 60 << 20;
    struct frames *frames = frames_open(64 << 20);
    char *frame = frames_take(frames, len); /* the first one: it begins a page */
    memset(frame, 1, len);
    assert_int_equal(resident_bytes(frame, len), len);
    frames_give(frames, frame);
    assert_true(resident_bytes(frame, len) <= 1 << 20);
    frames_close(frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_keep_their_bytes),
        cmocka_unit_test(what_was_freed_is_used_first),
        cmocka_unit_test(an_empty_store_keeps_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
