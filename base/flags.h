/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a command line by a table of flags. */
#ifndef GPUFL_BASE_FLAGS_H
#define GPUFL_BASE_FLAGS_H

#include "base/flag.h"

enum {
    FLAGS_GO_ON = -1,   /**< all is well, run */
    FLAGS_ANSWERED = 0, /**< --help or --version was printed */
    FLAGS_WRONG = 2     /**< wrong use: one line on stderr has said what */
};

/** A command line: argc and argv at first, the operands after flags_read(). */
struct flag_words {
    char **word;
    int count;
};

/** Sets the fields of the struct \p fields by defaults, environment and \p words, each
 * before the next; of a flag that is given several times, the last one counts. A flag may
 * stand behind an operand; its name is not abbreviated.
 * Not thread-safe: getopt_long() keeps its place in globals. \return FLAGS_GO_ON, else
 * the exit code of the program. */
int flags_read(const struct flag_table *table, struct flag_words *words, void *fields);

/** The verb that is called \p name; NULL when there is none, after one line on stderr. */
const struct flag_verb *flags_verb(const struct flag_table *table, const char *name);

/** Says that \p operand is one too many. \return FLAGS_WRONG. */
int flags_unexpected(const struct flag_table *table, const char *operand);

/** Says "PROGRAM: WHAT: WHY" in one line on stderr. \return FLAGS_WRONG. */
__attribute__((format(printf, 3, 4))) int
flags_wrong(const struct flag_table *table, const char *what, const char *why, ...);

#endif
