/* SPDX-License-Identifier: Apache-2.0 */
/* Channels of a session of which a file should be there and is not. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_MISSING_H
#define GPUFL_UPLOAD_LIFECYCLE_MISSING_H

#include "upload/core/session.h"

/** Holds each channel of which \p scan does not show what was sent of it, or what its
 * manifest lists. */
void missing_channels(struct session *session, const struct scan *scan);

#endif
