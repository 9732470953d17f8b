/* SPDX-License-Identifier: Apache-2.0 */
/* Reads flags, environment and file over the table. */
#include "agent/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/config.h"
#include "agent/option_table.h"
#include "agent/option_value.h"
#include "base/duration.h"

/* ---- one value ---- */

static gpufl_status bad(const struct option_row *row, const char *value, char why[512])
{
    if (row->kind == KIND_REFUSED) {
        snprintf(why, 512, "--%s: %s", row->flag, row->help);
    } else {
        snprintf(why, 512, "--%s: \"%.100s\" is no %s; %s%s", row->flag, value,
                 row->kind == KIND_DURATION ? "duration"
                 : row->kind == KIND_COUNT  ? "whole number"
                                            : "choice",
                 row->kind == KIND_DURATION ? "write 250ms, 30s, 5m or 1h"
                 : row->kind == KIND_COUNT  ? "give 0 or more"
                                            : "give one of ",
                 row->choices ? row->choices : "");
    }
    return GPUFL_ERR_USAGE;
}

static gpufl_status set(struct options *o, const struct option_row *row,
                        const char *value, char why[512])
{
    char *field = (char *)o + row->at;
    const char *end;
    bool ok = true;
    switch (row->kind) {
    case KIND_TEXT:
        free(*(char **)field);
        *(char **)field = strdup(value);
        ok = *(char **)field != NULL;
        break;
    case KIND_COUNT:
        ok = duration_parse_count(value, (uint64_t *)field, &end) && !*end;
        break;
    case KIND_DURATION:
        ok = duration_parse(value, (uint64_t *)field);
        break;
    case KIND_SWITCH:
        *(bool *)field = strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0;
        break;
    case KIND_CHOICE:
        ok = option_parse_choice(value, row->choices, (int *)field);
        break;
    case KIND_KAFKA:
        *(const char **)field = row->flag;
        break;
    case KIND_IGNORED:
        break;
    case KIND_REFUSED: /* the value that asks for nothing is fine */
        ok = row->fallback &&
             (strcasecmp(value, row->fallback) == 0 || strcmp(value, "0") == 0);
        break;
    }
    return ok ? GPUFL_OK : bad(row, value, why);
}

gpufl_status options_set_json(struct options *o, const char *json, const char *value,
                              char why[512])
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].json && strcmp(option_rows[i].json, json) == 0) {
            return set(o, &option_rows[i], value, why);
        }
    }
    return GPUFL_ERR_NOT_FOUND;
}

/* ---- the sources ---- */

static gpufl_status set_defaults(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        if (option_rows[i].fallback && option_rows[i].kind != KIND_REFUSED) {
            status = set(o, &option_rows[i], option_rows[i].fallback, why);
        }
    }
    return status;
}

static gpufl_status set_environment(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        char *value = option_rows[i].env ? getenv(option_rows[i].env) : NULL;
        if (value && value[strspn(value, " \t")]) { /* blank = unset */
            status = set(o, &option_rows[i], value, why);
            if (option_rows[i].at == offsetof(struct options, token) &&
                option_rows[i].kind == KIND_TEXT) {
                explicit_bzero(value, strlen(value)); /* nor for /proc/<pid>/environ */
            }
        }
    }
    return status;
}

static const struct option_row *find_flag(const char *name, size_t len)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (strlen(option_rows[i].flag) == len &&
            strncmp(option_rows[i].flag, name, len) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

/* `--flag=value`, `--flag value`, `--switch`. */
static gpufl_status set_flag(struct options *o, int argc, char **argv, int *at,
                             char why[512])
{
    char *arg = argv[*at];
    const char *name = arg + 2;
    char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row =
        strncmp(arg, "--", 2) == 0 ? find_flag(name, len) : NULL;
    if (!row) {
        snprintf(why, 512, "unknown argument \"%.100s\"; see gpufl-agent --help", arg);
        return GPUFL_ERR_USAGE;
    }
    char *value = equals ? equals + 1 : NULL;
    if (!value && row->kind == KIND_SWITCH) {
        return set(o, row, "true", why);
    }
    if (!value && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0) {
        value = argv[++*at];
    }
    if (!value && row->kind < KIND_REFUSED) {
        snprintf(why, 512, "--%s needs a value; see gpufl-agent --help", row->flag);
        return GPUFL_ERR_USAGE;
    }
    gpufl_status status = set(o, row, value ? value : "", why);
    if (row->at == offsetof(struct options, token) && row->kind == KIND_TEXT && value) {
        memset(value, 'x', strlen(value)); /* not for everybody's ps */
        o->token_flag = true;
    }
    return status;
}

static bool is_config(const char *arg)
{
    return strncmp(arg, "--config", 8) == 0 && (arg[8] == '=' || arg[8] == '\0');
}

static const char *config_value(int argc, char **argv, int at)
{
    return argv[at][8] == '=' ? argv[at] + 9 : at + 1 < argc ? argv[at + 1] : "";
}

static gpufl_status set_flags(struct options *o, int argc, char **argv, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (int i = 1; status == GPUFL_OK && i < argc; i++) {
        if (is_config(argv[i])) {
            i += argv[i][8] == '\0';
            continue;
        }
        status = set_flag(o, argc, argv, &i, why);
    }
    return status;
}

gpufl_status options_read(int argc, char **argv, struct options *out, char why[512])
{
    memset(out, 0, sizeof *out);
    gpufl_status status = set_defaults(out, why);
    for (int i = 1; status == GPUFL_OK && i < argc; i++) {
        if (is_config(argv[i])) {
            out->config_file = config_value(argc, argv, i);
            status = config_read(out->config_file, out, why);
        }
    }
    if (status == GPUFL_OK) {
        status = set_environment(out, why);
    }
    if (status == GPUFL_OK) {
        status = set_flags(out, argc, argv, why);
    }
    return status;
}

/* ---- for people ---- */

#define HELP_COLUMNS 88u
#define HELP_INDENT  6u

static void print_wrapped(FILE *out, const char *help, const char *fallback)
{
    char text[512];
    size_t column = 0;
    snprintf(text, sizeof text, "%s%s%s%s", help, fallback ? " (default " : "",
             fallback ? fallback : "", fallback ? ")" : "");
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

void options_help(FILE *out)
{
    fputs("Usage: gpufl-agent --folder=DIR --host=URL [options]\n"
          "Follows the session directories under DIR and uploads every line, once.\n\n"
          "  --config=FILE\n      a JSON file; flags and environment beat it\n",
          out);
    for (size_t i = 0; i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        if (row->kind >= KIND_REFUSED) {
            continue;
        }
        fprintf(out, "  --%s%s%s\n", row->flag, row->kind == KIND_SWITCH ? "" : "=",
                row->kind == KIND_SWITCH ? ""
                : row->choices           ? row->choices
                                         : "VALUE");
        print_wrapped(out, row->help, row->fallback);
        fprintf(out, "%s%s%s", row->env ? "      environment: " : "",
                row->env ? row->env : "", row->env ? "\n" : "");
    }
    fputs(
        "\nDurations: 250ms, 30s, 5m, 1h. SIGTERM drains and exits 0; a second one exits "
        "at once.\nExit: 0 stopped or drained, 1 bad configuration.\n",
        out);
}

void options_fini(struct options *o)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].kind == KIND_TEXT) {
            char **field = (char **)((char *)o + option_rows[i].at);
            free(*field);
            *field = NULL;
        }
    }
}
