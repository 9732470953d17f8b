/* SPDX-License-Identifier: Apache-2.0 */
/* How each verb of gpufl takes its arguments: what it says, and its exit code. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flags.h"
#include "cli/transfer/transfer_verb.h"
#include "cli/verb_info.h"
#include "cli/verb_monitor.h"
#include "cli/verb_trace.h"
#include "cli/verb_transfer.h"
#include "cli/verb_version.h"
#include "tests/support/capture.h"
#include "tests/support/dirs.h"

#define WORDS_MAX 16
#define UP_TO(max)                                                                       \
    "a whole number and ms, s, m or h, such as 30s, from 1ms to " max                    \
    "; a bare number is seconds"

/* As verb_transfer() does, without the module. */
static int read_and_run(int argc, char **argv)
{
    static struct transfer_arguments arguments;
    int rc = transfer_arguments_read(argc, argv, &arguments);
    return rc == FLAGS_GO_ON ? gpufl_transfer_module.run_verb(&arguments) : rc;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"trace", verb_trace},    {"monitor", verb_monitor},    {"upload", read_and_run},
    {"status", read_and_run}, {"quarantine", read_and_run}, {"info", verb_info},
    {"verify", read_and_run}, {"version", verb_version},
};

/* Runs \p line, words with blanks between, of which the first is the verb. */
static int run_line(const char *line, struct capture *said)
{
    char text[512], *rest = text, *word[WORDS_MAX + 1] = {0};
    int count = 0;
    int rc = -1;
    snprintf(text, sizeof text, "%s", line);
    while (count < WORDS_MAX && (word[count] = strsep(&rest, " "))) {
        count++;
    }
    capture_begin(said);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].name, word[0]) == 0) {
            rc = verbs[i].run(count, word);
        }
    }
    capture_end(said);
    return rc;
}

