/* SPDX-License-Identifier: Apache-2.0 */
/* What the backend takes from a batch. */
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#include "backend/digest/lines.h"

#define L(type, more) "{\"type\":\"" type "\",\"session_id\":\"s\"" more "}\n"

static struct lines read_all(const char *text)
{
    struct lines out;
    assert_true(lines_read(text, strlen(text), "s", &out));
    return out;
}

static void good_lines_are_stored_as_they_came(void **state)
{
    (void)state;
    struct lines l = read_all(L("job_start", ",\"app\":\"a\",\"ts_ns\":5") L(
        "scope_event_batch", "") L("shutdown", ",\"ts_ns\":9"));
    assert_null(l.kept);
    assert_int_equal(l.accepted, 3);
    assert_string_equal(l.channel, "scope");
    assert_string_equal(l.digest.session.app, "a");
    assert_int_equal(l.digest.session.start_ns, 5);
    assert_int_equal(l.digest.session.shutdown_ns, 9);
    lines_fini(&l);
}

static void bad_lines_are_left_out_and_named(void **state)
{
    (void)state;
    struct lines l =
        read_all(L("x", "") "no json\n{\"type\":\"x\",\"session_id\":\"t\"}\n\n"
                            "{\"session_id\":\"s\"}\n" L("y", ""));
    assert_int_equal(l.accepted, 2);
    assert_int_equal(l.rejected, 4);
    assert_int_equal(l.error[0].line, 2);
    assert_int_equal(l.kept_len, strlen(L("x", "") L("y", "")));
    assert_memory_equal(l.kept, L("x", "") L("y", ""), l.kept_len);
    lines_fini(&l);
}

static void a_missing_last_newline_is_added(void **state)
{
    (void)state;
    static const char text[] = L("x", "");
    struct lines l;
    assert_true(lines_read(text, sizeof text - 2, "s", &l));
    assert_int_equal(l.kept_len, sizeof text - 1);
    assert_memory_equal(l.kept, text, l.kept_len);
    lines_fini(&l);
}

static void what_is_stored_is_digested(void **state)
{
    (void)state;
    struct lines l = read_all(
        L("host_metric_batch", ",\"base_time_ns\":7,\"columns\":[\"dt_ns\","
                               "\"cpu_pct_x100\"],\"rows\":[[0,1250]]")
            L("job_start",
              ",\"app\":\"a\"") "{\"type\":\"host_metric_batch\",\"session_id\":"
                                "\"t\",\"columns\":[\"dt_ns\"],\"rows\":[[0]]}\n");
    assert_int_equal(l.digest.tables, 1); /* not what was rejected */
    assert_int_equal(l.digest.newest_ns, 7);
    assert_non_null(strstr(l.digest.text[TEXT_START], "\"app\":\"a\"}"));
    lines_fini(&l);
}

/* The same lines as json.dumps writes them by default, with a space behind each comma and
 * colon; \p out has room for twice the bytes. */
static void space_out(const char *compact, char *out)
{
    bool quoted = false;
    for (const char *c = compact; *c; c++) {
        quoted ^= *c == '"';
        *out++ = *c;
        if (!quoted && (*c == ',' || *c == ':')) {
            *out++ = ' ';
        }
    }
    *out = '\0';
}

static void assert_same_digest(const struct digest *a, const struct digest *b)
{
    assert_memory_equal(&a->session, &b->session, sizeof a->session);
    assert_int_equal(a->tallies.used, b->tallies.used);
    assert_int_equal(a->names, b->names);
    for (size_t i = 0; i < a->names; i++) {
        assert_int_equal(a->name[i].dictionary, b->name[i].dictionary);
        assert_int_equal(a->name[i].id, b->name[i].id);
        assert_string_equal(a->name[i].text, b->name[i].text);
    }
    assert_int_equal(a->tables, b->tables);
    for (size_t i = 0; i < a->tables; i++) {
        assert_int_equal(a->table[i].packed.len, b->table[i].packed.len);
        assert_memory_equal(a->table[i].packed.data, b->table[i].packed.data,
                            a->table[i].packed.len);
    }
    assert_string_equal(a->text[TEXT_START], b->text[TEXT_START]);
    assert_true(a->newest_ns == b->newest_ns && a->metrics == b->metrics);
}

static void spaces_in_a_line_change_nothing(void **state)
{
    (void)state;
    static const char compact[] = L("job_start", ",\"app\":\"a\",\"ts_ns\":5")
        L("dictionary_update", ",\"kernel_dict\":{\"1\":\"gemm\"}")
            L("kernel_event_batch",
              ",\"base_time_ns\":7,\"columns\":[\"dt_ns\",\"kernel_id\",\"duration_ns\","
              "\"detail_corr_id\"],\"rows\":[[0,1,90,4],[3,1,80,4]]")
                L("kernel_detail",
                  ",\"corr_id\":4,\"user_scope\":\"step\",\"per_launch\":"
                  "false")
                    L("device_metric_batch", ",\"base_time_ns\":7,\"columns\":[\"dt_ns\","
                                             "\"device_id\",\"gpu_util\"],"
                                             "\"rows\":[[0,0,10],[5,1,20]]")
                        L("memset_event", ",\"start_ns\":1,\"end_ns\":4,\"bytes\":8")
                            L("source_file_content",
                              ",\"source_file_id\":2,\"lines\":[\"a\",\"b\"]")
                                L("shutdown", ",\"ts_ns\":9");
    static char spaced[2 * sizeof compact];
    space_out(compact, spaced);
    struct lines a = read_all(compact);
    struct lines b = read_all(spaced);
    assert_int_equal(a.accepted, 8);
    assert_int_equal(b.accepted, 8);
    assert_null(b.kept); /* stored as it came */
    assert_string_equal(b.channel, "device");
    assert_same_digest(&a.digest, &b.digest);
    lines_fini(&a);
    lines_fini(&b);
}

