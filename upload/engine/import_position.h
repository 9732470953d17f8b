/* SPDX-License-Identifier: Apache-2.0 */
/* Where another agent stood becomes where we begin, for streams that the journal does not
 * know. The first offer puts it into the journal. */
#ifndef GPUFL_UPLOAD_ENGINE_IMPORT_POSITION_H
#define GPUFL_UPLOAD_ENGINE_IMPORT_POSITION_H

#include "upload/core/stream.h"

void import_position(struct stream *stream);

#endif
