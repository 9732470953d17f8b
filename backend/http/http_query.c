/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the arguments of a query: what is misspelt would else be ignored. */
#include "backend/http/http_query.h"

#include <stdint.h>
#include <stdio.h>

struct judged {
    const struct query_argument *takes;
    uint32_t given; /* by place in the list */
    char *why;
    bool refused;
};

static enum MHD_Result judge_argument(void *arg, enum MHD_ValueKind kind,
                                      const char *name, const char *value)
{
    struct judged *j = arg;
    (void)kind;
    int at = query_argument_of(j->takes, name, value ? value : "", j->why);
    if (at >= 0 && j->given >> at & 1) {
        snprintf(j->why, QUERY_WHY_BYTES, "%s: given twice", name);
        at = -1;
    }
    if (at < 0) {
        j->refused = true;
        return MHD_NO;
    }
    j->given |= UINT32_C(1) << at;
    return MHD_YES;
}

bool http_query_fits(struct MHD_Connection *c, const struct query_argument *takes,
                     char why[QUERY_WHY_BYTES])
{
    struct judged j = {.takes = takes, .why = why};
    MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, judge_argument, &j);
    return !j.refused;
}
