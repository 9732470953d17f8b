/* SPDX-License-Identifier: Apache-2.0 */
/* A command line read by a table of flags. */
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/flags.h"
#include "tests/support/capture.h"

#define WORDS_MAX 16

enum colour { RED, GREEN, BLUE };
static const char *const colours[] = {"red", "green", "blue", NULL};

struct fields {
    const char *url;
    const char *path;
    uint64_t timeout_ms;
    uint64_t size;
    int retries;
    enum colour colour;
    bool loud;
    bool salvage;
    char key[FLAG_SECRET_BYTES];
};

#define FIVE_MINUTES_MS 300000

static bool parse_size(const char *value, void *field)
{
    char unit;
    unsigned long number;
    bool valid = sscanf(value, "%lu%c", &number, &unit) == 2 && unit == 'K';
    *(uint64_t *)field = valid ? number << 10 : 0;
    return valid;
}

#define FIELD(f) .field = offsetof(struct fields, f)
static const struct flag rows[] = {
    {.name = "backend-url",
     .type = FLAG_TEXT,
     .value = "URL",
     FIELD(url),
     .variable = "TEST_FLAGS_URL",
     .help = "where it goes"},
    {.name = "api-path",
     .type = FLAG_TEXT,
     .value = "PATH",
     FIELD(path),
     .variable = "TEST_FLAGS_PATH",
     .fallback = "/api/v1",
     .help = "the first part of each path"},
    {.name = "api-key",
     .type = FLAG_SECRET,
     .value = "KEY",
     FIELD(key),
     .variable = "TEST_FLAGS_KEY",
     .help = "key"},
    {.name = "timeout",
     .letter = 't',
     .type = FLAG_DURATION,
     .value = "TIME",
     FIELD(timeout_ms),
     .min = 1,
     .max = 3600000,
     .fallback = FLAG_DEFAULT_MS(FIVE_MINUTES_MS),
     .help = "how long the whole may take, which is a text that is so long that it does "
             "not fit on one line"},
    {.name = "retries",
     .type = FLAG_NUMBER,
     .value = "N",
     FIELD(retries),
     .max = 9,
     .variable = "TEST_FLAGS_RETRIES",
     .help = "how often"},
    {.name = "colour",
     .letter = 'c',
     .type = FLAG_CHOICE,
     .value = "C",
     FIELD(colour),
     .choices = colours,
     .fallback = "green",
     .help = "which"},
    {.name = "size",
     .type = FLAG_PARSED,
     .value = "SIZE",
     FIELD(size),
     .parse = parse_size,
     .expected = "a size such as 4K",
     .help = "how large"},
    {.name = "loud", .letter = 'l', .type = FLAG_ON, FIELD(loud), .help = "not quietly"},
    {.name = "salvage", .type = FLAG_ON, FIELD(salvage)},
    {.name = "no-salvage", .type = FLAG_OFF, FIELD(salvage), .help = "leave it"},
    {.name = "old-jar", .type = FLAG_IGNORED, .value = "FILE"},
};

#define DURATION                                                                         \
    "a whole number and ms, s, m or h, such as 30s, from 1ms to 1h; a bare number is "   \
    "seconds"

static const struct flag_table table = {
    .program = "tool send",
    .version = "tool 1.2",
    .usage = "[options] DIR\n--all",
    .about = "Sends a directory.",
    .notes = "Exit status: 0 sent; 2 usage error.",
    .flag = rows,
    .count = sizeof rows / sizeof rows[0],
    .operand = "DIR",
    .operand_expected = "the directory to send",
    .operands_min = 1,
    .operands_max = 1,
};

struct outcome {
    struct fields fields;
    struct flag_words words;
    struct capture said;
    char line[512]; /* the words, cut at blanks */
    char *word[WORDS_MAX + 2];
    int rc;
};

