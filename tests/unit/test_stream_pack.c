/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of complete sessions: few bytes, and nothing of it changes by that. */
#include "tests/support/check.h"

#include <stdio.h>
#include <time.h>

#include "tests/support/pick.h"
#include "upload/core/parked.h"

#define ROUNDS 20000u

/* Compared field by field, as there are holes between them. */
static void assert_same(const struct packed_stream *a, const struct packed_stream *b)
{
    assert_true(a->offset == b->offset && a->head == b->head && a->lines == b->lines);
    assert_true(a->mark.bytes == b->mark.bytes && a->mark.crc32 == b->mark.crc32);
    assert_true(a->sealed.stream == b->sealed.stream && a->sealed.file == b->sealed.file);
    assert_true(a->sealed.bytes == b->sealed.bytes &&
                a->sealed.deleted == b->sealed.deleted);
    assert_true(a->sealed.mark.bytes == b->sealed.mark.bytes &&
                a->sealed.mark.crc32 == b->sealed.mark.crc32);
    assert_true(stream_place_is(&a->end.at, &b->end.at));
    assert_true(a->end.file_crc == b->end.file_crc && a->end.losses == b->end.losses);
    assert_true(a->end.epoch == b->end.epoch && a->end.state == b->end.state);
    assert_true(a->end.top_file == b->end.top_file &&
                a->end.top_offset == b->end.top_offset);
    assert_true(a->file == b->file && a->sequence == b->sequence && a->id == b->id);
    assert_true(a->channel == b->channel && a->kind == b->kind);
    assert_true(a->layout == b->layout && a->marks == b->marks);
}

/* Of any size, as often small as large, and often none. */
static uint64_t number(unsigned bits)
{
    uint64_t any = pick(1ull << 32) << 32 | pick(1ull << 32);
    return pick(3) ? any >> (64 - bits + pick(bits)) : 0;
}

static struct packed_stream some_stream(void)
{
    return (struct packed_stream){
        .offset = number(64),
        .head = number(64),
        .mark = {(uint32_t)number(32), (uint32_t)number(32)},
        .sealed = {.stream = (uint32_t)number(32),
                   .file = (uint32_t)number(32),
                   .bytes = number(64),
                   .mark = {(uint32_t)number(32), (uint32_t)number(32)},
                   .deleted = (uint32_t)number(32)},
        .end = {.at = {(uint32_t)number(32), number(64), number(64),
                       (uint32_t)number(32)},
                .file_crc = (uint32_t)number(32),
                .losses = (uint32_t)number(32),
                .epoch = number(64),
                .top_file = (uint32_t)number(32),
                .top_offset = number(64),
                .state = (uint8_t)number(8)},
        .lines = number(64),
        .file = (uint32_t)number(32),
        .sequence = (uint32_t)number(32),
        .id = (uint32_t)number(32),
        .channel = (uint8_t)number(8),
        .kind = (uint8_t)number(8),
        .layout = (uint8_t)number(8),
        .marks = (uint8_t)number(8)};
}

static void assert_comes_back(const struct packed_stream *in, unsigned count)
{
    unsigned char packed[SCAN_CHANNELS_MAX * STREAM_PACK_MAX];
    struct packed_stream out[SCAN_CHANNELS_MAX];
    size_t len = stream_pack(in, count, packed);
    assert_true(len <= count * STREAM_PACK_MAX);
    memset(packed + len, 0xff, sizeof packed - len); /* nothing else is read */
    stream_unpack(packed, count, out);
    for (unsigned i = 0; i < count; i++) {
        assert_same(&in[i], &out[i]);
    }
}

static void what_is_packed_comes_back(void **state)
{
    (void)state;
    struct packed_stream in[SCAN_CHANNELS_MAX];
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    pick_seed(seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned count = (unsigned)pick(SCAN_CHANNELS_MAX + 1);
        for (unsigned i = 0; i < count; i++) {
            in[i] = some_stream();
        }
        assert_comes_back(in, count);
    }
}

static void the_largest_numbers_fit(void **state)
{
    (void)state;
    struct packed_stream in[SCAN_CHANNELS_MAX];
    memset(in, 0xff, sizeof in);
    assert_comes_back(in, SCAN_CHANNELS_MAX);
    memset(in, 0, sizeof in);
    assert_comes_back(in, SCAN_CHANNELS_MAX);
}

/* A user may keep the sessions of years. */
static void a_usual_session_takes_few_bytes(void **state)
{
    (void)state;
    const char *path = "5f0c6a52-3a64-4f0b-9a2e-5c8b1f6d0e37";
    struct shares shares = {.limit = 112u << 20};
    struct parked parked = {.shares = &shares};
    struct packed_stream in[3];
    for (unsigned i = 0; i < 3; i++) {
        struct stream_place end = {1, 123456, 789, 0x89abcdef};
        in[i] = (struct packed_stream){.offset = end.offset,
                                       .mark = {4096, 0x12345678},
                                       .end = {.at = end,
                                               .file_crc = end.crc,
                                               .epoch = 0x123456789abcdef0,
                                               .top_file = 1,
                                               .top_offset = end.offset},
                                       .lines = end.lines,
                                       .file = 1,
                                       .id = 900000 + i,
                                       .channel = (uint8_t)i,
                                       .kind = STREAM_BATCHED,
                                       .layout = 1,
                                       .marks = MARK_POSITIONS};
    }
    assert_non_null(parked_new(&parked, path, 1000, in, 1));
    assert_true(shares.amount <= 170);
    assert_non_null(parked_new(&parked, path, 1000, in, 3));
    assert_true(shares.amount <= 170 + 220);
    parked_close(&parked);
    assert_int_equal(shares.amount, 0);
    shares_close(&shares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(the_largest_numbers_fit),
        cmocka_unit_test(a_usual_session_takes_few_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
