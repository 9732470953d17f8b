/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of the backend. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_ROUTE_H
#define GPUFL_BACKEND_HTTP_HTTP_ROUTE_H

#include <microhttpd.h>
#include <stdbool.h>

#include "backend/http/body.h"
#include "backend/http/http_changes.h"
#include "backend/http/read_ahead.h"
#include "backend/store/retention.h"
#include "backend/store/store.h"

/** What all requests share. */
struct http_service {
    struct store *store;
    char *api_key; /**< NULL = no key is required */
    bool any_host; /**< whatever the header Host names is served */
    struct changes changes;
    struct read_ahead ahead;
    struct retention retention;
};

/** One request. */
struct http_request {
    const char *method;
    const char *url;
    struct body *body; /**< read to the end; NULL = not yet */
};

/** True when the answer to \p request depends on its body. */
bool http_route_wants_body(const struct http_request *request);

/** True when the answer to \p request lasts as long as the connection. */
bool http_route_is_endless(const struct http_request *request);

/** Whether the body of \p request, which is complete, is read on another thread first:
 * then \p c is suspended, and the request comes again. */
bool http_route_reads_ahead(struct http_service *service, struct MHD_Connection *c,
                            const struct http_request *request);

/** Answers \p request, which came on \p c: one whose body is wanted at its end. */
enum MHD_Result http_route(struct http_service *service, struct MHD_Connection *c,
                           const struct http_request *request);

#endif
