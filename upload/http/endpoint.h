/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests go: the prefix of all endpoints. */
#ifndef GPUFL_UPLOAD_HTTP_ENDPOINT_H
#define GPUFL_UPLOAD_HTTP_ENDPOINT_H

#include <gpufl/status.h>

/** Joins \p backend_url and \p api_path to the prefix of all endpoints, for example
 *  `http://127.0.0.1:8765` and `` to `http://127.0.0.1:8765/api/v1`.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status endpoint_prefix(const char *backend_url, const char *api_path,
                                        char out[512], char why[256]);

/** Who could read along on the way there, as far as the address tells. */
enum endpoint_exposure {
    ENDPOINT_ENCRYPTED, /**< https */
    ENDPOINT_LOOPBACK,  /**< nobody: it stays on this host */
    ENDPOINT_PRIVATE,   /**< others of the same network: private and link-local addresses
                             (RFC 1918, 3927, 4193, 4291, 6598), names without a dot, and
                             below .svc, .cluster.local, .internal, .local, .lan,
                             .home.arpa */
    ENDPOINT_PUBLIC,    /**< anybody */
};

/** \p prefix as endpoint_prefix made it. Names are not looked up. */
enum endpoint_exposure endpoint_exposure(const char *prefix);

#endif