/* Reads the command line "send <line>". */
static struct outcome *read_line(const struct flag_table *by, const char *line)
{
    static struct outcome o;
    memset(&o, 0, sizeof o);
    o.fields.salvage = true;
    snprintf(o.line, sizeof o.line, "send %s", line);
    char *rest = o.line;
    while (o.words.count < WORDS_MAX && (o.word[o.words.count] = strsep(&rest, " "))) {
        o.words.count += *o.word[o.words.count] != '\0';
    }
    o.word[o.words.count] = NULL;
    o.words.word = o.word;
    capture_begin(&o.said);
    o.rc = flags_read(by, &o.words, &o.fields);
    capture_end(&o.said);
    return &o;
}

static void each_type_of_flag_sets_its_field(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "--backend-url http://a dir --timeout=90s "
                                          "-cblue --size 4K --old-jar x -l");
    assert_string_equal(o->said.err, "");
    assert_int_equal(o->rc, FLAGS_GO_ON);
    assert_string_equal(o->fields.url, "http://a");
    assert_int_equal(o->fields.timeout_ms, 90000);
    assert_int_equal(o->fields.colour, BLUE);
    assert_int_equal(o->fields.size, 4096);
    assert_true(o->fields.loud && o->fields.salvage);
    assert_int_equal(o->words.count, 1);
    assert_string_equal(o->words.word[0], "dir");
    o = read_line(&table, "dir --no-salvage --retries 9 --timeout 1500ms");
    assert_int_equal(o->rc, FLAGS_GO_ON);
    assert_false(o->fields.salvage);
    assert_int_equal(o->fields.retries, 9);
    assert_int_equal(o->fields.timeout_ms, 1500);
}

static void a_flag_beats_its_variable_and_that_its_default(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "dir");
    assert_string_equal(o->fields.path, "/api/v1");
    assert_int_equal(o->fields.timeout_ms, 300000);
    assert_int_equal(o->fields.colour, GREEN);
    assert_null(o->fields.url);
    setenv("TEST_FLAGS_PATH", "/v2", 1);
    setenv("TEST_FLAGS_URL", "", 1);
    o = read_line(&table, "dir");
    assert_string_equal(o->fields.path, "/v2");
    assert_null(o->fields.url);
    assert_string_equal(read_line(&table, "dir --api-path /v3")->fields.path, "/v3");
    unsetenv("TEST_FLAGS_PATH");
    unsetenv("TEST_FLAGS_URL");
}

