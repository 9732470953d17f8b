/* SPDX-License-Identifier: Apache-2.0 */
/* Takes positions from the progress files: when the journal was lost, and where another
 * uploader, whose state is elsewhere, has gone on. */
#ifndef GPUFL_UPLOAD_ENGINE_PROGRESS_FOLLOW_H
#define GPUFL_UPLOAD_ENGINE_PROGRESS_FOLLOW_H

#include "upload/core/registry.h"

/** To be called when the journal was read; \p lost = it has nothing, or not all. */
void progress_follow_begin(struct root *root, bool lost);

/** Looks whether another uploader has written the files since. \return true if streams
 * have other positions now; their sessions are inspected again, and the journal has
 * them. */
bool progress_follow(struct root *root, uint64_t now_ms);

#endif
