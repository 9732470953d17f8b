/* SPDX-License-Identifier: Apache-2.0 */
/* The first 16 bytes of a hash over the hash of the key and what the window is. */
#include "upload/batch/window_id.h"

#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "schema/layout.h"

void window_id_own(const struct window_content *content,
                   const struct origin_identity *backend, unsigned char out[16])
{
    char text[LAYOUT_NAME_MAX + LAYOUT_CHANNEL_MAX + 96];
    static const unsigned char no_key[SHA256_BYTES];
    unsigned char hash[SHA256_BYTES];
    int len = snprintf(text, sizeof text, "gpufl-window\n%s\n%s\n%u\n%u\n%llu\n",
                       content->session, content->channel, content->sequence,
                       content->crc32, (unsigned long long)content->bytes);
    const struct sha256_part part[] = {
        {backend ? backend->key : no_key, SHA256_BYTES},
        {text, (size_t)len},
    };
    sha256(part, sizeof part / sizeof *part, hash);
    uuid_of(hash, out);
}
