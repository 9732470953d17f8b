/* SPDX-License-Identifier: Apache-2.0 */
/* The word that follows a number. */
#ifndef GPUFL_BASE_PLURAL_H
#define GPUFL_BASE_PLURAL_H

#include <stdint.h>

/** \p one if \p count is 1, else \p many. */
const char *plural(uint64_t count, const char *one, const char *many);

#endif
