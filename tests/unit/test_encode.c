/* SPDX-License-Identifier: Apache-2.0 */
/* What is encoded decodes to itself, and twice gives equal bytes. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "backend/store/codec.h"
#include "upload/http/encode.h"

static void round_trip(enum codec codec, size_t len)
{
    static const enum encoding as[] = {ENCODING_PLAIN, ENCODING_GZIP, ENCODING_ZSTD};
    struct encoder *encoder = encoder_open(1, 6);
    char *raw = malloc(len + 1);
    const void *encoded;
    void *first;
    char *back;
    size_t first_len;
    size_t second_len;
    size_t back_len;
    for (size_t i = 0; i < len; i++) {
        raw[i] = (char)(i * i >> 3);
    }
    assert_int_equal(encoder_encode(encoder, codec, raw, len, &encoded, &first_len),
                     GPUFL_OK);
    first = malloc(first_len);
    memcpy(first, encoded, first_len);
    assert_int_equal(encoder_encode(encoder, codec, raw, len, &encoded, &second_len),
                     GPUFL_OK);
    assert_int_equal(first_len, second_len);
    assert_memory_equal(first, encoded, first_len);
    assert_int_equal(codec_decode(as[codec], first, first_len, len + 1, &back, &back_len),
                     GPUFL_OK);
    assert_int_equal(back_len, len);
    assert_memory_equal(back, raw, len);
    free(first);
    free(back);
    free(raw);
    encoder_close(encoder);
}

static void every_codec_and_size(void **state)
{
    (void)state;
    static const size_t len[] = {1, 100, 65536, (1 << 20) + 7};
    for (size_t i = 0; i < sizeof len / sizeof len[0]; i++) {
        round_trip(CODEC_NONE, len[i]);
        round_trip(CODEC_GZIP, len[i]);
        round_trip(CODEC_ZSTD, len[i]);
    }
}

static void a_decoder_stops_at_its_cap(void **state)
{
    (void)state;
    struct encoder *encoder = encoder_open(1, 6);
    char *zeros = calloc(1, 10 << 20);
    char *out;
    size_t out_len;
    for (int codec = CODEC_GZIP; codec <= CODEC_ZSTD; codec++) {
        const void *frame;
        size_t len;
        assert_int_equal(
            encoder_encode(encoder, (enum codec)codec, zeros, 10 << 20, &frame, &len),
            GPUFL_OK);
        assert_int_equal(
            codec_decode((enum encoding)codec, frame, len, 1 << 20, &out, &out_len),
            GPUFL_PARTIAL);
        assert_null(out);
        assert_int_equal(
            codec_decode((enum encoding)codec, frame, len - 1, 64 << 20, &out, &out_len),
            GPUFL_ERR_FORMAT);
    }
    free(zeros);
    encoder_close(encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_and_size),
        cmocka_unit_test(a_decoder_stops_at_its_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
