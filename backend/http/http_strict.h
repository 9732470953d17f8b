/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that a proxy before the server may read in another way than the server, or
 * that libmicrohttpd does not answer. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_STRICT_H
#define GPUFL_BACKEND_HTTP_HTTP_STRICT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/** Longest path and query, and most arguments of a query. */
#define HTTP_URI_BYTES     8000u
#define HTTP_ARGUMENTS_MAX 32u

/** Judges the headers of a request: where its body ends, and for whom it is. \return why
 * it is refused, or NULL. */
const char *http_strict_refuses(struct MHD_Connection *c, const char *version);

/** MHD_OPTION_URI_LOG_CALLBACK: answers at once what is too long. \return the state of
 * the request. */
void *http_strict_uri(void *arg, const char *uri, struct MHD_Connection *c);

/** True of the state of a request that has its answer: it must have no effect. */
bool http_strict_is_answered(const void *state);

/** MHD_OPTION_UNESCAPE_CALLBACK: a text with %00 stays as it is, and so names nothing. */
size_t http_strict_unescape(void *arg, struct MHD_Connection *c, char *text);

#endif
