/* SPDX-License-Identifier: Apache-2.0 */
/* A growable text buffer that escapes JSON. */
#ifndef GPUFL_BASE_TEXT_H
#define GPUFL_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise; release with text_fini. After a failed allocation `failed` stays true
 * and further appends do nothing, so one check at the end is enough. */
struct text {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

void text_fini(struct text *text);

/** Empties the buffer and forgets a failure; keeps the memory. */
void text_clear(struct text *text);

/** Makes room for \p more bytes behind `len`, for those who write there themselves.
 * \return false without memory. */
bool text_reserve(struct text *text, size_t more);

/** Gives back the memory behind `len`: for a text that is complete, and kept. */
void text_fit(struct text *text);

void text_append(struct text *text, const char *bytes, size_t len);

static inline void text_char(struct text *text, char c)
{
    if (!text->failed && (text->len < text->cap || text_reserve(text, 1))) {
        text->data[text->len++] = c;
    }
}

/** Appends \p other; if that has failed, \p text fails, too. */
void text_join(struct text *text, const struct text *other);
void text_puts(struct text *text, const char *string);
void text_u64(struct text *text, uint64_t value);
void text_i64(struct text *text, int64_t value);

/** printf into the buffer: slower, for what is written rarely. */
__attribute__((format(printf, 2, 3))) void text_printf(struct text *text,
                                                       const char *format, ...);

/** \p string as a quoted JSON string, escaped as schema/README.md says; bytes that are
 * not valid UTF-8 become U+FFFD, so that every line parses. */
void text_json_string(struct text *text, const char *string);

/** The same for \p len bytes, NUL included. */
void text_json_bytes(struct text *text, const char *bytes, size_t len);

/** \p string unchanged, but bytes that are not valid UTF-8 become U+FFFD. */
void text_utf8(struct text *text, const char *string);

#endif
