/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes delivered files: sealed, wholly acknowledged as stored, and the journal that
 * says so is on disk. */
#ifndef GPUFL_UPLOAD_ENGINE_CLEANUP_H
#define GPUFL_UPLOAD_ENGINE_CLEANUP_H

#include "upload/core/session.h"

void cleanup_session(struct session *session);

#endif
