/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the sessions of an explicit upload. */
#ifndef GPUFL_UPLOAD_SOURCE_SELECT_H
#define GPUFL_UPLOAD_SOURCE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/journal/journal_records.h"
#include "upload/source/scan.h"

/** A session of a root. */
struct selected {
    char path[JOURNAL_PATH_MAX];
    const char *id;   /**< within path */
    int64_t start_ns; /**< of its job_start, 0 = unknown */
    uint64_t bytes;   /**< of its payload files on disk */
    bool ours;        /**< this process writes it, or wrote it */
    bool own_user;    /**< its directory belongs to our user */
};

struct selection {
    struct selected *session;
    size_t count;
    size_t cap;
};

/** Lists the sessions beneath \p root, those in grouping directories too, ordered by
 * start and path. \return GPUFL_OK, GPUFL_ERR_IO, GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status select_list(const struct sys *sys, int root,
                                    struct selection *out);

/** Keeps only session \p id; with \p id "" only the newest of those that this process
 * writes or wrote, or, where it wrote none, of all. Of several with that id, one of our
 * own user is kept. \return GPUFL_OK or GPUFL_ERR_NOT_FOUND. */
GPUFL_MUST gpufl_status select_one(struct selection *selection, const char *id);

/** True when \p id is selected. */
bool select_has(const struct selection *selection, const char *id);

/** Moves the sessions of \p from into \p into; \p from is empty then.
 *  \return GPUFL_OK or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status select_join(struct selection *into, struct selection *from);

void select_free(struct selection *selection);

#endif
