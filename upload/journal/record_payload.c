/* SPDX-License-Identifier: Apache-2.0 */
/* Points at the fields. */
#include "upload/journal/record_payload.h"

struct bytes *record_payload_begin(struct record_payload *out)
{
    out->b = (struct bytes){.at = out->data, .left = sizeof out->data};
    return &out->b;
}

struct bytes record_payload_of(const struct journal_record *record)
{
    return (struct bytes){.at = (unsigned char *)(uintptr_t)record->payload,
                          .left = record->len};
}

uint64_t record_payload_later(struct bytes *b, unsigned size)
{
    return b->left >= size ? bytes_get_uint(b, size) : 0;
}
