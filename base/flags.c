/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a command line with getopt_long() and reports what is wrong in one form. */
#include "base/flags.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/flag_help.h"
#include "base/message.h"
#include "base/nearest.h"

#define ROWS_MAX  40u
#define VERBS_MAX 16u
#define WORD_MAX  400 /* of an operand in a message */
#define VALUE_MAX 300 /* of a value */
#define LONG      256 /* + row: what getopt_long() returns for a long name */
#define HELP      (LONG + (int)ROWS_MAX)
#define VERSION   (HELP + 1)

/* What getopt_long() is given. */
struct spelling {
    struct option option[ROWS_MAX + 3];
    char letters[2 * ROWS_MAX + 8];
};

int flags_wrong(const struct flag_table *table, const char *what, const char *why, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, why);
    int len = vasprintf(&text, why, args);
    va_end(args);
    message_line(table->program, "%s: %s", what, len < 0 ? "out of memory" : text);
    if (len >= 0) {
        free(text);
    }
    return FLAGS_WRONG;
}

int flags_unexpected(const struct flag_table *table, const char *operand)
{
    char quoted[WORD_MAX];
    snprintf(quoted, sizeof quoted, "'%s'", operand);
    return flags_wrong(table, quoted, "unexpected argument (see %s --help)",
                       table->program);
}

static void flags_spell(const struct flag_table *table, struct spelling *out)
{
    static const struct option own[] = {{"help", no_argument, NULL, HELP},
                                        {"version", no_argument, NULL, VERSION}};
    size_t count = table->count;
    char *letter = out->letters;
    assert(count <= ROWS_MAX);
    if (table->stop_at_operand) {
        *letter++ = '+';
    }
    *letter++ = ':'; /* a missing value is told from an unknown flag */
    for (size_t i = 0; i < count; i++) {
        const struct flag *flag = &table->flag[i];
        out->option[i] =
            (struct option){flag->name, flag->value ? required_argument : no_argument,
                            NULL, LONG + (int)i};
        if (flag->letter) {
            *letter++ = flag->letter;
        }
        if (flag->letter && flag->value) {
            *letter++ = ':';
        }
    }
    memcpy(&out->option[count], own, sizeof own);
    memcpy(letter, "hV", 2);
}

/* The row that getopt_long() means by \p c, NULL = none. */
static const struct flag *flags_row(const struct flag_table *table, int c)
{
    if (c >= LONG && c < HELP) {
        return &table->flag[c - LONG];
    }
    for (size_t i = 0; i < table->count; i++) {
        if (c && table->flag[i].letter == c) {
            return &table->flag[i];
        }
    }
    return NULL;
}

static int print_help(const struct flag_table *table)
{
    struct text help = {0};
    flag_help(table, &help);
    fwrite(help.data, 1, help.failed ? 0 : help.len, stdout);
    text_fini(&help);
    return FLAGS_ANSWERED;
}

/* An operand behind it would have no effect. */
static int print_version(const struct flag_table *table, const struct flag_words *words)
{
    if (optind < words->count && words->word[optind][0] != '-') {
        return flags_unexpected(table, words->word[optind]);
    }
    puts(table->version);
    return FLAGS_ANSWERED;
}

static bool is_path(const struct flag *flag)
{
    return flag->value &&
           (strcmp(flag->value, "DIR") == 0 || strcmp(flag->value, "FILE") == 0);
}

/* A value that came from \p name, a flag or a variable. */
static int store_named(const struct flag_table *table, const struct flag *flag,
                       const char *name, const char *value, void *fields)
{
    char expected[160];
    if (flag_store(flag, value, fields)) {
        const char *fault = is_path(flag) ? flag_path_fault(value) : NULL;
        return fault ? flags_wrong(table, name, "'%.*s%s': %s",
                                   MESSAGE_VALUE(value, VALUE_MAX), fault)
                     : FLAGS_GO_ON;
    }
    flag_expected(flag, expected, sizeof expected);
    if (flag->type == FLAG_SECRET) {
        return flags_wrong(table, name, "invalid value (expected %s)", expected);
    }
    return flags_wrong(table, name, "invalid value '%.*s%s' (expected %s)",
                       MESSAGE_VALUE(value, VALUE_MAX), expected);
}

/* A blank key is one that could not be read. */
static bool is_unset(const struct flag *flag, const char *variable)
{
    return flag->type == FLAG_SECRET ? !*variable : flag_is_blank(variable);
}

