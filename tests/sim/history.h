/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in a world: a hash of all of it, by which two runs are compared, and,
 * where it is wanted, the text. */
#ifndef GPUFL_TESTS_SIM_HISTORY_H
#define GPUFL_TESTS_SIM_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum history_use {
    HISTORY_NONE, /**< a world that nobody looks at: to format its events takes time */
    HISTORY_HASHED,
    HISTORY_SHOWN, /**< and printed to stderr */
};

void history_begin(enum history_use use);
uint64_t history_hash(void);

/** Notes one event, with its time. */
__attribute__((format(printf, 1, 2))) void history_say(const char *format, ...);

/** Something that must not happen did. Of several, the first counts. \p kind: a few
 * words, by which a shrunk plan is compared. */
__attribute__((format(printf, 2, 3))) void history_fail(const char *kind,
                                                        const char *format, ...);

/** \return what failed, NULL if nothing did; \p detail: of that. */
const char *history_failure(const char **detail);

#endif
