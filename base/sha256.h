/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for what must not be found out from its hash. */
#ifndef GPUFL_BASE_SHA256_H
#define GPUFL_BASE_SHA256_H

#include <stddef.h>

#define SHA256_BYTES 32u

/** Some bytes of a message. */
struct sha256_part {
    const void *data;
    size_t len;
};

/** The hash of \p count parts, one after the other. */
void sha256(const struct sha256_part *part, size_t count,
            unsigned char out[SHA256_BYTES]);

#endif