static int take_defaults(const struct flag_table *table, void *fields)
{
    int rc = FLAGS_GO_ON;
    for (size_t i = 0; rc == FLAGS_GO_ON && i < table->count; i++) {
        const struct flag *flag = &table->flag[i];
        const char *from_environment = flag->variable ? getenv(flag->variable) : NULL;
        if (from_environment && !is_unset(flag, from_environment)) {
            rc = store_named(table, flag, flag->variable, from_environment, fields);
        } else if (flag->fallback) {
            rc = store_named(table, flag, flag->name, flag->fallback, fields);
        }
    }
    return rc;
}

static int refuse_missing(const struct flag_table *table, const struct flag *flag)
{
    char name[80], expected[160];
    snprintf(name, sizeof name, "--%s", flag->name);
    flag_expected(flag, expected, sizeof expected);
    return flags_wrong(table, name, "missing value (expected %s)", expected);
}

static bool flags_is_letter(const void *table, char letter)
{
    return strchr("hV", letter) || flags_row(table, (unsigned char)letter);
}

static int refuse_flag_as_value(const struct flag_table *table, const struct flag *flag)
{
    char name[80], expected[160];
    snprintf(name, sizeof name, "--%s", flag->name);
    flag_expected(flag, expected, sizeof expected);
    return flags_wrong(
        table, name, "missing value (expected %s; one that begins with '-' as %s=VALUE)",
        expected, name);
}

/* The names that \p part begins, but for those that --help leaves out, into \p out. */
static unsigned names_begun(const struct flag_table *table, const struct option *option,
                            const char *part, char out[160])
{
    unsigned found = 0;
    size_t len = 0;
    for (size_t i = 0; option[i].name && len < 160; i++) {
        bool listed = i >= table->count || table->flag[i].help;
        if (listed && *part && strncmp(option[i].name, part, strlen(part)) == 0) {
            len += (size_t)snprintf(out + len, 160 - len, "%s--%s", found++ ? " or " : "",
                                    option[i].name);
        }
    }
    return found;
}

static int refuse_name(const struct flag_table *table, const struct option *option,
                       const char *given)
{
    const char *names[ROWS_MAX + 2];
    char name[80], several[160];
    size_t count = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    if (names_begun(table, option, name + 2, several)) {
        return flags_wrong(table, name, "unknown option (did you mean %s?)", several);
    }
    for (; option[count].name; count++) {
        bool listed = count >= table->count || table->flag[count].help;
        names[count] = listed ? option[count].name : NULL;
    }
    const char *meant = nearest_name(name + 2, names, count);
    return meant ? flags_wrong(table, name, "unknown option (did you mean --%s?)", meant)
                 : flags_wrong(table, name, "unknown option (see %s --help)",
                               table->program);
}

