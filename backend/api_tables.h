/* SPDX-License-Identifier: Apache-2.0 */
/* Renders the tables of one session as JSON: schema/openapi.json,
 * /sessions/{session_id}/… */
#ifndef GPUFL_BACKEND_API_TABLES_H
#define GPUFL_BACKEND_API_TABLES_H

#include <stdint.h>

#include "backend/store.h"
#include "base/text.h"

/** Which part of a long table. */
struct api_part {
    unsigned limit;
    unsigned offset;
};

/* Each writes into \p answer. \return the HTTP status. */

/** Kernels by name, the longest total first. */
int api_kernels(struct store *store, int64_t session, const struct api_part *part,
                struct text *answer);

/** GPU time by where it was asked for, \p by "scope" or "stack", the longest first;
 * another \p by is 400. */
int api_launches(struct store *store, int64_t session, const char *by,
                 const struct api_part *part, struct text *answer);

/** Copies by direction, sets, synchronisation, allocations. */
int api_memory(struct store *store, int64_t session, struct text *answer);

/** PC samples by function, with the reasons why its warps stalled. */
int api_hotspots(struct store *store, int64_t session, const struct api_part *part,
                 struct text *answer);

/** PC samples by source line, with its text where the session carries it. */
int api_hotlines(struct store *store, int64_t session, const struct api_part *part,
                 struct text *answer);

#endif
