/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the journal that an earlier process left. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_LOAD_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "base/sys.h"
#include "upload/journal/journal_format.h"

/** Where it lies, and whose it is. All borrowed. */
struct journal_place {
    const struct sys *sys;
    const struct log *log;
    int dir;
    const char *name; /**< of the file in dir */
    const char *root; /**< the watched root it belongs to */
};

struct journal_loaded {
    uint32_t generation;
    uint64_t last;        /**< number of the last record */
    bool is_new;          /**< there was none */
    bool damaged;         /**< a copy of it was kept for a person to look at */
    bool names_no_origin; /**< it is of a version that recorded no backend */
};

/** Replays the records of the journal at \p place in order; a missing file is an empty
 * one. \return GPUFL_OK; GPUFL_ERR_FORMAT when a newer version wrote it (nothing is
 * touched); GPUFL_ERR_IO; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status journal_load(const struct journal_place *place,
                                     journal_replay_fn replay, void *arg,
                                     struct journal_loaded *out);

#endif
