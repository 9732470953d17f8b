/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to requests. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_RESPOND_H
#define GPUFL_BACKEND_HTTP_HTTP_RESPOND_H

#include <microhttpd.h>
#include <stdbool.h>

#include "backend/http/page.h"
#include "base/text.h"

#define HTTP_JSON "application/json"

/** Sends \p answer and releases it. */
enum MHD_Result http_respond(struct MHD_Connection *c, int status, const char *type,
                             struct text *answer);

/** Sends one sentence. */
enum MHD_Result http_respond_error(struct MHD_Connection *c, int status,
                                   const char *message);

/** Sends one sentence, and ends the connection. */
enum MHD_Result http_respond_last(struct MHD_Connection *c, int status,
                                  const char *message);

/** Sends an answer whose length is not known, and releases it; \p head: without its body.
 */
enum MHD_Result http_respond_stream(struct MHD_Connection *c,
                                    struct MHD_Response *response, bool head);

/** Sends a file of the page. */
enum MHD_Result http_respond_file(struct MHD_Connection *c, const struct page_file *file);

#endif
