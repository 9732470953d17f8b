/* SPDX-License-Identifier: Apache-2.0 */
/* Authorisation of requests. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_AUTH_H
#define GPUFL_BACKEND_HTTP_HTTP_AUTH_H

#include <microhttpd.h>
#include <stdbool.h>

/** True when the request on \p c carries \p api_key, or when no key is required (NULL).
 */
bool http_auth_allows(struct MHD_Connection *c, const char *api_key);

#endif
