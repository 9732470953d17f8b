/* SPDX-License-Identifier: Apache-2.0 */
/* Joins backend URL and API path to the prefix of all endpoints. */
#ifndef GPUFL_UPLOAD_HTTP_ENDPOINT_H
#define GPUFL_UPLOAD_HTTP_ENDPOINT_H

#include <gpufl/status.h>

/** Joins \p backend_url and \p api_path to the prefix of all endpoints, for example
 *  `http://127.0.0.1:8765` and `` to `http://127.0.0.1:8765/api/v1`.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status endpoint_prefix(const char *backend_url, const char *api_path,
                                        char out[512], char why[256]);

#endif
