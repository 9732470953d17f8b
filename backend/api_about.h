/* SPDX-License-Identifier: Apache-2.0 */
/* Renders what a session says of itself, and how it came: schema/openapi.json. */
#ifndef GPUFL_BACKEND_API_ABOUT_H
#define GPUFL_BACKEND_API_ABOUT_H

#include "backend/store.h"
#include "base/text.h"

/* Each writes into \p answer. \return the HTTP status. */

/** The end of a session's object: its time axis, metrics, job_start, capabilities. */
int api_about(struct store *store, int64_t session, struct text *answer);

/** Channels with the gaps in their sequences, and how long lines took to be stored. */
int api_delivery(struct store *store, int64_t session, struct text *answer);

#endif
