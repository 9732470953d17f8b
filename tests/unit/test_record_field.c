/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a record are found whatever its spacing. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/record_field.h"

/* A copy with nothing behind it, so that a sanitizer sees a read beyond the line. */
static char *exact_copy(const char *line, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, line, len);
    return copy;
}

static void a_type_is_found_whatever_the_spacing(void **state)
{
    (void)state;
    static const struct {
        const char *line, *type;
    } row[] = {
        {"{\"type\":\"shutdown\",\"pid\":1}", "shutdown"},
        {"{\"type\": \"shutdown\", \"pid\": 1}", "shutdown"},
        {"{\"version\": 1, \"type\": \"x\"}", "x"},
        {" \t{ \"version\"\t:1 ,\"type\" :\r\n\"x\" }", "x"},
        {"{\"a\":{\"type\":\"no\",\"b\":[{}]},\"type\":\"x\"}", "x"},
        {"{\"a\":[\"]\\\"}\",1],\"type\":\"x\"}", "x"},
        {"{\"a\":\"\\\\\",\"type\":\"x\"}", "x"},
        {"{\"a\":\"\\\",\\\"type\\\":\\\"no\\\"\",\"type\":\"x\"}", "x"},
        {"{\"a\":-1.5e3,\"b\":null,\"c\":true,\"type\":\"x\"}", "x"},
        {"{\"type\":\"\"}", ""},
        {"{\"type\":\"cut behind it\"", "cut behind it"},
        {"{\"typed\":\"x\",\"typ\":\"x\"}", NULL},
        {"{\"type\":1}", NULL},
        {"{\"type\":\"cut", NULL},
        {"{\"a\":\"type\"}", NULL},
        {"{\"a\":[\"type\":\"x\"}", NULL},
        {"{\"a\" \"type\":\"x\"}", NULL},
        {"\"type\":\"x\"", NULL},
        {"[{\"type\":\"x\"}]", NULL},
        {"{\"a\":\"\\", NULL},
        {"{}", NULL},
        {"{", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        size_t len = strlen(row[i].line);
        char *line = exact_copy(row[i].line, len);
        struct record_text text = {NULL, 0};
        bool found = record_field_text(line, len, "type", &text);
        assert_int_equal(found, row[i].type != NULL);
        if (found) {
            assert_int_equal(text.len, strlen(row[i].type));
            assert_memory_equal(text.at, row[i].type, text.len);
            assert_true(record_field_is(line, len, "type", row[i].type));
        }
        assert_false(record_field_is(line, len, "type", "another"));
        free(line);
    }
}

static void keys_are_counted_however_they_are_spelled(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned times, members; /* of `a_b`, and of plain ones */
    } row[] = {
        {"{}", 0, 0},
        {"", 0, 0},
        {"{\"a_b\":1}", 1, 1},
        {"{\"a_b\":1,\"c\":{\"a_b\":2},\"a_b\":[3]}", 2, 3},
        {"{\"a\\u005fb\":1,\"a\\u005Fb\":1,\"\\u0061_\\u0062\":1}", 3, 0},
        {"{\"a\\u005f\":1,\"a\\u005fbc\":1,\"a\\_b\":1,\"a\\u00_b\":1,\"a\\u015fb\":1}",
         0, 0},
        {"{\"a_b\":\"x\" \"a_b\":1}", 1, 1},
        {"{\"a_b\":1,\"a_b", 1, 1},
        {"{\"a_b\":1,\"a\\u005", 1, 1},
        {" { \"a_b\" : 1 , \"c\" : null } ", 1, 2},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        size_t len = strlen(row[i].line);
        char *line = exact_copy(row[i].line, len);
        assert_int_equal(record_field_times(line, len, "a_b"), row[i].times);
        assert_int_equal(record_field_members(line, len), row[i].members);
        free(line);
    }
}

static void members_are_taken_one_after_the_other(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *members; /* each with its value, and a semicolon */
    } row[] = {
        {"{\"a\":1,\"b\":{\"c\":\"},\"},\"a\":[2,3]}", "a=1;b={\"c\":\"},\"};a=[2,3];"},
        {" { \"a\" : \"x\\\"\" , \"\\u0062\":null } ", "a=\"x\\\"\";\\u0062=null ;"},
        {"{}", ""},
        {"", ""},
        {"[1]", ""},
        {"{\"a\":1,\"b\":{\"c\":2", "a=1;"},
        {"{\"a\":1 \"b\":2}", "a=1 \"b\":2;"},
        {"{\"a\":\"1\" \"b\":2}", "a=\"1\";"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        size_t len = strlen(row[i].line);
        char *line = exact_copy(row[i].line, len);
        struct record_text rest = {line, len};
        struct record_text name;
        struct record_text value;
        char all[100] = "";
        size_t used = 0;
        while (record_field_next(&rest, &name, &value)) {
            used += (size_t)snprintf(all + used, sizeof all - used, "%.*s=%.*s;",
                                     (int)name.len, name.at, (int)value.len, value.at);
        }
        assert_string_equal(all, row[i].members);
        free(line);
    }
}

static void an_integer_is_taken_only_when_it_is_whole(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int64_t value; /* -1 = none */
    } row[] = {
        {"{\"ts_ns\":1786200000123456789}", 1786200000123456789},
        {"{\"type\": \"job_start\", \"ts_ns\": 5, \"pid\": 1}", 5},
        {"{\"ts_ns\":0 }", 0},
        {"{\"ts_ns\":12", -1},
        {"{\"ts_ns\":1.5}", -1},
        {"{\"ts_ns\":-1}", -1},
        {"{\"ts_ns\":\"1\"}", -1},
        {"{\"ts_ns\":}", -1},
        {"{\"ts_ns\":99999999999999999999}", -1},
        {"{\"ts\":1}", -1},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        size_t len = strlen(row[i].line);
        char *line = exact_copy(row[i].line, len);
        int64_t value = -1;
        bool found = record_field_int64(line, len, "ts_ns", &value);
        assert_int_equal(found, row[i].value >= 0);
        if (found) {
            assert_int_equal(value, row[i].value);
        }
        free(line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_is_found_whatever_the_spacing),
        cmocka_unit_test(keys_are_counted_however_they_are_spelled),
        cmocka_unit_test(members_are_taken_one_after_the_other),
        cmocka_unit_test(an_integer_is_taken_only_when_it_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
