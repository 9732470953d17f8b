/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of gpufl-backend. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_options.h"
#include "tests/support/capture.h"

static struct backend_options options;
static struct capture said;

static int read_two(const char *flag, const char *value)
{
    static char words[3][256]; /* flags_read() may change them */
    char *argv[] = {words[0], words[1], words[2], NULL};
    snprintf(words[0], sizeof words[0], "gpufl-backend");
    snprintf(words[1], sizeof words[1], "%s", flag ? flag : "");
    snprintf(words[2], sizeof words[2], "%s", value ? value : "");
    memset(&options, 0, sizeof options);
    capture_begin(&said);
    int rc = backend_options_read(1 + (flag != NULL) + (value != NULL), argv, &options);
    capture_end(&said);
    return rc;
}

static void without_flags_all_has_its_default(void **state)
{
    (void)state;
    unsetenv("GPUFL_BACKEND_API_KEY");
    assert_int_equal(read_two(NULL, NULL), FLAGS_GO_ON);
    assert_string_equal(options.listen.host, "127.0.0.1");
    assert_int_equal(options.listen.port, 8765);
    assert_string_equal(options.db, "gpufl-backend.db");
    assert_string_equal(options.api_key, "");
    assert_int_equal(options.retain_days, 0);
    assert_int_equal(options.max_db_bytes, 0);
    setenv("GPUFL_BACKEND_API_KEY", "k", 1);
    assert_int_equal(read_two(NULL, NULL), FLAGS_GO_ON);
    unsetenv("GPUFL_BACKEND_API_KEY");
    assert_string_equal(options.api_key, "k");
}

static void a_size_has_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint64_t bytes;
    } row[] = {{"0", 0},
               {"0GiB", 0},
               {"1048576", 1u << 20},
               {"1024KiB", 1u << 20},
               {"1MiB", 1u << 20},
               {"20GiB", 20ull << 30},
               {"2TiB", 2ull << 40}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(read_two("--max-db-bytes", row[i].value), FLAGS_GO_ON);
        assert_true(options.max_db_bytes == row[i].bytes);
    }
}

static void a_wrong_value_is_refused_with_what_is_expected(void **state)
{
    (void)state;
    static const struct {
        const char *flag, *value, *expected;
    } row[] = {
        {"--max-db-bytes", "1048575", "1MiB or more"},
        {"--max-db-bytes", "1MB", "1MiB or more"},
        {"--max-db-bytes", "-1", "1MiB or more"},
        {"--max-db-bytes", "", "1MiB or more"},
        {"--max-db-bytes", "99999999999TiB", "1MiB or more"},
        {"--max-db-bytes", "99999999999999999999", "1MiB or more"},
        {"--retain-days", "-1", "from 0 to 36500"},
        {"--retain-days", "36501", "from 0 to 36500"},
        {"--retain-days", "1d", "from 0 to 36500"},
        {"--db", "", "name of a file"},
        {"--api-key", "", "1 to 4095 bytes"},
        {"--listen", "localhost:1", "127.0.0.1:8765"},
        {"--listen", "127.0.0.1", "127.0.0.1:8765"},
        {"--listen", "127.0.0.1:65536", "127.0.0.1:8765"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(read_two(row[i].flag, row[i].value), FLAGS_WRONG);
        assert_non_null(strstr(said.err, row[i].flag));
        assert_non_null(strstr(said.err, row[i].value));
        assert_non_null(strstr(said.err, row[i].expected));
    }
}

static void an_empty_variable_is_no_key(void **state)
{
    (void)state;
    setenv("GPUFL_BACKEND_API_KEY", "", 1);
    assert_int_equal(read_two(NULL, NULL), FLAGS_WRONG);
    assert_non_null(strstr(said.err, "GPUFL_BACKEND_API_KEY: empty"));
    assert_int_equal(read_two("--api-key", "k"), FLAGS_GO_ON);
    unsetenv("GPUFL_BACKEND_API_KEY");
}

static void without_a_key_only_loopback_is_served(void **state)
{
    (void)state;
    static const struct {
        const char *listen;
        bool loopback;
    } row[] = {{"127.0.0.1:1", true},  {"127.8.0.9:1", true},
               {"[::1]:1", true},      {"[::ffff:127.0.0.1]:1", true},
               {"0.0.0.0:1", false},   {"126.255.255.255:1", false},
               {"10.0.0.1:1", false},  {"[::]:1", false},
               {"[fe80::1]:1", false}, {"[::ffff:10.0.0.1]:1", false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        unsetenv("GPUFL_BACKEND_API_KEY");
        assert_int_equal(read_two("--listen", row[i].listen),
                         row[i].loopback ? FLAGS_GO_ON : FLAGS_WRONG);
        assert_int_equal(strstr(said.err, "--insecure") != NULL, !row[i].loopback);
        setenv("GPUFL_BACKEND_API_KEY", "k", 1);
        assert_int_equal(read_two("--listen", row[i].listen), FLAGS_GO_ON);
    }
    unsetenv("GPUFL_BACKEND_API_KEY");
}

static void with_insecure_any_address_is_served_without_a_key(void **state)
{
    (void)state;
    assert_int_equal(read_two("--insecure", "--listen=0.0.0.0:1"), FLAGS_GO_ON);
    assert_string_equal(options.api_key, "");
}

static void a_variable_that_nothing_reads_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *said;
    } row[] = {
        {"GPUFL_BACKEND_TOKEN", "gpufl-backend: GPUFL_BACKEND_TOKEN: ignored: nothing "
                                "reads it (did you mean GPUFL_BACKEND_API_KEY?)\n"},
        {"GPUFL_BACKEND_APIKEY", "gpufl-backend: GPUFL_BACKEND_APIKEY: ignored: nothing "
                                 "reads it (did you mean GPUFL_BACKEND_API_KEY?)\n"},
        {"GPUFL_BACKEND_RETAIN_DAYS",
         "gpufl-backend: GPUFL_BACKEND_RETAIN_DAYS: ignored: "
         "nothing reads it (give --retain-days instead)\n"},
        {"GPUFL_BACKEND_COLOUR",
         "gpufl-backend: GPUFL_BACKEND_COLOUR: ignored: nothing reads it\n"},
        {"GPUFL_BACKEND_API_KEY", ""},
        {"GPUFL_BACKEND_URL", ""},
        {"GPUFL_BACKEND_OPTIONS", ""},
        {"GPUFL_BACKEND_SERVICE_HOST", ""}, /* of Kubernetes */
        {"GPUFL_BACKEND_PORT", ""},
        {"GPUFL_BACKEND_PORT_8765_TCP", ""},
        {"GPUFL_AGENT_LISTEN", ""},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        setenv(row[i].name, "x", 1);
        assert_int_equal(read_two(NULL, NULL), FLAGS_GO_ON);
        unsetenv(row[i].name);
        assert_string_equal(said.err, row[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_flags_all_has_its_default),
        cmocka_unit_test(a_size_has_a_unit),
        cmocka_unit_test(a_wrong_value_is_refused_with_what_is_expected),
        cmocka_unit_test(an_empty_variable_is_no_key),
        cmocka_unit_test(without_a_key_only_loopback_is_served),
        cmocka_unit_test(a_variable_that_nothing_reads_is_told),
        cmocka_unit_test(with_insecure_any_address_is_served_without_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
