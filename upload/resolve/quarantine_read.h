/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ranges that were refused for good from a journal, and their bytes from the files.
 */
#ifndef GPUFL_UPLOAD_RESOLVE_QUARANTINE_READ_H
#define GPUFL_UPLOAD_RESOLVE_QUARANTINE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/journal/journal_read.h"
#include "upload/journal/journal_records.h"

/** Size of a range's name: eight hexadecimal digits over its session, channel, file and
 * first byte, the same as long as the range exists. */
#define QUARANTINE_NAME 9

/** One range. Its strings are borrowed from where it was found. */
struct quarantined {
    const char *path;    /**< of its session, below the root */
    const char *session; /**< its id */
    const char *channel;
    bool passed;     /**< the backend, which knows positions, has what follows */
    bool window;     /**< a sealed window of the existing client: the whole file */
    uint64_t head;   /**< of its channel's current file, in the 1.1 layout */
    bool is_at_head; /**< the range lies in that file */
    char name[QUARANTINE_NAME];
    struct record_quarantine record;
};

/** Fills in the name and the id of the session. */
void quarantine_read_name(struct quarantined *range);

/** Gets a range of a journal that another uploader may hold, in the order of streams
 * and places. \return false after the last. */
bool quarantine_in_journal(const struct journal_read *journal, size_t index,
                           struct quarantined *out);

/** Reads the bytes of a range as they are in the file, malloc'd; a compressed window
 * stays compressed. \return GPUFL_OK, GPUFL_ERR_NOT_FOUND if the file is gone,
 * GPUFL_ERR_FORMAT if it has changed, GPUFL_ERR_IO, GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status quarantine_read(const struct sys *sys, int root,
                                        const struct quarantined *range, char **data,
                                        size_t *len, bool *gz);

#endif
