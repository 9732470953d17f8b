/* SPDX-License-Identifier: Apache-2.0 */
/* Who can read what is sent to an address. */
#ifndef GPUFL_UPLOAD_HTTP_EXPOSURE_H
#define GPUFL_UPLOAD_HTTP_EXPOSURE_H

/** Who can read what is sent, as far as the address tells. */
enum exposure {
    EXPOSURE_ENCRYPTED, /**< https */
    EXPOSURE_LOOPBACK,  /**< nobody: it does not leave this host */
    EXPOSURE_PRIVATE,   /**< others on the same network: private and link-local addresses
                             (RFC 1918, 3927, 4193, 4291, 6598), names without a dot, and
                             below .svc, .cluster.local, .internal, .local, .lan,
                             .home.arpa */
    EXPOSURE_PUBLIC,    /**< anybody */
};

/** \p prefix as made by endpoint_prefix. Names are not looked up. */
enum exposure exposure_of(const char *prefix);

#endif
