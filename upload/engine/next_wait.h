/* SPDX-License-Identifier: Apache-2.0 */
/* When the next turn is due. */
#ifndef GPUFL_UPLOAD_ENGINE_NEXT_WAIT_H
#define GPUFL_UPLOAD_ENGINE_NEXT_WAIT_H

#include "upload/core/engine_state.h"

/** \return ms until then; UINT64_MAX if something else must happen first. */
uint64_t next_wait_ms(struct engine *engine, uint64_t now_ms);

#endif
