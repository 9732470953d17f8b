/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people: one line each, whatever the values in it contain. */
#ifndef GPUFL_BASE_MESSAGE_H
#define GPUFL_BASE_MESSAGE_H

#include <stddef.h>
#include <string.h>

#include "base/text.h"

/** For `'%.*s%s'`: a value, of which more than \p max bytes are cut off and dots shown.
 */
#define MESSAGE_VALUE(value, max)                                                        \
    (int)(max), (value), strlen(value) > (size_t)(max) ? "..." : ""

/** Writes "PROGRAM: text" as one line to stderr. Control characters, which values of
 * users and names of files may contain, are escaped: `\n`, `\x1b`. */
__attribute__((format(printf, 2, 3))) void message_line(const char *program,
                                                        const char *format, ...);

/** Copies \p text, as far as there is room, with control characters escaped likewise. */
void message_escape(const char *text, char *out, size_t size);

/** What \p error of errno is, in English. Unlike strerror(3), it looks up no translation,
 * for which the C library would read the environment: the program may be changing that
 * on another thread. */
const char *message_reason(int error);

/** \return \p way, what to do about it, if \p fault does not end by saying that in
 * parentheses; else "". */
const char *message_way_out(const char *fault, const char *way);

/** Appends \p string to \p out, likewise. */
void message_put_escaped(struct text *out, const char *string);

#endif