/* getopt_long() returned '?': an unknown name or letter, or a value for a switch. */
static int refuse_word(const struct flag_table *table, const struct option *option,
                       const char *given)
{
    char name[80], letter[] = {'-', (char)optopt, '\0'};
    const char *value = strchr(given, '=');
    if (optopt == 0) {
        return refuse_name(table, option, given);
    }
    if (optopt < LONG) {
        return flags_wrong(table, letter, "unknown option (see %s --help)",
                           table->program);
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    value = value ? value + 1 : "";
    return flags_wrong(table, name, "unexpected value '%.*s%s' (it takes none)",
                       MESSAGE_VALUE(value, VALUE_MAX));
}

/* `--session-id "$ID"` where ID is not set would mean something else than was meant. */
static int refuse_empty(const struct flag_table *table, const struct flag *flag,
                        const char *name)
{
    const char *variable = flag->type == FLAG_SECRET ? flag->variable : NULL;
    bool is_set = variable && getenv(variable) && *getenv(variable);
    if (flag->type == FLAG_SECRET && !is_set) {
        return flags_wrong(table, name, "missing value (give %s%s%s)", flag->value,
                           variable ? ", or set " : "", variable ? variable : "");
    }
    return flags_wrong(table, name, "empty (give %s, or leave it out%s%s)", flag->value,
                       variable ? " to use " : "", variable ? variable : "");
}

static int take_flag(const struct flag_table *table, int c, char *value, void *fields)
{
    const struct flag *flag = flags_row(table, c);
    bool is_text = flag->type == FLAG_TEXT || flag->type == FLAG_SECRET;
    char name[80];
    snprintf(name, sizeof name, "--%s", flag->name);
    if (is_text && flag_is_blank(value) && !flag->min) {
        return refuse_empty(table, flag, name);
    }
    int rc = store_named(table, flag, name, value, fields);
    if (flag->type == FLAG_SECRET) {
        memset(value, 'x', strlen(value));
    }
    return rc;
}

/* getopt_long() takes the beginning of a name for the name, which means something else
 * once another option begins alike. */
static bool is_abbreviated(const struct option *option, int value, const char *given)
{
    while (option->name && option->val != value) {
        option++;
    }
    return option->name && strcspn(given + 2, "=") != strlen(option->name);
}

/* What getopt_long() has returned. */
static int take_word(const struct flag_table *table, const struct flag_words *words,
                     const struct option *option, int c, void *fields)
{
    bool apart = optarg && optarg == words->word[optind - 1];
    const char *given = words->word[optind - 1 - apart];
    int named = c == ':' || c == '?' ? optopt : c;
    if (named >= LONG && is_abbreviated(option, named, given)) {
        return refuse_name(table, option, given);
    }
    if (c == ':') {
        return refuse_missing(table, flags_row(table, optopt));
    }
    if (c == '?') {
        return refuse_word(table, option, given);
    }
    if (c == HELP || c == 'h') {
        return print_help(table);
    }
    if (c == VERSION || c == 'V') {
        return print_version(table, words);
    }
    if (apart && flag_is_next(optarg, flags_is_letter, table)) {
        return refuse_flag_as_value(table, flags_row(table, c));
    }
    return take_flag(table, c, optarg, fields);
}

static int take_words(const struct flag_table *table, const struct flag_words *words,
                      void *fields)
{
    struct spelling spelling = {0};
    int rc = FLAGS_GO_ON;
    flags_spell(table, &spelling);
    optind = 0; /* begin anew, whatever was read before */
    opterr = 0;
    while (rc == FLAGS_GO_ON) {
        int c = getopt_long(words->count, words->word, spelling.letters, spelling.option,
                            NULL);
        if (c < 0) {
            break;
        }
        rc = take_word(table, words, spelling.option, c, fields);
    }
    return rc;
}

/* The operands that follow the first \p given ones of `DIR SESSION`. */
static const char *operand_after(const char *operands, int given)
{
    for (const char *next; given > 0 && (next = strchr(operands, ' ')); given--) {
        operands = next + 1;
    }
    return operands;
}

int flags_read(const struct flag_table *table, struct flag_words *words, void *fields)
{
    int rc = take_defaults(table, fields);
    if (rc == FLAGS_GO_ON) {
        rc = take_words(table, words, fields);
    }
    if (rc != FLAGS_GO_ON) {
        return rc;
    }
    int read = optind < words->count ? optind : words->count; /* argv may be empty */
    words->word += read;
    words->count -= read;
    if (words->count < table->operands_min) {
        return flags_wrong(table, operand_after(table->operand, words->count),
                           "missing (expected %s)", table->operand_expected);
    }
    if (table->operands_max >= 0 && words->count > table->operands_max) {
        return flags_unexpected(table, words->word[table->operands_max]);
    }
    return FLAGS_GO_ON;
}

/* "list, show or drop" into \p out. */
static void join_names(const char *const *names, size_t count, char out[160])
{
    size_t len = 0;
    for (size_t i = 0; i < count && len < 160; i++) {
        const char *between = !i ? "" : i + 1 < count ? ", " : " or ";
        len += (size_t)snprintf(out + len, 160 - len, "%s%s", between, names[i]);
    }
}

const struct flag_verb *flags_verb(const struct flag_table *table, const char *name)
{
    const char *names[VERBS_MAX];
    char quoted[WORD_MAX], choices[160] = "";
    assert(table->verbs <= VERBS_MAX);
    for (size_t i = 0; i < table->verbs; i++) {
        if (strcmp(table->verb[i].name, name) == 0) {
            return &table->verb[i];
        }
        names[i] = table->verb[i].name;
    }
    const char *meant = nearest_name(name, names, table->verbs);
    snprintf(quoted, sizeof quoted, "'%s'", name);
    if (meant) {
        flags_wrong(table, quoted, "unknown verb (did you mean %s?)", meant);
    } else {
        join_names(names, table->verbs, choices);
        flags_wrong(table, quoted, "unknown verb (expected %s)", choices);
    }
    return NULL;
}
