/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file's JSON. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "collector-lib/core/flat_json.h"

static void note(void *arg, const char *key, enum flat_json_kind kind, const char *value)
{
    char *out = arg;
    size_t used = strlen(out);
    snprintf(out + used, 512 - used, "%s=%d:%s;", key, (int)kind, value);
}

static bool parse(const char *text, char out[512], struct flat_json_place *stopped)
{
    char copy[512];
    out[0] = '\0';
    snprintf(copy, sizeof copy, "%s", text);
    return flat_json_parse(copy, strlen(copy), note, out, stopped);
}

static void objects_are_read(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"{}", ""},
        {" { } \n", ""},
        {"{\"a\":1,\"b\":-2.5e3}", "a=1:1;b=1:-2.5e3;"},
        {"{\"a\" : true , \"b\":false,\"c\":null}", "a=2:true;b=3:false;c=4:null;"},
        {"{\"s\":\"x\\\"\\\\\\n\\u0041\\u20ac\"}", "s=0:x\"\\\nA\xe2\x82\xac;"},
        {"{\"n\":{\"x\":[1,\"]}\"]},\"m\":[[]]}", "n=5:;m=5:;"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[512];
        struct flat_json_place stopped;
        assert_true(parse(row[i][0], out, &stopped));
        assert_string_equal(out, row[i][1]);
    }
}

static void mistakes_are_told_with_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line, column;
    } row[] = {
        {"", 1, 1},
        {"[]", 1, 1},
        {"{", 1, 2},
        {"{\"a\"", 1, 5},
        {"{\"a\":", 1, 6},
        {"{\"a\":1,}", 1, 8},
        {"{\"a\":tru}", 1, 9},
        {"{\n\"a\":\n oops}", 3, 6},
        {"{}\n\nx", 3, 1},
        {"{\"a\":\"\\q\"}", 1, 8},
        {"{\"a\":\"\\u00\"}", 1, 8},
        {"{\"a\":\"x", 1, 8},
        {"{\"a\":\"\\u0000\"}", 1, 8},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char out[512];
        struct flat_json_place stopped;
        assert_false(parse(row[i].text, out, &stopped));
        assert_int_equal(stopped.line, row[i].line);
        assert_int_equal(stopped.column, row[i].column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_read),
        cmocka_unit_test(mistakes_are_told_with_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
