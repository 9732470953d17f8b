/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what another uploader tells of the sessions of struct holder_targets. */
#ifndef GPUFL_UPLOAD_HOLDER_LOOK_H
#define GPUFL_UPLOAD_HOLDER_LOOK_H

#include "upload/holder_session.h"
#include "upload/holder_targets.h"

/** Reads it where that has changed: *changed. \p origin as in progress_read(). \return
 * GPUFL_OK, or GPUFL_BUSY when there is nothing that counts. */
GPUFL_MUST gpufl_status holder_look(struct holder_targets *targets,
                                    const struct progress_origin *origin, bool *changed);

/** Notes the epoch of the backend, 0 = not said: what its uploader has not compared in it
 * is doubted, and not over. */
void holder_look_in_epoch(struct holder_targets *targets, uint64_t epoch);

/** \return true if anything was doubted at the last look. */
bool holder_look_doubts(const struct holder_targets *targets);

/** \return the session \p path, or NULL. */
struct holder_session *holder_look_session(const struct holder_targets *targets,
                                           const char *path);

#endif
