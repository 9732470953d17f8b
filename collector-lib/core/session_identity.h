/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the id of a session, and the manifest and the directory that it names. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_IDENTITY_H
#define GPUFL_COLLECTOR_CORE_SESSION_IDENTITY_H

#include <stdbool.h>

#include "base/session_id.h"
#include "collector-lib/core/session_lock.h"
#include "schema/channels.h"

/** Random text. \return 0, or -1 with errno where getrandom(2) is refused. */
int session_identity_nonce(char out[SESSION_NONCE_TEXT]);

/** \return true if the manifest of a session lists \p channel. */
bool session_identity_lists(bool with_sass, enum channel channel);

/** Makes an id that is bound to the owner of the directory \p dir, writes the manifest
 * into it, with the names of the channels, and gives it the id as its name in place of
 * \p staging, in \p root. Other users may create names in a shared log directory, and
 * can read the id in the manifest: it is written last, and if one of them takes the name
 * first, under another id. \return 0, or -1 with errno. */
int session_identity_publish(int dir, const struct session_lock *lock, bool with_sass,
                             int root, const char *staging, char id[UUID_TEXT]);

#endif
