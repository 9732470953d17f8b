/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a batch that the backend refuses. */
#ifndef GPUFL_UPLOAD_ENGINE_REFUSAL_H
#define GPUFL_UPLOAD_ENGINE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

/** 413, 400 or 422 to several lines: the first half is offered instead, under a new id
 * and the same number. */
void refusal_split(struct offer *offer, uint64_t now_ms);

/** Refused alone, or its identity is another's: it is quarantined, unless everything is
 * refused. */
void refusal_quarantine(struct offer *offer, const struct transport_reply *reply,
                        uint64_t now_ms);

/** Its number is taken: settles the larger batch of which it is the first part, and which
 * was stored although its answer was lost. \return false when that is not so. */
bool refusal_whole_was_stored(struct offer *offer, uint64_t now_ms);

/** The backend had closed the session: the lines count as not stored. */
void refusal_final(struct offer *offer, uint64_t now_ms);

#endif
