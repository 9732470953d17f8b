/* SPDX-License-Identifier: Apache-2.0 */
/* The directory and the ranges that `gpufl quarantine` was called for. */
#ifndef GPUFL_CLI_TRANSFER_QUARANTINE_CHOICE_H
#define GPUFL_CLI_TRANSFER_QUARANTINE_CHOICE_H

#include "upload/resolve/quarantine.h"

struct quarantine_choice {
    const char *directory;
    const char *state_dir; /**< NULL = the default */
    char **names;
    int count;
    bool all;
    bool same_origin; /**< of retry */
};

/** Whether \p range is named, or all are meant. */
bool quarantine_choice_has(const struct quarantine_choice *choice,
                           const struct quarantined *range);

/** Says "gpufl quarantine: WHAT: WHY" on stderr. \return \p rc. */
int quarantine_choice_fail(int rc, const char *what, const char *why);

/** Gets range \p index of \p from. \return false after the last. */
typedef bool quarantine_get(const void *from, size_t index, struct quarantined *out);

/** Whether all are meant and there are none, which is said on stderr: stdout is for
 * ranges. */
bool quarantine_choice_of_none(const struct quarantine_choice *choice,
                               quarantine_get *get, const void *from);

/** Says which of the names no range of \p from has. \return EXIT_NOT_ALL if there is such
 * a name, else EXIT_ALL_DONE. */
int quarantine_choice_missing(const struct quarantine_choice *choice, quarantine_get *get,
                              const void *from);

#endif
