/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and strings as they stand in a line. */
#include "tests/support/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void expect(struct text *text, const char *want)
{
    assert_false(text->failed);
    assert_int_equal(text->len, strlen(want));
    assert_memory_equal(text->data, want, text->len);
    text_clear(text);
}

static void numbers_are_plain_decimal(void **state)
{
    (void)state;
    struct text text = {0};
    text_u64(&text, 0);
    expect(&text, "0");
    text_u64(&text, UINT64_MAX);
    expect(&text, "18446744073709551615");
    text_i64(&text, INT64_MIN);
    expect(&text, "-9223372036854775808");
    char want[24];
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        for (uint64_t value = power - 1; value <= power + 1; value++) {
            text_u64(&text, value);
            snprintf(want, sizeof want, "%" PRIu64, value);
            expect(&text, want);
        }
    }
    text_fini(&text);
}

static void what_lacks_a_part_has_failed(void **state)
{
    (void)state;
    struct text text = {0}, part = {0};
    text_puts(&text, "[");
    text_puts(&part, "1");
    text_join(&text, &part);
    expect(&text, "[1");
    part.failed = true;
    text_join(&text, &part);
    assert_true(text.failed);
    text_fini(&text);
    text_fini(&part);
}

static void strings_are_escaped_and_always_valid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } row[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\r\t", "\"\\n\\r\\t\""},
        {"\x01\x1f", "\"\\u0001\\u001f\""},
        {"/\x7f", "\"/\x7f\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"\xc3", "\"\xef\xbf\xbd\""},
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    struct text text = {0};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        text_json_string(&text, row[i].in);
        expect(&text, row[i].out);
    }
    text_fini(&text);
}

static void it_grows_as_needed(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 10000; i++) {
        text_printf(&text, "%d,", i);
    }
    assert_true(text.len > 40000);
    assert_memory_equal(text.data + text.len - 5, "9999,", 5);
    text_fini(&text);
}

static void room_is_made_behind_what_is_there(void **state)
{
    (void)state;
    struct text text = {0};
    text_puts(&text, "ab");
    assert_true(text_reserve(&text, 100000));
    assert_true(text.cap - text.len >= 100000);
    assert_int_equal(text.len, 2);
    assert_memory_equal(text.data, "ab", 2);
    text.failed = true;
    assert_false(text_reserve(&text, 1));
    text_fini(&text);
}

static void memory_behind_what_is_there_is_given_back(void **state)
{
    (void)state;
    struct text text = {0};
    text_fit(&text);
    assert_int_equal(text.cap, 0);
    text_puts(&text, "ab");
    text_fit(&text);
    assert_int_equal(text.cap, 2);
    text_puts(&text, "cd");
    expect(&text, "abcd");
    text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_plain_decimal),
        cmocka_unit_test(what_lacks_a_part_has_failed),
        cmocka_unit_test(strings_are_escaped_and_always_valid_utf8),
        cmocka_unit_test(it_grows_as_needed),
        cmocka_unit_test(room_is_made_behind_what_is_there),
        cmocka_unit_test(memory_behind_what_is_there_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