static void wrong_use_is_said_in_one_line_and_exits_2(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } row[] = {
        {"upload", "DIR: missing (expected the directory that holds the sessions)"},
        {"upload a b", "'b': unexpected argument (see gpufl upload --help)"},
        {"upload a ", "'': unexpected argument (see gpufl upload --help)"},
        {"upload a --timeout abc",
         "--timeout: invalid value 'abc' (expected " UP_TO("596h") ")"},
        {"upload a --timeout=-1",
         "--timeout: invalid value '-1' (expected " UP_TO("596h") ")"},
        {"upload a --timeout 597h",
         "--timeout: invalid value '597h' (expected " UP_TO("596h") ")"},
        {"upload a --retries x",
         "--retries: invalid value 'x' (expected a whole number from 0 to 1000000)"},
        {"upload a --compression lz4",
         "--compression: invalid value 'lz4' (expected auto, zstd, gzip or none)"},
        {"upload a --api-key", "--api-key: missing value (expected KEY of at most 4095 "
                               "bytes)"},
        {"upload a --backend_url=x", "--backend_url: unknown option (did you mean "
                                     "--backend-url?)"},
        {"upload a --session-id=", "--session-id: empty (give ID, or leave it out)"},
        {"upload a --api-key=",
         "--api-key: missing value (give KEY, or set GPUFL_API_KEY)"},
        {"monitor --upload --backend-url=",
         "--backend-url: empty (give URL, or leave it out)"},
        {"upload a --latests", "--latests: unknown option (did you mean --latest?)"},
        {"status", "DIR: missing (expected the directory that holds the sessions)"},
        {"status a --jsn", "--jsn: unknown option (did you mean --json?)"},
        {"status /nowhere", "DIR: '/nowhere': No such file or directory (expected the "
                            "directory that holds the sessions)"},
        {"status ", "DIR: '': No such file or directory (expected the directory that "
                    "holds the sessions)"},
        {"quarantine", "VERB: missing (expected list, show, retry or drop)"},
        {"quarantine lst a", "'lst': unknown verb (did you mean list?)"},
        {"quarantine /logs list",
         "'/logs': unknown verb (expected list, show, retry or drop)"},
        {"quarantine ", "'': unknown verb (expected list, show, retry or drop)"},
        {"quarantine list", "DIR: missing (expected the directory that holds the "
                            "sessions)"},
        {"quarantine list a b", "'b': unexpected argument (see gpufl quarantine --help)"},
        {"quarantine list a --all",
         "--all: has no effect with list, which lists all (leave it out)"},
        {"quarantine list a --proxy none",
         "--proxy: has no effect with list (leave it out)"},
        {"quarantine show a b --api-key k",
         "--api-key: has no effect with show (leave it out)"},
        {"quarantine drop a b --same-origin",
         "--same-origin: has no effect with drop (leave it out)"},
        {"verify a --session-id s --all",
         "--all: has no effect with --session-id (leave it out)"},
        {"verify a --same-origin",
         "--same-origin: has no effect without --resend (give both)"},
        {"quarantine show a", "NAME: missing (expected names that gpufl quarantine list "
                              "shows, or --all)"},
        {"quarantine drop a", "NAME: missing (expected names that gpufl quarantine list "
                              "shows, or --all)"},
        {"quarantine show a b --all", "--all: conflicts with NAME 'b' (give only one)"},
        {"quarantine drop a --all b c", "--all: conflicts with NAME 'b' (give only one)"},
        {"quarantine retry a b --all", "--all: conflicts with NAME 'b' (give only one)"},
        {"quarantine retry a --all", "--backend-url: missing (give it, or set "
                                     "GPUFL_BACKEND_URL)"},
        {"quarantine show /nowhere --all", "DIR: '/nowhere': No such file or directory "
                                           "(expected the directory that holds the "
                                           "sessions)"},
        {"monitor --interval 0", "--interval: invalid value '0' (expected milliseconds "
                                 "from 1 to 86400000)"},
        {"monitor --duration soon",
         "--duration: invalid value 'soon' (expected " UP_TO("4294967295h") ")"},
        {"monitor --duration 0.1",
         "--duration: invalid value '0.1' (expected " UP_TO("4294967295h") ")"},
        {"monitor --duration 0",
         "--duration: invalid value '0' (expected " UP_TO("4294967295h") ")"},
        {"monitor extra", "'extra': unexpected argument (see gpufl monitor --help)"},
        {"monitor --uplaod", "--uplaod: unknown option (did you mean --upload?)"},
        {"monitor --upload", "--upload: no backend (give --backend-url and --api-key, or "
                             "set GPUFL_BACKEND_URL and GPUFL_API_KEY)"},
        {"monitor --api-key k", "--api-key: has no effect without --upload (give both)"},
        {"trace --proxy none true",
         "--proxy: has no effect without --upload (give both)"},
        {"trace --same-origin true",
         "--same-origin: has no effect without --upload (give both)"},
        {"monitor -n", "--name: missing value (expected NAME of at most 255 bytes)"},
        {"trace", "COMMAND: missing (expected a command, as in gpufl trace -- python3 "
                  "train.py)"},
        {"trace --engine Deep true", "--engine: invalid value 'Deep' (expected Monitor, "
                                     "Trace or PcSampling)"},
        {"trace --interval 1s true", "--interval: invalid value '1s' (expected "
                                     "milliseconds from 0 to 86400000)"},
        {"trace --otput=a true", "--otput: unknown option (did you mean --output?)"},
        {"trace -o a true", "libgpufl-inject.so: not found beside gpufl or in "
                            "../lib/gpufl (install libgpufl)"},
        {"info --device x", "--device: invalid value 'x' (expected the number of a GPU, "
                            "from 0)"},
        {"info --devices 1", "--devices: unknown option (did you mean --device?)"},
        {"version --jason", "--jason: unknown option (see gpufl version --help)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        static struct capture said;
        char want[256];
        snprintf(want, sizeof want, "gpufl %.*s: %s\n", (int)strcspn(row[i].line, " "),
                 row[i].line, row[i].want);
        int rc = run_line(row[i].line, &said);
        assert_string_equal(said.err, want);
        assert_string_equal(said.out, "");
        assert_int_equal(rc, 2);
    }
}

static void each_verb_has_help_and_a_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        static const char *const ask[] = {"--help", "-h", "--version", "-V"};
        for (size_t k = 0; k < 4; k++) {
            static struct capture said;
            char line[64], usage[64];
            snprintf(line, sizeof line, "%s %s", verbs[i].name, ask[k]);
            snprintf(usage, sizeof usage, "Usage: gpufl %s", verbs[i].name);
            assert_int_equal(run_line(line, &said), 0);
            assert_string_equal(said.err, "");
            const char *begins = k < 2 ? usage : "gpufl " GPUFL_VERSION " (wire v";
            assert_int_equal(strncmp(said.out, begins, strlen(begins)), 0);
        }
    }
}

static void each_verb_that_sends_reaches_a_backend_by_the_same_flags(void **state)
{
    (void)state;
    static const char *const line[] = {"upload -h", "quarantine -h", "monitor -h",
                                       "trace -h"};
    static const char *const flag[] = {
        "backend-url URL ", "api-key KEY ", "api-path PATH ",
        "ca-file FILE ",    "proxy URL ",   "client-cert FILE ",
        "client-key FILE ", "same-origin ", "allow-insecure-http\n",
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        static struct capture said;
        assert_int_equal(run_line(line[i], &said), 0);
        for (size_t k = 0; k < sizeof flag / sizeof flag[0]; k++) {
            char row[64];
            snprintf(row, sizeof row, "\n      --%s", flag[k]);
            assert_non_null(strstr(said.out, row));
        }
    }
}

