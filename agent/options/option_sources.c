/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the sources from the weakest to the strongest, each over the one before. */
#include "agent/options/option_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/options/config.h"
#include "agent/options/option_find.h"
#include "agent/options/option_value.h"
#include "base/flag.h"
#include "base/message.h"

/* A blank variable counts as unset. */
static gpufl_status read_environment(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        char *value = row->env ? getenv(row->env) : NULL;
        if (!value || flag_is_blank(value)) {
            continue;
        }
        struct option_setter by = {.source = SOURCE_ENVIRONMENT, .name = row->env};
        status = option_set(o, row, by, value, why);
        if (row->secret) {
            explicit_bzero(value, strlen(value)); /* /proc/<pid>/environ shows it */
        }
    }
    return status;
}

/* The command line, and where reading it has got to. */
struct arguments {
    int argc;
    char **argv;
    int at;
};

/* One flag: its row, or NULL, and its value, NULL when none was given. */
struct given_flag {
    const struct option_row *row;
    const char *arg;
    char *value;
};

static bool option_is_letter(const void *arg, char letter)
{
    (void)arg;
    return option_of_letter(letter);
}

/* `--flag=value`, `--flag value`, `--switch`, `-h`. Moves to the argument behind it. */
static struct given_flag next_flag(struct arguments *a)
{
    char *arg = a->argv[a->at++];
    struct given_flag flag = {.arg = arg};
    if (strncmp(arg, "--", 2) != 0) {
        bool letter = arg[0] == '-' && arg[1] && !arg[2];
        flag.row = letter ? option_of_letter(arg[1]) : NULL;
        return flag;
    }
    char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) - 2 : strlen(arg + 2);
    flag.row = option_of_flag(arg + 2, len);
    flag.value = equals ? equals + 1 : NULL;
    bool wants = flag.row && !flag.value && flag.row->kind != KIND_SWITCH;
    bool more = wants && a->at < a->argc;
    if (more && !flag_is_next(a->argv[a->at], option_is_letter, NULL)) {
        flag.value = a->argv[a->at++];
    }
    return flag;
}

static gpufl_status refuse_flag(const char *arg, char why[512])
{
    if (arg[0] != '-') {
        snprintf(why, 512, "'%.*s%s': unexpected argument (see gpufl-agent --help)",
                 MESSAGE_VALUE(arg, 100));
        return GPUFL_ERR_USAGE;
    }
    char word[100];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
    const char *near = option_nearest_flag(word + strspn(word, "-"));
    if (near) {
        snprintf(why, 512, "%s: unknown option (did you mean --%s?)", word, near);
    } else {
        snprintf(why, 512, "%s: unknown option (see gpufl-agent --help)", word);
    }
    return GPUFL_ERR_USAGE;
}

/* They have neither key nor variable that could say no, so no value makes sense. */
static bool option_is_question(const struct option_row *row)
{
    return row->kind == KIND_SWITCH && !row->key && !row->env;
}

static gpufl_status read_flag(struct options *o, struct arguments *a, char why[512])
{
    char name[OPTION_NAME_MAX];
    struct given_flag flag = next_flag(a);
    const struct option_row *row = flag.row;
    if (!row) {
        return refuse_flag(flag.arg, why);
    }
    snprintf(name, sizeof name, "--%s", row->flag);
    if (!flag.value && option_is_built(row) && row->kind != KIND_SWITCH) {
        snprintf(why, 512, "%s: needs a value (see gpufl-agent --help)", name);
        return GPUFL_ERR_USAGE;
    }
    if (flag.value && option_is_question(row)) {
        snprintf(why, 512, "%s: unexpected value '%.*s%s' (it takes none)", name,
                 MESSAGE_VALUE(flag.value, 100));
        return GPUFL_ERR_USAGE;
    }
    const char *value = flag.value ? flag.value : row->kind == KIND_SWITCH ? "true" : "";
    struct option_setter by = {.source = SOURCE_FLAG, .name = name};
    gpufl_status status = option_set(o, row, by, value, why);
    if (row->secret && flag.value) {
        memset(flag.value, 'x', strlen(flag.value)); /* ps shows it to everybody */
    }
    return status;
}

/* --config first: every other flag is stronger than the file, wherever it stands. */
static gpufl_status read_config_files(struct options *o, int argc, char **argv,
                                      char why[512])
{
    const struct option_row *config =
        option_of_field(offsetof(struct options, config_file));
    gpufl_status status = GPUFL_OK;
    for (struct arguments a = {argc, argv, 1}; status == GPUFL_OK && a.at < argc;) {
        struct given_flag flag = next_flag(&a);
        if (flag.row == config && flag.value && !*flag.value) {
            snprintf(why, 512, "--config: empty (give FILE, or leave it out)");
            return GPUFL_ERR_USAGE;
        }
        if (flag.row == config && flag.value) {
            status = config_read(flag.value, o, why);
        }
    }
    return status;
}

gpufl_status option_sources_read(int argc, char **argv, struct options *out,
                                 char why[512])
{
    *out = (struct options){0};
    gpufl_status status = option_set_defaults(out, why);
    if (status == GPUFL_OK) {
        status = read_config_files(out, argc, argv, why);
    }
    if (status == GPUFL_OK) {
        status = read_environment(out, why);
    }
    for (struct arguments a = {argc, argv, 1}; status == GPUFL_OK && a.at < argc;) {
        status = read_flag(out, &a, why);
    }
    return status;
}
