/* SPDX-License-Identifier: Apache-2.0 */
/* A growable answer, with the escaping that the backend needs. */
#ifndef GPUFL_BACKEND_ANSWER_H
#define GPUFL_BACKEND_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/** Zero-initialise. After a failed allocation `failed` is true. */
struct answer {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void answer_printf(struct answer *answer,
                                                         const char *format, ...);
/** \p text as a quoted JSON string; bytes that are no UTF-8 become U+FFFD. */
void answer_json(struct answer *answer, const char *text);

/** \p text as it is, but for bytes that are no UTF-8: they become U+FFFD. */
void answer_text(struct answer *answer, const char *text);

#endif
