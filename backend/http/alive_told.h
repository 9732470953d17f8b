/* SPDX-License-Identifier: Apache-2.0 */
/* POST events/alive: which sessions are silent although their writer lives. */
#ifndef GPUFL_BACKEND_HTTP_ALIVE_TOLD_H
#define GPUFL_BACKEND_HTTP_ALIVE_TOLD_H

#include <stddef.h>

#include "backend/http/ingest.h"
#include "backend/store/store_alive.h"

/** The sessions of a request; release with alive_told_fini. */
struct alive_told {
    struct store_alive *session;
    size_t count;
};

/** Reads the list. \return NULL, or why it is not one. */
const char *alive_told_read(const char *body, size_t len, struct alive_told *out);

void alive_told_fini(struct alive_told *told);

/** Handles it. \p changed is called for each session that is known. \return the HTTP
 * status; \p answer gets the JSON body. */
int alive_told_take(struct store *store, const struct ingest_request *request,
                    struct text *answer, void (*changed)(void *arg, const char *session),
                    void *arg);

#endif
