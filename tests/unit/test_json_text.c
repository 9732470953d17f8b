/* SPDX-License-Identifier: Apache-2.0 */
/* What is one whole JSON object, and that no tree is larger than was estimated. */
#include "tests/support/check.h"

#include <json-c/json.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"

static void an_object_is_whole_or_it_is_none(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "{}",
        " { } \r\n",
        "{\"a\":1}",
        "{\"a\":-0.5e+10,\"b\":[1,2,[]],\"c\":{\"d\":null},\"e\":true,\"f\":false}",
        "{\"a\":\"\\u00e9\\n\\\"\\\\\"}",
        "{\"a\":NaN,\"b\":-Infinity}",
        "{\"\":{\"\":{}}}",
    };
    static const char *const none[] = {
        "",
        " ",
        "[]",
        "1",
        "{",
        "}",
        "{}}",
        "{} x",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":-}",
        "{\"a\":[1,2}",
        "{\"a\":[1 2]}",
        "{\"a\":\"x}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\\",
        "{\"a\":\"\x01\"}",
        "{\"a\":tru}",
        "{\"a\":nul",
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (!json_is_object(whole[i], strlen(whole[i]), 8)) {
            fail_msg("'%s' is whole", whole[i]);
        }
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        if (json_is_object(none[i], strlen(none[i]), 8)) {
            fail_msg("'%s' is none", none[i]);
        }
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    assert_true(json_is_object("{\"a\":[1]}", 9, 3));
    assert_false(json_is_object("{\"a\":[1]}", 9, 2));
}

/* \p unit again and again in an array. */
static size_t tree_of(const char *unit, size_t *estimate)
{
    size_t count = (1u << 17) / strlen(unit);
    char *text = malloc(count * strlen(unit) + 16);
    size_t len = (size_t)snprintf(text, 16, "{\"a\":[0");
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)snprintf(text + len, strlen(unit) + 1, "%s", unit);
    }
    len += (size_t)snprintf(text + len, 3, "]}");
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct json_object *tree = json_tokener_parse(text);
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    assert_non_null(tree);
    json_object_put(tree);
    *estimate = json_tree_bytes(text, len);
    free(text);
    return after - before;
}

static void no_tree_is_larger_than_its_estimate(void **state)
{
    (void)state;
    static const char *const unit[] = {",0",
                                       ",{}",
                                       ",[]",
                                       ",\"\"",
                                       ",1.5",
                                       ",{\"a\":0}",
                                       ",[0,0]",
                                       ",[{}]",
                                       ",true",
                                       ",\"{[a, b]}\"",
                                       ",\"xxxxxxxxxxxxx\""};
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
        size_t estimate;
        size_t taken = tree_of(unit[i], &estimate);
        if (taken > estimate) {
            fail_msg("%s: %zu bytes, estimated %zu", unit[i], taken, estimate);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_whole_or_it_is_none),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(no_tree_is_larger_than_its_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
