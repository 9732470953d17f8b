/* SPDX-License-Identifier: Apache-2.0 */
/* Where a verb that records writes to by default. */
#ifndef GPUFL_CLI_OUTPUT_H
#define GPUFL_CLI_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** Longest name that the recorder takes. */
#define OUTPUT_NAME_MAX_BYTES 255

/** ~/.gpufl/<verb>/<local time>_<8 hex>, which the existing launcher uses, too. \return
 * false without a home directory. */
bool output_default(const char *verb, char out[PATH_MAX]);

/** Names of sessions. */
struct output_sessions {
    char **name;
    size_t count;
    size_t cap;
};

/** The sessions in \p directory; output_sessions_free frees them. */
struct output_sessions output_sessions(const char *directory);

/** The number of sessions in \p directory that are not among \p before. */
unsigned output_sessions_new(const char *directory, const struct output_sessions *before);

void output_sessions_free(struct output_sessions *sessions);

/** Whether \p directory can be written to, or made; nothing of it stays. \return false
 * with errno. */
bool output_is_writable(const char *directory);

#endif
