/* SPDX-License-Identifier: Apache-2.0 */
/* The API key: where it comes from, and that a replaced file is noticed. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/token.h"

static char dir[64];
static char file[128];

static void write_key(const char *name, const char *key)
{
    char path[256];
    char fresh[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "w");
    assert_non_null(f);
    fputs(key, f);
    fclose(f);
    assert_int_equal(rename(fresh, path), 0);
}

static int make_dir(void **state)
{
    (void)state;
    unsetenv("CREDENTIALS_DIRECTORY");
    snprintf(dir, sizeof dir, "/tmp/gpufl-token-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/key", dir);
    return 0;
}

static int remove_dir(void **state)
{
    char path[128];
    (void)state;
    unlink(file);
    snprintf(path, sizeof path, "%s/" TOKEN_CREDENTIAL, dir);
    unlink(path);
    return rmdir(dir);
}

static void a_value_is_trimmed_and_wiped(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    char value[] = " \tkey\r\n";
    assert_int_equal(token_open(&token, value, NULL, why), GPUFL_OK);
    assert_string_equal(token_value(&token), "key");
    assert_string_equal(value, "");
    assert_false(token_reload(&token));
    token_fini(&token);
    assert_string_equal(token_value(&token), "");
}

static void a_file_beats_a_value_and_a_credential(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    char value[] = "by value";
    write_key("key", "by file\n");
    write_key(TOKEN_CREDENTIAL, "by credential");
    setenv("CREDENTIALS_DIRECTORY", dir, 1);
    assert_int_equal(token_open(&token, value, file, why), GPUFL_OK);
    assert_string_equal(token_value(&token), "by file");
    char again[] = "by value";
    assert_int_equal(token_open(&token, again, NULL, why), GPUFL_OK);
    assert_string_equal(token_value(&token), "by value");
    assert_int_equal(token_open(&token, NULL, "", why), GPUFL_OK);
    assert_string_equal(token_value(&token), "by credential");
}

static void without_any_there_is_none(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    assert_int_equal(token_open(&token, NULL, NULL, why), GPUFL_OK);
    assert_string_equal(token_value(&token), "");
    setenv("CREDENTIALS_DIRECTORY", dir, 1); /* where no such credential lies */
    assert_int_equal(token_open(&token, NULL, NULL, why), GPUFL_OK);
    assert_string_equal(token_value(&token), "");
}

static void a_replaced_file_is_noticed_once(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    write_key("key", "old");
    assert_int_equal(token_open(&token, NULL, file, why), GPUFL_OK);
    assert_false(token_reload(&token));
    write_key("key", "old\n"); /* the same key */
    assert_false(token_reload(&token));
    write_key("key", "new");
    assert_true(token_reload(&token));
    assert_string_equal(token_value(&token), "new");
    assert_false(token_reload(&token));
    write_key("key", ""); /* half written */
    assert_false(token_reload(&token));
    assert_string_equal(token_value(&token), "new");
    unlink(file);
    assert_false(token_reload(&token));
    assert_string_equal(token_value(&token), "new");
}

static void a_file_that_cannot_be_read_is_said(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    char want[600];
    assert_int_equal(token_open(&token, NULL, file, why), GPUFL_ERR_USAGE);
    snprintf(want, sizeof want,
             "'%s': No such file or directory (give a file that can be "
             "read, with the API key)",
             file);
    assert_string_equal(why, want);
}

static void a_pipe_is_refused_and_not_waited_for(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    char want[600];
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_int_equal(token_open(&token, NULL, file, why), GPUFL_ERR_USAGE);
    snprintf(want, sizeof want,
             "'%s': a pipe, not a regular file (give a regular file, or a link to one)",
             file);
    assert_string_equal(why, want);
    unlink(file);
    write_key("key", "old");
    assert_int_equal(token_open(&token, NULL, file, why), GPUFL_OK);
    unlink(file);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_false(token_reload(&token));
    assert_string_equal(token_value(&token), "old");
}

static void a_file_without_one_key_is_refused(void **state)
{
    (void)state;
    static const char *const row[][2] = {
        {"", "empty"},
        {" \n\t\n", "empty"},
        {"one\ntwo\n", "more than one line"},
    };
    struct token token;
    char why[512];
    char *huge = calloc(1, TOKEN_MAX + 2);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        write_key("key", row[i][0]);
        assert_int_equal(token_open(&token, NULL, file, why), GPUFL_ERR_USAGE);
        assert_non_null(strstr(why, row[i][1]));
        assert_non_null(strstr(why, file));
    }
    assert_non_null(huge);
    memset(huge, 'k', TOKEN_MAX + 1);
    write_key("key", huge);
    assert_int_equal(token_open(&token, NULL, file, why), GPUFL_ERR_USAGE);
    assert_non_null(strstr(why, "longer than 4095 bytes"));
    free(huge);
}

static void a_value_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct token token;
    char why[512];
    char value[TOKEN_MAX + 1];
    memset(value, 'k', TOKEN_MAX);
    value[TOKEN_MAX] = '\0';
    assert_int_equal(token_open(&token, value, NULL, why), GPUFL_ERR_USAGE);
    assert_string_equal(why, "the API key is too long (at most 4095 bytes)");
    memset(value, 'k', TOKEN_MAX - 1);
    value[TOKEN_MAX - 1] = '\0';
    assert_int_equal(token_open(&token, value, NULL, why), GPUFL_OK);
    assert_int_equal(strlen(token_value(&token)), TOKEN_MAX - 1);
}

static void a_key_by_value_is_given_up_at_once(void **state)
{
    (void)state;
    struct token_grace grace = {0};
    assert_false(token_grace_is_over(&grace, false, false, 1));
    assert_true(token_grace_is_over(&grace, true, false, 2));
}

static void a_key_file_has_a_minute_from_its_first_refusal(void **state)
{
    (void)state;
    struct token_grace grace = {0};
    assert_false(token_grace_is_over(&grace, true, true, 5));
    assert_false(token_grace_is_over(&grace, true, true, 4 + TOKEN_GRACE_MS));
    assert_true(token_grace_is_over(&grace, true, true, 5 + TOKEN_GRACE_MS));
    assert_false(token_grace_is_over(&grace, false, true, 6 + TOKEN_GRACE_MS));
    assert_false(token_grace_is_over(&grace, true, true, 7 + TOKEN_GRACE_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_by_value_is_given_up_at_once),
        cmocka_unit_test(a_key_file_has_a_minute_from_its_first_refusal),
        cmocka_unit_test_setup_teardown(a_value_is_trimmed_and_wiped, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_file_beats_a_value_and_a_credential, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(without_any_there_is_none, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_replaced_file_is_noticed_once, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_is_said, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_pipe_is_refused_and_not_waited_for, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_file_without_one_key_is_refused, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(a_value_that_is_too_long_is_refused, make_dir,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
