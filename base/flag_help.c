/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out --help in two columns: flags on the left, what they do on the right. */
#include "base/flag_help.h"

#include <string.h>

#include "base/duration.h"

#define COLUMNS      80u
#define LABEL_INDENT 2u
#define LABEL_MAX    24u /* a longer label has a line of its own */

static const struct flag of_every_program[] = {
    {.name = "help", .letter = 'h', .help = "print this text"},
    {.name = "version", .letter = 'V', .help = "print the version"},
};

static void put_spaces(struct text *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_puts(out, " ");
    }
}

/* Breaks lines between words; \p column is where the first word begins, \p indent where
 * the further lines do. */
static void put_wrapped(struct text *out, const char *words, size_t column, size_t indent)
{
    bool first = true;
    while (*words) {
        size_t len = strcspn(words, " \n");
        if (!first && column + 1 + len > COLUMNS) {
            text_puts(out, "\n");
            put_spaces(out, indent);
            column = indent;
        } else if (!first) {
            text_puts(out, " ");
            column++;
        }
        text_append(out, words, len);
        column += len;
        words += len;
        first = *words == '\n';
        if (first) {
            text_puts(out, "\n");
            put_spaces(out, words[1] ? indent : 0);
            column = indent;
        }
        words += *words != '\0';
    }
    text_puts(out, "\n");
}

static void put_label(const struct flag *flag, struct text *out)
{
    char letter[] = "    ";
    if (flag->letter) {
        letter[0] = '-';
        letter[1] = flag->letter;
        letter[2] = ',';
    }
    text_printf(out, "%s--%s", letter, flag->name);
    for (size_t i = 0; flag->choices && flag->choices[i]; i++) {
        text_printf(out, "%s%s", i ? "|" : " ", flag->choices[i]);
    }
    if (flag->value && !flag->choices) {
        text_printf(out, " %s", flag->value);
    }
}

static void put_meaning(const struct flag *flag, struct text *out)
{
    char duration[DURATION_TEXT];
    uint64_t ms;
    const char *fallback = flag->fallback;
    if (fallback && flag->type == FLAG_DURATION && duration_parse(fallback, &ms)) {
        duration_text(ms, duration);
        fallback = duration;
    }
    text_puts(out, flag->help);
    if (flag->variable && fallback) {
        text_printf(out, " (default: $%s, else %s)", flag->variable, fallback);
    } else if (flag->variable || fallback) {
        text_printf(out, " (default: %s%s)", flag->variable ? "$" : "",
                    flag->variable ? flag->variable : fallback);
    }
    text_append(out, "", 1); /* ends the string */
}

static size_t label_width(const struct flag *flag)
{
    struct text label = {0};
    put_label(flag, &label);
    size_t width = label.len;
    text_fini(&label);
    return width;
}

static void put_row(const struct flag *flag, size_t width, struct text *out)
{
    struct text meaning = {0};
    size_t start = out->len;
    size_t indent = LABEL_INDENT + width + 2;
    put_meaning(flag, &meaning);
    put_spaces(out, LABEL_INDENT);
    put_label(flag, out);
    if (out->len - start > LABEL_INDENT + width) {
        text_puts(out, "\n");
        start = out->len;
    }
    put_spaces(out, indent - (out->len - start));
    put_wrapped(out, meaning.failed ? "" : meaning.data, indent, indent);
    out->failed = out->failed || meaning.failed;
    text_fini(&meaning);
}

static void put_rows(const struct flag *row, size_t count, size_t width, struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        if (row[i].help) {
            put_row(&row[i], width, out);
        }
    }
}

static void put_verbs(const struct flag_table *table, struct text *out)
{
    size_t widest = 0;
    for (size_t i = 0; i < table->verbs; i++) {
        size_t width = strlen(table->verb[i].name);
        widest = width > widest ? width : widest;
    }
    for (size_t i = 0; i < table->verbs; i++) {
        const struct flag_verb *verb = &table->verb[i];
        size_t indent = LABEL_INDENT + widest + 2;
        put_spaces(out, LABEL_INDENT);
        text_puts(out, verb->name);
        put_spaces(out, widest - strlen(verb->name) + 2);
        put_wrapped(out, verb->help, indent, indent);
    }
    text_puts(out, table->verbs ? "\n" : "");
}

static size_t left_column(const struct flag_table *table)
{
    size_t widest = label_width(&of_every_program[1]);
    for (size_t i = 0; i < table->count; i++) {
        size_t width = table->flag[i].help ? label_width(&table->flag[i]) : 0;
        if (width > widest && width <= LABEL_MAX) {
            widest = width;
        }
    }
    return widest;
}

static void put_usage(const struct flag_table *table, struct text *out)
{
    const char *form = table->usage;
    for (bool first = true; form; first = false) {
        size_t len = strcspn(form, "\n");
        text_printf(out, "%s%s%s%.*s\n", first ? "Usage: " : "       ", table->program,
                    len ? " " : "", (int)len, form);
        form = form[len] ? form + len + 1 : NULL;
    }
}

void flag_help(const struct flag_table *table, struct text *out)
{
    size_t width = left_column(table);
    put_usage(table, out);
    put_wrapped(out, table->about, 0, 0);
    text_puts(out, "\n");
    put_verbs(table, out);
    put_rows(table->flag, table->count, width, out);
    put_rows(of_every_program, 2, width, out);
    if (table->notes) {
        text_puts(out, "\n");
        put_wrapped(out, table->notes, 0, 0);
    }
}
