/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of options: flags, environment, configuration file, --help, SIGHUP and the
 * shell completions all come from it. */
#ifndef GPUFL_AGENT_OPTIONS_OPTION_TABLE_H
#define GPUFL_AGENT_OPTIONS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    KIND_TEXT,     /**< char *, malloc'd */
    KIND_COUNT,    /**< uint64_t */
    KIND_DURATION, /**< uint64_t, milliseconds; written 250ms, 30s, 5m, 1h, or seconds */
    KIND_SWITCH,   /**< bool; on unless "false" or "0" */
    KIND_CHOICE,   /**< an enum whose members are named by `choices` */
    KIND_REFUSED,  /**< not built in: an error, unless the value asks for nothing */
    KIND_KAFKA,    /**< belongs to the Kafka publisher: an error without --type=http */
    KIND_IGNORED,  /**< belongs to the archiver, which KIND_REFUSED keeps off */
};

struct option_row {
    const char *flag; /**< without the dashes */
    char letter;      /**< the short form, 0 = none */
    const char *env;  /**< NULL = no variable */
    const char *key;  /**< dotted path in the configuration file, NULL = none */
    enum option_kind kind;
    size_t at; /**< offset of the field in struct options */
    /** The default as a person would write it; NULL = unset. KIND_REFUSED: the value that
     * asks for nothing. */
    const char *fallback;
    const char *const *choices; /**< KIND_CHOICE: by enum value, then NULL */
    uint64_t minimum;           /**< KIND_COUNT, KIND_DURATION */
    uint64_t maximum;           /**< likewise; 0 = no bound */
    bool zero_is_default;       /**< 0 stands for the default */
    bool reloadable;            /**< SIGHUP applies it to a running agent */
    bool adds;                  /**< KIND_TEXT: a second flag adds to the list */
    bool secret;                /**< wiped where it was read from */
    const char *value;          /**< its name in --help; NULL = by kind */
    const char *help;           /**< KIND_REFUSED and the like: what to do instead */
};

extern const struct option_row option_rows[];
extern const size_t option_rows_count;

#endif
