/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values by their kind and explains what is wrong with one. */
#include "agent/options/option_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/options/option_find.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/parse_bool.h"

_Static_assert(sizeof(enum engine_compression) == sizeof(int),
               "choices are stored as int");

/* `a, b or c`. */
static void list_choices(const char *const *choices, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; choices[i] && len < size; i++) {
        const char *before = i == 0 ? "" : choices[i + 1] ? ", " : " or ";
        int n = snprintf(out + len, size - len, "%s%s", before, choices[i]);
        len += n > 0 ? (size_t)n : 0;
    }
}

static void describe_expected(const struct option_row *row, char *out, size_t size)
{
    if (row->kind == KIND_CHOICE) {
        list_choices(row->choices, out, size);
    } else if (row->kind == KIND_SWITCH) {
        snprintf(out, size, PARSE_SWITCH_WORDS);
    } else if (row->kind == KIND_DURATION) {
        snprintf(out, size,
                 "a duration%s such as 250ms, 30s, 5m or 1h, with a number up to %u",
                 row->minimum ? " above 0" : "", UINT32_MAX);
    } else if (row->maximum) {
        snprintf(out, size, "a whole number from %llu to %llu",
                 (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    } else {
        snprintf(out, size, "a whole number up to %u", UINT32_MAX);
    }
}

static gpufl_status refuse_value(const struct option_row *row, const char *name,
                                 const char *value, char why[512])
{
    char expected[200];
    if (row->kind == KIND_REFUSED) {
        snprintf(why, 512, "%s: %s", name, row->help);
    } else {
        describe_expected(row, expected, sizeof expected);
        snprintf(why, 512, "%s: invalid value '%.*s%s' (expected %s)", name,
                 MESSAGE_VALUE(value, 100), expected);
    }
    return GPUFL_ERR_USAGE;
}

static bool in_bounds(const struct option_row *row, uint64_t value)
{
    return value >= row->minimum && (!row->maximum || value <= row->maximum);
}

static bool option_parse_number(const struct option_row *row, const char *value,
                                uint64_t *out)
{
    const char *end = "";
    uint64_t number;
    bool ok = row->kind == KIND_DURATION ? duration_parse(value, &number)
                                         : duration_parse_count(value, &number, &end);
    if (!ok || *end) {
        return false;
    }
    if (number == 0 && row->zero_is_default) {
        return option_parse_number(row, row->fallback, out);
    }
    *out = number;
    return in_bounds(row, number);
}

static bool option_parse_choice(const struct option_row *row, const char *value,
                                void *out)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcasecmp(row->choices[i], value) == 0) {
            memcpy(out, &i, sizeof i);
            return true;
        }
    }
    return false;
}

/* True when \p value leaves what is not built in switched off. */
static bool asks_for_nothing(const struct option_row *row, const char *value)
{
    return row->fallback &&
           (strcasecmp(value, row->fallback) == 0 || strcmp(value, "0") == 0);
}

/* Behind \p list, NULL = there is none. An empty element stays one, and is refused. */
static gpufl_status option_store_text(char **field, const char *list, const char *value)
{
    char *copy;
    if (asprintf(&copy, "%s%s%s", list ? list : "", list ? "," : "", value) < 0) {
        return GPUFL_ERR_NOMEM;
    }
    free(*field);
    *field = copy;
    return GPUFL_OK;
}

gpufl_status option_set(struct options *o, const struct option_row *row,
                        struct option_setter by, const char *value, char why[512])
{
    void *field = (char *)o + row->at;
    bool ok = true;
    bool adds = row->adds && by.source == SOURCE_FLAG &&
                o->source[row - option_rows] == SOURCE_FLAG;
    switch (row->kind) {
    case KIND_TEXT:
        if (option_store_text(field, adds ? *(char **)field : NULL, value) != GPUFL_OK) {
            snprintf(why, 512, "%s: out of memory", by.name);
            return GPUFL_ERR_NOMEM;
        }
        break;
    case KIND_COUNT:
    case KIND_DURATION:
        ok = option_parse_number(row, value, field);
        break;
    case KIND_SWITCH:
        ok = parse_switch(value, field);
        break;
    case KIND_CHOICE:
        ok = option_parse_choice(row, value, field);
        break;
    case KIND_REFUSED:
        ok = asks_for_nothing(row, value);
        break;
    case KIND_KAFKA:
    case KIND_IGNORED:
        break;
    }
    o->source[row - option_rows] = by.source;
    return ok ? GPUFL_OK : refuse_value(row, by.name, value, why);
}

gpufl_status option_set_defaults(struct options *o, char why[512])
{
    gpufl_status status = GPUFL_OK;
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        struct option_setter by = {.source = SOURCE_DEFAULT, .name = row->flag};
        if (row->fallback && option_is_built(row)) {
            status = option_set(o, row, by, row->fallback, why);
        }
    }
    return status;
}

const char *option_name_used(const struct options *o, const struct option_row *row,
                             char out[OPTION_NAME_MAX])
{
    switch (o->source[row - option_rows]) {
    case SOURCE_ENVIRONMENT:
        snprintf(out, OPTION_NAME_MAX, "%s", row->env);
        break;
    case SOURCE_FILE:
        snprintf(out, OPTION_NAME_MAX, "%s", row->key ? row->key : "sources");
        break;
    case SOURCE_DEFAULT:
    case SOURCE_FLAG:
        snprintf(out, OPTION_NAME_MAX, "--%s", row->flag);
        break;
    }
    return out;
}

static size_t option_bytes(enum option_kind kind)
{
    switch (kind) {
    case KIND_COUNT:
    case KIND_DURATION:
        return sizeof(uint64_t);
    case KIND_CHOICE:
        return sizeof(int);
    case KIND_SWITCH:
        return sizeof(bool);
    case KIND_TEXT:
    case KIND_REFUSED:
    case KIND_KAFKA:
    case KIND_IGNORED:
        break;
    }
    return 0;
}

bool option_differs(const struct option_row *row, const struct options *a,
                    const struct options *b)
{
    const void *left = (const char *)a + row->at;
    const void *right = (const char *)b + row->at;
    if (row->kind == KIND_TEXT) {
        const char *x = *(char *const *)left;
        const char *y = *(char *const *)right;
        return strcmp(x ? x : "", y ? y : "") != 0;
    }
    return memcmp(left, right, option_bytes(row->kind)) != 0;
}

void option_copy(const struct option_row *row, struct options *to,
                 const struct options *from)
{
    memcpy((char *)to + row->at, (const char *)from + row->at, option_bytes(row->kind));
}

void option_values_free(struct options *o)
{
    for (size_t i = 0; i < option_rows_count; i++) {
        if (option_rows[i].kind == KIND_TEXT) {
            char **field = (char **)((char *)o + option_rows[i].at);
            free(*field);
            *field = NULL;
        }
    }
}

void option_blame_source(const struct options *o, char why[512])
{
    char name[OPTION_NAME_MAX];
    char said[512];
    size_t len = strcspn(why, ":");
    bool flag = strncmp(why, "--", 2) == 0;
    const struct option_row *row = flag ? option_of_flag(why + 2, len - 2) : NULL;
    if (row) {
        snprintf(said, sizeof said, "%s%.400s", option_name_used(o, row, name),
                 why + len);
        memcpy(why, said, sizeof said);
    }
}
