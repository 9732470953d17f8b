/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the journal of a place can be used, and what is wrong if it cannot. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_TRY_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_TRY_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "upload/journal/state_dir.h"

/** Opens the file that an uploader locks while it has the journal called \p name in the
 * directory \p dir, and creates it if \p make. \return the descriptor, or -1 with errno
 * and a sentence in \p why. */
int journal_lock_open(int dir, const char *name, const char *root_path, bool make,
                      char why[512]);

/** Says in \p why that the journal \p path cannot be used: \p status, with the errno
 * \p error if it is GPUFL_ERR_IO. */
void journal_say_fault(const char *path, gpufl_status status, int error, char why[512]);

/** Whether an uploader could lock and read the journal of \p place, if there is one.
 * Locks and writes nothing. \return GPUFL_OK, or an error with a sentence in \p why. */
GPUFL_MUST gpufl_status journal_try(const struct sys *sys,
                                    const struct state_place *place,
                                    const char *root_path, char why[512]);

#endif
