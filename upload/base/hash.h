/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 32 bits: for tables of names. */
#ifndef GPUFL_UPLOAD_BASE_HASH_H
#define GPUFL_UPLOAD_BASE_HASH_H

#include <stdint.h>

/** Hash of \p text; another \p seed, another hash. */
uint32_t hash_text(uint32_t seed, const char *text);

#endif
