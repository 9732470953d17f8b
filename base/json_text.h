/* SPDX-License-Identifier: Apache-2.0 */
/* Judges JSON that others wrote, before a parser may build a tree of it. */
#ifndef GPUFL_BASE_JSON_TEXT_H
#define GPUFL_BASE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** True when \p text is one whole JSON object, at most \p depth levels deep, with nothing
 * but blanks around it. Takes no memory. NaN and Infinity are numbers, as for json-c. */
bool json_is_object(const char *text, size_t len, int depth);

/** The most bytes that json-c takes for the tree of \p text, whatever it holds: its size
 * says little, as two bytes may become forty and an empty object a kilobyte. */
size_t json_tree_bytes(const char *text, size_t len);

#endif
