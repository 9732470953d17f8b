/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies are decoded up to a limit, whatever they claim. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_names_its_encoding),
        cmocka_unit_test(what_is_larger_than_the_limit_is_partial),
        cmocka_unit_test(what_is_broken_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
