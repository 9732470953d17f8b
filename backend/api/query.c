/* SPDX-License-Identifier: Apache-2.0 */
/* Reads paths and numbers of queries. */
#include "backend/api/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool query_path(const char *rest, struct query_path *out)
{
    size_t len = strlen(rest);
    if (rest[0] != '/' || len > sizeof out->session) {
        return false;
    }
    memcpy(out->session, rest + 1, len); /* with its NUL */
    char *slash = strchr(out->session, '/');
    out->part = slash ? slash + 1 : NULL;
    if (slash) {
        *slash = '\0';
    }
    return true;
}

/* Of digits alone, as strtoll() takes blanks and signs, too. */
static bool query_in_range(const char *text, int64_t min, int64_t max, int64_t *out)
{
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return *text && !text[strspn(text, "0123456789")] && !errno && *out >= min &&
           *out <= max;
}

int64_t query_number(const char *text, int64_t min, int64_t max, int64_t other)
{
    int64_t value;
    return text && query_in_range(text, min, max, &value) ? value : other;
}

static void say_unknown(const struct query_argument *takes, const char *name,
                        char why[QUERY_WHY_BYTES])
{
    int n = snprintf(why, QUERY_WHY_BYTES, "%.40s: no argument of this path (expected ",
                     name);
    for (size_t i = 0; takes[i].name && n < (int)QUERY_WHY_BYTES; i++) {
        n += snprintf(why + n, QUERY_WHY_BYTES - (size_t)n, "%s%s", i ? ", " : "",
                      takes[i].name);
    }
    if (n < (int)QUERY_WHY_BYTES) {
        snprintf(why + n, QUERY_WHY_BYTES - (size_t)n, "%s)",
                 takes[0].name ? "" : "none");
    }
}

int query_argument_of(const struct query_argument *takes, const char *name,
                      const char *value, char why[QUERY_WHY_BYTES])
{
    int at = 0;
    int64_t number;
    while (takes[at].name && strcmp(takes[at].name, name) != 0) {
        at++;
    }
    const struct query_argument *is = &takes[at];
    if (!is->name) {
        say_unknown(takes, name, why);
        return -1;
    }
    if (is->max && !query_in_range(value, is->min, is->max, &number)) {
        snprintf(why, QUERY_WHY_BYTES,
                 "%s: %.40s: not a number from %" PRId64 " to %" PRId64, name, value,
                 is->min, is->max);
        return -1;
    }
    return at;
}
