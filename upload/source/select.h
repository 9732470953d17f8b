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
    int64_t start_ns; /**< of its job_start, 0 = unknown, or not asked for */
    uint64_t bytes;   /**< of its payload files on disk */
    bool ours;        /**< this process writes it, or wrote it */
    uint32_t user;    /**< whose directory it is, UINT32_MAX = unknown */
    bool own_user;    /**< it belongs to our user */
    bool named;       /**< it was asked for alone */
    bool none;        /**< it turned out to hold no session */
};

struct selection {
    struct selected *session;
    size_t count;
    size_t cap;
    size_t unread; /**< directories of others that were not looked at in time */
};

/** Lists the directories beneath \p root, those in grouping directories too, that may be
 * sessions, ordered by id and path; with an \p id only those of that name, or, as
 * `<group>/<id>`, the one in that group. None of them is opened but to list what it
 * holds. \return GPUFL_OK, GPUFL_ERR_IO, GPUFL_ERR_NOMEM.
 */
GPUFL_MUST gpufl_status select_find(const struct sys *sys, int root, const char *id,
                                    struct selection *out);

/** Lists the sessions beneath \p root, ordered by id and path. Those of other users are
 * looked at last, and only until \p deadline_ms, 0 = without a limit.
 * \return as select_find. */
GPUFL_MUST gpufl_status select_list(const struct sys *sys, int root, uint64_t deadline_ms,
                                    struct selection *out);

/** Looks at those of \p selection that belong to our own user: what is no session is
 * dropped, and they come first, ordered by their start. Of the others nothing is read. */
void select_read_own(const struct sys *sys, int root, struct selection *selection);

/** Selects session \p id; with \p id "" the newest of those that this process writes or
 * wrote, else of those of our own user, else of all; for root it is "else of all" at
 * once. Of several with that id, one of our own user is taken. Nothing of others is read
 * if it is one of our own user. \return as select_find, or GPUFL_ERR_NOT_FOUND. */
GPUFL_MUST gpufl_status select_one(const struct sys *sys, int root, const char *id,
                                   struct selection *out);

/** True when \p id is selected, by select_list() or select_one(). */
bool select_has(const struct selection *selection, const char *id);

/** Moves the sessions of \p from into \p into; \p from is empty then.
 *  \return GPUFL_OK or GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status select_join(struct selection *into, struct selection *from);

void select_free(struct selection *selection);

#endif
