/* SPDX-License-Identifier: Apache-2.0 */
/* The page at `/`: sessions and one utilisation chart each, without a script. */
#ifndef GPUFL_BACKEND_PAGE_H
#define GPUFL_BACKEND_PAGE_H

#include "backend/answer.h"
#include "backend/store.h"

/** Sent with the page: nothing but its own style is allowed. */
#define PAGE_POLICY                                                                      \
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "              \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Renders it. \return the HTTP status. */
int page_render(struct store *store, struct answer *answer);

#endif
