/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that speak libmicrohttpd share: http*.c. */
#ifndef GPUFL_BACKEND_HTTP_INTERNAL_H
#define GPUFL_BACKEND_HTTP_INTERNAL_H

#include <microhttpd.h>

#include "backend/http.h"
#include "backend/http_changes.h"
#include "base/text.h"

#define JSON "application/json"

struct http_server {
    struct MHD_Daemon *daemon;
    struct store *store;
    char *api_key;
    struct changes changes;
    struct retention retention;
};

/** Sends \p answer and releases it. */
enum MHD_Result http_respond(struct MHD_Connection *c, int status, const char *type,
                             struct text *answer);

/** Sends one sentence. */
enum MHD_Result http_respond_error(struct MHD_Connection *c, int status,
                                   const char *message);

/** Answers GET {api}/sessions\p rest. */
enum MHD_Result http_sessions(struct http_server *server, struct MHD_Connection *c,
                              const char *rest);

#endif
