/* SPDX-License-Identifier: Apache-2.0 */
/* Reads paths and numbers of queries. */
#include "backend/api/query.h"

#include <errno.h>
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

int64_t query_number(const char *text, int64_t min, int64_t max, int64_t other)
{
    char *end = NULL;
    errno = 0;
    int64_t value = text ? strtoll(text, &end, 10) : 0;
    bool good = text && end != text && !*end && !errno && value >= min && value <= max;
    return good ? value : other;
}