/* Some writers escape nothing: their lines were always taken by their bytes. */
static void a_line_with_an_unescaped_text_is_stored(void **state)
{
    (void)state;
    static const char *const line[] = {
        L("x", ",\"app\":\"my \"best\" job\""),
        "{\"type\":\"x\",\"app\":\"my \"best\" job\",\"session_id\":\"s\"}\n",
        "{\"type\":\"x\",\"p\":\"C:\\dir\\\",\"session_id\":\"s\"}\n",
        "{\"type\":\"x\",\"meta\":{\"session_id\":\"s\"}}\n",
        "{,\"type\":\"x\",\"session_id\":\"s\"}\n",
        L("x", ",\"meta\":{\"session_id\":\"t\",\"session\\u005fid\":\"t\"}"),
        L("x", ",\"session\\u0049d\":\"t\",\"a\\u\":1,\"\\u00zz\":1"),
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        struct lines l = read_all(line[i]);
        assert_int_equal(l.accepted, 1);
        lines_fini(&l);
    }
}

static void a_record_lies_in_the_channel_of_its_type(void **state)
{
    (void)state;
    static const struct {
        const char *line, *channel;
    } row[] = {
        {L("job_start", ""), ""},
        {L("segment_start", ""), ""},
        {L("kernel_perf_metric_event", ""), "device"},
        {L("pm_sample_batch", ""), "scope"},
        {L("host_metric_batch", ""), "system"},
        {L("ptx_disassembly", ""), "sass"},
        {L("shutdown", "") L("system_stop", "") L("memset_event", ""), "system"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lines l = read_all(row[i].line);
        assert_string_equal(l.channel, row[i].channel);
        lines_fini(&l);
    }
}

static void a_line_is_refused_for_what_is_wrong_with_it(void **state)
{
    (void)state;
    static const struct {
        const char *line, *reason;
    } row[] = {
        {"\n", "empty line"},
        {"text\n", "not a JSON object"},
        {"[1]\n", "not a JSON object"},
        {"{\"type\":\"x\",\"session_id\":\"s\"\n", "not a JSON object"},
        {"{}\n", "type is missing or not a name"},
        {"{\"type\":1,\"session_id\":\"s\"}\n", "type is missing or not a name"},
        {"{\"type\":\"\",\"session_id\":\"s\"}\n", "type is missing or not a name"},
        {"{\"type\":\"0123456789012345678901234567890123456789012345678901234567890123\","
         "\"session_id\":\"s\"}\n",
         "type is missing or not a name"},
        {"{\"type\":\"x\"}\n", "session_id differs from that of the request"},
        {"{\"type\":\"x\",\"session_id\":\"ss\"}\n",
         "session_id differs from that of the request"},
        {"{\"type\":\"x\",\"session_id\":\"t\",\"meta\":{\"session_id\":\"s\"}}\n",
         "session_id differs from that of the request"},
        {"{\"type\":\"x\",\"session_id\":7,\"app\":\"a \"b\"\",\"session_id\":\"s\"}\n",
         "session_id differs from that of the request"},
        {L("x", ",\"session_id\":\"t\""), "session_id is given twice"},
        {L("x", ",\"session_id\":\"s\""), "session_id is given twice"},
        {L("x", ",\"session_id\" :\"t\""), "session_id is given twice"},
        {"{\"type\":\"x\",\"session_id\":\"t\",\"session_id\":\"s\"}\n",
         "session_id is given twice"},
        {L("x", ",\"session\\u005fid\":\"t\""), "session_id is given twice"},
        {L("x", ",\"\\u0073ession\\u005Fid\":\"t\""), "session_id is given twice"},
        {"{\"type\":\"x\",\"session\\u005fid\":\"t\",\"session_id\":\"s\"}\n",
         "session_id is given twice"},
        {"{\"type\":\"x\",\"session\\u005fid\":\"s\"}\n",
         "session_id differs from that of the request"},
        {"{\"type\":\"x\",\"session\\u005fid\":\"t\",\"meta\":{\"session_id\":\"s\"}}\n",
         "session_id differs from that of the request"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lines l = read_all(row[i].line);
        assert_int_equal(l.rejected, 1);
        assert_int_equal(l.accepted, 0);
        assert_string_equal(l.error[0].reason, row[i].reason);
        lines_fini(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines_are_stored_as_they_came),
        cmocka_unit_test(bad_lines_are_left_out_and_named),
        cmocka_unit_test(a_missing_last_newline_is_added),
        cmocka_unit_test(what_is_stored_is_digested),
        cmocka_unit_test(spaces_in_a_line_change_nothing),
        cmocka_unit_test(a_line_with_an_unescaped_text_is_stored),
        cmocka_unit_test(a_record_lies_in_the_channel_of_its_type),
        cmocka_unit_test(a_line_is_refused_for_what_is_wrong_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
