/* SPDX-License-Identifier: Apache-2.0 */
/* Window ids: random UUIDs of version 4 (RFC 4122). */
#ifndef GPUFL_BASE_UUID_H
#define GPUFL_BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sys.h"

#define UUID_TEXT 37 /* 36 characters and NUL */

void uuid_make(const struct sys *sys, unsigned char out[16]);

/** Makes one of \p random, which it has in place of random bytes. */
void uuid_of(const unsigned char random[16], unsigned char out[16]);

void uuid_format(const unsigned char id[16], char out[UUID_TEXT]);

/** Reads the 36-character form. */
bool uuid_parse(const char *text, unsigned char out[16]);

#endif
