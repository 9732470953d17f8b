/* SPDX-License-Identifier: Apache-2.0 */
/* Takes lines into a digest. */
#ifndef GPUFL_BACKEND_DIGEST_DIGEST_LINE_H
#define GPUFL_BACKEND_DIGEST_DIGEST_LINE_H

#include "backend/digest/digest.h"

/** Takes one line in. Lines that are not shown, or that cannot be read, change nothing.
 * \return false without memory. */
bool digest_line(struct digest *digest, const char *type, const char *line, size_t len);

#endif
