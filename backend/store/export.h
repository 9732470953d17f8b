/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's stored lines, read piece by piece. */
#ifndef GPUFL_BACKEND_STORE_EXPORT_H
#define GPUFL_BACKEND_STORE_EXPORT_H

#include <sys/types.h>

#include "backend/store/store.h"

struct export;

/** Starts at the first line. \return GPUFL_OK, GPUFL_ERR_IO, GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status export_open(struct store *store, int64_t session,
                                    const char *channel, struct export **out);

/** Reads up to \p max bytes. \return the number, 0 at the end, -1 on an error. */
ssize_t export_read(struct export *e, char *buf, size_t max);

void export_close(struct export *e);

#endif
