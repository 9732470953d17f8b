/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the database. */
#ifndef GPUFL_BACKEND_STORE_STORE_RETENTION_H
#define GPUFL_BACKEND_STORE_STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/store/store_sessions.h"

/** Bytes of the database that are in use. */
uint64_t store_bytes(struct store *store);

/** The session that goes first: id, session and last_seen_ms of \p out. It is that whose
 * last line is the oldest of those that are not live; of all, if each is. What came while
 * the clock showed no time is newer than what came before. \p sessions: how many there
 * are; with 0 there is none. */
GPUFL_MUST gpufl_status store_oldest(struct store *store, struct store_session *out,
                                     unsigned *sessions);

/** Deletes up to \p bodies bodies of a session and, once it has none, the session with
 * all that is shown of it. Their ids are forgotten: what comes again is stored again.
 * \return GPUFL_OK, GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status store_delete(struct store *store, int64_t session,
                                     unsigned bodies);

/** Logs how many sessions have been deleted since it last did; unless \p last, in a line
 * each ten seconds at most. */
void store_say_deleted(struct store *store, bool last);

#endif
