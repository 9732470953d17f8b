/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling. */
#ifndef GPUFL_BASE_ARRAY_H
#define GPUFL_BASE_ARRAY_H

#include <stddef.h>

/** Makes room for one more element of \p size bytes behind \p count of them.
 *  \return the array, perhaps moved, with *cap elements of room; NULL without memory:
 * then \p array is unchanged and still the caller's. */
void *array_grown(void *array, size_t count, size_t *cap, size_t size);

/** Makes room for the element \p at; elements that are new are zero.
 *  \return as array_grown. */
void *array_reach(void *array, size_t at, size_t *cap, size_t size);

#endif
