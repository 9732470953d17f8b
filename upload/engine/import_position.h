/* SPDX-License-Identifier: Apache-2.0 */
/* Starts where another agent stopped, for streams that the journal does not know. The
 * first offer puts the position into the journal. */
#ifndef GPUFL_UPLOAD_ENGINE_IMPORT_POSITION_H
#define GPUFL_UPLOAD_ENGINE_IMPORT_POSITION_H

#include "upload/core/stream.h"

void import_position(struct stream *stream);

#endif
