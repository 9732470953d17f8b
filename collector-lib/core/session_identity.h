/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the id of a session, and the manifest that names it. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_IDENTITY_H
#define GPUFL_COLLECTOR_CORE_SESSION_IDENTITY_H

#include "base/session_id.h"
#include "collector-lib/core/session_lock.h"

/** Random text. \return 0, or -1 with errno where getrandom(2) is refused. */
int session_identity_nonce(char out[SESSION_NONCE_TEXT]);

/** Makes an id that is bound to the owner of the directory \p dir, and writes the
 * manifest into it; \p channels are elements of a JSON array. \return 0, or -1 with
 * errno. */
int session_identity_write(int dir, const struct session_lock *lock, const char *channels,
                           char id[UUID_TEXT]);

#endif
