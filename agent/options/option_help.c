/* SPDX-License-Identifier: Apache-2.0 */
/* Prints each option with its value, help, default and variable. */
#include "agent/options/option_help.h"

#include <string.h>

#include "agent/options/option_find.h"

#define HELP_COLUMNS 88u
#define HELP_INDENT  6u

static void print_wrapped(FILE *out, const struct option_row *row)
{
    char text[512];
    size_t column = 0;
    char range[64] = "";
    if (row->maximum) {
        snprintf(range, sizeof range, ", range %llu to %llu",
                 (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    }
    snprintf(text, sizeof text, "%s%s%s%s%s", row->help,
             row->fallback ? " (default: " : "", row->fallback ? row->fallback : "",
             range, row->fallback ? ")" : "");
    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        bool wraps = column == 0 || column + 1 + len > HELP_COLUMNS;
        fprintf(out, "%s%*s%.*s", wraps && column ? "\n" : "",
                wraps ? (int)HELP_INDENT : 1, "", (int)len, word);
        column = (wraps ? HELP_INDENT : column + 1) + len;
        word += len;
    }
    fputc('\n', out);
}

static void print_flag(FILE *out, const struct option_row *row)
{
    fputs("  ", out);
    if (row->letter) {
        fprintf(out, "-%c, ", row->letter);
    }
    fprintf(out, "--%s", row->flag);
    for (size_t i = 0; row->choices && row->choices[i]; i++) {
        fprintf(out, "%c%s", i ? '|' : '=', row->choices[i]);
    }
    if (!row->choices && row->kind != KIND_SWITCH) {
        fprintf(out, "=%s",
                row->value                   ? row->value
                : row->kind == KIND_DURATION ? "DURATION"
                                             : "NUMBER");
    }
    fputc('\n', out);
}

void option_help_print(FILE *out)
{
    fputs("Usage: gpufl-agent --folder=DIR --host=URL [options]\n"
          "       gpufl-agent healthcheck [--ready] [--listen=ADDRESS:PORT]\n"
          "Follow the session directories under DIR and upload every line once.\n\n",
          out);
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (!option_is_built(row)) {
            continue;
        }
        print_flag(out, row);
        print_wrapped(out, row);
        if (row->env) {
            fprintf(out, "      environment: %s\n", row->env);
        }
    }
    fputs(
        "\nDurations: 250ms, 30s, 5m, 1h; a bare number is seconds.\n"
        "On SIGTERM, send what is left and exit; on a second one, exit at once.\n"
        "Exit status: 0 stopped, or all sent; 1 with --exit-when-drained, something was\n"
        "quarantined, held, refused, not sent, or its directory is not there; 1 invalid\n"
        "settings, or another uploader serves the folder. --check: 2 if the settings\n"
        "would not work.\n",
        out);
}