static void wrong_use_is_told_in_one_form(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } row[] = {
        {"dir --timeout abc", "--timeout: invalid value 'abc' (expected " DURATION ")"},
        {"dir --timeout 2h", "--timeout: invalid value '2h' (expected " DURATION ")"},
        {"dir --timeout 0.1", "--timeout: invalid value '0.1' (expected " DURATION ")"},
        {"dir -t 0", "--timeout: invalid value '0' (expected " DURATION ")"},
        {"dir --retries 10", "--retries: invalid value '10' (expected a whole number "
                             "from 0 to 9)"},
        {"dir --retries=", "--retries: invalid value '' (expected a whole number from 0 "
                           "to 9)"},
        {"dir -c pink", "--colour: invalid value 'pink' (expected red, green or blue)"},
        {"dir --size 4", "--size: invalid value '4' (expected a size such as 4K)"},
        {"dir --colour", "--colour: missing value (expected red, green or blue)"},
        {"dir --backend-url", "--backend-url: missing value (expected URL)"},
        {"--backend-url --loud dir",
         "--backend-url: missing value (expected URL; one that "
         "begins with '-' as --backend-url=VALUE)"},
        {"dir --backend-url -l", "--backend-url: missing value (expected URL; one that "
                                 "begins with '-' as --backend-url=VALUE)"},
        {"--backend-url -- dir", "--backend-url: missing value (expected URL; one that "
                                 "begins with '-' as --backend-url=VALUE)"},
        {"dir -c --loud",
         "--colour: missing value (expected red, green or blue; one that "
         "begins with '-' as --colour=VALUE)"},
        {"dir --retries -1",
         "--retries: invalid value '-1' (expected a whole number from "
         "0 to 9)"},
        {"dir -t", "--timeout: missing value (expected " DURATION ")"},
        {"dir --loud=5", "--loud: unexpected value '5' (it takes none)"},
        {"dir --help=5", "--help: unexpected value '5' (it takes none)"},
        {"dir --backend-ulr=x", "--backend-ulr: unknown option (did you mean "
                                "--backend-url?)"},
        {"dir --verison", "--verison: unknown option (did you mean --version?)"},
        {"dir --old-jra", "--old-jra: unknown option (see tool send --help)"},
        {"dir -x", "-x: unknown option (see tool send --help)"},
        {"dir -lx", "-x: unknown option (see tool send --help)"},
        {"dir --api x", "--api: unknown option (did you mean --api-path or --api-key?)"},
        {"dir --tim 5", "--tim: unknown option (did you mean --timeout?)"},
        {"dir --tim=5", "--tim: unknown option (did you mean --timeout?)"},
        {"dir --tim", "--tim: unknown option (did you mean --timeout?)"},
        {"dir --lou=5", "--lou: unknown option (did you mean --loud?)"},
        {"dir --hel", "--hel: unknown option (did you mean --help?)"},
        {"dir --sal", "--sal: unknown option (see tool send --help)"},
        {"dir --retries a\nb\x1b[1m", "--retries: invalid value 'a\\nb\\x1b[1m' "
                                      "(expected a whole number from 0 to 9)"},
        {"dir --api-path=\t", "--api-path: empty (give PATH, or leave it out)"},
        {"--loud", "DIR: missing (expected the directory to send)"},
        {"--version other", "'other': unexpected argument (see tool send --help)"},
        {"dir other", "'other': unexpected argument (see tool send --help)"},
        {"dir --backend-url=", "--backend-url: empty (give URL, or leave it out)"},
        {"dir --api-key=", "--api-key: missing value (give KEY, or set TEST_FLAGS_KEY)"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char want[256];
        struct outcome *o = read_line(&table, row[i].line);
        snprintf(want, sizeof want, "tool send: %s\n", row[i].want);
        assert_string_equal(o->said.err, want);
        assert_string_equal(o->said.out, "");
        assert_int_equal(o->rc, FLAGS_WRONG);
    }
}

static void of_a_flag_that_is_given_twice_the_last_one_counts(void **state)
{
    (void)state;
    struct outcome *o =
        read_line(&table, "dir -t 5 --api-key one --timeout=7 -l -l "
                          "--backend-url a --api-key two --backend-url=b");
    assert_int_equal(o->rc, FLAGS_GO_ON);
    assert_int_equal(o->fields.timeout_ms, 7000);
    assert_string_equal(o->fields.url, "b");
    assert_string_equal(o->fields.key, "two");
    o = read_line(&table, "dir --retries x --retries 3");
    assert_int_equal(o->rc, FLAGS_WRONG);
    o = read_line(&table, "dir --no-salvage --salvage");
    assert_true(o->fields.salvage);
}

static void a_value_that_is_very_long_is_cut(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "dir");
    char value[5001] = "";
    char *word[] = {"send", "--retries", value, "dir", NULL};
    struct flag_words words = {word, 4};
    memset(value, '1', 5000);
    capture_begin(&o->said);
    int rc = flags_read(&table, &words, &o->fields);
    capture_end(&o->said);
    assert_int_equal(rc, FLAGS_WRONG);
    assert_true(strlen(o->said.err) < 500);
    assert_non_null(strstr(o->said.err, "1...' (expected a whole number from 0 to 9)\n"));
}

static void a_value_that_looks_like_a_flag_stands_behind_its_own(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "dir --backend-url=--loud --api-path=-l");
    assert_int_equal(o->rc, FLAGS_GO_ON);
    assert_string_equal(o->fields.url, "--loud");
    assert_string_equal(o->fields.path, "-l");
    assert_false(o->fields.loud);
    assert_string_equal(read_line(&table, "dir --backend-url -")->fields.url, "-");
    assert_string_equal(read_line(&table, "dir --backend-url -x")->fields.url, "-x");
}

