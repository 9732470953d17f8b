/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a batch that the backend refuses. */
#ifndef GPUFL_UPLOAD_ENGINE_REFUSAL_H
#define GPUFL_UPLOAD_ENGINE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/offer.h"
#include "upload/http/transport.h"

/** After 413, 400 or 422 for several lines: offers the first half instead, under a new id
 * and the same number. */
void refusal_split(struct offer *offer);

/** Offers a window whose id the backend has with other content again, under an id of its
 * own. \return false if that cannot be, see window_rename(). */
bool refusal_rename(struct offer *offer);

/** Quarantines what was refused as a single line, or whose identity belongs to other
 * bytes; holds the origin if it refuses everything. */
void refusal_quarantine(struct offer *offer, const struct transport_reply *reply,
                        uint64_t now_ms);

/** The same for a part: the backend is told that the line is not sent. \p why is what it
 * said of it, "" = nothing but \p reply. */
void refusal_skip(struct offer *offer, const struct transport_reply *reply,
                  const char *why, uint64_t now_ms);

/** Its number is taken: settles the larger batch whose first part it is, if that was
 * stored although its answer was lost. \return false if there was none. */
bool refusal_whole_was_stored(struct offer *offer, uint64_t now_ms);

/** The backend had closed the session, which another tool had sent: nothing is missing.
 */
void refusal_was_sent(struct offer *offer, uint64_t now_ms);

/** The backend had closed the session: counts the lines as not stored. */
void refusal_final(struct offer *offer, uint64_t now_ms);

#endif
