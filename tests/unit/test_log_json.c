/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines as JSON. */
#include "tests/support/check.h"

#include <string.h>

#include "agent/log_json.h"
#include "base/utf8.h"

#define AT_MS  1786200000123
#define PREFIX "{\"ts\":\"2026-08-08T14:40:00.123Z\","

static void lines_become_objects(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } row[] = {
        {"info agent.started", "\"level\":\"info\",\"event\":\"agent.started\"}"},
        {"warn x a=b", "\"level\":\"warn\",\"event\":\"x\",\"a\":\"b\"}"},
        {"warn x a=12 b=0 c=012 d=-1", "\"level\":\"warn\",\"event\":\"x\",\"a\":12,"
                                       "\"b\":0,\"c\":\"012\",\"d\":\"-1\"}"},
        /* Beyond what a double holds it is text. */
        {"warn x a=123456789012345678 b=1234567890123456789",
         "\"level\":\"warn\",\"event\":\"x\",\"a\":123456789012345678,"
         "\"b\":\"1234567890123456789\"}"},
        {"warn x a=\"two words\" b=c",
         "\"level\":\"warn\",\"event\":\"x\",\"a\":\"two words\",\"b\":\"c\"}"},
        {"warn x a=\"a \"quoted\"path\" b=c", "\"level\":\"warn\",\"event\":\"x\",\"a\":"
                                              "\"a \\\"quoted\\\"path\",\"b\":\"c\"}"},
        {"warn x a=\"open", "\"level\":\"warn\",\"event\":\"x\",\"a\":\"open\"}"},
        {"warn x a=", "\"level\":\"warn\",\"event\":\"x\",\"a\":\"\"}"},
        {"warn x several words",
         "\"level\":\"warn\",\"event\":\"x\",\"text\":\"several words\"}"},
        {"warn x p=C:\\x", "\"level\":\"warn\",\"event\":\"x\",\"p\":\"C:\\\\x\"}"},
        {"warn x p=a\xff"
         "b",
         "\"level\":\"warn\",\"event\":\"x\",\"p\":\"a" UTF8_REPLACEMENT "b\"}"},
        {"warn x p=\xc3\xa4", "\"level\":\"warn\",\"event\":\"x\",\"p\":\"\xc3\xa4\"}"},
        {"", "\"level\":\"\",\"event\":\"\"}"},
    };
    struct text out = {0};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        log_json(row[i].line, AT_MS, &out);
        text_append(&out, "", 1);
        assert_memory_equal(out.data, PREFIX, strlen(PREFIX));
        assert_string_equal(out.data + strlen(PREFIX), row[i].want);
    }
    text_fini(&out);
}

static void a_line_that_would_be_too_long_loses_whole_fields(void **state)
{
    (void)state;
    char line[3000] = "warn x a=";
    struct text out = {0};
    size_t len = strlen(line);
    memset(line + len, '\xff', 2000); /* three bytes each */
    memcpy(line + len + 2000, " b=c", 5);
    log_json(line, AT_MS, &out);
    assert_in_range(out.len, 1, LOG_JSON_MAX);
    text_append(&out, "", 1);
    assert_string_equal(out.data,
                        PREFIX "\"level\":\"warn\",\"event\":\"x\",\"b\":\"c\"}");
    text_fini(&out);
}

static void an_object_is_never_longer_than_it_says(void **state)
{
    (void)state;
    struct text out = {0};
    for (size_t len = 3900; len < 4200; len++) {
        char line[4300] = "warn x a=";
        memset(line + 9, 'y', len);
        line[9 + len] = '\0';
        log_json(line, AT_MS, &out);
        assert_in_range(out.len, 1, LOG_JSON_MAX);
        assert_int_equal(out.data[out.len - 1], '}');
        /* The field is there exactly as long as it fits. */
        size_t whole =
            strlen(PREFIX "\"level\":\"warn\",\"event\":\"x\",\"a\":\"\"}") + len;
        assert_int_equal(out.len == whole, whole <= LOG_JSON_MAX);
    }
    text_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_objects),
        cmocka_unit_test(a_line_that_would_be_too_long_loses_whole_fields),
        cmocka_unit_test(an_object_is_never_longer_than_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
