/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the position of a stream that the journal does not know to where another agent
 * stopped. The position is written to the journal with the first offer. */
#ifndef GPUFL_UPLOAD_LIFECYCLE_IMPORT_POSITION_H
#define GPUFL_UPLOAD_LIFECYCLE_IMPORT_POSITION_H

#include "upload/core/stream.h"

void import_position(struct stream *stream);

#endif
