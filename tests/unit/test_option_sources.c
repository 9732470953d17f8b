/* SPDX-License-Identifier: Apache-2.0 */
/* Flags over environment over configuration file over defaults. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/options/option_find.h"
#include "agent/options/option_sources.h"
#include "agent/options/option_value.h"

#define ARGS_MAX 8

static char config_path[64];

static int forget_variables(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].env) {
            unsetenv(option_rows[i].env);
        }
    }
    return 0;
}

static void write_config(const char *text)
{
    FILE *f = fopen(config_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Reads \p args, separated by blanks. \return the message, "" = none. */
static const char *parse(const char *args, struct options *out)
{
    static char why[512];
    static char copy[512];
    char *argv[ARGS_MAX] = {"gpufl-agent"};
    char *rest;
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", args);
    for (char *arg = strtok_r(copy, " ", &rest); arg; arg = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = arg;
    }
    return option_sources_read(argc, argv, out, why) == GPUFL_OK ? "" : why;
}

static void the_strongest_source_wins(void **state)
{
    (void)state;
    static const struct {
        const char *file, *env, *flag;
        uint64_t want;
        enum option_source source;
    } row[] = {
        {NULL, NULL, NULL, 500, SOURCE_DEFAULT},
        {"1s", NULL, NULL, 1000, SOURCE_FILE},
        {"1s", "2s", NULL, 2000, SOURCE_ENVIRONMENT},
        {"1s", "2s", "3s", 3000, SOURCE_FLAG},
        {"1s", NULL, "3s", 3000, SOURCE_FLAG},
        {NULL, "2s", "3s", 3000, SOURCE_FLAG},
        {NULL, "2s", NULL, 2000, SOURCE_ENVIRONMENT},
        {"1s", " \t", NULL, 1000, SOURCE_FILE}, /* a blank variable is unset */
    };
    const struct option_row *flush =
        option_of_field(offsetof(struct options, flush_interval_ms));
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o;
        char text[128];
        char args[256] = "";
        forget_variables(NULL);
        if (row[i].flag) {
            snprintf(args, sizeof args, "--flush-interval=%s ", row[i].flag);
        }
        if (row[i].file) { /* behind the flag: where it stands does not matter */
            snprintf(text, sizeof text, "{\"agent\":{\"flushInterval\":\"%s\"}}",
                     row[i].file);
            write_config(text);
            snprintf(args + strlen(args), sizeof args - strlen(args), "--config=%s",
                     config_path);
        }
        if (row[i].env) {
            setenv("GPUFL_AGENT_FLUSH_INTERVAL", row[i].env, 1);
        }
        assert_string_equal(parse(args, &o), "");
        assert_int_equal(o.flush_interval_ms, row[i].want);
        assert_int_equal(o.source[flush - option_rows], row[i].source);
        option_values_free(&o);
    }
}

static void each_option_is_read_from_its_variable(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        struct options o;
        forget_variables(NULL);
        if (!row->env || row->kind == KIND_REFUSED) {
            continue;
        }
        setenv(row->env,
               row->choices               ? row->choices[1]
               : row->kind == KIND_SWITCH ? "on"
                                          : "7",
               1);
        assert_string_equal(parse("", &o), "");
        assert_int_equal(o.source[i], SOURCE_ENVIRONMENT);
        option_values_free(&o);
    }
}

