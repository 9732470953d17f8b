/* SPDX-License-Identifier: Apache-2.0 */
/* Making offers as the request budget allows, and sending them once the journal has them.
 */
#ifndef GPUFL_UPLOAD_ENGINE_SEND_H
#define GPUFL_UPLOAD_ENGINE_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/engine_state.h"

/** \return true if there is room for an offer, and not too many sessions wait for their
 * completion. */
bool send_lacks_streams(const struct engine *engine, uint64_t now_ms);

/** Makes offers of the streams that are due. */
void send_make_offers(struct engine *engine, uint64_t now_ms);

/** Sends the offers whose record is on disk. */
void send_offers(struct engine *engine, uint64_t now_ms);

#endif
