/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks, and whom: the strings that a transport keeps of its configuration. */
#ifndef GPUFL_UPLOAD_HTTP_CREDENTIALS_H
#define GPUFL_UPLOAD_HTTP_CREDENTIALS_H

#include <gpufl/status.h>

#include "upload/http/transport_http.h"

struct credentials {
    char prefix[512]; /**< of every URL */
    char *token;      /**< each of these may be NULL */
    char *user_agent;
    char *hostname;
    char *ca_file;
    char *client_cert;
    char *client_key;
    char *proxy; /**< "" = none, not even the environment's */
};

/** Checks and copies; credentials_fini releases it in any case. \return GPUFL_OK;
 *  GPUFL_ERR_USAGE or GPUFL_ERR_NOMEM, then \p why holds one sentence. */
GPUFL_MUST gpufl_status credentials_init(struct credentials *credentials,
                                         const struct transport_http_config *config,
                                         char why[256]);

/** Another token; one that is no header's value leaves none. */
void credentials_set_token(struct credentials *credentials, const char *token);

/** The token is wiped. */
void credentials_fini(struct credentials *credentials);

#endif
