/* SPDX-License-Identifier: Apache-2.0 */
/* By what an origin is told from another one: its URL and the key. */
#ifndef GPUFL_UPLOAD_HTTP_ORIGIN_IDENTITY_H
#define GPUFL_UPLOAD_HTTP_ORIGIN_IDENTITY_H

#include "base/sha256.h"

#define ORIGIN_URL_MAX 512u

struct origin_identity {
    char url[ORIGIN_URL_MAX];        /**< normalised; "" = none is known */
    unsigned char key[SHA256_BYTES]; /**< hash of the key: never written as it is */
};

/** Of requests below \p prefix (scheme, host, port and path) with \p token, NULL = none.
 * Case of scheme and host, and a port that the scheme implies, make no difference. */
void origin_identity_make(const char *prefix, const char *token,
                          struct origin_identity *out);

#endif
