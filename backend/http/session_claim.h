/* SPDX-License-Identifier: Apache-2.0 */
/* POST events/session-complete: from a claim to an answer. */
#ifndef GPUFL_BACKEND_HTTP_SESSION_CLAIM_H
#define GPUFL_BACKEND_HTTP_SESSION_CLAIM_H

#include <stddef.h>

#include "backend/store/store.h"
#include "base/text.h"

/** Handles the claim in \p body, which may be empty. \return the HTTP status; \p answer
 * gets the JSON body. */
int session_claim_judge(struct store *store, const char *session, const struct text *body,
                        struct text *answer);

#endif
