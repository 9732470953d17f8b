/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the header lines of a request. */
#ifndef GPUFL_UPLOAD_HTTP_REQUEST_HEADERS_H
#define GPUFL_UPLOAD_HTTP_REQUEST_HEADERS_H

#include <stdbool.h>

#include "upload/http/transport.h"

#define REQUEST_HEADERS_MAX  16u
#define REQUEST_HEADER_BYTES 4200u /* a key of 4 KiB fits */

struct request_headers {
    unsigned count;
    char line[REQUEST_HEADERS_MAX][REQUEST_HEADER_BYTES];
};

/** Makes the lines of \p request. \p token and \p hostname may be NULL.
 *  \return false when one is too long. */
bool request_headers_make(const struct transport_request *request, const char *token,
                          const char *hostname, struct request_headers *out);

/** True when \p text holds no control character and so cannot add another header. */
bool request_headers_value_ok(const char *text);

#endif
