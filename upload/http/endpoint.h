/* SPDX-License-Identifier: Apache-2.0 */
/* Joins backend URL and API path to the prefix of all endpoints. */
#ifndef GPUFL_UPLOAD_HTTP_ENDPOINT_H
#define GPUFL_UPLOAD_HTTP_ENDPOINT_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "upload/http/http_config.h"

/** Joins the backend URL and the API path of \p config, for example
 * `http://127.0.0.1:8765` and `` to `http://127.0.0.1:8765/api/v1`.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status endpoint_prefix(const struct transport_http_config *config,
                                        char out[512], char why[256]);

/** \return false if \p path contains what an API path cannot have. */
bool endpoint_path_ok(const char *path);

#endif
