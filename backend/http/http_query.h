/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a query, held against those that its path takes. */
#ifndef GPUFL_BACKEND_HTTP_HTTP_QUERY_H
#define GPUFL_BACKEND_HTTP_HTTP_QUERY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "backend/api/query.h"

/** Judges all arguments of the request; \p takes has at most 32. \return false, with
 * \p why, when it is refused. */
bool http_query_fits(struct MHD_Connection *c, const struct query_argument *takes,
                     char why[QUERY_WHY_BYTES]);

#endif
