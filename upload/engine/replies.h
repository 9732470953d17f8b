/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with the replies of the backend. */
#ifndef GPUFL_UPLOAD_ENGINE_REPLIES_H
#define GPUFL_UPLOAD_ENGINE_REPLIES_H

#include "upload/core/engine_state.h"

/** Handles all that have come. \return whether there were any. */
bool replies_take(struct engine *engine, uint64_t now_ms);

#endif
