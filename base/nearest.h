/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the name that a misspelled word may mean. */
#ifndef GPUFL_BASE_NEAREST_H
#define GPUFL_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/** The one of \p count names that is fewest edits away from \p word (insert, delete,
 * replace or swap neighbours; case and `-` for `_` are free). Entries of \p name may be
 * NULL. \return NULL when none is near: more than a third of the letters would change. */
const char *nearest_name(const char *word, const char *const *name, size_t count);

/** Whether \p word is one such edit away from \p name, or none: a slip, where many other
 * words that are meant may be near. */
bool nearest_is_slip(const char *word, const char *name);

#endif
