/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's configuration file: what it sets, and what is wrong where. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/options/config.h"
#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/text.h"

/* \return the message, "" = none. */
static const char *parse(const char *text, struct options *out)
{
    static char why[512];
    struct config_text file = {.path = "x.json", .text = text, .len = strlen(text)};
    memset(out, 0, sizeof *out);
    return config_parse(&file, out, why) == GPUFL_OK ? "" : why;
}

static void errors_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } row[] = {
        {"", "x.json:1:1: unexpected end of file"},
        {"{\n  \"agent\": {\n", "x.json:3:1: unexpected end of file"},
        {"{\n  \"agent\": }", "x.json:2:12: unexpected character"},
        {"[]", "x.json:1:1: expected a JSON object"},
        {"7 ", "x.json:1:1: expected a JSON object"},
        {"7", "x.json:1:1: expected a JSON object"},
        {"null", "x.json:1:1: expected a JSON object"},
        {"\n null\n", "x.json:2:2: expected a JSON object"},
        {"true", "x.json:1:1: expected a JSON object"},
        {"/* c */ {} /* d */\n", ""},
        {"[1,", "x.json:1:1: expected a JSON object"},
        {"{}\n{\"agent\": {}}", "x.json:2:1: unexpected text behind the object"},
        {"{\"publsher\": {}}",
         "x.json:1:2: publsher: unknown key (did you mean publisher?)"},
        {"{\"flushInterval\": \"1s\"}",
         "x.json:1:2: flushInterval: unknown key (did you mean agent.flushInterval?)"},
        {"{\"xyz\": {}}", "x.json:1:2: xyz: unknown key"},
        {"{\"publisher\": []}", "x.json:1:2: publisher: expected an object"},
        {"{\"agent\": null}", "x.json:1:2: agent: expected an object"},
        {"{\"sources\": {}}", "x.json:1:2: sources: expected an array"},
        {"{\"sources\": [{\"folder\": \"/a\"},\n {\"folder\": \" \"}]}",
         "x.json:2:3: sources.folder: empty (give DIR)"},
        {"{\"sources\": [{\"folder\": \"/a\"},\n {\"folder\": \"/b,/c\"}]}",
         "x.json:2:3: sources.folder: several directories (give each a source of its "
         "own)"},
        {"{\"source\": {\"folder\": [\"/a,/b\"]}}",
         "x.json:1:13: source.folder: one of its elements contains a comma (give each an "
         "element of its own)"},
        {"{\"source\": {\"logTypes\": [\"device\", \" \"]}}",
         "x.json:1:13: source.logTypes: one of its elements is empty (give each an "
         "element of its own)"},
        {"{\"sources\": [{\"logTypes\": \"device\"},\n {\"logTypes\": [\"scope\"]}]}",
         "x.json:2:3: sources.logTypes: 'scope': the first source has 'device' (give all "
         "of them the same, or start a second agent)"},
        {"{\"sources\": [{\"logTypes\": \"device\"}, {\"folder\": \"b\"}]}",
         "x.json:1:2: sources.logTypes: '': the first source has 'device' (give all of "
         "them the same, or start a second agent)"},
        {"{\"sources\": [7]}", "x.json:1:2: sources: expected an object"},
        {"{\n \"agent\": {\n  \"watch\": \"auto\",\n  \"wotch\": \"auto\"}}",
         "x.json:4:3: agent.wotch: unknown key (did you mean agent.watch?)"},
        {"{\"agent\": {\"hostUrl\": \"x\"}}", "x.json:1:12: agent.hostUrl: unknown key"},
        {"{\"agent\": {\"watch\": \"x\"}}",
         "x.json:1:12: agent.watch: invalid value 'x' (expected auto, inotify or poll)"},
        {"{\"publisher\": {\"zstdLevel\": 20}}",
         "x.json:1:16: publisher.zstdLevel: invalid value '20' (expected a whole number "
         "from 1 to 19)"},
        {"{\"agent\": {\"flushInterval\": true}}",
         "x.json:1:12: agent.flushInterval: invalid value 'true' (expected a duration "
         "such as 250ms, 30s, 5m or 1h, with a number up to 4294967295)"},
        {"{\"agent\": {\"drainTimeout\": null}}",
         "x.json:1:12: agent.drainTimeout: invalid value '' (expected a duration such as "
         "250ms, 30s, 5m or 1h, with a number up to 4294967295)"},
        {"{\"agent\": {\"salvage\": {}}}",
         "x.json:1:12: agent.salvage: expected a boolean, found an object"},
        {"{\"source\": {\"folder\": {\"x\": 1}}}",
         "x.json:1:13: source.folder: expected a string or an array of strings, found an "
         "object"},
        {"{\"source\": {\"folder\": [\"/a\", 5]}}",
         "x.json:1:13: source.folder: expected a string or an array of strings, found an "
         "array"},
        {"{\"agent\": {\"stateDir\": 5}}",
         "x.json:1:12: agent.stateDir: expected a string, found 5"},
        {"{\"agent\": {\"stateDir\": null}}",
         "x.json:1:12: agent.stateDir: expected a string, found null"},
        {"{\"agent\": {\"stateDir\": [\"/a\"]}}",
         "x.json:1:12: agent.stateDir: expected a string, found an array"},
        {"{\"agent\": {\"salvage\": [true]}}",
         "x.json:1:12: agent.salvage: expected a boolean, found an array"},
        {"{\"publisher\": {\"timeoutSeconds\": \"1.5\"}}",
         "x.json:1:16: publisher.timeoutSeconds: invalid value '1.5' (expected a whole "
         "number up to 4294967295)"},
        {"{\"agent\": {\"drainTimeout\": -1}}",
         "x.json:1:12: agent.drainTimeout: invalid value '-1' (expected a duration such "
         "as 250ms, 30s, 5m or 1h, with a number up to 4294967295)"},
        {"{\"source\": {\"folder\": \"/a\\u0000b\"}}",
         "x.json:1:26: contains a NUL character (remove it)"},
        {"{\"source\": {\"folder\\u0000x\": \"/a\"}}",
         "x.json:1:20: contains a NUL character (remove it)"},
        {"{\"source\": {\"folder\": \"/a\\\\u0000b\"}}", ""},
        {"{\"publisher\": {\"uploadMode\": \"legacy\"}}",
         "x.json:1:16: publisher.uploadMode: the per-event legacy mode is not built in "
         "(use stream with a backend that has /events/stream)"},
        {"{\"archiver\": {\"endpoint\": \"https://s3\"}}",
         "x.json:1:15: archiver.endpoint: the archiver is not built in (copy session "
         "directories with your own tool once they are complete)"},
        {"{\"sources\": [{\"folder\": \"/a\"},\n {\"foldr\": \"/b\"}]}",
         "x.json:2:3: source.foldr: unknown key (did you mean source.folder?)"},
        {"{\"agent\": {\"x\": [[[[[[[[[]]]]]]]]]}}", "x.json:1:23: nesting too deep"},
        /* A column is a character, not a byte. */
        {"{\"source\": {\"folder\": \"\xc3\xa4\xe2\x82\xac\", \"x\": 1}}",
         "x.json:1:29: source.x: unknown key"},
        {"{\"agent\": {\"watch\": \"poll\",\n \"salvage\": false,\n \"watch\": "
         "\"auto\"}}",
         "x.json:3:2: watch: given twice (remove it here or at 1:12)"},
        {"{\"agent\": {},\n  \"source\": {}, \"agent\": {}}",
         "x.json:2:17: agent: given twice (remove it here or at 1:2)"},
        {"{\"sources\": [{\"folder\": \"/a\"},\n {\"folder\": \"/b\", 'folder': "
         "\"/c\"}]}",
         "x.json:2:19: folder: given twice (remove it here or at 2:3)"},
        {"{\"sources\": [{\"folder\": \"/a\"}, {\"folder\": \"/b\"}],\n \"sources\": []}",
         "x.json:2:2: sources: given twice (remove it here or at 1:2)"},
        {"{\"source\": {\"folder\": \"folder\", \"logTypes\": [\"device\", \"device\"]},"
         " /* \"source\": {}, */ \"agent\": {\"watch\": \"poll\"}}",
         ""},
        /* What is wrong with a value is told first, of the last one. */
        {"{\"agent\": {\"watch\": \"poll\"},\n \"agent\": {\"watch\": \"x\"}}",
         "x.json:2:12: agent.watch: invalid value 'x' (expected auto, inotify or poll)"},
        /* What json-c takes beyond JSON does not lead astray. */
        {"{ /* \"agent\": {\"y\": */ // {\n 'agent' : { 'x}' : 1 , \"y\": 2}}",
         "x.json:2:14: agent.x}: unknown key"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o;
        assert_string_equal(parse(row[i].text, &o), row[i].why);
        option_values_free(&o);
    }
}