static void a_wrong_value_is_called_by_what_set_it(void **state)
{
    (void)state;
    static struct capture said;
    char line[200];
    char *dir = dirs_make();
    setenv("GPUFL_BACKEND_URL", "ftp://x", 1);
    snprintf(line, sizeof line, "quarantine retry %s --all", dir);
    assert_int_equal(run_line(line, &said), 2);
    assert_non_null(strstr(said.err, "GPUFL_BACKEND_URL: 'ftp://x': not an http"));
    snprintf(line, sizeof line, "quarantine drop %s --all --state-dir /dev/null", dir);
    assert_int_equal(run_line(line, &said), 2);
    assert_non_null(strstr(said.err, " --state-dir: '/dev/null': Not a directory"));
    snprintf(line, sizeof line, "quarantine retry %s --all --backend-url ftp://y", dir);
    assert_int_equal(run_line(line, &said), 2);
    assert_non_null(strstr(said.err, "--backend-url: 'ftp://y': not an http"));
    unsetenv("GPUFL_BACKEND_URL");
    dirs_remove(dir);
}

static void monitor_says_why_nothing_is_recorded(void **state)
{
    (void)state;
    static struct capture said;
    assert_int_equal(run_line("monitor --duration 1ms -o /dev/null/x", &said), 3);
    assert_string_equal(said.err,
                        "gpufl monitor: --output: '/dev/null/x': Not a directory "
                        "(expected a directory that can be written to)\n");
    char line[400];
    for (int trace = 0; trace < 2; trace++) {
        snprintf(line, sizeof line, "%s -o /tmp -n %0256d true",
                 trace ? "trace" : "monitor", 0);
        assert_int_equal(run_line(line, &said), 2);
        assert_non_null(strstr(said.err, "--name: invalid value '000"));
        assert_non_null(strstr(said.err, "00' (expected NAME of at most 255 bytes)\n"));
    }
    setenv("GPUFL_DISABLED", "1", 1);
    assert_int_equal(run_line("monitor --duration 1ms -o /tmp", &said), 3);
    unsetenv("GPUFL_DISABLED");
    assert_string_equal(said.err, "gpufl monitor: not recording: GPUFL_DISABLED is set "
                                  "(unset it to record)\n");
}

static void the_output_needs_a_home_or_a_name(void **state)
{
    (void)state;
    static const char *const line[] = {"trace true", "monitor --duration 1ms"};
    static const char *const want[] = {
        "gpufl trace: --output: missing (HOME is not set; give a directory)\n",
        "gpufl monitor: --output: missing (HOME is not set; give a directory)\n"};
    unsetenv("HOME");
    for (size_t i = 0; i < 2; i++) {
        static struct capture said;
        assert_int_equal(run_line(line[i], &said), 2);
        assert_string_equal(said.err, want[i]);
    }
}

static void without_the_transfer_module_its_verbs_say_so(void **state)
{
    (void)state;
    static struct capture said;
    char status[] = "status", directory[] = ".";
    char *word[] = {status, directory, NULL};
    capture_begin(&said);
    int rc = verb_transfer(2, word);
    capture_end(&said);
    assert_int_equal(rc, 2);
    assert_string_equal(said.err,
                        "gpufl status: libgpufl-transfer.so: not found beside "
                        "gpufl or in ../lib/gpufl (install all of gpufl, or run "
                        "this where it is)\n");
}

static void without_the_transfer_module_its_verbs_have_help(void **state)
{
    (void)state;
    static const char *const verb[] = {"upload", "status", "quarantine"};
    static const char *const ask[] = {"--help", "-V", "--hlep"};
    for (size_t i = 0; i < 9; i++) {
        static struct capture said;
        char words[2][32];
        char *word[] = {words[0], words[1], NULL};
        snprintf(words[0], sizeof words[0], "%s", verb[i / 3]);
        snprintf(words[1], sizeof words[1], "%s", ask[i % 3]);
        capture_begin(&said);
        int rc = verb_transfer(2, word);
        capture_end(&said);
        assert_int_equal(rc, i % 3 == 2 ? 2 : 0);
        assert_null(strstr(said.err, "libgpufl-transfer"));
    }
}

static int without_variables(void **state)
{
    (void)state;
    unsetenv("GPUFL_BACKEND_URL");
    unsetenv("GPUFL_API_KEY");
    return unsetenv("GPUFL_API_PATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_use_is_said_in_one_line_and_exits_2),
        cmocka_unit_test(each_verb_has_help_and_a_version),
        cmocka_unit_test(each_verb_that_sends_reaches_a_backend_by_the_same_flags),
        cmocka_unit_test(a_wrong_value_is_called_by_what_set_it),
        cmocka_unit_test(monitor_says_why_nothing_is_recorded),
        cmocka_unit_test(the_output_needs_a_home_or_a_name),
        cmocka_unit_test(without_the_transfer_module_its_verbs_say_so),
        cmocka_unit_test(without_the_transfer_module_its_verbs_have_help),
    };
    return cmocka_run_group_tests(tests, without_variables, NULL);
}
