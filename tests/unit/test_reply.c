/* SPDX-License-Identifier: Apache-2.0 */
/* Replies say something or nothing, and never break us. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/http/reply.h"

static struct reply_batch batch(const char *body)
{
    struct reply_batch out;
    reply_read_batch(body, strlen(body), &out);
    return out;
}

static void what_a_reply_to_a_batch_says(void **state)
{
    (void)state;
    struct reply_batch r =
        batch("{\"accepted\":5,\"rejected\":2,\"window_acknowledged\":true}");
    assert_int_equal(r.accepted, 5);
    assert_int_equal(r.rejected, 2);
    assert_true(r.acknowledged);
    r = batch("{\"accepted_for_processing\":true,\"spool_id\":\"s-1\"}");
    assert_int_equal(r.accepted, -1);
    assert_string_equal(r.spool_id, "s-1");
    assert_true(batch("{\"error\":\"window_identity_conflict\"}").identity_conflict);
    assert_true(batch("conflict: window_sequence_conflict").sequence_conflict);
    static const char *const odd[] = {"",
                                      "null",
                                      "[1]",
                                      "{",
                                      "{\"accepted\":-5}",
                                      "{\"accepted\":\"5\"}",
                                      "<html>",
                                      "{\"rejected\":1e99}"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(batch(odd[i]).accepted, -1);
        assert_int_equal(batch(odd[i]).rejected, 0);
        assert_false(batch(odd[i]).acknowledged);
    }
}

static struct reply_version version(const char *body)
{
    struct reply_version out;
    reply_read_version(body, strlen(body), &out);
    return out;
}

static void what_an_origin_declares(void **state)
{
    (void)state;
    struct reply_version v =
        version("{\"supported\":[\"1\"],\"encodings\":[\"gzip\",\"zstd\"],"
                "\"live_windows\":true,\"window_registry\":true}");
    assert_true(v.supported && v.zstd && v.live_windows && v.registry);
    v = version("{\"supported\":[\"2\"]}");
    assert_false(v.supported || v.zstd || v.live_windows || v.registry);
    assert_int_equal(v.alive_after_ms, 0);
    assert_int_equal(version("{\"alive_after_ms\":60000}").alive_after_ms, 60000);
    assert_int_equal(version("{\"alive_after_ms\":-1}").alive_after_ms, 0);
    assert_int_equal(version("{\"alive_after_ms\":true}").alive_after_ms, 0);
    v = version("{\"encodings\":\"zstd\",\"live_windows\":1}");
    assert_true(v.supported);
    assert_false(v.zstd || v.live_windows);
    assert_false(version("nonsense").zstd);
}

static void a_person_reads_the_message_of_a_body(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"{\"error\":\"unauthorized\",\"message\":\"wrong \\\"key\\\"\\u001b[1m\"}\n",
         "wrong 'key'?[1m"},
        {"{\"message\":7}", "{'message':7}"},
        {"plain text \r\n", "plain text"},
        {"\n", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[64];
        reply_message(row[i][0], strlen(row[i][0]), out, sizeof out);
        assert_string_equal(out, row[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_person_reads_the_message_of_a_body),
        cmocka_unit_test(what_a_reply_to_a_batch_says),
        cmocka_unit_test(what_an_origin_declares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