static void values_of_each_type_are_taken(void **state)
{
    (void)state;
    struct options o;
    assert_string_equal(
        parse("{\"source\": {\"folder\": \"/logs\", \"logTypes\": [\"device\", \"x\"]},"
              " \"publisher\": {\"hostUrl\": \"http://b\", \"zstdLevel\": 7,"
              "  \"timeoutSeconds\": \"4\", \"allowInsecureHttp\": true},"
              " \"agent\": {\"flushInterval\": 2, \"watch\": \"poll\","
              "  \"salvage\": false, \"exitWhenDrained\": \"yes\"}}",
              &o),
        "");
    assert_string_equal(o.folder, "/logs");
    assert_string_equal(o.log_types, "device,x");
    assert_string_equal(o.host, "http://b");
    assert_int_equal(o.zstd_level, 7);
    assert_int_equal(o.connect_timeout_s, 4);
    assert_true(o.allow_insecure_http);
    assert_int_equal(o.flush_interval_ms, 2000);
    assert_int_equal(o.watch, WATCH_POLL);
    assert_false(o.salvage);
    assert_true(o.exit_when_drained);
    option_values_free(&o);
}

static void several_sources_become_one_list(void **state)
{
    (void)state;
    struct options o;
    assert_string_equal(
        parse("{\"sources\": [{\"folder\": \"/a\", \"logTypes\": \"device,scope\"}, "
              "{\"folder\": \"/b\", \"logTypes\": [\"device\", \"scope\"]}]}",
              &o),
        "");
    assert_null(o.folder);
    assert_int_equal(
        o.source[option_of_field(offsetof(struct options, folder)) - option_rows],
        SOURCE_DEFAULT);
    assert_string_equal(o.folders, "/a,/b");
    assert_string_equal(o.log_types, "device,scope");
    option_values_free(&o);
    assert_string_equal(parse("{\"sources\": [{\"folder\": \"/a\"}, {}]}", &o), "");
    assert_string_equal(o.folders, "/a");
    option_values_free(&o);
    assert_string_equal(parse("{\"sources\": []}", &o), "");
    assert_string_equal(o.folders, "");
    option_values_free(&o);
}