static void an_empty_secret_does_not_stand_for_its_variable(void **state)
{
    (void)state;
    setenv("TEST_FLAGS_KEY", "k", 1);
    struct outcome *o = read_line(&table, "dir --api-key=");
    unsetenv("TEST_FLAGS_KEY");
    assert_int_equal(o->rc, FLAGS_WRONG);
    assert_string_equal(o->said.err, "tool send: --api-key: empty (give KEY, or leave it "
                                     "out to use TEST_FLAGS_KEY)\n");
}

static void a_wrong_variable_is_told_by_its_name(void **state)
{
    (void)state;
    setenv("TEST_FLAGS_RETRIES", "many", 1);
    struct outcome *o = read_line(&table, "dir");
    unsetenv("TEST_FLAGS_RETRIES");
    assert_int_equal(o->rc, FLAGS_WRONG);
    assert_string_equal(o->said.err, "tool send: TEST_FLAGS_RETRIES: invalid value "
                                     "'many' (expected a whole number from 0 to 9)\n");
}

static void a_secret_leaves_the_process_list_and_no_message(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "--api-key s3cret dir");
    assert_string_equal(o->fields.key, "s3cret");
    for (int i = 0; i < 3; i++) {
        assert_null(strstr(o->word[i], "s3cret"));
    }
    char key[4096 + 1] = "";
    memset(key, 'k', 4096);
    char *word[] = {"send", "--api-key", key, "dir", NULL};
    struct flag_words words = {word, 4};
    capture_begin(&o->said);
    int rc = flags_read(&table, &words, &o->fields);
    capture_end(&o->said);
    assert_int_equal(rc, FLAGS_WRONG);
    assert_string_equal(o->said.err,
                        "tool send: --api-key: invalid value (expected KEY of "
                        "at most 4095 bytes)\n");
    assert_int_equal(key[0], 'x');
}

static void a_key_may_be_as_long_as_a_long_token(void **state)
{
    (void)state;
    struct outcome *o = read_line(&table, "dir");
    char key[4095 + 1] = "";
    char *word[] = {"send", "--api-key", key, "dir", NULL};
    struct flag_words words = {word, 4};
    memset(key, 'k', 4095);
    assert_int_equal(flags_read(&table, &words, &o->fields), FLAGS_GO_ON);
    assert_int_equal(strlen(o->fields.key), 4095);
}

static void what_follows_a_command_is_the_commands(void **state)
{
    (void)state;
    struct flag_table runs = table;
    runs.stop_at_operand = true;
    runs.operands_max = -1;
    static const char *const line[] = {"-l prog --loud -x", "-l -- prog --loud -x"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome *o = read_line(&runs, line[i]);
        assert_int_equal(o->rc, FLAGS_GO_ON);
        assert_int_equal(o->words.count, 3);
        assert_string_equal(o->words.word[0], "prog");
        assert_string_equal(o->words.word[1], "--loud");
    }
}

static void help_is_made_from_the_rows(void **state)
{
    (void)state;
    static const char want[] =
        "Usage: tool send [options] DIR\n"
        "       tool send --all\n"
        "Sends a directory.\n"
        "\n"
        "      --backend-url URL  where it goes (default: $TEST_FLAGS_URL)\n"
        "      --api-path PATH    the first part of each path (default: "
        "$TEST_FLAGS_PATH,\n"
        "                         else /api/v1)\n"
        "      --api-key KEY      key (default: $TEST_FLAGS_KEY)\n"
        "  -t, --timeout TIME     how long the whole may take, which is a text that is "
        "so\n"
        "                         long that it does not fit on one line (default: 5m)\n"
        "      --retries N        how often (default: $TEST_FLAGS_RETRIES)\n"
        "  -c, --colour red|green|blue\n"
        "                         which (default: green)\n"
        "      --size SIZE        how large\n"
        "  -l, --loud             not quietly\n"
        "      --no-salvage       leave it\n"
        "  -h, --help             print this text\n"
        "  -V, --version          print the version\n"
        "\n"
        "Exit status: 0 sent; 2 usage error.\n";
    static const char *const line[] = {"--help", "-h", "dir other --help", "-lh"};
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        struct outcome *o = read_line(&table, line[i]);
        assert_int_equal(o->rc, FLAGS_ANSWERED);
        assert_string_equal(o->said.out, want);
    }
    assert_string_equal(read_line(&table, "-V")->said.out, "tool 1.2\n");
    assert_int_equal(read_line(&table, "--version --nonsense")->rc, FLAGS_ANSWERED);
}

