/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the option table. */
#include "agent/options/option_find.h"

#include <string.h>

#include "agent/options/options.h"
#include "base/nearest.h"

bool option_is_built(const struct option_row *row)
{
    return row->kind < KIND_REFUSED;
}

const struct option_row *option_of_field(size_t at)
{
    const struct option_row *row = option_rows;
    while (row->at != at || !option_is_built(row)) {
        row++;
    }
    return row;
}

const struct option_row *option_of_flag(const char *flag, size_t len)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (strlen(option_rows[i].flag) == len &&
            strncmp(option_rows[i].flag, flag, len) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

const struct option_row *option_of_letter(char letter)
{
    for (size_t i = 0; letter && i < option_rows_count; i++) {
        if (option_rows[i].letter == letter) {
            return &option_rows[i];
        }
    }
    return NULL;
}

const struct option_row *option_of_key(const char *key)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].key && strcmp(option_rows[i].key, key) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

const struct option_row *option_of_env(const char *env)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].env && strcmp(option_rows[i].env, env) == 0) {
            return &option_rows[i];
        }
    }
    return NULL;
}

/* The name of \p row without what all its neighbours share, which would make any two of
 * them look alike; NULL when the row has none. */
typedef const char *option_tail(const struct option_row *row, const char *group);

static const char *flag_tail(const struct option_row *row, const char *group)
{
    (void)group;
    return row->flag;
}

/* `flushInterval` of `agent.flushInterval`. */
static const char *key_tail(const struct option_row *row, const char *group)
{
    const char *dot = row->key ? strchr(row->key, '.') : NULL;
    if (!dot || (group && (strncmp(row->key, group, strlen(group)) != 0 ||
                           row->key + strlen(group) != dot))) {
        return NULL;
    }
    return dot + 1;
}

/* `TOKEN` of `GPUFL_HTTP_TOKEN`. */
static const char *env_tail(const struct option_row *row, const char *group)
{
    if (row->env && group && strncmp(row->env, group, strlen(group)) != 0) {
        return NULL;
    }
    const char *first = row->env ? strchr(row->env, '_') : NULL;
    const char *second = first ? strchr(first + 1, '_') : NULL;
    return second ? second + 1 : NULL;
}

static const struct option_row *option_nearest(const char *word, option_tail *tail,
                                               const char *group)
{
    const char *name[OPTIONS_MAX] = {NULL};
    for (size_t i = 0; i < option_rows_count; i++) {
        name[i] = option_is_built(&option_rows[i]) ? tail(&option_rows[i], group) : NULL;
    }
    const char *near = nearest_name(word, name, option_rows_count);
    for (size_t i = 0; near && i < option_rows_count; i++) {
        if (name[i] == near) {
            return &option_rows[i];
        }
    }
    return NULL;
}

const char *option_nearest_flag(const char *flag)
{
    const struct option_row *row = option_nearest(flag, flag_tail, NULL);
    return row ? row->flag : NULL;
}

const char *option_nearest_key(const char *group, const char *key)
{
    const struct option_row *row = option_nearest(key, key_tail, group);
    return row ? row->key : NULL;
}

const char *option_nearest_env(const char *prefix, const char *tail)
{
    const struct option_row *row = option_nearest(tail, env_tail, prefix);
    return row ? row->env : NULL;
}