static void a_second_folder_adds(void **state)
{
    (void)state;
    static const struct {
        const char *args, *variable, *folder, *folders;
    } row[] = {
        {"--folder=/a --folder=/b", NULL, "/a,/b", ""},
        {"--folder=/a --folder=/b --folder=/a", NULL, "/a,/b,/a", ""},
        {"--folder=/a --folders=/b,/c --folders /d", NULL, "/a", "/b,/c,/d"},
        {"--folder= --folder=/b", NULL, ",/b", ""}, /* which is refused */
        {"--folder=/a --folder=", NULL, "/a,", ""},
        {"--folder=/a --folder=/b", "/c", "/a,/b", ""}, /* over the environment */
        {"", "/c", "/c", ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o;
        forget_variables(NULL);
        if (row[i].variable) {
            setenv("GPUFL_SOURCE_FOLDER", row[i].variable, 1);
        }
        assert_string_equal(parse(row[i].args, &o), "");
        assert_string_equal(o.folder, row[i].folder);
        assert_string_equal(o.folders ? o.folders : "", row[i].folders);
        option_values_free(&o);
    }
}

static void flags_are_taken_in_each_form(void **state)
{
    (void)state;
    struct options o;
    assert_string_equal(parse("--folder=/a --host http://b --salvage --watch=poll", &o),
                        "");
    assert_string_equal(o.folder, "/a");
    assert_string_equal(o.host, "http://b");
    assert_true(o.salvage);
    assert_int_equal(o.watch, WATCH_POLL);
    option_values_free(&o);
    assert_string_equal(parse("--salvage=false --folder=a=b --folders=", &o), "");
    assert_false(o.salvage);
    assert_string_equal(o.folder, "a=b");
    assert_string_equal(o.folders, "");
    option_values_free(&o);
    assert_string_equal(parse("--salvage --host=x", &o), "");
    assert_true(o.salvage);
    assert_string_equal(o.host, "x");
    option_values_free(&o);
    assert_string_equal(parse("-h -V", &o), "");
    assert_true(o.help && o.version);
    option_values_free(&o);
    assert_string_equal(parse("--config /dev/null", &o),
                        "--config: cannot read /dev/null: a device, not a regular file "
                        "(give a regular file, or a link to one)");
    option_values_free(&o);
}

static void what_is_wrong_is_said_in_the_words_that_were_used(void **state)
{
    (void)state;
    static const struct {
        const char *args, *variable, *value, *why;
    } row[] = {
        {"--compression=lz4", NULL, NULL,
         "--compression: invalid value 'lz4' (expected auto, zstd, gzip or none)"},
        {"", "GPUFL_AGENT_COMPRESSION", "lz4",
         "GPUFL_AGENT_COMPRESSION: invalid value 'lz4' (expected auto, zstd, gzip or "
         "none)"},
        {"", "GPUFL_HTTP_URL", "http://x",
         "GPUFL_HTTP_URL: replaced by --host (GPUFL_HTTP_HOST, publisher.hostUrl)"},
        {"--folde=/a", NULL, NULL, "--folde: unknown option (did you mean --folder?)"},
        {"--nonsense", NULL, NULL, "--nonsense: unknown option (see gpufl-agent --help)"},
        {"-x", NULL, NULL, "-x: unknown option (see gpufl-agent --help)"},
        {"-", NULL, NULL, "-: unknown option (see gpufl-agent --help)"},
        {"--", NULL, NULL, "--: unknown option (see gpufl-agent --help)"},
        {"logs", NULL, NULL, "'logs': unexpected argument (see gpufl-agent --help)"},
        {"--folder", NULL, NULL, "--folder: needs a value (see gpufl-agent --help)"},
        {"--folder --host=x", NULL, NULL,
         "--folder: needs a value (see gpufl-agent --help)"},
        {"--folder -h", NULL, NULL, "--folder: needs a value (see gpufl-agent --help)"},
        {"--config", NULL, NULL, "--config: needs a value (see gpufl-agent --help)"},
        {"--config=/nonexistent/x.json", NULL, NULL,
         "--config: cannot read /nonexistent/x.json: No such file or directory (give a "
         "JSON file that can be read)"},
        {"--prune-failed", NULL, NULL,
         "--prune-failed: failed sessions are never deleted (remove them with your own "
         "tool)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct options o;
        forget_variables(NULL);
        if (row[i].variable) {
            setenv(row[i].variable, row[i].value, 1);
        }
        assert_string_equal(parse(row[i].args, &o), row[i].why);
        option_values_free(&o);
    }
}

static void a_key_is_wiped_where_it_was_given(void **state)
{
    (void)state;
    struct options o;
    char why[512];
    char flag[] = "--token=secret";
    char *argv[] = {"gpufl-agent", flag, NULL};
    setenv("GPUFL_HTTP_TOKEN", "hidden", 1);
    assert_int_equal(option_sources_read(2, argv, &o, why), GPUFL_OK);
    assert_string_equal(o.token, "secret");
    assert_string_equal(flag, "--token=xxxxxx");
    assert_string_equal(getenv("GPUFL_HTTP_TOKEN"), "");
    option_values_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_strongest_source_wins, forget_variables),
        cmocka_unit_test_setup(each_option_is_read_from_its_variable, forget_variables),
        cmocka_unit_test_setup(a_second_folder_adds, forget_variables),
        cmocka_unit_test_setup(flags_are_taken_in_each_form, forget_variables),
        cmocka_unit_test_setup(what_is_wrong_is_said_in_the_words_that_were_used,
                               forget_variables),
        cmocka_unit_test_setup(a_key_is_wiped_where_it_was_given, forget_variables),
    };
    snprintf(config_path, sizeof config_path, "/tmp/gpufl-sources-%d.json", getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(config_path);
    return failed;
}
