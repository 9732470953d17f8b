/* SPDX-License-Identifier: Apache-2.0 */
/* A transport's copy of the settings that identify it: URL, token, certificates, proxy.
 */
#ifndef GPUFL_UPLOAD_HTTP_CREDENTIALS_H
#define GPUFL_UPLOAD_HTTP_CREDENTIALS_H

#include <gpufl/status.h>

#include "upload/http/http_config.h"

struct credentials {
    char prefix[512]; /**< of every URL */
    char *token;      /**< each of these may be NULL */
    char *user_agent;
    char *hostname;
    char *ca_file;
    char *client_cert;
    char *client_key;
    char *proxy; /**< "" = none, whatever the environment says */
};

/** Checks \p config and copies it; credentials_fini releases it in any case. \return
 * GPUFL_OK; GPUFL_ERR_USAGE or GPUFL_ERR_NOMEM, then \p why holds one sentence. */
GPUFL_MUST gpufl_status credentials_init(struct credentials *credentials,
                                         const struct transport_http_config *config,
                                         char why[256]);

/** Replaces the token; one that cannot be a header's value leaves none. */
void credentials_set_token(struct credentials *credentials, const char *token);

/** Wipes the token and frees the rest. */
void credentials_fini(struct credentials *credentials);

#endif
