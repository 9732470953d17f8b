/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of sessions, bound to the user who records: where several users share a log
 * directory, another one can make a directory of the same name, but not prove it. */
#ifndef GPUFL_BASE_SESSION_ID_H
#define GPUFL_BASE_SESSION_ID_H

#include <stdint.h>

#include "base/uuid.h"

#define SESSION_NONCE_BYTES 16
/** Two digits for each byte, and NUL. */
#define SESSION_NONCE_TEXT (2 * SESSION_NONCE_BYTES + 1)

/** Writes \p nonce as it stands in the manifest. */
void session_nonce_format(const unsigned char nonce[SESSION_NONCE_BYTES],
                          char out[SESSION_NONCE_TEXT]);

/** The id that \p nonce gives to a session of the user \p uid: a UUID of version 4, of
 * which the random bits are the first ones of SHA-256("gpufl-session", "\n", the uid in
 * decimal, "\n", the nonce). */
void session_id_of(uint64_t uid, const char *nonce, char out[UUID_TEXT]);

#endif
