/* SPDX-License-Identifier: Apache-2.0 */
/* Adds lines to a digest. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_LINE_H
#define GPUFL_BACKEND_DIGEST_DIGEST_LINE_H

#include "backend/digest/digest.h"

/** Adds one line. Lines that are not shown, or that cannot be read, change nothing.
 * \return false without memory. */
bool digest_line(struct digest *digest, const char *type, const char *line, size_t len);

#endif
