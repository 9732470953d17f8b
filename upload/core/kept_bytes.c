/* SPDX-License-Identifier: Apache-2.0 */
/* Only a session in a group has a claim of its own, with a copy of its path. */
#include "upload/core/kept_bytes.h"

#include <string.h>

uint64_t kept_bytes_of_path(const char *path)
{
    size_t bytes = strlen(path) + 1;
    return strchr(path, '/') ? KEPT_CLAIM_BYTES + 2 * bytes : bytes;
}
