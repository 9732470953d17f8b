/* SPDX-License-Identifier: Apache-2.0 */
/* Server replies of any bytes. */
#include <stddef.h>
#include <stdint.h>

#include "upload/http/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reply_batch batch;
    struct reply_version version;
    reply_read_batch((const char *)data, size, &batch);
    reply_read_version((const char *)data, size, &version);
    if (batch.accepted < -1 || batch.rejected < 0) {
        __builtin_trap();
    }
    struct reply_headers headers = {0};
    reply_read_header((const char *)data, size, &headers);
    return 0;
}
