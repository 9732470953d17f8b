/* SPDX-License-Identifier: Apache-2.0 */
/* What can be set, as data. Names of the existing agent keep their meaning; what is not
 * built is refused with the way out. */
#ifndef GPUFL_AGENT_OPTION_TABLE_H
#define GPUFL_AGENT_OPTION_TABLE_H

#include <stddef.h>

enum option_kind {
    KIND_TEXT,
    KIND_COUNT,    /* a whole number */
    KIND_DURATION, /* 250ms, 30s, 5m, 1h; a bare number is seconds; kept in ms */
    KIND_SWITCH,   /* on unless "false" or "0" */
    KIND_CHOICE,
    KIND_REFUSED,
    KIND_KAFKA,   /* of a publisher that is not there; its name is kept */
    KIND_IGNORED, /* of something that is off; refused together with what switches it on
                   */
};

struct option_row {
    const char *flag;
    const char *env;
    const char *json; /* dotted path in the file of the existing agent, or ours */
    enum option_kind kind;
    size_t at;
    const char *fallback;
    const char *choices; /* for CHOICE, separated by | in the order of the values */
    const char *help;    /* for REFUSED: what to do instead */
};

extern const struct option_row option_rows[];
extern const size_t option_rows_count;

#endif
