/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a session of which a file should be there and is not. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MISSING_H
#define GPUFL_UPLOAD_LIFECYCLE_MISSING_H

#include "upload/core/stream.h"

/** \return true if its writer is gone and the active file is not what it left: another
 * program has replaced it, and what was written afterwards went into a file without a
 * name. In a file that ends in the shutdown, the writer had looked for that. */
bool missing_end(const struct stream *stream);

/** Holds each channel of which \p scan does not show what was sent of it, or what its
 * manifest lists. */
void missing_channels(struct session *session, const struct scan *scan);

#endif
