/* SPDX-License-Identifier: Apache-2.0 */
/* Where a batch ends. */
#include "tests/support/check.h"

#include <string.h>

#include "upload/source/ndjson.h"

#define SHUTDOWN "{\"type\":\"shutdown\",\"pid\":1}\n"

static void cuts(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        struct ndjson_limits limits;
        size_t bytes;
        uint32_t lines;
        bool first, next;
    } row[] = {
        {"", {100, 10}, 0, 0, false, false},
        {"a", {100, 10}, 0, 0, false, false},
        {"a\n", {100, 10}, 2, 1, false, false},
        {"a\nb", {100, 10}, 2, 1, false, false},
        {"a\nb\nc\n", {100, 2}, 4, 2, false, false},
        {"aa\nbb\ncc\n", {6, 10}, 6, 2, false, false},
        {"aa\nbb\ncc\n", {5, 10}, 3, 1, false, false},
        {"long line\nb\n", {2, 10}, 10, 1, false, false}, /* alone, though longer */
        {"\n\n", {100, 10}, 2, 2, false, false},
        {"a\n" SHUTDOWN, {100, 10}, 2, 1, false, true},
        {SHUTDOWN "a\n", {100, 10}, sizeof SHUTDOWN - 1, 1, true, false},
        {"{\"version\":1,\"type\":\"shutdown\",\"pid\":1}\n",
         {100, 10},
         40,
         1,
         true,
         false},
        {"{\"version\":12,\"type\":\"shutdown\",\"pid\":1}\n",
         {100, 10},
         41,
         1,
         true,
         false},
        {"{\"version\":1,\"type\":\"shutdowns\",\"pid\":1}\n",
         {100, 10},
         41,
         1,
         false,
         false},
        {"{\"type\": \"shutdown\", \"pid\": 1}\n", {100, 10}, 31, 1, true, false},
        {"{ \"version\" : 1, \"type\" :\t\"shutdown\" }\n",
         {100, 10},
         39,
         1,
         true,
         false},
        {"{\"x\":{\"type\":\"shutdown\"},\"type\":\"x\"}\n",
         {100, 10},
         37,
         1,
         false,
         false},
        {"{\"x\":\"\\\"type\\\":\\\"shutdown\\\"\"}\n", {100, 10}, 30, 1, false, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        size_t len = strlen(row[i].data);
        struct ndjson_cut cut = ndjson_cut(row[i].data, len, row[i].limits);
        assert_int_equal(cut.bytes, row[i].bytes);
        assert_int_equal(cut.lines, row[i].lines);
        assert_int_equal(cut.shutdown_first, row[i].first);
        assert_int_equal(cut.shutdown_next, row[i].next);
    }
}

static void a_mark_far_inside_a_line_is_no_shutdown(void **state)
{
    (void)state;
    char line[256];
    memset(line, ' ', sizeof line);
    memcpy(line + 100, "\"type\":\"shutdown\"", 17);
    assert_false(ndjson_is_shutdown(line, sizeof line));
}

static void the_first_line_of_a_type_is_found(void **state)
{
    (void)state;
    static const char text[] = "no json\n{\"type\":\"x\"}\n{\"type\": \"y\", \"n\": 1}\n"
                               "{\"type\":\"y\",\"n\":2}\n{\"type\":\"cut\",\"n";
    struct record_text line;
    assert_true(ndjson_find_type(text, sizeof text - 1, "y", &line));
    assert_ptr_equal(line.at, strstr(text, "{\"type\": \"y\""));
    assert_int_equal(line.len, strlen("{\"type\": \"y\", \"n\": 1}"));
    assert_true(ndjson_find_type(text, sizeof text - 1, "cut", &line));
    assert_ptr_equal(line.at + line.len, text + sizeof text - 1);
    assert_false(ndjson_find_type(text, sizeof text - 1, "z", &line));
    assert_false(ndjson_find_type(text, 0, "y", &line));
}

static enum ndjson_begin begin_of(const char *text)
{
    return ndjson_begin_of(text, strlen(text));
}

/* The line goes on behind what is read of it. */
static enum ndjson_begin begin_of_long(const char *begin)
{
    char text[NDJSON_BEGIN_BYTES];
    memset(text, 'x', sizeof text);
    memcpy(text, begin, strlen(begin));
    return ndjson_begin_of(text, sizeof text);
}

static void only_the_first_job_start_begins_a_channel(void **state)
{
    (void)state;
    static const char first[] = "{\"type\":\"job_start\",\"app\":\"";
    static const char again[] = "{\"type\":\"job_start\",\"repeated\":true,\"app\":\"";
    static const char behind[] = "{\"type\":\"x\"}\n{\"type\":\"job_start\",\"app\":\"";
    assert_int_equal(begin_of("{\"type\":\"job_start\"}\n"), NDJSON_BEGIN_FIRST);
    assert_int_equal(begin_of("{\"type\":\"job_start\",\"repeated\":true}\n"),
                     NDJSON_BEGIN_OTHER);
    assert_int_equal(begin_of(""), NDJSON_BEGIN_OPEN);
    assert_int_equal(begin_of(first), NDJSON_BEGIN_OPEN);
    assert_int_equal(begin_of_long(first), NDJSON_BEGIN_FIRST);
    assert_int_equal(begin_of_long(again), NDJSON_BEGIN_OTHER);
    assert_int_equal(begin_of_long(behind), NDJSON_BEGIN_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts),
        cmocka_unit_test(a_mark_far_inside_a_line_is_no_shutdown),
        cmocka_unit_test(the_first_line_of_a_type_is_found),
        cmocka_unit_test(only_the_first_job_start_begins_a_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