static void each_key_of_the_table_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        struct options o;
        char text[256];
        if (!row->key || row->kind == KIND_REFUSED) {
            continue;
        }
        const char *dot = strchr(row->key, '.');
        snprintf(text, sizeof text, "{\"%.*s\": {\"%s\": \"%s\"}}", (int)(dot - row->key),
                 row->key, dot + 1,
                 row->choices               ? row->choices[1]
                 : row->kind == KIND_SWITCH ? "on"
                                            : "7");
        assert_string_equal(parse(text, &o), "");
        assert_int_equal(o.source[i], SOURCE_FILE);
        option_values_free(&o);
    }
}

static void a_list_longer_than_any_buffer_arrives_whole(void **state)
{
    (void)state;
    enum { FOLDERS = 2000 };
    struct options o;
    struct text text = {0};
    text_puts(&text, "{\"sources\": [");
    for (int i = 0; i < FOLDERS; i++) {
        text_printf(&text, "%s{\"folder\": \"/%04d\"}", i ? "," : "", i);
    }
    text_append(&text, "]}", 3);
    assert_string_equal(parse(text.data, &o), "");
    assert_int_equal(strlen(o.folders), FOLDERS * 6 - 1);
    assert_string_equal(o.folders + strlen(o.folders) - 5, "/1999");
    option_values_free(&o);
    text_fini(&text);
}

static void a_file_beyond_64_kib_is_refused(void **state)
{
    (void)state;
    char path[64];
    char why[512];
    char want[600];
    struct options o = {0};
    snprintf(path, sizeof path, "/tmp/gpufl-config-%d.json", getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{%*s}", 65536, "");
    fclose(f);
    assert_int_equal(config_read(path, &o, why), GPUFL_ERR_USAGE);
    snprintf(want, sizeof want, "--config: %s is too large (maximum 64 KiB)", path);
    assert_string_equal(why, want);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_line_and_column),
        cmocka_unit_test(values_of_each_type_are_taken),
        cmocka_unit_test(several_sources_become_one_list),
        cmocka_unit_test(each_key_of_the_table_is_known),
        cmocka_unit_test(a_list_longer_than_any_buffer_arrives_whole),
        cmocka_unit_test(a_file_beyond_64_kib_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
