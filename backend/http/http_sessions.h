/* SPDX-License-Identifier: Apache-2.0 */
/* GET {api}/sessions[/{session_id}[/{part}]]. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_SESSIONS_H
#define GPUFL_BACKEND_HTTP_HTTP_SESSIONS_H

#include <microhttpd.h>
#include <stdbool.h>

#include "backend/store/store.h"

/** Answers it; \p rest is what follows `/sessions` in the path; \p head: a HEAD. */
enum MHD_Result http_sessions(struct store *store, struct MHD_Connection *c,
                              const char *rest, bool head);

#endif
