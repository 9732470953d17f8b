/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what an inspection found of one channel. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_INSPECT_CHANNEL_H
#define GPUFL_UPLOAD_LIFECYCLE_INSPECT_CHANNEL_H

#include "upload/core/session.h"
#include "upload/source/scan.h"

/** Puts the channel into the queue if it has something to send. */
void inspect_channel(struct session *session, const struct scan_channel *seen,
                     uint64_t now_ms);

/** Counts what the inspection has decoded, and has it go on if that ended it. \return how
 * many names that is worth. */
unsigned inspect_channel_decoded(struct session *session, uint64_t now_ms);

#endif
