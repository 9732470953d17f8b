/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes delivered files: sealed, acknowledged as stored in full, and recorded so in the
 * journal on disk. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_CLEANUP_H
#define GPUFL_UPLOAD_LIFECYCLE_CLEANUP_H

#include "upload/core/session.h"

void cleanup_session(struct session *session);

#endif
