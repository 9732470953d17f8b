/* SPDX-License-Identifier: Apache-2.0 */
/* What a GET asks for: the path below /sessions and the numbers of the query. */
#ifndef GPUFL_BACKEND_API_QUERY_H
#define GPUFL_BACKEND_API_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/layout.h"

/** Longest name of a part, its NUL included. */
#define QUERY_PART_BYTES 32u

/** `/{session_id}[/{part}]`. */
struct query_path {
    char session[LAYOUT_NAME_MAX + QUERY_PART_BYTES];
    const char *part; /**< within `session`; NULL = the session itself */
};

/** Which part of a long table. */
struct query_page {
    unsigned limit;
    unsigned offset;
};

/** An argument that a path takes; in a list, the last one has no name. */
struct query_argument {
    const char *name;
    int64_t min, max; /**< of a number; both 0 = a text */
};

/** Longest reason of a refusal, its NUL included. */
#define QUERY_WHY_BYTES 200u

/** Looks up which of \p takes the argument \p name is, and judges its \p value.
 *  \return its place in the list, or -1 with \p why. */
int query_argument_of(const struct query_argument *takes, const char *name,
                      const char *value, char why[QUERY_WHY_BYTES]);

/** Takes \p rest apart. \return false when it is not of that form; whether the session id
 * is one is not judged. */
bool query_path(const char *rest, struct query_path *out);

/** The number that \p text is, if it is whole and from \p min to \p max, else \p other;
 * \p text may be NULL. */
int64_t query_number(const char *text, int64_t min, int64_t max, int64_t other);

#endif
