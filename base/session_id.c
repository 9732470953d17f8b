/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the ids of sessions from a user and a nonce. */
#include "base/session_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

void session_nonce_format(const unsigned char nonce[SESSION_NONCE_BYTES],
                          char out[SESSION_NONCE_TEXT])
{
    for (size_t i = 0; i < SESSION_NONCE_BYTES; i++) {
        snprintf(out + 2 * i, 3, "%02x", nonce[i]);
    }
}

void session_id_of(uint64_t uid, const char *nonce, char out[UUID_TEXT])
{
    unsigned char hash[SHA256_BYTES];
    char head[64];
    int len = snprintf(head, sizeof head, "gpufl-session\n%" PRIu64 "\n", uid);
    const struct sha256_part part[] = {{head, (size_t)len}, {nonce, strlen(nonce)}};
    sha256(part, 2, hash);
    hash[6] = (unsigned char)((hash[6] & 0x0f) | 0x40); /* RFC 4122: version 4 */
    hash[8] = (unsigned char)((hash[8] & 0x3f) | 0x80); /* variant 1 */
    uuid_format(hash, out);
}
