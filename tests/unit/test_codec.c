/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies are decoded up to a limit, whatever they claim. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "backend/store/codec.h"

static void a_header_names_its_encoding(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum encoding encoding;
    } row[] = {{NULL, ENCODING_PLAIN},          {"", ENCODING_PLAIN},
               {"identity", ENCODING_PLAIN},    {"Identity", ENCODING_PLAIN},
               {"gzip", ENCODING_GZIP},         {"GZIP", ENCODING_GZIP},
               {"zstd", ENCODING_ZSTD},         {"br", ENCODING_UNKNOWN},
               {"gzip, zstd", ENCODING_UNKNOWN}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(codec_of_header(row[i].header), row[i].encoding);
    }
}

static void what_is_larger_than_the_limit_is_partial(void **state)
{
    (void)state;
    enum { LEN = 100000 };
    static char raw[LEN];
    char *frame, *out;
    size_t frame_len, out_len;
    memset(raw, 'a', sizeof raw);
    assert_int_equal(codec_encode_zstd(raw, LEN, &frame, &frame_len), GPUFL_OK);
    assert_true(frame_len < 1000);
    static const struct {
        size_t max;
        gpufl_status status;
    } row[] = {{LEN + 1, GPUFL_OK},
               {2 * LEN, GPUFL_OK},
               {LEN - 1, GPUFL_PARTIAL},
               {1, GPUFL_PARTIAL},
               {0, GPUFL_PARTIAL}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(
            codec_decode(ENCODING_ZSTD, frame, frame_len, row[i].max, &out, &out_len),
            row[i].status);
        assert_int_equal(out_len, row[i].status == GPUFL_OK ? LEN : 0);
        if (row[i].status == GPUFL_OK) {
            assert_memory_equal(out, raw, LEN);
        } else {
            assert_null(out);
        }
        free(out);
    }
    assert_int_equal(codec_decode(ENCODING_PLAIN, raw, LEN, LEN, &out, &out_len),
                     GPUFL_OK);
    assert_memory_equal(out, raw, LEN);
    free(out);
    assert_int_equal(codec_decode(ENCODING_PLAIN, raw, LEN, LEN - 1, &out, &out_len),
                     GPUFL_PARTIAL);
    free(frame);
}

static void what_is_broken_is_refused(void **state)
{
    (void)state;
    char *frame, *out;
    size_t frame_len, out_len;
    assert_int_equal(codec_encode_zstd("text", 4, &frame, &frame_len), GPUFL_OK);
    const struct {
        enum encoding encoding;
        const char *body;
        size_t len;
    } row[] = {{ENCODING_ZSTD, frame, frame_len - 1},
               {ENCODING_ZSTD, "text", 4},
               {ENCODING_ZSTD, "", 0},
               {ENCODING_GZIP, frame, frame_len},
               {ENCODING_GZIP, "", 0},
               {ENCODING_UNKNOWN, frame, frame_len}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(
            codec_decode(row[i].encoding, row[i].body, row[i].len, 1000, &out, &out_len),
            GPUFL_ERR_FORMAT);
        assert_null(out);
    }
    assert_int_equal(codec_decode(ENCODING_PLAIN, "", 0, 1000, &out, &out_len), GPUFL_OK);
    assert_int_equal(out_len, 0);
    free(out);
    free(frame);
}

/* \p text as a gzip member, at \p to. \return its length. */
static size_t member(unsigned char *to, size_t cap, const char *text)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = to;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t len = z.total_out;
    deflateEnd(&z);
    return len;
}

static void the_end_of_the_first_frame_is_found(void **state)
{
    (void)state;
    unsigned char gzip[200];
    unsigned char zstd[400];
    char *frame, *out;
    size_t first, second, out_len;
    size_t one = member(gzip, sizeof gzip, "list\n");
    size_t all = one + member(gzip + one, sizeof gzip - one, "lines\n");
    assert_int_equal(codec_first_frame(ENCODING_GZIP, gzip, all, 5), one);
    assert_int_equal(codec_first_frame(ENCODING_GZIP, gzip, all, 4), 0);
    assert_int_equal(codec_first_frame(ENCODING_GZIP, gzip, all, 11), 0);

    assert_int_equal(codec_encode_zstd("list\n", 5, &frame, &first), GPUFL_OK);
    memcpy(zstd, frame, first);
    free(frame);
    assert_int_equal(codec_encode_zstd("lines\n", 6, &frame, &second), GPUFL_OK);
    memcpy(zstd + first, frame, second);
    free(frame);
    assert_int_equal(codec_first_frame(ENCODING_ZSTD, zstd, first + second, 5), first);
    assert_int_equal(codec_first_frame(ENCODING_ZSTD, zstd, first + second, 6), 0);
    assert_int_equal(
        codec_decode(ENCODING_ZSTD, zstd, first + second, 11, &out, &out_len), GPUFL_OK);
    assert_int_equal(out_len, 11);
    assert_memory_equal(out, "list\nlines\n", 11);
    free(out);
    assert_int_equal(codec_first_frame(ENCODING_PLAIN, "list\nlines\n", 11, 5), 0);
}

/* A header can promise anything. */
static void a_frame_is_as_long_as_it_says_or_broken(void **state)
{
    (void)state;
    static const unsigned char promise[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0x7f, /* 2 GiB */
        0x29, 0,    0,    'a',  'b',  'c',  'd',  'e'};
    char *out;
    size_t out_len;
    assert_int_equal(
        codec_decode(ENCODING_ZSTD, promise, sizeof promise, 128 << 20, &out, &out_len),
        GPUFL_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_names_its_encoding),
        cmocka_unit_test(what_is_larger_than_the_limit_is_partial),
        cmocka_unit_test(what_is_broken_is_refused),
        cmocka_unit_test(the_end_of_the_first_frame_is_found),
        cmocka_unit_test(a_frame_is_as_long_as_it_says_or_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
