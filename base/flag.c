/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the value of one flag by the type in its row. */
#include "base/flag.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/duration.h"

static bool store_string(const struct flag *flag, const char *value, const char **field)
{
    size_t len = strlen(value);
    *field = value;
    return len >= (size_t)flag->min && (!flag->max || len <= (size_t)flag->max);
}

static bool store_secret(const struct flag *flag, const char *value, char *field)
{
    size_t len = strlen(value);
    if (len < (size_t)flag->min || len >= FLAG_SECRET_BYTES) {
        return false;
    }
    memcpy(field, value, len + 1);
    return true;
}

static bool store_number(const struct flag *flag, const char *value, int *field)
{
    char *end;
    bool is_number = strchr("-0123456789", *value) && *value;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || !is_number || *end || number < flag->min || number > flag->max) {
        return false;
    }
    *field = (int)number;
    return true;
}

static bool store_choice(const struct flag *flag, const char *value, void *field)
{
    for (int i = 0; flag->choices[i]; i++) {
        if (strcasecmp(flag->choices[i], value) == 0) {
            memcpy(field, &i, sizeof i);
            return true;
        }
    }
    return false;
}

static bool store_duration(const struct flag *flag, const char *value, uint64_t *field)
{
    uint64_t ms;
    if (!duration_parse(value, &ms) || ms < (uint64_t)flag->min ||
        (flag->max && ms > (uint64_t)flag->max)) {
        return false;
    }
    *field = ms;
    return true;
}

bool flag_store(const struct flag *flag, const char *value, void *fields)
{
    void *field = (char *)fields + flag->field;
    switch (flag->type) {
    case FLAG_ON:
    case FLAG_OFF:
        *(bool *)field = flag->type == FLAG_ON;
        return true;
    case FLAG_IGNORED:
        return true;
    case FLAG_TEXT:
        return store_string(flag, value, field);
    case FLAG_SECRET:
        return store_secret(flag, value, field);
    case FLAG_NUMBER:
        return store_number(flag, value, field);
    case FLAG_CHOICE:
        return store_choice(flag, value, field);
    case FLAG_DURATION:
        return store_duration(flag, value, field);
    case FLAG_PARSED:
        return flag->parse(value, field);
    }
    return false;
}

static void put_choices(const struct flag *flag, char *out, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; flag->choices[i] && len < size; i++) {
        const char *between = !i ? "" : flag->choices[i + 1] ? ", " : " or ";
        len += (size_t)snprintf(out + len, size - len, "%s%s", between, flag->choices[i]);
    }
}

static void put_durations(const struct flag *flag, char *out, size_t size)
{
    char min[DURATION_TEXT], max[DURATION_TEXT];
    duration_text((uint64_t)flag->min, min);
    duration_text(flag->max ? (uint64_t)flag->max : DURATION_MAX_MS, max);
    snprintf(out, size,
             "a whole number and ms, s, m or h, such as 30s, from %s to %s; a bare "
             "number is seconds",
             min, max);
}

void flag_expected(const struct flag *flag, char *out, size_t size)
{
    if (flag->expected) {
        snprintf(out, size, "%s", flag->expected);
    } else if (flag->type == FLAG_CHOICE) {
        put_choices(flag, out, size);
    } else if (flag->type == FLAG_NUMBER) {
        snprintf(out, size, "a whole number from %ld to %ld", flag->min, flag->max);
    } else if (flag->type == FLAG_DURATION) {
        put_durations(flag, out, size);
    } else if (flag->type == FLAG_TEXT && flag->max) {
        snprintf(out, size, "%s of at most %ld bytes", flag->value, flag->max);
    } else if (flag->type == FLAG_SECRET) {
        snprintf(out, size, "%s of at most %u bytes", flag->value, FLAG_SECRET_BYTES - 1);
    } else {
        snprintf(out, size, "%s", flag->value ? flag->value : "no value");
    }
}

bool flag_is_blank(const char *value)
{
    return !value[strspn(value, " \t\r\n")];
}

const char *flag_path_fault(const char *path)
{
    static const char blanks[] = " \t\r\n";
    size_t len = strlen(path);
    if (len && (strchr(blanks, path[0]) || strchr(blanks, path[len - 1]))) {
        return "begins or ends with a blank (leave it out)";
    }
    if (path[0] == '~' || path[0] == '$') {
        return "only a shell expands it, and only at the beginning of a word (give the "
               "whole path, or ./ before it if it is meant)";
    }
    if (path[0] == '"' || path[0] == '\'') {
        return "begins with a quote (leave the quotes out)";
    }
    if (strstr(path, "://")) {
        return "a URL (give a path)";
    }
    return NULL;
}

bool flag_is_next(const char *word, bool (*is_letter)(const void *arg, char letter),
                  const void *arg)
{
    return strncmp(word, "--", 2) == 0 ||
           (word[0] == '-' && word[1] && !word[2] && is_letter(arg, word[1]));
}