static void a_duration_is_written_as_it_is_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *text;
    } row[] = {{1, "1ms"},     {1500, "1500ms"},
               {30000, "30s"}, {90000, "90s"},
               {300000, "5m"}, {3600000, "1h"},
               {0, "0h"},      {DURATION_MAX_MS, "4294967295h"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[DURATION_TEXT];
        uint64_t ms;
        duration_text(row[i].ms, text);
        assert_string_equal(text, row[i].text);
        assert_true(duration_parse(text, &ms));
        assert_int_equal(ms, row[i].ms);
    }
    uint64_t ms;
    assert_false(duration_parse("4294967296h", &ms));
}

static void a_verb_is_found_or_the_nearest_is_suggested(void **state)
{
    (void)state;
    static const struct flag_verb verbs[] = {{"upload", NULL, "send it"},
                                             {"status", NULL, "show it"}};
    struct flag_table with_verbs = table;
    static struct outcome o;
    with_verbs.verb = verbs;
    with_verbs.verbs = 2;
    assert_ptr_equal(flags_verb(&with_verbs, "status"), &verbs[1]);
    capture_begin(&o.said);
    assert_null(flags_verb(&with_verbs, "uplaod"));
    assert_null(flags_verb(&with_verbs, "record"));
    capture_end(&o.said);
    assert_string_equal(
        o.said.err, "tool send: 'uplaod': unknown verb (did you mean upload?)\n"
                    "tool send: 'record': unknown verb (expected upload or status)\n");
    assert_non_null(strstr(read_line(&with_verbs, "-h")->said.out,
                           "\n\n  upload  send it\n  status  show it\n\n      --back"));
}

static void an_empty_command_line_has_no_operand(void **state)
{
    (void)state;
    char *none[] = {NULL};
    struct flag_table bare = table;
    struct flag_words words = {none, 0};
    struct fields fields = {0};
    bare.operands_min = 0;
    assert_int_equal(flags_read(&bare, &words, &fields), FLAGS_GO_ON);
    assert_int_equal(words.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_of_flag_sets_its_field),
        cmocka_unit_test(a_flag_beats_its_variable_and_that_its_default),
        cmocka_unit_test(wrong_use_is_told_in_one_form),
        cmocka_unit_test(of_a_flag_that_is_given_twice_the_last_one_counts),
        cmocka_unit_test(a_value_that_is_very_long_is_cut),
        cmocka_unit_test(a_value_that_looks_like_a_flag_stands_behind_its_own),
        cmocka_unit_test(an_empty_secret_does_not_stand_for_its_variable),
        cmocka_unit_test(a_wrong_variable_is_told_by_its_name),
        cmocka_unit_test(a_secret_leaves_the_process_list_and_no_message),
        cmocka_unit_test(a_key_may_be_as_long_as_a_long_token),
        cmocka_unit_test(what_follows_a_command_is_the_commands),
        cmocka_unit_test(help_is_made_from_the_rows),
        cmocka_unit_test(a_duration_is_written_as_it_is_read),
        cmocka_unit_test(a_verb_is_found_or_the_nearest_is_suggested),
        cmocka_unit_test(an_empty_command_line_has_no_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
