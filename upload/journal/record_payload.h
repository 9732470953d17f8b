/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of one record: written into a buffer, or read. */
#ifndef GPUFL_UPLOAD_JOURNAL_RECORD_PAYLOAD_H
#define GPUFL_UPLOAD_JOURNAL_RECORD_PAYLOAD_H

#include <stdint.h>

#include "base/bytes.h"
#include "upload/journal/journal_format.h"

struct record_payload {
    unsigned char data[JOURNAL_MAX_PAYLOAD];
    struct bytes b;
};

/** \return where to put the fields. */
struct bytes *record_payload_begin(struct record_payload *out);

/** \return the fields of \p record. */
struct bytes record_payload_of(const struct journal_record *record);

/** \return the next field, which was added later; 0 where it is missing. */
uint64_t record_payload_later(struct bytes *b, unsigned size);

#endif
