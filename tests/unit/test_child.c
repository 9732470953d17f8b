/* SPDX-License-Identifier: Apache-2.0 */
/* A command that gpufl trace runs, where its recording goes, and what is found beside it.
 */
#include "tests/support/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/installed.h"
#include "cli/output.h"
#include "cli/upload_recorded.h"
#include "tests/support/capture.h"

static bool began;

/* Runs it with the signals of a program that has just started. */
static int run_fresh(char **word)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return child_run("tool", word, &began);
}

static void a_command_ends_as_in_a_shell(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int code;
        const char *err;
    } row[] = {
        {"exit 0", 0, ""},
        {"exit 7", 7, ""},
        {"kill -9 $$", 128 + 9, ""},
        {"kill -TERM $$", 128 + 15, ""},
        {NULL, 127, "tool: /no/such/program: No such file or directory\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        static struct capture said;
        char shell[] = "/bin/sh", option[] = "-c", none[] = "/no/such/program", text[64];
        snprintf(text, sizeof text, "%s", row[i].command ? row[i].command : "");
        char *word[] = {row[i].command ? shell : none, option, text, NULL};
        capture_begin(&said);
        int rc = run_fresh(word);
        capture_end(&said);
        assert_int_equal(rc, row[i].code);
        assert_string_equal(said.err, row[i].err);
        assert_int_equal(began, row[i].command != NULL);
    }
}

static void what_is_no_program_cannot_be_run(void **state)
{
    (void)state;
    static struct capture said;
    char path[] = "/";
    char *word[] = {path, NULL};
    capture_begin(&said);
    int rc = run_fresh(word);
    capture_end(&said);
    assert_int_equal(rc, 126);
    assert_false(began);
    assert_string_equal(said.err, "tool: /: Permission denied\n");
}

static void a_signal_to_us_reaches_the_command(void **state)
{
    (void)state;
    char shell[] = "/bin/sh", option[] = "-c";
    char text[] = "trap 'exit 3' USR1; kill -USR1 $PPID; while :; do :; done";
    char *word[] = {shell, option, text, NULL};
    assert_int_equal(run_fresh(word), 3);
}

static void a_recording_goes_below_the_home_directory(void **state)
{
    (void)state;
    char one[PATH_MAX], two[PATH_MAX];
    setenv("HOME", "/home/me", 1);
    assert_true(output_default("trace", one) && output_default("trace", two));
    assert_int_equal(strncmp(one, "/home/me/.gpufl/trace/2", 23), 0);
    assert_int_equal(strlen(one),
                     strlen("/home/me/.gpufl/trace/20261123-084500_0123abcd"));
    assert_string_not_equal(one, two);
    setenv("HOME", "", 1);
    assert_false(output_default("trace", one));
    unsetenv("HOME");
    assert_false(output_default("trace", one));
}

static void sessions_are_counted_without_hidden_directories(void **state)
{
    (void)state;
    char root[] = "/tmp/gpufl-child-XXXXXX", path[64];
    static const char *const name[] = {"one", "two", ".gpufl-agent"};
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, name[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    struct output_sessions none = output_sessions("/no/such/directory");
    struct output_sessions both = output_sessions(root);
    assert_int_equal(none.count, 0);
    assert_int_equal(both.count, 2);
    assert_int_equal(output_sessions_new(root, &none), 2);
    assert_int_equal(output_sessions_new(root, &both), 0);
    assert_int_equal(output_sessions_new("/no/such/directory", &both), 0);
    output_sessions_free(&both);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, name[i]);
        rmdir(path);
    }
    rmdir(root);
}

static void a_file_beside_the_program_is_found(void **state)
{
    (void)state;
    char self[PATH_MAX] = "", found[PATH_MAX];
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    assert_true(installed_find(strrchr(self, '/') + 1, found));
    assert_string_equal(found, self);
    assert_false(installed_find("libgpufl-none.so", found));
}

static void the_flags_of_an_upload_become_its_options(void **state)
{
    (void)state;
    static struct capture said;
    struct upload_recorded send = {.backend = {.backend_url = "http://b",
                                               .api_path = "/v2",
                                               .proxy = "none",
                                               .client_cert = "cert.pem",
                                               .same_origin = true}};
    snprintf(send.backend.api_key, sizeof send.backend.api_key, "key");
    struct gpufl_upload_options options = upload_recorded_options(&send, "/logs");
    assert_string_equal(options.log_path, "/logs");
    assert_string_equal(options.backend_url, "http://b");
    assert_string_equal(options.api_path, "/v2");
    assert_string_equal(options.api_key, "key");
    assert_string_equal(options.proxy, "none");
    assert_string_equal(options.client_cert, "cert.pem");
    assert_true(options.same_origin);
    capture_begin(&said);
    upload_recorded_failed("gpufl trace", "/logs", "no contact");
    capture_end(&said);
    assert_string_equal(said.err, "gpufl trace: --upload: no contact; "
                                  "gpufl upload /logs sends it later\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_ends_as_in_a_shell),
        cmocka_unit_test(what_is_no_program_cannot_be_run),
        cmocka_unit_test(a_signal_to_us_reaches_the_command),
        cmocka_unit_test(a_recording_goes_below_the_home_directory),
        cmocka_unit_test(sessions_are_counted_without_hidden_directories),
        cmocka_unit_test(a_file_beside_the_program_is_found),
        cmocka_unit_test(the_flags_of_an_upload_become_its_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
