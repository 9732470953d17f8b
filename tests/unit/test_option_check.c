/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's options must be together. */
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

#include "agent/options/option_check.h"
#include "agent/options/option_find.h"
#include "agent/options/option_value.h"

struct setting {
    enum option_source source;
    const char *name;
    const char *value;
};

static const struct option_row *row_named(const struct setting *s)
{
    return s->source == SOURCE_FLAG   ? option_of_flag(s->name + 2, strlen(s->name) - 2)
           : s->source == SOURCE_FILE ? option_of_key(s->name)
                                      : option_of_env(s->name);
}

/* \return the message, "" = none. */
static const char *check_with(const struct setting *setting, size_t count)
{
    static char why[512];
    struct options o = {0};
    assert_int_equal(option_set_defaults(&o, why), GPUFL_OK);
    for (size_t i = 0; i < count && setting[i].name; i++) {
        struct option_setter by = {setting[i].source, setting[i].name};
        const struct option_row *row = row_named(&setting[i]);
        assert_non_null(row);
        assert_int_equal(option_set(&o, row, by, setting[i].value, why), GPUFL_OK);
    }
    gpufl_status status = option_check(&o, why);
    option_values_free(&o);
    return status == GPUFL_OK ? "" : why;
}

#define FOLDER                                                                           \
    {                                                                                    \
        SOURCE_FLAG, "--folder", "/logs"                                                 \
    }
#define HOST                                                                             \
    {                                                                                    \
        SOURCE_ENVIRONMENT, "GPUFL_HTTP_HOST", "http://b"                                \
    }

static void what_is_missing_or_excluded_is_said(void **state)
{
    (void)state;
    static const struct {
        struct setting setting[5];
        const char *why;
    } row[] = {
        {{FOLDER, HOST}, ""},
        {{{SOURCE_FLAG, "--folders", "/a,/b"}, HOST}, ""},
        {{HOST},
         "--folder: no directory to follow (give --folder=DIR or set "
         "GPUFL_SOURCE_FOLDER)"},
        {{{SOURCE_FLAG, "--folder", ""}, HOST},
         "--folder: empty (give DIR, or leave it out)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--folders", " "}},
         "--folders: empty (give DIR,..., or leave it out)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--state-dir", " "}},
         "--state-dir: empty (give DIR, or leave it out)"},
        {{FOLDER, HOST, {SOURCE_FILE, "publisher.proxy", ""}},
         "publisher.proxy: empty (give URL, or leave it out)"},
        {{FOLDER},
         "--host: no backend (give --host=scheme://host[:port] or set GPUFL_HTTP_HOST)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--type", "http"}}, ""},
        {{FOLDER, HOST, {SOURCE_ENVIRONMENT, "GPUFL_PUBLISHER_TYPE", "kafka"}},
         "GPUFL_PUBLISHER_TYPE: kafka is not built in (use --type=http with a backend "
         "that has /events/stream)"},
        {{FOLDER, HOST, {SOURCE_FILE, "publisher.bootstrapServers", "a:9092"}},
         "publisher.bootstrapServers: Kafka is not built in (use an HTTP backend with "
         "--type=http)"},
        {{FOLDER,
          HOST,
          {SOURCE_FLAG, "--brokers", "a:9092"},
          {SOURCE_FLAG, "--type", "http"}},
         ""},
        {{FOLDER, HOST, {SOURCE_FLAG, "--archiver-bucket", "b"}}, ""},
        {{FOLDER, HOST, {SOURCE_FLAG, "--require-owner-uid", "1000"}}, ""},
        {{FOLDER, HOST, {SOURCE_FLAG, "--require-owner-uid", ""}},
         "--require-owner-uid: empty (give UID, or leave it out)"},
        {{FOLDER, HOST, {SOURCE_ENVIRONMENT, "GPUFL_HTTP_TOKEN", ""}}, ""},
        {{FOLDER, HOST, {SOURCE_FLAG, "--token", ""}},
         "--token: empty (give KEY, or leave it out)"},
        {{FOLDER, HOST, {SOURCE_ENVIRONMENT, "GPUFL_HTTP_API_VERSION", "a/b"}},
         "GPUFL_HTTP_API_VERSION: invalid value 'a/b' (expected a version such as v1)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--require-owner-uid", "4294967295"}},
         "--require-owner-uid: invalid value '4294967295' (expected a numeric user ID; "
         "see id -u)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--require-owner-uid", "root"}},
         "--require-owner-uid: invalid value 'root' (expected a numeric user ID; see id "
         "-u)"},
        {{FOLDER, HOST, {SOURCE_FILE, "agent.requireOwnerUid", "12345678901"}},
         "agent.requireOwnerUid: invalid value '12345678901' (expected a numeric user "
         "ID; see id -u)"},
        {{FOLDER,
          HOST,
          {SOURCE_FLAG, "--exit-when-drained", "true"},
          {SOURCE_FLAG, "--ignore-preexisting", "true"}},
         ""},
        {{FOLDER,
          HOST,
          {SOURCE_FLAG, "--exit-when-drained", "true"},
          {SOURCE_FLAG, "--ignore-preexisting", "true"},
          {SOURCE_ENVIRONMENT, "GPUFL_AGENT_EXIT_IF_EMPTY", "true"}},
         "GPUFL_AGENT_EXIT_IF_EMPTY: with --ignore-preexisting, the agent would exit "
         "before it sends anything (leave one of the two out)"},
        {{FOLDER, HOST, {SOURCE_FLAG, "--listen", "127.0.0.1:0"}}, ""},
        {{FOLDER, HOST, {SOURCE_FLAG, "--listen", ""}},
         "--listen: empty (give ADDRESS:PORT, or leave it out)"},
        {{FOLDER, HOST, {SOURCE_ENVIRONMENT, "GPUFL_AGENT_LISTEN", "9464"}},
         "GPUFL_AGENT_LISTEN: invalid value '9464' (expected ADDRESS:PORT, such as "
         "127.0.0.1:9464)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        assert_string_equal(check_with(row[i].setting, 5), row[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_or_excluded_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
