/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises well-formed UTF-8 (The Unicode Standard, table 3-7). */
#ifndef GPUFL_BASE_UTF8_H
#define GPUFL_BASE_UTF8_H

#include <stddef.h>

/** U+FFFD, which replaces bytes that are not UTF-8. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/** Bytes of the well-formed sequence at \p s, of which \p left may be read; 0 when there
 * is none. */
size_t utf8_length(const char *s, size_t left);

#endif
